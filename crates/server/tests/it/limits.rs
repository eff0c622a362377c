//! Rate limits as clients see them.

use axum::http::header;
use insta::assert_snapshot;
use serde_json::json;
use tidemark_server::{
    App,
    infra::limits::{Error, Rule},
};

use crate::{Answer, Engine, TestServer, both};

const CREATION: &str = "[plus.rate_limiting.user]\norganizations = { minute = 2 }\ncredentials = { minute = 2 }\n\
     invites = { minute = 2 }\nattempts = { minute = 9 }\n";
const HOURLY: &str = "[plus.rate_limiting.user]\norganizations = { minute = 2, hour = 3 }\n";
const REQUESTS: &str = "[plus.rate_limiting.user]\nrequests = { minute = 3 }\n\
     [plus.rate_limiting.public]\nrequests = { minute = 3 }\n";
const ATTEMPTS: &str = "[plus.rate_limiting.user]\nattempts = { minute = 1 }\n\
     [plus.rate_limiting.public]\nattempts = { minute = 3 }\n";

const SHARED: &str = "[plus.rate_limiting.user]\nruns = { minute = 10 }\nrequests = {}\n";

impl TestServer {
    async fn organize(&self, token: &str) -> Answer {
        self.post("/v0/organizations", token, json!({ "name": "Engine" })).await
    }

    async fn log_in(&self, email: &str) -> Answer {
        self.post("/v0/auth/login", "", json!({ "email": email })).await
    }
}

impl Answer {
    /// Asserts a 429 with this number of seconds to wait.
    #[track_caller]
    fn limited(self, seconds: u32) {
        let answer = self.expect(429);
        assert_eq!(answer.headers[header::RETRY_AFTER], seconds.to_string());
        assert_eq!(answer.text("/error_code"), "rate_limited");
    }
}

both! {
    async fn creations_are_limited_by_user(server: TestServer = CREATION) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        let keys = format!("/v0/users/{}/keys", ada.slug);
        let members = format!("/v0/organizations/{}/members", ada.slug);
        for count in 0..2 {
            server.organize(&ada.token).await.expect(201);
            server.post(&keys, &ada.token, json!({ "name": "laptop" })).await.expect(201);
            let invite = json!({ "email": format!("guest{count}@example.org"), "role": "member" });
            server.post(&members, &ada.token, invite).await.expect(202);
        }
        assert_snapshot!("limits_refusal", server.show(&server.organize(&ada.token).await));
        server.post(&keys, &ada.token, json!({ "name": "laptop" })).await.limited(61);
        let invite = json!({ "email": "guest2@example.org", "role": "member" });
        server.post(&members, &ada.token, invite).await.limited(61);
        server.organize(&grace.token).await.expect(201);
    }

    async fn the_window_slides_and_forgets_refusals(server: TestServer = CREATION) {
        let ada = server.person("Ada").await;
        server.organize(&ada.token).await.expect(201);
        server.pass(30);
        server.organize(&ada.token).await.expect(201);
        for _ in 0..5 {
            server.organize(&ada.token).await.limited(31);
        }
        server.pass(30);
        server.organize(&ada.token).await.limited(1);
        server.pass(1);
        server.organize(&ada.token).await.expect(201);
        server.organize(&ada.token).await.limited(30);
    }

    async fn the_longest_wait_counts(server: TestServer = HOURLY) {
        let ada = server.person("Ada").await;
        for _ in 0..2 {
            server.organize(&ada.token).await.expect(201);
        }
        server.organize(&ada.token).await.limited(61);
        server.pass(61);
        server.organize(&ada.token).await.expect(201);
        // The hour is counted in slots of one minute: both requests of the first minute expire together.
        server.organize(&ada.token).await.limited(3660 - 61);
        server.pass(3660 - 61);
        server.organize(&ada.token).await.expect(201);
    }

    async fn requests_are_limited_by_user_and_by_address(server: TestServer = REQUESTS) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        for _ in 0..3 {
            server.get("/v0/organizations", &ada.token).await.expect(200);
            server.get("/v0/organizations", "").await.expect(401);
        }
        // Another address does not reset the limit of a user; another credential does not reset the limit of an
        // address.
        server.call_from([198, 51, 100, 7]);
        server.get("/v0/organizations/ada", &ada.token).await.limited(61);
        server.get("/v0/organizations", "").await.expect(401);
        server.call_from([192, 0, 2, 1]);
        server.get("/v0/organizations", "svc_user_nobody").await.limited(61);
        server.get("/v0/server/config/console", "").await.limited(61);
        server.get("/v0/organizations", &grace.token).await.expect(200);
        // Health and version routes are never limited.
        for path in ["/", "/v0/server/version", "/v0/server/spec", "/healthz", "/readyz", "/metrics"] {
            server.get(path, "").await.expect(200);
        }
    }

    async fn attempts_are_limited_by_address_and_person(server: TestServer = ATTEMPTS) {
        server.log_in("ada@example.org").await.expect(202);
        for _ in 0..5 {
            server.log_in("ada@example.org").await.limited(61);
        }
        // Requests rejected for one user do not count for the address.
        server.log_in("grace@example.org").await.expect(202);
        let signup = json!({ "name": "Mary", "email": "mary@example.org", "i_agree": true });
        server.post("/v0/auth/signup", "", signup).await.expect(202);
        server.log_in("edith@example.org").await.limited(61);
        server.post("/v0/auth/confirm", "", json!({ "token": "aaaa.bbbb.cccc" })).await.limited(61);
        // Attempts from other addresses do not lock out a user.
        server.call_from([198, 51, 100, 7]);
        server.log_in("ada@example.org").await.expect(202);
    }

    async fn by_default_only_attempts_are_limited(server: TestServer) {
        let ada = server.person("Ada").await;
        for _ in 0..20 {
            server.organize(&ada.token).await.expect(201);
            server.get("/v0/organizations", "").await.expect(401);
        }
        let mut admitted = 0;
        let login = json!({ "email": "ada@example.org" });
        while server.post("/v0/auth/login", "", login.clone()).await.status == 202 {
            admitted += 1;
        }
        assert!((1..32).contains(&admitted), "{admitted} links within a minute");
    }

    async fn without_a_limit_nothing_is_counted(server: TestServer) {
        server.stop_workers().await;
        // The minimum of several measurements, because a worker may still finish its last round.
        let mut least = u64::MAX;
        for _ in 0..3 {
            let before = server.app.db.statements();
            for _ in 0..100 {
                server.app.limits.check(Rule::UserRequests, "user", server.app.clock.now()).await.unwrap();
            }
            least = least.min(server.app.db.statements() - before);
        }
        assert_eq!(least, 0);
    }
}

async fn admitted(app: App, calls: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..calls {
        match app.limits.check(Rule::UserRuns, "user", app.clock.now()).await {
            Ok(()) => admitted += 1,
            Err(Error::Limited(limited)) => assert_eq!(limited.retry_after_seconds, 61),
            Err(Error::Store(error)) => panic!("{error:?}"),
        }
    }
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_on_one_database_share_a_limit() {
    let server = TestServer::start_with(Engine::Postgres, SHARED).await;
    let second = server.second().await.unwrap();
    for _ in 0..2 {
        let tasks =
            [&server.app, &second, &server.app, &second].map(|app| tokio::spawn(admitted(app.clone(), 8)));
        let mut total = 0;
        for task in tasks {
            total += task.await.unwrap();
        }
        assert_eq!(total, 10);
        server.pass(61);
    }
}
