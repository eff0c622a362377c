//! Distinguishable reports, and the check that the server stores what was sent.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use crate::client::Client;

/// Path that reports are sent to.
pub(crate) const PATH: &str = "/v0/projects/lab/reports";

/// The metrics of a report, by iteration, benchmark and measure.
type Metrics = BTreeMap<(usize, String, String), f64>;

/// Sets a flag when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The kind of report that a test sends.
#[derive(Clone, Copy)]
pub(crate) struct Reports {
    /// Number of benchmarks that each report shares with all others, in addition to its own benchmark.
    pub(crate) shared: usize,
}

impl Reports {
    /// Creates the project of the reports.
    pub(crate) fn found_project(client: &mut Client) {
        let (status, answer) =
            client.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
        assert_eq!(status, 201, "{answer}");
    }

    /// Returns the report with a number.
    pub(crate) fn body(self, number: usize) -> Value {
        let mut results = [json!({}), json!({})];
        for ((iteration, benchmark, measure), value) in self.metrics(number) {
            results[iteration][benchmark][measure] = json!({ "value": value });
        }
        json!({
            "branch": "main", "hash": format!("{number:040x}"), "testbed": "localhost",
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:01:00Z",
            "results": results.iter().map(Value::to_string).collect::<Vec<_>>(),
            "settings": { "adapter": "json" },
            "thresholds": { "models": { "latency": { "test": "static", "upper_boundary": 1e9 } } },
            "idempotency_key": format!("00000000-0000-4000-8000-{number:012x}"),
        })
    }

    /// Sends reports with several clients while `during` runs; `during` gets the numbers of the acknowledged reports. Returns its
    /// result and the numbers, in ascending order.
    pub(crate) fn send_during<T>(
        self,
        clients: impl IntoIterator<Item = Client>,
        during: impl FnOnce(&Mutex<Vec<usize>>) -> T,
    ) -> (T, Vec<usize>) {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let acknowledged = Mutex::new(Vec::new());
        let result = thread::scope(|scope| {
            for mut client in clients {
                let (next, stop, acknowledged) = (&next, &stop, &acknowledged);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let (status, answer) = client.post_with_retries(PATH, &self.body(number)).unwrap();
                        assert_eq!(status, 201, "{answer}");
                        acknowledged.lock().unwrap().push(number);
                    }
                });
            }
            // The clients stop even if `during` panics.
            let _stop = StopOnDrop(&stop);
            during(&acknowledged)
        });
        let mut numbers = acknowledged.into_inner().unwrap();
        numbers.sort_unstable();
        (result, numbers)
    }

    /// Whether a report has a value that is too high: every fifth report.
    fn is_alarming(number: usize) -> bool {
        number.is_multiple_of(5)
    }

    fn metrics(self, number: usize) -> Metrics {
        let mut metrics = Metrics::new();
        let mut add = |iteration, benchmark: &str, measure: &str, value| {
            metrics.insert((iteration, benchmark.to_owned(), measure.to_owned()), value);
        };
        let base = number as f64;
        for (index, offset) in (0..self.shared).zip((0_u16..).map(f64::from)) {
            let name = format!("shared {index}");
            add(0, &name, "latency", base + offset / 8.0);
            add(0, &name, "throughput", 1e6 - base - offset / 8.0);
        }
        let own = format!("own {number}");
        add(0, &own, "latency", if Self::is_alarming(number) { 2e9 } else { base });
        add(1, &own, "latency", base + 0.1);
        metrics
    }

    /// Reads all reports and asserts that each is complete and that their versions have no gap; returns them by
    /// number.
    pub(crate) fn check(self, client: &mut Client) -> BTreeMap<usize, Value> {
        let mut reports = BTreeMap::new();
        let mut versions = BTreeSet::new();
        let mut alerts = 0;
        for report in all(client, &format!("{PATH}?expand=true")) {
            let version = &report["branch"]["head"]["version"];
            let number = usize::from_str_radix(version["hash"].as_str().unwrap(), 16).unwrap();
            assert_eq!(found(&report), self.metrics(number), "{report}");
            let counts = json!([
                { "benchmarks": self.shared + 1, "measures": 1 + usize::from(self.shared > 0) },
                { "benchmarks": 1, "measures": 1 },
            ]);
            assert_eq!(report["counts"]["results"], counts, "{report}");
            let raised = usize::from(Self::is_alarming(number));
            assert_eq!(report["counts"]["alerts"]["total"], raised, "{report}");
            assert_eq!(report["alerts"].as_array().unwrap().len(), raised, "{report}");
            alerts += raised;
            assert!(versions.insert(version["number"].as_u64().unwrap()), "{version} is there twice");
            assert!(reports.insert(number, report).is_none(), "report {number} is there twice");
        }
        assert!(versions.into_iter().eq(0..reports.len() as u64), "there is a gap between the versions");
        assert_eq!(all(client, "/v0/projects/lab/alerts?").len(), alerts);
        reports
    }
}

fn found(report: &Value) -> Metrics {
    let mut metrics = Metrics::new();
    for (iteration, results) in report["results"].as_array().unwrap().iter().enumerate() {
        for result in results.as_array().unwrap() {
            assert_eq!(result["iteration"], iteration, "{result}");
            let benchmark = result["benchmark"]["name"].as_str().unwrap();
            for measured in result["measures"].as_array().unwrap() {
                let measure = measured["measure"]["name"].as_str().unwrap().to_lowercase();
                let value = measured["metric"]["value"].as_f64().unwrap();
                assert!(metrics.insert((iteration, benchmark.to_owned(), measure), value).is_none());
            }
        }
    }
    metrics
}

/// Returns all pages of a list.
fn all(client: &mut Client, path: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for page in 1.. {
        let (status, list) = client.get(&format!("{path}&per_page=100&page={page}")).unwrap();
        assert_eq!(status, 200, "{list}");
        let list = list.as_array().unwrap();
        if list.is_empty() {
            break;
        }
        found.extend_from_slice(list);
    }
    found
}
