//! `tidemark import`: imports earlier results from files and from another server; repeated imports add nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{client::Client, context::in_folder, process::Server};

/// A server with a signed-in user, and a folder.
struct Lab {
    server: Server,
    token: String,
    folder: TempDir,
}

impl Lab {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut server = Server::start(&data);
        let mut client = Client::connect(&server);
        client.sign_up("Ada", &data);
        server.drain();
        let token = client.token.clone();
        Self { server, token, folder }
    }

    fn client(&self) -> Client {
        Client::connect_as(&self.server, &self.token)
    }

    fn import(&self, arguments: &[&str]) -> Output {
        let mut command = in_folder(self.folder.path());
        command.env("TIDEMARK_HOST", format!("http://{}", self.server.address));
        command.env("TIDEMARK_API_TOKEN", &self.token).env("TIDEMARK_PROJECT", "lab");
        command.arg("import").args(arguments).output().unwrap()
    }

    /// Runs an import that must succeed, and returns its output.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.import(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.client().get(&format!("/v0/projects/lab{path}")).unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Returns the complete reports, without values that differ between servers.
    fn reports(&self) -> Value {
        let reports = self.get("/reports?per_page=255&expand=true&direction=asc");
        reports.as_array().unwrap().iter().map(without_ids).collect()
    }
}

/// Removes identifiers and creation times from a value. Replaces a reference that is only an identifier by its
/// position.
fn without_ids(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(without_ids).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| {
                let is_id =
                    value.as_str().is_some_and(|text| text.len() == 36 && text.matches('-').count() == 4);
                !is_id
                    && !matches!(
                        name.as_str(),
                        "created" | "modified" | "replaced" | "claimed" | "user" | "adapter"
                    )
            });
            kept.map(|(name, value)| (name.clone(), without_ids(value))).collect()
        }
        other => other.clone(),
    }
}

/// Returns one line per metric.
fn lines(reports: &Value) -> String {
    let mut lines = Vec::new();
    for report in reports.as_array().unwrap() {
        let version = &report["branch"]["head"]["version"];
        let hash = version["hash"].as_str().unwrap_or("-");
        lines.push(format!(
            "{} {} version {} {} on {}",
            report["start_time"].as_str().unwrap(),
            report["branch"]["name"].as_str().unwrap(),
            version["number"],
            &hash[..hash.len().min(4)],
            report["testbed"]["name"].as_str().unwrap(),
        ));
        for result in
            report["results"].as_array().unwrap().iter().flat_map(|results| results.as_array().unwrap())
        {
            for measured in result["measures"].as_array().unwrap() {
                let metric = &measured["metric"];
                lines.push(format!(
                    "  {} {} {} {} [{}, {}] {}",
                    result["benchmark"]["name"].as_str().unwrap(),
                    result["variant"]["parameters"],
                    measured["measure"]["name"].as_str().unwrap(),
                    metric["value"],
                    metric["lower_value"],
                    metric["upper_value"],
                    measured["measure"]["units"].as_str().unwrap(),
                ));
            }
        }
    }
    lines.join("\n")
}

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../adapters/fixtures").join(path)
}

fn hash(digit: char) -> String {
    digit.to_string().repeat(40)
}

#[test]
fn the_data_of_github_action_benchmark() {
    let lab = Lab::open();
    let run = |digit, date: u64, benches: Value| json!({ "commit": { "id": hash(digit), "message": "m" }, "date": date, "tool": "cargo", "benches": benches });
    let data = json!({ "lastUpdate": 1, "repoUrl": "", "entries": { "Rust": [
        run('b', 1_700_000_100_000, json!([
            { "name": "sort", "value": 110, "range": "± 5", "unit": "ns/iter" },
            { "name": "size", "value": 3, "unit": "MiB" },
        ])),
        run('a', 1_700_000_000_000, json!([{ "name": "sort", "value": 0.1, "range": "±10%", "unit": "us" }])),
        run('c', 1_700_000_200_000, json!([{ "name": "sort", "value": 2, "range": "stddev: 7", "unit": "ops/ms" }])),
    ] } });
    fs::write(lab.folder.path().join("data.js"), format!("window.BENCHMARK_DATA = {data:#};\n")).unwrap();
    assert_eq!(lab.said(&["data.js", "--dry-run"]), "3 of 3 reports would be sent.\n");
    assert_eq!(lab.said(&["data.js"]), "3 of 3 reports were sent; the project has them all now.\n");
    assert_eq!(lab.said(&["data.js"]), "Nothing to send: the project already has all of 3 reports.\n");
    insta::assert_snapshot!(lines(&lab.reports()));
}

#[test]
fn a_folder_of_asv() {
    let lab = Lab::open();
    let write = |path: &str, text: &str| {
        let path = lab.folder.path().join("results").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "benchmarks.json",
        r#"{"suite.time_sort": {"unit": "seconds", "param_names": ["n", "kind"], "params": []},
            "suite.peakmem_list": {"unit": "bytes", "param_names": []},
            "suite.track_size": {"unit": "apples", "param_names": []}, "version": 2}"#,
    );
    write("ada/machine.json", r#"{"machine": "ada"}"#);
    let result = |digit, date: u64, value: &str| {
        format!(
            r#"{{"commit_hash": "{}", "date": {date}, "env_name": "py3", "params": {{"machine": "ada"}},
            "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"],
            "results": {{
                "suite.time_sort": [[{value}, NaN, 0.25], [["1", "2", "3"], ["'a'"]], "v", 1, 2, [0.0625, NaN, 0.125], [0.5, NaN, 0.75]],
                "suite.peakmem_list": [[4096], []], "suite.track_size": [[7], []], "suite.time_broken": [null, []]
            }}, "version": 2}}"#,
            hash(digit)
        )
    };
    write("ada/bbbbbbbb-py3.json", &result('b', 1_700_000_100_000, "0.5"));
    write("ada/aaaaaaaa-py3.json", &result('a', 1_700_000_000_000, "0.125"));
    assert_eq!(lab.said(&["results"]), "2 of 2 reports were sent; the project has them all now.\n");
    assert_eq!(lab.said(&["results"]), "Nothing to send: the project already has all of 2 reports.\n");
    insta::assert_snapshot!(lines(&lab.reports()));
}

#[test]
fn series_of_files() {
    let lab = Lab::open();
    let copy = |from: &str, to: &str| {
        let to = lab.folder.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture(from), to).unwrap();
    };
    copy("cpp_google/plain.json", &format!("series/{}.json", hash('a')));
    copy("python_pyperf/timeit.json", "series/two.json");
    assert_eq!(lab.said(&["series"]), "2 of 2 reports were sent; the project has them all now.\n");
    assert_eq!(
        lab.said(&["series", "--quiet"]),
        "Nothing to send: the project already has all of 2 reports.\n"
    );
    insta::assert_snapshot!(lines(&lab.reports()));
    fs::write(lab.folder.path().join("plain.json"), r#"{"a": {"latency": {"value": 1}}}"#).unwrap();
    let output = lab.import(&["plain.json", "--branch", "old", "--testbed", "attic"]);
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("plain.json contains no date; the command uses the date of the file"),
        "{stderr}"
    );
    let listed = lab.get("/reports?branch=old&testbed=attic");
    assert_eq!(listed.as_array().unwrap().len(), 1);
    for (arguments, code, sentence) in [
        (&["missing.json"] as &[&str], 1, "missing.json cannot be read"),
        (&[], 2, "--from"),
        (&["series", "--from", "http://localhost"], 2, "cannot be used with"),
    ] {
        let output = lab.import(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(str::from_utf8(&output.stderr).unwrap().contains(sentence), "{output:?}");
    }
}

/// Creates a history on a server: repeated hashes, iterations, variants, thresholds that change and are removed, a
/// branch that starts from another branch, and a branch that is reset.
fn make_history(lab: &Lab) {
    let mut client = lab.client();
    let (status, _) = client.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
    assert_eq!(status, 201);
    let (status, _) = client
        .post("/v0/projects/lab/measures", &json!({ "name": "Apples", "units": "apples (a)" }))
        .unwrap();
    assert_eq!(status, 201);
    let model = |test: &str, upper: f64| json!({ "models": { "latency": { "test": test, "upper_boundary": upper } } });
    let plain = |value: f64| {
        json!({ "sort": { "latency": { "value": value, "lower_value": 0.1 } }, "count": { "Apples": { "value": value / 3.0 } } }).to_string()
    };
    let listed = |value: f64| {
        json!([{ "name": "sort", "parameters": { "n": "10" }, "measures": { "latency": { "value": value } } }, { "name": "sort", "measures": { "latency": { "value": value, "upper_value": 1e300 } } }]).to_string()
    };
    let reports = [
        json!({ "hash": hash('a'), "results": [plain(100.0)], "thresholds": model("percentage", 0.1) }),
        json!({ "hash": hash('b'), "results": [plain(101.0), plain(150.0)] }),
        json!({ "hash": hash('a'), "results": [listed(99.5)], "testbed": "other" }),
        json!({ "branch": "fix", "hash": hash('c'), "results": [plain(140.0)], "start_point": { "branch": "main", "hash": hash('a'), "clone_thresholds": true } }),
        json!({ "results": [listed(103.0), "{}", plain(104.0)], "thresholds": model("static", 103.5) }),
        json!({ "branch": "fix", "hash": hash('d'), "results": [plain(141.0)], "start_point": { "branch": "main", "reset": true } }),
        json!({ "hash": hash('e'), "results": [plain(0.1 + 0.2)], "thresholds": { "reset": true } }),
    ];
    for (index, mut report) in reports.into_iter().enumerate() {
        let members = report.as_object_mut().unwrap();
        for (name, value) in [
            ("branch", json!("main")),
            ("testbed", json!("quiet")),
            ("settings", json!({ "adapter": "json" })),
        ] {
            members.entry(name).or_insert(value);
        }
        // The third report has an earlier time than the two before it.
        let hour = if index == 2 { 0 } else { index + 1 };
        members.insert("start_time".into(), json!(format!("2026-01-01T{hour:02}:00:00Z")));
        members.insert("end_time".into(), json!(format!("2026-01-01T{hour:02}:30:00Z")));
        let (status, answer) = client.post("/v0/projects/lab/reports", &report).unwrap();
        assert_eq!(status, 201, "{answer}");
    }
}

/// Returns the perf results of a branch of a project, for all dimensions.
fn perf(lab: &Lab, branch: &str) -> Value {
    let ids = |noun: &str| -> String {
        let list = lab.get(&format!("/{noun}?per_page=255"));
        let ids: Vec<&str> =
            list.as_array().unwrap().iter().map(|item| item["uuid"].as_str().unwrap()).collect();
        ids.join(",")
    };
    let branch = lab.get(&format!("/branches/{branch}"));
    let perf = lab.get(&format!(
        "/perf?branches={}&testbeds={}&benchmarks={}&measures={}",
        branch["uuid"].as_str().unwrap(),
        ids("testbeds"),
        ids("benchmarks"),
        ids("measures")
    ));
    assert!(!perf["results"].as_array().unwrap().is_empty());
    without_ids(&perf["results"])
}

#[test]
fn another_server() {
    let (old, new) = (Lab::open(), Lab::open());
    make_history(&old);
    let from = format!("http://{}", old.server.address);
    let arguments = ["--from", from.as_str(), "--from-key", old.token.as_str(), "--from-project", "lab"];
    let with = |more: &[&'static str]| -> Vec<String> {
        arguments.iter().chain(more).map(|argument| (*argument).to_owned()).collect()
    };
    let import = |more: &[&'static str]| {
        let arguments = with(more);
        new.said(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(import(&["--dry-run"]), "7 of 7 reports would be sent.\n");
    assert_eq!(import(&[]), "7 of 7 reports were sent; the project has them all now.\n");
    assert_eq!(import(&[]), "Nothing to send: the project already has all of 7 reports.\n");
    pretty(&old.reports(), &new.reports());
    for branch in ["main", "fix"] {
        pretty(&perf(&old, branch), &perf(&new, branch));
    }
    // A report that arrives later is sent alone, and continues the history.
    let later = json!({
        "branch": "fix", "hash": hash('f'), "testbed": "quiet", "start_time": "2026-01-02T00:00:00Z",
        "end_time": "2026-01-02T00:00:01Z", "results": [json!({ "sort": { "latency": { "value": 1 } } }).to_string()],
    });
    let (status, _) = old.client().post("/v0/projects/lab/reports", &later).unwrap();
    assert_eq!(status, 201);
    assert_eq!(import(&["--quiet"]), "1 of 8 reports were sent; the project has them all now.\n");
    pretty(&old.reports(), &new.reports());
    pretty(&perf(&old, "fix"), &perf(&new, "fix"));
    // The command does not send the key of one server to the other, and a wrong key is rejected.
    let refused = new.import(&["--from", &from, "--from-project", "nothing"]);
    assert_eq!(refused.status.code(), Some(7), "{refused:?}");
    assert!(Path::new(new.folder.path()).exists());
}

/// Compares documents line by line, so that a difference is readable.
fn pretty(left: &Value, right: &Value) {
    let lines = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    let (left, right) = (lines(left), lines(right));
    for (number, (left, right)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(left, right, "line {number}");
    }
    assert_eq!(left.lines().count(), right.lines().count());
}
