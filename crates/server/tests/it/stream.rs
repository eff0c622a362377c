//! Streamed responses: limits of slow clients, and failures in the middle.

use axum::{
    body::Body,
    http::{Request, Response, header},
};
use futures_util::future::join_all;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::{Engine, Lab, TestServer, both, log::Log, until};

impl Lab {
    fn request(&self, path: &str) -> Request<Body> {
        Request::get(format!("/v0/projects/lab/{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Body::empty())
            .unwrap()
    }

    /// Returns the response to a request with its body unread.
    async fn open_stream(&self, path: &str) -> Response<Body> {
        self.server.open(self.request(path)).await
    }

    /// Returns a response that is too long to validate against the description of the API.
    async fn fetch(&self, path: &str) -> (u16, Value) {
        let answer = self.server.raw(self.request(path)).await;
        (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap())
    }

    /// Returns a query for 255 times the history of one benchmark with 101 reports: some megabytes.
    async fn long_query(&self) -> String {
        self.multiply(1, 100).await;
        let uuid = async |path: &str| self.get(path).await.expect(200).text("/uuid");
        format!(
            "perf?branches={}&testbeds={}&measures={}&benchmarks={}",
            uuid("branches/main").await,
            uuid("testbeds/localhost").await,
            uuid("measures/latency").await,
            vec![uuid("benchmarks/bench-0").await; 255].join(",")
        )
    }
}

both! {
    async fn slow_readers_leave_connections_to_others(server: TestServer) {
        let lab = Lab::open(server).await;
        let query = lab.long_query().await;
        let connections = lab.server.app.db.load().connections;
        let slow = join_all((0..connections + 2).map(|_| lab.open_stream(&query))).await;
        let written = slow.iter().filter(|answer| answer.status() == 200).count();
        assert_eq!(written, (connections / 2).div_ceil(2), "an address has half of the places");
        for refused in slow.iter().filter(|answer| answer.status() != 200) {
            assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (503, &"1".parse().unwrap()));
        }
        let lists = ["branches", "testbeds", "benchmarks", "measures", "reports", "alerts", "plots", "thresholds"];
        let others = join_all(lists.map(|list| lab.get(list)));
        for answer in others.await {
            answer.expect(200);
        }
        // The slow readers still hold their slots: the request did not wait for them.
        lab.get(&query).await.expect(503);
        // A client that disconnects frees its slot.
        drop(slow);
        let answer = until("the places are not given back", async || {
            let (status, answer) = lab.fetch(&query).await;
            (status == 200).then_some(answer)
        })
        .await;
        assert_eq!(answer["results"].as_array().unwrap().len(), 255);
        assert_eq!(answer["results"][254]["metrics"].as_array().unwrap().len(), 101);
    }

    async fn neighbors_in_one_network_share_their_places(server: TestServer) {
        let lab = Lab::open(server).await;
        let query = lab.long_query().await;
        let connections = lab.server.app.db.load().connections;
        let mut slow = Vec::new();
        for neighbor in 1..=(connections / 2).div_ceil(2) {
            let neighbor = u16::try_from(neighbor).unwrap();
            lab.server.call_from([0x2001, 0xdb8, 1, 2, neighbor, 0, 0, 1]);
            slow.push(lab.open_stream(&query).await);
        }
        assert!(slow.iter().all(|answer| answer.status() == 200));
        lab.server.call_from([0x2001, 0xdb8, 1, 2, 0xffff, 0, 0, 1]);
        assert_eq!(lab.open_stream(&query).await.status(), 503);
        lab.server.call_from([0x2001, 0xdb8, 1, 3, 0, 0, 0, 1]);
        assert_eq!(lab.open_stream(&query).await.status(), 200);
    }

    async fn whole_reports_are_listed_in_batches(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.server.stop_workers().await;
        lab.multiply(65, 299).await;
        let limits = json!({ "models": { "latency": { "test": "static", "upper_boundary": 0 } } });
        let alerting = lab.value(1.0, json!({ "thresholds": limits, "start_time": "2026-02-01T00:00:00Z", "end_time": "2026-02-01T00:00:00Z" })).await;
        // More metrics than one batch holds.
        let path = "reports?start_time=0&per_page=255";
        let plain = lab.server.raw(lab.request(path)).await;
        let before = lab.server.app.db.statements();
        let whole = lab.server.raw(lab.request(&format!("{path}&expand=true"))).await;
        let statements = lab.server.app.db.statements() - before;
        assert!(statements <= 40, "{statements} statements for two batches");
        for name in ["content-type", "x-total-count", "cache-control", "access-control-expose-headers"] {
            assert_eq!(plain.headers()[name], whole.headers()[name]);
        }
        assert_eq!(whole.headers()["x-total-count"], "301");
        let mut plain: Vec<Value> = serde_json::from_slice(plain.body()).unwrap();
        let whole: Vec<Value> = serde_json::from_slice(whole.body()).unwrap();
        assert_eq!((plain.len(), &whole[0]), (255, &alerting.body));
        for place in [1, 100, 251, 252, 253, 254] {
            let (_, one) = lab.fetch(&format!("reports/{}", whole[place]["uuid"].as_str().unwrap())).await;
            assert_eq!((one["results"][0].as_array().unwrap().len(), &one), (65, &whole[place]));
        }
        for (plain, whole) in plain.iter_mut().zip(&whole) {
            assert!(whole["results"].is_array() && whole["alerts"].is_array());
            for key in ["results", "alerts"] {
                plain[key] = whole[key].clone();
            }
        }
        assert_eq!(plain, whole);
    }
}

/// Damages a metric of the last report, which an export reads long after its start.
async fn break_off(engine: Engine) {
    let lab = Lab::open(TestServer::start(engine).await).await;
    lab.multiply(97, 700).await;
    let damage = "update metric set body = $1 where report_id = (select max(id) from report)";
    lab.sql(damage, vec![Box::new(vec![1_u8])]).await;
    let (log, _guard) = Log::of_thread();
    let answer = lab.open_stream("export").await;
    assert_eq!(answer.status(), 200);
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert!(answer.into_body().collect().await.is_err(), "a part is taken for the whole");
    let text = log.text();
    let line = text.lines().find(|line| line.contains("response aborted")).expect(&text);
    assert!(
        line.contains("ERROR") && line.contains("packed metrics are damaged") && line.contains(&id),
        "{line}"
    );

    drop(lab.open_stream("export").await);
    until("the client that left is not logged", async || {
        log.text().contains("client disconnected before the end of the response").then_some(())
    })
    .await;
    let report = lab.get("reports?per_page=1&direction=desc").await.text("/0/uuid");
    lab.get(&format!("reports/{report}")).await.expect(500);
    assert_eq!(log.text().matches("ERROR").count(), 2, "each failure is logged once\n{}", log.text());
}

// The log of a thread can be separated only if there is no other thread.
#[tokio::test]
async fn a_failure_in_the_middle_is_logged_on_sqlite() {
    break_off(Engine::Sqlite).await;
}

#[tokio::test]
async fn a_failure_in_the_middle_is_logged_on_postgres() {
    break_off(Engine::Postgres).await;
}
