//! `tidemark mcp`: requests and responses on standard input and output. `cargo xtask agents` tests with real clients.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::local::{Machine, printed};

/// Returns the responses to these lines.
fn converse(command: &mut Command, lines: &[&str]) -> Vec<Value> {
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = printed(process.wait_with_output().unwrap());
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_agent_uses_the_results_on_this_machine() {
    let machine = Machine::new();
    let answers = converse(
        &mut machine.command(&["mcp"]),
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"submit_run","arguments":{"project":"lab","context":{"tidemark.dev/v0/repo/name":"Lab"},"branch":"main","testbed":"here","start_time":"2026-01-01T00:00:00Z","end_time":"2026-01-01T00:01:00Z","results":["{\"sort\":{\"latency\":{\"value\":1}}}"]}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_reports","arguments":{"project":"lab"}}}"#,
            "nonsense",
            r#"{"jsonrpc":"2.0","id":"4","method":"nonsense"}"#,
        ],
    );
    assert_eq!(answers.len(), 5, "{answers:#?}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["structuredContent"]["project"]["slug"], "lab", "{:#}", answers[1]);
    assert_eq!(answers[2]["result"]["structuredContent"]["total_count"], 1);
    assert_eq!(answers[3]["error"]["code"], -32700);
    assert_eq!((&answers[4]["id"], &answers[4]["error"]["code"]), (&json!("4"), &json!(-32601)));
}

#[test]
fn an_unreachable_server_is_an_error_response() {
    let machine = Machine::new();
    let answers = converse(
        &mut machine.command(&["mcp", "--host", "http://127.0.0.1:1"]),
        &[
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        ],
    );
    let [answer] = answers.as_slice() else { panic!("{answers:#?}") };
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("http://127.0.0.1:1 cannot be reached"), "{message}");
}
