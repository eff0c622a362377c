//! Verdicts: a report compared with its baseline, without any threshold.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Lab, both, change::chance, report::report_body};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

impl Lab {
    /// Sends a run of six benchmarks, each with a factor.
    pub(crate) async fn six(&self, number: u64, factors: [f64; 6], more: Value) -> String {
        let values = NAMES.iter().zip(factors).enumerate().map(|(place, (name, factor))| {
            let noise = 0.995 + 0.01 * chance(number + 1_000 * (place as u64 + 1));
            ((*name).to_owned(), json!({ "latency": { "value": 100.0 * factor * noise } }))
        });
        let results = json!([Value::Object(values.collect()).to_string()]);
        let time = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
        let place = json!({ "hash": format!("{number:040x}"), "start_time": time, "end_time": time });
        let body = crate::report::with(report_body(results, place), more);
        self.post("reports", body).await.expect(201).text("/uuid")
    }

    /// Returns the verdict on a report, and a short form.
    async fn verdict(&self, report: &str) -> (Value, String) {
        self.verdict_against(report, "").await
    }

    /// Returns the verdict on a report with a query, and a short form.
    async fn verdict_against(&self, report: &str, query: &str) -> (Value, String) {
        let verdict = self.get(&format!("reports/{report}/verdict{query}")).await.expect(200).body;
        let counts = &verdict["counts"];
        let short = format!(
            "{} by {}: {}/{}/{}/{}/{}",
            verdict["answer"].as_str().unwrap(),
            verdict["cause"].as_str().unwrap(),
            counts["regressions"],
            counts["improvements"],
            counts["differences"],
            counts["unchanged"],
            counts["inconclusive"]
        );
        (verdict, short)
    }
}

both! {
    async fn a_run_is_changed_unchanged_or_neither(server: TestServer) {
        let lab = Lab::open(server).await;
        let first = lab.six(0, [1.0; 6], json!({})).await;
        assert_eq!(lab.verdict(&first).await.1, "inconclusive by code: 0/0/0/0/6");
        for number in 1..40 {
            lab.six(number, [1.0; 6], json!({})).await;
        }
        let same = lab.six(40, [1.0; 6], json!({})).await;
        assert_eq!(lab.verdict(&same).await.1, "unchanged by code: 0/0/0/6/0");
        let worse = lab.six(41, [1.1, 0.8, 1.0, 1.0, 1.0, 1.0], json!({})).await;
        let (verdict, short) = lab.verdict(&worse).await;
        assert_eq!(short, "changed by code: 1/1/0/4/0");
        let first = &verdict["comparisons"][0];
        assert_eq!((&first["benchmark"]["name"], &first["direction"]), (&json!("a"), &json!("regression")));
        let number = |name: &str| first[name].as_f64().unwrap();
        assert!(number("lower") < 0.1 && 0.1 < number("upper") && number("upper") - number("lower") < 0.03, "{first:#}");
        assert!(number("detectable") < 0.02 && number("p") < 0.001, "{first:#}");
        assert_eq!((&first["base_runs"], &first["head_runs"]), (&json!(41), &json!(1)));
        lab.get("reports/0190a000-0000-7000-8000-000000000000/verdict").await.expect(404);
    }

    async fn an_effect_far_outside_all_noise_needs_few_runs(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..14 {
            lab.six(number, [1.0; 6], json!({})).await;
        }
        let slow = lab.six(14, [4.0, 1.0, 1.0, 1.0, 1.0, 1.0], json!({})).await;
        assert_eq!(lab.verdict(&slow).await.1, "changed by code: 1/0/0/0/5");
    }

    /// Both benchmarks become four times slower; samples of one vary by half of its value.
    async fn few_runs_are_compared_with_the_spread_of_their_tool(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut verdicts = Vec::new();
        for (number, value) in [100.0, 103.0, 101.0, 102.0, 400.0].into_iter().enumerate() {
            let metric = |spread: f64| {
                let (lower, upper) = (value * (1.0 - spread), value * (1.0 + spread));
                json!({ "latency": { "value": value, "lower_value": lower, "upper_value": upper } })
            };
            let results = json!([json!({ "steady": metric(0.01), "unsteady": metric(0.5) }).to_string()]);
            let time = format!("2026-01-01T00:{number:02}:00Z");
            let place = json!({ "hash": format!("{number:040x}"), "start_time": time, "end_time": time });
            let report = lab.post("reports", report_body(results, place)).await.expect(201).text("/uuid");
            verdicts.push(lab.verdict(&report).await);
        }
        let short: Vec<&str> = verdicts.iter().map(|(_, short)| short.as_str()).collect();
        let unclear = "inconclusive by code: 0/0/0/0/2";
        assert_eq!(short, [unclear, unclear, unclear, unclear, "changed by code: 1/0/0/0/1"]);
        assert_eq!(verdicts[4].0["comparisons"][0]["benchmark"]["name"], json!("steady"));
    }

    /// All values become four times higher.
    async fn the_direction_of_a_measure_decides_the_verdict(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut last = String::new();
        for (number, value) in [100.0, 103.0, 101.0, 102.0, 400.0].into_iter().enumerate() {
            let metric = |direction: Option<&str>| {
                json!({ "value": value, "lower_value": value * 0.99, "upper_value": value * 1.01, "direction": direction })
            };
            let measures = json!({
                "Score": metric(Some("higher_is_better")), "Cost": metric(Some("lower_is_better")), "Other": metric(None),
            });
            let time = format!("2026-01-01T00:{number:02}:00Z");
            let place = json!({ "hash": format!("{number:040x}"), "start_time": time, "end_time": time });
            let results = json!([json!({ "parse": measures }).to_string()]);
            last = lab.post("reports", report_body(results, place)).await.expect(201).text("/uuid");
        }
        assert_eq!(lab.verdict(&last).await.1, "changed by code: 1/1/1/0/0");
        lab.patch("measures/score", json!({ "direction": null })).await.expect(200);
        lab.patch("measures/cost", json!({ "direction": "higher_is_better" })).await.expect(200);
        lab.patch("measures/other", json!({ "direction": "lower_is_better" })).await.expect(200);
        let (verdict, short) = lab.verdict(&last).await;
        assert_eq!(short, "changed by code: 1/1/1/0/0");
        let directions: Vec<_> = verdict["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| format!("{} {}", one["measure"]["slug"], one["direction"]).replace('"', ""))
            .collect();
        assert_eq!(directions, ["other regression", "score unknown", "cost improvement"]);
    }

    async fn few_runs_that_rise_do_not_hide_a_large_change(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut last = String::new();
        for (number, value) in [101.0, 102.0, 103.0, 104.0, 430.0].into_iter().enumerate() {
            let results = json!([json!({ "parse": { "latency": { "value": value } } }).to_string()]);
            let time = format!("2026-01-01T00:{number:02}:00Z");
            let body = json!({ "hash": format!("{number:040x}"), "start_time": time, "end_time": time });
            last = lab.post("reports", report_body(results, body)).await.expect(201).text("/uuid");
        }
        let (verdict, short) = lab.verdict(&last).await;
        assert_eq!(short, "changed by code: 1/0/0/0/0");
        assert!(verdict["comparisons"][0]["detectable"].as_f64().unwrap() < 1.0, "{verdict:#}");
    }

    async fn a_regression_stays_one_until_it_is_accepted_or_established(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..40 {
            lab.six(number, [1.0; 6], json!({})).await;
        }
        // Two benchmarks become slower with different versions, so that they belong to different events.
        let factors = |number: u64| [1.2, if number < 44 { 1.0 } else { 1.2 }, 1.0, 1.0, 1.0, 1.0];
        for number in 40..76 {
            let report = lab.six(number, factors(number), json!({})).await;
            lab.settled().await;
            let counts = if (44..50).contains(&number) { "2/0/0/4/0" } else { "1/0/0/5/0" };
            let (verdict, short) = lab.verdict(&report).await;
            assert_eq!(short, format!("changed by code: {counts}"), "run {number}");
            // The last run before each regression, although the newest runs have the regression.
            if number < 50 {
                for regressed in verdict["comparisons"].as_array().unwrap().iter().take(counts[..1].parse().unwrap()) {
                    let last = if regressed["benchmark"]["name"] == json!("a") { 39 } else { 43 };
                    let hash = json!(format!("{last:040x}"));
                    assert_eq!(regressed["base_version"]["hash"], hash, "run {number}: {regressed:#}");
                }
            }
            if number == 49 {
                let changes = lab.changes("", 2).await;
                let first = changes.iter().find(|change| change["benchmark"]["name"] == json!("a")).unwrap();
                let path = format!("events/{}", first["event"].as_str().unwrap());
                lab.patch(&path, json!({ "status": "expected" })).await.expect(200);
            }
        }
        let established = lab.six(76, factors(76), json!({})).await;
        lab.settled().await;
        assert_eq!(lab.verdict(&established).await.1, "unchanged by code: 0/0/0/6/0");
    }

    async fn a_false_alarm_is_no_baseline_and_no_regression(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..40 {
            let level = if number < 30 { 1.0 } else { 1.2 };
            lab.six(number, [level, 1.0, 1.0, 1.0, 1.0, 1.0], json!({})).await;
        }
        let change = lab.changes("", 1).await.remove(0);
        let path = format!("events/{}", change["event"].as_str().unwrap());
        lab.patch(&path, json!({ "status": "false_alarm" })).await.expect(200);
        let same = lab.six(40, [1.2, 1.0, 1.0, 1.0, 1.0, 1.0], json!({})).await;
        lab.settled().await;
        assert_eq!(lab.verdict(&same).await.1, "unchanged by code: 0/0/0/5/1");
    }

    async fn runs_of_one_commit_are_compared_with_each_other(server: TestServer) {
        let lab = Lab::open(server).await;
        let same = json!({ "hash": "a".repeat(40) });
        let first = lab.six(0, [1.0; 6], same.clone()).await;
        assert_eq!(lab.verdict(&first).await.1, "inconclusive by code: 0/0/0/0/6");
        for number in 1..21 {
            lab.six(number, [1.0; 6], same.clone()).await;
        }
        let last = lab.six(21, [1.0; 6], same.clone()).await;
        let (verdict, short) = lab.verdict(&last).await;
        assert_eq!(short, "unchanged by code: 0/0/0/6/0");
        let runs = (&verdict["comparisons"][0]["base_runs"], &verdict["comparisons"][0]["head_runs"]);
        assert_eq!(runs, (&json!(21), &json!(1)));
        // The measured code need not be committed.
        let slow = lab.six(22, [1.2, 1.0, 1.0, 1.0, 1.0, 1.0], same).await;
        assert_eq!(lab.verdict(&slow).await.1, "changed by code: 1/0/0/5/0");
    }

    async fn a_run_of_few_iterations_is_trusted_less(server: TestServer) {
        let lab = Lab::open(server).await;
        // Nine iterations per run, which differ by ten percent; the runs differ very little.
        let measure = async |number: u64, iterations: u64| {
            let results = (0..iterations).map(|iteration| {
                let value = 95.0 + 10.0 * chance(100 * number + iteration);
                json!({ "a": { "latency": { "value": value } } }).to_string()
            });
            let time = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
            let place = json!({ "hash": format!("{number:040x}"), "start_time": time, "end_time": time });
            let body = report_body(results.collect(), place);
            let report = lab.post("reports", body).await.expect(201).text("/uuid");
            let verdict = lab.get(&format!("reports/{report}/verdict")).await.expect(200).body;
            verdict["comparisons"][0]["detectable"].as_f64()
        };
        for number in 0..40 {
            measure(number, 9).await;
        }
        let (many, few) = (measure(40, 9).await.unwrap(), measure(41, 1).await.unwrap());
        assert!(few > 1.4 * many && few < 3.0 * many, "{few} and {many}");
    }

    async fn a_branch_is_held_against_where_it_starts_from(server: TestServer) {
        let lab = Lab::open(server).await;
        // The baseline starts at the last change: earlier runs do not count.
        for number in 0..60 {
            let level = if number < 30 { 2.0 } else { 1.0 };
            lab.six(number, [level; 6], json!({})).await;
        }
        lab.changes("", 6).await;
        let start = json!({ "branch": "feature", "start_point": { "branch": "main", "hash": format!("{:040x}", 59) } });
        lab.six(100, [1.5, 1.0, 1.0, 1.0, 1.0, 1.0], start.clone()).await;
        let second = lab.six(101, [1.0, 1.2, 1.0, 1.0, 1.0, 1.0], start.clone()).await;
        let (verdict, short) = lab.verdict(&second).await;
        assert_eq!(short, "changed by code: 1/0/0/5/0", "what the branch did before does not count");
        assert_eq!((&verdict["comparisons"][0]["benchmark"]["name"], &verdict["comparisons"][0]["base_runs"]), (&json!("b"), &json!(30)));
        // A second run of the same commit: two runs are more precise than one.
        let again = lab.six(101, [1.0, 1.2, 1.0, 1.0, 1.0, 1.0], start).await;
        let (verdict, short) = lab.verdict(&again).await;
        assert_eq!((short.as_str(), &verdict["comparisons"][0]["head_runs"]), ("changed by code: 1/0/0/5/0", &json!(2)));
    }

    async fn a_report_is_compared_with_another_branch_version_or_testbed(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut main = Vec::new();
        for number in 0..30 {
            main.push(lab.six(number, [1.0; 6], json!({})).await);
        }
        for number in 30..60 {
            main.push(lab.six(number, [1.2, 1.0, 1.0, 1.0, 1.0, 1.0], json!({})).await);
        }
        lab.settled().await;
        let start = json!({ "branch": "pr", "start_point": { "branch": "main" } });
        let pull = lab.six(60, [1.2, 1.0, 1.0, 1.0, 1.0, 1.0], start).await;
        let (verdict, short) = lab.verdict(&pull).await;
        assert_eq!(short, "unchanged by code: 0/0/0/6/0");
        let baseline = &verdict["baseline"];
        assert_eq!((&baseline["branch"]["name"], &baseline["reports"]), (&json!("main"), &json!(60)));
        assert_eq!(baseline["report"], json!(main[59]));
        // Against an earlier version of main, the change of main counts.
        let (verdict, short) = lab.verdict_against(&pull, &format!("?base={}", main[29])).await;
        assert_eq!(short, "changed by code: 1/0/0/5/0");
        assert_eq!(verdict["baseline"]["report"], json!(main[29]));
        // A version of main against a later one, without its own runs.
        let (verdict, short) = lab.verdict_against(&main[20], &format!("?base={}", main[59])).await;
        assert_eq!(short, "changed by code: 0/1/0/5/0");
        assert_eq!(verdict["baseline"]["reports"], json!(59));
        // The counts are the same if only some comparisons are returned.
        let query = format!("?base={}&benchmark=a", main[29]);
        let (verdict, short) = lab.verdict_against(&pull, &query).await;
        assert_eq!((short.as_str(), verdict["comparisons"].as_array().unwrap().len()), ("changed by code: 1/0/0/5/0", 1));
        let (verdict, short) = lab.verdict_against(&pull, &format!("?base={}&limit=2", main[29])).await;
        assert_eq!((short.as_str(), verdict["comparisons"].as_array().unwrap().len()), ("changed by code: 1/0/0/5/0", 2));
        assert_eq!(verdict["comparisons"][0]["benchmark"]["name"], json!("a"));
        // Another testbed.
        let other = lab.six(61, [1.0; 6], json!({ "testbed": "other" })).await;
        let (verdict, _) = lab.verdict(&other).await;
        assert_eq!(verdict["baseline"], Value::Null);
        let (verdict, short) = lab.verdict_against(&other, &format!("?base={}", main[29])).await;
        assert_eq!((short.as_str(), &verdict["baseline"]["testbed"]["name"]), ("unchanged by code: 0/0/0/6/0", &json!("localhost")));
        let missing = format!("reports/{pull}/verdict?base={}", uuid::Uuid::nil());
        assert_snapshot!("verdict_missing_base", lab.server.show(&lab.get(&missing).await));
        let missing = format!("reports/{pull}/verdict?benchmark=none");
        assert_snapshot!("verdict_missing_benchmark", lab.server.show(&lab.get(&missing).await));
        // The branch of the pull request, with its newest report of each testbed.
        lab.six(62, [1.0; 6], json!({ "branch": "pr", "testbed": "other" })).await;
        assert_snapshot!("pulls", lab.server.show(&lab.get("pulls").await));
        assert_snapshot!("pulls_page_two", lab.server.show(&lab.get("pulls?page=2").await));
    }

    async fn a_slow_machine_is_no_regression(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..40 {
            lab.six(number, [1.0; 6], json!({})).await;
        }
        let slow = lab.six(40, [1.2, 1.2, 1.2, 1.2, 1.2, 1.44], json!({})).await;
        let (verdict, short) = lab.verdict(&slow).await;
        assert_eq!(short, "changed by host: 1/0/0/5/0");
        let factor = &verdict["factors"][0];
        assert!((factor["change"].as_f64().unwrap() - 0.2).abs() < 0.01, "{factor:#}");
        assert_eq!((&factor["is_host"], &factor["together"], &factor["benchmarks"]), (&json!(true), &json!(1.0), &json!(6)));
        let worst = &verdict["comparisons"][0];
        assert_eq!(worst["benchmark"]["name"], json!("f"));
        assert!((worst["change"].as_f64().unwrap() - 0.2).abs() < 0.02, "{worst:#}");
    }

    async fn the_same_binary_cannot_regress(server: TestServer) {
        let lab = Lab::open(server).await;
        let run = |number: u64, binary: &str, value: f64| {
            let time = format!("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
            let results = json!({ "bench": { "latency": { "value": value * (0.995 + 0.01 * chance(number)) } } });
            json!({
                "project": "lab", "branch": "main", "testbed": "localhost", "hash": format!("{number:040x}"),
                "start_time": time, "end_time": time, "results": [results.to_string()],
                "context": { "tidemark.dev/v0/binary/hash": binary },
            })
        };
        let send = async |body: Value| lab.server.post("/v0/run", &lab.token, body).await.expect(201).text("/uuid");
        for number in 0..40 {
            send(run(number, &format!("{number:064x}"), 100.0)).await;
        }
        let mut last = String::new();
        for number in 40..50 {
            last = send(run(number, &format!("{:064x}", 39), 120.0)).await;
        }
        assert_eq!(lab.verdict(&last).await.1, "unchanged by noise: 0/0/0/1/0");
        let change = lab.changes("", 1).await.remove(0);
        assert_eq!((&change["cause"], &change["raised"]), (&json!("noise"), &Value::Null));
        // Another binary that is as slow is not compared with earlier values of the first.
        let other = send(run(50, &"f".repeat(64), 120.0)).await;
        let (verdict, _) = lab.verdict(&other).await;
        assert_eq!(verdict["cause"], json!("code"));
    }

    async fn a_verdict_is_returned_completely(server: TestServer) {
        let lab = Lab::open(server).await;
        for number in 0..25 {
            lab.measure(number, &[("count", 1000.0)]).await;
        }
        let last = lab.measure(25, &[("count", 1100.0)]).await;
        lab.settled().await;
        let shown = lab.get(&format!("reports/{last}/verdict")).await;
        assert_snapshot!("verdict", lab.server.show(&shown));
    }
}
