//! Changes: found by the background worker, with a stable identity.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_store::lane;

use crate::{
    Lab, both,
    notice::{PRIVATE, Receiver},
    report::report_body,
    until,
};

/// Returns a pseudo-random number from 0 to 1.
pub(crate) fn chance(number: u64) -> f64 {
    let mixed = (number.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    f64::from(u32::try_from((mixed ^ (mixed >> 29)) >> 32).unwrap()) / f64::from(u32::MAX)
}

impl Lab {
    /// Sends a report with one value per benchmark.
    pub(crate) async fn measure(&self, number: u64, values: &[(&str, f64)]) -> String {
        self.measure_on("localhost", number, values).await
    }

    pub(crate) async fn measure_on(&self, testbed: &str, number: u64, values: &[(&str, f64)]) -> String {
        let results: serde_json::Map<String, Value> = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!({ "latency": { "value": value } })))
            .collect();
        let time = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
        let more = json!({ "start_time": time, "end_time": time, "hash": format!("{number:040x}"), "testbed": testbed });
        let body = report_body(json!([Value::Object(results).to_string()]), more);
        self.post("reports", body).await.expect(201).text("/uuid")
    }

    /// Sends reports around a level, with one percent of noise.
    pub(crate) async fn stay(&self, numbers: std::ops::Range<u64>, level: f64) -> Vec<String> {
        let mut reports = Vec::new();
        for number in numbers {
            let (first, second) = (chance(number), chance(number + 1_000));
            let values = [("moved", level * (0.99 + 0.02 * first)), ("still", 50.0 * (0.99 + 0.02 * second))];
            reports.push(self.measure(number, &values).await);
        }
        reports
    }

    /// Waits until the list has this number of changes.
    pub(crate) async fn changes(&self, query: &str, count: usize) -> Vec<Value> {
        until(&format!("there are not {count} changes{query}"), async || {
            self.settled().await;
            let list = self.get(&format!("changes{query}")).await.expect(200).body;
            Some(list.as_array().unwrap().clone()).filter(|list| list.len() == count)
        })
        .await
    }

    /// Waits until all reports have been analyzed.
    pub(crate) async fn settled(&self) {
        until("a report is not looked at", async || {
            let stale =
                self.server.app.db.read(|tx| lane::pending(tx, lane::start_cursor(), 1)).await.unwrap();
            stale.is_empty().then_some(())
        })
        .await;
    }
}

both! {
    async fn a_step_is_found_and_keeps_its_identity(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.stay(0..40, 100.0).await;
        lab.changes("", 0).await;
        // Four values of the new level raise the alarm, and the others confirm it.
        let mut after = lab.stay(40..44, 120.0).await;
        let early = lab.changes("", 1).await.remove(0);
        after.extend(lab.stay(44..60, 120.0).await);
        let found = lab.changes("", 1).await.remove(0);
        assert_eq!(found["uuid"], early["uuid"]);
        assert_eq!(found["at"]["report"], json!(after[0]));
        assert_eq!((&found["benchmark"]["name"], &found["direction"]), (&json!("moved"), &json!("regression")));
        assert!((found["effect"].as_f64().unwrap() - 0.2).abs() < 0.02, "{found:#}");
        let path = format!("events/{}", found["event"].as_str().unwrap());
        lab.patch(&path, json!({ "status": "expected", "note": "a new allocator" })).await.expect(200);
        // More reports refine the change, and its identity stays the same.
        lab.stay(60..90, 120.0).await;
        let again = lab.changes("", 1).await.remove(0);
        assert_eq!((&again["uuid"], &again["status"]), (&found["uuid"], &json!("expected")));
        assert_eq!(lab.changes("?status=open", 0).await, Vec::<Value>::new());
        // When the report at which the change begins is deleted, the change begins with the next report, and nothing
        // else changes.
        lab.delete(&format!("reports/{}", after[0])).await.expect(204);
        let moved = lab.changes("", 1).await.remove(0);
        assert_eq!((&moved["uuid"], &moved["status"]), (&found["uuid"], &json!("expected")));
        // Back to the old level: another change, an improvement.
        lab.stay(90..120, 100.0).await;
        let both = lab.changes("?sort=time", 2).await;
        assert_eq!((&both[0]["direction"], &both[1]["uuid"]), (&json!("improvement"), &found["uuid"]));
        assert_eq!(lab.changes("?change_direction=improvement", 1).await[0]["uuid"], both[0]["uuid"]);
        assert_eq!(lab.changes("?sort=size&direction=asc", 2).await[0]["uuid"], both[0]["uuid"]);
        assert_eq!(lab.changes("?benchmark=still", 0).await, Vec::<Value>::new());
        assert_eq!(lab.changes("?benchmark=moved&branch=main&measure=latency", 2).await.len(), 2);
        lab.get("changes?benchmark=nothing").await.expect(404);
        lab.get("changes/0190a000-0000-7000-8000-000000000000").await.expect(404);
    }

    async fn a_change_is_returned_completely(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..40 {
            let value = if number < 20 { 100.0 } else { 150.0 } + f64::from(u32::try_from(number % 3).unwrap());
            lab.measure(number, &[("moved", value)]).await;
        }
        let found = lab.changes("", 1).await.remove(0);
        let path = format!("changes/{}", found["uuid"].as_str().unwrap());
        let mut shown = lab.get(&path).await;
        assert_eq!(shown.body, found);
        // The last digits depend on the machine.
        for name in ["sigma", "confidence"] {
            shown.body[name] = json!(format!("{:.2}", shown.body[name].as_f64().unwrap()));
        }
        assert_snapshot!("change", lab.server.show(&shown));
    }

    async fn noise_and_spikes_are_no_changes(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..80 {
            let spike = if number % 27 == 20 { 3.0 } else { 1.0 };
            let value = 100.0 * (0.97 + 0.06 * chance(number)) * spike;
            lab.measure(number, &[("noisy", value)]).await;
        }
        lab.changes("", 0).await;
        // A few slow runs look like a change until they end.
        for number in 80..84 {
            lab.measure(number, &[("noisy", 150.0)]).await;
        }
        lab.changes("", 1).await;
        for number in 84..110 {
            lab.measure(number, &[("noisy", 100.0 * (0.97 + 0.06 * chance(number)))]).await;
        }
        lab.changes("", 0).await;
    }

    async fn a_project_is_notified_once_per_event(server: TestServer = PRIVATE) {
        let lab = Lab::open(server).await;
        let (receiver, address) = Receiver::open();
        lab.webhook(&address, json!({})).await;
        lab.stay(0..40, 100.0).await;
        lab.settled().await;
        // An alert sends no notification, because this project is notified of changes.
        receiver.is_left_alone(&lab).await;
        lab.stay(40..50, 120.0).await;
        let change = lab.changes("", 1).await.remove(0);
        assert!(change["raised"].is_string(), "{change:#}");
        let received = receiver.wait_for(&lab, 1).await.remove(0).json();
        assert_eq!((&received["type"], &received["reports"][0]["regressions"]), (&json!("changes"), &json!(1)));
        assert_eq!(received["reports"][0]["changes"][0]["uuid"], change["uuid"]);
        assert_eq!(received["title"], json!("Lab: 1 regression on main at localhost"));
        let feed = lab.get("feed").await.expect(200).body;
        let feed = feed.as_str().unwrap();
        assert!(feed.contains("<title>Lab: changes</title>"), "{feed}");
        assert!(feed.contains("<title>Regression on main: moved, Latency +2"), "{feed}");
        let badge = lab.get("badge").await.expect(200).body;
        assert!(badge.as_str().unwrap().contains("1 regression"), "{badge}");
        // The same change on another testbed belongs to the same event.
        for number in 0..50 {
            let level = if number < 40 { 100.0 } else { 120.0 };
            lab.measure_on("other", number, &[("moved", level * (0.99 + 0.02 * chance(number)))]).await;
        }
        lab.changes("", 2).await;
        receiver.is_left_alone(&lab).await;
        // Changes that began too long ago are not notified.
        lab.server.pass(16 * 24 * 60 * 60);
        lab.stay(50..80, 80.0).await;
        let late = lab.changes("?change_direction=improvement", 1).await.remove(0);
        assert_eq!(late["raised"], Value::Null);
        receiver.is_left_alone(&lab).await;
    }

    async fn machine_and_code_are_distinguished(server: TestServer) {
        let lab = Lab::open(server).await;
        let names = ["a", "b", "c", "d", "e", "f"];
        for number in 0..60 {
            let values: Vec<(&str, f64)> = names
                .iter()
                .zip(1..)
                .map(|(name, salt)| {
                    let noise = 0.99 + 0.02 * chance(number + 1_000 * salt);
                    let host = if number < 20 { 1.0 } else { 1.3 };
                    let code = if *name == "c" && number >= 40 { 1.2 } else { 1.0 };
                    (*name, 100.0 * noise * host * code)
                })
                .collect();
            lab.measure(number, &values).await;
        }
        let changes = lab.changes("?sort=time&direction=asc&per_page=255", 7).await;
        let causes: Vec<&str> = changes.iter().map(|change| change["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["host", "host", "host", "host", "host", "host", "code"]);
        // Changes caused by the machine are one event, which is notified only if the project enables it.
        let raised = |changes: &[Value]| changes.iter().map(|change| change["raised"].is_string()).collect::<Vec<_>>();
        assert_eq!(raised(&changes), [false, false, false, false, false, false, true]);
        lab.patch("detection", json!({ "notifies_host": true })).await.expect(200);
        lab.measure(60, &names.map(|name| (name, if name == "c" { 156.0 } else { 130.0 }))).await;
        let changes = lab.changes("?sort=time&direction=asc&per_page=255", 7).await;
        assert_eq!(raised(&changes), [true; 7]);
        let observed = lab.get("detection").await.expect(200).body["observed"]["raised"].clone();
        assert_eq!(observed, json!(2));
    }

    /// The machine becomes slower permanently, and some runs later the code does.
    async fn a_slow_machine_hides_no_change_of_the_code(server: TestServer) {
        let lab = Lab::open(server).await;
        let names: Vec<String> = (0..12).map(|number| format!("bench-{number:02}")).collect();
        for number in 0..90 {
            let value = |(name, salt): (&String, u64)| {
                let noise = 0.99 + 0.02 * chance(number + 1_000 * salt);
                let host = if number < 60 { 1.0 } else { 1.3 };
                let code = if name == "bench-03" && number >= 70 { 1.1 } else { 1.0 };
                100.0 * noise * host * code
            };
            let values: Vec<(&str, f64)> =
                names.iter().zip(0..).map(|(name, salt)| (name.as_str(), value((name, salt)))).collect();
            lab.measure(number, &values).await;
        }
        let changes = lab.changes("?sort=time&direction=asc&per_page=255", 13).await;
        let host = |change: &&Value| change["cause"] == json!("host");
        assert_eq!(changes.iter().filter(host).count(), 12);
        let code = changes.iter().find(|change| !host(change)).unwrap();
        let number = |key: &str| code[key].as_f64().unwrap();
        assert_eq!(code["benchmark"]["name"], json!("bench-03"));
        // Levels are shown as measured.
        assert!((number("before") - 130.0).abs() < 1.5 && (number("effect") - 0.1).abs() < 0.01, "{code:#}");
        assert!(code["raised"].is_string(), "{code:#}");
        assert_eq!(lab.get("detection").await.expect(200).body["observed"]["raised"], json!(1));
    }

    async fn false_alarms_are_counted(server: TestServer) {
        let lab = Lab::open(server).await;
        assert_snapshot!("detection", lab.server.show(&lab.get("detection").await));
        let chosen = lab.patch("detection", json!({ "notifies": "alerts", "false_alarms_per_month": 5 })).await;
        assert_eq!((&chosen.body["notifies"], &chosen.body["false_alarms_per_month"]), (&json!("alerts"), &json!(5)));
        assert_snapshot!("detection_wrong", lab.server.show(&lab.patch("detection", json!({ "false_alarms_per_month": 0 })).await));
        lab.stay(0..40, 100.0).await;
        lab.stay(40..60, 120.0).await;
        let change = lab.changes("", 1).await.remove(0);
        assert!(change["raised"].is_string(), "{change:#}");
        let before = lab.get("detection").await.body;
        assert_eq!((&before["observed"]["raised"], &before["observed"]["false_alarms"]), (&json!(1), &json!(0)));
        lab.patch(&format!("events/{}", change["event"].as_str().unwrap()), json!({ "status": "false_alarm" })).await.expect(200);
        let after = lab.get("detection").await.body;
        assert_eq!((&after["observed"]["false_alarms"], &after["observed"]["false_alarms_per_month"]), (&json!(1), &json!(1.0)));
        assert_eq!(after["runs_per_month"], json!(60));
    }
}
