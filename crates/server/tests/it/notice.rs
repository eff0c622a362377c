//! Notices: who is notified of alerts, in which format, in which order, and when.

use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::Sha256;
use tidemark_test_support::{Request, Stub};

use crate::{Answer, Lab, both, report::with, until};

pub(crate) const PRIVATE: &str = "[plus.notices]\nprivate_addresses = true";

/// A mock receiver of notifications.
pub(crate) struct Receiver {
    stub: Stub,
    /// Statuses of the next responses.
    pub(crate) trouble: Arc<Mutex<Vec<u16>>>,
}

fn event(request: &Request) -> &str {
    request.headers["webhook-id"].to_str().unwrap()
}

/// Returns the reports in a notification.
pub(crate) fn reports(request: &Request) -> Vec<String> {
    let body = request.json();
    let reports = body["reports"].as_array().unwrap().iter();
    reports.map(|report| report["uuid"].as_str().unwrap().to_owned()).collect()
}

impl Receiver {
    /// Starts the receiver and returns it with its address.
    pub(crate) fn open() -> (Self, String) {
        let trouble = Arc::<Mutex<Vec<u16>>>::default();
        let next = Arc::clone(&trouble);
        let stub = Stub::start(move |_| {
            let mut next = next.lock().unwrap();
            if next.is_empty() {
                StatusCode::NO_CONTENT
            } else {
                StatusCode::from_u16(next.remove(0)).unwrap()
            }
        });
        let address = stub.address.clone();
        (Self { stub, trouble }, address)
    }

    /// Waits until the receiver has this number of requests, with a frozen clock, and returns them.
    pub(crate) async fn wait_for(&self, lab: &Lab, count: usize) -> Vec<Request> {
        let received = self.wait(count, async || lab.server.app.background.wake()).await;
        lab.server.wait_for_due_work().await;
        received
    }

    /// Waits like `wait_for`, and advances the clock from one attempt to the next.
    pub(crate) async fn wait_for_with_retries(&self, lab: &Lab, count: usize) -> Vec<Request> {
        let received = self.wait(count, async || lab.server.pass_to_work().await).await;
        lab.server.wait_for_due_work().await;
        received
    }

    /// Returns all requests since the last call.
    pub(crate) async fn all(&self, lab: &Lab) -> Vec<Request> {
        lab.server.wait_for_due_work().await;
        self.stub.take_requests()
    }

    async fn wait(&self, count: usize, mut meanwhile: impl AsyncFnMut()) -> Vec<Request> {
        until(&format!("it is not received {count} things"), async || {
            let is_delivered = self.stub.request_count() >= count;
            if !is_delivered {
                meanwhile().await;
            }
            is_delivered.then_some(())
        })
        .await;
        let requests = self.stub.take_requests();
        assert_eq!(requests.len(), count, "{requests:#?}");
        requests
    }

    /// Asserts that nothing is sent, with a frozen clock.
    pub(crate) async fn is_left_alone(&self, lab: &Lab) {
        lab.server.wait_for_due_work().await;
        assert_eq!(self.stub.request_count(), 0);
    }
}

impl Lab {
    pub(crate) async fn notice(&self, kind: &str, url: &str, more: Value) -> Answer {
        let body = with(json!({ "name": kind, "kind": kind, "url": url }), more);
        self.post("notices", body).await
    }

    /// Creates a webhook and returns its path.
    pub(crate) async fn webhook(&self, url: &str, more: Value) -> String {
        let created = self.notice("webhook", url, more).await.expect(201);
        format!("notices/{}", created.text("/uuid"))
    }

    /// Gives three benchmarks a baseline of 100.
    pub(crate) async fn calm(&self) {
        let model = json!({ "test": "percentage", "lower_boundary": 0.1, "upper_boundary": 0.1 });
        let thresholds = json!({ "models": { "latency": model } });
        self.measured([100, 100, 100], json!({ "thresholds": thresholds })).await;
    }

    /// Sends a report of the three benchmarks, and returns its UUID.
    pub(crate) async fn measured(&self, values: [u32; 3], more: Value) -> String {
        let names = ["<fast> & `furious`", "parse", "sort"].into_iter();
        let results = names
            .zip(values)
            .map(|(name, value)| (name.to_owned(), json!({ "latency": { "value": value } })));
        let results = Value::Object(results.collect()).to_string();
        self.report(json!([results]), more).await.expect(201).text("/uuid")
    }

    /// Sends a report that raises alerts.
    pub(crate) async fn alarmed(&self) -> String {
        self.measured([130, 1_000, 10], json!({})).await
    }

    /// Returns the deliveries, the oldest first, once none is waiting.
    pub(crate) async fn log(&self, notice: &str) -> Vec<Value> {
        until("something still waits", async || {
            let log = self.get(&format!("{notice}/deliveries?direction=asc")).await.expect(200).body;
            let log = log.as_array().unwrap();
            log.iter().all(|one| one["status"] != "waiting").then(|| log.clone())
        })
        .await
    }
}

/// Returns the signature that the specification requires.
fn signature(secret: &str, received: &Request) -> String {
    let header = |name: &str| received.headers[name].to_str().unwrap();
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(
        format!("{}.{}.{}", header("webhook-id"), header("webhook-timestamp"), received.text).as_bytes(),
    );
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

both! {
    async fn each_kind_has_its_shape_and_each_report_one_notice(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        for kind in ["discord", "mattermost", "slack", "webhook"] {
            lab.notice(kind, &format!("{address}/{kind}"), json!({})).await.expect(201);
        }
        lab.alarmed().await;
        let mut received = receiver.wait_for_with_retries(&lab, 4).await;
        received.sort_by(|left, right| left.uri.path().cmp(right.uri.path()));
        let lines = received.iter().map(|received| format!("{}\n{:#}\n", received.uri.path(), received.json()));
        assert_snapshot!("notice_shapes", lab.server.redact(&lines.collect::<String>()));
        // A report without alerts sends no notification.
        lab.measured([100, 100, 100], json!({ "branch": "other" })).await;
        receiver.is_left_alone(&lab).await;
    }

    async fn a_webhook_is_signed_by_a_secret_that_is_shown_once(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let created = lab.notice("webhook", &address, json!({})).await.expect(201);
        let secret = created.text("/secret");
        let path = format!("notices/{}", created.text("/uuid"));
        for shown in [lab.get(&path).await, lab.get("notices").await, lab.patch(&path, json!({ "name": "x" })).await] {
            assert!(!shown.expect(200).body.to_string().contains("whsec_"));
        }
        lab.alarmed().await;
        let received = &receiver.wait_for_with_retries(&lab, 1).await[0];
        assert_eq!(received.headers["webhook-signature"], signature(&secret, received));
        assert_eq!(received.json()["event"], event(received));
        assert!(lab.notice("slack", &address, json!({})).await.expect(201).body.get("secret").is_none());
    }

    async fn events_arrive_in_order_although_the_first_fails(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({})).await;
        *receiver.trouble.lock().unwrap() = vec![503, 302];
        let sent = [lab.alarmed().await, lab.alarmed().await, lab.alarmed().await];
        let received = receiver.wait_for_with_retries(&lab, 5).await;
        let order: Vec<String> = received.iter().flat_map(reports).collect();
        let [first, second, third] = &sent;
        assert_eq!(order.iter().collect::<Vec<_>>(), [first, first, first, second, third]);
        assert_eq!((event(&received[0]), event(&received[0])), (event(&received[1]), event(&received[2])));
        assert_eq!(received[0].text, received[2].text);
        let log = lab.log(&notice).await;
        let shown: Vec<_> = log.iter().map(|one| (&one["report"], &one["status"], &one["attempts"])).collect();
        let delivered = json!("delivered");
        let (three, one) = (json!(3), json!(1));
        let sent = sent.map(Value::String);
        assert_eq!(shown, [(&sent[0], &delivered, &three), (&sent[1], &delivered, &one), (&sent[2], &delivered, &one)]);
    }

    async fn an_unreachable_receiver_is_given_up_and_redelivered_manually(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({})).await;
        *receiver.trouble.lock().unwrap() = vec![500; 16 + 3];
        lab.alarmed().await;
        lab.alarmed().await;
        lab.alarmed().await;
        let received = receiver.wait_for_with_retries(&lab, 16 + 3 + 1).await;
        let log = lab.log(&notice).await;
        let statuses: Vec<_> = log.iter().map(|one| one["status"].as_str().unwrap()).collect();
        assert_eq!(statuses, ["failed", "failed", "delivered"]);
        assert_eq!(log[0]["error"], "The receiver answered with the status 500.");
        assert_eq!(log[0]["attempts"], 16);

        let path = format!("{notice}/deliveries/{}", log[0]["uuid"].as_str().unwrap());
        *receiver.trouble.lock().unwrap() = vec![500];
        let again = lab.post(&path, json!(null)).await.expect(201);
        assert_ne!(again.body["uuid"], log[0]["uuid"]);
        assert_eq!(again.body["event"], log[0]["event"]);
        lab.post(&path, json!(null)).await.expect(409);
        let repeated = receiver.wait_for_with_retries(&lab, 2).await;
        // A receiver can compare the texts: days later, the text is identical.
        assert_eq!((event(&repeated[1]), &repeated[1].text), (event(&received[0]), &received[0].text));
        assert_eq!(lab.log(&notice).await[3]["status"], "delivered");
        lab.get(&path).await.expect(200);
    }

    async fn an_archived_notice_sends_nothing(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({})).await;
        *receiver.trouble.lock().unwrap() = vec![500];
        lab.alarmed().await;
        receiver.wait_for(&lab, 1).await;
        lab.alarmed().await;
        lab.patch(&notice, json!({ "archived": true })).await.expect(200);
        lab.alarmed().await;
        assert_eq!((lab.total("notices").await, lab.total("notices?archived=true").await), (0, 1));
        let log = lab.log(&notice).await;
        assert_eq!(log.iter().map(|one| one["status"].as_str().unwrap()).collect::<Vec<_>>(), ["dropped"; 2]);
        lab.post(&format!("{notice}/deliveries/{}", log[0]["uuid"].as_str().unwrap()), json!(null)).await.expect(409);
        lab.patch(&notice, json!({ "archived": false })).await.expect(200);
        let report = lab.alarmed().await;
        assert_eq!(reports(&receiver.wait_for_with_retries(&lab, 1).await[0]), [report]);
        lab.delete(&notice).await.expect(204);
        lab.get(&notice).await.expect(404);
        lab.alarmed().await;
        receiver.is_left_alone(&lab).await;
    }

    async fn quiet_hours_are_kept(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let minute = lab.server.app.fresh().now.seconds().div_euclid(60);
        let time = |offset: i64| {
            let minute = (minute + offset).rem_euclid(24 * 60);
            format!("{:02}:{:02}", minute / 60, minute % 60)
        };
        let notice = lab.webhook(&address, json!({ "quiet": { "from": time(-60), "to": time(60) } })).await;
        let sent = [lab.alarmed().await, lab.alarmed().await];
        receiver.is_left_alone(&lab).await;
        lab.server.pass(57 * 60);
        receiver.is_left_alone(&lab).await;
        lab.server.pass(4 * 60);
        let received = receiver.wait_for_with_retries(&lab, 2).await;
        assert_eq!(received.iter().flat_map(reports).collect::<Vec<_>>(), sent);
        assert_eq!(lab.log(&notice).await[0]["attempts"], 1);
        lab.patch(&notice, json!({ "quiet": { "from": "24:00", "to": "06:00" } })).await.expect(400);
        lab.patch(&notice, json!({ "quiet": null })).await.expect(200);
    }

    async fn a_digest_gathers_a_day(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({ "digest": "daily" })).await;
        let sent = [lab.alarmed().await, lab.alarmed().await];
        receiver.is_left_alone(&lab).await;
        lab.server.pass(24 * 3_600);
        let next = lab.alarmed().await;
        let received = receiver.wait_for(&lab, 1).await;
        assert_eq!(reports(&received[0]), sent);
        lab.server.pass(24 * 3_600);
        assert_eq!(reports(&receiver.wait_for(&lab, 1).await[0]), [next]);
        let log = lab.log(&notice).await;
        assert_eq!(log[0]["event"], log[1]["event"]);
        assert_ne!(log[1]["event"], log[2]["event"]);
        // A repeated delivery sends the reports of all deliveries of the event.
        lab.post(&format!("{notice}/deliveries/{}", log[1]["uuid"].as_str().unwrap()), json!(null)).await.expect(201);
        let again = receiver.wait_for(&lab, 1).await;
        assert_eq!((event(&again[0]), &again[0].text), (event(&received[0]), &received[0].text));
    }

    async fn only_regressions_can_be_asked_for(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({ "direction": "regression" })).await;
        lab.measured([100, 100, 50], json!({})).await;
        let bad = lab.alarmed().await;
        let received = receiver.wait_for_with_retries(&lab, 1).await;
        assert_eq!(reports(&received[0]), [bad]);
        assert_eq!(received[0].json()["reports"][0]["improvements"], 0);
        assert_eq!(lab.log(&notice).await[0]["status"], "dropped");
    }

    async fn members_get_mail(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        lab.calm().await;
        let mail = |email: &str| json!({ "name": "Team", "kind": "email", "email": email });
        let refused = lab.post("notices", mail("mallory@example.com")).await.expect(400);
        assert!(refused.text("/message").contains("member"), "{}", refused.body);
        let ada = lab.server.get("/v0/users/ada", &lab.token).await.expect(200).text("/email");
        let notice = lab.post("notices", mail(&ada)).await.expect(201);
        lab.post("notices", with(mail(&ada), json!({ "url": "https://example.org" }))).await.expect(400);
        lab.alarmed().await;
        let letter = lab.server.mail(&ada).await;
        assert!(letter.contains("+900.00"), "{letter}");
        let log = lab.log(&format!("notices/{}", notice.text("/uuid"))).await;
        assert_eq!(log[0]["status"], "delivered");
    }

    async fn private_addresses_are_rejected(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let refused = lab.notice("webhook", &address, json!({})).await.expect(400);
        assert!(refused.text("/message").contains("is not public"), "{}", refused.body);
        lab.notice("slack", "http://[::1]/x", json!({})).await.expect(400);
        lab.post("notices", json!({ "name": "x", "kind": "slack" })).await.expect(400);
        // A host name is resolved only at the time of the request; then nothing is sent either.
        let notice = lab.webhook(&address.replace("127.0.0.1", "localhost"), json!({})).await;
        lab.patch(&notice, json!({ "url": address })).await.expect(400);
        lab.alarmed().await;
        let log = until("it is not tried", async || {
            let log = lab.get(&format!("{notice}/deliveries?status=waiting")).await.expect(200).body[0].clone();
            (log["attempts"] != 0).then_some(log)
        })
        .await;
        assert!(log["error"].as_str().unwrap().contains("no public address"), "{log}");
        receiver.is_left_alone(&lab).await;
    }
}
