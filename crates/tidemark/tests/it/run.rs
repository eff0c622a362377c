//! `tidemark run` against a real server: requests, output and exit status.

use std::{
    fs,
    process::{Command, Output, Stdio},
    time::Instant,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    client::Client,
    context::{git, in_folder, repository},
    process::{Port, Server, tidemark},
};

/// Public URL of the server.
const CONSOLE: &str = "https://tidemark.example.com";

/// A server with a project, and a folder to run in.
pub(crate) struct Lab {
    pub(crate) server: Server,
    pub(crate) token: String,
    folder: TempDir,
}

impl Lab {
    pub(crate) fn open() -> Self {
        Self::open_with(&[])
    }

    /// Opens a lab with settings in the environment of the server.
    pub(crate) fn open_with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut serve = tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]);
        serve.arg(&data).env("TIDEMARK_CONSOLE__URL", CONSOLE).envs(settings.iter().copied());
        let mut server = Server::spawn(&mut serve);
        let mut client = Client::connect(&server);
        client.sign_up("Ada", &data);
        let (status, answer) =
            client.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
        assert_eq!(status, 201, "{answer}");
        server.drain();
        let token = client.token.clone();
        fs::create_dir(folder.path().join("work")).unwrap();
        Self { server, token, folder }
    }

    pub(crate) fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    /// Returns the command, isolated from CI and from the repository of the tests.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = in_folder(&self.work());
        command.env("GIT_CEILING_DIRECTORIES", self.folder.path()).stdin(Stdio::null());
        command.env("TIDEMARK_HOST", format!("http://{}", self.server.address));
        command.env("TIDEMARK_API_TOKEN", &self.token).env("TIDEMARK_PROJECT", "lab");
        command.arg("run").args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command and returns the report.
    pub(crate) fn report(&self, command: &mut Command) -> Value {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the number of reports of the project.
    pub(crate) fn count(&self) -> usize {
        let mut client = Client::connect_as(&self.server, &self.token);
        let (status, list) = client.get("/v0/projects/lab/reports?per_page=255").unwrap();
        assert_eq!(status, 200, "{list}");
        list.as_array().unwrap().len()
    }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Returns a shell command that prints results.
pub(crate) fn printing(results: &Value) -> String {
    format!("printf %s '{results}'")
}

pub(crate) fn latency(value: f64) -> String {
    printing(&json!({ "sort": { "latency": { "value": value } } }))
}

#[test]
fn the_verdict_comes_with_the_second_run() {
    let lab = Lab::open();
    let watch = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "percentage",
        "--threshold-upper-boundary",
        "0.10",
        "--err",
        "--branch",
        "main",
    ];
    let run = |results: &Value| {
        let line = printing(results);
        let mut arguments = watch.to_vec();
        arguments.push(&line);
        lab.run(&arguments)
    };
    let results = |sort: f64, find: f64| json!({ "find": { "latency": { "value": find } }, "sort": { "latency": { "value": sort }, "size": { "value": 3 } } });
    let first = run(&results(2_000.0, 1_000_000.0));
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let shown = text(&first.stdout);
    assert!(
        shown.ends_with(
            "\nVerdict: 3 inconclusive, the thresholds of 2 values have too few earlier values.\n"
        ),
        "{shown}"
    );
    assert!(shown.contains("inconclusive  sort"), "{shown}");
    // The output of the command is shown, but not mixed with the verdict.
    assert!(text(&first.stderr).contains(r#""latency""#) && !shown.contains(r#""latency""#));

    let second = run(&results(2_100.0, 1_000_000.0));
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    assert!(text(&second.stdout).ends_with(", no value outside the configured threshold.\n"), "{second:?}");

    let third = run(&results(4_100.0, 900_000.0));
    assert_eq!(third.status.code(), Some(3), "{third:?}");
    assert_eq!(text(&third.stderr).lines().last().unwrap(), "error: There is 1 alert.");
    let shown = text(&third.stdout);
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split("  ").collect()).collect();
    let cells = |line: usize| -> Vec<&str> {
        lines[line].iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect()
    };
    assert_eq!(cells(0), ["json: 2 benchmarks"]);
    assert_eq!(cells(2), ["Verdict", "Benchmark", "Measure", "Value", "Change", "95%", "Limit", "History"]);
    assert_eq!(
        cells(3),
        ["inconclusive", "sort", "Latency", "4.100 µs", "+100.00%", "±14.3%", "outside ≤ 2.255 µs", "▁▁█"]
    );
    assert_eq!(
        cells(4),
        ["inconclusive", "find", "Latency", "900 µs", "-10.00%", "±0.0%", "≤ 1.100 ms", "██▁"]
    );
    assert!(
        shown.ends_with("\n\nVerdict: 3 inconclusive, 1 value outside the configured threshold.\n"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    // The link before the verdict points to the report.
    let link = shown.lines().rev().nth(2).unwrap();
    let report = link.strip_prefix(&format!("{CONSOLE}/perf/lab/reports/")).unwrap();
    let path = format!("/v0/projects/lab/reports/{report}");
    let (status, report) = Client::connect_as(&lab.server, &lab.token).get(&path).unwrap();
    assert_eq!((status, &report["counts"]["alerts"]["total"]), (200, &json!(1)));
    // Without the flag, an alert is not a failure.
    let fourth = lab.run(&["--branch", "main", &latency(9_000.0)]);
    assert_eq!(fourth.status.code(), Some(0), "{fourth:?}");
    assert!(text(&fourth.stdout).contains("1 value outside the configured threshold"), "{fourth:?}");
}

#[test]
fn a_failure_has_its_exit_code_and_sends_nothing() {
    let lab = Lab::open();
    // No process listens on this port.
    let free = Port::reserve();
    let unreachable = format!("http://{}", free.address);
    let good = latency(1.0);
    for (arguments, code, sentence) in [
        (&["exit 7"] as &[&str], 4, "The benchmark command exited with status 7"),
        (&["--quiet", "echo broken >&2; false"], 4, "broken\n"),
        (&["kill -9 $$"], 4, "killed by signal 9 (SIGKILL"),
        (&["--exec", "no-such-program"], 4, "cannot be started"),
        (&["echo 1", "--json"], 4, "Put the flags of tidemark before the command."),
        (&["echo hello"], 5, "The benchmark command: No adapter recognized"),
        (&["echo '{\"a\": {\"latency\": {\"value\": true}}}'"], 5, "at `a.latency.value`"),
        (&["echo '{}'"], 6, "no metric"),
        (&["--allow-failure", "--iter", "2", "false"], 6, "Every run of the benchmark command failed"),
        (&["--project", "00000000-0000-4000-8000-000000000000", &good], 2, "Project `00000000-0000-4000"),
        (&["--host", &unreachable, "--attempts", "2", &good], 8, "attempt 2 of 2 follows in 1 s"),
        (&["--host", &unreachable, "--attempts", "1", "echo ran > ran"], 8, "connection refused"),
        (&["--iter", "2"], 2, "--iter requires a command"),
        (&["--ietr", "2", &good], 2, "a similar argument exists: '--iter'"),
        (&[" "], 2, "The benchmark command is empty"),
        (&["true"], 6, "The benchmark command: The output is empty"),
        (&["echo 'Name (time in us)   Min'"], 5, "(similar formats: pytest-benchmark)"),
        (&["--backdate", "253402300800", &good], 2, "--backdate"),
        (&["--token", "nonsense", &good], 2, "The token cannot be used"),
        (&["--key", "svc_user_x", "--token", "e30.e30.c2ln", &good], 2, "cannot be used with"),
        (&["--hash", "abc", &good], 2, "40 hexadecimal"),
        (&["--threshold-measure", "latency", &good], 2, "has no test"),
        (
            &[
                "--threshold-measure",
                "latency",
                "--threshold-test",
                "t_test",
                "--threshold-upper-boundary",
                "7",
                &good,
            ],
            2,
            "cannot be used",
        ),
        (
            &["--threshold-measure", "latency", "--threshold-test", "t", "--threshold-test", "t", &good],
            2,
            "2 times",
        ),
        (&["--start-point-hash", "0123456789012345678901234567890123456789", &good], 2, "--start-point"),
    ] {
        let output = lab.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
        assert!(text(&output.stderr).contains(sentence), "{arguments:?} {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?} {output:?}");
        assert!(!text(&output.stderr).contains(&lab.token) && !text(&output.stderr).contains("nonsense"));
    }
    assert_eq!(lab.count(), 0);
    assert!(!lab.work().join("ran").exists(), "who is not there is noticed before the benchmarks run");
    let output = lab.command(&[&good]).env("TIDEMARK_HOST", "").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("but no server: give its address"), "{output:?}");
}

#[test]
fn results_come_from_commands_files_and_standard_input() {
    let lab = Lab::open();
    let values = |report: &Value| -> Vec<f64> {
        let results = report["results"].as_array().unwrap().iter();
        results.map(|result| result[0]["measures"][0]["metric"]["value"].as_f64().unwrap()).collect()
    };
    let json = |arguments: &[&str]| {
        let mut all = vec!["--format", "json", "--quiet"];
        all.extend(arguments);
        lab.report(&mut lab.command(&all))
    };
    // A counter that increases with each run, and fails at two.
    let script = r#"n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; test $n != 2 || exit 1
                    echo "{\"a\": {\"latency\": {\"value\": $n}}}""#;
    let report = json(&["--iter", "3", "--allow-failure", script]);
    assert_eq!(values(&report), [1.0, 3.0]);
    assert_eq!(report["branch"]["name"], "main");
    assert!(report["testbed"]["name"].as_str().unwrap().contains("core"), "{report}");
    let report = json(&["--iter", "3", "--fold", "max", script]);
    assert_eq!(values(&report), [6.0]);

    fs::write(lab.work().join("one.json"), r#"{"a": {"latency": {"value": 10}}}"#).unwrap();
    fs::write(lab.work().join("two.json"), r#"{"a": {"latency": {"value": 20}}}"#).unwrap();
    let files = ["--file", "one.json", "--file", "two.json"];
    assert_eq!(values(&json(&files)), [10.0, 20.0]);
    let report = json(&["--file", "new.json", "--", "cp", "one.json", "new.json"]);
    assert_eq!(values(&report), [10.0]);
    // After the first word of the command, all flags belong to the command.
    let report = json(&["--file", "newer.json", "cp", "--force", "two.json", "newer.json"]);
    assert_eq!(values(&report), [20.0]);
    let report = json(&["--backdate", "1700000000", "--testbed", "quiet machine", "--file", "one.json"]);
    assert_eq!(report["start_time"], "2023-11-14T22:13:20.000Z");
    assert_eq!(report["testbed"]["name"], "quiet machine");

    let piped = lab
        .command(&["--format", "json"])
        .stdin(fs::File::open(lab.work().join("two.json")).unwrap())
        .output()
        .unwrap();
    assert_eq!(values(&serde_json::from_slice(&piped.stdout).unwrap()), [20.0]);
    assert_eq!(text(&piped.stderr), "standard input: read 1 benchmark as json.\n");
    assert_eq!(lab.count(), 7);

    fs::write(lab.work().join("timer.txt"), "a: 12ms - timer ended\n").unwrap();
    let several = lab.run(&["--file", "one.json", "--file", "timer.txt", "--file", "two.json"]);
    let read = "one.json and 1 more output: read 1 benchmark as json.\ntimer.txt: read 1 benchmark as console_time.\n";
    assert!(text(&several.stderr).contains(read), "{several:?}");
    assert!(text(&several.stdout).starts_with("json, console_time: 1 benchmark\n"), "{several:?}");
}

/// Detection finds a small lasting change that no single run shows.
#[test]
fn the_exit_status_agrees_with_the_verdict() {
    let lab = Lab::open();
    let run = |number: u64| {
        let noise = ((number * 7919 + number * number * 104_729) % 101) as f64 / 50.0 - 1.0;
        let level = if number < 30 { 1_000.0 } else { 1_018.0 };
        let line = latency(level * (1.0 + 0.02 * noise));
        let output = lab.run(&["--quiet", "--branch", "main", "--error-on-change", &line]);
        let shown = text(&output.stdout).to_owned();
        let last = shown.lines().find(|line| line.starts_with("Verdict: ")).unwrap().to_owned();
        let is_regressed = last.contains(" regressed");
        assert_eq!(output.status.code(), Some(if is_regressed { 3 } else { 0 }), "{output:?}");
        shown.contains("Found now: a lasting regression of sort") && !is_regressed
    };
    assert!(
        (0..52).filter(|number| run(*number)).count() > 0,
        "no change was found without a regressed verdict"
    );
}

#[test]
fn a_dry_run_needs_no_server() {
    let lab = Lab::open();
    let output = lab.command(&["--dry-run", &latency(1_500.0)]).env_remove("TIDEMARK_HOST").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("sort       latency  1.500 µs\n"), "{output:?}");
    assert_eq!(lab.count(), 0);
}

#[test]
fn branch_and_commit_are_detected() {
    let lab = Lab::open();
    let (first, second) = repository(&lab.work());
    let main = lab.report(&mut lab.command(&["--format", "json", &latency(1.0)]));
    assert_eq!(main["branch"]["name"], "trunk");
    assert_eq!(main["branch"]["head"]["version"]["hash"], second.as_str());

    // On CI, a pull request starts from its base.
    let actions = |arguments: &[&str]| {
        let mut command = lab.command(arguments);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_HEAD_REF", "fix").env("GITHUB_BASE_REF", "trunk");
        command.env("GITHUB_SHA", &first);
        command
    };
    let fix = lab.report(&mut actions(&["--format", "json", &latency(2.0)]));
    assert_eq!(fix["branch"]["name"], "fix");
    assert_eq!(fix["branch"]["head"]["version"]["hash"], first.as_str());
    assert_eq!(fix["branch"]["head"]["start_point"]["branch"], main["branch"]["uuid"], "{fix}");
    let unnamed = actions(&[&latency(2.0)]).env("TIDEMARK_PROJECT", "").output().unwrap();
    assert_eq!(unnamed.status.code(), Some(2), "{unnamed:?}");
    assert!(text(&unnamed.stderr).contains("On CI the project must be named"));

    git(&lab.work(), &["checkout", "--quiet", "--detach"]);
    let lost = lab.run(&[&latency(1.0)]);
    assert_eq!(lost.status.code(), Some(2), "{lost:?}");
    assert!(text(&lost.stderr).contains("name the branch with --branch"), "{lost:?}");
    assert_eq!(lab.count(), 2);
}

#[test]
fn a_pull_request_starts_from_its_merge_base() {
    let lab = Lab::open();
    let work = lab.work();
    let (_, second) = repository(&work);
    let commit = |message: &str| {
        git(&work, &["commit", "--quiet", "--allow-empty", "--message", message]);
        git(&work, &["rev-parse", "HEAD"])
    };
    let main = || lab.report(&mut lab.command(&["--json", "--quiet", &latency(1.0)]));
    main();
    git(&work, &["checkout", "--quiet", "-b", "fix"]);
    let head = commit("fix");
    git(&work, &["checkout", "--quiet", "trunk"]);
    let third = commit("third");
    main();
    // Runs like the CI of a pull request in a clone, and returns the start point.
    let start = |clone: &str| {
        let mut command = lab.command(&["--json", "--quiet", &latency(2.0)]);
        command.current_dir(work.parent().unwrap().join(clone)).env("GITHUB_ACTIONS", "true");
        command.env("GITHUB_HEAD_REF", "fix").env("GITHUB_BASE_REF", "trunk").env("GITHUB_SHA", &head);
        let report = lab.report(&mut command);
        let start = &report["branch"]["head"]["start_point"]["version"]["hash"];
        start.as_str().unwrap_or_else(|| panic!("{report:#}")).to_owned()
    };
    let clone = |flags: &[&str], name: &str, branch: &str| {
        let folder = work.parent().unwrap();
        let url = format!("file://{}", work.display());
        git(folder, &[&["clone", "--quiet"], flags, &["--branch", branch, &url, name]].concat());
    };
    clone(&[], "clone", "fix");
    assert_eq!(start("clone"), second);
    // A shallow clone does not have the merge base: the newest version of the base branch replaces it.
    clone(&["--depth", "1"], "shallow", "fix");
    assert_eq!(start("shallow"), third);
    // GitHub checks out a merge of the pull request into its base.
    git(&work, &["checkout", "--quiet", "-b", "merge", &second]);
    git(&work, &["merge", "--quiet", "--no-ff", "--message", "Merge fix", "fix"]);
    clone(&["--depth", "1"], "merged", "merge");
    assert_eq!(start("merged"), second);
}

#[test]
fn a_project_is_made_after_the_repository() {
    let lab = Lab::open();
    repository(&lab.work());
    git(&lab.work(), &["remote", "add", "origin", "https://example.org/acme/widget.git"]);
    let run = || lab.report(lab.command(&["--format", "json", &latency(1.0)]).env_remove("TIDEMARK_PROJECT"));
    let (first, second) = (run(), run());
    assert_eq!(first["project"]["name"], "widget");
    assert_eq!(first["project"]["uuid"], second["project"]["uuid"]);
}

#[test]
fn build_times_and_sizes_are_measured() {
    let lab = Lab::open();
    for (file, size) in [("a/app", 3), ("b/app", 5), ("lib", 7)] {
        let path = lab.work().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x".repeat(size)).unwrap();
    }
    let measured = |arguments: &[&str]| {
        let mut command = lab.command(&["--json", "--quiet", "--branch", "main"]);
        let report = lab.report(command.args(arguments));
        let results =
            report["results"].as_array().unwrap().iter().flat_map(|results| results.as_array().unwrap());
        let mut found: Vec<(String, String, f64)> = Vec::new();
        for result in results {
            for measure in result["measures"].as_array().unwrap() {
                let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
                let value = measure["metric"]["value"].as_f64().unwrap();
                found.push((name(&result["benchmark"]), name(&measure["measure"]), value));
            }
        }
        found
    };
    let size = |file: &str, size: f64| (file.to_owned(), "File Size".to_owned(), size);
    // Files with the same name are distinguished by their paths.
    let files = ["--file-size", "a/app", "--file-size", "b/app", "--file-size", "lib"];
    assert_eq!(measured(&files), [size("a/app", 3.0), size("b/app", 5.0), size("lib", 7.0)]);
    let began = Instant::now();
    let both = measured(&[
        "--build-time",
        "--file-size",
        "new",
        "--adapter",
        "go_bench",
        "sleep 0.2; printf ab > new",
    ]);
    assert_eq!(both[0], size("new", 2.0));
    assert_eq!((both[1].0.as_str(), both[1].1.as_str()), ("sleep 0.2; printf ab > new", "Build Time"));
    // In seconds: at most the duration of the whole run.
    assert!((0.2..began.elapsed().as_secs_f64()).contains(&both[1].2), "{both:?}");
    let times = measured(&["--build-time", "--iter", "2", "--", "sleep", "0.01"]);
    assert_eq!(times.len(), 2);
    assert_eq!(times[0].0, "sleep 0.01");
    let missing = lab.run(&["--branch", "main", "--file-size", "missing"]);
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    // Obsolete flags of old scripts are accepted and ignored.
    let old = ["--no-hash", "--else-branch", "--file-size", "lib"];
    assert_eq!(measured(&old), [size("lib", 7.0)]);
}

#[test]
fn an_unaccepted_run_is_saved_and_resent() {
    let lab = Lab::open();
    let data = lab.work().join("home");
    let mut command = lab.command(&["--branch", "main", &latency(7.0)]);
    command.env("TIDEMARK_DATA_DIR", &data).env("TIDEMARK_API_TOKEN", "e30.e30.c2lnbmVk");
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(7), "{refused:?}");
    let kept: Vec<_> =
        fs::read_dir(data.join("unsent")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = kept.as_slice() else { panic!("{kept:?}") };
    let said =
        format!("The results are saved in {0}; send them with `tidemark run --resend {0}`.", file.display());
    assert!(text(&refused.stderr).contains(&said), "{refused:?}");

    let resend = ["--json", "--resend", file.to_str().unwrap()];
    let report = lab.report(&mut lab.command(&resend));
    assert_eq!(report["results"][0][0]["measures"][0]["metric"]["value"], 7.0, "{report}");
    assert_eq!((lab.count(), file.exists()), (1, false));
    let gone = lab.run(&resend);
    assert_eq!(gone.status.code(), Some(1), "{gone:?}");
    let both = lab.run(&["--resend", "anything", "echo 1"]);
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    assert!(text(&both.stderr).contains("omit the command"), "{both:?}");
}
