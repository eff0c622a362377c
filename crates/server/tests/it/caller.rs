//! Every kind of credential on every kind of route.

use axum::{
    body::Body,
    http::{Request, header},
};
use insta::assert_snapshot;
use serde_json::json;

use crate::{Answer, TestServer, both};

const DAY: i64 = 86_400;

both! {
    async fn a_credential_returns_its_owner(server: TestServer) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        let key = server.project_key(&ada, &project).await;
        let user_key =
            server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "ci" })).await.expect(201).text("/key");
        for credential in [&ada.token, &user_key] {
            let answer = server.get("/v0/auth/caller", credential).await.expect(200);
            assert_eq!((answer.text("/user/slug").as_str(), &answer.body["project"]), ("ada", &json!(null)));
        }
        let answer = server.get("/v0/auth/caller", &key).await.expect(200);
        assert_eq!((answer.text("/project/slug").as_str(), &answer.body["user"]), ("lab", &json!(null)));
        // Missing and revoked credentials reveal nothing.
        for credential in ["", "svc_user_000000000000000000000000000000"] {
            server.get("/v0/auth/caller", credential).await.expect(401);
        }
    }

    async fn every_credential_on_every_kind_of_route(server: TestServer) {
        let admin = server.person("Root").await;
        let ada = server.person("Ada").await;
        let locked = server.person("Locked").await;
        let key = async |owner: &str, token: &str, ttl: u32| {
            let path = format!("/v0/users/{owner}/keys");
            server.post(&path, token, json!({ "name": "ci", "ttl": ttl })).await.expect(201)
        };
        let good_key = key("ada", &ada.token, 7_000_000).await.text("/key");
        let short_key = key("ada", &ada.token, 60).await.text("/key");
        let revoked_key = key("ada", &ada.token, 7_000_000).await;
        let path = format!("/v0/users/ada/keys/{}", revoked_key.text("/uuid"));
        server.delete(&path, &ada.token).await.expect(204);
        let locked_key = key("locked", &locked.token, 7_000_000).await.text("/key");
        let short_token = server.legacy_token(&ada.email);
        server.pass(30 * DAY);
        // All sessions and the first token have expired; these are new.
        let mut sessions = Vec::new();
        for person in [&admin, &ada, &locked] {
            server.post("/v0/auth/login", "", json!({ "email": person.email })).await.expect(202);
            sessions.push(server.confirm(&person.email).await.token);
        }
        let [admin_session, ada_session, locked_session] = &sessions[..] else { unreachable!() };
        let patch = json!({ "locked": true });
        server.patch("/v0/users/locked", admin_session, patch).await.expect(200);
        let good_token = server.legacy_token(&ada.email);
        server.pass(1);
        let revoked_token = server.legacy_token(&ada.email);
        server.get("/v0/users/ada", &revoked_token).await.expect(200);
        let listed = server.get("/v0/users/ada/tokens", ada_session).await.expect(200);
        let path = format!("/v0/users/ada/tokens/{}", listed.text("/0/uuid"));
        server.delete(&path, ada_session).await.expect(204);

        let letters = "x".repeat(30);
        let credentials = [
            ("no header", None),
            ("another scheme", Some("Basic YWRhOnNlY3JldA==".to_owned())),
            ("a bare token", Some(ada_session.clone())),
            ("no token", Some("Bearer".to_owned())),
            ("an empty token", Some("Bearer ".to_owned())),
            ("garbage", Some("Bearer garbage".to_owned())),
            ("not text", Some("Bearer \u{e9}".to_owned())),
            ("a malformed key", Some("Bearer svc_user_short".to_owned())),
            ("an unknown key", Some(format!("Bearer svc_user_{letters}"))),
            ("a key of another server", Some(format!("Bearer other_user_{letters}"))),
            ("an unknown project key", Some(format!("Bearer svc_run_{letters}"))),
            ("a runner key", Some(format!("Bearer svc_runner_{}", "x".repeat(34)))),
            ("a key that has run out", Some(format!("Bearer {short_key}"))),
            ("a revoked key", Some(format!("Bearer {}", revoked_key.text("/key")))),
            ("a key of a locked user", Some(format!("Bearer {locked_key}"))),
            ("a session that has run out", Some(format!("Bearer {}", ada.token))),
            ("a session of a locked user", Some(format!("Bearer {locked_session}"))),
            ("a legacy token that has run out", Some(format!("Bearer {short_token}"))),
            ("a legacy token for an unknown address", Some(format!("Bearer {}", server.legacy_token("nobody@example.org")))),
            ("a legacy token of a locked user", Some(format!("Bearer {}", server.legacy_token(&locked.email)))),
            ("a revoked legacy token", Some(format!("Bearer {revoked_token}"))),
            ("a good session", Some(format!("Bearer {ada_session}"))),
            ("a good session, oddly spelled", Some(format!("bEARER   {ada_session} "))),
            ("a good key", Some(format!("Bearer {good_key}"))),
            ("a good legacy token", Some(format!("Bearer {good_token}"))),
            ("an administrator", Some(format!("Bearer {admin_session}"))),
        ];
        let mut lines = Vec::new();
        for (what, header) in credentials {
            lines.push(format!("{what}:"));
            for path in ["/v0/users/ada", "/v0/organizations", "/v0/users", "/v0/server/config/console"] {
                let answer = get(&server, path, header.as_deref()).await;
                assert_eq!(answer.status == 401, answer.headers.contains_key("www-authenticate"), "{what} {path}");
                lines.push(format!("  {path} {}", answer.line()));
            }
        }
        assert_snapshot!("caller_outcomes", lines.join("\n"));
    }

    async fn who_asks_is_judged_before_what_is_asked(server: TestServer) {
        let ada = server.person("Ada").await;
        // Without a credential, the response reveals neither whether a user exists nor whether a body is valid.
        for path in ["/v0/users/ada", "/v0/users/nobody"] {
            server.get(path, "").await.expect(401);
            server.patch(path, "", json!({ "name": 1 })).await.expect(401);
            server.post(&format!("{path}/keys"), "", json!({ "ttl": 0 })).await.expect(401);
            server.post(&format!("{path}/tokens"), "", json!({})).await.expect(401);
        }
        server.patch("/v0/users/ada", &ada.token, json!({ "name": 1 })).await.expect(400);
    }
}

async fn get(server: &TestServer, path: &str, authorization: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization.as_bytes());
    }
    server.send(request.body(Body::empty()).unwrap()).await
}
