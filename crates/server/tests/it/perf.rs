//! Metrics over time: queries, pictures, and single metrics.

use axum::{body::Body, http::Request};
use serde_json::{Value, json};

use crate::{Answer, Lab, both};

impl Lab {
    async fn uuid(&self, path: &str) -> String {
        self.get(path).await.expect(200).text("/uuid")
    }

    /// Returns the query for one benchmark on `main` and `localhost`, followed by `more`.
    pub(crate) async fn query(&self, route: &str, more: &str) -> String {
        format!(
            "{route}?branches={}&testbeds={}&benchmarks={}&measures={}{more}",
            self.uuid("branches/main").await,
            self.uuid("testbeds/localhost").await,
            self.uuid("benchmarks/bench").await,
            self.uuid("measures/latency").await
        )
    }

    /// Sends three reports; the last raises an alert.
    pub(crate) async fn three(&self) -> Vec<Answer> {
        let threshold = json!({ "models": {
            "latency": { "test": "percentage", "min_sample_size": 2, "upper_boundary": 0.1 } } });
        let mut reports = Vec::new();
        for (minute, value) in [10.0, 11.0, 99.0].into_iter().enumerate() {
            let more = json!({
                "start_time": format!("2026-01-01T00:0{minute}:00Z"), "end_time": format!("2026-01-01T00:0{minute}:30Z"),
                "hash": format!("{minute:040}"), "thresholds": threshold,
            });
            reports.push(self.value(value, more).await);
        }
        reports
    }
}

/// Returns the values of each series of a response.
fn values(answer: &Answer) -> Vec<Vec<f64>> {
    let series = answer.body["results"].as_array().unwrap();
    let points = |one: &Value| one["metrics"].as_array().unwrap().clone();
    let value = |point: &Value| point["metric"]["value"].as_f64().unwrap();
    series.iter().map(|one| points(one).iter().map(value).collect()).collect()
}

both! {
    async fn a_query_shows_the_history(server: TestServer) {
        let lab = Lab::open(server).await;
        let reports = lab.three().await;
        let answer = lab.get(&lab.query("perf", "").await).await.expect(200);
        insta::assert_snapshot!("all", lab.server.show(&answer));
        assert!(answer.headers.get("x-perf-truncated").is_none());
        let metric = answer.body.pointer("/results/0/metrics/2/metric/uuid").unwrap().as_str().unwrap();
        let reported = reports[2].body.pointer("/results/0/0/measures/0/metric/uuid").unwrap();
        assert_eq!(metric, reported);
        let one = lab.get(&format!("metrics/{metric}")).await.expect(200);
        insta::assert_snapshot!("one", lab.server.show(&one));
        let missing = metric.replace(&metric[metric.len() - 4..], "ffff");
        lab.get(&format!("metrics/{missing}")).await.expect(404);
        lab.get("metrics/0190a000-0000-7000-8000-000000000000").await.expect(404);
    }

    async fn a_query_is_limited_in_time(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        // 00:01:00 and 00:01:30.
        let from = lab.get(&lab.query("perf", "&start_time=1767225660000").await).await.expect(200);
        assert_eq!(values(&from), [[11.0, 99.0]]);
        assert_eq!(from.body["start_time"], "2026-01-01T00:01:00.000Z");
        let until = lab.get(&lab.query("perf", "&end_time=1767225690000").await).await.expect(200);
        assert_eq!(values(&until), [[10.0, 11.0]]);
        let none = lab.get(&lab.query("perf", "&start_time=1767229260000").await).await.expect(200);
        assert!(values(&none).is_empty());
    }

    async fn history_is_inherited_up_to_the_start_point(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        let start = json!({ "branch": "main", "hash": format!("{:040}", 1) });
        lab.value(50.0, json!({ "branch": "pr", "start_point": start })).await;
        let main = lab.uuid("branches/main").await;
        let pr = lab.uuid("branches/pr").await;
        let query = lab.query("perf", "").await;
        let both = lab.get(&query.replace(&main, &format!("{pr},{main}"))).await.expect(200);
        assert_eq!(values(&both), [vec![10.0, 11.0, 50.0], vec![10.0, 11.0, 99.0]]);
        // A replaced head can still be queried.
        let head = lab.get("branches/pr").await.text("/head/uuid");
        lab.value(60.0, json!({ "branch": "pr", "start_point": { "reset": true } })).await;
        let now = lab.get(&query.replace(&main, &pr)).await.expect(200);
        assert_eq!(values(&now), [[60.0]]);
        let before = lab.get(&format!("{}&heads={head}", query.replace(&main, &pr))).await.expect(200);
        assert_eq!(values(&before), [[10.0, 11.0, 50.0]]);
        assert_eq!(before.body.pointer("/results/0/branch/head/uuid").unwrap(), &head);
        let wrong = lab.get(&format!("{query}&heads={head}")).await.expect(200);
        assert!(values(&wrong).is_empty(), "a head of another branch");
        let padded = lab.get(&format!("{}&heads=,{head}", query.replace(&main, &format!("{main},{pr}")))).await.expect(200);
        assert_eq!(values(&padded), [vec![10.0, 11.0, 99.0], vec![10.0, 11.0, 50.0]]);
    }

    async fn variants_are_series_of_their_own(server: TestServer) {
        let lab = Lab::open(server).await;
        for factor in [1, 2] {
            let entry = |n: i64| json!({ "name": "bench", "parameters": { "n": n }, "measures": { "latency": { "value": n * factor } } });
            let plain = json!({ "name": "bench", "measures": { "latency": { "value": factor } } });
            lab.report(json!([json!([entry(10), entry(20), plain]).to_string()]), json!({})).await.expect(201);
        }
        let answer = lab.get(&lab.query("perf", "").await).await.expect(200);
        assert_eq!(values(&answer), [[1.0, 2.0], [10.0, 20.0], [20.0, 40.0]]);
        let variants: Vec<&Value> = answer.body["results"].as_array().unwrap().iter().map(|one| &one["variant"]["parameters"]).collect();
        assert_eq!(variants, [&Value::Null, &json!({ "n": "10" }), &json!({ "n": "20" })]);
    }

    async fn permutations_come_in_order_and_end_at_255(server: TestServer) {
        let lab = Lab::open(server).await;
        let result: Value = (0..300).map(|number| (format!("b{number:03}"), json!({ "latency": { "value": number }, "m": { "value": -number } }))).collect();
        lab.report(json!([result.to_string()]), json!({})).await.expect(201);
        let mut uuids = Vec::new();
        for page in 1..=2 {
            uuids.extend(lab.get(&format!("benchmarks?per_page=150&page={page}")).await.expect(200).each("uuid"));
        }
        let lists = |benchmarks: &[String], measures: &[String]| (benchmarks.join(","), measures.join(","));
        let (branch, testbed) = (lab.uuid("branches/main").await, lab.uuid("testbeds/localhost").await);
        let measures = [lab.uuid("measures/latency").await, lab.uuid("measures/m").await];
        let ask = async |benchmarks: &[String], measures: &[String]| {
            let (benchmarks, measures) = lists(benchmarks, measures);
            lab.get(&format!("perf?branches={branch}&testbeds={testbed}&benchmarks={benchmarks}&measures={measures}")).await
        };
        let all = ask(&uuids, &measures[..1]).await.expect(200);
        assert_eq!(values(&all).concat(), (0..255).map(f64::from).collect::<Vec<_>>());
        assert_eq!(all.headers["x-perf-truncated"], "300");
        let mixed = ask(&uuids[..130], &measures).await.expect(200);
        let expected: Vec<f64> = (0..128).flat_map(|number| [f64::from(number), -f64::from(number)]).take(255).collect();
        assert_eq!(values(&mixed).concat(), expected);
        assert_eq!(mixed.headers["x-perf-truncated"], "260");
        let twice = ask(&[uuids[1].clone(), uuids[0].clone(), uuids[1].clone()], &measures[..1]).await.expect(200);
        assert_eq!(values(&twice).concat(), [1.0, 0.0, 1.0]);
        assert!(twice.headers.get("x-perf-truncated").is_none());
    }

    async fn lists_of_any_length_cost_what_is_answered(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        let (main, testbed) = (lab.uuid("branches/main").await, lab.uuid("testbeds/localhost").await);
        let stranger = "0190a000-0000-7000-8000-000000000000";
        let query = lab.query("perf", "").await.replace(&main, &vec![main.as_str(); 400].join(","));
        let many = query.replace(&testbed, &[vec![testbed.as_str(); 399], vec![stranger]].concat().join(","));
        let answer = lab.get(&many).await.expect(200);
        assert_eq!(answer.headers["x-perf-truncated"], "160000");
        assert_eq!(values(&answer), vec![[10.0, 11.0, 99.0]; 255]);
        let few = query.replace(&testbed, &[stranger, &testbed, stranger, &testbed].join(","));
        let answer = lab.get(&few).await.expect(200);
        assert_eq!(answer.headers["x-perf-truncated"], "1600");
        assert_eq!(values(&answer), vec![[10.0, 11.0, 99.0]; 127]);
        let cost = async |path: &str| lab.cost(async |_| { lab.get(path).await.expect(200); }).await;
        assert_eq!(cost(&few).await, cost(&lab.query("perf", "").await).await);
    }

    async fn variants_have_an_end(server: TestServer) {
        let lab = Lab::open(server).await;
        let entry = |n: u32| json!({ "name": "bench", "parameters": { "n": format!("{n:04}") }, "measures": { "latency": { "value": n } } });
        let result: Value = (0..4_100).map(entry).collect();
        let body = crate::report::report_body(json!([result.to_string()]), json!({})).to_string();
        let request = Request::post("/v0/projects/lab/reports").header("authorization", format!("Bearer {}", lab.token));
        let request = request.header("content-type", "application/json").body(Body::from(body)).unwrap();
        assert_eq!(lab.server.raw(request).await.status(), 201);
        let path = format!("/v0/projects/lab/{}", lab.query("perf", "").await);
        // Not validated against the description, which is slow for a response of this size.
        let answer = lab.server.raw(Request::get(&path).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.headers()["x-perf-truncated"], "4100");
        let answer: Value = serde_json::from_slice(answer.body()).unwrap();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 4_096);
        assert_eq!(results[4_095]["variant"]["parameters"], json!({ "n": "4095" }));
        let picture = Request::get(path.replace("perf?", "perf/img?format=svg&")).body(Body::empty()).unwrap();
        let picture = lab.server.raw(picture).await;
        assert_eq!(picture.headers()["x-perf-truncated"], "4100");
        assert!(std::str::from_utf8(picture.body()).unwrap().contains("and 4086 more"));
    }

    async fn a_picture_counts_what_it_has_no_room_for(server: TestServer) {
        let lab = Lab::open(server).await;
        let result = |numbers: std::ops::Range<u32>| {
            let result: Value = numbers.map(|number| (format!("b{number:02}"), json!({ "latency": { "value": number } }))).collect();
            json!([result.to_string()])
        };
        // Some series are only in an old report, some only on another branch.
        lab.report(result(0..20), json!({ "hash": format!("{:040}", 1) })).await.expect(201);
        for number in 2..30 {
            lab.report(result(0..14), json!({ "hash": format!("{number:040}") })).await.expect(201);
        }
        lab.report(result(10..40), json!({ "branch": "other" })).await.expect(201);
        let benchmarks = lab.get("benchmarks?per_page=255").await.expect(200).each("uuid").join(",");
        let (testbed, measure) = (lab.uuid("testbeds/localhost").await, lab.uuid("measures/latency").await);
        let (main, other) = (lab.uuid("branches/main").await, lab.uuid("branches/other").await);
        for (branches, more) in [(main.clone(), 10), (other.clone(), 20), (format!("{main},{other}"), 40), (format!("{other},{main},{other}"), 70)] {
            let path = format!("/v0/projects/lab/perf/img?format=svg&branches={branches}&testbeds={testbed}&benchmarks={benchmarks}&measures={measure}");
            let picture = lab.server.raw(Request::get(path).body(Body::empty()).unwrap()).await;
            assert!(picture.headers().get("x-perf-truncated").is_none());
            let drawn = std::str::from_utf8(picture.body()).unwrap();
            assert!(drawn.contains(&format!("and {more} more")), "{more}: {drawn}");
        }
    }

    async fn wrong_queries_say_which_list(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        let query = lab.query("perf", "").await;
        let mut lines = Vec::new();
        for (from, to) in [("branches=", "branches=x,"), ("testbeds=", "testbeds=,"), ("&measures=", "&other="), ("benchmarks=", "benchmarks=main,")] {
            lines.push(lab.get(&query.replace(from, to)).await.line());
        }
        lines.push(lab.get(&format!("{query}&heads=x")).await.line());
        lines.push(lab.get(&format!("{query}&start_time=yesterday")).await.line());
        insta::assert_snapshot!("errors", lines.join("\n"));
        let stranger = query.replace(&lab.uuid("benchmarks/bench").await, "0190a000-0000-7000-8000-000000000000");
        assert!(values(&lab.get(&stranger).await.expect(200)).is_empty());
    }

    async fn pictures_come_in_three_formats(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        let path = format!("/v0/projects/lab/{}", lab.query("perf/img", "&title=A%20%3Cb%3E&upper_boundary=true").await);
        let fetch = async |path: &str, accept: &str, tag: &str| {
            let request = Request::get(path).header("accept", accept).header("if-none-match", tag);
            lab.server.raw(request.body(Body::empty()).unwrap()).await
        };
        for (accept, more, kind, magic) in [
            ("*/*", "", "image/jpeg", b"\xff\xd8\xff".as_slice()),
            ("image/png,*/*", "", "image/png", b"\x89PNG"),
            ("image/webp, image/svg+xml;q=0.9", "", "image/svg+xml", b"<svg"),
            ("image/jpeg;q=0, image/png;q=0.2, image/svg+xml", "", "image/svg+xml", b"<svg"),
            ("image/jpeg", "&format=png&theme=dark", "image/png", b"\x89PNG"),
        ] {
            let answer = fetch(&format!("{path}{more}"), accept, "\"other\"").await;
            assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (200, &kind.parse().unwrap()));
            assert!(answer.body().starts_with(magic), "{accept}");
            let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
            let again = fetch(&format!("{path}{more}"), accept, &tag).await;
            assert_eq!((again.status().as_u16(), again.body().len()), (304, 0));
        }
        let svg = fetch(&format!("{path}&format=svg"), "*/*", "").await;
        let svg = std::str::from_utf8(svg.body()).unwrap().to_owned();
        assert!(svg.contains("A &lt;b&gt;") && svg.contains("bench"), "{svg}");
        let bad = fetch(&format!("{path}&format=gif"), "*/*", "").await;
        assert_eq!(bad.status().as_u16(), 400);
        let long = fetch(&path.replace("title=A", &format!("title={}", "x".repeat(4_000))), "image/png", "").await;
        assert_eq!(long.status().as_u16(), 200);
    }

    async fn a_pinned_plot_is_drawn(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        let plot = lab.post("plots", json!({
            "title": "Pinned", "lower_value": false, "upper_value": true, "lower_boundary": false, "upper_boundary": true,
            "x_axis": "version", "window": 3_600,
            "branches": [lab.uuid("branches/main").await], "testbeds": [lab.uuid("testbeds/localhost").await],
            "benchmarks": [lab.uuid("benchmarks/bench").await], "measures": [lab.uuid("measures/latency").await],
        })).await.expect(201).text("/uuid");
        let draw = async || {
            let path = format!("/v0/projects/lab/plots/{plot}/img?format=svg");
            let answer = lab.server.raw(Request::get(path).body(Body::empty()).unwrap()).await;
            std::str::from_utf8(answer.body()).unwrap().to_owned()
        };
        let shown = draw().await;
        assert!(shown.contains("Pinned") && shown.contains("main"), "{shown}");
        lab.server.pass(7_200);
        assert!(!draw().await.contains("bench"), "what is older than the window is not drawn");
        lab.get("plots/0190a000-0000-7000-8000-000000000000/img").await.expect(404);
    }

    async fn usage_counts_metrics(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.three().await;
        lab.server.pass(600);
        let usage = lab.server.get("/v0/organizations/ada/usage", &lab.token).await.expect(200);
        insta::assert_snapshot!("usage", lab.server.show(&usage));
        // Reports that ended earlier are not counted, although they were just sent.
        lab.value(1.0, json!({ "start_time": "2025-12-01T00:00:00Z", "end_time": "2025-12-02T00:09:59Z" })).await;
        lab.value(1.0, json!({ "start_time": "2025-12-01T00:00:00Z", "end_time": "2025-12-02T00:10:01Z" })).await;
        let usage = lab.server.get("/v0/organizations/ada/usage", &lab.token).await.expect(200);
        assert_eq!(usage.body["metrics"], 4);
        lab.server.pass(31 * 86_400);
        let token = lab.server.legacy_token("ada@example.org");
        let later = lab.server.get("/v0/organizations/ada/usage", &token).await.expect(200);
        assert_eq!(later.body["metrics"], 0);
    }
}
