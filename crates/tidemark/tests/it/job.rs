//! Jobs that `tidemark run` creates, with a mock server that reports any sequence of states. `runner.rs` tests jobs
//! on a real server.

use std::process::Command;

use axum::{Json, http::StatusCode};
use serde_json::{Value, json};
use tidemark_test_support::Stub;

use crate::run::{Lab, latency, text};

pub(crate) const JOB: &str = "0197a5b2-0000-7000-8000-000000000001";

/// Starts a server that accepts a job and reports these states.
fn serve(report: &Value, states: &[Value]) -> Stub {
    let (report, mut states) = (report.clone(), states.to_vec());
    Stub::start(move |request| {
        let (status, answer) = match request.uri.path() {
            "/v0/server/version" => (StatusCode::OK, json!({ "version": "0.6.13" })),
            "/v0/run" => {
                let mut pending = report.clone();
                pending["job"] = json!(JOB);
                pending["results"] = json!([]);
                (StatusCode::CREATED, pending)
            }
            path if path.ends_with(JOB) => {
                (StatusCode::OK, if states.len() > 1 { states.remove(0) } else { states[0].clone() })
            }
            path if path.contains("/reports/") => (StatusCode::OK, report.clone()),
            _ => (StatusCode::NOT_FOUND, json!(null)),
        };
        (status, Json(answer))
    })
}

pub(crate) fn state(status: &str) -> Value {
    let time = "2026-01-01T00:00:00Z";
    json!({
        "uuid": JOB, "status": status, "report": JOB, "timeout": 3600, "created": time, "modified": time,
        "spec": {
            "uuid": JOB, "name": "Metal", "slug": "metal", "os": "linux", "architecture": "x86_64", "cpu": 1,
            "memory": 1, "disk": 1, "network": false, "created": time, "modified": time,
        },
    })
}

fn ask(lab: &Lab, runs: &Stub, arguments: &[&str]) -> Command {
    let mut command = lab.command(&["--create", "--image", "acme/bench:v1", "--env", "KEY=s3cret"]);
    command.args(arguments).env("TIDEMARK_HOST", &runs.address);
    command
}

#[test]
fn a_job_is_sent_and_waited_for() {
    let lab = Lab::open();
    let report = lab.report(&mut lab.command(&["--json", &latency(1_000.0)]));
    let states = [state("pending"), state("running"), state("completed"), state("processed")];
    let runs = serve(&report, &states);
    let all = [
        "--spec",
        "large",
        "--entrypoint",
        "/bin/bench",
        "--job-timeout",
        "600",
        "--poll-interval",
        "1",
        "--iter",
        "3",
        "--fold",
        "min",
        "--file-size",
        "out/app",
        "--",
        "--quick",
        "x",
    ];
    let output = ask(&lab, &runs, &all).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("sort"), "{output:?}");
    assert_eq!(
        text(&output.stderr),
        "The job is waiting for a runner.\nThe job is running.\nThe job is done, its results are being read.\n\
         The job is processed.\n"
    );
    let requests = runs.take_requests();
    let sent = requests.iter().find(|request| request.uri.path() == "/v0/run").unwrap().json();
    assert_eq!(
        sent["job"],
        json!({
            "image": "acme/bench:v1", "spec": "large", "entrypoint": ["/bin/bench"], "cmd": ["--quick", "x"],
            "env": { "KEY": "s3cret" }, "timeout": 600, "file_paths": ["out/app"], "file_size": true, "iter": 3,
        })
    );
    assert_eq!((&sent["results"], &sent["testbed"]), (&json!([]), &Value::Null));
    assert_eq!(sent["settings"], json!({ "adapter": "json", "fold": "min" }));
}

#[test]
fn a_job_with_a_base_can_be_a_duet() {
    let lab = Lab::open();
    let flags = ["--dry-run", "--image", "acme/bench:v2", "--base-image", "acme/bench:v1"];
    let job = lab.report(&mut lab.command(&flags));
    assert_eq!(job.get("duet"), None);
    let job = lab.report(&mut lab.command(&[&flags[..], &["--duet"]].concat()));
    assert_eq!((&job["base"], &job["duet"]), (&json!("acme/bench:v1"), &json!(true)));
}

#[test]
fn a_failed_job_is_reported_with_its_output() {
    let lab = Lab::open();
    let report = lab.report(&mut lab.command(&["--json", &latency(1_000.0)]));
    let mut failed = state("failed");
    failed["output"] =
        json!({ "error": "It ran out of memory.", "results": [{ "exit_code": 137, "stderr": "Killed" }] });
    for (state, code, sentence) in [
        (
            failed,
            4,
            format!(
                "Killed\nerror: The job {JOB} failed after its command exited with status 137: It ran out of memory.\n"
            ),
        ),
        (state("canceled"), 1, format!("error: The job {JOB} was canceled; nothing was measured.\n")),
        (state("unknown"), 1, format!("error: The runner of the job {JOB} was lost; run it again.\n")),
    ] {
        let runs = serve(&report, &[state]);
        let output = ask(&lab, &runs, &["--quiet"]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(text(&output.stderr), sentence);
    }
    let runs = serve(&report, &[state("running")]);
    let output =
        ask(&lab, &runs, &["--quiet", "--job-timeout", "1", "--poll-interval", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("has not ended after 2 s"), "{output:?}");
    let output = ask(&lab, &runs, &["--detach"]).output().unwrap();
    assert!(
        output.status.success() && text(&output.stdout).starts_with(&format!("The job {JOB} is sent")),
        "{output:?}"
    );
}

#[test]
fn invalid_settings_of_a_job_are_rejected() {
    let lab = Lab::open();
    let refused = |arguments: &[&str]| {
        let output = lab.run(arguments);
        assert!(!text(&output.stderr).contains("s3cret"), "{output:?}");
        (output.status.code().unwrap(), text(&output.stderr).to_owned())
    };
    for (arguments, sentence) in [
        (&["--image", "a", "--env", "s3cret"] as &[&str], "is not of the form NAME=VALUE"),
        (&["--image", " "], "--image is empty"),
        (&["--image", "a", "--shell", "bash", "x"], "omit --shell"),
        (&["--spec", "a"], "--image"),
        (&["--image", "a", "--detach", "--poll-interval", "1"], "cannot be used with"),
        (&["--spec-reset", "x"], "--testbed"),
        (&["--build-time"], "--build-time requires a command"),
        (&["--build-time", "--file", "a", "x"], "cannot be used with"),
        (&["--file-size", "a", "--file-size", "a"], "names a twice"),
    ] {
        let (code, said) = refused(arguments);
        assert!(code == 2 && said.contains(sentence), "{arguments:?} {said}");
    }
    // The error of the server is shown.
    let (code, said) = refused(&["--image", "a", "--env", "A=s3cret", "--branch", "main"]);
    assert!(code == 7 && said.contains("belongs to another project"), "{said}");
    let output = lab.run(&["--image", "a", "--env", "A=s3cret", "--dry-run"]);
    assert!(output.status.success() && !text(&output.stdout).contains("s3cret"), "{output:?}");
    assert_eq!(lab.count(), 0);
}
