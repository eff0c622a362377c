//! What the command posts on code hosts about a run: the requests that a mock receives from the real command with a
//! real server.

use std::{
    fs,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::{
    code_host::CodeHost,
    process::{Port, wait_until},
    run::{Lab, printing, text},
};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const BASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// Flags of every run: a testbed that is the same on every machine, and a threshold.
const FLAGS: [&str; 10] = [
    "--testbed",
    "bench",
    "--threshold-measure",
    "latency",
    "--threshold-test",
    "percentage",
    "--threshold-upper-boundary",
    "0.10",
    "--threshold-lower-boundary",
    "0.10",
];

/// A lab, a code host, and the command like a step of Actions.
struct Actions {
    lab: Lab,
    host: CodeHost,
    flags: &'static [&'static str],
}

impl Actions {
    fn open() -> Self {
        Self { lab: Lab::open(), host: CodeHost::open(), flags: &FLAGS }
    }

    /// Opens the same without a threshold.
    fn open_without_threshold() -> Self {
        Self { flags: &FLAGS[..2], ..Self::open() }
    }

    /// Returns the command of a run for an event in the format of GitHub.
    fn command(&self, name: &str, event: &Value, arguments: &[&str]) -> Command {
        let path = self.lab.work().join("event.json");
        fs::write(&path, event.to_string()).unwrap();
        let mut command = self.lab.command(self.flags);
        command.args(arguments).env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_NAME", name);
        command.env("GITHUB_EVENT_PATH", &path).env("GITHUB_REPOSITORY", "acme/widget");
        command.env("GITHUB_API_URL", &self.host.address).env("GITHUB_SHA", BASE);
        command.env("GITHUB_STEP_SUMMARY", self.lab.work().join("summary.md"));
        command.env("TIDEMARK_GITHUB_TOKEN", "ghs_token");
        match name {
            "pull_request" | "pull_request_target" => {
                command.env("GITHUB_HEAD_REF", "fix").env("GITHUB_BASE_REF", "main");
                command.env("GITHUB_REF", "refs/pull/7/merge");
            }
            _ => drop(command.env("GITHUB_REF", "refs/heads/main")),
        }
        command
    }

    fn push(&self, arguments: &[&str]) -> Output {
        let event = json!({ "ref": "refs/heads/main", "repository": { "full_name": "acme/widget" } });
        self.command("push", &event, arguments).output().unwrap()
    }

    fn pull_request(&self, arguments: &[&str]) -> Output {
        self.command("pull_request", &pull_request("acme/widget"), arguments).output().unwrap()
    }
}

/// Returns the relevant part of a pull request.
fn pull_request(head: &str) -> Value {
    json!({
        "action": "synchronize", "number": 7,
        "pull_request": {
            "number": 7,
            "head": { "ref": "fix", "sha": COMMIT, "repo": { "full_name": head } },
            "base": { "ref": "main", "sha": BASE, "repo": { "full_name": "acme/widget" } },
        },
        "repository": { "full_name": "acme/widget" },
    })
}

fn results(sort: f64, find: f64) -> String {
    printing(&json!({
        "find": { "latency": { "value": find } },
        "sort": { "latency": { "value": sort }, "size": { "value": 3 } },
    }))
}

/// Asserts that a run succeeded.
fn ok(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_regression_fails_the_check_where_there_is_no_threshold() {
    let actions = Actions::open_without_threshold();
    let run = |value: f64, arguments: &[&str]| {
        let results = printing(&json!({ "sort": { "latency": { "value": value } } }));
        let output = actions.push(&[arguments, &[&results]].concat());
        (output.status.code(), actions.host.requests()[1].1["conclusion"].as_str().unwrap().to_owned())
    };
    assert_eq!(run(1_000.0, &[]), (Some(0), "neutral".to_owned()));
    for number in 1..12 {
        run(1_000.0 + f64::from(number * 7 % 5), &[]);
    }
    assert_eq!(run(4_000.0, &["--error-on-alert"]), (Some(3), "failure".to_owned()));
}

#[test]
fn a_threshold_of_one_series_does_not_hide_a_regression_of_another() {
    let actions = Actions::open_without_threshold();
    let limit =
        ["--threshold-measure", "size", "--threshold-test", "static", "--threshold-upper-boundary", "10"];
    let run = |sort: f64, size: f64| {
        let results = printing(&json!({
            "sort": { "latency": { "value": sort }, "size": { "value": size } },
        }));
        let output = actions.push(&[&limit[..], &["--error-on-alert", &results]].concat());
        (output.status.code(), actions.host.requests()[1].1["conclusion"].as_str().unwrap().to_owned())
    };
    let (success, failure) = ((Some(0), "success".to_owned()), (Some(3), "failure".to_owned()));
    for number in 0..12 {
        assert_eq!(run(1_000.0 + f64::from(number * 7 % 5), 3.0), success);
    }
    // The size is within its limit; the latency has no threshold.
    assert_eq!(run(4_000.0, 3.0), failure);
    // The size regressed, but its threshold decides.
    assert_eq!(run(1_000.0, 9.0), success);
    assert_eq!(run(1_000.0, 11.0), failure);
}

#[test]
fn a_push_has_a_check_and_a_summary() {
    let actions = Actions::open();
    let summary = actions.lab.work().join("summary.md");
    fs::write(&summary, "Another step was here.\n").unwrap();
    ok(&actions.push(&[&results(2_000.0, 1_000.0)]));
    insta::assert_json_snapshot!("push_first", actions.host.requests());
    let output = actions.push(&["--ci-id", "nightly", "--err", &results(3_000.0, 800.0)]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let requests = actions.host.requests();
    assert_eq!(requests[1].1["conclusion"], "failure");
    assert_eq!(requests[1].1["name"], "Tidemark (nightly)");
    let summary = fs::read_to_string(summary).unwrap();
    assert!(summary.starts_with("Another step was here.\n## ⚪ 3 inconclusive, the thresholds of 2 values have too few earlier values"), "{summary}");
    insta::assert_snapshot!("push_summary", summary.split("## ").last().unwrap());
    // Annotations are printed to standard error, apart from the report.
    let annotations: Vec<&str> = text(&output.stderr).lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(
        annotations,
        [
            "::warning title=sort is outside the configured threshold::Latency: 3 µs is +50.00%25 from 2 µs, the limit is 1.800 … 2.200 µs"
        ]
    );
    assert!(!text(&output.stdout).contains("::warning"));
}

#[test]
fn a_pull_request_has_one_comment() {
    let actions = Actions::open();
    ok(&actions.push(&[&results(2_000.0, 1_000.0)]));
    actions.host.requests();
    // A comment of another user that looks like ours is left unchanged, as are a hundred others.
    let marker = "<!-- tidemark/projects/lab/id/fix/bench/magic -->";
    actions.host.with(|state| {
        state.comments = (0..120)
            .map(|id| json!({ "id": id, "body": format!("{marker}\nHa!"), "user": { "type": "User" }, "author_association": "NONE" }))
            .collect();
    });
    ok(&actions.pull_request(&[&results(3_000.0, 800.0)]));
    let requests = actions.host.requests();
    insta::assert_json_snapshot!("pull_request_first", requests);
    let output = actions.pull_request(&[&results(2_000.0, 1_000.0)]);
    ok(&output);
    let requests = actions.host.requests();
    let (line, body) = requests.last().unwrap();
    assert_eq!(line, "PATCH /repos/acme/widget/issues/comments/2120 as Bearer ghs_token");
    assert!(
        body["body"][1]
            .as_str()
            .unwrap()
            .starts_with("## ✅ 3 inconclusive, no value outside the configured threshold"),
        "{body}"
    );
    assert_eq!(actions.host.with(|state| state.comments.len()), 121);
    // The terminal shows none of it, and the token appears nowhere.
    for stream in [&output.stdout, &output.stderr] {
        assert!(!text(stream).contains("ghs_token") && !text(stream).contains('\u{1b}'), "{output:?}");
    }
    // Another run of the same pull request has its own comment.
    ok(&actions.pull_request(&["--ci-id", "other", &results(2_000.0, 1_000.0)]));
    assert_eq!(actions.host.with(|state| state.comments.len()), 122);
}

#[test]
fn a_comment_can_require_a_change() {
    let actions = Actions::open();
    ok(&actions.push(&[&results(2_000.0, 1_000.0)]));
    let comments = || {
        let requests = actions.host.requests();
        let written =
            requests.iter().filter(|(line, _)| line.contains("comments") && !line.starts_with("GET"));
        written.map(|(line, _)| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    comments();
    ok(&actions.pull_request(&["--ci-only-on-alert", &results(2_010.0, 1_000.0)]));
    assert!(comments().is_empty());
    ok(&actions.pull_request(&["--ci-only-on-alert", &results(2_000.0, 800.0)]));
    assert_eq!(comments(), ["POST"]);
    // An earlier comment is updated.
    ok(&actions.pull_request(&["--ci-only-on-alert", &results(2_000.0, 1_000.0)]));
    assert_eq!(comments(), ["PATCH"]);
    // The file of the repository sets the same.
    let file = actions.lab.work().join("tidemark.toml");
    fs::write(&file, "[ci]\nonly_on_alert = true\nid = \"nightly\"\n").unwrap();
    ok(&actions.pull_request(&[&results(2_010.0, 1_000.0)]));
    assert!(comments().is_empty());
    ok(&actions.pull_request(&["--ci-only-on-alert=false", &results(2_010.0, 1_000.0)]));
    assert_eq!(comments(), ["POST"]);
    fs::remove_file(file).unwrap();
    let none = ["--ci-only-thresholds", "--thresholds-reset", "--ci-id", "none"];
    let mut command = actions.command("pull_request", &pull_request("acme/widget"), &[]);
    let size = printing(&json!({ "sort": { "size": { "value": 3 } } }));
    ok(&command.args(none).arg(&size).output().unwrap());
    assert!(comments().is_empty());
}

#[test]
fn forks_take_two_steps() {
    let actions = Actions::open();
    ok(&actions.push(&[&results(2_000.0, 1_000.0)]));
    actions.host.requests();
    let ran = actions.lab.work().join("ran");
    for (event, code) in [("pull_request", 2), ("pull_request_target", 2)] {
        let output = actions.command(event, &pull_request("ada/widget"), &["touch ran"]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(text(&output.stderr).contains("docs/ci.md shows the safe way"), "{output:?}");
    }
    assert!(!ran.exists() && actions.host.requests().is_empty(), "it is refused before anything is done");

    // The second workflow does not receive the pull request; its branch must not be mistaken for ours.
    let event = json!({
        "action": "completed", "repository": { "full_name": "acme/widget" },
        "workflow_run": {
            "event": "pull_request", "head_branch": "main", "head_sha": COMMIT, "pull_requests": [],
            "head_repository": { "full_name": "ada/widget" },
        },
    });
    let other = json!({ "number": 6, "head": { "sha": BASE }, "base": { "ref": "old" } });
    let own = json!({ "number": 7, "head": { "sha": COMMIT }, "base": { "ref": "main" } });
    actions.host.with(|state| state.pulls = json!([other, own]));
    fs::write(
        actions.lab.work().join("results.json"),
        r#"{"sort": {"latency": {"value": 2900}}, "find": {"latency": {"value": 1000}}}"#,
    )
    .unwrap();
    let follow = |arguments: &[&str]| {
        let mut command = actions.command("workflow_run", &event, &["--file", "results.json", "--json"]);
        actions.lab.report(command.args(arguments))
    };
    let report = follow(&[]);
    assert_eq!(report["branch"]["name"], "pull/7/main");
    assert_eq!(report["branch"]["head"]["version"]["hash"], COMMIT);
    assert_eq!(report["counts"]["alerts"]["total"], 1, "its start point is the base");
    insta::assert_json_snapshot!("fork", actions.host.requests());
    // Without a pull request in the response, the branch still counts as a fork.
    actions.host.with(|state| state.pulls = json!([]));
    assert_eq!(follow(&[])["branch"]["name"], "fork/ada/main");
    assert_eq!(follow(&["--ci-number", "9"])["branch"]["name"], "pull/9/main");
    let requests = actions.host.requests();
    assert!(requests.last().unwrap().0.contains("/issues/9/comments"), "{requests:?}");
}

#[test]
fn a_long_report_keeps_the_changed_rows() {
    let actions = Actions::open();
    let many = |slow: f64, fast: f64| {
        let entry = |index: usize| {
            let value = if index < 60 {
                slow
            } else if index < 100 {
                fast
            } else {
                1_000.0
            };
            (format!("{:04}/{}", index, "long ".repeat(10)), json!({ "latency": { "value": value } }))
        };
        let all: serde_json::Map<_, _> = (0..1_000).map(entry).collect();
        let path = actions.lab.work().join("many.json");
        fs::write(path, Value::Object(all).to_string()).unwrap();
    };
    many(1_000.0, 1_000.0);
    ok(&actions.push(&["--file", "many.json"]));
    many(2_000.0, 500.0);
    actions.host.requests();
    let output = actions.pull_request(&["--file", "many.json"]);
    ok(&output);
    let bodies = actions.host.with(|state| {
        let check = state.requests[1].1["output"]["summary"].clone();
        (check, state.comments[0]["body"].clone())
    });
    for body in [bodies.0.as_str().unwrap(), bodies.1.as_str().unwrap()] {
        assert!(body.len() <= 65_535 && body.len() > 60_000, "{}", body.len());
        assert!(
            body.contains("## ❌ 1000 inconclusive, 100 values outside the configured threshold"),
            "{}",
            &body[..200]
        );
        assert_eq!(body.matches("\n| inconclusive | [`").count(), 100);
        assert!(body.contains(
            " did not fit here**; all of them are in [the report](https://tidemark.example.com/perf/lab/"
        ));
        assert!(body.contains(" of 900 other results</summary>"));
    }
    // The summary of a job may be longer.
    let summary = fs::read_to_string(actions.lab.work().join("summary.md")).unwrap();
    assert!(summary.contains("<summary>900 other results</summary>"));
    // The number of annotations is limited.
    assert_eq!(text(&output.stderr).matches("::warning").count(), 10);
}

#[test]
fn names_are_escaped() {
    let actions = Actions::open();
    let names = [
        "<script>alert(1)</script>",
        "a|b`c` @ada #1 [x](https://evil.example)",
        "-->\n::error::line",
        "**bold** $x$ ~~gone~~ &amp;",
    ];
    let write = |value: f64| {
        let all: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), json!({ "latency": { "value": value } }))).collect();
        fs::write(actions.lab.work().join("names.json"), Value::Object(all).to_string()).unwrap();
    };
    write(1_000.0);
    ok(&actions.push(&["--file", "names.json"]));
    write(2_000.0);
    let arguments = ["--file", "names.json", "--ci-id=--> @ada", "--ci-markdown", "report.md"];
    let output = actions.pull_request(&arguments);
    ok(&output);
    let requests = actions.host.requests();
    insta::assert_json_snapshot!("names", requests.last().unwrap().1);
    let markdown = fs::read_to_string(actions.lab.work().join("report.md")).unwrap();
    insta::assert_snapshot!("names_markdown", markdown);
    let annotations: Vec<&str> = text(&output.stderr).lines().filter(|line| line.starts_with("::")).collect();
    insta::assert_snapshot!("names_annotations", annotations.join("\n"));
    let html = actions
        .lab
        .run(&[&FLAGS[..], &["--format", "html", "--branch", "fix", "--file", "names.json"]].concat());
    insta::assert_snapshot!("names_html", text(&html.stdout));
}

#[test]
fn an_empty_token_is_refused() {
    let actions = Actions::open();
    for flag in ["--github-actions", "--gitlab"] {
        let output = actions.push(&[flag, " ", "touch ran"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let expected = format!("error: The token of {flag} is empty; set it, or omit the flag.");
        assert!(text(&output.stderr).starts_with(&expected), "{output:?}");
    }
    let job = ["--image", "alpine", "--detach"];
    let output = actions.push(&job);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("--callback-token"), "{output:?}");
    assert!(!actions.lab.work().join("ran").exists() && actions.host.requests().is_empty());
    // An empty variable counts as not set.
    let event = pull_request("ada/widget");
    let mut command = actions.command("pull_request", &event, &[&results(1.0, 1.0)]);
    ok(&command.env("TIDEMARK_GITHUB_TOKEN", "").output().unwrap());
    assert!(actions.host.requests().is_empty());
}

#[test]
fn the_verdict_does_not_wait_for_the_code_host() {
    let actions = Actions::open();
    ok(&actions.push(&[&results(2_000.0, 1_000.0)]));
    // No process listens on this port.
    let free = Port::reserve();
    let down = |arguments: &[&str]| {
        let event = pull_request("acme/widget");
        let mut command = actions.command("pull_request", &event, arguments);
        command.env("GITHUB_API_URL", format!("http://{}", free.address)).arg("--attempts").arg("1");
        command.arg(results(3_000.0, 1_000.0)).output().unwrap()
    };
    let output = down(&[]);
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert!(text(&output.stdout).contains("1 value outside the configured threshold"), "{output:?}");
    insta::assert_snapshot!("down", text(&output.stderr).lines().skip(1).collect::<Vec<_>>().join("\n"));
    // A regression takes precedence for the exit status.
    let output = down(&["--err"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains("warning: The comment on pull request 7 could not be written"));

    // The command waits for a busy host, and checks whether a comment was created already.
    actions.host.requests();
    actions.host.with(|state| {
        let busy = json!({ "message": "You have exceeded a secondary rate limit." });
        state.trouble = vec![
            ("POST /repos/acme/widget/check-runs", 403, Some("1"), busy),
            ("GET /repos/acme/widget/issues", 502, None, json!(null)),
            ("POST /repos/acme/widget/issues", 502, None, json!(null)),
        ];
    });
    let output = actions.pull_request(&[&results(2_000.0, 1_000.0)]);
    ok(&output);
    let lines: Vec<String> = actions.host.requests().into_iter().map(|(line, _)| line).collect();
    insta::assert_snapshot!("busy", lines.join("\n"));

    // If the token lacks a permission, the error names it.
    actions.host.with(|state| {
        let forbidden = json!({ "message": "Resource not accessible by integration" });
        state.trouble = vec![("GET /repos/acme/widget/issues", 403, None, forbidden)];
    });
    let output = actions.pull_request(&[&results(2_000.0, 1_000.0)]);
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert!(text(&output.stderr).contains("`pull-requests: write`"), "{output:?}");
}

#[test]
fn a_run_that_fails_or_is_interrupted_ends_its_check() {
    let actions = Actions::open();
    let output = actions.push(&["exit 7"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    insta::assert_json_snapshot!("failed", actions.host.requests());
    let event = json!({ "repository": { "full_name": "acme/widget" } });
    let mut command = actions.command("push", &event, &["touch started; sleep 6000; true"]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the benchmark command does not start", || actions.lab.work().join("started").exists());
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(143));
    let requests = actions.host.requests();
    assert_eq!(requests[1].1["conclusion"], "cancelled", "{requests:?}");
    assert_eq!(actions.lab.count(), 0);
}

#[test]
fn a_merge_request_has_one_note_and_files() {
    let lab = Lab::open();
    let host = CodeHost::open();
    let run = |results: &str, arguments: &[&str]| {
        let mut command = lab.command(&FLAGS);
        command.args(arguments).args([
            "--gitlab-code-quality",
            "quality.json",
            "--gitlab-metrics",
            "metrics.txt",
        ]);
        command.arg(results).env("GITLAB_CI", "true").env("CI_API_V4_URL", &host.address);
        command.env("CI_PROJECT_ID", "42").env("CI_COMMIT_SHA", COMMIT).env("TIDEMARK_GITLAB_TOKEN", "glpat");
        command
    };
    ok(&run(&results(2_000.0, 1_000.0), &["--branch", "main"]).output().unwrap());
    assert!(host.requests().is_empty(), "a branch has nothing to write on");
    let merge_request = |results: &str| {
        let mut command = run(results, &[]);
        command.env("CI_MERGE_REQUEST_IID", "7").env("CI_MERGE_REQUEST_PROJECT_ID", "42");
        command.env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "fix");
        command.env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main").output().unwrap()
    };
    ok(&merge_request(&results(3_000.0, 1_000.0)));
    ok(&merge_request(&results(3_000.0, 1_000.0)));
    insta::assert_json_snapshot!("merge_request", host.requests());
    let file = |name: &str| fs::read_to_string(lab.work().join(name)).unwrap();
    insta::assert_snapshot!("code_quality", file("quality.json"));
    insta::assert_snapshot!("metrics", file("metrics.txt"));
    host.with(|state| {
        state.trouble = vec![("GET /user", 401, None, json!({ "message": "401 Unauthorized" }))];
    });
    let output = merge_request(&results(2_000.0, 1_000.0));
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert!(text(&output.stderr).contains("scope `api`"), "{output:?}");
}
