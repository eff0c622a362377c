//! The budget of false alarms, in a project whose noise depends on itself.

use serde_json::{Value, json};
use tidemark_api::Timestamp;
use tidemark_stats::synthetic::Noise;

use crate::{Lab, both, report::report_body, server::START};

/// A fifth of the series has each.
const NOISES: [Noise; 5] = [
    Noise::Normal,
    Noise::Autoregressive(0.5),
    Noise::Autoregressive(0.7),
    Noise::StickyHosts,
    Noise::DailyCycle,
];
/// How many series have each.
const EACH: u64 = 40;
/// A month of runs, and the seconds from one to the next.
const RUNS: usize = 300;
const PAUSE: i64 = 30 * 24 * 60 * 60 / RUNS as i64;

/// With so many runs, it was learnt what noise there is.
const LEARNT: usize = 130;

/// A project of 200 series with one percent of noise.
struct Project {
    lab: Lab,
    series: Vec<(String, Vec<f64>)>,
}

impl Project {
    fn open(lab: Lab, seed: u64) -> Self {
        let place = |number: u64| (number, NOISES[(number / EACH) as usize]);
        let series = (0..EACH * NOISES.len() as u64)
            .map(place)
            .map(|(number, noise)| (format!("bench-{number:03}"), noise.series(seed * 1_000 + number, RUNS)));
        Self { lab, series: series.collect() }
    }

    /// Sends the run with this number, and waits until it was looked at.
    async fn run(&self, number: usize) {
        let results: serde_json::Map<String, Value> = self
            .series
            .iter()
            .map(|(name, values)| (name.clone(), json!({ "latency": { "value": values[number] } })))
            .collect();
        let time = Timestamp::from_micros(START + number as i64 * PAUSE * 1_000_000).to_string();
        let more = json!({ "start_time": time, "end_time": time, "hash": format!("{number:040x}") });
        self.lab
            .post("reports", report_body(json!([Value::Object(results).to_string()]), more))
            .await
            .expect(201);
        self.lab.settled().await;
        self.lab.server.pass(PAUSE);
    }

    /// How many events people were notified of.
    async fn events(&self) -> u64 {
        self.lab.get("detection").await.expect(200).body["observed"]["raised"].as_u64().unwrap()
    }
}

both! {
    /// Before that it is not known yet how much the noise depends on itself.
    async fn noise_that_is_known_keeps_to_the_budget(server: TestServer) {
        let project = Project::open(Lab::open(server).await, 1);
        for number in 0..LEARNT {
            project.run(number).await;
        }
        let before = project.events().await;
        for number in LEARNT..RUNS {
            project.run(number).await;
        }
        let events = project.events().await - before;
        assert!(events <= 2, "{events} events after run {LEARNT}");
    }
}
