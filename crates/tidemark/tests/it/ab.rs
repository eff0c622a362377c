//! `tidemark run --ab`: filters of tools, duets, commands without a harness, and identical binaries. `compare.rs` tests the rounds
//! themselves.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Output, thread};

use serde_json::{Value, json};

use crate::compare::{Desk, text};

/// Prints the selected benchmarks: `find`, which never varies, and `sort`, whose time depends on the checkout and on the number of
/// the run. Logs the selection.
const SELECTING: &str = r#"
echo "$TIDEMARK_SIDE $TIDEMARK_BENCHMARKS" >> "$DIARY"
n=$(wc -l < "$DIARY"); f=$(cat factor)
case "${TIDEMARK_BENCHMARKS:-find}" in
*find*) printf '{"find": {"latency": {"value": 500}}, "sort": {"latency": {"value": %d}}}' $((f * (1000 + n % 3))) ;;
*) printf '{"sort": {"latency": {"value": %d}}}' $((f * (1000 + n % 3))) ;;
esac
"#;

/// A program with the name and the output of `cargo bench`: selects benchmarks with `--exact`. Logs its arguments.
const CARGO: &str = r#"#!/bin/sh
echo "$*" >> "$DIARY"
n=$(wc -l < "$DIARY"); f=$(cat factor)
case "$*" in *--exact*) test -z "$REJECT" || exit 1 ;; esac
case "$*" in *--exact*) ;; *) echo "test find ... bench: 500 ns/iter (+/- 0)" ;; esac
echo "test sort ... bench: $((f * (1000 + n % 3))) ns/iter (+/- 0)"
"#;

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the number of pairs of a benchmark.
fn pairs(found: &Value, benchmark: &str) -> u64 {
    let rows = found["comparisons"].as_array().unwrap();
    rows.iter().find(|row| row["benchmark"] == benchmark).unwrap()["base"]["runs"].as_u64().unwrap()
}

#[test]
fn benchmarks_with_a_verdict_are_not_run_again() {
    let desk = Desk::open();
    fs::write(desk.0.path().join("bench.sh"), SELECTING).unwrap();
    let output = desk.bench(&["run", "--ab", "HEAD", "--json", "sh $DIARY_FOLDER/bench.sh"]);
    let found = json_of(&output);
    // `find` never varies, so that 5 rounds are enough. Two comparisons at 99 % need 10 or 11 rounds if all agree.
    assert_eq!(pairs(&found, "find"), 5, "{found:#}");
    assert!((10..20).contains(&pairs(&found, "sort")), "{found:#}");
    let diary = desk.diary();
    assert!(diary.contains("base  ") && diary.contains("base sort ") && !diary.contains("find"), "{diary}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Round 6, base (HEAD), 1 benchmark without a verdict\n"), "{stderr}");
    assert!(stderr.contains("After round 5: 1 inconclusive, 1 without a difference; about"), "{stderr}");
    assert!(stderr.contains("\n  inconclusive   sort (latency): +"), "{stderr}");
    assert!(stderr.contains("\n  no difference  find (latency): +0.00%\n"), "{stderr}");
}

/// Puts the fake `cargo` first in the search path, and runs it as the benchmark command.
fn with_cargo(desk: &Desk, reject: &str) -> Output {
    let bin = desk.0.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("cargo");
    fs::write(&program, CARGO).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = desk.command(&desk.repository().join("sub"));
    command.env("PATH", path).env("REJECT", reject);
    command.args(["run", "--ab", "HEAD", "--json", "--quiet", "cargo bench"]).output().unwrap()
}

#[test]
fn the_tool_is_told_which_benchmarks_to_run() {
    let desk = Desk::open();
    let output = with_cargo(&desk, "");
    let found = json_of(&output);
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(pairs(&found, "find"), 5, "{found:#}");
    let diary = desk.diary();
    assert_eq!(
        diary.matches("bench -- --exact sort").count() + 10,
        diary.matches("bench").count(),
        "{diary}"
    );
}

#[test]
fn a_rejected_filter_does_not_end_the_comparison() {
    let desk = Desk::open();
    let output = with_cargo(&desk, "yes");
    let found = json_of(&output);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("warning: Round 6 for "), "{stderr}");
    assert!(stderr.contains("all benchmarks run again."), "{stderr}");
    assert_eq!(pairs(&found, "find"), pairs(&found, "sort"), "{found:#}");
    assert_eq!(desk.diary().matches("--exact").count(), 1, "{}", desk.diary());
}

#[test]
fn the_elapsed_time_of_a_plain_command_is_compared() {
    let desk = Desk::open();
    let output = desk.bench(&["run", "--ab", "HEAD", "--iter", "2", "--json", "--quiet", "echo done"]);
    let found = json_of(&output);
    let first = &found["comparisons"][0];
    assert_eq!(
        (&first["benchmark"], &first["measure"], &first["base"]["runs"]),
        (&json!("echo done"), &json!("latency"), &json!(2))
    );
    assert!(first["base"]["value"].as_f64().unwrap() > 0.0, "{first}");
    assert!(text(&output.stderr).starts_with("The output of the command has no known format;"), "{output:?}");
    // The format is named, so that other output is an error.
    let output = desk.bench(&["run", "--ab", "HEAD", "--adapter", "json", "echo done"]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    // A command that fails is not measured.
    let output = desk.bench(&["run", "--ab", "HEAD", "echo done; exit 1"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    // The duration of the command, and sizes of files, of two commits.
    let output =
        desk.bench(&["compare", "HEAD", "HEAD", "--build-time", "--iter", "1", "--json", "--", "true"]);
    assert_eq!(json_of(&output)["comparisons"][0]["measure"], "build-time");
    let output = desk.bench(&["compare", "HEAD", "HEAD", "--file-size", "factor", "--json"]);
    assert_eq!(json_of(&output)["comparisons"][0]["verdict"], "no_difference");
    assert!(desk.is_tidy());
}

#[test]
fn identical_binaries_are_not_measured() {
    let desk = Desk::open();
    let run = |setup: &str, command: &str, format: &str| {
        desk.bench(&[
            "run", "--ab", "HEAD", "--err", "--setup", setup, "--binary", "app", "--format", format, command,
        ])
    };
    let output = run("echo same > app", "sh bench.sh", "human");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(desk.diary(), "");
    insta::assert_snapshot!(text(&output.stdout), @r"
    The binaries of HEAD (base) and work tree (new) are identical (SHA-256 a6328afc76e9db71da297ebff4b0d3e7a7eb3b01d917c05a6573fef121b6ecb6); nothing was measured.

    Verdict: identical.
    ");
    let found = json_of(&run("echo same > app", "sh bench.sh", "json"));
    assert_eq!((&found["verdict"], &found["comparisons"]), (&json!("identical"), &json!([])));
    let output = run("echo same > app", "sh bench.sh", "markdown");
    assert!(text(&output.stdout).ends_with("identical.\n"), "{output:?}");
    // The benchmark command builds the binary: the first round shows that it is identical.
    let output = run("true", "echo built > app; sh bench.sh", "human");
    assert!(text(&output.stdout).ends_with("Verdict: identical.\n"), "{output:?}");
    assert_eq!(desk.diary().split_whitespace().count(), 2, "{}", desk.diary());
    // Different binaries are measured.
    let output = run("echo $TIDEMARK_SIDE > app", "sh bench.sh", "human");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let output = desk.bench(&["run", "--ab", "HEAD", "--iter", "1", "--binary", "none", "sh bench.sh"]);
    assert!(
        text(&output.stderr).contains("has no file none; whether the binaries are identical is unknown."),
        "{output:?}"
    );
    assert!(desk.is_tidy());
}

#[test]
fn flags_require_a_comparison() {
    let desk = Desk::open();
    for (arguments, sentence) in [
        (&["run", "--duet", "true"] as &[&str], "--duet requires --ab, --confirm or --base-image"),
        (&["run", "--setup", "true", "true"], "--setup requires --ab or --confirm"),
        (&["run", "--confirm"], "--confirm requires a command"),
        (&["run", "--confirm=nowhere", "true"], "git has no commit `nowhere`"),
        (&["run", "--ab", "HEAD", "--duet", "--file-size", "factor"], "--duet requires a command"),
        (&["compare", "factor", "factor", "--duet"], "--duet requires a command"),
    ] {
        let output = desk.bench(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {output:?}");
        assert!(text(&output.stderr).contains(sentence), "{arguments:?} {output:?}");
    }
}

/// Prints a constant, and logs the side with the cores that it may use.
const PINNED: &str = r#"
echo "$TIDEMARK_SIDE $(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)" >> "$DIARY"
printf '{"sort": {"latency": {"value": %d}}}' $(cat factor)
"#;

#[cfg(target_os = "linux")]
#[test]
fn the_sides_of_a_duet_swap_their_cores() {
    let desk = Desk::open();
    fs::write(desk.0.path().join("bench.sh"), PINNED).unwrap();
    let arguments = ["run", "--ab", "HEAD", "--duet", "--json", "sh $DIARY_FOLDER/bench.sh"];
    let output = desk.bench(&arguments);
    if thread::available_parallelism().unwrap().get() == 1 {
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        return;
    }
    let found = json_of(&output);
    assert_eq!(pairs(&found, "sort"), 9, "{found:#}");
    assert_eq!(found["comparisons"][0]["verdict"], "regression");
    // Each round runs both sides twice, and each side uses each set of cores once.
    let diary = fs::read_to_string(desk.0.path().join("diary")).unwrap();
    let lines: Vec<&str> = diary.lines().collect();
    assert_eq!(lines.len(), 36, "{diary}");
    let sets = |side: &str, round: &[&str]| {
        let mut sets: Vec<String> =
            round.iter().filter_map(|line| Some(line.strip_prefix(side)?.trim().to_owned())).collect();
        sets.sort();
        sets
    };
    for round in lines.chunks(4) {
        let (base, new) = (sets("base", round), sets("new", round));
        assert_eq!(base, new, "{diary}");
        assert!(base.len() == 2 && base[0] != base[1], "{diary}");
    }
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Round 1, base on core"), "{stderr}");
    assert!(desk.is_tidy());
}

#[cfg(target_os = "linux")]
#[test]
fn a_duet_needs_two_cores() {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let desk = Desk::open();
    let allowed = sched_getaffinity(None).unwrap();
    let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap();
    // The command inherits the cores of the thread that starts it.
    let output = thread::scope(|scope| {
        let run = || {
            let mut set = CpuSet::new();
            set.set(core);
            sched_setaffinity(None, &set).unwrap();
            desk.bench(&["run", "--ab", "HEAD", "--duet", "sh bench.sh"])
        };
        scope.spawn(run).join().unwrap()
    });
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let sentence = format!(
        "error: --duet requires two cores; this process may use only core {core}. Omit --duet to run the sides \
         alternately.\n"
    );
    assert_eq!(text(&output.stderr), sentence);
    assert!(!Path::new(&desk.0.path().join("diary")).exists());
}

#[test]
fn commands_that_do_not_end_are_stopped_at_the_limit() {
    let desk = Desk::open();
    let limit = ["run", "--ab", "HEAD", "--quiet", "--max-time", "1"];
    // The shell has a child process that keeps the output open.
    let hanging = "sleep 600 | cat; true";
    let output = desk.bench(&[&limit[..], &[hanging]].concat());
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let stderr = text(&output.stderr);
    let stopped = ": the benchmark command was stopped because --max-time was over; the round is left out.\n\
                   error: No round ended within --max-time (1 s); nothing was measured. Increase --max-time.\n";
    assert!(stderr.ends_with(stopped), "{stderr}");
    let output = desk.bench(&[&limit[..], &["--setup", hanging, "true"]].concat());
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let stderr = text(&output.stderr);
    assert!(stderr.ends_with("was stopped because --max-time was over; increase --max-time.\n"), "{stderr}");
}
