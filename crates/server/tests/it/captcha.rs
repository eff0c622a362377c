//! Captchas, verified by a mock service.

use std::collections::HashMap;

use axum::{Json, Router, routing::post};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Engine, TestServer};

/// Responds to a captcha with the content of the captcha itself.
async fn verify(body: String) -> Json<Value> {
    let form: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    assert_eq!(form["secret"], "s3cret");
    Json(serde_json::from_str(&form["response"]).unwrap_or_else(|_| json!({ "success": false })))
}

async fn walk(engine: Engine) {
    // Not a `Stub`, because the test stops it.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let service = tokio::spawn(async move {
        axum::serve(listener, Router::new().route("/siteverify", post(verify))).await.unwrap();
    });
    let settings = format!(
        "[plus.captcha]\nurl = \"{address}/siteverify\"\nscript = \"https://human.example.com/api.js\"\n\
         hosts = [\"https://static.example.com/x\"]\nsite_key = \"site\"\nsecret = \"s3cret\"\nmin_score = 0.5\n\
         [plus.rate_limiting.public]\nattempts = {{}}\n[plus.rate_limiting.user]\nattempts = {{}}\n"
    );
    let server = TestServer::start_with(engine, &settings).await;
    let setup = server.get("/v0/server/setup", "").await.expect(200);
    let site = json!({ "script": "https://human.example.com/api.js", "site_key": "site" });
    assert_eq!(setup.body["captcha"], site);
    let signup = |proof: Value| {
        let body =
            json!({ "name": "Ada", "email": "ada@example.org", "i_agree": true, "recaptcha_token": proof });
        server.post("/v0/auth/signup", "", body)
    };
    let refused = signup(Value::Null).await;
    assert_snapshot!("captcha_refused", server.show(&refused));
    for proof in [
        json!({ "success": false }),
        json!({ "success": true, "score": 0.4, "action": "signup" }),
        json!({ "success": true, "score": 0.9, "action": "login" }),
    ] {
        signup(Value::String(proof.to_string())).await.expect(403);
    }
    signup("nonsense".into()).await.expect(403);
    assert_eq!(server.get("/v0/server/setup", "").await.expect(200).body["accounts"], "none");
    signup(json!({ "success": true, "score": 0.5, "action": "signup" }).to_string().into()).await.expect(202);
    server.post("/v0/auth/login", "", json!({ "email": "ada@example.org" })).await.expect(403);
    // A service without scores.
    let proof = json!({ "success": true }).to_string();
    let login = json!({ "email": "ada@example.org", "recaptcha_token": proof });
    server.post("/v0/auth/login", "", login.clone()).await.expect(202);
    // A mailed link needs no captcha.
    let token = server.mailed_token("ada@example.org").await;
    server.post("/v0/auth/confirm", "", json!({ "token": token })).await.expect(200);
    service.abort();
    let _ = service.await;
    let silent = server.post("/v0/auth/login", "", login).await;
    assert_snapshot!("captcha_silent", server.show(&silent));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite() {
    walk(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres() {
    walk(Engine::Postgres).await;
}
