//! Ten thousand broken reports: the server accepts or rejects each, without a server error.
//!
//! They are generated from valid reports, deterministically by seed: the fixtures of the adapters, each with every
//! adapter, and reports with every field.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use axum::{
    body::Body,
    http::{Request, header},
};
use futures_util::{StreamExt, stream};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};
use tidemark_api::Adapter;

use crate::{Engine, Lab, TestServer, contract};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite() {
    survive(Engine::Sqlite, 10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres() {
    survive(Engine::Postgres, 2_000).await;
}

async fn survive(engine: Engine, count: usize) {
    let lab = Lab::open(TestServer::start(engine).await).await;
    let seeds = seeds();
    let numbers = stream::iter(0..count);
    let answers = numbers.map(|number| send(&lab, &seeds, number)).buffer_unordered(16);
    let answers: Vec<_> = answers.collect().await;

    let mut kinds: BTreeMap<u16, usize> = BTreeMap::new();
    let mut read: BTreeSet<&str> = BTreeSet::new();
    for (status, adapter) in &answers {
        *kinds.entry(*status).or_default() += 1;
        if *status == 201 {
            read.insert(adapter.as_str());
        }
    }
    // The test would prove nothing if all reports were rejected for the same reason, or accepted.
    assert!(kinds[&201] > count / 20 && kinds[&400] > count / 2, "{kinds:?}");
    let every = 2 * Adapter::ALL.len() * seeds.len() <= count;
    assert!(!every || read.len() == Adapter::ALL.len(), "only {read:?} are accepted");

    // Accepted reports can be read, and further reports are accepted.
    for list in ["branches", "testbeds", "benchmarks", "measures", "thresholds", "alerts"] {
        lab.get(&format!("{list}?per_page=255")).await.expect(200);
    }
    for page in 1..=3 {
        lab.get(&format!("reports?expand=true&per_page=50&page={page}")).await.expect(200);
    }
    lab.report(json!([r#"{"good":{"latency":{"value":1}}}"#]), json!({})).await.expect(201);
}

/// Sends the body with a number, and returns the status and the adapter of the body.
async fn send(lab: &Lab, seeds: &[(Adapter, Value)], number: usize) -> (u16, Adapter) {
    let (own, seed) = &seeds[number % seeds.len()];
    // Every other round uses the adapter of the seed; the other rounds use all adapters in turn.
    let round = number / seeds.len();
    let adapter = if round.is_multiple_of(2) { *own } else { Adapter::ALL[round / 2 % Adapter::ALL.len()] };
    let bytes = Garbage(StdRng::seed_from_u64(number as u64)).body(seed, adapter);
    let path = if number.is_multiple_of(4) { "/v0/run" } else { "/v0/projects/lab/reports" };
    let request = Request::post(path)
        .header(header::AUTHORIZATION, format!("Bearer {}", lab.token))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(bytes.clone()))
        .unwrap();
    let answer = lab.server.raw(request).await;
    let status = answer.status().as_u16();
    let said = String::from_utf8_lossy(answer.body());
    assert!(
        status < 500,
        "body {number} gave {status} at {path}, {said}:\n{}",
        String::from_utf8_lossy(&bytes)
    );
    // Accepted reports are validated when they are read, many at once.
    if status != 201 {
        let said = serde_json::from_str(&said).unwrap();
        contract::check("POST", path, status, "application/json", Some(&said));
    }
    (status, adapter)
}

/// Returns valid bodies with their adapters: one per fixture, and some that use every field.
fn seeds() -> Vec<(Adapter, Value)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../adapters/fixtures");
    let folders = fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .collect();
    files.sort();
    let mut seeds = Vec::new();
    for file in files {
        let adapter = file.parent().unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap();
        seeds.push((adapter, body(&json!([fs::read_to_string(file).unwrap()]))));
    }
    assert!(seeds.len() > 30);

    let plain =
        r#"{"one":{"latency":{"value":1.5,"lower_value":1,"upper_value":2}},"two":{"size":{"value":7}}}"#;
    let variants = r#"[{"name":"fib","parameters":{"n":10,"kind":"a"},"measures":{"latency":{"value":5}}}]"#;
    let mut whole = body(&json!([plain, plain, variants]));
    whole["hash"] = json!("0123456789abcdef0123456789abcdef01234567");
    whole["start_point"] =
        json!({ "branch": "main", "max_versions": 10, "clone_thresholds": true, "reset": false });
    whole["settings"]["average"] = json!("median");
    let model = |test: &str, upper: f64| json!({ "test": test, "upper_boundary": upper, "min_sample_size": 2, "max_sample_size": 64, "window": 3600 });
    whole["thresholds"] = json!({ "reset": true, "models": {
        "latency": model("t_test", 0.99), "throughput": { "test": "static", "lower_boundary": 1e3 },
        "size": model("iqr", 1.5), "memory": model("percentage", 0.1),
    } });
    let mut folded = whole.clone();
    folded["settings"]["fold"] = json!("mean");
    folded["context"] = json!({ "tidemark.dev/v0/repo/name": "lab", "tidemark.dev/v0/branch/name": "main" });
    folded["idempotency_key"] = json!("00000000-0000-4000-8000-000000000001");
    let native = [whole, folded, body(&json!([plain])), body(&json!([variants]))];
    seeds.extend(native.map(|body| (Adapter::Json, body)));
    seeds
}

fn body(results: &Value) -> Value {
    json!({
        "project": "lab", "branch": "main", "testbed": "localhost", "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:01:00Z", "results": results, "settings": {},
    })
}

/// Replacements for a number or a word, as JSON text.
const TOKENS: &[&str] = &[
    "null",
    "true",
    "{}",
    "[]",
    "[[]]",
    "\"\"",
    "-1",
    "0",
    "-0.0",
    "1e308",
    "-1e308",
    "1e309",
    "5e-324",
    "1e-400",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "4294967296",
    "184467440737095516160000000000000000000000",
    "0.1e",
    "01",
    "NaN",
    "Infinity",
    "-Infinity",
    "\"\\u0000\"",
    "\"a\\u0000b\"",
    "\"\\ud800\"",
    "\"\\u202e\"",
    "\"\u{301}\"",
    "\"\u{1f30a}\"",
    "\" \"",
    "\"1e400\"",
    "\"0001-01-01T00:00:00Z\"",
    "\"9999-12-31T23:59:60Z\"",
    "\"292278994-08-17T07:12:55.807Z\"",
    "\"00000000-0000-0000-0000-000000000000\"",
    "\"magic\"",
    "\"latency\"",
    "\"nanoseconds (ns)\"",
    "\"parsecs\"",
    "{\"value\":1}",
    "{\"latency\":{\"value\":1,\"value\":2}}",
    "{\"a\":1,\"a\":2}",
    "\"{}\"",
    "\"[1]\"",
];

/// Inserted bytes.
const BYTES: &[&[u8]] = &[
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\0",
    b"\\",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\xef\xbb\xbf",
    b"\x1b[31m",
    b"\r",
    b"\n",
    b"\t",
    b"-",
    b"e",
    b"1e999",
    b"99999999999999999999",
    b"NaN",
    b"ns",
    b"//",
    b"\\u0000",
    b"\\ud83d",
];

/// A generator of broken bodies.
struct Garbage(StdRng);

impl Garbage {
    /// Breaks a valid body in one or several ways, sometimes in none.
    fn body(&mut self, seed: &Value, adapter: Adapter) -> Vec<u8> {
        let mut body = seed.clone();
        if adapter != Adapter::Magic {
            body["settings"]["adapter"] = json!(adapter);
        }
        if self.one_in(3) {
            // Varies the branch, so that new and known names occur together.
            body["branch"] = json!(format!("branch {}", self.0.random_range(0..50)));
        }
        for _ in 0..self.0.random_range(0..3) {
            let results = body["results"].as_array_mut().unwrap();
            let index = self.0.random_range(0..results.len());
            let text = self.result(results[index].as_str().unwrap());
            results[index] = json!(text);
        }
        if self.one_in(3) {
            self.replace(&mut body);
        }
        let mut bytes = body.to_string().into_bytes();
        if self.one_in(4) {
            self.scramble(&mut bytes);
        }
        bytes
    }

    fn one_in(&mut self, chances: u32) -> bool {
        self.0.random_range(0..chances) == 0
    }

    /// Breaks the output of a tool, as a document or as text.
    fn result(&mut self, text: &str) -> String {
        if let Ok(mut document) = serde_json::from_str::<Value>(text)
            && !self.one_in(3)
        {
            self.replace(&mut document);
            return document.to_string();
        }
        let mut bytes = text.as_bytes().to_vec();
        self.scramble(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Replaces, removes, moves or nests a value of a document.
    fn replace(&mut self, document: &mut Value) {
        let mut pointers = Vec::new();
        collect(document, String::new(), &mut pointers);
        let pointer = pointers.choose(&mut self.0).unwrap().clone();
        match self.0.random_range(0..8) {
            0 => {
                let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
                match document.pointer_mut(parent) {
                    Some(Value::Object(fields)) => drop(fields.remove(key)),
                    Some(Value::Array(items)) => items.clear(),
                    _ => {}
                }
            }
            1 => {
                let other = pointers.choose(&mut self.0).unwrap();
                let other = document.pointer(other).unwrap().clone();
                *document.pointer_mut(&pointer).unwrap() = other;
            }
            2 => {
                let depth = self.0.random_range(1..100);
                let value = document.pointer_mut(&pointer).unwrap();
                for _ in 0..depth {
                    *value = json!([value.take()]);
                }
            }
            3 => {
                let length = self.0.random_range(1..3_000);
                let letter = ["a", "é", " ", "\0", "/", "0"].choose(&mut self.0).unwrap();
                *document.pointer_mut(&pointer).unwrap() = json!(letter.repeat(length));
            }
            _ => {
                let token = TOKENS.choose(&mut self.0).unwrap();
                // A token that is not JSON becomes a string.
                let value = serde_json::from_str(token).unwrap_or_else(|_| json!(token));
                *document.pointer_mut(&pointer).unwrap() = value;
            }
        }
    }

    /// Changes random bytes.
    fn scramble(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.0.random_range(1..4) {
            let place = self.0.random_range(0..=bytes.len());
            let end = bytes.len().min(place + self.0.random_range(0..40));
            match self.0.random_range(0..8) {
                0 => bytes.truncate(place),
                1 => drop(bytes.drain(place..end)),
                2 => {
                    let copy = bytes[place..end].to_vec();
                    let target = self.0.random_range(0..=bytes.len());
                    drop(bytes.splice(target..target, copy));
                }
                3 => {
                    let deep =
                        ["[", "{\"a\":"].choose(&mut self.0).unwrap().repeat(self.0.random_range(1..5_000));
                    drop(bytes.splice(place..place, deep.into_bytes()));
                }
                4 => {
                    let token = TOKENS.choose(&mut self.0).unwrap();
                    // Replaces the next number, if there is one.
                    let start =
                        bytes[place..].iter().position(u8::is_ascii_digit).map_or(place, |at| place + at);
                    let digits =
                        bytes[start..].iter().take_while(|byte| b"0123456789.".contains(byte)).count();
                    drop(bytes.splice(start..start + digits, token.bytes()));
                }
                5 => {
                    let put = BYTES.choose(&mut self.0).unwrap();
                    drop(bytes.splice(place..place, put.iter().copied()));
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(place) {
                        *byte ^= 1 << self.0.random_range(0..8);
                    }
                }
            }
        }
    }
}

/// Collects the places in a document, as JSON pointers.
fn collect(value: &Value, place: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, format!("{place}/{key}"), pointers);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{place}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(place);
}
