//! `tidemark bisect`: finds the commit that changed a benchmark, in real repositories with a benchmark whose noise is the same in
//! every run of the test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use axum::{Json, http::StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tidemark_test_support::Stub;

use crate::{
    context::{git, in_folder},
    job::{JOB, state},
};

/// Prints the level of the checkout with noise of 5 % that depends only on the number of the run.
const BENCH: &str = r#"
echo run >> "$DIARY"
n=$(wc -l < "$DIARY"); x=$(( (n * 7919 + n * n * 104729) % 101 - 50 )); l=$(cat level)
test ! -e fails || exit 7
printf '{"sort": {"latency": {"value": %d}}, "find": {"latency": {"value": %d}}}' \
    $((l * (1000 + x))) $((500000 + x * 500))
"#;

/// A repository with this number of commits.
struct Desk {
    folder: TempDir,
    commits: Vec<String>,
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

impl Desk {
    /// Creates commits; `level` returns the level of each, and `files` further files with their content.
    fn open(count: usize, level: impl Fn(usize) -> u32, files: impl Fn(usize) -> Vec<&'static str>) -> Self {
        let mut desk = Self { folder: tempfile::tempdir().unwrap(), commits: Vec::new() };
        let repository = desk.repository();
        fs::create_dir_all(&repository).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch", "trunk"]);
        fs::write(repository.join("bench.sh"), BENCH).unwrap();
        for number in 0..count {
            fs::write(repository.join("level"), format!("{}\n", level(number))).unwrap();
            for name in ["broken", "fails"] {
                let _ = fs::remove_file(repository.join(name));
            }
            for name in files(number) {
                fs::write(repository.join(name), "").unwrap();
            }
            git(&repository, &["add", "--all"]);
            let message = format!("Commit {number}");
            git(&repository, &["commit", "--quiet", "--allow-empty", "--message", &message]);
            desk.commits.push(git(&repository, &["rev-parse", "HEAD"]));
        }
        desk
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = in_folder(&self.repository());
        let folder = self.folder.path();
        command.env("DIARY", folder.join("diary")).env("TMPDIR", folder).env("HOME", folder);
        command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap()).env_remove("XDG_DATA_HOME");
        command.stdin(Stdio::null()).args(arguments);
        command
    }

    fn bisect(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(&["bisect", "--good", &self.commits[0]]);
        command.args(arguments).args(["--", "/bin/sh", "bench.sh"]).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.bisect(&[&["--json", "--quiet"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// Replaces the hashes of commits, which differ in every test, by texts of the same length.
    fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, hash) in self.commits.iter().enumerate() {
            text = text.replace(&hash[..10], &format!("commit-{number:03}"));
        }
        let date = git(&self.repository(), &["log", "-1", "--format=%cs"]);
        text.replace(&date, "2026-01-01")
    }

    fn is_tidy(&self) -> bool {
        let lists = git(&self.repository(), &["worktree", "list", "--porcelain"]);
        let left = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left = left.filter(|name| name.to_string_lossy().starts_with("tidemark-")).count();
        left == 0 && lists.lines().filter(|line| line.starts_with("worktree ")).count() == 1
    }
}

fn step_at(commit: usize) -> impl Fn(usize) -> u32 {
    move |number| if number < commit { 1_000 } else { 1_100 }
}

fn nothing(_: usize) -> Vec<&'static str> {
    Vec::new()
}

#[test]
fn the_culprit_is_found_despite_noise_and_broken_commits() {
    let broken = |number| match number {
        8 => vec!["broken"],
        4 => vec!["fails"],
        _ => Vec::new(),
    };
    let desk = Desk::open(17, step_at(11), broken);
    let output = desk.bisect(&["--setup", "test ! -e broken", "--checkouts", "3"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(desk.is_tidy());
    let shown = desk.redact(text(&output.stdout));
    insta::assert_snapshot!(shown);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let progress = desk.redact(text(&output.stderr));
    assert!(progress.contains("Searching 16 commits after commit-000.\n"), "{progress}");
    assert!(progress.contains("Searching for the change of sort (Latency).\n"), "{progress}");
    assert!(progress.contains("Skipping commit-008: The command that prepares commit-008"), "{progress}");
    assert!(progress.contains("; culprit commit-"), "{progress}");
}

#[test]
fn commits_before_the_culprit_that_do_not_build_stay_possible() {
    let desk = Desk::open(
        6,
        |number| if number < 4 { 1_500 } else { 1_000 },
        |number| {
            if number == 3 { vec!["fails"] } else { Vec::new() }
        },
    );
    let found = desk.json(&["--benchmark", "sort", "--measure", "latency"]);
    assert_eq!(found["status"], "found");
    assert_eq!(found["candidates"], json!([desk.commits[3], desk.commits[4]]));
    assert_eq!(found["culprit"]["subject"], "Commit 4");
    let commits = found["commits"].as_array().unwrap();
    let skipped = commits.iter().find(|commit| commit["hash"] == *desk.commits[3]).unwrap();
    assert_eq!(skipped["skipped"], "the benchmark command failed");
    let difference = found["difference"]["estimate"].as_f64().unwrap();
    assert!((-0.36..-0.30).contains(&difference), "{found:#}");
    assert!(found["probability"].as_f64().unwrap() >= 0.97);
    let output = desk.bisect(&["--quiet"]);
    assert!(text(&output.stderr).lines().all(|line| line.starts_with("warning: ")), "{output:?}");
    assert!(text(&output.stdout).contains("The culprit is one of 2 commits from "), "{output:?}");
}

#[test]
fn no_difference_and_an_early_end_have_exit_codes() {
    let desk = Desk::open(5, |_| 1_000, nothing);
    let output = desk.bisect(&["--quiet", "--benchmark", "sort"]);
    assert_eq!(output.status.code(), Some(11), "{output:?}");
    assert_eq!(text(&output.stderr), "error: No difference between good and bad in sort (Latency).\n");
    assert!(text(&output.stdout).starts_with("No difference between good and bad, "), "{output:?}");
    // The seventh run hangs. The time is long enough for six runs on a busy machine.
    fs::remove_file(desk.folder.path().join("diary")).unwrap();
    let mut command = desk.command(&["bisect", "--good", &desk.commits[0], "--max-time", "30", "--json"]);
    let hanging = "[ \"$(wc -l < \"$DIARY\")\" = 6 ] && exec sleep 3600; . ./bench.sh";
    let output = command.arg(format!("touch \"$DIARY\"; {hanging}")).output().unwrap();
    assert_eq!(output.status.code(), Some(12), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["status"], &found["runs"]), (&json!("undecided"), &json!(6)));
    assert!(desk.is_tidy());
}

#[test]
fn a_command_that_hangs_is_stopped_after_the_maximum_time() {
    let desk = Desk::open(3, step_at(2), nothing);
    for flags in [&["sleep 3600"][..], &["--setup", "sleep 3600", ". ./bench.sh"]] {
        let mut command = desk.command(&["bisect", "--good", &desk.commits[0], "--max-time", "1", "--quiet"]);
        let output = command.args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(6), "{output:?}");
        let stderr = text(&output.stderr);
        let error = "error: --max-time was over before the good and the bad commit were measured 3 times each. Increase \
                     --max-time.\n";
        assert!(stderr.ends_with(error), "{stderr}");
        assert!(desk.is_tidy());
    }
}

#[test]
fn invalid_arguments_are_reported() {
    let desk = Desk::open(3, step_at(2), |number| if number == 0 { vec!["fails"] } else { Vec::new() });
    let repository = desk.repository();
    git(&repository, &["branch", "side", &desk.commits[1]]);
    let first = desk.commits[0].clone();
    let run = |arguments: &[&str], folder: &Path| {
        let output = desk.command(arguments).current_dir(folder).output().unwrap();
        let code = output.status.code().unwrap();
        format!("{code} {}\n", desk.redact(text(&output.stderr)).lines().last().unwrap_or_default())
    };
    let mut messages = String::new();
    for arguments in [
        &["bisect", "--good", "HEAD", "true"][..],
        &["bisect", "--good", "HEAD", "--bad", "side", "true"],
        &["bisect", "--good", "nothing", "true"],
        &["bisect", "--good", "HEAD~1"],
        &["bisect", "--good", "HEAD~1", "--jobs", "--build-time", "true"],
        &["bisect", "--quiet", "--good", &first, "sh bench.sh"],
        &["bisect", "--quiet", "--good", "HEAD~1", "--benchmark", "none", "sh bench.sh"],
    ] {
        messages.push_str(&run(arguments, &repository));
    }
    messages.push_str(&run(&["bisect", "--good", "HEAD~1", "true"], desk.folder.path()));
    insta::assert_snapshot!(messages);
}

#[test]
fn a_merge_is_a_commit_of_the_first_parent() {
    let mut desk = Desk::open(3, |_| 1_000, nothing);
    let repository = desk.repository();
    git(&repository, &["checkout", "--quiet", "-b", "side", &desk.commits[1]]);
    fs::write(repository.join("level"), "1500\n").unwrap();
    git(&repository, &["commit", "--quiet", "--all", "--message", "slow"]);
    git(&repository, &["checkout", "--quiet", "trunk"]);
    git(&repository, &["merge", "--quiet", "--no-ff", "--message", "Merge side", "side"]);
    desk.commits.push(git(&repository, &["rev-parse", "HEAD"]));
    let output = desk.bisect(&["--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = desk.redact(text(&output.stdout));
    assert!(shown.starts_with("Culprit: commit-003 Merge side\n"), "{shown}");
    let hint =
        "tidemark bisect --good \"$(git merge-base commit-003^1 commit-003^2)\" --bad commit-003^2 …\n";
    assert!(shown.ends_with(hint), "{shown}");
}

#[test]
fn earlier_results_of_the_project_are_used() {
    let desk = Desk::open(9, step_at(5), nothing);
    let at = ["--project", "lab", "--testbed", "box", "--branch", "trunk"];
    for (number, hash) in desk.commits.iter().enumerate() {
        let value = step_at(5)(number) as usize * 1_000 + number * 777;
        let line = format!("echo '{{\"sort\": {{\"latency\": {{\"value\": {value}}}}}}}'");
        let output =
            desk.command(&["run", "--quiet", "--create", "--hash", hash]).args(at).arg(line).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let found = desk.json(&at);
    assert_eq!(
        (&found["reused"], &found["culprit"]["subject"]),
        (&json!(9), &json!("Commit 5")),
        "{found:#}"
    );
    assert_eq!(found["commits"].as_array().unwrap().len(), 9);
    assert_eq!(found["commits"][2]["reused"], json!([1_001_554.0]));
    let alone = desk.json(&[&at[..], &["--no-reuse"]].concat());
    assert_eq!((&alone["reused"], &alone["culprit"]["subject"]), (&json!(0), &json!("Commit 5")));
    assert!(found["runs"].as_u64() <= alone["runs"].as_u64(), "{found:#} {alone:#}");
}

#[test]
fn the_result_is_stored_with_the_event_of_a_change() {
    let desk = Desk::open(4, step_at(2), nothing);
    let mut results = String::new();
    for number in 0..60_u32 {
        let value = if number < 40 { 100 } else { 150 } + number % 3;
        let line = format!("echo '{{\"sort\": {{\"latency\": {{\"value\": {value}}}}}}}'");
        let hash = if number < 40 { &desk.commits[0] } else { &desk.commits[3] };
        let time = (1_767_225_600 + i64::from(number) * 60).to_string();
        let flags = ["--quiet", "--create", "--project", "lab", "--testbed", "box", "--branch", "trunk"];
        let mut command = desk.command(&["run", "--hash", hash, "--backdate", &time]);
        let output = command.args(flags).arg(line).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        results = text(&output.stdout).to_owned();
    }
    let list = desk.command(&["change", "list", "lab", "--json"]).output().unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    let change = list[0]["uuid"].as_str().unwrap_or_else(|| panic!("{list:#} {results}"));
    let mut command =
        desk.command(&["change", "bisect", change, "--project", "lab", "--quiet", "--no-reuse"]);
    let output = command.args(["--", "/bin/sh", "bench.sh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains(" Commit 2\n"), "{output:?}");
    let event = list[0]["event"].as_str().unwrap();
    let view = desk.command(&["event", "view", "lab", event]).output().unwrap();
    assert!(text(&view.stdout).contains(" Commit 2 (Ada), with "), "{view:?}");
}

/// A server with runners: each job measures the level of its commit. `end` returns the status of a job by its number.
fn runners(desk: &Desk, end: impl Fn(usize) -> &'static str + Send + 'static) -> Stub {
    let line = "echo '{\"sort\": {\"latency\": {\"value\": 1}}}'";
    let output = desk.command(&["run", "--json", "--quiet", "--create", "--project", "lab", line]).output();
    let report: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let (commits, mut asked) = (desk.commits.clone(), Vec::new());
    Stub::start(move |request| {
        let path = request.uri.path();
        let number = |text: &str| usize::from_str_radix(&text[text.len() - 4..], 16).unwrap();
        let uuid = |number: usize| json!(format!("0197a5b2-0000-7000-8000-00000000{number:04x}"));
        let (status, answer) = if path == "/v0/server/version" {
            (StatusCode::OK, json!({ "version": "0.6.13" }))
        } else if path == "/v0/run" {
            let image = request.json()["job"]["image"].as_str().unwrap().to_owned();
            let commit = commits.iter().position(|hash| image == format!("lab:{hash}")).unwrap();
            if commit == 2 {
                let message = "`job.image` cannot be used: the image does not exist; push it first.";
                let error = json!({ "request_id": JOB, "message": message, "error_code": "invalid" });
                return (StatusCode::BAD_REQUEST, Json(error));
            }
            asked.push(commit);
            let mut pending = report.clone();
            (pending["uuid"], pending["job"]) = (uuid(asked.len()), uuid(asked.len()));
            pending["results"] = json!([]);
            (StatusCode::CREATED, pending)
        } else if path.contains("/jobs/") {
            let run = number(path);
            let mut job = state(end(run));
            let value = step_at(4)(asked[run - 1]) as usize + run * 7919 % 13;
            let results = json!({ "sort": { "latency": { "value": value } } }).to_string();
            job["uuid"] = uuid(run);
            job["output"] = json!({ "results": [{ "exit_code": 0, "stdout": results }] });
            (StatusCode::OK, job)
        } else {
            (StatusCode::OK, report["project"].clone())
        };
        (status, Json(answer))
    })
}

fn search(desk: &Desk, host: &Stub, arguments: &[&str]) -> Output {
    let mut command = desk.command(&["bisect", "--good", &desk.commits[0], "--jobs", "--no-reuse", "--json"]);
    command.args(["--project", "lab"]).args(arguments);
    command.env("TIDEMARK_HOST", &host.address).output().unwrap()
}

#[test]
fn jobs_measure_the_images_of_the_commits() {
    let desk = Desk::open(6, step_at(4), nothing);
    let host = runners(&desk, |_| "processed");
    let output = search(&desk, &host, &["--iter", "2", "--spec", "metal", "--", "--quick"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["culprit"]["subject"], "Commit 4", "{found:#}");
    let requests = host.take_requests();
    let sent = requests.iter().find(|request| request.uri.path() == "/v0/run").unwrap().json();
    let image = format!("lab:{}", desk.commits[0]);
    let job = json!({ "image": image, "spec": "metal", "cmd": ["--quick"], "iter": 2, "isolated": true });
    assert_eq!(sent["job"], job);
    let branch = format!("bisect-{}-{}", &desk.commits[0][..10], &desk.commits[5][..10]);
    assert_eq!((&sent["branch"], &sent["hash"]), (&json!(branch), &json!(desk.commits[0])));
    assert!(requests.iter().all(|request| request.method != "DELETE"));
}

#[test]
fn a_job_that_is_lost_is_repeated_and_does_not_discard_the_others() {
    let desk = Desk::open(6, step_at(4), nothing);
    // Two lost jobs in sequence are repeated.
    let host = runners(&desk, |job| if job % 3 == 0 { "processed" } else { "unknown" });
    let output = search(&desk, &host, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains("warning: The runner of the job "), "{output:?}");
    // The third ends the search with the result so far.
    let host = runners(&desk, |job| if job <= 6 { "processed" } else { "canceled" });
    let output = search(&desk, &host, &[]);
    assert_eq!(output.status.code(), Some(12), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["status"], &found["runs"]), (&json!("undecided"), &json!(6)), "{found:#}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("nothing was measured. The search ends with the result so far."), "{stderr}");
    // Without a result, the search fails.
    let host = runners(&desk, |_| "unknown");
    let output = search(&desk, &host, &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(host.take_requests().iter().filter(|request| request.uri.path() == "/v0/run").count(), 3);
}

#[test]
fn a_job_that_does_not_end_is_canceled() {
    let desk = Desk::open(6, step_at(4), nothing);
    let host = runners(&desk, |job| if job <= 6 { "processed" } else { "running" });
    let output = search(&desk, &host, &["--job-timeout", "1", "--job-poll-interval", "1"]);
    assert_eq!(output.status.code(), Some(12), "{output:?}");
    let requests = host.take_requests();
    let count = requests.iter().filter(|request| request.method == "DELETE").count();
    assert_eq!(count, 3, "{output:?}");
}
