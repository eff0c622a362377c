//! Filters of notices: which reports cause a notification, and which of their alerts or changes it contains.

use serde_json::{Value, json};

use crate::{
    Lab, both,
    notice::{PRIVATE, Receiver, reports},
};

/// Returns the benchmarks in a notification.
fn benchmarks(body: &Value) -> Vec<&str> {
    let alerts =
        body["reports"].as_array().unwrap().iter().flat_map(|report| report["alerts"].as_array().unwrap());
    alerts.map(|alert| alert["benchmark"].as_str().unwrap()).collect()
}

both! {
    async fn a_new_notice_is_about_the_default_branch(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let slack = async |more: Value| lab.notice("slack", "https://example.org/hook", more).await.expect(201).body;
        // A project without branches.
        assert_eq!(slack(json!({})).await["branch"], "main");
        lab.measured([1, 1, 1], json!({ "branch": "topic" })).await;
        lab.measured([1, 1, 1], json!({ "branch": "topic" })).await;
        lab.measured([1, 1, 1], json!({ "branch": "other" })).await;
        assert_eq!(slack(json!({})).await["branch"], "topic");
        lab.measured([1, 1, 1], json!({ "branch": "develop" })).await;
        assert_eq!(slack(json!({})).await["branch"], "develop");
        lab.measured([1, 1, 1], json!({ "branch": "master" })).await;
        let notice = slack(json!({})).await;
        assert_eq!(notice["branch"], "master");
        assert_eq!(notice["summary"], "Sends a message when a report on branch master raises alerts.");
        let hook = "https://example.org/hook";
        let any = json!({ "name": "Any", "kind": "slack", "url": hook, "branch": null });
        assert_eq!(lab.post("notices", any).await.expect(201).body["branch"], Value::Null);
        assert_eq!(slack(json!({ "branch": "release/*" })).await["branch"], "release/*");
        // Personal notices: about one project, and about all.
        let path = "/v0/users/ada/notices";
        let mine = json!({ "name": "Mine", "kind": "email", "project": "lab" });
        assert_eq!(lab.server.post(path, &lab.token, mine).await.expect(201).body["branch"], "master");
        let all = lab.server.post(path, &lab.token, json!({ "name": "Mine", "kind": "email" })).await.expect(201).body;
        assert_eq!(all["branch"], Value::Null);
        let summary = "Sends a message when a report on any branch of any project of the user's organizations raises \
                       changes or alerts.";
        assert_eq!(all["summary"], summary);
    }

    async fn reports_of_other_branches_and_testbeds_have_no_delivery(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        let model = json!({ "models": { "latency": { "test": "static", "upper_boundary": 0 } } });
        let alarm = async |branch: &str, testbed: &str| {
            lab.measured([1, 2, 3], json!({ "branch": branch, "testbed": testbed, "thresholds": model })).await
        };
        let filter = json!({ "branch": "release/*", "testbed": "metal" });
        let notice = lab.webhook(&address, filter).await;
        alarm("main", "metal").await;
        alarm("release/1", "laptop").await;
        alarm("Release/1", "metal").await;
        receiver.is_left_alone(&lab).await;
        assert_eq!(lab.total(&format!("{notice}/deliveries")).await, 0);
        let sent = [alarm("release/1", "metal").await, alarm("release/2", "metal").await];
        let received = receiver.wait_for_with_retries(&lab, 2).await;
        assert_eq!(received.iter().flat_map(reports).collect::<Vec<_>>(), sent);
        // Without the filters, all reports.
        let changed = lab.patch(&notice, json!({ "branch": null, "testbed": null })).await.expect(200);
        assert_eq!(changed.text("/summary"), "Sends a message when a report on any branch raises alerts.");
        let sent = alarm("main", "laptop").await;
        assert_eq!(reports(&receiver.wait_for_with_retries(&lab, 1).await[0]), [sent]);
    }

    async fn a_filter_that_changes_applies_to_waiting_deliveries(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let notice = lab.webhook(&address, json!({ "digest": "daily" })).await;
        lab.alarmed().await;
        lab.patch(&notice, json!({ "branch": "other" })).await.expect(200);
        lab.server.pass(24 * 3_600);
        lab.server.app.background.wake();
        let log = lab.log(&notice).await;
        assert_eq!(log[0]["status"], "dropped");
        assert_eq!(log[0]["error"], "The report has no alert or change that matches the filter of the notice.");
        receiver.is_left_alone(&lab).await;
    }

    async fn a_notification_contains_only_matching_alerts(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        for (name, filter) in [
            ("a", json!({ "benchmark": "p*" })),
            ("b", json!({ "benchmark": "P*" })),
            ("c", json!({ "direction": "improvement" })),
            ("d", json!({ "direction": "regression", "benchmark": "*r*" })),
            ("e", json!({ "min_change": 0.5 })),
            ("f", json!({ "min_change": 0.3, "direction": "regression" })),
            ("g", json!({ "min_change": 10 })),
        ] {
            lab.webhook(&format!("{address}/{name}"), filter).await;
        }
        // +30 %, +900 % and -90 %.
        lab.alarmed().await;
        let mut received = receiver.wait_for_with_retries(&lab, 5).await;
        received.sort_by(|left, right| left.uri.path().cmp(right.uri.path()));
        let bodies: Vec<_> = received.iter().map(|request| (request.uri.path().to_owned(), request.json())).collect();
        let sent: Vec<_> = bodies.iter().map(|(path, body)| (path.as_str(), benchmarks(body))).collect();
        let furious = "<fast> & `furious`";
        let wanted = [
            ("/a", vec!["parse"]),
            ("/c", vec!["sort"]),
            ("/d", vec!["parse", furious]),
            ("/e", vec!["parse", "sort"]),
            ("/f", vec!["parse", furious]),
        ];
        assert_eq!(sent, wanted);
        let counts = &bodies[3].1["reports"][0];
        assert_eq!((&counts["regressions"], &counts["improvements"]), (&json!(1), &json!(1)));
    }

    async fn a_notification_contains_only_matching_changes(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        let (receiver, address) = Receiver::open();
        let small = lab.webhook(&format!("{address}/small"), json!({ "min_change": 0.9 })).await;
        lab.webhook(&format!("{address}/better"), json!({ "direction": "improvement" })).await;
        lab.webhook(&format!("{address}/still"), json!({ "benchmark": "still" })).await;
        let moved = json!({ "benchmark": "mo*", "min_change": 0.1, "direction": "regression" });
        lab.webhook(&format!("{address}/moved"), moved).await;
        lab.stay(0..40, 100.0).await;
        lab.settled().await;
        lab.stay(40..50, 120.0).await;
        lab.changes("", 1).await;
        let received = receiver.wait_for(&lab, 1).await.remove(0);
        assert_eq!(received.uri.path(), "/moved");
        assert_eq!(received.json()["reports"][0]["changes"][0]["benchmark"]["name"], "moved");
        assert_eq!(lab.log(&small).await[0]["status"], "dropped");
        receiver.is_left_alone(&lab).await;
    }

    async fn wrong_filters_are_rejected(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        let created = lab.notice("slack", "https://example.org/hook", json!({})).await.expect(201);
        let path = format!("notices/{}", created.text("/uuid"));
        for (wrong, part) in [
            (json!({ "branch": "" }), "`branch`"),
            (json!({ "testbed": "x".repeat(256) }), "1 to 255 characters"),
            (json!({ "benchmark": "a\nb" }), "`benchmark`"),
            (json!({ "direction": "up" }), "`direction`"),
            (json!({ "min_change": 0 }), "0.05 is 5 %"),
            (json!({ "min_change": -0.1 }), "`min_change`"),
            (json!({ "min_change": 1001 }), "at most 1000"),
            (json!({ "event": "regressions" }), "`event`"),
        ] {
            for refused in [
                lab.notice("slack", "https://example.org/hook", wrong.clone()).await,
                lab.patch(&path, wrong.clone()).await,
            ] {
                let message = refused.expect(400).text("/message");
                assert!(message.contains(part), "{wrong}: {message}");
            }
        }
        let long = json!({ "benchmark": "ä".repeat(255) });
        assert_eq!(lab.patch(&path, long.clone()).await.expect(200).body["benchmark"], long["benchmark"]);
    }

    async fn the_url_of_a_notice_is_shown_once(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let url = format!("{address}/services/T0000000/B0000000/Zq3lM0x7Qz");
        let created = lab.notice("slack", &url, json!({})).await.expect(201);
        assert_eq!(created.text("/url"), url);
        let path = format!("notices/{}", created.text("/uuid"));
        let masked = format!("{address}/…/x7Qz");
        for shown in [lab.get(&path).await, lab.patch(&path, json!({ "name": "x" })).await] {
            assert_eq!(shown.expect(200).text("/url"), masked);
        }
        assert_eq!(lab.get("notices").await.expect(200).text("/0/url"), masked);
        // The masked URL cannot replace the URL by accident, and an update of another field keeps the URL.
        lab.patch(&path, json!({ "url": masked })).await.expect(400);
        lab.alarmed().await;
        let received = receiver.wait_for_with_retries(&lab, 1).await;
        assert_eq!(received[0].uri.path(), "/services/T0000000/B0000000/Zq3lM0x7Qz");
        let audit = lab.server.get("/v0/organizations/ada/audit", &lab.token).await.expect(200).body.to_string();
        assert!(audit.contains("notice.create") && !audit.contains("Zq3lM0x7Qz"), "{audit}");
    }
}
