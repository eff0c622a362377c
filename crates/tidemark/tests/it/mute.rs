//! `tidemark mute`, and the exit status of runs with muted benchmarks.

use insta::assert_snapshot;

use crate::desk::Desk;

#[test]
fn mutes_of_a_project() {
    let mut desk = Desk::with_project();
    desk.try_out("mute create lab --reason Flaky");
    desk.try_out("mute create lab --benchmark parse --reason Flaky --for soon");
    desk.run("mute create lab --benchmark 'parser::*' --branch main --reason 'Flaky since the move'");
    let mute = desk.json("mute create lab --testbed laptop --reason 'Under repair' --for _");
    let mute = mute["uuid"].as_str().unwrap().to_owned();
    desk.run("mute list lab");
    desk.run("mute list lab --expired true");
    desk.run(&format!("mute view lab {mute}"));
    desk.run(&format!("mute delete lab {mute}"));
    desk.try_out(&format!("mute view lab {mute}"));
    assert_snapshot!(desk.conversation());
}

#[test]
fn a_muted_alert_does_not_fail_a_run() {
    let mut desk = Desk::with_project();
    let results = r#"{"parse": {"latency": {"value": 100}}}"#;
    std::fs::write(desk.folder.path().join("results.json"), results).unwrap();
    let run = "run --project lab --branch main --testbed ci --adapter json --file results.json --quiet --error-on-alert \
               --threshold-measure latency --threshold-test static --threshold-upper-boundary 10";
    let failed = desk.try_out(run);
    assert!(!failed.status.success());
    desk.run("mute create lab --benchmark parse --reason Flaky");
    let passed = desk.try_out(run);
    assert!(passed.status.success(), "{passed:?}");
}
