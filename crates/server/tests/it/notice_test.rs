//! Tests of notices: sent at once, in the format of each kind, with the result in the delivery log.

use insta::assert_snapshot;
use serde_json::json;

use crate::{
    Lab, both,
    notice::{PRIVATE, Receiver, reports},
    until,
};

both! {
    async fn each_kind_can_be_tested(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        for kind in ["discord", "mattermost", "slack", "webhook"] {
            let more = json!({ "name": "<Team> & `Co`", "quiet": { "from": "00:00", "to": "00:00" }, "digest": "daily" });
            let created = lab.notice(kind, &format!("{address}/{kind}"), more).await.expect(201);
            let path = format!("notices/{}", created.text("/uuid"));
            let sent = lab.post(&format!("{path}/test"), json!(null)).await.expect(201);
            assert_eq!((&sent.body["test"], &sent.body["report"]), (&json!(true), &json!(null)));
            let log = lab.log(&path).await;
            assert_eq!((log.len(), &log[0]["status"], &log[0]["attempts"]), (1, &json!("delivered"), &json!(1)));
            assert_eq!(log[0]["uuid"], sent.body["uuid"]);
        }
        let mut received = receiver.wait_for(&lab, 4).await;
        received.sort_by(|left, right| left.uri.path().cmp(right.uri.path()));
        let lines = received.iter().map(|received| format!("{}\n{:#}\n", received.uri.path(), received.json()));
        assert_snapshot!("test_shapes", lab.server.redact(&lines.collect::<String>()));
        assert!(received[3].headers.contains_key("webhook-signature"));
    }

    async fn a_failed_test_is_not_retried_and_delays_nothing(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({})).await;
        // An event waits for its retry.
        *receiver.trouble.lock().unwrap() = vec![500];
        let first = lab.alarmed().await;
        receiver.wait_for(&lab, 1).await;
        let second = lab.alarmed().await;
        *receiver.trouble.lock().unwrap() = vec![404];
        let test = lab.post(&format!("{notice}/test"), json!(null)).await.expect(201).text("/uuid");
        let failed = until("the test waits", async || {
            let shown = lab.get(&format!("{notice}/deliveries/{test}")).await.expect(200).body;
            (shown["status"] != "waiting").then_some(shown)
        })
        .await;
        assert_eq!(failed["status"], "failed");
        assert_eq!(failed["error"], "The receiver answered with the status 404.");
        assert_eq!(receiver.wait_for(&lab, 1).await[0].json()["type"], "test");
        // A test cannot be redelivered; another test can be sent.
        lab.post(&format!("{notice}/deliveries/{test}"), json!(null)).await.expect(409);
        lab.post(&format!("{notice}/test"), json!(null)).await.expect(201);
        receiver.wait_for(&lab, 1).await;
        // The events arrive once each, in order.
        let received = receiver.wait_for_with_retries(&lab, 2).await;
        assert_eq!(received.iter().flat_map(reports).collect::<Vec<_>>(), [first, second]);
        let log = lab.log(&notice).await;
        let shown: Vec<_> = log.iter().map(|one| (&one["test"], &one["status"], &one["attempts"])).collect();
        let [no, yes, one, two] = [json!(false), json!(true), json!(1), json!(2)];
        let [delivered, failed] = [json!("delivered"), json!("failed")];
        let wanted =
            [(&no, &delivered, &two), (&no, &delivered, &one), (&yes, &failed, &one), (&yes, &delivered, &one)];
        assert_eq!(shown, wanted);
        receiver.is_left_alone(&lab).await;
    }

    async fn mail_and_personal_notices_can_be_tested(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        let bob = lab.server.person("Bob").await;
        let path = format!("/v0/users/{}/notices", bob.slug);
        let created = lab.server.post(&path, &bob.token, json!({ "name": "Mine", "kind": "email" })).await.expect(201);
        let test = format!("{path}/{}/test", created.text("/uuid"));
        // An organization without projects.
        let refused = lab.server.post(&test, &bob.token, json!(null)).await.expect(409);
        assert!(refused.text("/message").contains("create a project"), "{}", refused.body);
        let organization = format!("/v0/organizations/{}/projects", bob.slug);
        lab.server.post(&organization, &bob.token, json!({ "name": "Shed" })).await.expect(201);
        let eve = lab.server.person("Eve").await;
        lab.server.post(&test, &eve.token, json!(null)).await.expect(404);
        lab.server.post(&test, &bob.token, json!(null)).await.expect(201);
        let letter = lab.server.mail(&bob.email).await;
        assert!(letter.contains("Shed: test of the notice Mine"), "{letter}");
        assert!(letter.contains("This message is a test."), "{letter}");
    }

    async fn tests_are_limited(server: TestServer = "[plus.rate_limiting.user]\ninvites = { minute = 2 }\n[plus.notices]\nprivate_addresses = true") {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        let notice = lab.webhook(&address, json!({})).await;
        for _ in 0..2 {
            lab.post(&format!("{notice}/test"), json!(null)).await.expect(201);
            receiver.wait_for(&lab, 1).await;
            lab.log(&notice).await;
        }
        lab.post(&format!("{notice}/test"), json!(null)).await.expect(429);
        lab.patch(&notice, json!({ "archived": true })).await.expect(200);
        lab.server.pass(120);
        lab.post(&format!("{notice}/test"), json!(null)).await.expect(409);
        receiver.is_left_alone(&lab).await;
    }
}
