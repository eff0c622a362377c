//! `tidemark run --confirm` against a real server: suspected benchmarks are measured again before the exit status is decided.

use std::{fs, process::Output};

use serde_json::{Value, json};

use crate::{
    context::git,
    run::{Lab, text},
};

/// Prints times that depend on the checkout and on the number of the run. `SLOW` and `SLOW_FIND` slow down the run itself, but no
/// side of a comparison. With `HIDE`, the sides of a comparison have no benchmark `find`.
const BENCH: &str = r#"
echo "$TIDEMARK_SIDE $TIDEMARK_BENCHMARKS" >> "$DIARY"
n=$(wc -l < "$DIARY"); f=$(cat factor); g=1
test -n "$TIDEMARK_SIDE" || f=$((f * ${SLOW:-1})) g=${SLOW_FIND:-1}
printf '{"sort": {"latency": {"value": %d}}' $((f * (1000 + n % 3)))
test -n "$HIDE" -a -n "$TIDEMARK_SIDE" || printf ', "find": {"latency": {"value": %d}}' $((g * (5000 + n % 2)))
printf '}'
"#;

/// A server with a history, and a repository.
struct Confirming(Lab);

impl Confirming {
    /// Opens a project with earlier runs of the first commit.
    fn open() -> Self {
        let lab = Lab::open();
        let work = lab.work();
        git(&work, &["init", "--quiet", "--initial-branch", "main"]);
        fs::write(work.join("bench.sh"), BENCH).unwrap();
        fs::write(work.join("factor"), "10\n").unwrap();
        git(&work, &["add", "."]);
        let confirming = Self(lab);
        for index in 0..6 {
            confirming.commit(&format!("run {index}"));
            let output = confirming.run(&["--quiet"], &[]);
            assert!(output.status.success(), "{output:?}");
        }
        confirming
    }

    fn commit(&self, message: &str) {
        git(&self.0.work(), &["commit", "--quiet", "--allow-empty", "--all", "--message", message]);
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let diary = self.0.work().parent().unwrap().join("diary");
        let _ = fs::remove_file(&diary);
        let mut command = self.0.command(arguments);
        command.arg("sh bench.sh").env("DIARY", diary).envs(variables.iter().copied());
        command.output().unwrap()
    }

    fn diary(&self) -> String {
        fs::read_to_string(self.0.work().parent().unwrap().join("diary")).unwrap()
    }
}

/// Returns the suspects with their states.
fn states(report: &Value) -> Vec<[&str; 3]> {
    let suspects = report["confirmation"]["suspects"].as_array().unwrap();
    let fields = ["benchmark", "suspected", "state"];
    suspects.iter().map(|one| fields.map(|field| one[field].as_str().unwrap())).collect()
}

#[test]
fn a_real_regression_is_confirmed() {
    let confirming = Confirming::open();
    fs::write(confirming.0.work().join("factor"), "13\n").unwrap();
    confirming.commit("slower");
    let output = confirming.run(&["--confirm", "--error-on-change"], &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let (shown, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(shown.contains("\nMeasured again, against "), "{shown}");
    // The noise depends on the random order of the sides.
    let change =
        shown.split("\nconfirmed  sort       latency  +").nth(1).and_then(|rest| rest.split('%').next());
    let change: f64 = change.and_then(|change| change.parse().ok()).expect(shown);
    assert!((29.0..31.0).contains(&change), "{shown}");
    assert!(shown.contains("regressed  sort"), "{shown}");
    assert!(stderr.contains("again, against "), "{stderr}");
    assert!(stderr.ends_with("error: There is 1 regression against the baseline.\n"), "{stderr}");
    // `TIDEMARK_BENCHMARKS` selects the benchmarks of the command.
    let diary = confirming.diary();
    assert!(diary.contains("base sort") && diary.contains("new sort"), "{diary}");
    // The report that was sent has only the first measurement.
    assert_eq!(confirming.0.count(), 7);
}

#[test]
fn a_regression_of_an_earlier_commit_is_confirmed() {
    let confirming = Confirming::open();
    let before = git(&confirming.0.work(), &["rev-parse", "HEAD"]);
    fs::write(confirming.0.work().join("factor"), "13\n").unwrap();
    confirming.commit("slower");
    let output = confirming.run(&["--error-on-change"], &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // The newest run of the branch has the regression: it is not the base.
    confirming.commit("no change");
    let output = confirming.run(&["--confirm", "--error-on-change", "--json", "--quiet"], &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(states(&report)[0], ["sort", "regressed", "confirmed"], "{report:#}");
    assert!(before.starts_with(report["confirmation"]["base"].as_str().unwrap()), "{report:#}");
    // A base that has the regression, too, refutes nothing.
    confirming.commit("no change");
    let output = confirming.run(&["--confirm=HEAD~1", "--error-on-change"], &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let shown = text(&output.stdout);
    assert!(shown.contains("\nunresolved  sort"), "{shown}");
    assert!(
        shown.contains("\nA regression is unresolved if both sides have the value of this run: "),
        "{shown}"
    );
    assert!(!shown.contains("increase --max-time"), "{shown}");
}

#[test]
fn a_value_outside_a_static_limit_is_not_refuted_by_its_base() {
    let confirming = Confirming::open();
    let threshold = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "static",
        "--threshold-upper-boundary",
        "9000",
        "--err",
        "--confirm",
        "--json",
        "--quiet",
    ];
    confirming.commit("no change");
    let output = confirming.run(&threshold, &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(states(&report)[0], ["sort", "regressed", "confirmed"], "{report:#}");
    // With identical binaries, the base is outside the limit, too.
    confirming.commit("no change");
    let binary = ["--setup", "echo same > app", "--binary", "app"];
    let output = confirming.run(&[&threshold[..], &binary].concat(), &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // The value of the second measurement is within the limit.
    confirming.commit("no change");
    let threshold: Vec<&str> =
        threshold.iter().map(|word| if *word == "9000" { "11000" } else { *word }).collect();
    let output = confirming.run(&threshold, &[("SLOW", "2")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_disturbed_run_is_refuted() {
    let confirming = Confirming::open();
    confirming.commit("no change");
    let slow = [("SLOW", "2")];
    let output = confirming.run(&["--error-on-change"], &slow);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    confirming.commit("no change");
    let output = confirming.run(&["--confirm", "--error-on-change"], &slow);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = text(&output.stdout);
    assert!(shown.contains("\nrefuted "), "{shown}");
    assert!(shown.contains("unchanged"), "{shown}");
    confirming.commit("no change");
    let output = confirming.run(&["--confirm=HEAD~1", "--error-on-change", "--json", "--quiet"], &slow);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(states(&report)[0], ["sort", "regressed", "refuted"], "{:#}", report["confirmation"]);
    assert_eq!(report["confirmation"]["base"], "HEAD~1");
    // The other fields are those of a report.
    assert_eq!(report["counts"]["alerts"]["total"], 0);
}

#[test]
fn a_refuted_alert_does_not_fail() {
    let confirming = Confirming::open();
    let threshold = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "percentage",
        "--threshold-upper-boundary",
        "0.1",
        "--err",
    ];
    confirming.commit("with a threshold");
    let output = confirming.run(&threshold, &[("SLOW", "2")]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    confirming.commit("again");
    let arguments: Vec<&str> = threshold.iter().copied().chain(["--confirm"]).collect();
    let output = confirming.run(&arguments, &[("SLOW", "2")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // The server still has the alert.
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    confirming.commit("once more");
    let output = confirming.run(&arguments, &[("SLOW", "2")]);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["counts"]["alerts"]["total"], 1, "{report:#}");
}

#[test]
fn an_unresolved_regression_stays_a_regression() {
    let confirming = Confirming::open();
    let slow = [("SLOW", "2"), ("SLOW_FIND", "3"), ("HIDE", "yes")];
    confirming.commit("no change");
    let output = confirming.run(&["--confirm", "--error-on-change", "--json", "--quiet"], &slow);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut states = states(&report);
    states.sort_unstable();
    assert_eq!(states, [["find", "regressed", "unresolved"], ["sort", "regressed", "refuted"]]);
    assert!(
        text(&output.stderr).ends_with("error: There is 1 regression against the baseline.\n"),
        "{output:?}"
    );
    confirming.commit("no change");
    let output = confirming.run(&["--confirm", "--quiet"], &slow);
    assert!(text(&output.stdout).contains("\nUnresolved regressions count as regressions;"), "{output:?}");
}

#[test]
fn nothing_is_measured_again_without_a_reason() {
    let confirming = Confirming::open();
    // Without a suspect, nothing is measured.
    confirming.commit("no change");
    let output = confirming.run(&["--confirm", "--error-on-change"], &[]);
    assert!(output.status.success(), "{output:?}");
    // The base is the measured commit.
    confirming.commit("no change");
    let head = git(&confirming.0.work(), &["rev-parse", "HEAD"]);
    let start = ["--branch", "feature", "--start-point", "main", "--start-point-hash", &head];
    let arguments: Vec<&str> = ["--confirm", "--error-on-change"].into_iter().chain(start).collect();
    let output = confirming.run(&arguments, &[("SLOW", "2")]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("The base is the measured commit; nothing is measured again."), "{stderr}");
    // The base is not in the repository.
    let work = confirming.0.work();
    fs::remove_dir_all(work.join(".git")).unwrap();
    git(&work, &["init", "--quiet", "--initial-branch", "main"]);
    git(&work, &["add", "."]);
    confirming.commit("another history");
    let output = confirming.run(&["--confirm", "--error-on-change"], &[("SLOW", "3")]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("warning: Nothing could be measured again: git has no commit"), "{stderr}");
}

#[test]
fn an_identical_binary_is_refuted_without_a_measurement() {
    let confirming = Confirming::open();
    confirming.commit("no change");
    let output = confirming.run(
        &["--confirm", "--error-on-change", "--setup", "echo same > app", "--binary", "app", "--json"],
        &[("SLOW", "2")],
    );
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["confirmation"]["identical"], json!(true), "{report:#}");
    assert_eq!(confirming.diary().lines().count(), 1, "{}", confirming.diary());
}
