//! `/mcp`: the protocol and the responses of tools. `rights/tool.rs` tests who may use which tool; `cargo xtask
//! agents` tests with real clients.

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tidemark_server::transport::mcp::TOOLS;

use crate::{
    Answer, TestServer, both,
    report::{bench, report_body},
    until,
};

/// Sends one request.
pub(crate) async fn rpc(server: &TestServer, token: &str, method: &str, params: Value) -> Answer {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    server.post("/mcp", token, message).await
}

/// Returns the result of a request.
async fn result(server: &TestServer, token: &str, method: &str, params: Value) -> Value {
    let answer = rpc(server, token, method, params).await.expect(200);
    assert_eq!((&answer.body["jsonrpc"], &answer.body["id"]), (&json!("2.0"), &json!(7)));
    assert!(answer.body["error"].is_null(), "{:#}", answer.body);
    answer.body["result"].clone()
}

/// Response of a tool.
#[derive(Debug)]
pub(crate) struct Used {
    /// Status of a failure.
    pub(crate) status: Option<StatusCode>,
    /// The last text.
    pub(crate) text: String,
    /// The whole result.
    pub(crate) result: Value,
}

/// Calls a tool.
pub(crate) async fn call_tool(server: &TestServer, token: &str, name: &str, arguments: Value) -> Used {
    let params = json!({ "name": name, "arguments": arguments });
    let result = result(server, token, "tools/call", params).await;
    let text = result["content"].as_array().unwrap().last().unwrap()["text"].as_str();
    let text = text.unwrap_or_default().to_owned();
    let status = (result["isError"] == true).then(|| {
        let (status, _) = text.split_once(": ").unwrap_or_else(|| panic!("no status: {text}"));
        status.parse().unwrap()
    });
    Used { status, text, result }
}

/// Returns the structured result of a tool call that must succeed.
async fn used(server: &TestServer, token: &str, name: &str, arguments: Value) -> Value {
    let used = call_tool(server, token, name, arguments).await;
    assert_eq!(used.status, None, "{name}: {}", used.text);
    assert_eq!(serde_json::from_str::<Value>(&used.text).unwrap(), used.result["structuredContent"]);
    used.result["structuredContent"].clone()
}

async fn raw(server: &TestServer, method: Method, path: &str, body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    server.send(request).await
}

both! {
    async fn a_client_introduces_itself(server: TestServer) {
        for (asked, offered) in [
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            // The newest version that uses this handshake.
            ("2026-07-28", "2025-11-25"),
            ("2024-11-05", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let client = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": client });
            let info = result(&server, "", "initialize", params).await;
            assert_eq!(info["protocolVersion"], offered, "{asked}");
            assert_eq!(info["serverInfo"]["name"], "tidemark");
            assert_eq!(info["capabilities"], json!({ "tools": {}, "resources": {}, "prompts": {} }));
            assert!(info["instructions"].as_str().unwrap().contains("list_projects"));
        }
        assert_eq!(result(&server, "", "ping", json!({})).await, json!({}));
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = raw(&server, Method::POST, "/mcp", initialized).await.expect(202);
        assert_eq!(answer.body, Value::Null);
        let reply = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        raw(&server, Method::POST, "/mcp", reply).await.expect(202);
    }

    async fn a_client_of_the_newest_protocol_needs_no_introduction(server: TestServer) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        });
        let ask = |method: &str, version: &str| {
            let mut meta = meta.clone();
            meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
            let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": { "_meta": meta } });
            Request::post("/mcp")
                .header("mcp-protocol-version", version)
                .header("mcp-method", method)
                .body(Body::from(message.to_string()))
                .unwrap()
        };
        let discovered = server.send(ask("server/discover", "2026-07-28")).await.expect(200).body;
        let versions = json!(["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);
        assert_eq!(discovered["result"]["supportedVersions"], versions, "{discovered:#}");
        let listed = server.send(ask("tools/list", "2026-07-28")).await.expect(200).body;
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), TOOLS.len());
        // Errors use the codes of the protocol, whatever the status.
        let unknown = server.send(ask("nonsense", "2026-07-28")).await.expect(404).body;
        assert_eq!(unknown["error"]["code"], -32601, "{unknown:#}");
        let future = server.send(ask("tools/list", "2999-01-01")).await.expect(400).body;
        assert!(future["error"]["code"].is_number(), "{future:#}");
    }

    async fn what_is_no_message_is_refused(server: TestServer) {
        let code = async |body: &str| {
            let answer = raw(&server, Method::POST, "/mcp", body).await.expect(200).body;
            assert!(answer.get("id").is_none_or(|id| id == 7), "{answer:#}");
            answer["error"]["code"].as_i64().unwrap()
        };
        assert_eq!(code("nonsense").await, -32700);
        assert_eq!(code("").await, -32700);
        assert_eq!(code("{}").await, -32700);
        assert_eq!(code("[]").await, -32600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":7,"method":"nonsense"}"#).await, -32601);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#).await, -32602);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#).await, -32602);
        let params = json!({ "name": "list_projects", "arguments": [1] });
        let result = result(&server, "", "tools/call", params).await;
        assert!(result["content"][0]["text"].as_str().unwrap().starts_with("400: "), "{result:#}");
        for method in [Method::GET, Method::DELETE] {
            let answer = raw(&server, method, "/mcp", "").await.expect(405);
            assert_eq!(answer.headers[header::ALLOW], "POST");
        }
        let unknown = Request::post("/mcp").header("mcp-protocol-version", "1999-01-01");
        let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        let answer = server.send(unknown.body(Body::from(ping)).unwrap()).await.expect(400);
        assert_eq!(answer.body["error"]["code"], -32600, "{:#}", answer.body);
    }

    async fn a_browser_may_call_from_elsewhere(server: TestServer) {
        let answer = raw(&server, Method::OPTIONS, "/mcp", "").await.expect(200);
        assert_eq!(answer.headers[header::ACCESS_CONTROL_ALLOW_METHODS], "POST, OPTIONS");
        let allowed = answer.headers[header::ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap();
        assert!(allowed.starts_with("Content-Type, Authorization, Mcp-Protocol-Version"), "{allowed}");
    }

    async fn a_client_learns_how_to_get_in(server: TestServer = "console.url = \"https://bench.example.org\"\n") {
        let params = json!({ "name": "list_projects", "arguments": {} });
        let refused = rpc(&server, "svc_user_nonsense", "tools/call", params).await.expect(401);
        let challenge = refused.headers[header::WWW_AUTHENTICATE].to_str().unwrap();
        let metadata = "https://bench.example.org/.well-known/oauth-protected-resource";
        assert_eq!(challenge, format!("Bearer error=\"invalid_token\", resource_metadata=\"{metadata}\""));
        assert_eq!(refused.body["error_code"], "unauthorized");
        for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
            let found = server.get(path, "").await.expect(200).body;
            assert_eq!(found["resource"], "https://bench.example.org/mcp");
            assert_eq!(found["bearer_methods_supported"], json!(["header"]));
            assert_eq!(found.get("authorization_servers"), None);
        }
    }

    async fn a_cookie_counts_from_our_own_page_only(server: TestServer) {
        let ann = server.person("Ann").await;
        server.project(&ann, json!({ "name": "Secret", "visibility": "private" })).await;
        let call = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": { "name": "view_project", "arguments": { "project": "secret" } },
        });
        let ask = |from: &str| {
            Request::post("/mcp")
                .header(header::COOKIE, format!("tidemark-6610={}", ann.token))
                .header("x-tidemark-console", "1")
                .header("sec-fetch-site", from)
                .body(Body::from(call.to_string()))
                .unwrap()
        };
        let own = server.send(ask("same-origin")).await.expect(200).body;
        assert_eq!(own["result"]["structuredContent"]["slug"], "secret", "{own:#}");
        let other = server.send(ask("cross-site")).await.expect(200).body;
        assert_eq!(other["result"]["isError"], true, "{other:#}");
    }

    async fn tools_are_described(server: TestServer) {
        let listed = result(&server, "", "tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), TOOLS.len());
        let shown: Vec<_> = tools
            .iter()
            .map(|tool| {
                let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
                let required = tool["inputSchema"]["required"].as_array().unwrap();
                let arguments = arguments.keys().map(|name| {
                    let mark = if required.iter().any(|required| required == name) { "" } else { "?" };
                    format!("{name}{mark}")
                });
                let reads = if tool["annotations"]["readOnlyHint"] == true { " (reads)" } else { "" };
                format!("{}{reads}: {}", tool["name"].as_str().unwrap(), arguments.collect::<Vec<_>>().join(", "))
            })
            .collect();
        insta::assert_snapshot!("tools", shown.join("\n"));
        // An agent reads the whole list before its first request.
        assert!(listed.to_string().len() < 100_000, "{}", listed.to_string().len());
    }

    async fn tools_answer_as_operations_do(server: TestServer) {
        let ann = server.person("Ann").await;
        let path = server.project(&ann, json!({ "name": "Lab" })).await;
        let branch = json!({ "project": "lab", "name": "main", "slug": "trunk" });
        let made = used(&server, &ann.token, "create_branch", branch).await;
        assert_eq!(made, server.get(&format!("{path}/branches/trunk"), "").await.expect(200).body);
        let listed = used(&server, "", "list_branches", json!({ "project": "lab", "per_page": 1 })).await;
        assert_eq!((&listed["data"][0]["name"], &listed["total_count"]), (&json!("main"), &json!(1)));
        let report = report_body(json!([bench(1.0)]), json!({ "project": "lab" }));
        let report = used(&server, &ann.token, "submit_run", report).await;
        let result = &report["results"][0][0];
        let perf = json!({
            "project": "lab", "branches": report["branch"]["uuid"], "testbeds": report["testbed"]["uuid"],
            "benchmarks": result["benchmark"]["uuid"], "measures": [result["measures"][0]["measure"]["uuid"]],
        });
        let found = used(&server, "", "query_perf", perf.clone()).await;
        assert_eq!(found["results"][0]["metrics"][0]["metric"]["value"], 1.0);
        let picture = call_tool(&server, "", "perf_image", perf).await.result;
        assert_eq!(picture["content"][0]["mimeType"], "image/jpeg");
        let bytes = BASE64_STANDARD.decode(picture["content"][0]["data"].as_str().unwrap()).unwrap();
        assert!(bytes.starts_with(&[0xff, 0xd8, 0xff]));
        assert_eq!(picture.get("structuredContent"), None);
    }

    async fn an_alert_is_explained(server: TestServer) {
        let ann = server.person("Ann").await;
        server.project(&ann, json!({ "name": "Lab" })).await;
        let limit = json!({ "models": { "latency": { "test": "percentage", "upper_boundary": 0.1 } } });
        // Ten versions without a change, and five slower versions.
        let mut alert = Value::Null;
        for number in 0..15 {
            let value = if number < 10 { 100.0 } else { 130.0 } + f64::from(number % 3);
            let more = json!({ "project": "lab", "thresholds": limit, "hash": format!("{number:040x}") });
            let report = used(&server, &ann.token, "submit_run", report_body(json!([bench(value)]), more)).await;
            if alert.is_null() && report["alerts"].as_array().unwrap().len() == 1 {
                alert = report["alerts"][0].clone();
            }
        }
        let arguments = json!({ "project": "lab", "alert": alert["uuid"] });
        let answer = used(&server, "", "explain_alert", arguments.clone()).await;
        let first_bad = &answer["likely_first_bad"];
        assert_eq!((&first_bad["version"], &first_bad["hash"]), (&json!(10), &json!(format!("{:040x}", 10))));
        assert_eq!(answer["last_good"]["version"], 9);
        assert!(answer["verdict"].as_str().unwrap().contains("a real change"), "{answer:#}");
        let levels = answer["levels"].as_array().unwrap();
        assert_eq!(levels.iter().map(|level| level["median"].clone()).collect::<Vec<_>>(), [101.0, 131.0]);
        let visible = answer["history"]["smallest_visible_change_percent"].as_f64().unwrap();
        assert!((1.0..5.0).contains(&visible), "{visible}");
        let link = answer["links"]["alert"].as_str().unwrap();
        assert!(link.ends_with(&format!("/console/projects/lab/alerts/{}", alert["uuid"].as_str().unwrap())));

        let dismissed = used(&server, &ann.token, "dismiss_alert", arguments).await;
        assert_eq!(dismissed["status"], "dismissed");

        let perf = json!({
            "project": "lab", "branches": alert["threshold"]["branch"]["uuid"],
            "testbeds": alert["threshold"]["testbed"]["uuid"], "benchmarks": alert["benchmark"]["uuid"],
            "measures": alert["threshold"]["measure"]["uuid"],
        });
        let summary = used(&server, "", "perf_summary", perf).await;
        let series = &summary["series"][0];
        assert_eq!((&series["count"], &series["min"], &series["max"]), (&json!(15), &json!(100.0), &json!(132.0)));
        assert_eq!(series["last_change"]["since"]["version"], 10);
        assert_eq!(series["last_change"]["change_percent"], 29.703);
    }

    async fn compare_returns_the_verdict_on_the_report_of_a_side(server: TestServer) {
        let ann = server.person("Ann").await;
        server.project(&ann, json!({ "name": "Lab" })).await;
        let mut reports = Vec::new();
        for number in 0..40 {
            let value = if number < 38 { 100.0 } else { 130.0 } + f64::from(number % 3);
            let more = json!({ "project": "lab", "hash": format!("{number:040x}") });
            let report = used(&server, &ann.token, "submit_run", report_body(json!([bench(value)]), more)).await;
            reports.push(report["uuid"].as_str().unwrap().to_owned());
        }
        let (first, newest) = (&reports[30], &reports[39]);
        let base = [format!("report:{first}"), "version:main@30".to_owned(), format!("version:main@{:040x}", 30)];
        let new = [format!("report:{newest}"), "version:main@39".to_owned(), "branch:main".to_owned()];
        let wanted = json!({ "project": "lab", "report": newest, "base": first });
        // Detection adds its changes to the verdict.
        let wanted = until("detection has not analyzed all reports", async || {
            let verdict = used(&server, "", "view_verdict", wanted.clone()).await;
            (verdict["settled"] == true).then_some(verdict)
        })
        .await;
        assert_eq!(wanted["counts"]["regressions"], 1);
        assert_eq!((&wanted["report"], &wanted["baseline"]["report"]), (&json!(newest), &json!(first)));
        for (base, new) in base.iter().zip(&new) {
            let sides = json!({ "project": "lab", "base": base, "new": new, "testbed": "localhost" });
            assert_eq!(used(&server, "", "compare", sides).await, wanted, "{base} {new}");
        }
        let wanted = json!({ "project": "lab", "report": newest, "limit": 0 });
        let wanted = used(&server, "", "view_verdict", wanted).await;
        let sides = json!({ "project": "lab", "new": "branch:main", "limit": 0 });
        assert_eq!(used(&server, "", "compare", sides).await, wanted);
        for new in ["nonsense", "version:main", "version:main@99", "branch:nowhere", "report:nonsense"] {
            let sides = json!({ "project": "lab", "base": "branch:main", "new": new });
            let failed = call_tool(&server, "", "compare", sides).await;
            assert!(failed.status.is_some_and(|status| status.is_client_error()), "{new}: {}", failed.text);
        }
    }

    async fn a_long_history_becomes_statistics(server: TestServer) {
        let ann = server.person("Ann").await;
        server.project(&ann, json!({ "name": "Lab" })).await;
        let values: Vec<_> = (0..250).map(|number| bench(f64::from(number % 7))).collect();
        let report = report_body(json!(values), json!({ "project": "lab" }));
        let report = call_tool(&server, &ann.token, "submit_run", report).await;
        let report = &report.result["structuredContent"];
        let result = &report["results"][0][0];
        let perf = json!({
            "project": "lab", "branches": report["branch"]["uuid"], "testbeds": report["testbed"]["uuid"],
            "benchmarks": result["benchmark"]["uuid"], "measures": result["measures"][0]["measure"]["uuid"],
        });
        let found = call_tool(&server, "", "query_perf", perf).await;
        let note = found.result["content"][0]["text"].as_str().unwrap();
        assert!(note.contains("too many values"), "{note}");
        assert_eq!(found.result["structuredContent"]["series"][0]["count"], 250);
    }

    async fn resources_are_what_operations_answer(server: TestServer) {
        let ann = server.person("Ann").await;
        let path = server.project(&ann, json!({ "name": "Lab", "visibility": "private" })).await;
        let templates = result(&server, "", "resources/templates/list", json!({})).await;
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "tidemark://project/{project}");
        let listed = result(&server, &ann.token, "resources/list", json!({})).await;
        assert_eq!(listed["resources"][0]["uri"], "tidemark://project/lab");
        assert_eq!(result(&server, "", "resources/list", json!({})).await["resources"], json!([]));
        let read = async |token: &str, uri: &str| rpc(&server, token, "resources/read", json!({ "uri": uri })).await;
        let project = read(&ann.token, "tidemark://project/lab").await.expect(200).body;
        let content = &project["result"]["contents"][0];
        assert_eq!(content["mimeType"], "application/json");
        let shown: Value = serde_json::from_str(content["text"].as_str().unwrap()).unwrap();
        assert_eq!(shown, server.get(&path, &ann.token).await.expect(200).body);
        for (token, uri) in [("", "tidemark://project/lab"), (&ann.token, "tidemark://project/lab/keys")] {
            let refused = read(token, uri).await.expect(200).body;
            assert_eq!(refused["error"]["code"], -32002, "{refused:#}");
        }
        let alerts = read(&ann.token, "tidemark://project/lab/alerts").await.expect(200).body;
        assert_eq!(alerts["result"]["contents"][0]["text"], r#"{"data":[],"total_count":0}"#);
        read("svc_user_nonsense", "tidemark://project/lab").await.expect(401);
    }

    async fn prompts_name_the_tools_to_begin_with(server: TestServer) {
        let listed = result(&server, "", "prompts/list", json!({})).await;
        let names: Vec<_> = listed["prompts"].as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
        assert_eq!(names, ["investigate_regression", "set_up_benchmarking"]);
        let params = json!({ "name": "investigate_regression", "arguments": { "project": "lab" } });
        let prompt = result(&server, "", "prompts/get", params).await;
        let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("project `lab`") && text.contains("explain_alert"), "{text}");
        for params in [json!({ "name": "investigate_regression" }), json!({ "name": "nonsense" })] {
            let answer = rpc(&server, "", "prompts/get", params).await.expect(200).body;
            assert_eq!(answer["error"]["code"], -32602);
        }
    }

    async fn failures_say_what_to_do_next(server: TestServer) {
        let ann = server.person("Ann").await;
        server.project(&ann, json!({ "name": "Lab" })).await;
        server.dimension(&ann, "/v0/projects/lab", "measures", "latency").await;
        let mut shown = Vec::new();
        for (token, name, arguments) in [
            ("", "view_project", json!({ "project": "nowhere" })),
            ("", "view_branch", json!({ "project": "lab", "branch": "nowhere" })),
            ("", "view_alert", json!({ "project": "lab", "alert": "nonsense" })),
            ("", "view_metric", json!({ "project": "lab", "metric": uuid::Uuid::from_u128(1) })),
            ("", "create_branch", json!({ "project": "lab", "name": "main" })),
            ("", "list_branches", json!({ "project": "lab", "per_page": "many" })),
            ("", "list_branches", json!({ "project": "lab", "perpage": 3 })),
            ("", "list_branches", json!({})),
            (&ann.token, "create_measure", json!({ "project": "lab", "name": "latency", "units": "ns" })),
        ] {
            let used = call_tool(&server, token, name, arguments).await;
            assert!(used.status.is_some(), "{name}: {}", used.text);
            shown.push(format!("{name}: {}", used.text));
        }
        insta::assert_snapshot!("failures", shown.join("\n"));
    }

    async fn a_long_answer_says_what_is_left_out(server: TestServer) {
        let ann = server.person("Ann").await;
        server.project(&ann, json!({ "name": "Lab" })).await;
        let results: serde_json::Map<_, _> = (0..600)
            .map(|number| (format!("a benchmark with a rather long name and the number {number}"), json!({ "latency": { "value": number } })))
            .collect();
        let report = report_body(json!([Value::Object(results).to_string()]), json!({ "project": "lab" }));
        let report = call_tool(&server, &ann.token, "submit_run", report).await;
        let note = report.result["content"][0]["text"].as_str().unwrap();
        assert!(note.contains("of 600 entries of `results[0]` are shown"), "{note}");
        let listed = json!({ "project": "lab", "per_page": 255 });
        let listed = call_tool(&server, "", "list_benchmarks", listed).await;
        assert!(listed.text.len() < 60_000);
        let note = listed.result["content"][0]["text"].as_str().unwrap();
        let kept = listed.result["structuredContent"]["data"].as_array().unwrap().len();
        assert!(note.contains(&format!("first {kept} of the 255 entries")), "{note}");
        assert_eq!(listed.result["structuredContent"]["total_count"], 600);
    }
}

/// Requests per minute.
const FEW: &str = "[plus.rate_limiting.public]\nrequests = { minute = 3 }\n";

both! {
    async fn tool_calls_are_rate_limited(server: TestServer = FEW) {
        for _ in 0..2 {
            result(&server, "", "ping", json!({})).await;
        }
        call_tool(&server, "", "list_projects", json!({})).await;
        let used = call_tool(&server, "", "list_projects", json!({})).await;
        assert_eq!(used.status, Some(StatusCode::TOO_MANY_REQUESTS), "{}", used.text);
        rpc(&server, "", "ping", json!({})).await.expect(429);
    }
}
