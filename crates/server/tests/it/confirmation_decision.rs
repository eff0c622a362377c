//! Which commits a confirmation compares, when it refutes an event, and how it ends.

use serde_json::{Value, json};

use crate::{
    Lab, both,
    confirmation::rounds,
    job::{run_body, tagged_image},
    notice::{PRIVATE, Receiver},
    until,
};

impl Lab {
    /// Returns the events in a state of the confirmation.
    async fn with_confirmation(&self, state: &str) -> Vec<Value> {
        let list = self.get(&format!("events?confirmation={state}&per_page=100")).await.expect(200);
        list.body.as_array().unwrap().clone()
    }
}

/// Returns the number of the commit whose image an order names.
fn commit(name: &Value) -> u64 {
    u64::from_str_radix(name.as_str().unwrap().rsplit(':').next().unwrap(), 16).unwrap()
}

both! {
    async fn an_event_is_refuted_only_if_all_its_series_are(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        // A series of another testbed.
        lab.measure_on("other", 0, &[("a", 100.0)]).await;
        lab.limit("other", 130.0).await;
        lab.measure(1, &[("a", 150.0)]).await;
        lab.confirmed("confirming").await;
        let (_, uuid) = lab.order(&mut runner).await;
        lab.measure_on("other", 1, &[("a", 150.0)]).await;
        lab.complete(&mut runner, &uuid, rounds("a", &[(100.0, 100.0); 6])).await;
        let event = lab.confirmed("suspected").await;
        let reason = event.text("/confirmation/reason");
        assert!(reason.starts_with("The job measured 1 of 2 suspected series"), "{reason}");
        assert_eq!(event.text("/status"), "open");
        receiver.wait_for(&lab, 1).await;
        // A benchmark that the job did not measure.
        lab.images(2..4).await;
        lab.measure(2, &[("b", 100.0), ("c", 100.0)]).await;
        lab.measure(3, &[("b", 150.0), ("c", 150.0)]).await;
        lab.confirmed("confirming").await;
        let (_, uuid) = lab.order(&mut runner).await;
        lab.complete(&mut runner, &uuid, rounds("b", &[(100.0, 100.0); 6])).await;
        let reason = lab.confirmed("suspected").await.text("/confirmation/reason");
        assert!(reason.starts_with("The job measured 1 of 2 suspected series"), "{reason}");
        receiver.wait_for(&lab, 1).await;
    }

    async fn the_base_is_the_last_commit_with_the_earlier_level(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        lab.images(2..4).await;
        // Two commits without the benchmark: each of them may be the cause.
        lab.measure(1, &[("b", 1.0)]).await;
        lab.measure(2, &[("b", 1.0)]).await;
        lab.measure(3, &[("a", 150.0)]).await;
        let (order, uuid) = lab.order(&mut runner).await;
        let config = &order["config"];
        assert_eq!((commit(&config["base"]["image"]), commit(&config["image"])), (0, 3));
        // Both sides have the new level.
        lab.complete(&mut runner, &uuid, rounds("a", &[(150.0, 150.0); 6])).await;
        let event = lab.confirmed("suspected").await;
        let reason = event.text("/confirmation/reason");
        assert!(reason.contains("not the level before the event"), "{reason}");
        assert_eq!(event.text("/status"), "open");
    }

    async fn the_base_is_before_all_changes_of_an_event(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        lab.runner().await;
        lab.patch("detection", json!({ "confirm": "confirm" })).await.expect(200);
        lab.images(0..44).await;
        lab.stay(0..40, 100.0).await;
        lab.server.app.jobs.stop();
        lab.stay(40..44, 120.0).await;
        lab.changes("", 1).await;
        // The change may have begun earlier than the event, whose range other changes have narrowed.
        let earlier = "update change set earliest_id = (select report.id from report
                           join version on version.id = report.version_id where version.number = 36)";
        lab.sql(earlier, vec![]).await;
        let server = lab.server.restart().await;
        let lab = Lab { server, token: lab.token, id: lab.id };
        let event = lab.confirmed("confirming").await;
        assert_eq!(event.body["confirmation"]["base"]["number"], json!(35), "{}", event.body);
    }

    async fn a_closed_event_stays_as_the_user_left_it(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        for (number, status, values, state) in
            [(1, "expected", (100.0, 100.0), "refuted"), (3, "fixed", (100.0, 150.0), "confirmed")]
        {
            let benchmark = format!("series {number}");
            lab.images(number..number + 1).await;
            lab.measure(number, &[(&benchmark, 150.0)]).await;
            let event = lab.confirmed("confirming").await;
            let path = format!("events/{}", event.text("/uuid"));
            lab.patch(&path, json!({ "status": status })).await.expect(200);
            let (_, uuid) = lab.order(&mut runner).await;
            lab.complete(&mut runner, &uuid, rounds(&benchmark, &[values; 12])).await;
            assert_eq!(lab.confirmed(state).await.text("/status"), status);
            receiver.is_left_alone(&lab).await;
        }
    }

    async fn a_refuted_event_does_not_hide_the_alerts_of_another(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.measure(1, &[("a", 150.0)]).await;
        let (_, uuid) = lab.order(&mut runner).await;
        lab.complete(&mut runner, &uuid, rounds("a", &[(100.0, 150.0); 12])).await;
        lab.confirmed("confirmed").await;
        receiver.wait_for(&lab, 1).await;
        // A report with the confirmed event and a new one, which is refuted.
        lab.images(2..3).await;
        lab.measure(2, &[("a", 150.0), ("b", 150.0)]).await;
        let (_, uuid) = lab.order(&mut runner).await;
        receiver.is_left_alone(&lab).await;
        lab.complete(&mut runner, &uuid, rounds("b", &[(100.0, 100.0); 6])).await;
        lab.confirmed("refuted").await;
        receiver.wait_for(&lab, 1).await;
    }

    async fn errors_neither_block_other_events_nor_last_for_ever(server: TestServer = PRIVATE) {
        let (lab, _runner) = Lab::confirming(server).await;
        lab.measure_on("bad", 50, &[("x", 100.0)]).await;
        lab.limit("bad", 130.0).await;
        // The server cannot read a job of this testbed.
        let job = "insert into job (uuid, project_id, report_id, spec_id, status, rank, config, timeout, attempts, created,
                       modified, expires)
                   select uuid, project_id, id, (select min(id) from spec), 'processed', 0, '{}', 1, 0, created, created,
                       created
                   from report where testbed_id = (select id from testbed where name = 'bad')";
        lab.sql(job, vec![]).await;
        lab.serve_testbed().await;
        for number in 51..67 {
            lab.measure_on("bad", number, &[(&format!("series {number}"), 150.0)]).await;
        }
        lab.images(67..69).await;
        lab.measure(67, &[("a", 100.0)]).await;
        lab.measure(68, &[("a", 150.0)]).await;
        lab.confirmed("confirming").await;
        let waiting = lab.with_confirmation("suspected").await;
        assert_eq!(waiting.len(), 16);
        assert!(waiting.iter().all(|event| event["confirmation"].get("reason").is_none()));
        lab.server.pass(6 * 60 * 60);
        let ended = until("a confirmation does not end", async || {
            let events = lab.with_confirmation("suspected").await;
            let has_reason = |event: &Value| event["confirmation"].get("reason").is_some();
            (events.len() == 17 && events.iter().all(has_reason)).then_some(events)
        })
        .await;
        let timed_out = |event: &&Value| event["confirmation"]["reason"] == "The comparison did not end in time.";
        assert!(ended.iter().filter(timed_out).count() >= 16, "{ended:#?}");
    }

    async fn the_job_of_an_event_follows_its_own_branch(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let mut runner = lab.runner().await;
        lab.patch("detection", json!({ "confirm": "confirm" })).await.expect(200);
        // The images of both commits are in one repository only.
        for (path, number) in [("app", 1), ("bench", 0), ("bench", 1)] {
            let digest = format!("{path:0<60}{number:04}").replace(|byte: char| !byte.is_ascii_hexdigit(), "0");
            tagged_image(&lab.server, "lab", path, &format!("{number:040x}"), &digest).await;
        }
        tagged_image(&lab.server, "lab", "", "v1", &"c".repeat(64)).await;
        // A job of another branch measures the same testbed with another command.
        let job = json!({ "image": "lab:v1", "cmd": ["other"] });
        let sent = lab.server.post("/v0/run", &lab.token, run_body(job, json!({ "branch": "other" }))).await.expect(201);
        let (_, uuid) = lab.order(&mut runner).await;
        lab.complete(&mut runner, &uuid, json!([{ "exit_code": 0, "stdout": crate::report::bench(1.0) }])).await;
        let report = lab.get(&format!("reports/{}", sent.text("/uuid"))).await.expect(200);
        let testbed = report.text("/testbed/name");
        lab.measure_on(&testbed, 0, &[("a", 100.0)]).await;
        lab.limit(&testbed, 130.0).await;
        lab.measure_on(&testbed, 1, &[("a", 150.0)]).await;
        let (order, _) = lab.order(&mut runner).await;
        let config = &order["config"];
        assert_eq!(config.get("cmd").filter(|cmd| !cmd.is_null()), None, "{order:#}");
        for image in [&config["image"], &config["base"]["image"]] {
            assert!(image.as_str().unwrap().starts_with("lab/bench:"), "{order:#}");
        }
    }

    async fn identical_versions_are_refuted_without_a_job(server: TestServer = PRIVATE) {
        let (lab, _runner) = Lab::confirming(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        for number in [2, 3] {
            tagged_image(&lab.server, "lab", "", &format!("{number:040x}"), &"d".repeat(64)).await;
        }
        lab.measure(2, &[("a", 100.0)]).await;
        lab.measure(3, &[("a", 150.0)]).await;
        let event = lab.confirmed("refuted").await;
        assert_eq!(event.text("/status"), "false_alarm");
        assert!(event.text("/note").contains("are identical"), "{}", event.body);
        assert_eq!(event.body["confirmation"]["job"], Value::Null);
        receiver.is_left_alone(&lab).await;
        // Different images of the same binary.
        lab.images(4..6).await;
        lab.measure(4, &[("b", 100.0)]).await;
        lab.sql("update report set binary_hash = 'same'", vec![]).await;
        lab.server.stop_workers().await;
        lab.measure(5, &[("b", 150.0)]).await;
        lab.sql("update report set binary_hash = 'same'", vec![]).await;
        let server = lab.server.restart().await;
        let lab = Lab { server, token: lab.token, id: lab.id };
        assert!(lab.confirmed("refuted").await.text("/note").contains("are identical"));
    }

    async fn the_only_spec_of_the_runners_serves_a_testbed_without_a_spec(server: TestServer = PRIVATE) {
        let (lab, _runner) = Lab::confirming(server).await;
        lab.sql("update testbed set spec_id = null", vec![]).await;
        lab.measure(1, &[("a", 150.0)]).await;
        lab.confirmed("confirming").await;
    }

    async fn a_canceled_comparison_names_the_user(server: TestServer = PRIVATE) {
        let (lab, _runner) = Lab::confirming(server).await;
        lab.measure(1, &[("a", 150.0)]).await;
        let event = lab.confirmed("confirming").await;
        lab.delete(&format!("jobs/{}", event.text("/confirmation/job"))).await.expect(204);
        let reason = lab.confirmed("suspected").await.text("/confirmation/reason");
        assert_eq!(reason, "A user canceled the job that compares the versions.");
    }
}
