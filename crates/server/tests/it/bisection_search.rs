//! Searches for the commits of events: the server requests the jobs, and the notification waits for the commit.

use axum::http::Method;
use serde_json::{Value, json};
use tidemark_test_support::Request;

use crate::{
    Lab, TestServer, both,
    channel::Runner,
    confirmation::rounds,
    notice::{PRIVATE, Receiver},
    until,
};

/// The first commit with the new level.
const CULPRIT: u64 = 5;

impl Lab {
    /// Prepares an event of commit 8 whose benchmark was last measured at commit 0.
    async fn searching(server: TestServer) -> (Self, Runner) {
        let (lab, runner) = Self::confirming(server).await;
        lab.patch("detection", json!({ "confirm": "confirm_and_bisect" })).await.expect(200);
        lab.images(2..9).await;
        for number in 1..8 {
            lab.measure(number, &[("b", 1.0)]).await;
        }
        lab.measure(8, &[("a", 150.0)]).await;
        lab.confirmed("confirming").await;
        (lab, runner)
    }

    /// Completes the next job with the values of its commits. Returns the number of the measured commit.
    async fn measure_next(&self, runner: &mut Runner) -> u64 {
        let (order, uuid) = self.order(runner).await;
        assert_eq!(order["config"]["base"]["image"], json!(format!("lab:{:040x}", 0)));
        let image = order["config"]["image"].as_str().unwrap();
        let number = u64::from_str_radix(image.rsplit(':').next().unwrap(), 16).unwrap();
        let value = if number < CULPRIT { 100.0 } else { 150.0 };
        self.complete(runner, &uuid, rounds("a", &[(100.0, value); 12])).await;
        number
    }

    /// Waits until another job waits (true), or the search has ended.
    async fn goes_on(&self) -> bool {
        until("the search does not go on", async || {
            let event = self.get("events?per_page=1").await.expect(200).body[0].take();
            if event.get("bisection").is_some_and(|bisection| !bisection.is_null()) {
                return Some(false);
            }
            (self.get("jobs?status=pending").await.expect(200).total() > 0).then_some(true)
        })
        .await
    }
}

both! {
    async fn one_notification_names_the_commit(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::searching(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        assert_eq!(lab.measure_next(&mut runner).await, 8);
        let mut measured = Vec::new();
        while lab.goes_on().await {
            receiver.is_left_alone(&lab).await;
            assert_eq!(lab.confirmed("confirmed").await.text("/status"), "open");
            measured.push(lab.measure_next(&mut runner).await);
            assert!(measured.len() < 20, "{measured:?}");
        }
        assert!(measured.len() > 1, "{measured:?}");
        let received: Vec<Value> = receiver.wait_for(&lab, 1).await.iter().map(Request::json).collect();
        let culprit = json!(format!("{CULPRIT:040x}"));
        let result = &received[0]["bisections"][0]["result"];
        assert_eq!((&result["culprit"]["hash"], &result["total"]), (&culprit, &json!(8)), "{:#}", received[0]);
        assert_eq!(received[0]["reports"][0]["confirmations"][0]["state"], json!("confirmed"));
        let event = lab.confirmed("confirmed").await;
        assert_eq!(event.body["bisection"]["result"]["culprit"]["hash"], culprit);
        // The jobs are not part of the history.
        assert_eq!((lab.get("events").await.expect(200).total(), lab.get("alerts").await.expect(200).total()), (1, 1));
        receiver.is_left_alone(&lab).await;
    }

    async fn a_user_starts_a_search(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::confirming(server).await;
        lab.patch("detection", json!({ "confirm": "off" })).await.expect(200);
        lab.images(2..9).await;
        for number in 1..8 {
            lab.measure(number, &[("b", 1.0)]).await;
        }
        lab.measure(8, &[("a", 150.0)]).await;
        let event = lab.get("events?per_page=1").await.expect(200).text("/0/uuid");
        let path = format!("/v0/projects/lab/events/{event}/search");
        let start = async || lab.server.call(Method::POST, &path, &lab.token, None).await.expect(200);
        assert_eq!(start().await.body["search"]["pending"], json!(true));
        let mut count = 0;
        while lab.goes_on().await {
            lab.measure_next(&mut runner).await;
            count += 1;
            assert!(count < 20);
        }
        let found = lab.get(&format!("events/{event}")).await.expect(200);
        assert_eq!(found.body["bisection"]["result"]["culprit"]["hash"], json!(format!("{CULPRIT:040x}")));
        assert_eq!(found.body["search"]["pending"], json!(false));
        // Without a spec, no runner can measure the commits.
        lab.sql("delete from runner_spec", vec![]).await;
        let refused = start().await;
        assert!(refused.text("/search/reason").contains("spec"), "{}", refused.body);
    }

    async fn the_notification_does_not_wait_for_ever(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::searching(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.measure_next(&mut runner).await;
        assert!(lab.goes_on().await);
        receiver.is_left_alone(&lab).await;
        lab.server.pass(6 * 60 * 60);
        let received = receiver.wait_for(&lab, 1).await;
        assert_eq!(received[0].json()["bisections"][0]["result"]["status"], json!("undecided"));
        assert_eq!(lab.get("jobs?status=pending").await.expect(200).total(), 0);
    }

    async fn a_search_survives_a_restart_and_a_failed_commit(server: TestServer = PRIVATE) {
        let (lab, mut runner) = Lab::searching(server).await;
        lab.measure_next(&mut runner).await;
        assert!(lab.goes_on().await);
        let (order, uuid) = lab.order(&mut runner).await;
        let failed = json!({ "event": "failed", "job": uuid, "error": "It exploded.", "results": [] });
        assert_eq!(runner.say(failed).await["event"], "ack");
        lab.server.stop_workers().await;
        let server = lab.server.restart().await;
        let lab = Lab { server, token: lab.token, id: lab.id };
        assert!(lab.goes_on().await);
        let mut runner = lab.runner_named("other").await;
        let (next, _) = lab.order(&mut runner).await;
        assert_ne!(next["config"]["image"], order["config"]["image"]);
    }
}
