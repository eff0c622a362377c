//! Reports: the request, what it creates, and the response. Histories and verdicts are tested elsewhere.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_server::domain::{
    ingest::{self, Submission, TargetProject},
    quota::Quota,
};
use tidemark_store::{OrganizationId, ProjectId, ReportId, Tx, WriteContext};

use crate::{Answer, Lab, both};

impl Lab {
    /// Sends a report with these results on `main` and `localhost`; `more` adds or replaces fields.
    pub(crate) async fn report(&self, results: Value, more: Value) -> Answer {
        self.post("reports", report_body(results, more)).await
    }

    /// Sends the value of one benchmark.
    pub(crate) async fn value(&self, value: f64, more: Value) -> Answer {
        self.report(json!([bench(value)]), more).await.expect(201)
    }

    /// Returns the totals of everything that a report can create.
    pub(crate) async fn totals(&self) -> Vec<i64> {
        let mut totals = Vec::new();
        for noun in ["branches", "testbeds", "benchmarks", "measures", "thresholds", "reports", "alerts"] {
            totals.push(self.total(noun).await);
        }
        totals
    }

    /// Sends invalid reports and returns the responses; asserts that no report leaves anything behind.
    pub(crate) async fn refused(&self, reports: impl IntoIterator<Item = (Value, Value)>) -> String {
        let before = self.totals().await;
        let mut lines = Vec::new();
        for (results, more) in reports {
            let answer = self.report(results.clone(), more.clone()).await;
            assert!(answer.status.is_client_error(), "{results} {more}: {:#}", answer.body);
            lines.push(self.server.redact(&answer.line()));
        }
        assert_eq!(self.totals().await, before);
        lines.join("\n")
    }
}

/// Returns a report with these results on `main` and `localhost`; `more` adds or replaces fields, and null removes a
/// field.
pub(crate) fn report_body(results: Value, more: Value) -> Value {
    let mut body = json!({
        "branch": "main", "testbed": "localhost", "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:01:00Z",
    });
    body["results"] = results;
    with(body, more)
}

/// Adds or replaces members of an object; null removes a member.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    let (Value::Object(members), Value::Object(more)) = (&mut object, more) else { panic!("no object") };
    for (key, value) in more {
        match value {
            Value::Null => members.remove(&key),
            value => members.insert(key, value),
        };
    }
    object
}

/// Records a report without HTTP.
pub(crate) fn record(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    (organization, project): (OrganizationId, ProjectId),
    results: Value,
    more: Value,
) -> ReportId {
    let new = serde_json::from_value(report_body(results, more)).unwrap();
    let target_project =
        TargetProject { project, organization, claimed: true, visibility: tidemark_api::Visibility::Public };
    ingest::record(tx, fresh, Quota::NONE, target_project, &Submission::read(new, None, false).unwrap())
        .unwrap()
        .report
}

/// Returns the result of one benchmark.
pub(crate) fn bench(value: f64) -> String {
    json!({ "bench": { "latency": { "value": value } } }).to_string()
}

/// Returns the values in a report, each with the number of its iteration, its benchmark and its measure.
fn values(report: &Answer) -> Vec<(i64, String, String, f64)> {
    let results = report.body["results"].as_array().unwrap().iter().flat_map(|one| one.as_array().unwrap());
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    results
        .flat_map(|result| {
            let (iteration, benchmark) = (result["iteration"].as_i64().unwrap(), name(&result["benchmark"]));
            result["measures"].as_array().unwrap().iter().map(move |one| {
                (
                    iteration,
                    benchmark.clone(),
                    name(&one["measure"]),
                    one["metric"]["value"].as_f64().unwrap(),
                )
            })
        })
        .collect()
}

const NOWHERE: &str = "0190a000-0000-7000-8000-000000000000";
const KEY: &str = "0190a000-0000-7000-8000-00000000000f";

both! {
    async fn a_report_is_answered_whole(server: TestServer) {
        let lab = Lab::open(server).await;
        let results = json!([
            json!({ "b two": { "latency": { "value": 2, "lower_value": 1.5, "upper_value": 2.5 } },
                    "a one": { "throughput": { "value": 10 }, "latency": { "value": 1 } } }).to_string(),
            json!([{ "name": "fib", "parameters": { "n": 10 }, "measures": { "latency": { "value": 5 } } },
                   { "name": "fib", "parameters": { "n": 2 }, "measures": { "latency": { "value": 4 } } },
                   { "name": "fib", "measures": { "latency": { "value": 3 } } }]).to_string(),
        ]);
        let more = json!({
            "hash": "0123456789abcdef0123456789abcdef01234567",
            "thresholds": { "models": { "latency": { "test": "static", "upper_boundary": 4.5 } } },
            "settings": { "adapter": "json" },
        });
        let report = lab.report(results, more).await.expect(201);
        assert_snapshot!("report_whole", lab.server.show(&report));
        let path = format!("reports/{}", report.text("/uuid"));
        assert_eq!(lab.get(&path).await.expect(200).body, report.body);
        let list = lab.get("reports").await.expect(200);
        assert_snapshot!("report_list", lab.server.show(&list));
        // In a list with other reports, in either order, the report is the same.
        let other = lab.value(7.0, json!({ "start_time": "2026-01-01T00:00:30Z" })).await;
        let list = lab.get("reports?expand=true").await.expect(200);
        assert_eq!(list.body, json!([other.body, report.body]));
        let list = lab.get("reports?expand=true&direction=asc").await.expect(200);
        assert_eq!(list.body, json!([report.body, other.body]));
    }

    async fn what_a_report_names_is_found_or_made(server: TestServer) {
        let lab = Lab::open(server).await;
        let first = lab.report(json!([json!({ "My Bench": { "my-measure": { "value": 1 } } }).to_string()]), json!({
            "branch": "feature/x", "testbed": "My Box",
        })).await.expect(201);
        let made = lab.totals().await;
        assert_eq!(made, [1, 1, 1, 1, 0, 1, 0]);
        let uuid = |pointer: &str| first.text(pointer);
        let [benchmark, measure] = ["benchmark/uuid", "measures/0/measure/uuid"].map(|end| uuid(&format!("/results/0/0/{end}")));
        for (branch, testbed, benchmark, measure) in [
            ("feature/x", "My Box", "My Bench", "my-measure"),
            ("feature-x", "my-box", "my-bench", "my-measure"),
            (&uuid("/branch/uuid"), &uuid("/testbed/uuid"), &benchmark, &measure),
        ] {
            let more = json!({ "branch": branch, "testbed": testbed });
            let again = lab.report(json!([json!({ benchmark: { measure: { "value": 1 } } }).to_string()]), more).await.expect(201);
            for noun in ["branch", "testbed"] {
                assert_eq!(again.body[noun]["uuid"], first.body[noun]["uuid"]);
            }
            assert_eq!(values(&again), values(&first));
        }
        assert_eq!(lab.totals().await, [1, 1, 1, 1, 0, 4, 0]);
    }

    async fn what_a_report_names_is_revived(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.value(1.0, json!({})).await;
        lab.value(1.0, json!({ "branch": "source" })).await;
        let nouns = ["branches/main", "testbeds/localhost", "benchmarks/bench", "measures/latency"];
        for noun in nouns.into_iter().chain(["branches/source"]) {
            lab.patch(noun, json!({ "archived": true })).await.expect(200);
        }
        lab.server.pass(60);
        let report = lab.value(2.0, json!({ "start_point": { "branch": "source" } })).await;
        assert_eq!(report.body["branch"]["archived"], Value::Null);
        for noun in nouns {
            let one = lab.get(noun).await.expect(200);
            assert_eq!((&one.body["archived"], one.text("/modified")), (&Value::Null, "2026-01-01T00:01:00.000Z".into()), "{noun}");
        }
        let source = lab.get("branches/source").await;
        assert_eq!(source.text("/archived"), "2026-01-01T00:00:00.000Z", "a start point sleeps on");
    }

    async fn a_report_that_is_wrong_leaves_nothing_behind(server: TestServer) {
        let lab = Lab::open(server).await;
        let elsewhere = json!({ "name": "Elsewhere" });
        lab.server.post("/v0/organizations/ada/projects", &lab.token, elsewhere).await.expect(201);
        let foreign = lab.server.post("/v0/projects/elsewhere/branches", &lab.token, json!({ "name": "main" })).await;
        let good = || json!([bench(1.0)]);
        let one = |text: Value| json!([text.to_string()]);
        let lines = lab.refused([
            (good(), json!({ "branch": NOWHERE })),
            (good(), json!({ "branch": foreign.text("/uuid") })),
            (good(), json!({ "testbed": NOWHERE })),
            (one(json!({ NOWHERE: { "latency": { "value": 1 } } })), json!({})),
            (one(json!({ "bench": { NOWHERE: { "value": 1 } } })), json!({})),
            (good(), json!({ "thresholds": { "models": { NOWHERE: { "test": "t_test" } } } })),
            (good(), json!({ "branch": "a..b" })),
            (good(), json!({ "branch": "" })),
            (good(), json!({ "testbed": "x".repeat(65) })),
            (good(), json!({ "branch": null })),
            (good(), json!({ "testbed": null })),
            (good(), json!({ "start_time": null })),
            (good(), json!({ "end_time": "yesterday" })),
            (good(), json!({ "hash": "0123" })),
            (good(), json!({ "settings": { "adapter": "cobol_bench" } })),
            (good(), json!({ "settings": { "fold": "mode" } })),
            (good(), json!({ "settings": { "average": "mode" } })),
            (good(), json!({ "idempotency_key": "again" })),
            (json!("text"), json!({})),
            (json!([1]), json!({})),
            (Value::Null, json!({ "results": null })),
        ]).await;
        assert_snapshot!("report_wrong", lines);
        assert_eq!(lab.totals().await, [0; 7]);
    }

    async fn what_a_tool_printed_must_be_readable(server: TestServer) {
        let lab = Lab::open(server).await;
        let adapter = |adapter: &str| json!({ "settings": { "adapter": adapter } });
        let average = |adapter: &str, average: &str| json!({ "settings": { "adapter": adapter, "average": average } });
        let libtest = "test a ... bench: 10 ns/iter (+/- 1)";
        let lines = lab.refused([
            (json!(["nothing of the sort"]), json!({})),
            (json!([bench(1.0), "nothing of the sort"]), adapter("json")),
            (json!([r#"{"bench": {"latency": {"value": 1}}"#]), adapter("json")),
            (json!([r#"{"bench": {"latency": {"value": 1}}} {}"#]), adapter("json")),
            (json!([r#"{"bench": {"latency": {"value": "fast"}}}"#]), adapter("json")),
            (json!([r#"{"bench": {"latency": {"value": null}}}"#]), json!({})),
            (json!([r#"{"bench": {"latency": {"value": 1e999}}}"#]), adapter("json")),
            (json!([r#"{"bench": {"latency": {}}}"#]), adapter("json")),
            (json!([r#"{"bench": 5}"#]), adapter("json")),
            (json!([r#"{"": {"latency": {"value": 1}}}"#]), adapter("json")),
            (json!([json!({ "bench": { ("x".repeat(65)): { "value": 1 } } }).to_string()]), adapter("json")),
            (json!([json!({ "bench": { " latency": { "value": 1 } } }).to_string()]), adapter("json")),
            (json!([json!({ ("x".repeat(1025)): { "latency": { "value": 1 } } }).to_string()]), adapter("json")),
            (json!([json!({ "bench": { "latency": { "value": "long ".repeat(1_000) } } }).to_string()]), adapter("json")),
            (json!([r#"[{"name": "bench", "parameter": {}, "measures": {}}]"#]), adapter("json")),
            (json!([libtest, "no line of it"]), adapter("rust_bench")),
            (json!([format!("{libtest}\ntest b ... bench: many ns/iter (+/- 1)")]), adapter("rust_bench")),
            (json!([libtest]), average("rust_bench", "mean")),
            (json!([libtest]), adapter("shell_hyperfine")),
            (json!([""]), adapter("go_bench")),
        ]).await;
        assert_snapshot!("report_unreadable", lines);
        for (name, adapter) in [("magic", "magic"), ("rust_bench", "rust_bench"), ("rust", "magic")] {
            let report = lab.report(json!([libtest]), json!({ "settings": { "adapter": name } })).await.expect(201);
            assert_eq!((report.text("/adapter"), values(&report)[0].3), (adapter.into(), 10.0));
        }
    }

    async fn two_spellings_are_one_benchmark(server: TestServer) {
        let lab = Lab::open(server).await;
        let both = |one: &str, other: &str| json!([bench(1.0), json!({
            one: { "latency": { "value": 1 } }, other: { "latency": { "value": 2 } },
        }).to_string()]);
        let lines = lab.refused([
            (both("a b", "a-b"), json!({})),
            (json!([json!({ "a": { "latency": { "value": 1 }, "Latency": { "value": 2 } } }).to_string()]), json!({})),
            (both("a", "a-bencher-ignore"), json!({})),
        ]).await;
        assert_snapshot!("report_two_spellings", lines);
        // A suffix does not change the meaning of the rest of the name.
        let first = lab.report(json!([json!({ "foo bar": { "latency": { "value": 1 } } }).to_string()]), json!({})).await.expect(201);
        let ignored = json!([json!({ "foo-bar-bencher-ignore": { "latency": { "value": 2 } } }).to_string()]);
        let ignored = lab.report(ignored, json!({})).await.expect(201);
        let benchmark = "/results/0/0/benchmark/uuid";
        assert_eq!(ignored.text(benchmark), first.text(benchmark));
        // With a fold, both are values of the same benchmark.
        let spelled = |name: &str, value: i64| json!({ name: { "latency": { "value": value } } }).to_string();
        let folded = json!({ "settings": { "fold": "mean" } });
        let folded = lab.report(json!([spelled("foo bar", 10), spelled("foo-bar", 20)]), folded).await.expect(201);
        assert_eq!(values(&folded), [(0, "foo bar".into(), "Latency".into(), 15.0)]);
        // Both spellings are accepted with different measures, or in different iterations.
        let one = json!({ "a b": { "latency": { "value": 1 } }, "a-b": { "throughput": { "value": 2 } } }).to_string();
        let report = lab.report(json!([one, json!({ "a-b": { "latency": { "value": 3 } } }).to_string()]), json!({})).await.expect(201);
        let value = |iteration, measure: &str, value| (iteration, "a b".to_owned(), measure.to_owned(), value);
        assert_eq!(values(&report), [value(0, "Latency", 1.0), value(0, "Throughput", 2.0), value(1, "Latency", 3.0)]);
        assert_eq!(report.body["counts"]["results"], json!([{ "benchmarks": 1, "measures": 2 }, { "benchmarks": 1, "measures": 1 }]));
    }

    async fn nothing_is_a_result_too(server: TestServer) {
        let lab = Lab::open(server).await;
        for (results, settings) in [(json!([]), json!({})), (json!([]), json!({ "fold": "mean" })), (json!(["{}"]), json!({}))] {
            let report = lab.report(results, json!({ "settings": settings })).await.expect(201);
            assert_eq!((&report.body["results"], &report.body["alerts"]), (&json!([]), &json!([])));
            assert_eq!(report.body["counts"], json!({ "results": [], "alerts": { "total": 0, "active": 0 } }));
        }
        assert_eq!(lab.totals().await, [1, 1, 0, 0, 0, 3, 0]);
        // A benchmark without metrics is created but not shown; an iteration without metrics is skipped.
        let report = lab.report(json!([r#"{"empty": {}}"#, "{}", bench(1.0)]), json!({})).await.expect(201);
        assert_eq!(values(&report), [(2, "bench".to_owned(), "Latency".to_owned(), 1.0)]);
        assert_eq!(report.body["counts"]["results"], json!([{ "benchmarks": 1, "measures": 1 }]));
        assert_eq!(lab.names("benchmarks").await, ["bench", "empty"]);
    }

    async fn iterations_are_folded(server: TestServer) {
        let lab = Lab::open(server).await;
        let metric = |metric: Value| json!({ "bench": { "latency": metric } }).to_string();
        let value = |value: i64| metric(json!({ "value": value }));
        let odd = json!([value(10), value(14), value(12)]);
        let even = json!([value(10), value(14)]);
        let missing = json!([value(10), "{}", value(14)]);
        let bounded = json!([metric(json!({ "value": 10, "lower_value": 8 })), value(20)]);
        for (results, fold, value, lower) in [
            (&odd, "min", 10.0, None), (&odd, "max", 14.0, None), (&odd, "mean", 12.0, None), (&odd, "median", 12.0, None),
            (&even, "min", 10.0, None), (&even, "max", 14.0, None), (&even, "mean", 12.0, None), (&even, "median", 12.0, None),
            (&missing, "min", 10.0, None), (&missing, "max", 14.0, None), (&missing, "mean", 12.0, None), (&missing, "median", 12.0, None),
            (&bounded, "min", 10.0, Some(8.0)), (&bounded, "max", 20.0, None),
            (&bounded, "mean", 15.0, Some(14.0)), (&bounded, "median", 15.0, Some(14.0)),
        ] {
            let report = lab.report(results.clone(), json!({ "settings": { "fold": fold } })).await.expect(201);
            assert_eq!(report.body["counts"]["results"], json!([{ "benchmarks": 1, "measures": 1 }]));
            let metric = report.body.pointer("/results/0/0/measures/0/metric").unwrap();
            let found = (metric["value"].as_f64(), metric["lower_value"].as_f64(), metric["upper_value"].as_f64());
            assert_eq!(found, (Some(value), lower, None), "{fold} of {results}");
        }
    }

    async fn a_report_has_so_many_iterations(server: TestServer) {
        let lab = Lab::open(server).await;
        let results = json!(vec![bench(1.0); 1001]);
        assert_snapshot!("report_iterations", lab.refused([(results.clone(), json!({}))]).await);
        lab.report(results, json!({ "settings": { "fold": "max" } })).await.expect(201);
        let most = lab.report(json!(vec![bench(1.0); 1000]), json!({})).await.expect(201);
        assert_eq!(most.body["counts"]["results"].as_array().unwrap().len(), 1000);
    }

    async fn an_average_is_chosen(server: TestServer) {
        let lab = Lab::open(server).await;
        let hyperfine = json!({ "results": [{
            "command": "sleep", "mean": 0.5, "stddev": 0.25, "median": 0.375, "user": 0.1, "system": 0.1, "min": 0.125, "max": 1.0,
        }] }).to_string();
        for (average, value, lower, upper) in [(Value::Null, 5e8, 2.5e8, 7.5e8), (json!("mean"), 5e8, 2.5e8, 7.5e8), (json!("median"), 3.75e8, 1.25e8, 1e9)] {
            let report = lab.report(json!([hyperfine]), json!({ "settings": { "average": average } })).await.expect(201);
            let metric = report.body.pointer("/results/0/0/measures/0/metric").unwrap();
            assert_eq!((&metric["value"], &metric["lower_value"], &metric["upper_value"]), (&json!(value), &json!(lower), &json!(upper)));
            let known = if average.is_null() { json!("mean") } else { average };
            let view = lab.get(&format!("reports/{}", report.text("/uuid"))).await.expect(200);
            let list = lab.get("reports?per_page=1&sort=date_time&direction=desc").await.expect(200);
            assert_eq!((&report.body["average"], &view.body["average"], &list.body[0]["average"]), (&known, &known, &known));
        }
        // The format has final values.
        assert_eq!(lab.value(1.0, json!({})).await.body.get("average"), None);
    }

    async fn a_report_is_known_by_its_key(server: TestServer) {
        let lab = Lab::open(server).await;
        let key = json!({ "idempotency_key": KEY });
        let first = lab.value(1.0, key.clone()).await;
        let totals = lab.totals().await;
        // The other fields of the second request do not matter.
        let other = json!({ "idempotency_key": KEY, "branch": "other", "start_point": { "reset": true } });
        assert_eq!(lab.value(2.0, key.clone()).await.body, first.body);
        assert_eq!(lab.value(2.0, other).await.body, first.body);
        assert_eq!(lab.totals().await, totals);
        let elsewhere = json!({ "name": "Elsewhere" });
        lab.server.post("/v0/organizations/ada/projects", &lab.token, elsewhere).await.expect(201);
        let body = report_body(json!([bench(1.0)]), key.clone());
        let elsewhere = lab.server.post("/v0/projects/elsewhere/reports", &lab.token, body).await.expect(201);
        assert_ne!(elsewhere.text("/uuid"), first.text("/uuid"), "a key counts in its project");

        // After the report is deleted, the key is free again.
        lab.delete(&format!("reports/{}", first.text("/uuid"))).await.expect(204);
        assert_ne!(lab.value(1.0, key).await.text("/uuid"), first.text("/uuid"));
    }

    async fn racing_senders_of_one_key_get_one_report(server: TestServer) {
        let lab = Lab::open(server).await;
        let send = |number: u32| lab.value(f64::from(number), json!({ "idempotency_key": KEY }));
        let answers = futures_util::future::join_all((0..8).map(send)).await;
        assert!(answers.iter().all(|answer| answer.body == answers[0].body));
        assert_eq!(lab.totals().await, [1, 1, 1, 1, 0, 1, 0]);
    }

    async fn racing_reports_are_all_kept(server: TestServer) {
        let lab = Lab::open(server).await;
        let answers = futures_util::future::join_all((0..8).map(|_| lab.value(1.0, json!({})))).await;
        let mut numbers: Vec<_> = answers.iter().map(|one| one.body["branch"]["head"]["version"]["number"].as_i64().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert_eq!(lab.totals().await, [1, 1, 1, 1, 0, 8, 0]);
    }

    async fn each_set_of_parameters_is_a_series(server: TestServer) {
        let lab = Lab::open(server).await;
        let run = |n: i64, value: f64| json!({ "name": "fib", "parameters": { "n": n }, "measures": { "latency": { "value": value } } });
        let results = |plain: f64, two: f64, ten: f64| json!([json!([
            { "name": "fib", "measures": { "latency": { "value": plain } } }, run(2, two), run(10, ten),
        ]).to_string()]);
        let model = json!({ "thresholds": { "models": { "latency": { "test": "percentage", "upper_boundary": 0.1 } } } });
        let first = lab.report(results(1.0, 20.0, 1_000.0), model).await.expect(201);
        let second = lab.report(results(1.0, 30.0, 1_000.0), json!({})).await.expect(201);
        let shown = |report: &Answer| -> Vec<(Value, Value, Value)> {
            let results = report.body["results"][0].as_array().unwrap().iter();
            results.map(|one| {
                let measured = &one["measures"][0];
                (one["variant"]["parameters"].clone(), measured["metric"]["value"].clone(), measured["boundary"]["baseline"].clone())
            }).collect()
        };
        let rows = |two: f64, baselines: [Value; 3]| {
            let [plain, second, tenth] = baselines;
            vec![(Value::Null, json!(1.0), plain), (json!({ "n": "10" }), json!(1_000.0), tenth), (json!({ "n": "2" }), json!(two), second)]
        };
        assert_eq!(shown(&first), rows(20.0, [Value::Null, Value::Null, Value::Null]));
        assert_eq!(shown(&second), rows(30.0, [json!(1.0), json!(20.0), json!(1_000.0)]));
        assert_eq!(second.body["counts"]["results"], json!([{ "benchmarks": 3, "measures": 1 }]));
        let alerts = second.body["alerts"].as_array().unwrap();
        assert_eq!((alerts.len(), &alerts[0]["variant"]["parameters"]), (1, &json!({ "n": "2" })));
        assert_eq!(alerts[0]["variant"], second.body["results"][0][2]["variant"]);
        assert_eq!(second.body["results"][0][2]["variant"], first.body["results"][0][2]["variant"], "a variant keeps its UUID");
        assert_eq!(lab.names("benchmarks").await, ["fib"]);
    }
}
