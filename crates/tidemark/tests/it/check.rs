//! `tidemark runner check`: reports a capability as good only after testing it, and finds limits that are not
//! enforced.

use std::{fs, os::unix::fs::PermissionsExt, process::Output};

use serde_json::Value;

use crate::process::{skip_container, tidemark};

/// Capabilities that a program inside a sandbox tests.
const TESTED: [&str; 6] = ["memory limit", "process limit", "disk", "system calls", "network", "cores"];

fn check(path: Option<&str>) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tidemark(&["runner", "check", "--json", "--data-dir"]);
    command.arg(folder.path());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    let answer = serde_json::from_slice(&output.stdout).unwrap();
    (output, answer)
}

/// Returns the state of a capability and its detail.
fn ability<'a>(answer: &'a Value, name: &str) -> (&'a str, &'a str) {
    let abilities = answer["abilities"].as_array().unwrap();
    let found = abilities
        .iter()
        .find(|ability| ability["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {answer}"));
    (found["state"].as_str().unwrap(), found["detail"].as_str().unwrap())
}

#[test]
fn every_limit_is_tried() {
    let (output, answer) = check(None);
    if ability(&answer, "runtime").0 == "missing" {
        skip_container(&format!("this machine cannot run containers: {answer}"));
        return;
    }
    assert!(output.status.success(), "{answer}");
    let has_groups = ability(&answer, "control groups").0 == "good";
    for name in TESTED {
        let (state, detail) = ability(&answer, name);
        assert!(state == "good" || (state == "poor" && !has_groups), "{name}: {state}, {detail}");
    }
    if has_groups {
        assert_eq!(ability(&answer, "memory limit").1, "a job with 64 MiB did not get more");
        assert_eq!(ability(&answer, "process limit").1, "a job started 2048 threads, and no more");
        assert_eq!(ability(&answer, "system calls").1, "dangerous system calls are denied");
    }
}

#[test]
fn a_runtime_that_ignores_limits_is_found_out() {
    let (_, answer) = check(None);
    let (runtime, detail) = ability(&answer, "runtime");
    if runtime == "missing" || !detail.starts_with("crun") || ability(&answer, "control groups").0 != "good" {
        skip_container(&format!(
            "this machine does not run containers with crun and control groups: {answer}"
        ));
        return;
    }
    // A runtime that removes the limits from its configuration.
    let folder = tempfile::tempdir().unwrap();
    let paths = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&paths).chain(["/usr/sbin".into()]).map(|path| path.join("crun"));
    let real = real.into_iter().find(|path| path.is_file()).unwrap();
    let script = format!(
        r#"#!/bin/sh
previous=
for word in "$@"; do
    if [ "$previous" = --bundle ]; then
        sed -i -e 's/"seccomp":/"ignored":/' -e 's/"pids":{{"limit":2048}}/"pids":{{"limit":0}}/' \
            -e 's/"memory":{{"limit":[0-9]*,"swap":[0-9]*}}/"memory":{{}}/' -e 's/"memory":{{"limit":[0-9]*}}/"memory":{{}}/' \
            -e 's/,{{"type":"network"}}//' "$word/config.json"
    fi
    previous=$word
done
exec {} "$@"
"#,
        real.display()
    );
    let wrapper = folder.path().join("crun");
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let (output, answer) = check(Some(&format!("{}:{paths}", folder.path().display())));
    assert_eq!(output.status.code(), Some(1), "{answer}");
    for (name, sentence) in [
        ("memory limit", "a job with 64 MiB took 128 MiB: enable the memory controller"),
        ("process limit", "a job started 4096 threads, not 2048: enable the pids controller"),
        ("system calls", "not denied: unshare open_tree; install a runtime with seccomp"),
        ("network", "a job without a network had one"),
    ] {
        let (state, detail) = ability(&answer, name);
        assert!(state == "missing" && detail.starts_with(sentence), "{name}: {state}, {detail}");
    }
}

#[test]
fn a_machine_without_a_runtime_reports_that_nothing_was_tried() {
    let folder = tempfile::tempdir().unwrap();
    let (output, answer) = check(Some(folder.path().to_str().unwrap()));
    if ability(&answer, "runtime").0 != "missing" {
        eprintln!("SKIPPED: this machine has a runtime outside of the search path: {answer}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{answer}");
    for name in TESTED {
        let said = "not tested: this host cannot run containers, see runtime";
        assert_eq!(ability(&answer, name), ("missing", said));
    }
}
