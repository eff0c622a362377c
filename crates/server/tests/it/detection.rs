//! Threshold verdicts: the thresholds in a report, the sample that a metric is compared with, and the limits.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::{Map, Value, json};

use crate::{
    Answer, Lab, both,
    report::{bench, report_body, with},
};

/// Returns the only boundary of a report, and its number of alerts.
fn verdict(report: &Answer) -> (Value, usize) {
    (boundary(report), report.body["alerts"].as_array().unwrap().len())
}

fn boundary(report: &Answer) -> Value {
    report.body.pointer("/results/0/0/measures/0/boundary").unwrap().clone()
}

fn baseline(report: &Answer) -> Option<f64> {
    boundary(report)["baseline"].as_f64()
}

/// Returns a boundary that could not be computed.
fn unknown() -> Value {
    json!({ "baseline": null, "lower_limit": null, "upper_limit": null })
}

/// Returns the field of a report that sets a model for the latency.
fn model(model: Value) -> Value {
    let mut body = json!({ "thresholds": { "models": {} } });
    body["thresholds"]["models"]["latency"] = model;
    body
}

/// Returns a model whose baseline is the mean of the sample, and that never raises an alert.
fn mean(more: Value) -> Value {
    model(with(json!({ "test": "percentage", "upper_boundary": 1_000 }), more))
}

/// Returns a report on a day of January.
fn on(day: u32, more: Value) -> Value {
    let time = |hour: u32| format!("2026-01-{day:02}T{hour:02}:00:00Z");
    with(json!({ "start_time": time(0), "end_time": time(1) }), more)
}

/// A test, its sample with the newest value first, its boundaries, and a value; then the baseline, the limits and the
/// limit that the value crosses.
type Case = (
    &'static str,
    &'static [f64],
    (Option<f64>, Option<f64>),
    f64,
    Option<f64>,
    (Option<f64>, Option<f64>),
    Option<&'static str>,
);

const ONE: &[f64] = &[102.0, 98.0, 100.0, 101.0, 99.0];
const TWO: &[f64] = &[10.0, 12.0];
const SIX: &[f64] = &[100.0, 105.0, 95.0, 110.0, 90.0, 100.0];
const CONSTANT: &[f64] = &[5.0, 5.0, 5.0];
const LONGEST: usize = 6;

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("static", &[15.0], (Some(10.0), Some(20.0)), 20.0, None, (Some(10.0), Some(20.0)), None),
    ("static", &[15.0], (Some(10.0), Some(20.0)), 20.0001, None, (Some(10.0), Some(20.0)), Some("upper")),
    ("static", &[15.0], (None, Some(20.0)), 5.0, None, (None, Some(20.0)), None),
    ("static", &[], (Some(10.0), Some(20.0)), 99.0, None, (Some(10.0), Some(20.0)), Some("upper")),
    ("percentage", &[100.0, 110.0, 90.0], (Some(0.1), Some(0.1)), 110.0, Some(100.0), (Some(90.0), Some(110.0)), None),
    ("percentage", &[100.0, 110.0, 90.0], (Some(0.1), Some(0.1)), 111.0, Some(100.0), (Some(90.0), Some(110.0)), Some("upper")),
    ("percentage", &[50.0], (None, Some(0.25)), 63.0, Some(50.0), (None, Some(62.5)), Some("upper")),
    ("percentage", &[10.0, 20.0, 30.0, 40.0], (Some(0.5), Some(2.0)), 12.0, Some(25.0), (Some(12.5), Some(75.0)), Some("lower")),
    ("percentage", &[-10.0, -20.0], (Some(0.1), Some(0.1)), -15.0, Some(-15.0), (Some(-16.5), Some(-13.5)), None),
    ("percentage", &[-10.0, -20.0], (Some(0.1), Some(0.1)), -17.0, Some(-15.0), (Some(-16.5), Some(-13.5)), Some("lower")),
    ("z_score", ONE, (Some(0.95), Some(0.95)), 103.0, Some(100.0), (Some(97.39925806), Some(102.60074194)), Some("upper")),
    ("z_score", TWO, (None, Some(0.99)), 14.0, Some(11.0), (None, Some(14.28995271)), None),
    ("z_score", SIX, (Some(0.977), Some(0.977)), 85.0, Some(100.0), (Some(85.89043859), Some(114.10956141)), Some("lower")),
    ("t_test", ONE, (Some(0.95), Some(0.95)), 103.0, Some(100.0), (Some(96.30753305), Some(103.69246695)), None),
    ("t_test", TWO, (None, Some(0.99)), 60.0, Some(11.0), (None, Some(66.11475035)), None),
    ("t_test", SIX, (Some(0.977), Some(0.977)), 121.0, Some(100.0), (Some(79.83995208), Some(120.16004792)), Some("upper")),
    ("t_test", ONE, (None, Some(0.99)), 106.49, Some(100.0), (None, Some(106.48990325)), Some("upper")),
    ("log_normal", ONE, (Some(0.95), Some(0.95)), 97.0, Some(99.98999880), (Some(97.42271004), Some(102.62494090)), Some("lower")),
    ("log_normal", &[1.0, 10.0], (Some(0.95), Some(0.95)), 0.001, Some(3.16227766), (Some(0.21722652), Some(46.03489466)), Some("lower")),
    ("log_normal", &[50.0, 60.0, 55.0, 70.0, 65.0], (Some(0.9), Some(0.9)), 71.0, Some(59.57980372), (Some(50.24425770), Some(70.64992448)), Some("upper")),
    ("iqr", ONE, (Some(1.5), Some(1.5)), 103.0, Some(100.0), (Some(97.0), Some(103.0)), None),
    ("iqr", TWO, (None, Some(1.0)), 12.1, Some(11.0), (None, Some(12.0)), Some("upper")),
    ("iqr", &[10.0, 12.0, 11.0, 50.0], (Some(3.0), Some(3.0)), 45.0, Some(11.5), (Some(-20.75), Some(43.75)), Some("upper")),
    ("iqr", &[7.0], (Some(1.5), Some(1.5)), 7.01, Some(7.0), (Some(7.0), Some(7.0)), Some("upper")),
    ("delta_iqr", ONE, (Some(1.5), Some(1.5)), 102.0, Some(100.0), (Some(98.83621617), Some(101.16378383)), Some("upper")),
    ("delta_iqr", &[99.0, 101.0, 100.0, 98.0, 102.0], (Some(1.5), Some(1.5)), 100.0, Some(100.0), (Some(98.81794761), Some(101.18205239)), None),
    ("delta_iqr", &[65.0, 70.0, 55.0, 60.0, 50.0], (Some(2.0), Some(2.0)), 71.0, Some(60.0), (Some(49.06093906), Some(70.93906094)), Some("upper")),
    ("delta_iqr", &[12.0, 10.0], (Some(2.0), Some(2.0)), 11.5, Some(11.0), (Some(11.0), Some(11.0)), Some("upper")),
    // A constant history leaves no tolerance.
    ("z_score", CONSTANT, (Some(0.95), Some(0.95)), 5.0, Some(5.0), (Some(5.0), Some(5.0)), None),
    ("z_score", CONSTANT, (Some(0.95), Some(0.95)), 5.001, Some(5.0), (Some(5.0), Some(5.0)), Some("upper")),
    ("t_test", CONSTANT, (Some(0.95), None), 4.999, Some(5.0), (Some(5.0), None), Some("lower")),
    ("log_normal", CONSTANT, (None, Some(0.95)), 6.0, Some(5.0), (None, Some(5.0)), Some("upper")),
    // No limits if the history is too short or invalid for the model.
    ("percentage", &[], (None, Some(0.1)), 1e9, None, (None, None), None),
    ("z_score", &[5.0], (None, Some(0.95)), 1e9, None, (None, None), None),
    ("t_test", &[5.0], (None, Some(0.95)), 1e9, None, (None, None), None),
    ("log_normal", &[5.0, 0.0, 5.0], (None, Some(0.95)), 1e9, None, (None, None), None),
    ("log_normal", &[5.0, -1.0], (None, Some(0.95)), 1e9, None, (None, None), None),
    ("iqr", &[], (None, Some(1.0)), 1e9, None, (None, None), None),
    ("delta_iqr", &[5.0], (None, Some(1.0)), 1e9, None, (None, None), None),
];

both! {
    async fn every_model_judges_as_in_its_examples(server: TestServer) {
        let lab = Lab::open(server).await;
        // One measure per case, all in the same reports.
        let send = async |pick: &dyn Fn(&Case) -> Option<f64>, more: Value| {
            let measures: Map<String, Value> = (0..).zip(CASES)
                .filter_map(|(number, case): (u32, &Case)| Some((format!("case-{number:02}"), json!({ "value": pick(case)? }))))
                .collect();
            lab.report(json!([json!({ "bench": measures }).to_string()]), more).await.expect(201)
        };
        for index in (0..LONGEST).rev() {
            send(&|case| case.1.get(index).copied(), json!({})).await;
        }
        let models: Map<String, Value> = (0..).zip(CASES)
            .map(|(number, case): (u32, &Case)| {
                let (lower, upper) = case.2;
                (format!("case-{number:02}"), json!({ "test": case.0, "lower_boundary": lower, "upper_boundary": upper }))
            })
            .collect();
        let report = send(&|case| Some(case.3), json!({ "thresholds": { "models": models } })).await;
        let mut crossed: BTreeMap<String, String> = BTreeMap::new();
        for alert in report.body["alerts"].as_array().unwrap() {
            let text = |pointer: &str| alert.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            assert!(crossed.insert(text("/threshold/measure/name"), text("/limit")).is_none());
        }
        let measures = report.body.pointer("/results/0/0/measures").unwrap().as_array().unwrap();
        assert_eq!(measures.len(), CASES.len());
        for (shown, case) in measures.iter().zip(CASES) {
            let name = shown["measure"]["name"].as_str().unwrap();
            let (lower, upper) = case.5;
            for (key, wanted) in [("baseline", case.4), ("lower_limit", lower), ("upper_limit", upper)] {
                let found = shown["boundary"][key].as_f64();
                let close = match (found, wanted) {
                    (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-8,
                    (found, wanted) => found == wanted,
                };
                assert!(close, "{name} {case:?}: {key} is {found:?}");
            }
            assert_eq!(crossed.get(name).map(String::as_str), case.6, "{name} {case:?}");
        }
        assert_eq!(report.body["counts"]["alerts"]["total"], crossed.len());
    }

    async fn the_worked_example_of_a_percentage(server: TestServer) {
        let lab = Lab::open(server).await;
        let model = model(json!({ "test": "percentage", "min_sample_size": 2, "upper_boundary": 0.01 }));
        assert_eq!(verdict(&lab.value(100.0, model).await), (unknown(), 0));
        assert_eq!(verdict(&lab.value(100.0, json!({})).await), (unknown(), 0));
        let third = lab.value(999_999.0, json!({})).await;
        assert_eq!(verdict(&third), (json!({ "baseline": 100.0, "lower_limit": null, "upper_limit": 101.0 }), 1));
        assert_eq!(third.body["alerts"][0]["status"], "active");
        let (fourth, alerts) = verdict(&lab.value(100.0, json!({})).await);
        assert!((fourth["baseline"].as_f64().unwrap() - 333_399.666_666_666_7).abs() < 1e-6, "{fourth}");
        assert!((fourth["upper_limit"].as_f64().unwrap() - 336_733.663_333_333_4).abs() < 1e-6, "{fourth}");
        assert_eq!(alerts, 0);
        let fifth = lab.value(100.0, json!({ "start_point": { "reset": true } })).await;
        assert_eq!(verdict(&fifth), (unknown(), 0));
        assert_eq!(fifth.body["branch"]["head"]["version"]["number"], 0);
        let alerts = lab.get("alerts").await.expect(200);
        assert_eq!(alerts.each("status"), ["silenced"]);
        assert_eq!((alerts.total(), lab.total("alerts?status=active").await), (1, 0));
        let list = lab.get("reports").await;
        assert_eq!(list.body[2]["counts"]["alerts"], json!({ "total": 1, "active": 0 }));
    }

    async fn a_model_without_boundaries_watches_the_bad_side(server: TestServer) {
        let lab = Lab::open(server).await;
        let measures = ["latency", "throughput", "score"];
        for test in ["z_score", "t_test", "log_normal"] {
            let models: Map<String, Value> = measures.iter().map(|measure| ((*measure).to_owned(), json!({ "test": test }))).collect();
            let values: Map<String, Value> = measures.iter().map(|measure| ((*measure).to_owned(), json!({ "value": 1 }))).collect();
            let more = json!({ "thresholds": { "models": models } });
            let report = lab.report(json!([json!({ "bench": values }).to_string()]), more).await.expect(201);
            let shown = report.body.pointer("/results/0/0/measures").unwrap().as_array().unwrap();
            let boundaries: Vec<_> = shown.iter().map(|one| {
                let model = &one["threshold"]["model"];
                (one["measure"]["slug"].as_str().unwrap(), model["lower_boundary"].as_f64(), model["upper_boundary"].as_f64())
            }).collect();
            let wanted = [("latency", None, Some(0.95)), ("throughput", Some(0.95), None), ("score", Some(0.95), Some(0.95))];
            assert_eq!(boundaries, wanted);
        }
    }

    async fn a_sample_has_its_sizes(server: TestServer) {
        let lab = Lab::open(server).await;
        for value in [1.0, 2.0, 3.0, 4.0] {
            lab.value(value, json!({})).await;
        }
        let mut value = 5.0;
        for (settings, wanted) in [
            (json!({}), Some(2.5)),
            (json!({ "max_sample_size": 2 }), Some(4.5)),
            (json!({ "min_sample_size": 7 }), None),
            (json!({ "min_sample_size": 7 }), Some(4.0)),
            (json!({ "min_sample_size": 2, "max_sample_size": 3 }), Some(7.0)),
            (json!({ "max_sample_size": 1_000 }), Some(5.0)),
            (json!({ "max_sample_size": 1 }), Some(10.0)),
        ] {
            let report = lab.value(value, mean(settings.clone())).await;
            assert_eq!(baseline(&report), wanted, "{settings}");
            assert!(report.body.pointer("/results/0/0/measures/0/threshold/model/uuid").is_some());
            value += 1.0;
        }
    }

    async fn a_sample_is_long_where_nothing_limits_it(server: TestServer) {
        let lab = Lab::open(server).await;
        // Several iterations in each report.
        for number in 0..70_i32 {
            let value = f64::from(number);
            lab.report(json!([bench(value), bench(value + 100.0)]), json!({})).await.expect(201);
        }
        assert_eq!(baseline(&lab.value(0.0, mean(json!({}))).await), Some(84.5));
        let report = lab.value(0.0, mean(json!({ "max_sample_size": 4 }))).await;
        assert_eq!(baseline(&report), Some((0.0 + 169.0 + 69.0 + 168.0) / 4.0), "the newest first, within a report too");
    }

    async fn a_sample_is_found_behind_reports_that_lack_it(server: TestServer) {
        let lab = Lab::open(server).await;
        let other = || json!({ "other": { "latency": { "value": 1.0 } } }).to_string();
        // Many more reports than one batch reads, of two alternating suites.
        for value in [1.0, 2.0, 3.0, 4.0] {
            lab.value(value, json!({})).await;
            for _ in 0..10 {
                lab.report(json!([other()]), json!({})).await.expect(201);
            }
        }
        assert_eq!(baseline(&lab.value(9.0, mean(json!({ "max_sample_size": 3 }))).await), Some(3.0));
        assert_eq!(baseline(&lab.value(9.0, mean(json!({}))).await), Some(19.0 / 5.0));
        let both = lab.report(json!([bench(9.0), other()]), mean(json!({ "max_sample_size": 2 }))).await;
        both.expect(201);
    }

    async fn a_window_ends_where_the_report_begins(server: TestServer) {
        let lab = Lab::open(server).await;
        for (day, value) in [(10, 1.0), (11, 2.0), (13, 4.0), (15, 8.0)] {
            lab.value(value, on(day, json!({}))).await;
        }
        let days = |days: u32| mean(json!({ "window": days * 86_400 }));
        for (day, window, wanted) in [
            (16, days(1), Some(8.0)), (16, days(3), Some(6.0)), (16, days(30), Some(3.75)), (20, days(1), None),
            // Later reports do not count for a report of an earlier day.
            (14, days(1), Some(4.0)), (14, days(30), Some(7.0 / 3.0)), (13, mean(json!({})), Some(7.0 / 3.0)),
            (12, mean(json!({})), Some(1.5)), (9, mean(json!({})), None),
        ] {
            let report = lab.value(1.0, on(day, window)).await;
            assert_eq!(baseline(&report), wanted, "{day}");
            lab.delete(&format!("reports/{}", report.text("/uuid"))).await.expect(204);
        }
    }

    async fn a_sample_is_in_the_order_of_versions(server: TestServer) {
        let lab = Lab::open(server).await;
        let last = async |day| {
            let report = lab.value(0.0, on(day, mean(json!({ "max_sample_size": 1 })))).await;
            lab.delete(&format!("reports/{}", report.text("/uuid"))).await.expect(204);
            baseline(&report)
        };
        let commit = |digit: &str| json!({ "hash": digit.repeat(40) });
        lab.value(1.0, on(10, commit("a"))).await;
        lab.value(2.0, on(5, commit("b"))).await;
        assert_eq!(last(20).await, Some(2.0), "the higher version, though it began earlier");
        assert_eq!(last(4).await, None);
        lab.value(3.0, on(4, commit("b"))).await;
        lab.value(4.0, on(15, commit("a"))).await;
        assert_eq!(last(20).await, Some(2.0), "the later start");
        assert_eq!(last(4).await, Some(3.0));
        lab.value(5.0, on(5, commit("b"))).await;
        assert_eq!(last(20).await, Some(5.0), "the later report");
    }

    async fn a_testbed_never_sees_another(server: TestServer) {
        let lab = Lab::open(server).await;
        let limit = json!({ "test": "percentage", "upper_boundary": 0.1 });
        for testbed in ["localhost", "other"] {
            let mut more = model(limit.clone());
            more["testbed"] = json!(testbed);
            let value = if testbed == "other" { 1_000.0 } else { 1.0 };
            assert_eq!(verdict(&lab.value(value, more).await), (unknown(), 0));
        }
        assert_eq!(baseline(&lab.value(1.0, json!({})).await), Some(1.0));
        assert_eq!(baseline(&lab.value(1.0, json!({ "testbed": "other" })).await), Some(1_000.0));
        let none = lab.value(1.0, json!({ "testbed": "third" })).await;
        assert_eq!((boundary(&none), &none.body["results"][0][0]["measures"][0]["threshold"]), (Value::Null, &Value::Null));
        assert_eq!(boundary(&lab.value(1.0, json!({ "branch": "pr" })).await), Value::Null);
    }

    async fn an_iteration_sees_the_one_before(server: TestServer) {
        let lab = Lab::open(server).await;
        let limits = model(json!({ "test": "percentage", "min_sample_size": 1, "upper_boundary": 0.1 }));
        let report = lab.report(json!([bench(100.0), bench(200.0)]), limits).await.expect(201);
        let boundaries = |report: &Answer| -> Vec<Option<f64>> {
            let iterations = report.body["results"].as_array().unwrap().iter();
            iterations.map(|one| one[0]["measures"][0]["boundary"]["baseline"].as_f64()).collect()
        };
        assert_eq!(boundaries(&report), [None, Some(100.0)]);
        let alert = &report.body["alerts"][0];
        assert_eq!((&alert["iteration"], &alert["limit"], &alert["boundary"]["upper_limit"]), (&json!(1), &json!("upper"), &json!(110.0)));
        let report = lab.report(json!([bench(1.0), bench(2.0), bench(3.0)]), mean(json!({ "max_sample_size": 2 }))).await.expect(201);
        assert_eq!(boundaries(&report), [Some(150.0), Some(100.5), Some(1.5)], "no more than the newest two");
    }

    async fn an_ignored_benchmark_raises_no_alert(server: TestServer) {
        let lab = Lab::open(server).await;
        let suffixes = ["_bencher_ignore", "BencherIgnore", "-bencher-ignore"];
        let limits = model(json!({ "test": "static", "upper_boundary": 1 }));
        lab.value(1.0, limits).await;
        for suffix in suffixes {
            let report = lab.report(json!([bench(2.0).replace("bench", &format!("bench{suffix}"))]), json!({})).await.expect(201);
            assert_eq!(report.body["results"][0][0]["benchmark"]["name"], "bench");
            assert_eq!(verdict(&report), (json!({ "baseline": null, "lower_limit": null, "upper_limit": 1.0 }), 0));
        }
        assert_eq!(verdict(&lab.value(2.0, json!({})).await).1, 1);
        assert_eq!(lab.names("benchmarks").await, ["bench"]);
        // Its values are still part of the sample.
        assert_eq!(baseline(&lab.value(2.0, mean(json!({}))).await), Some(1.8));
    }

    async fn thresholds_come_with_a_report(server: TestServer) {
        let lab = Lab::open(server).await;
        let upper = |measure: &str, boundary: f64| json!({ measure: { "test": "static", "upper_boundary": boundary } });
        let send = async |thresholds: Value| {
            lab.server.pass(60);
            lab.value(1.0, json!({ "thresholds": thresholds })).await
        };
        let in_force = async || -> Vec<(String, Option<f64>, Option<String>)> {
            let list = lab.get("thresholds").await.expect(200).body;
            list.as_array().unwrap().iter().map(|one| {
                let model = &one["model"];
                let measure = one["measure"]["name"].as_str().unwrap().to_owned();
                (measure, model["upper_boundary"].as_f64(), model["uuid"].as_str().map(str::to_owned))
            }).collect()
        };
        let shown = |all: &[(String, Option<f64>, Option<String>)]| -> Vec<(String, Option<f64>)> {
            all.iter().map(|(measure, boundary, _)| (measure.clone(), *boundary)).collect()
        };
        let latency = |boundary| ("Latency".to_owned(), boundary);
        let size = |boundary| ("binary size".to_owned(), boundary);

        for nothing in [json!({}), json!({ "models": {} }), json!({ "models": null, "reset": false })] {
            send(nothing).await;
            assert_eq!(in_force().await, []);
        }
        let old = send(json!({ "models": upper("latency", 5.0) })).await;
        let first = in_force().await;
        assert_eq!(shown(&first), [latency(Some(5.0))]);
        // Another spelling of the same name changes nothing; an unknown name creates a measure.
        let mut both = upper("Latency", 5.0);
        both["binary size"] = json!({ "test": "static", "upper_boundary": 9 });
        send(json!({ "models": both })).await;
        let second = in_force().await;
        assert_eq!((&second[0], shown(&second)), (&first[0], vec![latency(Some(5.0)), size(Some(9.0))]));
        assert_eq!(lab.get("measures/binary-size").await.expect(200).text("/units"), "Measure (units)");

        let report = send(json!({ "models": upper("latency", 6.0) })).await;
        let third = in_force().await;
        assert_eq!(shown(&third), [latency(Some(6.0)), size(Some(9.0))]);
        assert_ne!(third[0].2, first[0].2);
        let model = |report: &Answer| report.body.pointer("/results/0/0/measures/0/threshold/model").unwrap().clone();
        assert_eq!((&model(&report)["upper_boundary"], &model(&report)["replaced"]), (&json!(6.0), &Value::Null));
        let old = lab.get(&format!("reports/{}", old.text("/uuid"))).await;
        assert_eq!(model(&old)["upper_boundary"], json!(5.0), "a metric keeps the model that judged it");
        assert_eq!(model(&old)["replaced"], model(&report)["created"]);

        send(json!({ "models": upper("latency", 6.0), "reset": true })).await;
        let fourth = in_force().await;
        assert_eq!((shown(&fourth), &fourth[0].2), (vec![latency(Some(6.0)), size(None)], &third[0].2));
        let report = send(json!({ "reset": true })).await;
        assert_eq!(shown(&in_force().await), [latency(None), size(None)]);
        assert_eq!((boundary(&report), &report.body["results"][0][0]["measures"][0]["threshold"]), (Value::Null, &Value::Null));
        send(json!({ "models": upper("latency", 6.0) })).await;
        let last = in_force().await;
        assert_eq!(shown(&last), [latency(Some(6.0)), size(None)]);
        assert_ne!(last[0].2, third[0].2);

        // Another testbed and another branch have their own thresholds.
        let mut other = report_body(json!([]), json!({ "thresholds": { "reset": true }, "testbed": "other" }));
        lab.post("reports", other.clone()).await.expect(201);
        other["testbed"] = json!("localhost");
        other["branch"] = json!("pr");
        lab.post("reports", other).await.expect(201);
        assert_eq!(in_force().await, last);
    }

    async fn a_model_in_a_report_makes_sense(server: TestServer) {
        let lab = Lab::open(server).await;
        let models = |models: Value| (json!([bench(1.0)]), json!({ "thresholds": { "models": models } }));
        let latency = |model: Value| models(json!({ "latency": model }));
        let lines = lab.refused([
            latency(json!({ "test": "static" })),
            latency(json!({ "test": "static", "upper_boundary": 1, "window": 60 })),
            latency(json!({ "test": "static", "lower_boundary": 2, "upper_boundary": 1 })),
            latency(json!({ "test": "percentage" })),
            latency(json!({ "test": "percentage", "upper_boundary": -0.1 })),
            latency(json!({ "test": "percentage", "upper_boundary": 0.1, "min_sample_size": 0 })),
            latency(json!({ "test": "t_test", "upper_boundary": 1.0 })),
            latency(json!({ "test": "t_test", "upper_boundary": 0.4 })),
            latency(json!({ "test": "z_score", "min_sample_size": 1 })),
            latency(json!({ "test": "z_score", "min_sample_size": 5, "max_sample_size": 4 })),
            latency(json!({ "test": "iqr" })),
            latency(json!({ "test": "delta_iqr", "lower_boundary": -1 })),
            latency(json!({ "test": "median" })),
            latency(json!({})),
            models(json!({ "throughput": { "test": "t_test" }, "latency": { "test": "iqr" } })),
            models(json!({ "latency": { "test": "t_test" }, "Latency": { "test": "z_score" } })),
            models(json!({ "": { "test": "t_test" } })),
        ]).await;
        assert_snapshot!("detection_wrong_model", lines);
        assert_eq!(lab.totals().await, [0; 7]);
    }
}
