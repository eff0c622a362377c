//! `tidemark mcp`: the MCP server for clients that start a program and speak to its standard input and output. It only
//! carries messages; what they mean is the server's business, be that one far away or the one inside this program.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};
use tidemark_client::Client;

use crate::{
    connection::Connection,
    failure::{Failure, Result},
};

/// Where servers take messages.
const PATH: &str = "/mcp";
/// The code of an error that is none of the protocol's: the message did not reach the server, or was refused there.
const SERVER_ERROR: i64 = -32_000;

/// The arguments of `tidemark mcp`.
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
            if let Some(answer) = carry(&client, &line) {
                // Whoever started this has gone; so do we.
                if writeln!(output, "{answer}").and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Brings a message to the server, and what it answers back, if it is to be answered.
fn carry(client: &Client, line: &str) -> Option<Value> {
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
        Ok(refusal) if refusal["message"].is_string() => {
            failed(&format!("{}: {}", status.as_u16(), refusal["message"].as_str().unwrap_or_default()))
        }
        _ => failed(&format!("{}: There is no MCP server at this address.", status.as_u16())),
    }
}

/// What the newer protocol wants to see in the head of a request as well, so that proxies need not read bodies.
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
    fn the_head_of_a_request_says_what_its_body_does() {
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
