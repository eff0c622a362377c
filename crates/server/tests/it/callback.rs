//! Callbacks to code hosts and webhooks when a detached job has ended.

use std::sync::{Arc, Mutex};

use axum::{Json, http::StatusCode};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_store::{Error, Tx};
use tidemark_test_support::{Request, Stub};

use crate::{
    Person, TestServer, both,
    channel::{Runner, completed, enlist, listen},
    job::{ask, set_up},
    report::bench,
    until,
};

const PRIVATE: &str = "[plus.runners]\nprivate_callbacks = true";
const TOKEN: &str = "s3cret";

/// A mock code host.
struct Host {
    stub: Stub,
    state: Arc<Mutex<HostState>>,
}

#[derive(Default)]
struct HostState {
    comments: Vec<Value>,
    /// Statuses of the next responses.
    trouble: Vec<u16>,
}

impl Host {
    /// Starts the host and returns it with its address.
    fn open() -> (Self, String) {
        let state = Arc::<Mutex<HostState>>::default();
        let known = Arc::clone(&state);
        let stub = Stub::start(move |request| known.lock().unwrap().answer(request));
        let address = stub.address.clone();
        (Self { stub, state }, address)
    }

    /// Waits until the host has received this number of requests, and returns them.
    async fn asked(&self, server: &TestServer, count: usize) -> Vec<(String, Value)> {
        until(&format!("it is not asked {count} things"), async || {
            let is_asked = self.stub.request_count() >= count;
            if !is_asked {
                // The second attempt waits for the clock.
                server.pass_to_work().await;
            }
            is_asked.then_some(())
        })
        .await;
        server.wait_for_due_work().await;
        let requests = self.stub.take_requests();
        assert_eq!(requests.len(), count, "{requests:#?}");
        requests.iter().map(|request| (line(request), request.json())).collect()
    }
}

impl HostState {
    fn answer(&mut self, request: &Request) -> (StatusCode, Json<Value>) {
        if !self.trouble.is_empty() {
            let status = StatusCode::from_u16(self.trouble.remove(0)).unwrap();
            return (status, Json(json!({ "message": "Not now." })));
        }
        let path = request.uri.path();
        let answer = match request.method.as_str() {
            "GET" if path == "/user" => json!({ "id": 5 }),
            "GET" => Value::Array(self.comments.clone()),
            "POST" if path.ends_with("comments") || path.ends_with("notes") => {
                let body = &request.json()["body"];
                let comment =
                    json!({ "id": 7, "body": body, "author": { "id": 5 }, "user": { "type": "Bot" } });
                self.comments.push(comment.clone());
                comment
            }
            _ => json!({ "id": 1001 }),
        };
        (StatusCode::OK, Json(answer))
    }
}

/// Returns a request in one line, with its credential.
fn line(request: &Request) -> String {
    let credential = ["authorization", "private-token"].iter().find_map(|name| request.headers.get(*name));
    format!("{} as {}", request.line(), credential.map_or("anonymous", |value| value.to_str().unwrap()))
}

fn github(address: &str) -> Value {
    json!({ "kind": "github", "url": address, "repository": "acme/app", "hash": "0123abcd", "number": 3, "check": 1001,
        "token": TOKEN })
}

/// Creates a job with a callback and starts it on a runner.
async fn begin(server: &TestServer, ada: &Person, callback: Value) -> (Runner, String) {
    let (key, address) = (enlist(server, ada, "box").await, listen(&server.app).await);
    let mut runner = Runner::connect(address, "box", &key).await.unwrap();
    let uuid = ask(server, ada, json!({ "callback": callback })).await;
    assert_eq!(runner.begin().await, uuid);
    (runner, uuid)
}

/// Returns the number of stored callback tokens.
async fn kept(server: &TestServer) -> i64 {
    let count = |tx: &mut Tx<'_>| tx.value("select count(*) from job where callback is not null", &[]);
    server.app.db.read::<_, Error, _>(count).await.unwrap()
}

async fn until_forgotten(server: &TestServer) {
    until("the token is still there", async || (kept(server).await == 0).then_some(())).await;
}

fn show(server: &TestServer, requests: &[(String, Value)]) -> String {
    let lines = requests.iter().map(|(line, body)| format!("{line}\n{body:#}\n"));
    server.redact(&lines.collect::<String>())
}

both! {
    async fn github_gets_a_check_and_a_comment(server: TestServer = PRIVATE) {
        let ada = set_up(&server).await;
        let (host, address) = Host::open();
        let (mut runner, uuid) = begin(&server, &ada, github(&address)).await;
        runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        let job = server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "processed").await;
        assert!(!job.body.to_string().contains(TOKEN));
        // The server searches the comments for its own, writes it, and completes the check.
        let requests = host.asked(&server, 3).await;
        assert_snapshot!("callback_github", show(&server, &requests));
        until_forgotten(&server).await;
    }

    async fn an_endless_list_of_comments_is_read_to_a_limit(server: TestServer = PRIVATE) {
        let ada = set_up(&server).await;
        let (host, address) = Host::open();
        host.state.lock().unwrap().comments = vec![json!({ "id": 1, "body": "", "user": { "type": "Bot" } }); 100];
        let (mut runner, uuid) = begin(&server, &ada, github(&address)).await;
        runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        let requests = host.asked(&server, 32).await;
        let list = "GET /repos/acme/app/issues/3/comments?per_page=100&page=";
        let mut lines = requests.iter().map(|(line, _)| line.as_str());
        for page in 1..=30 {
            assert_eq!(lines.next().unwrap(), format!("{list}{page} as Bearer {TOKEN}"));
        }
        assert_eq!(lines.next().unwrap(), format!("POST /repos/acme/app/issues/3/comments as Bearer {TOKEN}"));
        assert_eq!(lines.next().unwrap(), format!("PATCH /repos/acme/app/check-runs/1001 as Bearer {TOKEN}"));
        until_forgotten(&server).await;
    }

    async fn a_job_without_results_sends_a_callback(server: TestServer = PRIVATE) {
        let ada = set_up(&server).await;
        let (host, address) = Host::open();
        let gitlab = json!({ "kind": "gitlab", "url": address, "repository": "42", "number": 3, "token": TOKEN });
        let (mut runner, uuid) = begin(&server, &ada, gitlab).await;
        runner.say(json!({ "event": "failed", "job": uuid, "error": "It <b>exploded</b>." })).await;
        let requests = host.asked(&server, 3).await;
        assert_snapshot!("callback_gitlab", show(&server, &requests));
        until_forgotten(&server).await;

        let webhook = json!({ "kind": "webhook", "url": format!("{address}/hook"), "token": TOKEN });
        let uuid = ask(&server, &ada, json!({ "callback": webhook })).await;
        server.delete(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(204);
        let requests = host.asked(&server, 1).await;
        assert_eq!(requests[0].0, format!("POST /hook as Bearer {TOKEN}"));
        assert_eq!((&requests[0].1["job"]["uuid"], &requests[0].1["job"]["status"]), (&json!(uuid), &json!("canceled")));
        assert_eq!(requests[0].1["report"]["job"], json!(uuid));
        until_forgotten(&server).await;
    }

    async fn a_host_in_trouble_is_asked_again_until_it_is_given_up(server: TestServer = PRIVATE) {
        let ada = set_up(&server).await;
        let (host, address) = Host::open();
        let webhook = json!({ "kind": "webhook", "url": address, "token": TOKEN });
        host.state.lock().unwrap().trouble = vec![503, 429];
        let uuid = ask(&server, &ada, json!({ "callback": webhook })).await;
        server.delete(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(204);
        host.asked(&server, 3).await;
        until_forgotten(&server).await;
        // The server does not retry a permanent rejection.
        host.state.lock().unwrap().trouble = vec![404];
        let uuid = ask(&server, &ada, json!({ "callback": webhook })).await;
        server.delete(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(204);
        host.asked(&server, 1).await;
        until_forgotten(&server).await;
    }

    async fn a_lost_and_a_returned_runner_send_callbacks(server: TestServer = PRIVATE) {
        let ada = set_up(&server).await;
        let (host, address) = Host::open();
        let check = json!({ "kind": "github", "url": address, "repository": "acme/app", "hash": "0123abcd",
            "check": 1001, "token": TOKEN });
        let (mut runner, uuid) = begin(&server, &ada, check).await;
        server.pass(91);
        server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "unknown").await;
        let lost = host.asked(&server, 1).await;
        assert_eq!(lost[0].1["output"]["title"], "The runner of the job was lost");
        assert_eq!(kept(&server).await, 1, "there is more to come");
        runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        let received = host.asked(&server, 1).await;
        assert_eq!(received[0].1["conclusion"], "neutral");
        until_forgotten(&server).await;
    }

    async fn private_addresses_are_not_called(server: TestServer) {
        let ada = set_up(&server).await;
        let (host, address) = Host::open();
        let webhook = |url: String| json!({ "kind": "webhook", "url": url, "token": TOKEN });
        let body = crate::job::run_body(json!({ "callback": webhook(address.clone()) }), json!({}));
        server.post("/v0/run", "", body.clone()).await.expect(401);
        let refused = server.post("/v0/run", &ada.token, body).await.expect(400);
        assert!(refused.text("/message").contains("is not public"), "{}", refused.body);
        // A host name is resolved only at the time of the request; then the request is rejected as well.
        let port = address.rsplit(':').next().unwrap();
        let uuid = ask(&server, &ada, json!({ "callback": webhook(format!("http://localhost:{port}")) })).await;
        server.delete(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(204);
        until("it is not given up in the end", async || {
            // The next attempt waits for the clock.
            server.pass_to_work().await;
            (kept(&server).await == 0).then_some(())
        })
        .await;
        assert_eq!(host.stub.request_count(), 0);
    }
}
