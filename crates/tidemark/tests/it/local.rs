//! `tidemark run` without a server: the store on this machine, concurrently with other runs and with a server on the
//! same data.

use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    client::Client,
    context::{in_folder, repository},
    process::{PATIENCE, Server},
};

/// A machine without Tidemark data, with a repository.
pub(crate) struct Machine {
    folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = Self { folder };
        std::fs::create_dir(machine.widget()).unwrap();
        repository(&machine.widget());
        machine
    }

    /// Returns the folder of the repository.
    pub(crate) fn widget(&self) -> PathBuf {
        self.folder.path().join("widget")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join(".local/share/tidemark")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = in_folder(&self.widget());
        command.env("HOME", self.folder.path()).env_remove("XDG_DATA_HOME").stdin(Stdio::null());
        // Processes that share the database wait for each other, however slow the machine is.
        command.env("TIDEMARK_DATABASE__BUSY_TIMEOUT", PATIENCE.as_millis().to_string());
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str], value: u32) -> Output {
        let line = format!("echo 'test sort ... bench: {value} ns/iter (+/- 3)'");
        self.command(&["run", "--quiet"]).args(arguments).arg(line).output().unwrap()
    }

    pub(crate) fn serve(&self) -> Server {
        let mut server = Server::spawn(&mut self.command(&["serve", "--bind", "127.0.0.1:0"]));
        server.drain();
        server
    }
}

/// Returns the standard output of a command that must succeed.
pub(crate) fn printed(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn report(output: Output) -> Value {
    serde_json::from_str(&printed(output)).unwrap()
}

#[test]
fn a_fresh_machine_judges_without_a_threshold() {
    let machine = Machine::new();
    let first = printed(machine.run(&["--error-on-alert"], 1_000));
    assert!(first.contains("inconclusive  sort       Latency   1 µs\n"), "{first}");
    assert!(first.starts_with("libtest: 1 benchmark\n\nVerdict  "), "{first}");
    assert!(first.contains("\nThere is no earlier run to compare with. "), "{first}");
    assert!(first.ends_with("\n\nVerdict: 1 inconclusive.\n"), "{first}");
    let end = ", in ~/.local/share/tidemark/tidemark.db.\nThe next run is compared with it. `tidemark serve` shows it, ";
    assert!(first.contains("\nStored on this machine as widget-") && first.contains(end), "{first}");
    assert!(machine.data().join("tidemark.db").exists());

    // 10 % more than the only earlier run is not a failure; four times the value of all earlier runs is.
    let second = printed(machine.run(&["--error-on-alert"], 1_100));
    assert!(second.contains("inconclusive  sort       Latency  1.100 µs  +10.00%\n"), "{second}");
    assert!(second.contains("There is 1 earlier run. "), "{second}");
    for value in [1_020, 980, 1_010, 990, 1_030, 1_005, 985, 1_015, 995, 1_025, 975, 1_000] {
        printed(machine.run(&["--error-on-alert"], value));
    }
    for _ in 0..2 {
        let slow = machine.run(&["--error-on-alert"], 4_000);
        assert_eq!(slow.status.code(), Some(3), "{slow:?}");
        let said = String::from_utf8(slow.stderr).unwrap();
        assert!(said.contains("There is 1 regression against the baseline."), "{said}");
        let shown = String::from_utf8(slow.stdout).unwrap();
        assert!(shown.contains("regressed  sort       Latency   4 µs  +2"), "{shown}");
    }

    // Explicit thresholds replace the verdict.
    let said = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "static",
        "--threshold-upper-boundary",
        "9000",
    ];
    let judged = printed(machine.run(&[&said[..], &["--error-on-alert"]].concat(), 5_000));
    assert!(judged.contains("≤ 9 µs") && judged.contains(", no value outside the configured threshold.\n"));
    let outside = machine.run(&["--error-on-alert"], 10_000);
    assert_eq!(outside.status.code(), Some(3), "{outside:?}");
    let shown = String::from_utf8(outside.stdout).unwrap();
    assert!(
        shown.contains("outside ≤ 9 µs") && shown.contains(", 1 value outside the configured threshold.\n")
    );
    assert!(!printed(machine.run(&["--thresholds-reset"], 5_000)).contains("≤ 9 µs"));
}

#[test]
fn runs_and_a_server_share_the_data() {
    let machine = Machine::new();
    let together = |count: u32| -> Vec<Value> {
        std::thread::scope(|scope| {
            let run = || report(machine.run(&["--format", "json"], 900));
            let runs: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        })
    };
    // The first of these runs create the database.
    let first = together(6);
    let slug = first[0]["project"]["slug"].as_str().unwrap().to_owned();
    assert!(first.iter().all(|report| report["project"]["uuid"] == first[0]["project"]["uuid"]));

    let server = machine.serve();
    together(4);
    let mut client = Client::connect(&server);
    let reports = format!("/v0/projects/{slug}/reports?per_page=255");
    assert_eq!(client.get(&reports).unwrap().1.as_array().unwrap().len(), 10);

    // The owner of the database owns its content: a claimed and private project accepts runs as well.
    client.sign_up("Ada", &machine.data());
    assert_eq!(
        report(machine.run(&["--format", "json"], 900))["project"]["claimed"].as_str().map(str::len),
        Some(24)
    );
    let patch = serde_json::json!({ "visibility": "private" });
    let (status, answer) = client.patch(&format!("/v0/projects/{slug}"), &patch).unwrap();
    assert_eq!(status, 200, "{answer}");
    assert_eq!(report(machine.run(&["--format", "json"], 900))["user"]["name"], "Ada");
    assert_eq!(client.get(&reports).unwrap().1.as_array().unwrap().len(), 12);
}

#[test]
fn results_for_a_server_are_not_stored_locally() {
    let machine = Machine::new();
    let refused = |command: &mut Command, sentence: &str| {
        let output = command.arg("echo ran > ran").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(sentence), "{output:?}");
    };
    refused(machine.command(&["run"]).env("CI", "true"), "On CI the server must be named");
    let key = format!("svc_user_{}", "x".repeat(30));
    refused(machine.command(&["run"]).env("TIDEMARK_API_KEY", &key), "but no server: give its address");
    assert!(!machine.widget().join("ran").exists() && !machine.data().exists());

    let line = "echo 'test sort ... bench: 5 ns/iter (+/- 3)'";
    let local = machine
        .command(&["run", "--quiet", "--local", "--project", "mine", "--create", line])
        .env("CI", "true")
        .env("TIDEMARK_HOST", "http://localhost:9")
        .output()
        .unwrap();
    assert!(printed(local).contains("Stored on this machine as mine, "));
}

/// The server does not store the average of a report, so the command remembers the average of the last run.
#[test]
fn another_average_in_the_same_series_is_refused() {
    let machine = Machine::new();
    let results = |name: &str| {
        let result = format!(
            r#"{{"results":[{{"command":"{name}","mean":1.5,"stddev":0.1,"median":1.0,"min":0.9,"max":9.0}}]}}"#
        );
        std::fs::write(machine.widget().join("results.json"), result).unwrap();
    };
    let run = |arguments: &[&str]| {
        let mut command = machine.command(&["run", "--quiet", "--file", "results.json"]);
        let output = command.args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let recorded = (0, String::new());
    let refused = |current: &str, earlier: &str| {
        let message = format!(
            "error: The values are the {current}; the earlier values of this branch and testbed are the {earlier}. In one series, \
             the difference between them would look like a change. Use `--average {earlier}`, or another --testbed.\n"
        );
        (2, message)
    };
    results("sleep 1");
    assert_eq!(run(&[]), recorded);
    // The server knows the average, not this machine.
    std::fs::remove_dir_all(machine.data().join("runs")).unwrap();
    assert_eq!(run(&["--average", "median"]), refused("median", "mean"));
    assert_eq!(run(&["--average", "mean"]), recorded);
    assert_eq!(run(&["--average", "median", "--testbed", "other"]), recorded);
    assert_eq!(run(&["--testbed", "other"]), refused("mean", "median"));
    assert_eq!(run(&["--average", "median", "--branch", "other"]), recorded);
    // A new branch continues the series of its start point.
    let start = ["--average", "median", "--branch", "feature", "--start-point", "trunk"];
    assert_eq!(run(&start), refused("median", "mean"));
    // Another benchmark is another series.
    results("sleep 2");
    assert_eq!(run(&["--average", "median"]), recorded);
    results("sleep 1");
    assert_eq!(run(&["--average", "median"]), refused("median", "mean"));
}
