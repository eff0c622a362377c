//! Concurrency limits: which requests wait for a permit.

use std::pin::pin;

use axum::http::Method;
use serde_json::{Value, json};
use tidemark_server::infra::limits::ConcurrencyLimit;

use crate::{Lab, both, mcp::call_tool, until};

/// Sends a request while all permits of a limit are taken. The request must wait until they are free.
async fn wait_for_permit<T>(what: &str, limit: &ConcurrencyLimit, request: impl Future<Output = T>) -> T {
    let taken = until("an operation keeps its permit", async || limit.try_acquire_all()).await;
    let mut request = pin!(request);
    let missing = format!("{what} asks for no permit");
    let awaited = until(&missing, async || taken.are_awaited().then_some(()));
    tokio::select! {
        _ = &mut request => panic!("{what} was answered without a permit"),
        () = awaited => {}
    }
    drop(taken);
    request.await
}

both! {
    async fn pictures_and_analyses_wait_for_a_permit(server: TestServer) {
        let lab = Lab::open(server).await;
        let reports = lab.three().await;
        let report = reports[2].text("/uuid");
        let app = &lab.server.app;
        let picture = lab.query("perf/img", "").await;
        let verdict = format!("reports/{report}/verdict");
        for (limit, method, path, body) in [
            (&app.pictures, Method::GET, picture, None),
            (&*app.analyses, Method::GET, verdict, None),
            (&*app.analyses, Method::POST, "backtest".to_owned(), Some(json!({}))),
        ] {
            let path = format!("/v0/projects/lab/{path}");
            let request = lab.server.call(method, &path, &lab.token, body);
            wait_for_permit(&path, limit, request).await.expect(200);
        }
    }

    async fn tools_with_long_answers_wait_for_a_permit(server: TestServer) {
        let lab = Lab::open(server).await;
        let reports = lab.three().await;
        let [first, last] = [0, 2].map(|place: usize| reports[place].text("/uuid"));
        let alert = lab.get("alerts").await.expect(200).text("/0/uuid");
        let mut series = json!({ "project": "lab" });
        for (name, path) in [
            ("branches", "branches/main"),
            ("testbeds", "testbeds/localhost"),
            ("benchmarks", "benchmarks/bench"),
            ("measures", "measures/latency"),
        ] {
            series[name] = lab.get(path).await.expect(200).body["uuid"].clone();
        }
        let tools: [(&str, Value); 5] = [
            ("compare", json!({ "project": "lab", "base": format!("report:{first}"), "new": format!("report:{last}") })),
            ("view_report", json!({ "project": "lab", "report": last })),
            ("explain_alert", json!({ "project": "lab", "alert": alert })),
            ("query_perf", series.clone()),
            ("perf_summary", series),
        ];
        for (tool, arguments) in tools {
            let call = call_tool(&lab.server, &lab.token, tool, arguments);
            let used = wait_for_permit(tool, &lab.server.app.analyses, call).await;
            assert_eq!(used.status, None, "{tool}: {}", used.text);
        }
    }
}
