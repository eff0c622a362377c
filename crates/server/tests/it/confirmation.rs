//! Jobs that compare two images, and confirmations: suspected events are measured again before the server notifies.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_test_support::Request;

use crate::{
    Answer, Lab, TestServer, both,
    channel::{Runner, completed, listen},
    job::{run_body, tagged_image},
    notice::{PRIVATE, Receiver},
    spec::spec_body,
    until,
};

/// Returns the results of a comparison: one value of both sides per round, for each benchmark.
pub(crate) fn rounds(benchmark: &str, pairs: &[(f64, f64)]) -> Value {
    let output = |value: f64| {
        let mut results = json!({});
        results[benchmark] = json!({ "latency": { "value": value } });
        results.to_string()
    };
    let results = pairs.iter().enumerate().flat_map(|(round, (base, new))| {
        [("new", *new), ("base", *base)].map(|(side, value)| {
            json!({ "exit_code": 0, "stdout": output(value), "side": side, "round": round + 1 })
        })
    });
    Value::Array(results.collect())
}

impl Lab {
    /// Creates a spec and a runner that serves it, and connects the runner.
    pub(crate) async fn runner(&self) -> Runner {
        let spec = spec_body("Metal", json!({ "fallback": true }));
        self.server.post("/v0/specs", &self.token, spec).await.expect(201);
        self.runner_named("box").await
    }

    /// Creates another runner that serves the spec, and connects the runner.
    pub(crate) async fn runner_named(&self, name: &str) -> Runner {
        let made = self.server.post("/v0/runners", &self.token, json!({ "name": name })).await.expect(201);
        let serves = json!({ "spec": "metal" });
        self.server.post(&format!("/v0/runners/{name}/specs"), &self.token, serves).await.expect(201);
        let address = listen(&self.server.app).await;
        Runner::connect(address, name, &made.text("/key")).await.unwrap()
    }

    /// Pushes the images of commits, with their hashes as tags.
    pub(crate) async fn images(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let tag = format!("{number:040x}");
            tagged_image(&self.server, "lab", "", &tag, &format!("{number:064x}")).await;
        }
    }

    /// Prepares a project that confirms alerts above 130, with a runner and images of two commits.
    pub(crate) async fn confirming(server: TestServer) -> (Self, Runner) {
        let lab = Self::with_alerts(server).await;
        let runner = lab.runner().await;
        lab.patch("detection", json!({ "confirm": "confirm" })).await.expect(200);
        lab.measure(0, &[("a", 100.0)]).await;
        lab.limit("localhost", 130.0).await;
        lab.serve_testbed().await;
        lab.images(0..2).await;
        (lab, runner)
    }

    /// Gives all testbeds the spec of the runner.
    pub(crate) async fn serve_testbed(&self) {
        self.sql("update testbed set spec_id = (select min(id) from spec)", vec![]).await;
    }

    /// Waits until the confirmation of the newest event has this state, and returns the event.
    pub(crate) async fn confirmed(&self, state: &str) -> Answer {
        until(&format!("no event is {state}"), async || {
            let list = self.get("events?per_page=1").await.expect(200);
            let event = list.body.as_array().unwrap().first()?.clone();
            let is_state = event["confirmation"]["state"] == state
                && (state != "suspected" || event["confirmation"].get("reason").is_some());
            let path = format!("events/{}", event["uuid"].as_str().unwrap());
            is_state.then_some(path)
        })
        .await;
        let list = self.get("events?per_page=1").await.expect(200);
        self.get(&format!("events/{}", list.text("/0/uuid"))).await.expect(200)
    }

    /// Takes the job of a confirmation, and returns the order and the UUID of the job.
    pub(crate) async fn order(&self, runner: &mut Runner) -> (Value, String) {
        let mut order = runner.say(json!({ "event": "ready", "poll_timeout": 600 })).await;
        assert_eq!(order["event"], "job", "{order}");
        order["oci_token"] = json!("…");
        assert_eq!(runner.say(json!({ "event": "running" })).await["event"], "ack");
        let uuid = order["uuid"].as_str().unwrap().to_owned();
        (order, uuid)
    }

    /// Lets the runner complete a job.
    pub(crate) async fn complete(&self, runner: &mut Runner, job: &str, results: Value) -> Answer {
        assert_eq!(runner.say(completed(job, results)).await["event"], "ack");
        self.server.until(&format!("/v0/projects/lab/jobs/{job}"), &self.token, "processed").await
    }
}

both! {
    async fn a_job_compares_two_images(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut runner = lab.runner().await;
        tagged_image(&lab.server, "lab", "", "v1", &"a".repeat(64)).await;
        tagged_image(&lab.server, "lab", "old", "v0", &"b".repeat(64)).await;
        let ask = async |job: Value| lab.server.post("/v0/run", &lab.token, run_body(job, json!({}))).await;
        let mut refused = Vec::new();
        for job in [
            json!({ "duet": true }),
            json!({ "base": "lab/old:v9" }),
            json!({ "base": "other:v1" }),
            json!({ "base": "lab/old:v0", "iter": 501 }),
        ] {
            refused.push(lab.server.redact(&ask(job).await.line()));
        }
        assert_snapshot!("pairs_refused", refused.join("\n"));
        let sent = ask(json!({ "base": "lab/old:v0", "duet": true })).await.expect(201);
        let (order, uuid) = lab.order(&mut runner).await;
        assert_snapshot!("pairs_order", lab.server.redact(&format!("{order:#}")));
        assert_eq!(uuid, sent.text("/job"));
        let mut results = rounds("bench", &[(1.0, 1.2); 10]);
        // A round without its base does not count.
        results.as_array_mut().unwrap().pop();
        let job = lab.complete(&mut runner, &uuid, results).await;
        assert_eq!((job.text("/image"), job.text("/base")), ("lab:v1".into(), "lab/old:v0".into()));
        let report = format!("reports/{}", sent.text("/uuid"));
        assert_snapshot!("pairs_report", lab.server.show(&lab.get(&report).await));
        lab.settled().await;
        assert_snapshot!("pairs_verdict", lab.server.show(&lab.get(&format!("{report}/verdict")).await));

        // A runner that does not know the base measures only the image.
        let sent = ask(json!({ "base": "lab/old:v0" })).await.expect(201);
        let (order, uuid) = lab.order(&mut runner).await;
        assert_eq!(order["config"]["iter"], json!(1));
        let plain = json!([{ "exit_code": 0, "stdout": crate::report::bench(1.0) }]);
        lab.complete(&mut runner, &uuid, plain).await;
        let report = lab.get(&format!("reports/{}", sent.text("/uuid"))).await.expect(200);
        assert_eq!((report.body.get("pairs"), &report.body["results"][0][0]["measures"][0]["metric"]["value"]), (None, &json!(1.0)));
    }

    async fn a_confirmed_event_is_notified_with_both_measurements(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.notice("slack", &address, json!({})).await.expect(201);
        lab.measure(1, &[("a", 150.0)]).await;
        let waiting = lab.confirmed("confirming").await;
        assert_snapshot!("confirmation_confirming", lab.server.redact(&format!("{:#}", waiting.body["confirmation"])));
        receiver.is_left_alone(&lab).await;
        let (order, uuid) = lab.order(&mut runner).await;
        assert_snapshot!("confirmation_order", lab.server.redact(&format!("{order:#}")));
        // A further report of an event that is being confirmed is not notified on its own.
        lab.measure(2, &[("a", 150.0)]).await;
        receiver.is_left_alone(&lab).await;
        let job = lab.complete(&mut runner, &uuid, rounds("a", &[(101.0, 152.0); 9])).await;
        let event = lab.confirmed("confirmed").await;
        assert_eq!(event.text("/status"), "open");
        assert_snapshot!("confirmation_confirmed", lab.server.redact(&format!("{:#}", event.body["confirmation"])));
        let received = receiver.wait_for(&lab, 2).await;
        let bodies: Vec<Value> = received.iter().map(Request::json).collect();
        let webhook = bodies.iter().find(|body| body.get("type").is_some()).unwrap();
        assert_eq!(webhook["reports"][0]["confirmations"][0]["state"], json!("confirmed"));
        let slack = bodies.iter().find(|body| body.get("blocks").is_some()).unwrap();
        assert_snapshot!("confirmation_slack", lab.server.redact(&format!("{slack:#}")));
        // The job is not part of the history that raised the event.
        let report = lab.get(&format!("reports/{}", job.text("/report"))).await.expect(200);
        assert_eq!((&report.body["results"], &report.body["alerts"]), (&json!([]), &json!([])));
        assert_eq!(lab.get("alerts").await.expect(200).total(), 2);
        assert_eq!(lab.get("events?confirmation=confirmed").await.expect(200).total(), 1);
        assert_eq!(lab.get("events?confirmation=refuted").await.expect(200).total(), 0);
        // Later alerts of a confirmed event are notified at once.
        lab.measure(3, &[("a", 150.0)]).await;
        receiver.wait_for(&lab, 2).await;
    }

    async fn a_refuted_event_is_a_false_alarm_without_a_notification(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.measure(1, &[("a", 150.0)]).await;
        lab.confirmed("confirming").await;
        let (_, uuid) = lab.order(&mut runner).await;
        lab.complete(&mut runner, &uuid, rounds("a", &[(100.0, 100.0); 6])).await;
        let event = lab.confirmed("refuted").await;
        assert_eq!((event.text("/status"), event.text("/alerts/0/status")), ("false_alarm".into(), "dismissed".into()));
        assert_snapshot!("confirmation_refuted_actions", lab.server.redact(&format!("{:#}", event.body["actions"])));
        receiver.is_left_alone(&lab).await;
    }

    async fn an_event_that_cannot_be_confirmed_is_notified(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.patch("detection", json!({ "confirm": "confirm" })).await.expect(200);
        lab.measure(0, &[("a", 100.0)]).await;
        lab.limit("localhost", 130.0).await;
        let mut reasons = Vec::new();
        let mut reason = async |step: &str| {
            let event = lab.confirmed("suspected").await;
            reasons.push(format!("{step}: {}", event.text("/confirmation/reason")));
            receiver.wait_for(&lab, 1).await;
        };
        lab.measure(1, &[("no spec", 150.0)]).await;
        reason("no spec").await;
        let spec = spec_body("Metal", json!({ "fallback": true }));
        lab.server.post("/v0/specs", &lab.token, spec).await.expect(201);
        lab.serve_testbed().await;
        lab.measure(2, &[("no runner", 150.0)]).await;
        reason("no runner").await;
        let made = lab.server.post("/v0/runners", &lab.token, json!({ "name": "box" })).await.expect(201);
        lab.server.post("/v0/runners/box/specs", &lab.token, json!({ "spec": "metal" })).await.expect(201);
        let runner = listen(&lab.server.app).await;
        let mut runner = Runner::connect(runner, "box", &made.text("/key")).await.unwrap();
        lab.measure(3, &[("no image", 150.0)]).await;
        reason("no image").await;
        lab.images(3..8).await;
        lab.measure(4, &[("failed job", 150.0)]).await;
        let (_, uuid) = lab.order(&mut runner).await;
        let failed = json!({ "event": "failed", "job": uuid, "error": "It exploded.", "results": [] });
        assert_eq!(runner.say(failed).await["event"], "ack");
        reason("failed job").await;
        lab.measure(5, &[("inconclusive", 150.0)]).await;
        let (_, uuid) = lab.order(&mut runner).await;
        lab.complete(&mut runner, &uuid, rounds("inconclusive", &[(100.0, 150.0), (150.0, 100.0)])).await;
        reason("inconclusive").await;
        lab.measure(6, &[("one side", 150.0)]).await;
        let (_, uuid) = lab.order(&mut runner).await;
        let results = json!([{ "exit_code": 0, "stdout": r#"{"one side":{"latency":{"value":100}}}"# }]);
        lab.complete(&mut runner, &uuid, results).await;
        reason("one side").await;
        lab.measure(7, &[("timeout", 150.0)]).await;
        lab.confirmed("confirming").await;
        lab.server.pass(6 * 60 * 60);
        reason("timeout").await;
        assert_snapshot!("confirmation_reasons", lab.server.redact(&reasons.join("\n")));
    }

    async fn a_refuted_change_counts_as_a_false_alarm(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        let mut runner = lab.runner().await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        let set = lab.patch("detection", json!({ "confirm": "confirm_and_bisect" })).await;
        assert_snapshot!("confirmation_detection", lab.server.show(&set));
        lab.images(38..44).await;
        lab.stay(0..40, 100.0).await;
        lab.serve_testbed().await;
        lab.stay(40..44, 120.0).await;
        let (order, uuid) = lab.order(&mut runner).await;
        assert_eq!(order["config"]["base"]["benchmarks"], json!(["moved"]));
        lab.complete(&mut runner, &uuid, rounds("moved", &[(100.0, 100.0); 6])).await;
        let event = lab.confirmed("refuted").await;
        assert_eq!(event.text("/status"), "false_alarm");
        receiver.is_left_alone(&lab).await;
        let observed = lab.get("detection").await.expect(200).body["observed"].clone();
        assert_eq!((&observed["false_alarms"], &observed["refuted"]), (&json!(1), &json!(1)), "{observed:#}");
        let feed = lab.get("feed").await;
        assert!(!feed.body.to_string().contains("moved"));
    }
}
