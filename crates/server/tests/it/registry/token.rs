//! Tokens of the registry: who gets one, and for what.

use axum::{body::Body, http::Request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Client, line, owner, show};
use crate::{Answer, TestServer, both};

/// Returns the claims of a token, without the claims that vary.
fn claims(token: &str) -> Value {
    let body = token.split('.').nth(1).unwrap();
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, body).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

async fn post(server: &TestServer, form: &str) -> Answer {
    let request =
        Request::post("/v0/auth/oci/token").header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(Body::from(form.to_owned())).unwrap()).await
}

both! {
    async fn everybody_gets_what_they_may(server: TestServer) {
        let ada = owner(&server).await;
        let eve = server.person("Eve").await;
        let session = eve.token.clone();
        let key = server.post("/v0/users/eve/keys", &session, json!({ "name": "docker" })).await.expect(201);
        let eve = Client::login(&server, "eve@example.org", &key.text("/key"));
        let legacy = Client::login(&server, "ada@example.org", &server.legacy_token("ada@example.org"));
        let anybody = Client::anonymous(&server);
        let scope = "scope=repository:lab:pull,push,delete&scope=repository:new/app:pull,push&scope=registry:catalog:*";
        let mut text = String::new();
        for (who, client) in [("owner", &ada), ("owner by token", &legacy), ("stranger", &eve), ("anybody", &anybody)] {
            let answer = client.get_token(scope).await.expect(200);
            assert_eq!(answer.body["token"], answer.body["access_token"]);
            let mut claims = claims(&answer.text("/token"));
            claims["jti"] = json!(claims["jti"].is_string());
            text.push_str(&format!("{who}: {}\n{claims:#}\n", answer.text("/scope")));
        }
        assert_snapshot!("registry_tokens", text);
        let answer = anybody.get_token("service=x").await.expect(200);
        assert_snapshot!("registry_token", server.show(&answer));
    }

    async fn a_key_of_a_project_opens_only_that(server: TestServer) {
        let ada = server.person("Ada").await;
        let lab = server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        server.project(&ada, json!({ "name": "Other", "visibility": "private" })).await;
        let uuid = server.get(&lab, &ada.token).await.expect(200).text("/uuid");
        let key = server.project_key(&ada, &lab).await;
        let scope = format!("scope=repository:lab:pull,push,delete repository:{uuid}/a:pull&scope=repository:other:pull,push")
            .replace(' ', "%20");
        for name in ["lab", uuid.as_str()] {
            let answer = Client::login(&server, name, &key).get_token(&scope).await.expect(200);
            let scope = answer.text("/scope").replace(&uuid, "<uuid>");
            assert_eq!(scope, "repository:lab:pull,push repository:<uuid>/a:pull repository:other:");
        }
        for name in ["other", "ada@example.org", ""] {
            Client::login(&server, name, &key).get_token(&scope).await.expect(401);
        }
    }

    async fn a_bad_login_is_refused(server: TestServer) {
        let ada = owner(&server).await;
        drop(ada);
        let session = server.login("ada@example.org").await;
        let key = server.post("/v0/users/ada/keys", &session, json!({ "name": "one" })).await.expect(201);
        let (key, id) = (key.text("/key"), key.text("/uuid"));
        let refused = Client::login(&server, "ada@example.org", "wrong").get_token("scope=repository:lab:pull").await;
        assert_snapshot!("registry_login_refused", server.show(&refused));
        Client::login(&server, "eve@example.org", &key).get_token("").await.expect(401);
        Client::login(&server, "ada@example.org", &session).get_token("").await.expect(401);
        for header in ["Basic", "Basic ???", "Basic Zm9v", "Basic //8="] {
            let request = Request::get("/v0/auth/oci/token").header("authorization", header);
            let expected = if header == "Basic" { 200 } else { 401 };
            server.send(request.body(Body::empty()).unwrap()).await.expect(expected);
        }
        // A token becomes invalid with the key that requested it.
        let client = Client::login(&server, "ada@example.org", &key);
        let token = client.token("lab").await;
        client.call_with(&token, "GET /v2/lab/tags/list", &[], b"").await.expect(200);
        server.delete(&format!("/v0/users/ada/keys/{id}"), &session).await.expect(204);
        let refused = client.call_with(&token, "GET /v2/lab/tags/list", &[], b"").await;
        assert_eq!(line(&refused), "401 (challenge) UNAUTHORIZED The credential is not valid: it is unknown, \
                                    revoked, locked or expired; log in again.");
        client.call_with(&token, "GET /v2/", &[], b"").await.expect(401);
    }

    async fn tokens_by_form(server: TestServer) {
        owner(&server).await;
        let session = server.login("ada@example.org").await;
        let key = server.post("/v0/users/ada/keys", &session, json!({ "name": "one" })).await.expect(201).text("/key");
        let form = format!("grant_type=password&service=x&client_id=docker&username=ada%40example.org&password={key}&scope=repository%3Alab%3Apull");
        let answer = post(&server, &form).await.expect(200);
        assert_eq!(answer.text("/scope"), "repository:lab:pull");
        let mut text = String::new();
        for form in [
            "",
            "grant_type=refresh_token&refresh_token=x",
            "grant_type=password",
            "grant_type=password&username=ada%40example.org&password=wrong",
        ] {
            let answer = post(&server, form).await;
            text.push_str(&format!("{form}: {}\n", server.show(&answer)));
        }
        assert_snapshot!("registry_form_refused", text);
    }

    async fn a_token_runs_out(server: TestServer) {
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        server.pass(299);
        ada.call_with(&token, "GET /v2/lab/tags/list", &[], b"").await.expect(200);
        server.pass(2);
        let answer = ada.call_with(&token, "GET /v2/lab/tags/list", &[], b"").await;
        assert_snapshot!("registry_token_run_out", show(&server, &answer));
        let forged = server.sign(&json!({ "aud": "client", "iss": "x", "exp": 1, "sub": "ada@example.org" }));
        let session = server.login("ada@example.org").await;
        for token in ["", "nonsense", forged.as_str(), session.as_str()] {
            let answer = ada.call_with(token, "POST /v2/lab/blobs/uploads/", &[], b"").await.expect(401);
            let challenge = answer.headers["www-authenticate"].to_str().unwrap();
            assert!(challenge.contains("scope=\"repository:lab:pull,push\""), "{challenge}");
        }
        // A registry token gives no access to the API.
        let token = ada.token("lab").await;
        server.get("/v0/users/ada", &token).await.expect(401);
    }
}
