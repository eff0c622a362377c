//! The log must not contain secrets or whole e-mail addresses.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use axum::{body::Body, http::Request};
use serde_json::json;
use tracing::{level_filters::LevelFilter, subscriber::DefaultGuard};
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{Engine, TestServer, until};

/// Port without a listener, so that sending mail fails and logs an error.
const NO_MAIL_SERVER: &str = "[smtp]\nhostname = \"127.0.0.1\"\nport = 1\nplain = true\nusername = \"mailer\"\n\
     secret = \"mail-password\"\nfrom_email = \"sender@example.org\"\n\
     [security]\nsecret_key = \"the-signing-secret-of-this-server\"\n";

/// The captured log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Captures the log from now on.
    fn start() -> Self {
        let log = Self::default();
        log.subscriber().init();
        log
    }

    /// Captures the log of this thread until the guard is dropped.
    pub(crate) fn of_thread() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = log.subscriber().set_default();
        (log, guard)
    }

    /// Returns a subscriber that records all levels of our own crates.
    fn subscriber(&self) -> impl tracing::Subscriber + Send + Sync + use<> {
        let writer = self.clone();
        let filter =
            Targets::new().with_default(LevelFilter::WARN).with_target("tidemark", LevelFilter::TRACE);
        let layer = fmt::layer().json().with_writer(move || writer.clone()).with_filter(filter);
        tracing_subscriber::registry().with(layer)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_and_addresses_stay_out_of_the_log() {
    let log = Log::start();
    let mut secrets = vec!["mail-password".to_owned(), "the-signing-secret-of-this-server".to_owned()];
    for (count, engine) in [Engine::Sqlite, Engine::Postgres].into_iter().enumerate() {
        secrets.extend(live(&TestServer::start(engine).await).await);
        let server = TestServer::start_with(engine, NO_MAIL_SERVER).await;
        let signup = json!({ "name": "Mary", "email": "mary@example.org", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        until("no failed mail is logged", async || {
            (log.text().matches("outbox work failed").count() > count).then_some(())
        })
        .await;
        server.app.close().await;
    }
    let log = log.text();
    assert!(log.contains("request completed") && log.contains("request rejected"), "{log}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in the log\n{log}");
    }
    for sign in ["@example.org", "eyJ", "svc_user_", "Bearer"] {
        assert!(!log.contains(sign), "{sign} is in the log\n{log}");
    }
}

/// Performs actions that are logged, and returns the secrets in them.
async fn live(server: &TestServer) -> Vec<String> {
    let ada = server.person("Ada").await;
    let grace = server.person("Grace").await;
    server.post("/v0/auth/login", "", json!({ "email": "grace@example.org" })).await.expect(202);
    let link = server.mailed_token("grace@example.org").await;
    server.get(&format!("/v0/server/version?token={link}"), &link).await.expect(200);
    server.get(&format!("/v0/users/{link}"), &link).await;
    server.post("/v0/auth/confirm", "", json!({ "token": link })).await.expect(200);
    server.post("/v0/auth/confirm", "", json!({ "token": link })).await.expect(401);
    server.post("/v0/auth/signup", "", json!({ "name": 7, "email": "ada@example.org" })).await.expect(400);

    let keys = format!("/v0/users/{}/keys", ada.slug);
    let key = server.post(&keys, &ada.token, json!({ "name": "laptop" })).await.expect(201).text("/key");
    server.get("/v0/organizations", &key).await.expect(200);
    server.get("/v0/organizations", &key[..key.len() - 1]).await.expect(401);

    let members = format!("/v0/organizations/{}/members", ada.slug);
    let invite = json!({ "name": "Grace", "email": "grace@example.org", "role": "member" });
    server.post(&members, &ada.token, invite).await.expect(202);
    let invitation = server.mailed_token("grace@example.org").await;
    let request =
        Request::builder().uri(format!("/auth/login?invite={invitation}")).body(Body::empty()).unwrap();
    server.send(request).await.expect(404);
    server.post("/v0/auth/accept", &grace.token, json!({ "invite": invitation })).await.expect(202);
    let patch = json!({ "email": "countess@example.org" });
    server.patch(&format!("/v0/users/{}", ada.slug), &ada.token, patch).await;
    server.app.close().await;
    server.get("/v0/organizations", &ada.token).await.expect(503);
    vec![ada.token, grace.token, link, key, invitation]
}
