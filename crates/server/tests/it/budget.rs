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

/// A project of 200 series with one percent of noise.
struct Project {
    lab: Lab,
    series: Vec<(String, Vec<f64>)>,
}

impl Project {
    async fn open(lab: Lab, seed: u64) -> Self {
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

    /// The changes that people were notified of.
    async fn notified(&self) -> Vec<String> {
        let changes = self.lab.get("changes?per_page=255").await.expect(200).body;
        let mut notified: Vec<String> = changes
            .as_array()
            .unwrap()
            .iter()
            .filter(|change| change["raised"].is_string())
            .map(|change| change["benchmark"]["name"].as_str().unwrap().to_owned())
            .collect();
        notified.sort();
        notified
    }
}

both! {
    async fn noise_that_depends_on_itself_keeps_to_the_budget(server: TestServer) {
        let lab = Lab::open(server).await;
        let project = Project::open(lab, 1).await;
        for number in 0..RUNS {
            project.run(number).await;
        }
        let events = project.events().await;
        assert!(events <= 2, "{events} events: {:?}", project.notified().await);
    }

    async fn six_steps_of_one_commit_are_one_event(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut project = Project::open(lab, 2).await;
        let step = 200;
        for (place, size) in [(3, 1.03), (7, 1.05), (11, 1.08), (15, 1.12), (19, 1.25), (23, 1.5)] {
            project.series[place].1[step..].iter_mut().for_each(|value| *value *= size);
        }
        for number in 0..step {
            project.run(number).await;
        }
        let before = project.events().await;
        for number in step..step + 5 {
            project.run(number).await;
        }
        let notified = project.notified().await;
        for place in [7, 11, 15, 19, 23] {
            assert!(notified.contains(&format!("bench-{place:03}")), "{place} is not in {notified:?}");
        }
        assert_eq!(project.events().await, before + 1, "{notified:?}");
        for number in step + 5..step + 20 {
            project.run(number).await;
        }
        assert_eq!(project.events().await, before + 1, "{:?}", project.notified().await);
    }
}
