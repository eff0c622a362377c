//! The messages between runners and the server, on real sockets.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_api::LeaseUuid;
use tidemark_server::{
    App,
    domain::{auth::key::hash, jobs::end_overdue},
    transport::router::router,
};
use tidemark_store::{job, runner};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::{
    PATIENCE, Person, TestServer, both,
    job::{ask, image, run_body, set_up},
    registry::client::Client,
    report::{bench, report_body, with},
    until,
};

/// Listens on a port, for clients that need one.
pub(crate) async fn listen(app: &App) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = router(app.clone()).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    address
}

/// A runner that the test controls.
pub(crate) struct Runner {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next: u64,
}

impl Runner {
    pub(crate) async fn connect(address: SocketAddr, runner: &str, key: &str) -> Result<Self, u16> {
        let mut request =
            format!("ws://{address}/v0/runners/{runner}/channel").into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self { socket, next: 0 }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends a message and returns the response.
    pub(crate) async fn say(&mut self, mut message: Value) -> Value {
        self.next += 1;
        message["id"] = json!(self.next);
        self.send(&message).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    async fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.unwrap().unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => return json!({ "close": frame.map(|frame| u16::from(frame.code)) }),
                _ => {}
            }
        }
    }

    /// Takes the next job and starts it.
    pub(crate) async fn begin(&mut self) -> String {
        let job = self.say(json!({ "event": "ready", "poll_timeout": 600 })).await;
        assert_eq!(job["event"], "job", "{job}");
        let uuid = job["uuid"].as_str().unwrap().to_owned();
        let answer = self.say(json!({ "event": "running" })).await;
        assert_eq!((&answer["event"], answer["job"].as_str()), (&json!("ack"), Some(uuid.as_str())));
        uuid
    }
}

/// Claims the next job for a runner without sending it, like a server that dies in between.
async fn take_and_die(server: &TestServer, hash: Vec<u8>, lease: &str) {
    let (now, lease): (_, LeaseUuid) = (server.app.clock.now(), lease.parse().unwrap());
    let take = move |tx: &mut tidemark_store::Tx<'_>| {
        let (runner, ..) = runner::authenticate(tx, &hash)?.unwrap();
        job::claim(tx, job::RunnerCapabilities { runner, platform: None }, lease, now, 600)
    };
    assert!(server.app.db.write::<_, tidemark_store::Error, _>(take).await.unwrap().is_some());
}

/// Returns the number of servers that listen for notifications about jobs.
async fn listeners(server: &TestServer) -> i64 {
    let sql =
        "select count(*) from pg_stat_activity where datname = current_database() and query like 'listen %'";
    let read = move |tx: &mut tidemark_store::Tx<'_>| tx.value(sql, &[]);
    server.app.db.read::<_, tidemark_store::Error, _>(read).await.unwrap()
}

/// Returns the number of statements when all jobs expire at once; the transaction is rolled back.
async fn cost_of_the_end(server: &TestServer) -> u64 {
    let (app, late) = (server.app.clone(), server.app.clock.now().plus_seconds(1_000_000));
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let end = move |tx: &mut tidemark_store::Tx<'_>| {
        let before = app.db.statements();
        end_overdue(tx, late, late)?;
        sender.send(app.db.statements() - before).unwrap();
        Err(tidemark_store::Error::NotFound("an end"))
    };
    server.app.db.write::<(), tidemark_store::Error, _>(end).await.unwrap_err();
    receiver.recv().unwrap()
}

/// Creates a runner for all jobs and returns its key.
pub(crate) async fn enlist(server: &TestServer, admin: &Person, name: &str) -> String {
    let made = server.post("/v0/runners", &admin.token, json!({ "name": name })).await.expect(201);
    let path = format!("/v0/runners/{name}/specs");
    server.post(&path, &admin.token, json!({ "spec": "metal" })).await.expect(201);
    made.text("/key")
}

pub(crate) fn completed(uuid: &str, results: Value) -> Value {
    let mut message = json!({ "event": "completed", "job": uuid });
    message["results"] = results;
    message
}

both! {
    async fn a_job_becomes_a_report(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        assert_eq!(runner.say(json!({ "event": "ready", "poll_timeout": 1 })).await["event"], "no_job");
        let uuid = ask(&server, &ada, json!({ "cmd": ["bench"], "iter": 2, "env": { "TOKEN": "s3cret" } })).await;
        let metadata = json!({ "os": "linux", "arch": "x86_64", "version": "1.2.3" });
        let mut order = runner.say(json!({ "event": "ready", "runner": metadata })).await;
        assert_eq!(order["oci_token"].as_str().unwrap().split('.').count(), 3);
        order["oci_token"] = json!("…");
        assert_snapshot!("channel_job", server.redact(&format!("{order:#}")));
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        assert_eq!(server.get(&path, &ada.token).await.text("/status"), "claimed");
        server.pass(5);
        assert_eq!(runner.say(json!({ "event": "running" })).await["event"], "ack");
        assert_eq!(runner.say(json!({ "event": "heartbeat" })).await["event"], "ack");
        assert_eq!(server.get(&path, &ada.token).await.body["printed"], Value::Null);
        let printing = json!({ "event": "heartbeat", "printed": "warming up\0\n" });
        assert_eq!(runner.say(printing).await["event"], "ack");
        assert_eq!(server.get(&path, &ada.token).await.text("/printed"), "warming up\u{fffd}\n");
        assert_eq!(server.get(&path, "").await.body["printed"], Value::Null, "that is for those who have a role");
        let seen = server.get("/v0/runners/box", &ada.token).await;
        assert_eq!((seen.text("/state"), seen.text("/job"), seen.text("/version")), ("busy".into(), uuid.clone(), "1.2.3".into()));
        server.pass(90);
        let results = json!([{ "exit_code": 0, "stdout": bench(1.0) }, { "exit_code": 0, "stdout": bench(2.0) }]);
        assert_eq!(runner.say(completed(&uuid, results)).await["event"], "ack");
        let job = server.until(&path, &ada.token, "processed").await;
        assert_snapshot!("channel_processed", server.show(&job));
        // The host of the report is the runner.
        let host = |tx: &mut tidemark_store::Tx<'_>| tx.value::<String>("select host from report", &[]);
        assert_eq!(server.app.db.read::<_, tidemark_store::Error, _>(host).await.unwrap(), job.text("/runner"));
        let report = server.get(&format!("/v0/projects/lab/reports/{}", job.text("/report")), "").await.expect(200);
        assert_snapshot!("channel_report", server.show(&report));
        let usage = server.get("/v0/organizations/ada/usage", &ada.token).await.expect(200);
        assert_eq!(usage.body["runner_minutes"], json!(2));
        // A repeated message changes nothing.
        let twice = runner.say(completed(&uuid, json!([]))).await;
        assert_eq!(twice["refused"], "the job has already ended");
    }

    async fn failures_say_why(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        assert_eq!(runner.begin().await, uuid);
        let failed = json!({ "event": "failed", "job": uuid, "error": "It exploded.",
            "results": [{ "exit_code": 1, "stderr": "boom" }] });
        assert_eq!(runner.say(failed).await["event"], "ack");
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        let job = server.until(&path, &ada.token, "failed").await;
        assert_eq!(job.body["output"], json!({ "error": "It exploded.", "results": [{ "exit_code": 1, "stderr": "boom" }] }));
        let mut errors = Vec::new();
        for (job, results) in [
            (json!({}), json!([{ "exit_code": 0, "stdout": "nonsense" }])),
            (json!({}), json!([{ "exit_code": 0, "output": { "/out.json": "{" } }])),
            (json!({}), json!([{ "exit_code": 0 }])),
            (json!({ "allow_failure": true }), json!([{ "exit_code": 1, "stdout": bench(1.0) }])),
        ] {
            let uuid = ask(&server, &ada, job).await;
            assert_eq!(runner.begin().await, uuid);
            runner.say(completed(&uuid, results)).await;
            let job = server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "failed").await;
            errors.push(job.text("/output/error"));
        }
        assert_snapshot!("channel_unreadable", errors.join("\n"));
    }

    async fn a_cancel_reaches_the_runner_at_once(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        runner.begin().await;
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        server.delete(&path, &ada.token).await.expect(204);
        assert_eq!(runner.receive().await, json!({ "event": "cancel", "job": uuid }));
        assert_eq!(runner.say(json!({ "event": "heartbeat", "job": uuid })).await["event"], "cancel");
        let partial = json!({ "event": "canceled", "job": uuid, "results": [{ "exit_code": 137, "stdout": "half" }] });
        let answer = runner.say(partial).await;
        assert_eq!((&answer["event"], answer.get("refused")), (&json!("ack"), None));
        let job = server.get(&path, &ada.token).await;
        assert_eq!((job.text("/status"), job.text("/output/results/0/stdout")), ("canceled".into(), "half".into()));
        // A job that exceeds its timeout is canceled as well.
        let late = ask(&server, &ada, json!({ "timeout": 10 })).await;
        runner.begin().await;
        server.pass(71);
        assert_eq!(runner.receive().await, json!({ "event": "cancel", "job": late }));
    }

    async fn a_lost_runner_resumes(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({ "timeout": 3600 })).await;
        runner.begin().await;
        drop(runner);
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        assert_eq!(runner.say(json!({ "event": "resume", "job": uuid })).await["event"], "ack");
        assert_eq!(server.get(&path, &ada.token).await.text("/status"), "running");
        drop(runner);
        server.pass(91);
        server.until(&path, &ada.token, "unknown").await;
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        assert_eq!(runner.say(json!({ "event": "resume", "job": uuid })).await["event"], "ack");
        assert_eq!(server.get(&path, &ada.token).await.text("/status"), "running");
        server.pass(91);
        server.until(&path, &ada.token, "unknown").await;
        let late = runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        assert_eq!(late["event"], "ack");
        let job = server.until(&path, &ada.token, "processed").await;
        assert_eq!(job.body.get("error"), None, "what was feared has not come true");
    }

    async fn a_job_that_was_lost_on_the_way_is_handed_over_again(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let [lost, other] = ["0190a000-0000-7000-8000-0000000000a1", "0190a000-0000-7000-8000-0000000000a2"];
        let wait = json!({ "event": "ready", "poll_timeout": 1 });
        let under = |message: &Value, lease: &str| with(message.clone(), json!({ "lease": lease }));
        let uuid = ask(&server, &ada, json!({})).await;
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        take_and_die(&server, hash(&key), lost).await;
        assert_eq!(server.get(&path, &ada.token).await.text("/status"), "claimed");
        // Another process with the same key neither gets the job nor may start it.
        let mut stranger = Runner::connect(address, "box", &key).await.unwrap();
        assert_eq!(stranger.say(under(&wait, other)).await["event"], "no_job");
        for claim in [json!({}), json!({ "job": uuid }), json!({ "job": uuid, "lease": other })] {
            let mut running = claim;
            running["event"] = json!("running");
            assert_eq!(stranger.say(running).await["event"], "cancel");
        }
        // The process that requested the job gets it at once, on any connection.
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let order = runner.say(under(&wait, lost)).await;
        assert_eq!((&order["event"], &order["uuid"]), (&json!("job"), &json!(uuid)));
        drop(runner);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let resume = json!({ "event": "resume", "job": uuid, "lease": lost });
        assert_eq!(runner.say(resume).await["event"], "ack");
        let running = json!({ "event": "running", "job": uuid, "lease": lost });
        assert_eq!(runner.say(running.clone()).await["event"], "ack");
        assert_eq!(stranger.say(under(&running, other)).await["event"], "cancel");
        runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        server.until(&path, &ada.token, "processed").await;
        assert_eq!(runner.say(wait).await["event"], "no_job", "it is done once");
    }

    async fn a_job_that_its_runner_never_spoke_of_waits_again(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let uuid = ask(&server, &ada, json!({})).await;
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        let lost = "0190a000-0000-7000-8000-0000000000a1";
        take_and_die(&server, hash(&key), lost).await;
        server.pass(91);
        server.until(&path, &ada.token, "pending").await;
        // A runner without support for leases holds the job by its connection.
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        assert_eq!(runner.say(json!({ "event": "ready" })).await["uuid"], json!(uuid));
        // The process that had the job before is too late, whatever it sends.
        let mut late = Runner::connect(address, "box", &key).await.unwrap();
        for event in ["resume", "heartbeat", "running"] {
            let claim = json!({ "event": event, "job": uuid, "lease": lost });
            assert_eq!(late.say(claim).await["event"], "cancel", "{event}");
        }
        assert_eq!(runner.say(json!({ "event": "running" })).await["event"], "ack");
        let claim = json!({ "event": "running", "job": uuid, "lease": lost });
        assert_eq!(late.say(claim).await["event"], "cancel");
        // A runner that reported its job and then fell silent may have started it.
        server.pass(91);
        server.until(&path, &ada.token, "unknown").await;
    }

    async fn many_jobs_whose_time_is_up_cost_as_much_as_one(server: TestServer) {
        let ada = set_up(&server).await;
        server.stop_workers().await;
        let callback = json!({ "kind": "webhook", "url": "https://example.org", "token": "x" });
        let mut costs = Vec::new();
        for count in [1, 20] {
            for _ in 0..count {
                ask(&server, &ada, json!({ "callback": callback })).await;
            }
            // The minimum of several measurements, because a worker may still finish its last round.
            let mut least = u64::MAX;
            for _ in 0..3 {
                least = least.min(cost_of_the_end(&server).await);
            }
            costs.push(least);
        }
        assert_eq!(costs[0], costs[1], "{costs:?}");
    }

    async fn how_restless_the_machine_was_is_in_the_report(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({ "iter": 2 })).await;
        runner.begin().await;
        let run = |before: f64, after: f64| {
            json!({ "exit_code": 0, "stdout": bench(1.0), "noise": { "before": before, "after": after },
                "cpu_time": 1.5, "peak_memory": 4096 })
        };
        runner.say(completed(&uuid, json!([run(0.01, 0.25), run(0.25, 0.02)]))).await;
        let job = server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "processed").await;
        let first = &job.body["output"]["results"][0];
        assert_eq!((&first["cpu_time"], &first["peak_memory"]), (&json!(1.5), &json!(4096)));
        let path = format!("/v0/projects/lab/reports/{}", job.text("/report"));
        let report = server.get(&path, "").await.expect(200);
        assert_eq!(report.body["noise"], json!({ "before": 0.25, "after": 0.25 }));
        let list = server.get("/v0/projects/lab/reports", "").await.expect(200);
        assert_eq!(list.body[0]["noise"], report.body["noise"]);
    }

    async fn warnings_about_the_results_of_a_job_are_in_the_report(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        runner.begin().await;
        let stdout = json!({ "a": { "latency": { "value": 1, "direction": "higher_is_better" } } }).to_string();
        runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": stdout }]))).await;
        let job = server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "processed").await;
        let path = format!("/v0/projects/lab/reports/{}", job.text("/report"));
        let report = server.get(&path, "").await.expect(200);
        let warning = "The direction of the measure `Latency` stays `lower_is_better`; the results declare \
                       `higher_is_better`. If this is correct, change the direction of the measure.";
        assert_eq!(report.body["warnings"], json!([warning]));
    }

    async fn results_that_cannot_be_read_for_a_fault_of_the_server_fail_in_the_end(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        runner.begin().await;
        let write = async |sql: &'static str| {
            let write = move |tx: &mut tidemark_store::Tx<'_>| tx.execute(sql, &[]);
            server.app.db.write::<_, tidemark_store::Error, _>(write).await.unwrap()
        };
        let attempts = async || {
            let read = |tx: &mut tidemark_store::Tx<'_>| tx.value::<i64>("select max(attempts) from job", &[]);
            server.app.db.read::<_, tidemark_store::Error, _>(read).await.unwrap()
        };
        let until_attempt = async |wanted: i64| {
            until("the results are not read", async || (attempts().await == wanted).then_some(())).await;
        };
        write("update report set adapter = 'broken'").await;
        runner.say(completed(&uuid, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        until_attempt(1).await;
        // The worker processes another job but not this one: its second attempt is not due yet.
        let other = ask(&server, &ada, json!({})).await;
        assert_eq!(runner.begin().await, other);
        runner.say(completed(&other, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        server.until(&format!("/v0/projects/lab/jobs/{other}"), &ada.token, "processed").await;
        assert_eq!(attempts().await, 1);
        assert_eq!(server.get(&path, &ada.token).await.text("/status"), "completed");
        server.pass(11);
        until_attempt(2).await;
        write("update job set attempts = 9, retry = null").await;
        let job = server.until(&path, &ada.token, "failed").await;
        let reason = "The server could not read the results because of an internal error; start the job again.";
        assert_eq!(job.text("/error"), reason);
    }

    async fn large_outputs_are_uploaded(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({})).await;
        runner.begin().await;
        let completed = json!({ "event": "completed", "job": uuid, "uploaded": true });
        assert_eq!(runner.say(completed.clone()).await["refused"], "the output was not uploaded");
        let path = format!("/v0/runners/box/jobs/{uuid}/output");
        let padding = " ".repeat(6 * 1024 * 1024);
        let output = json!({ "results": [{ "exit_code": 0, "stdout": format!("{}{padding}", bench(1.0)) }] });
        server.put(&path, &ada.token, output.clone()).await.expect(401);
        server.put(&path, &key, json!({ "results": 1 })).await.expect(400);
        server.put(&path, &key, output).await.expect(204);
        assert_eq!(runner.say(completed).await.get("refused"), None);
        server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "processed").await;
    }

    async fn one_job_at_a_time_and_only_for_those_who_may(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        assert_eq!(Runner::connect(address, "box", "svc_runner_none").await.err(), Some(401));
        assert_eq!(Runner::connect(address, "other", &key).await.err(), Some(404));
        let (mut one, mut two) = (
            Runner::connect(address, "box", &key).await.unwrap(),
            Runner::connect(address, "box", &key).await.unwrap(),
        );
        let first = ask(&server, &ada, json!({})).await;
        let second = ask(&server, &ada, json!({})).await;
        assert_eq!(one.begin().await, first);
        assert_eq!(two.say(json!({ "event": "ready", "poll_timeout": 1 })).await["event"], "no_job");
        let foreign = one.say(completed(&second, json!([]))).await;
        assert_eq!(foreign["refused"], "the job does not belong to this runner");
        one.say(completed(&first, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        assert_eq!(two.begin().await, second);
        // A new key closes the connections of the old key.
        server.post("/v0/runners/box/key", &ada.token, json!(null)).await.expect(201);
        assert_eq!(one.receive().await, json!({ "close": 1008 }));
        assert_eq!(two.receive().await, json!({ "close": 1008 }));
        assert_eq!(Runner::connect(address, "box", &key).await.err(), Some(401));
    }

    async fn a_runner_pulls_the_image_of_its_job_and_nothing_else(server: TestServer) {
        let ada = set_up(&server).await;
        let client = Client::user(&server, &ada).await;
        client.push_image("lab/app", "v1", b"layer").await;
        client.push_image("lab/other", "v1", b"other").await;
        server.patch("/v0/projects/lab", &ada.token, json!({ "visibility": "private" })).await.expect(200);
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let uuid = ask(&server, &ada, json!({ "image": "lab/app:v1" })).await;
        let order = runner.say(json!({ "event": "ready" })).await;
        let (token, config) = (order["oci_token"].as_str().unwrap(), &order["config"]);
        let (repository, digest) = (config["repository"].as_str().unwrap(), config["digest"].as_str().unwrap());
        let pull = async |name: &str, reference: &str| {
            let line = format!("GET /v2/{name}/manifests/{reference}");
            Client::anonymous(&server).call_with(token, &line, &[], b"").await
        };
        let manifest = pull(repository, digest).await.expect(200);
        let manifest: Value = serde_json::from_str(manifest.body.as_str().unwrap()).unwrap();
        let layer = manifest["layers"][0]["digest"].as_str().unwrap();
        let layer = format!("GET /v2/{repository}/blobs/{layer}");
        assert_eq!(Client::anonymous(&server).call_with(token, &layer, &[], b"").await.expect(200).body, "layer");
        pull("lab/other", "v1").await.expect(401);
        pull(&repository.replace("/app", "/other"), "v1").await.expect(401);
        let push = format!("PUT /v2/{repository}/manifests/v2");
        Client::anonymous(&server).call_with(token, &push, &[], b"{}").await.expect(401);
        // The token expires when the job ends.
        runner.say(json!({ "event": "failed", "job": uuid, "error": "It exploded." })).await;
        pull(repository, digest).await.expect(401);
    }

    async fn servers_signal_each_other_at_once(server: TestServer) {
        let Some(second) = server.second().await else { return };
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&second).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        until("the servers do not listen to each other", async || (listeners(&server).await == 2).then_some(())).await;
        // Without a signal, the second server checks the queue only every 15 s. On a busy machine, some signals are
        // slow as well; one faster signal is the proof.
        let mut is_signaled = false;
        for _ in 0..8 {
            server.pass(1);
            let now = server.app.clock.now();
            runner.send(&json!({ "event": "ready", "poll_timeout": 600 })).await;
            until("the runner does not wait", async || {
                let seen = server.get("/v0/runners/box", &ada.token).await.expect(200);
                (seen.body["last_heartbeat"] == json!(now)).then_some(())
            })
            .await;
            let asked = Instant::now();
            let uuid = ask(&server, &ada, json!({})).await;
            assert_eq!(runner.receive().await["uuid"], json!(uuid));
            is_signaled = asked.elapsed() < Duration::from_secs(10);
            assert_eq!(runner.say(json!({ "event": "running" })).await["event"], "ack");
            // Only a signal can end the job: the runner sends nothing.
            server.delete(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(204);
            assert_eq!(runner.receive().await, json!({ "event": "cancel", "job": uuid }));
            if is_signaled {
                break;
            }
        }
        assert!(is_signaled, "the second server gets no signal for new jobs");
        server.post("/v0/runners/box/key", &ada.token, json!(null)).await.expect(201);
        assert_eq!(runner.receive().await, json!({ "close": 1008 }));
        second.close().await;
    }

    async fn the_queue_is_fair(server: TestServer) {
        let ada = set_up(&server).await;
        let (one, two) = (enlist(&server, &ada, "one").await, enlist(&server, &ada, "two").await);
        let context = json!({ "tidemark.dev/v0/repo/name": "Free" });
        let body = report_body(json!([]), json!({ "project": "free", "context": context }));
        server.post("/v0/run", "", body).await.expect(201);
        image(&server, "free", "").await;
        let free = run_body(json!({ "image": "free:v1", "timeout": 600 }), json!({ "project": "free" }));
        let mut asked = Vec::new();
        for _ in 0..2 {
            asked.push(server.post("/v0/run", "", free.clone()).await.expect(201).text("/job"));
            server.pass(1);
        }
        let owned = ask(&server, &ada, json!({})).await;
        let address = listen(&server.app).await;
        let mut one = Runner::connect(address, "one", &one).await.unwrap();
        let mut two = Runner::connect(address, "two", &two).await.unwrap();
        assert_eq!(one.begin().await, owned, "jobs of claimed projects come first");
        let order = two.say(json!({ "event": "ready" })).await;
        assert_eq!((order["uuid"].as_str(), &order["timeout"]), (Some(asked[0].as_str()), &json!(60)));
        one.say(completed(&owned, json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        let wait = json!({ "event": "ready", "poll_timeout": 1 });
        assert_eq!(one.say(wait.clone()).await["event"], "no_job", "one at a time from each address");
        let windows = json!({ "os": "windows", "arch": "x86_64", "version": "1" });
        two.say(completed(&asked[0], json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        let other = json!({ "event": "ready", "poll_timeout": 1, "runner": windows });
        assert_eq!(two.say(other).await["event"], "no_job", "another system");
        assert_eq!(one.begin().await, asked[1]);
    }

    async fn a_claim_keeps_the_concurrency_limit(server: TestServer = "[plus.runners]\norganization_concurrency = 1") {
        let ada = set_up(&server).await;
        let (one, two) = (enlist(&server, &ada, "one").await, enlist(&server, &ada, "two").await);
        let context = json!({ "tidemark.dev/v0/repo/name": "Free" });
        let body = report_body(json!([]), json!({ "project": "free", "context": context }));
        server.post("/v0/run", "", body).await.expect(201);
        image(&server, "free", "").await;
        let free = run_body(json!({ "image": "free:v1" }), json!({ "project": "free" }));
        let mut asked = Vec::new();
        for _ in 0..2 {
            asked.push(server.post("/v0/run", "", free.clone()).await.expect(201).text("/job"));
            server.pass(1);
        }
        // The waiting jobs get the limit of a claimed organization instead of the limit of an address.
        server.post("/v0/organizations/free/claim", &ada.token, json!({})).await.expect(201);
        let address = listen(&server.app).await;
        let mut one = Runner::connect(address, "one", &one).await.unwrap();
        let mut two = Runner::connect(address, "two", &two).await.unwrap();
        assert_eq!(one.begin().await, asked[0]);
        let wait = json!({ "event": "ready", "poll_timeout": 1 });
        assert_eq!(two.say(wait).await["event"], "no_job", "one job of the organization at a time");
        one.say(completed(&asked[0], json!([{ "exit_code": 0, "stdout": bench(1.0) }]))).await;
        assert_eq!(two.begin().await, asked[1]);
    }
}
