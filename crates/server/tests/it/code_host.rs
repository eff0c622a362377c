//! Commands in comments of pull requests: a mock code host sends signed events and answers the requests of the server.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json,
    body::Body,
    http::{Request, StatusCode},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::Sha256;
use tidemark_store::{Error, Tx, job};
use tidemark_test_support::{Request as HostRequest, Stub};

use crate::{
    Answer, Person, TestServer, both,
    channel::{Runner, completed, enlist, listen},
    job::{set_up, tagged_image},
    report::{bench, report_body, with},
    until,
};

const PRIVATE: &str = "[plus.runners]\nprivate_callbacks = true";
const SECRET: &str = "webhook-s3cret";
const TOKEN: &str = "api-s3cret";
const PATH: &str = "/v0/projects/lab/code_host";
const HEAD: &str = "1111111111111111111111111111111111111111";
const BASE: &str = "2222222222222222222222222222222222222222";
const MANIFEST: &str = "project = \"lab\"\n\n[on_demand]\nimage = \"lab/bench\"\ncommand = [\"bench\", \"--all\"]\n\
    filter = [\"-k\", \"{benchmark}\"]\nadapter = \"json\"\niter = 2\ntimeout = 60\nenv = { SIZE = \"9\" }\n";

/// A mock code host of any kind, with the pull request 3 from `fix` to `main`.
struct Host {
    stub: Stub,
    state: Arc<Mutex<HostState>>,
}

struct HostState {
    /// The permission of `grace`, or the status of the response.
    permission: Result<&'static str, u16>,
    /// The user who has the name `grace`.
    user: u64,
    /// The content of `tidemark.toml` on `main`. The pull request has another file.
    manifest: Option<String>,
    pull: &'static str,
    comments: BTreeMap<u64, Value>,
}

impl Host {
    fn open() -> Self {
        let state = Arc::new(Mutex::new(HostState {
            permission: Ok("write"),
            user: 7,
            manifest: Some(MANIFEST.to_owned()),
            pull: "open",
            comments: BTreeMap::new(),
        }));
        let known = Arc::clone(&state);
        Self { stub: Stub::start(move |request| known.lock().unwrap().answer(request)), state }
    }

    fn set(&self, change: impl FnOnce(&mut HostState)) {
        change(&mut self.state.lock().unwrap());
    }

    fn comments(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.comments.values().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the server has answered with this number of comments, and returns the newest.
    async fn replied(&self, server: &TestServer, count: usize) -> String {
        until(&format!("there are not {count} comments"), async || {
            (self.comments().len() >= count).then_some(())
        })
        .await;
        server.wait_for_due_work().await;
        let comments = self.comments();
        assert_eq!(comments.len(), count, "{comments:#?}");
        comments.into_iter().next_back().unwrap()
    }

    /// Returns the requests since the last call, with their credentials.
    fn asked(&self) -> String {
        let lines = self.stub.take_requests().into_iter().map(|request| {
            let names = ["authorization", "private-token"];
            let credential = names.iter().find_map(|name| request.headers.get(*name));
            let credential = credential.map_or("anonymous", |value| value.to_str().unwrap());
            format!("{} as {credential}\n", request.line())
        });
        lines.collect()
    }
}

impl HostState {
    fn answer(&mut self, request: &HostRequest) -> (StatusCode, Json<Value>) {
        let (path, query) = (request.uri.path(), request.uri.query().unwrap_or_default());
        let found = match request.method.as_str() {
            "GET" if path == "/user" => Ok(json!({ "id": 5 })),
            "GET" if path.ends_with("/collaborators/grace/permission") => {
                let user = json!({ "id": self.user, "login": "grace" });
                self.permission.map(|permission| json!({ "permission": permission, "user": user }))
            }
            "GET" if path.ends_with("/members/all/7") => self.permission.map(|permission| {
                json!({ "state": "active", "access_level": if permission == "write" { 30 } else { 20 } })
            }),
            "GET" if self.pull == "unavailable" && path.ends_with("/pulls/3") => Err(503),
            "GET" if path.ends_with("/pulls/3") => {
                let repository = json!({ "full_name": "acme/app" });
                Ok(json!({
                    "state": self.pull, "merge_base": BASE,
                    "head": { "sha": HEAD, "ref": "fix", "repo": repository },
                    "base": { "sha": BASE, "ref": "main", "repo": repository },
                }))
            }
            "GET" if path.ends_with("/merge_requests/3") => Ok(json!({
                "state": if self.pull == "open" { "opened" } else { "merged" }, "sha": HEAD,
                "source_branch": "main", "target_branch": "main", "source_project_id": 8, "target_project_id": 9,
                "diff_refs": { "base_sha": BASE },
            })),
            "GET" if path.ends_with(&format!("/compare/main...{HEAD}")) => {
                Ok(json!({ "merge_base_commit": { "sha": BASE } }))
            }
            "GET" if path.ends_with("/tidemark.toml") => {
                let text = match query {
                    "ref=main" => self.manifest.clone(),
                    _ => Some("[on_demand]\nimage = \"evil\"\n".to_owned()),
                };
                text.map(|text| json!({ "encoding": "base64", "content": STANDARD.encode(text) })).ok_or(404)
            }
            "GET" if path.ends_with("/comments") || path.ends_with("/notes") => {
                Ok(self.comments.values().cloned().collect())
            }
            "POST" if path.ends_with("/comments") || path.ends_with("/notes") => {
                let id = 100 + self.comments.len() as u64;
                let comment = json!({ "id": id, "body": request.json()["body"], "author_association": "MEMBER",
                    "user": { "id": 5 }, "author": { "id": 5 } });
                self.comments.insert(id, comment.clone());
                Ok(comment)
            }
            "PATCH" | "PUT" => {
                let id: u64 = path.rsplit('/').next().unwrap().parse().unwrap();
                self.comments.get_mut(&id).unwrap()["body"] = request.json()["body"].clone();
                Ok(json!({ "id": id }))
            }
            _ => Err(404),
        };
        match found {
            Ok(value) => (StatusCode::OK, Json(value)),
            Err(status) => (StatusCode::from_u16(status).unwrap(), Json(json!({ "message": "No." }))),
        }
    }
}

/// Creates a project with an image of the head, connected to the host.
async fn connect(server: &TestServer, provider: &str) -> (Person, Host) {
    let ada = set_up(server).await;
    tagged_image(server, "lab", "bench", HEAD, &"a".repeat(64)).await;
    let host = Host::open();
    let new = connection(provider, &host.stub.address);
    server.put(PATH, &ada.token, new).await.expect(200);
    (ada, host)
}

fn connection(provider: &str, url: &str) -> Value {
    json!({ "provider": provider, "url": url, "repository": "acme/app", "token": TOKEN, "secret": SECRET })
}

/// Returns a comment of `grace` on the pull request.
fn comment(provider: &str, id: u64, text: &str) -> Value {
    if provider == "gitlab" {
        return json!({
            "object_kind": "note", "user": { "id": 7, "username": "grace" },
            "project": { "path_with_namespace": "acme/app" },
            "object_attributes": { "id": id, "note": text, "noteable_type": "MergeRequest", "author_id": 7,
                "action": "create", "system": false },
            "merge_request": { "iid": 3 },
        });
    }
    let marker = if provider == "github" { json!({ "url": "x" }) } else { Value::Null };
    json!({
        "action": "created", "is_pull": provider == "forgejo", "issue": { "number": 3, "pull_request": marker },
        "comment": { "id": id, "body": text, "author_association": "OWNER", "user": { "id": 7, "login": "grace" } },
        "repository": { "full_name": "Acme/App" },
    })
}

fn sign(body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(body.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends an event with headers.
async fn deliver(server: &TestServer, path: &str, body: String, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::post(format!("{path}/webhook")).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(Body::from(body)).unwrap()).await
}

/// Sends a signed event, as the code host does.
async fn send(server: &TestServer, provider: &str, event: &Value) -> Answer {
    let body = event.to_string();
    let signature = sign(&body);
    match provider {
        "gitlab" => {
            let headers = [("x-gitlab-event", "Note Hook"), ("x-gitlab-token", SECRET)];
            deliver(server, PATH, body, &headers).await
        }
        "forgejo" => {
            let headers = [("x-gitea-event", "issue_comment"), ("x-gitea-signature", &signature)];
            deliver(server, PATH, body, &headers).await
        }
        _ => {
            let signature = format!("sha256={signature}");
            let headers = [("x-github-event", "issue_comment"), ("x-hub-signature-256", &signature)];
            deliver(server, PATH, body, &headers).await
        }
    }
}

/// Sends a comment whose command the server accepts.
async fn command(server: &TestServer, provider: &str, id: u64, text: &str) {
    let sent = send(server, provider, &comment(provider, id, text)).await.expect(202);
    assert_eq!(sent.body["accepted"], true, "{}", sent.body);
}

async fn count(server: &TestServer, table: &str) -> i64 {
    let sql = format!("select count(*) from {table}");
    server.app.db.read::<_, Error, _>(move |tx: &mut Tx<'_>| tx.value(&sql, &[])).await.unwrap()
}

/// Returns the only job: its image, command, variables and report.
async fn only_job(server: &TestServer, ada: &Person) -> (String, String) {
    let jobs = server.get("/v0/projects/lab/jobs", &ada.token).await.expect(200);
    assert_eq!(jobs.total(), 1, "{}", jobs.body);
    let uuid = jobs.text("/0/uuid");
    let id = uuid.parse().unwrap();
    let found = server.app.db.read(move |tx| job::find(tx, id)).await.unwrap();
    let config = serde_json::to_value(&found.config).unwrap();
    let report =
        server.get(&format!("/v0/projects/lab/reports/{}", found.job.report), &ada.token).await.expect(200);
    let shown = json!({
        "config": config, "user": report.body["user"], "testbed": report.body["testbed"]["name"],
        "branch": report.body["branch"]["name"], "head": report.body["branch"]["head"],
        "adapter": report.body["adapter"],
    });
    (uuid, server.redact(&format!("{shown:#}")))
}

both! {
    async fn a_connection_is_set_viewed_and_deleted(server: TestServer = PRIVATE) {
        let ada = set_up(&server).await;
        server.get(PATH, &ada.token).await.expect(404);
        server.delete(PATH, &ada.token).await.expect(404);
        let new = json!({ "provider": "github", "repository": "acme/app" });
        let mut lines = vec![server.put(PATH, &ada.token, new.clone()).await.line()];
        let created = server.put(PATH, &ada.token, with(new.clone(), json!({ "token": TOKEN }))).await.expect(200);
        assert_eq!(created.text("/secret").len(), 40);
        let seen = server.get(PATH, &ada.token).await.expect(200);
        assert_snapshot!("code_host_view", server.show(&seen));
        let kept = server.put(PATH, &ada.token, with(new.clone(), json!({ "commands": false }))).await.expect(200);
        assert_eq!((kept.body.get("secret"), &kept.body["commands"]), (None, &json!(false)));
        // A stored token must not reach another host.
        for change in [
            json!({ "url": "https://example.org" }),
            json!({ "provider": "gitlab" }),
            json!({ "repository": "acme/other" }),
            json!({ "repository": "acme/../x" }),
            json!({ "token": "a b" }),
            json!({ "url": "ftp://example.org" }),
            json!({ "secrets": 1 }),
        ] {
            lines.push(server.put(PATH, &ada.token, with(new.clone(), change)).await.line());
        }
        assert_snapshot!("code_host_refused", lines.join("\n"));
        let gitlab = json!({ "provider": "gitlab", "repository": "a/b/c", "token": "x", "secret": SECRET });
        let moved = server.put(PATH, &ada.token, gitlab).await.expect(200);
        assert_eq!((moved.text("/url"), moved.body.get("secret")), ("https://gitlab.com/api/v4".to_owned(), None));
        server.delete(PATH, &ada.token).await.expect(204);
        server.get(PATH, &ada.token).await.expect(404);
        let log = server.get("/v0/organizations/ada/audit", &ada.token).await.expect(200);
        let log: Vec<Value> = log.body.as_array().unwrap().iter().take(4).map(|entry| {
            json!([entry["action"], entry["target"], entry["detail"]])
        }).collect();
        assert_snapshot!("code_host_audit", format!("{:#}", Value::Array(log)));
    }

    async fn private_addresses_are_not_connected(server: TestServer) {
        let ada = set_up(&server).await;
        let refused = server.put(PATH, &ada.token, connection("github", "http://127.0.0.1:1")).await.expect(400);
        assert!(refused.text("/message").contains("is not public"), "{}", refused.body);
    }

    async fn an_unsigned_event_has_no_effect(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        let body = comment("github", 1, "/tidemark run").to_string();
        let (event, good) = (("x-github-event", "issue_comment"), format!("sha256={}", sign(&body)));
        let other = format!("sha256={}", sign("{}"));
        let unsigned = deliver(&server, PATH, body.clone(), &[event]).await.expect(401);
        for headers in [
            [event, ("x-hub-signature-256", other.as_str())],
            [event, ("x-hub-signature-256", "sha256=")],
            [event, ("x-hub-signature-256", "nonsense")],
            [event, ("x-gitlab-token", SECRET)],
        ] {
            let refused = deliver(&server, PATH, body.clone(), &headers).await.expect(401);
            assert_eq!(refused.body["message"], unsigned.body["message"]);
        }
        // A project without a connection, and no project at all, give the same response.
        server.project(&ada, json!({ "name": "Bare", "visibility": "private" })).await;
        for project in ["bare", "missing"] {
            let path = format!("/v0/projects/{project}/code_host");
            let headers = [event, ("x-hub-signature-256", good.as_str())];
            let refused = deliver(&server, &path, body.clone(), &headers).await.expect(401);
            assert_eq!(refused.body["message"], unsigned.body["message"]);
        }
        server.idle().await;
        assert_eq!((count(&server, "code_host_command").await, count(&server, "job").await), (0, 0));
        assert_eq!(host.asked(), "");
    }

    async fn other_events_are_ignored(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        let base = comment("github", 1, "/tidemark run");
        let mut lines = Vec::new();
        for change in [
            json!({ "action": "edited" }),
            json!({ "action": "deleted" }),
            json!({ "issue": { "number": 3 } }),
            json!({ "repository": { "full_name": "acme/other" } }),
            json!({ "comment": { "id": 1, "body": "Nice!", "user": { "id": 7, "login": "grace" } } }),
            json!({ "comment": { "id": 1, "body": "x\n/tidemark run", "user": { "id": 7, "login": "grace" } } }),
            json!({ "comment": { "id": 1, "body": "/tidemark rerun", "user": { "id": 7, "login": "grace" } } }),
            json!({ "comment": { "id": 1, "body": "/tidemark run --help", "user": { "id": 7, "login": "grace" } } }),
            json!({ "comment": { "id": 1, "body": "/tidemark run" } }),
        ] {
            let answer = send(&server, "github", &with(base.clone(), change)).await;
            lines.push(format!("{} {}", answer.status, answer.body));
        }
        // The ping of a new webhook.
        let (body, event) = ("{\"zen\":\"x\"}".to_owned(), ("x-github-event", "ping"));
        let signature = format!("sha256={}", sign(&body));
        let answer = deliver(&server, PATH, body, &[event, ("x-hub-signature-256", &signature)]).await;
        lines.push(format!("{} {}", answer.status, answer.body));
        let form = "payload=%7B%7D".to_owned();
        let signature = format!("sha256={}", sign(&form));
        lines.push(deliver(&server, PATH, form, &[event, ("x-hub-signature-256", &signature)]).await.line());
        let off = with(connection("github", &host.stub.address), json!({ "commands": false }));
        server.put(PATH, &ada.token, off).await.expect(200);
        let answer = send(&server, "github", &base).await;
        lines.push(format!("{} {}", answer.status, answer.body));
        assert_snapshot!("code_host_ignored", lines.join("\n"));
        server.idle().await;
        assert_eq!((count(&server, "code_host_command").await, host.asked().as_str()), (0, ""));
    }

    async fn a_comment_on_github_runs_the_job_of_the_base_branch(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        command(&server, "github", 1, "/tidemark run\r\nThe pull request changes tidemark.toml.").await;
        let queued = host.replied(&server, 1).await;
        assert_snapshot!("code_host_github_requests", host.asked());
        let (uuid, job) = only_job(&server, &ada).await;
        assert_snapshot!("code_host_github_job", job);
        // An event that is sent again has no effect, whatever its headers say.
        let again = send(&server, "github", &comment("github", 1, "/tidemark run")).await.expect(202);
        assert_snapshot!("code_host_again", again.body);
        server.idle().await;
        assert_eq!(host.asked(), "");

        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        assert_eq!(runner.begin().await, uuid);
        let results = json!([{ "exit_code": 0, "stdout": bench(1.0) }, { "exit_code": 0, "stdout": bench(1.0) }]);
        runner.say(completed(&uuid, results)).await;
        server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "processed").await;
        let result = until("the comment has no result", async || {
            host.comments().into_iter().next().filter(|text| *text != queued)
        })
        .await;
        assert_snapshot!("code_host_github_comments", server.redact(&format!("{queued}\n---\n{result}")));
        assert_eq!(host.comments().len(), 1);
        let log = server.get("/v0/organizations/ada/audit", &ada.token).await.expect(200).body.to_string();
        assert!(log.contains("code_host.command") && !log.contains("s3cret"), "{log}");
    }

    async fn a_failed_job_replaces_the_comment(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        command(&server, "github", 1, "/tidemark run parse").await;
        host.replied(&server, 1).await;
        let (uuid, _) = only_job(&server, &ada).await;
        server.delete(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(204);
        until("the comment has no result", async || {
            host.comments().first().is_some_and(|text| text.contains("The job was canceled")).then_some(())
        })
        .await;
        assert_eq!(host.comments().len(), 1);
    }

    async fn a_note_on_gitlab_runs_a_filtered_job(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "gitlab").await;
        command(&server, "gitlab", 1, "/tidemark run parse json").await;
        let reply = host.replied(&server, 1).await;
        assert_snapshot!("code_host_gitlab", server.redact(&format!("{}{reply}\n", host.asked())));
        let (_, job) = only_job(&server, &ada).await;
        assert_snapshot!("code_host_gitlab_job", job);
    }

    async fn a_comment_on_forgejo_runs_a_job(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "forgejo").await;
        // With an image of the merge base, the job compares both images.
        tagged_image(&server, "lab", "bench", BASE, &"b".repeat(64)).await;
        command(&server, "forgejo", 1, "/tidemark run").await;
        let reply = host.replied(&server, 1).await;
        assert_snapshot!("code_host_forgejo", server.redact(&format!("{}{reply}\n", host.asked())));
        let (_, job) = only_job(&server, &ada).await;
        assert_snapshot!("code_host_forgejo_job", job);
    }

    async fn users_without_write_access_run_nothing(server: TestServer = PRIVATE) {
        let (_, host) = connect(&server, "github").await;
        let mut replies = Vec::new();
        for (number, permission) in (1..).zip([Ok("read"), Ok("none"), Err(404), Err(403)]) {
            host.set(|state| state.permission = permission);
            command(&server, "github", number as u64, "/tidemark run").await;
            replies.push(host.replied(&server, number).await);
        }
        // Another user has taken the name of the author.
        host.set(|state| (state.permission, state.user) = (Ok("admin"), 8));
        command(&server, "github", 5, "/tidemark run").await;
        replies.push(host.replied(&server, 5).await);
        assert_snapshot!("code_host_forbidden", replies.join("\n"));
        let asked = host.asked();
        assert!(!asked.contains("tidemark.toml") && !asked.contains("/pulls/"), "{asked}");
        assert_eq!(count(&server, "job").await, 0);
    }

    async fn reporters_of_gitlab_run_nothing(server: TestServer = PRIVATE) {
        let (_, host) = connect(&server, "gitlab").await;
        host.set(|state| state.permission = Ok("read"));
        command(&server, "gitlab", 1, "/tidemark run").await;
        let reply = host.replied(&server, 1).await;
        assert!(reply.contains("write access"), "{reply}");
        assert_eq!(count(&server, "job").await, 0);
    }

    async fn a_command_that_cannot_run_is_explained(server: TestServer = PRIVATE) {
        let (_, host) = connect(&server, "github").await;
        let mut replies = Vec::new();
        let mut say = async |text: &str| {
            let number = replies.len() + 1;
            command(&server, "github", number as u64, text).await;
            replies.push(host.replied(&server, number).await);
        };
        host.set(|state| state.pull = "closed");
        say("/tidemark run").await;
        host.set(|state| (state.pull, state.manifest) = ("open", None));
        say("/tidemark run").await;
        for text in [
            "project = \"lab\"\n",
            "project = \"lab\"\n[on_demand]\ncmd = [\"x\"]\n",
            "[on_demand]\nimage = \"lab/bench\"\niter = 5000\n",
            "[on_demand]\nimage = \"lab/bench\"\nspec = \"missing\"\n",
            "[on_demand]\nimage = \"other\"\n",
            "[on_demand]\nimage = \"lab/missing\"\n",
            "[on_demand]\n",
        ] {
            host.set(|state| state.manifest = Some(text.to_owned()));
            say("/tidemark run").await;
        }
        say("/tidemark run parse").await;
        assert_snapshot!("code_host_explained", server.redact(&replies.join("\n")));
        assert_eq!(count(&server, "job").await, 0);
    }

    async fn bisect_replies_with_the_command(server: TestServer = PRIVATE) {
        let (_, host) = connect(&server, "github").await;
        command(&server, "github", 1, "/tidemark bisect").await;
        let all = host.replied(&server, 1).await;
        command(&server, "github", 2, "/tidemark bisect it's `parse`").await;
        let one = host.replied(&server, 2).await;
        assert_snapshot!("code_host_bisect", format!("{all}\n{one}"));
        assert_eq!(count(&server, "job").await, 0);
    }

    async fn bisect_searches_for_the_commit_of_an_event(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        let send = async |value: f64| {
            let report = with(report_body(json!([bench(value)]), json!({})), json!({ "branch": "fix" }));
            server.post("/v0/projects/lab/reports", &ada.token, report).await.expect(201)
        };
        send(100.0).await;
        let limit = json!({ "branch": "fix", "testbed": "localhost", "measure": "latency", "test": "static",
            "upper_boundary": 130.0 });
        server.post("/v0/projects/lab/thresholds", &ada.token, limit).await.expect(201);
        send(150.0).await;
        command(&server, "github", 1, "/tidemark bisect").await;
        let reply = host.replied(&server, 1).await;
        assert!(reply.contains("cannot search for the commit of the event"), "{reply}");
        let events = server.get("/v0/projects/lab/events", &ada.token).await.expect(200);
        assert_eq!(events.text("/0/search/reason"), "The report has no commit hash.");
    }

    async fn a_command_survives_a_restart(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        server.stop_workers().await;
        command(&server, "github", 1, "/tidemark run").await;
        assert_eq!(host.asked(), "");
        let server = server.restart().await;
        host.replied(&server, 1).await;
        only_job(&server, &ada).await;
    }

    async fn a_run_keeps_the_history_of_the_source_branch(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        // The source branch of the pull request has runs of its own.
        let report = with(report_body(json!([bench(1.0)]), json!({})), json!({ "branch": "fix" }));
        server.post("/v0/projects/lab/reports", &ada.token, report).await.expect(201);
        let before = server.get("/v0/projects/lab/branches/fix", &ada.token).await.expect(200);
        command(&server, "github", 1, "/tidemark run").await;
        host.replied(&server, 1).await;
        let (_, job) = only_job(&server, &ada).await;
        assert!(job.contains("\"branch\": \"pull/3/fix\""), "{job}");
        let after = server.get("/v0/projects/lab/branches/fix", &ada.token).await.expect(200);
        assert_eq!(after.body["head"], before.body["head"]);
    }

    async fn a_command_that_fails_for_good_says_so(server: TestServer = PRIVATE) {
        let (_, host) = connect(&server, "github").await;
        host.set(|state| state.pull = "unavailable");
        command(&server, "github", 1, "/tidemark run").await;
        until("there is no comment", async || {
            server.pass_to_work().await;
            (!host.comments().is_empty()).then_some(())
        })
        .await;
        server.wait_for_due_work().await;
        let comments = host.comments();
        assert!(comments[0].contains("could not run the command") && comments.len() == 1, "{comments:?}");
        assert_eq!(count(&server, "code_host_command where completed is null").await, 0);
    }

    async fn a_host_in_trouble_is_asked_again(server: TestServer = PRIVATE) {
        let (ada, host) = connect(&server, "github").await;
        host.set(|state| state.permission = Err(503));
        command(&server, "github", 1, "/tidemark run").await;
        until("the host is not asked", async || (host.stub.request_count() > 0).then_some(())).await;
        host.set(|state| state.permission = Ok("admin"));
        until("there is no job", async || {
            server.pass_to_work().await;
            (count(&server, "job").await == 1).then_some(())
        })
        .await;
        assert_eq!(host.replied(&server, 1).await.matches("requested a run").count(), 1);
        only_job(&server, &ada).await;
    }
}
