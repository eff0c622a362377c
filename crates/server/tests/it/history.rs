//! The position of a report in the history of its branch: versions, start points, and the effect of deleted reports.

use serde_json::{Value, json};

use crate::{
    Answer, Lab, both,
    report::{bench, with},
};

/// Returns the hash of a commit.
fn hash(digit: char) -> String {
    digit.to_string().repeat(40)
}

/// Returns the version number of a report.
fn number(report: &Answer) -> i64 {
    report.body["branch"]["head"]["version"]["number"].as_i64().unwrap()
}

/// Returns the baseline of a report.
fn baseline(report: &Answer) -> Option<f64> {
    report.body.pointer("/results/0/0/measures/0/boundary/baseline").unwrap().as_f64()
}

/// Returns a threshold whose baseline is the mean of the sample.
fn mean(more: Value) -> Value {
    let mut thresholds = json!({ "models": {} });
    thresholds["models"]["latency"] = with(json!({ "test": "percentage", "upper_boundary": 1_000 }), more);
    thresholds
}

impl Lab {
    /// Sends a value on a branch, for a commit if there is a digit.
    async fn on(&self, branch: &str, value: f64, digit: Option<char>, start_point: Value) -> Answer {
        let hash = digit.map(hash);
        self.value(value, json!({ "branch": branch, "hash": hash, "start_point": start_point })).await
    }

    /// Returns the version numbers of the reports of a branch, in the order in which they were created.
    async fn numbers(&self, branch: &str) -> Vec<i64> {
        let list = self.get(&format!("reports?branch={branch}&direction=asc&per_page=255")).await.expect(200);
        list.body
            .as_array()
            .unwrap()
            .iter()
            .map(|report| report["branch"]["head"]["version"]["number"].as_i64().unwrap())
            .collect()
    }

    async fn remove(&self, report: &Answer) {
        let path = format!("reports/{}", report.text("/uuid"));
        self.delete(&path).await.expect(204);
        self.get(&path).await.expect(404);
    }

    /// Returns the version that the current head starts from.
    async fn start(&self, branch: &str) -> Value {
        self.get(&format!("branches/{branch}")).await.body["head"]["start_point"]["version"]["number"].clone()
    }
}

both! {
    async fn versions_are_numbered(server: TestServer) {
        let lab = Lab::open(server).await;
        for (digit, wanted) in [(None, 0), (None, 1), (Some('a'), 2), (Some('a'), 2), (Some('b'), 3), (Some('a'), 2), (None, 4)] {
            let report = lab.on("main", 1.0, digit, Value::Null).await;
            assert_eq!(number(&report), wanted);
            assert_eq!(report.body["branch"]["head"]["version"]["hash"].as_str(), digit.map(hash).as_deref());
        }
        // A commit has one version on all testbeds.
        let report = lab.value(1.0, json!({ "testbed": "other", "hash": hash('a').to_uppercase() })).await;
        assert_eq!(number(&report), 2);
        // A clone continues the numbers; inherited versions are not its own.
        let clone = json!({ "branch": "main", "hash": hash('b') });
        for (digit, wanted) in [(Some('b'), 4), (Some('b'), 4), (Some('c'), 5), (None, 6)] {
            assert_eq!(number(&lab.on("clone", 1.0, digit, clone.clone()).await), wanted);
        }
        for (branch, max_versions, wanted) in [("none", 0, 0), ("few", 2, 5)] {
            let start = json!({ "branch": "main", "max_versions": max_versions });
            assert_eq!(number(&lab.on(branch, 1.0, None, start).await), wanted);
        }
        // A reset starts a new count, even for the same commit.
        assert_eq!(number(&lab.on("clone", 1.0, Some('c'), json!({ "reset": true })).await), 0);
        assert_eq!(number(&lab.on("clone", 1.0, Some('c'), Value::Null).await), 0);
        assert_eq!(number(&lab.on("clone", 1.0, Some('c'), json!({ "reset": true, "branch": "main" })).await), 5);
    }

    async fn a_start_point_moves_the_head_of_a_report(server: TestServer) {
        let lab = Lab::open(server).await;
        for digit in ['a', 'b'] {
            lab.on("main", 1.0, Some(digit), Value::Null).await;
        }
        lab.on("other", 1.0, None, Value::Null).await;
        let head = |report: &Answer| report.text("/branch/head/uuid");
        let mut last = head(&lab.on("pr", 1.0, None, json!({ "branch": "missing" })).await);
        assert_eq!(lab.start("pr").await, Value::Null);
        for (start, moves, version) in [
            (json!({ "branch": "main", "hash": hash('a') }), true, json!(0)),
            (json!({ "branch": "main", "hash": hash('a') }), false, json!(0)),
            (json!({ "branch": "main" }), false, json!(0)),
            (json!({}), false, json!(0)),
            (json!({ "branch": "missing" }), false, json!(0)),
            (json!({ "branch": "main", "hash": hash('b') }), true, json!(1)),
            (json!({ "branch": "other" }), true, json!(0)),
            (json!({ "branch": "other", "reset": true }), true, json!(0)),
            (json!({ "reset": true }), true, Value::Null),
        ] {
            let report = lab.on("pr", 1.0, None, start.clone()).await;
            assert_eq!((head(&report) != last, lab.start("pr").await), (moves, version), "{start}");
            last = head(&report);
        }
        let report = lab.get("reports?branch=pr&per_page=1&direction=asc").await;
        assert_ne!(report.text("/0/branch/head/uuid"), last, "a report shows the head it was made under");
        assert!(report.body[0]["branch"]["head"]["replaced"].is_string());
    }

    async fn a_new_branch_sees_what_it_started_from(server: TestServer) {
        let lab = Lab::open(server).await;
        for (value, digit) in [(10.0, 'a'), (11.0, 'b'), (12.0, 'c')] {
            lab.value(value, json!({ "hash": hash(digit), "thresholds": mean(json!({})) })).await;
        }
        let start = json!({ "branch": "main", "hash": hash('b'), "clone_thresholds": true });
        let first = lab.on("pr", 6.0, None, start.clone()).await;
        assert_eq!((number(&first), baseline(&first)), (2, Some(10.5)));
        assert_eq!(baseline(&lab.on("pr", 9.0, None, start).await), Some(9.0), "of 6, 11 and 10");
        let report = lab.value(1.0, json!({ "branch": "pr", "thresholds": mean(json!({ "max_sample_size": 2 })) })).await;
        assert_eq!(baseline(&report), Some(7.5), "of 9 and 6");
        let report = lab.value(1.0, json!({ "branch": "pr", "thresholds": mean(json!({ "max_sample_size": 4 })) })).await;
        assert_eq!(baseline(&report), Some(6.75), "of 1, 9, 6 and 11");

        // Later reports of a shared version count as well; reports of another testbed or of a later version do not.
        for (testbed, digit) in [("localhost", 'b'), ("other", 'b'), ("localhost", 'c')] {
            lab.value(101.0, json!({ "hash": hash(digit), "testbed": testbed })).await;
        }
        let report = lab.value(1.0, json!({ "branch": "pr", "thresholds": mean(json!({})) })).await;
        assert_eq!(baseline(&report), Some(139.0 / 7.0), "of 1, 1, 9, 6, 101, 11 and 10");
        let fresh = lab.on("pr", 1.0, None, json!({ "reset": true })).await;
        assert_eq!((number(&fresh), baseline(&fresh)), (0, None));
        let short = json!({ "branch": "main", "hash": hash('b'), "max_versions": 1, "reset": true });
        assert_eq!(baseline(&lab.on("pr", 1.0, None, short).await), Some(56.0), "of 101 and 11");
    }

    async fn thresholds_come_with_a_start_point(server: TestServer) {
        let lab = Lab::open(server).await;
        let upper = |boundary: f64| json!({ "models": { "latency": { "test": "static", "upper_boundary": boundary } } });
        lab.value(1.0, json!({ "thresholds": upper(5.0) })).await;
        let boundary = |report: &Answer| report.body.pointer("/results/0/0/measures/0/threshold/model/upper_boundary").cloned();
        let start = |clone: bool| json!({ "branch": "main", "clone_thresholds": clone });
        let plain = lab.on("plain", 1.0, None, start(false)).await;
        assert_eq!(boundary(&plain), None);
        let cloned = lab.on("cloned", 9.0, None, start(true)).await;
        assert_eq!((boundary(&cloned), cloned.body["counts"]["alerts"]["active"].as_i64()), (Some(json!(5.0)), Some(1)));
        // Thresholds are cloned even without a new head; the thresholds in the report take precedence.
        lab.value(1.0, json!({ "thresholds": upper(7.0) })).await;
        assert_eq!(boundary(&lab.on("cloned", 1.0, None, start(true)).await), Some(json!(7.0)));
        let own = lab.value(1.0, json!({ "branch": "cloned", "start_point": start(true), "thresholds": upper(8.0) })).await;
        assert_eq!(boundary(&own), Some(json!(8.0)));
        let reset = lab.on("cloned", 1.0, None, json!({ "reset": true })).await;
        assert_eq!(boundary(&reset), Some(json!(8.0)), "they survive a reset");
    }

    async fn a_deleted_report_leaves_no_gap(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut main = Vec::new();
        for digit in ['a', 'b', 'c', 'd'] {
            main.push(lab.on("main", 1.0, Some(digit), Value::Null).await);
        }
        let second = lab.on("main", 1.0, Some('c'), Value::Null).await;
        let start = |digit: char| json!({ "branch": "main", "hash": hash(digit) });
        // `early` starts before the deleted version, `at` at it, `late` after it; `grandchild` continues `late`.
        for (branch, digit) in [("early", 'b'), ("at", 'c'), ("late", 'd')] {
            lab.on(branch, 1.0, None, start(digit)).await;
            lab.on(branch, 1.0, None, start(digit)).await;
        }
        lab.on("grandchild", 1.0, None, json!({ "branch": "late" })).await;
        lab.on("short", 1.0, None, json!({ "branch": "main", "max_versions": 1 })).await;
        let numbers = async || {
            let mut all = Vec::new();
            for branch in ["main", "early", "at", "late", "grandchild", "short"] {
                all.push(lab.numbers(branch).await);
            }
            all
        };
        let before = [vec![0, 1, 2, 3, 2], vec![2, 3], vec![3, 4], vec![4, 5], vec![6], vec![4]];
        assert_eq!(numbers().await, before);

        // The commit has another report, so its version stays.
        lab.remove(&second).await;
        assert_eq!(numbers().await[1..], before[1..]);
        lab.remove(&main[2]).await;
        assert_eq!(numbers().await, [vec![0, 1, 2], vec![2, 3], vec![2, 3], vec![3, 4], vec![5], vec![3]]);
        let mut starts = Vec::new();
        for branch in ["early", "at", "late", "grandchild", "short"] {
            starts.push(lab.start(branch).await);
        }
        assert_eq!(starts, [json!(1), Value::Null, json!(2), json!(4), json!(2)]);

        // The start point is gone, which does not create a new head.
        let head = async || lab.get("branches/at").await.body["head"]["uuid"].clone();
        let before = head().await;
        lab.remove(&lab.on("at", 1.0, None, json!({ "branch": "main" })).await).await;
        assert_eq!(head().await, before);

        // The next versions continue without a gap.
        for (branch, wanted) in [("main", 3), ("early", 4), ("at", 4), ("late", 5), ("grandchild", 6), ("short", 4)] {
            assert_eq!(number(&lab.on(branch, 1.0, None, Value::Null).await), wanted, "{branch}");
        }
        assert_eq!(number(&lab.on("main", 1.0, Some('d'), Value::Null).await), 2, "the commit keeps its version");

        // The versions that a clone inherited from the first version on are renumbered as well.
        lab.remove(&main[0]).await;
        assert_eq!(numbers().await, [vec![0, 1, 2, 1], vec![1, 2, 3], vec![1, 2, 3], vec![2, 3, 4], vec![4, 5], vec![2, 3]]);
    }

    async fn a_history_that_is_deleted_is_not_sampled(server: TestServer) {
        let lab = Lab::open(server).await;
        let mut reports = Vec::new();
        for value in [10.0, 20.0, 30.0] {
            reports.push(lab.value(value, json!({ "thresholds": mean(json!({})) })).await);
        }
        let start = json!({ "branch": "main", "clone_thresholds": true });
        assert_eq!(baseline(&lab.on("pr", 40.0, None, start).await), Some(20.0));
        lab.remove(&reports[1]).await;
        assert_eq!(baseline(&lab.value(50.0, json!({})).await), Some(20.0), "of 30 and 10");
        assert_eq!(baseline(&lab.on("pr", 0.0, None, Value::Null).await), Some(80.0 / 3.0), "of 40, 30 and 10");
        lab.remove(&reports[0]).await;
        lab.remove(&reports[2]).await;
        assert_eq!(baseline(&lab.on("pr", 0.0, None, Value::Null).await), Some(20.0), "of 0 and 40");
        assert_eq!(lab.numbers("main").await, [0]);
    }

    async fn what_only_a_deleted_report_used_can_go(server: TestServer) {
        let lab = Lab::open(server).await;
        let model = json!({ "models": { "latency": { "test": "static", "upper_boundary": 1 } } });
        let report = lab.value(2.0, json!({ "thresholds": model })).await;
        let variant = json!([{ "name": "bench", "parameters": { "n": 1 }, "measures": { "latency": { "value": 1 } } }]).to_string();
        let other = lab.report(json!([variant, bench(1.0)]), json!({})).await.expect(201);
        let threshold = format!("thresholds/{}", report.text("/results/0/0/measures/0/threshold/uuid"));
        let nouns = [threshold.as_str(), "branches/main", "testbeds/localhost", "benchmarks/bench", "measures/latency"];
        assert_eq!(lab.totals().await, [1, 1, 1, 1, 1, 2, 1]);
        for report in [&other, &report] {
            for noun in nouns {
                lab.delete(noun).await.expect(409);
            }
            lab.remove(report).await;
        }
        assert_eq!(lab.totals().await, [1, 1, 1, 1, 1, 0, 0]);
        let alert = report.text("/alerts/0/uuid");
        lab.get(&format!("alerts/{alert}")).await.expect(404);
        for noun in nouns {
            lab.delete(noun).await.expect(204);
        }
        assert_eq!(lab.totals().await, [0; 7]);
        for path in ["reports/0190a000-0000-7000-8000-000000000000", "reports/x"] {
            lab.delete(path).await.expect(if path.ends_with('x') { 400 } else { 404 });
        }
        assert_eq!(number(&lab.value(1.0, json!({})).await), 0);
    }
}
