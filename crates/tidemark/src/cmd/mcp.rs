//! `tidemark mcp`: the MCP server for clients that start a program and use its standard input and output. It forwards messages to
//! the selected server, or to the server in this process.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};
use tidemark_client::Client;

use crate::{
    connection::Connection,
    failure::{Failure, Result},
};

/// Path of the MCP endpoint.
const PATH: &str = "/mcp";
/// JSON-RPC error code if the message did not reach the server or the server rejected it.
const SERVER_ERROR: i64 = -32_000;

/// Arguments of `tidemark mcp`.
#[derive(clap::Args)]
pub(crate) struct Mcp {
    #[command(flatten)]
    connection: Connection,
}

impl Mcp {
    pub(crate) fn run(&self) -> Result {
        let client = self.connection.client()?;
        let mut output = io::stdout().lock();
        for line in io::stdin().lock().lines() {
            let line = line.map_err(|error| Failure::new(format!("The input cannot be read ({error}).")))?;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(answer) = forward(&client, &line) {
                // Stop if the client has closed its end.
                if writeln!(output, "{answer}").and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Forwards a message to the server and returns the response, if the message expects one.
fn forward(client: &Client, line: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let id = &message["id"];
    let failed = |text: &str| {
        let error = json!({ "code": SERVER_ERROR, "message": text });
        (!id.is_null()).then(|| json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    };
    let headers = headers(&message);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = match client.exchange(PATH, &headers, line.as_bytes()) {
        Ok(answer) => answer,
        Err(error) => return failed(&format!("{error}.")),
    };
    let (status, body) = (answer.status(), answer.body());
    if body.is_empty() && status.is_success() {
        return None;
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(answer) if answer["jsonrpc"] == "2.0" => Some(answer),
        Ok(error_body) if error_body["message"].is_string() => {
            failed(&format!("{}: {}", status.as_u16(), error_body["message"].as_str().unwrap_or_default()))
        }
        _ => failed(&format!("{}: There is no MCP server at this address.", status.as_u16())),
    }
}

/// Returns the headers that the newer protocol requires in addition to the body, so that proxies need not parse bodies.
fn headers(message: &Value) -> Vec<(&'static str, String)> {
    let params = &message["params"];
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let Some(version) = version.as_str() else { return Vec::new() };
    let name = params.get("name").or(params.get("uri"));
    [
        ("mcp-protocol-version", Some(version)),
        ("mcp-method", message["method"].as_str()),
        ("mcp-name", name.and_then(Value::as_str)),
    ]
    .into_iter()
    .filter_map(|(header, value)| Some((header, value?.to_owned())))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_repeat_the_method_and_name_of_the_body() {
        assert!(headers(&json!({ "method": "ping" })).is_empty());
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let call = json!({ "method": "tools/call", "params": { "name": "compare", "_meta": meta } });
        assert_eq!(
            headers(&call),
            [
                ("mcp-protocol-version", "2026-07-28".to_owned()),
                ("mcp-method", "tools/call".to_owned()),
                ("mcp-name", "compare".to_owned()),
            ]
        );
    }
}
