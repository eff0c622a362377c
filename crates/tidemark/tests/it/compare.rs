//! `tidemark compare` and `tidemark run --ab`: compare files and commits without a server.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    context::{git, in_folder},
    process::wait_until,
};

/// Prints the factor of the checkout times a number that changes from run to run as the latency, and logs which side
/// ran.
const BENCH: &str = r#"
echo "$TIDEMARK_SIDE" >> "$DIARY"
n=$(wc -l < "$DIARY"); f=$(cat factor)
test ! -e broken || exit 7
printf '{"sort": {"latency": {"value": %d}, "throughput": {"value": %d}}, "find": {"latency": {"value": 500}}}' \
    $((f * (1000 + n % 3))) $((1000000 / f - n % 3))
"#;

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A folder for files, and a repository whose work tree is slower than its commit.
pub(crate) struct Desk(pub(crate) TempDir);

impl Desk {
    pub(crate) fn open() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let repository = desk.repository();
        fs::create_dir_all(repository.join("sub")).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch", "trunk"]);
        for (file, content) in [("sub/bench.sh", BENCH), ("sub/factor", "10\n")] {
            fs::write(repository.join(file), content).unwrap();
        }
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "--message", "first"]);
        fs::write(repository.join("sub/factor"), "12\n").unwrap();
        desk
    }

    pub(crate) fn repository(&self) -> std::path::PathBuf {
        self.0.path().join("repository")
    }

    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = in_folder(folder);
        command.env("DIARY", self.0.path().join("diary")).env("TMPDIR", self.0.path()).stdin(Stdio::null());
        command.env("GIT_CEILING_DIRECTORIES", self.0.path().parent().unwrap());
        command.env("DIARY_FOLDER", self.0.path());
        command
    }

    /// Runs our command in the folder of the benchmark.
    pub(crate) fn bench(&self, arguments: &[&str]) -> Output {
        self.command(&self.repository().join("sub")).args(arguments).output().unwrap()
    }

    pub(crate) fn diary(&self) -> String {
        fs::read_to_string(self.0.path().join("diary")).unwrap_or_default().replace('\n', " ")
    }

    /// Whether all checkouts are gone, from the disk and from git.
    pub(crate) fn is_tidy(&self) -> bool {
        let lists = git(&self.repository(), &["worktree", "list", "--porcelain"]);
        let left = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left = left.filter(|name| name.to_string_lossy().starts_with("tidemark-")).count();
        left == 0 && lists.lines().filter(|line| line.starts_with("worktree ")).count() == 1
    }

    /// Writes one file of results per value.
    fn results(&self, folder: &str, values: &[f64]) -> String {
        let path = self.0.path().join(folder);
        fs::create_dir_all(&path).unwrap();
        for (index, value) in values.iter().enumerate() {
            let results = json!({
                "sort": { "latency": { "value": value } },
                "find <b>|": { "throughput": { "value": value * 2.0 } },
                "count": { "my own": { "value": 7 } },
            });
            fs::write(path.join(format!("{index}.json")), results.to_string()).unwrap();
        }
        folder.to_owned()
    }

    fn compare(&self, arguments: &[&str]) -> Output {
        self.command(self.0.path()).arg("compare").args(arguments).output().unwrap()
    }
}

#[test]
fn files_of_repeated_runs_are_judged() {
    let desk = Desk::open();
    let base = desk.results("base", &[100.0, 101.0, 102.0, 99.0, 100.0]);
    let new = desk.results("new", &[120.0, 119.0, 121.0, 118.0, 122.0]);
    let output = desk.compare(&[&base, &new, "--err"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(text(&output.stderr), "error: There is 1 regression.\n");
    insta::assert_snapshot!(text(&output.stdout));
    let output = desk.compare(&[&base, &new, "--format", "markdown"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    insta::assert_snapshot!(text(&output.stdout));
    let output = desk.compare(&[&base, &new, "--json", "--confidence", "0.9"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sort = &found["comparisons"][0];
    assert_eq!((&sort["verdict"], &sort["base"]["runs"]), (&json!("regression"), &json!(5)));
    let number = |name: &str| sort[name].as_f64().unwrap();
    assert!(number("lower") < 0.195 && number("upper") > 0.195 && number("p") < number("p_adjusted"));
    // The reverse comparison is an improvement.
    let output = desk.compare(&[&new, &base, "--err"]);
    assert!(text(&output.stdout).contains("improvement"), "{output:?}");
}

#[test]
fn results_declare_the_direction_of_a_measure() {
    let desk = Desk::open();
    for (direction, verdict) in [
        (json!("lower_is_better"), "regression"),
        (json!("higher_is_better"), "improvement"),
        (Value::Null, "difference"),
    ] {
        let write = |file: &str, values: [f64; 5]| {
            let line =
                |value| json!({ "sort": { "Hits": { "value": value, "direction": direction } } }).to_string();
            fs::write(desk.0.path().join(file), values.map(line).join("\n")).unwrap();
        };
        write("base", [100.0, 101.0, 102.0, 99.0, 100.0]);
        write("new", [120.0, 119.0, 121.0, 118.0, 122.0]);
        let found: Value = serde_json::from_slice(&desk.compare(&["base", "new", "--json"]).stdout).unwrap();
        assert_eq!(found["comparisons"][0]["verdict"], verdict, "{found:#}");
    }
}

#[test]
fn a_file_may_hold_many_runs() {
    let desk = Desk::open();
    let line = |value: f64| json!({ "sort": { "latency": { "value": value } } }).to_string();
    let lines = [1.0, 1.1, 1.2, 1.1, 1.0].map(|value| line(value * 100.0)).join("\n");
    fs::write(desk.0.path().join("lines"), lines).unwrap();
    fs::write(desk.0.path().join("one"), line(100.0)).unwrap();
    let found =
        |arguments: &[&str]| -> Value { serde_json::from_slice(&desk.compare(arguments).stdout).unwrap() };
    let runs = |found: &Value| {
        (found["comparisons"][0]["base"]["runs"].clone(), found["comparisons"][0]["new"]["runs"].clone())
    };
    assert_eq!(runs(&found(&["lines", "one", "--json"])), (json!(5), json!(1)));
    let more = found(&["lines", "one", "--also-new", "one", "--also-new", "lines", "--json"]);
    assert_eq!(runs(&more), (json!(5), json!(7)));
}

#[test]
fn one_run_per_side_is_inconclusive() {
    let desk = Desk::open();
    let with_range = |file: &str, value: f64| {
        let results = json!({ "sort": { "latency": { "value": value, "lower_value": value - 1.0, "upper_value": value + 1.0 } } });
        fs::write(desk.0.path().join(file), results.to_string()).unwrap();
    };
    with_range("a", 100.0);
    with_range("b", 110.0);
    let output = desk.compare(&["a", "b", "--err"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    insta::assert_snapshot!(text(&output.stdout), @r"
    json: 1 benchmark, a (base) and b (new)

    Verdict       Benchmark  Measure    Base     New   Change   Runs  Note
    inconclusive  sort       latency  100 ns  110 ns  +10.00%  1 + 1  ranges apart

    For more precise results, use at least 4 runs per side, or measure both sides alternately with `tidemark run --ab`.

    Verdict: 1 inconclusive.
    ");
}

#[test]
fn an_invalid_comparison_is_an_error() {
    let desk = Desk::open();
    fs::write(desk.0.path().join("a"), r#"{"a": {"latency": {"value": 1}}}"#).unwrap();
    fs::write(desk.0.path().join("b"), r#"{"b": {"latency": {"value": 1}}}"#).unwrap();
    fs::create_dir(desk.0.path().join("empty")).unwrap();
    for (arguments, code, sentence) in [
        (&["a", "b"] as &[&str], 6, "a and b have no benchmark and measure in common"),
        (&["a", "missing"], 2, "There is no file missing"),
        (&["a", "empty"], 6, "no file in the folder empty"),
        (&["a", "a", "--confidence", "2"], 2, "less than 1"),
        (&["HEAD", "HEAD", "--", "true"], 2, "not a git repository"),
    ] {
        let output = desk.compare(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
        assert!(text(&output.stderr).contains(sentence), "{arguments:?} {output:?}");
    }
}

#[test]
fn the_work_tree_is_measured_in_turn_with_a_commit() {
    let desk = Desk::open();
    let output = desk.bench(&["run", "--ab", "HEAD", "--err", "--setup", "echo ready", "sh bench.sh"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let diary = desk.diary();
    let rounds: Vec<&str> = diary.split_inclusive(' ').collect();
    assert_eq!(rounds.len() % 2, 0, "{diary}");
    assert!(rounds.chunks(2).all(|round| round.contains(&"base ") && round.contains(&"new ")), "{diary}");
    let shown = text(&output.stdout);
    assert!(shown.starts_with("json: 2 benchmarks, HEAD (base) and work tree (new)\n"), "{shown}");
    assert!(shown.contains("2 regressions, 1 without a difference"), "{shown}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Preparing base (HEAD): echo ready\nready\n"), "{stderr}");
    assert!(stderr.contains("Round 5, base (HEAD)"), "{stderr}");
    assert!(stderr.contains("After round 1: 3 inconclusive"), "{stderr}");
    assert!(desk.is_tidy());
}

#[test]
fn one_round_is_one_pair() {
    let desk = Desk::open();
    // The number in the file applies only to recorded runs.
    fs::write(desk.repository().join("tidemark.toml"), "iter = 2\n").unwrap();
    let output = desk.bench(&["run", "--ab", "HEAD", "--iter", "1", "--quiet", "sh bench.sh"]);
    assert!(output.status.success(), "{output:?}");
    assert!(["base new ", "new base "].contains(&desk.diary().as_str()));
    assert!(text(&output.stdout).contains("1 pair"), "{output:?}");
}

#[test]
fn times_and_sizes_are_compared() {
    let desk = Desk::open();
    let setup = "if test $TIDEMARK_SIDE = base; then echo small; else echo larger; fi > size";
    let output = desk.bench(&["run", "--ab", "HEAD", "--setup", setup, "--file-size", "size", "--err"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    insta::assert_snapshot!(text(&output.stdout));
    let output = desk.bench(&["run", "--ab", "HEAD", "--build-time", "--iter", "1", "--json", "true"]);
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &found["comparisons"][0];
    assert_eq!((&first["benchmark"], &first["measure"]), (&json!("true"), &json!("build-time")));
    assert!(desk.is_tidy());
}

#[test]
fn the_command_of_the_repository_is_run_in_each_checkout() {
    let desk = Desk::open();
    fs::write(
        desk.repository().join("tidemark.toml"),
        "command = 'sh sub/bench.sh > results.json'\nfile = ['results.json']\n",
    )
    .unwrap();
    // The script reads its factor from its working directory.
    for (factor, message) in [("10\n", "fast"), ("12\n", "slow")] {
        fs::write(desk.repository().join("factor"), factor).unwrap();
        git(&desk.repository(), &["add", "."]);
        git(&desk.repository(), &["commit", "--quiet", "--message", message]);
    }
    let output = desk.bench(&["run", "--ab", "HEAD~1", "--format", "json", "--quiet"]);
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["comparisons"][0]["verdict"], "regression", "{found}");
    assert!(desk.is_tidy());
}

#[test]
fn two_commits_are_measured_in_turn() {
    let desk = Desk::open();
    git(&desk.repository(), &["commit", "--quiet", "--all", "--message", "second"]);
    let arguments = ["--iter", "20", "--json", "--quiet", "--", "sh", "bench.sh"];
    let mut all = vec!["compare", "HEAD~1", "trunk"];
    all.extend(arguments);
    let output = desk.bench(&all);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["paired"], &found["new"]), (&json!(true), &json!("trunk")));
    let first = &found["comparisons"][0];
    assert_eq!(first["verdict"], "regression");
    // One of three comparisons at 99 % needs 11 rounds if all agree.
    assert!(matches!(first["base"]["runs"].as_u64(), Some(10..20)), "{first}");
    assert!(desk.is_tidy());
}

#[test]
fn nothing_is_left_behind_when_it_fails() {
    let desk = Desk::open();
    fs::write(desk.repository().join("sub/broken"), "").unwrap();
    let output = desk.bench(&["run", "--ab", "HEAD", "sh bench.sh"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(
        text(&output.stderr)
            .contains("Round 1 for new (work tree): the benchmark command exited with status 7")
    );
    assert!(output.stdout.is_empty() && desk.is_tidy());
    let output = desk.bench(&["run", "--ab", "HEAD", "--allow-failure", "sh bench.sh"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let output = desk.bench(&["run", "--ab", "HEAD", "--ab-setup", "exit 3", "sh bench.sh"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let output = desk.bench(&["run", "--ab", "nowhere", "sh bench.sh"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("git has no commit `nowhere`"), "{output:?}");
    assert!(desk.is_tidy());
}

#[test]
fn nothing_is_left_behind_when_it_is_interrupted() {
    for signal in ["INT", "TERM"] {
        let desk = Desk::open();
        let mut command = desk.command(&desk.repository().join("sub"));
        let mut process = command
            .args(["run", "--ab", "HEAD", "touch ../../started; sleep 6000"])
            .env("TMPDIR", desk.repository().parent().unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The first side is random: the work tree or the checkout, one or two folders below the common folder.
        let is_there = || {
            let checkouts = fs::read_dir(desk.0.path()).unwrap().map(|entry| entry.unwrap().path());
            let folders = checkouts.chain([desk.0.path().to_owned()]);
            folders.into_iter().any(|path| path.join("started").exists())
        };
        wait_until("the benchmark command does not start", is_there);
        let id = process.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let code = process.wait().unwrap().code();
        assert_eq!(code, Some(if signal == "INT" { 130 } else { 143 }));
        assert!(desk.is_tidy(), "{signal}");
    }
}
