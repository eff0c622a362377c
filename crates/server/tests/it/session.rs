//! The session of a browser: `/v0/auth/session`, its cookie, and from which origins it works.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Answer, TestServer, both};

const SESSION: &str = "/v0/auth/session";
const CONSOLE: (&str, &str) = ("x-tidemark-console", "1");

/// Sends one request with headers.
async fn call(
    server: &TestServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "bench.example.org");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    server.send(request.body(body).unwrap()).await
}

/// Signs a user up and in like the console; returns the cookie.
async fn browser(server: &TestServer, email: &str) -> String {
    let signup = json!({ "name": "Ada", "email": email, "i_agree": true });
    server.post("/v0/auth/signup", "", signup).await.expect(202);
    let token = server.mailed_token(email).await;
    let opened = call(server, Method::POST, SESSION, &[CONSOLE], json!({ "token": token })).await.expect(200);
    let kept = opened.headers[header::SET_COOKIE].to_str().unwrap();
    kept.split_once(';').unwrap().0.to_owned()
}

async fn name(server: &TestServer, headers: &[(&str, &str)]) -> Value {
    call(server, Method::GET, SESSION, headers, Value::Null).await.expect(200).body["user"]["name"].clone()
}

both! {
    async fn a_browser_keeps_its_session_in_a_cookie(server: TestServer) {
        let signup = json!({ "name": "Ada", "email": "ada@example.org", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        let token = server.mailed_token("ada@example.org").await;
        let opened = call(&server, Method::POST, SESSION, &[CONSOLE], json!({ "token": token })).await;
        assert_snapshot!("session_open", server.show(&opened));
        let kept = opened.headers[header::SET_COOKIE].to_str().unwrap();
        let (cookie, rules) = kept.split_once(';').unwrap();
        assert!(cookie.starts_with("tidemark-6610=ey"), "{cookie}");
        assert_eq!(rules, " Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
        call(&server, Method::POST, SESSION, &[CONSOLE], json!({ "token": token })).await.expect(401);

        let shown = call(&server, Method::GET, SESSION, &[("cookie", cookie)], Value::Null).await;
        assert_snapshot!("session_view", server.show(&shown));
        assert_eq!(name(&server, &[]).await, Value::Null);
        assert_eq!(name(&server, &[("cookie", "tidemark-6610=nonsense")]).await, Value::Null);
        let others = format!("theme=dark; {cookie}; tidemark-66102=x");
        assert_eq!(name(&server, &[("cookie", &others)]).await, "Ada");
        server.pass(30 * 86_400 + 1);
        assert_eq!(name(&server, &[("cookie", cookie)]).await, Value::Null);
    }

    async fn over_https_the_cookie_stays_there(
        server: TestServer = "[console]\nurl = \"https://bench.example.org\"\n"
    ) {
        let cookie = browser(&server, "ada@example.org").await;
        assert!(cookie.starts_with("__Host-tidemark=ey"), "{cookie}");
        assert_eq!(name(&server, &[("cookie", &cookie)]).await, "Ada");
        // Another host of the domain could have set this cookie.
        let plain = cookie.trim_start_matches("__Host-");
        assert_eq!(name(&server, &[("cookie", plain)]).await, Value::Null);
        let ended = call(&server, Method::DELETE, SESSION, &[CONSOLE, ("cookie", &cookie)], Value::Null).await;
        let forgotten = "__Host-tidemark=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure";
        assert_eq!(ended.expect(204).headers[header::SET_COOKIE], forgotten);
    }

    async fn signing_out_ends_the_session(server: TestServer) {
        let cookie = browser(&server, "ada@example.org").await;
        let token = cookie.split_once('=').unwrap().1;
        server.get("/v0/organizations", token).await.expect(200);
        // Without the header, the request may come from another site.
        call(&server, Method::DELETE, SESSION, &[("cookie", &cookie)], Value::Null).await.expect(204);
        assert_eq!(name(&server, &[("cookie", &cookie)]).await, "Ada");
        call(&server, Method::DELETE, SESSION, &[CONSOLE, ("cookie", &cookie)], Value::Null).await.expect(204);
        assert_eq!(name(&server, &[("cookie", &cookie)]).await, Value::Null);
        server.get("/v0/organizations", token).await.expect(401);
        call(&server, Method::DELETE, SESSION, &[CONSOLE, ("cookie", &cookie)], Value::Null).await.expect(204);
    }

    async fn signing_out_ends_the_session_of_a_bearer(server: TestServer) {
        let ada = server.person("Ada").await;
        let other = server.login(&ada.email).await;
        let ended = server.delete(SESSION, &ada.token).await.expect(204);
        assert!(!ended.headers.contains_key(header::SET_COOKIE));
        server.get("/v0/organizations", &ada.token).await.expect(401);
        server.get("/v0/organizations", &other).await.expect(200);
        // Signing out twice, or without a session, changes nothing.
        server.delete(SESSION, &ada.token).await.expect(204);
        server.delete(SESSION, "").await.expect(204);
        let key = server.post("/v0/users/ada/keys", &other, json!({ "name": "ci" })).await.expect(201).text("/key");
        let refused = server.delete(SESSION, &key).await;
        assert_snapshot!("session_end_by_key", server.show(&refused));
        server.get("/v0/organizations", &key).await.expect(200);
    }

    async fn people_see_and_end_their_sessions(server: TestServer) {
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        server.pass(60);
        server.call_from([192, 0, 2, 7]);
        let link = async || {
            server.post("/v0/auth/login", "", json!({ "email": ada.email })).await.expect(202);
            server.mailed_token(&ada.email).await
        };
        let agent = ("user-agent", "Browser/1.0");
        let body = json!({ "token": link().await });
        let opened = call(&server, Method::POST, "/v0/auth/confirm", &[agent], body).await.expect(200);
        let second = opened.text("/token");
        let list = server.get("/v0/users/ada/sessions", &second).await;
        assert_snapshot!("session_list", server.show(&list));
        let first = format!("/v0/users/ada/sessions/{}", list.text("/1/uuid"));

        let key = server.post("/v0/users/ada/keys", &second, json!({ "name": "ci" })).await.expect(201).text("/key");
        let mut lines = vec![server.get("/v0/users/ada/sessions", &key).await.line()];
        for token in [key.as_str(), &bob.token, ""] {
            lines.push(server.delete(&first, token).await.line());
        }
        server.delete(&first, &second).await.expect(204);
        lines.push(server.delete(&first, &second).await.line());
        assert_snapshot!("session_end_refused", lines.join("\n"));
        server.get("/v0/organizations", &ada.token).await.expect(401);
        assert_eq!(server.get("/v0/users/ada/sessions", &second).await.total(), 1);
        // An administrator ends sessions of others.
        let bobs = server.get("/v0/users/bob/sessions", &second).await.expect(200);
        server.delete(&format!("/v0/users/bob/sessions/{}", bobs.text("/0/uuid")), &second).await.expect(204);
        server.get("/v0/organizations", &bob.token).await.expect(401);
        // An expired session is not listed.
        server.pass(30 * 86_400 + 1);
        let third = server.login(&ada.email).await;
        assert_eq!(server.get("/v0/users/ada/sessions", &third).await.total(), 1);
    }

    async fn another_site_cannot_use_the_cookie(server: TestServer) {
        let cookie = browser(&server, "ada@example.org").await;
        let cookie = ("cookie", cookie.as_str());
        let create = async |headers: &[(&str, &str)]| {
            let headers = [&[cookie], headers].concat();
            let body = json!({ "name": "Lab" });
            call(&server, Method::POST, "/v0/organizations", &headers, body).await.status.as_u16()
        };
        let own = ("origin", "https://bench.example.org");
        let other = ("origin", "https://evil.example.com");
        assert_eq!(create(&[]).await, 401);
        assert_eq!(create(&[own]).await, 401);
        assert_eq!(create(&[("x-tidemark-console", "0")]).await, 401);
        assert_eq!(create(&[CONSOLE, other]).await, 401);
        assert_eq!(create(&[CONSOLE, ("origin", "null")]).await, 401);
        for site in ["cross-site", "same-site", "none"] {
            assert_eq!(create(&[CONSOLE, own, ("sec-fetch-site", site)]).await, 401, "{site}");
        }
        assert_eq!(create(&[CONSOLE]).await, 201);
        assert_eq!(create(&[CONSOLE, own]).await, 201);
        // Behind a proxy, which uses another host name for this server.
        assert_eq!(create(&[CONSOLE, ("origin", "http://localhost:6610")]).await, 201);
        assert_eq!(create(&[CONSOLE, own, ("sec-fetch-site", "same-origin")]).await, 201);

        // The preflight does not allow the required header either.
        let asked = [other, ("access-control-request-method", "POST"), ("access-control-request-headers", CONSOLE.0)];
        let preflight = call(&server, Method::OPTIONS, "/v0/organizations", &asked, Value::Null).await;
        assert_eq!(preflight.headers["access-control-allow-headers"], "Content-Type, Authorization");
        assert!(!preflight.headers.contains_key("access-control-allow-credentials"));
    }

    async fn another_site_cannot_sign_its_visitors_in(server: TestServer) {
        let signup = json!({ "name": "Eve", "email": "eve@example.org", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        let body = json!({ "token": server.mailed_token("eve@example.org").await });
        let refused = call(&server, Method::POST, SESSION, &[], body.clone()).await.expect(403);
        assert!(!refused.headers.contains_key(header::SET_COOKIE));
        let elsewhere = [CONSOLE, ("sec-fetch-site", "cross-site")];
        call(&server, Method::POST, SESSION, &elsewhere, body.clone()).await.expect(403);
        call(&server, Method::POST, SESSION, &[CONSOLE], body).await.expect(200);
    }

    async fn a_bearer_wins_over_the_cookie(server: TestServer) {
        let cookie = browser(&server, "ada@example.org").await;
        let grace = server.person("Grace").await;
        let bearer = format!("Bearer {}", grace.token);
        assert_eq!(name(&server, &[("cookie", &cookie), ("authorization", &bearer)]).await, "Grace");
        assert_eq!(name(&server, &[("cookie", &cookie), ("authorization", "Bearer nonsense")]).await, Value::Null);
        // The password of a proxy does not interfere.
        assert_eq!(name(&server, &[("cookie", &cookie), ("authorization", "Basic YTpi")]).await, "Ada");
    }

    async fn a_new_server_returns_the_state_of_its_setup(server: TestServer) {
        let setup = async || call(&server, Method::GET, "/v0/server/setup", &[], Value::Null).await.expect(200).body;
        let outbox = server.folder().join("outbox").display().to_string();
        assert_eq!(setup().await, json!({ "accounts": "none", "mail": false, "outbox": null, "providers": [], "captcha": null, "plans": [], "sign_up": "open" }));
        server.call_from([127, 0, 0, 1]);
        assert_eq!(setup().await, json!({ "accounts": "none", "mail": false, "outbox": outbox, "providers": [], "captcha": null, "plans": [], "sign_up": "open" }));
        let signup = json!({ "name": "Ada", "email": "ada@example.org", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        assert_eq!(setup().await, json!({ "accounts": "unconfirmed", "mail": false, "outbox": outbox, "providers": [], "captcha": null, "plans": [], "sign_up": "open" }));
        server.confirm("ada@example.org").await;
        assert_eq!(setup().await, json!({ "accounts": "confirmed", "mail": false, "outbox": null, "providers": [], "captcha": null, "plans": [], "sign_up": "open" }));
    }

    async fn a_browser_gets_a_page_and_a_client_the_contract(server: TestServer) {
        let ask = async |path: &str, accept: &str| {
            let request = Request::builder().uri(path).header(header::ACCEPT, accept);
            let answer = server.raw(request.body(Body::empty()).unwrap()).await;
            let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
            (answer.status().as_u16(), kind)
        };
        let page = "text/html,application/xhtml+xml,*/*;q=0.8";
        let html = (200, "text/html; charset=utf-8".to_owned());
        assert_eq!(ask("/", page).await, html);
        assert_eq!(ask("/console/projects", page).await, html);
        let json = "application/json".to_owned();
        assert_eq!(ask("/", "application/json").await, (200, json.clone()));
        assert_eq!(ask("/", "*/*").await, (200, json.clone()));
        assert_eq!(ask("/v0/nonsense", page).await, (404, json.clone()));
        assert_eq!(ask("/nonsense", "*/*").await, (404, json));
    }
}
