//! The false-alarm budget, in a project with autocorrelated noise.

use serde_json::{Value, json};
use tidemark_api::Timestamp;
use tidemark_stats::synthetic::{MIXED_NOISE, project};

use crate::{
    Engine, Lab, both,
    notice::{PRIVATE, Receiver},
    report::report_body,
    server::START,
};

/// Runs in one month, and seconds between two runs.
const RUNS: usize = 300;
const PAUSE: i64 = 30 * 24 * 60 * 60 / RUNS as i64;

/// The commit that makes some benchmarks slower, and the factors.
const COMMIT: usize = 200;
const STEPS: [(usize, f64); 6] = [(3, 1.03), (7, 1.05), (11, 1.08), (15, 1.12), (19, 1.25), (23, 1.5)];

/// A project of 200 series with one percent of noise.
struct Project {
    lab: Lab,
    series: Vec<(String, Vec<f64>)>,
}

impl Project {
    fn new(lab: Lab, seed: u64) -> Self {
        let series = project(&MIXED_NOISE, seed).into_iter().enumerate();
        let series = series.map(|(number, values)| (format!("bench-{number:03}"), values));
        Self { lab, series: series.collect() }
    }

    /// Sends the run with this number, and waits until the server has analyzed it.
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
        self.lab.server.wait_for_due_work().await;
        self.lab.server.pass(PAUSE);
    }

    /// Returns the number of events with a notification.
    async fn events(&self) -> u64 {
        self.lab.get("detection").await.expect(200).body["observed"]["raised"].as_u64().unwrap()
    }

    /// Returns the benchmarks of the changes that were notified since the last call.
    async fn notified(&self, receiver: &Receiver) -> Vec<String> {
        let mut names = Vec::new();
        for notice in receiver.all(&self.lab).await {
            let changes = notice.json()["reports"][0]["changes"].as_array().unwrap().clone();
            names.extend(
                changes.iter().map(|change| change["benchmark"]["name"].as_str().unwrap().to_owned()),
            );
        }
        names
    }
}

both! {
    /// The tests of `stats` check the average number over seeds. The events depend on the engine only if it changes values, which
    /// shows in a few runs.
    async fn noise_that_depends_on_itself_keeps_to_the_budget(server: TestServer) {
        let project = Project::new(Lab::open(server).await, 2);
        let runs = if project.lab.server.engine == Engine::Sqlite { RUNS } else { RUNS / 5 };
        for number in 0..runs {
            project.run(number).await;
        }
        let events = project.events().await;
        assert!(events <= 2, "{events} events");
    }

    async fn steps_of_one_commit_are_one_event(server: TestServer = PRIVATE) {
        let mut project = Project::new(Lab::open(server).await, 1);
        for (series, factor) in STEPS {
            project.series[series].1[COMMIT..].iter_mut().for_each(|value| *value *= factor);
        }
        for number in 0..COMMIT {
            project.run(number).await;
        }
        let (receiver, address) = Receiver::open();
        project.lab.webhook(&address, json!({})).await;
        for number in COMMIT..COMMIT + 5 {
            project.run(number).await;
        }
        let steps = STEPS.iter().filter(|step| step.1 >= 1.05).map(|step| format!("bench-{:03}", step.0));
        let steps: Vec<String> = steps.collect();
        let notified = project.notified(&receiver).await;
        let count = |step: &String| notified.iter().filter(|name| *name == step).count();
        assert!(steps.iter().all(|step| count(step) == 1), "{notified:?}");
        for number in COMMIT + 5..COMMIT + 20 {
            project.run(number).await;
        }
        let later = project.notified(&receiver).await;
        assert!(!steps.iter().any(|step| later.contains(step)), "{later:?}");
    }
}
