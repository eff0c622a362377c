//! The hosts of runs: a slower host is not a change.

use serde_json::json;

use crate::{Lab, both, change::chance, report::report_body};

/// Returns the host of a run: two hosts alternate, thirty runs each.
fn host(number: u64) -> &'static str {
    if (number / 30).is_multiple_of(2) { "fast" } else { "slow" }
}

impl Lab {
    /// Sends runs around a level, with one percent of noise; the slow host takes 3 % longer. Returns the reports.
    async fn run_on_hosts(&self, numbers: std::ops::Range<u64>, level: f64, names_host: bool) -> Vec<String> {
        let mut reports = Vec::new();
        for number in numbers {
            let speed = if host(number) == "slow" { 1.03 } else { 1.0 };
            let value = level * speed * (0.99 + 0.02 * chance(number));
            let results = json!({ "bench": { "latency": { "value": value } } }).to_string();
            let time = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
            let context =
                if names_host { json!({ "tidemark.dev/v0/testbed/host": host(number) }) } else { json!({}) };
            let more = json!({
                "start_time": time, "end_time": time, "hash": format!("{number:040x}"), "project": "lab",
                "testbed": "localhost", "context": context,
            });
            let body = report_body(json!([results]), more);
            reports.push(self.server.post("/v0/run", &self.token, body).await.expect(201).text("/uuid"));
        }
        reports
    }
}

both! {
    async fn a_slow_host_is_no_change(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.run_on_hosts(0..120, 100.0, true).await;
        lab.changes("", 0).await;
        // A slowdown on both hosts is a change.
        let after = lab.run_on_hosts(120..180, 106.0, true).await;
        let found = lab.changes("", 1).await.remove(0);
        assert_eq!(found["at"]["report"], json!(after[0]));
        assert!((found["effect"].as_f64().unwrap() - 0.06).abs() < 0.01, "{found:#}");
        // The backtest corrects for hosts and finds the same.
        let tried = lab.post("backtest", json!({})).await.expect(200).body;
        assert_eq!(tried["raised"], json!(1), "{tried:#}");
    }

    async fn a_run_is_compared_with_what_others_would_have_been_on_its_host(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.run_on_hosts(0..95, 100.0, true).await;
        let answers = async |report: &str| {
            lab.settled().await;
            let verdict = lab.get(&format!("reports/{report}/verdict")).await.expect(200).body;
            let one = &verdict["comparisons"][0];
            (one["answer"].as_str().unwrap().to_owned(), one["base"].as_f64().unwrap(), one["change"].as_f64().unwrap())
        };
        // The slow host is 3 % slower than the host of most runs; this run is 5 % slower than expected there.
        let slower = lab.run_on_hosts(95..96, 105.0, true).await;
        let (answer, base, change) = answers(&slower[0]).await;
        assert_eq!(answer, "changed");
        assert!((base - 103.0).abs() < 0.5 && (change - 0.05).abs() < 0.02, "{base} {change}");
        let same = lab.run_on_hosts(96..97, 100.0, true).await;
        let (answer, base, _) = answers(&same[0]).await;
        assert_eq!(answer, "unchanged");
        assert!((base - 103.0).abs() < 0.5, "{base}");
    }

    async fn a_host_that_is_not_known_may_look_like_a_change(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.run_on_hosts(0..120, 100.0, false).await;
        lab.settled().await;
        let found = lab.get("changes").await.expect(200).body;
        assert_ne!(found.as_array().map(Vec::len), Some(0), "{found:#}");
        // An invalid host is ignored.
        let context = json!({ "tidemark.dev/v0/testbed/host": "x".repeat(1_000) });
        let results = json!([json!({ "bench": { "latency": { "value": 1.0 } } }).to_string()]);
        let body = report_body(results, json!({ "project": "lab", "context": context }));
        lab.server.post("/v0/run", &lab.token, body).await.expect(201);
        let hosts = |tx: &mut tidemark_store::Tx<'_>| tx.fetch_all::<String>("select host from report where host is not null", &[]);
        assert_eq!(lab.server.app.db.read(hosts).await.unwrap(), Vec::<String>::new());
    }
}
