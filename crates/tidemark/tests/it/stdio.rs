//! Closed and full standard streams: no command panics, the exit status stays the documented one, and `tidemark run` records
//! its results.

use std::{
    fs::{self, OpenOptions},
    io,
    process::{Command, Stdio},
};

use crate::local::{Machine, printed, report};

/// State of a standard stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stream {
    /// A pipe whose reader has ended, as after `| head -1`.
    Broken,
    /// A full disk.
    #[cfg(target_os = "linux")]
    Full,
}

#[cfg(target_os = "linux")]
const STREAMS: [Stream; 2] = [Stream::Broken, Stream::Full];
#[cfg(not(target_os = "linux"))]
const STREAMS: [Stream; 1] = [Stream::Broken];

impl Stream {
    fn open(self) -> Stdio {
        match self {
            Self::Broken => io::pipe().unwrap().1.into(),
            #[cfg(target_os = "linux")]
            Self::Full => OpenOptions::new().write(true).open("/dev/full").unwrap().into(),
        }
    }

    /// Returns the exit status of a command whose standard output has this state.
    fn status(self, otherwise: i32, full: i32) -> i32 {
        match self {
            Self::Broken => otherwise,
            #[cfg(target_os = "linux")]
            Self::Full => full,
        }
    }
}

/// Runs a command, and returns its exit status and its standard error. A panic is a failure of the test.
fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!messages.contains("panicked"), "{command:?}: {messages}");
    (output.status.code().unwrap(), messages)
}

/// A benchmark command that writes more to standard error than a pipe holds, then its results.
fn noisy(value: u32) -> String {
    format!(
        "i=0; while [ $i -lt 3000 ]; do echo 'compiling a long line of messages' >&2 || exit 9; i=$((i+1)); done; \
         echo 'test sort ... bench: {value} ns/iter (+/- 3)'"
    )
}

fn count(machine: &Machine) -> usize {
    let list = report(machine.command(&["report", "list", "--local", "--json", "--all"]).output().unwrap());
    list.as_array().unwrap().len()
}

/// Records a run, and names its project in `tidemark.toml`.
fn record(machine: &Machine) {
    let run = report(machine.command(&["run", "--json", "--quiet", &noisy(1_000)]).output().unwrap());
    let project = run["project"]["slug"].as_str().unwrap();
    fs::write(machine.widget().join("tidemark.toml"), format!("project = \"{project}\"\n")).unwrap();
}

#[test]
fn no_command_fails_because_of_a_closed_pipe() {
    let machine = Machine::new();
    record(&machine);
    let widget = machine.widget();
    fs::write(widget.join("base.txt"), "test sort ... bench: 1000 ns/iter (+/- 3)\n").unwrap();
    fs::write(widget.join("new.txt"), "test sort ... bench: 1100 ns/iter (+/- 3)\n").unwrap();
    fs::write(widget.join("series.tsv"), "a\t\t\t\t3\t1,2,3\n").unwrap();
    for arguments in [
        &["report", "list"][..],
        &["report", "list", "--json"],
        &["report", "list", "--all"],
        &["alert", "list"],
        &["branch", "view", "trunk"],
        &["perf", "--branches", "trunk"],
        &["compare", "base.txt", "new.txt"],
        &["compare", "base.txt", "new.txt", "--json"],
        &["changes", "series.tsv"],
        &["parse", "base.txt"],
        &["parse", "base.txt", "--json"],
        &["run", "--dry-run", "--file", "base.txt"],
        &["context"],
        &["whoami"],
        &["mock"],
        &["noise", "--duration", "1"],
        &["completions", "bash"],
        &["openapi"],
        &["serve", "--print-config"],
        &["run", "--help"],
        &["--help"],
        &["--version"],
    ] {
        let status = machine.command(arguments).output().unwrap().status.code().unwrap();
        assert!([0, 2].contains(&status), "{arguments:?}: {status}");
        for stream in STREAMS {
            let (code, messages) = run(machine.command(arguments).stdout(stream.open()));
            // There is no output to write if the list is empty or the arguments are invalid.
            let is_empty = machine.command(arguments).output().unwrap().stdout.is_empty();
            let expected = if is_empty { status } else { stream.status(0, 10) };
            assert_eq!(code, expected, "{arguments:?} to {stream:?}: {messages}");
            let (code, _) = run(machine.command(arguments).stderr(stream.open()));
            assert_eq!(code, status, "{arguments:?} with messages to {stream:?}");
        }
    }
}

#[test]
fn a_run_is_recorded_whatever_happens_to_its_output() {
    let machine = Machine::new();
    record(&machine);
    let mut expected = count(&machine);
    for format in ["human", "json", "markdown"] {
        for stream in STREAMS {
            let arguments = ["run", "--format", format, &noisy(1_000)];
            let (code, messages) = run(machine.command(&arguments).stdout(stream.open()));
            assert_eq!(code, stream.status(0, 9), "{format} to {stream:?}: {messages}");
            let (code, _) = run(machine.command(&arguments).stderr(stream.open()));
            assert_eq!(code, 0, "{format} with messages to {stream:?}");
            let (code, _) = run(machine.command(&arguments).stdout(stream.open()).stderr(stream.open()));
            assert_eq!(code, stream.status(0, 9), "{format} with both to {stream:?}");
            expected += 3;
            assert_eq!(count(&machine), expected);
        }
    }
    // The shell closes the streams.
    for closed in [">&-", "2>&-", ">&- 2>&-"] {
        let script = format!("exec \"$0\" run \"$1\" {closed}");
        let direct = machine.command(&[]);
        let mut command = Command::new("/bin/sh");
        for (name, value) in direct.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(machine.widget()).stdin(Stdio::null());
        command.args(["-c", &script]).arg(direct.get_program()).arg(noisy(1_000));
        let (code, messages) = run(&mut command);
        assert_eq!(code, 0, "{closed}: {messages}");
        expected += 1;
        assert_eq!(count(&machine), expected);
    }
}

#[test]
fn the_exit_status_of_a_verdict_takes_precedence_over_the_output() {
    let machine = Machine::new();
    record(&machine);
    let gated = |value: u32| {
        let mut command = machine.command(&["run", "--error-on-alert", "--threshold-measure", "latency"]);
        command.args(["--threshold-test", "percentage", "--threshold-upper-boundary", "0.1", &noisy(value)]);
        command
    };
    printed(gated(1_000).output().unwrap());
    for stream in STREAMS {
        let (code, messages) = run(gated(9_000).stdout(stream.open()));
        assert_eq!(code, 3, "{stream:?}: {messages}");
        let (code, _) = run(gated(9_000).stdout(stream.open()).stderr(stream.open()));
        assert_eq!(code, 3, "{stream:?}");
        let (code, messages) = run(machine.command(&["run", "exit 7"]).stdout(stream.open()));
        assert_eq!(code, 4, "{stream:?}: {messages}");
        let (code, _) = run(machine.command(&["run", "exit 7"]).stderr(stream.open()));
        assert_eq!(code, 4, "{stream:?}");
        let (code, _) = run(machine.command(&["run", "--no-such-flag"]).stderr(stream.open()));
        assert_eq!(code, 2, "{stream:?}");
    }
}

/// The command that prepares a side and the benchmark command write to a closed standard error.
#[test]
fn a_comparison_of_commits_survives_a_closed_standard_error() {
    let machine = Machine::new();
    let setup =
        "i=0; while [ $i -lt 3000 ]; do echo 'a long line of messages'; echo more >&2; i=$((i+1)); done";
    let slower =
        "test \"$TIDEMARK_SIDE\" = new && v=9000 || v=1000; echo \"test sort ... bench: $v ns/iter (+/- 3)\"";
    for stream in STREAMS {
        let mut command = machine.command(&["compare", "HEAD~1", "HEAD", "--ab-setup", setup]);
        let command = command.args(["--error-on-alert", "--", slower]);
        let (code, _) = run(command.stderr(stream.open()));
        assert_eq!(code, 3, "{stream:?}");
        let (code, messages) = run(command.stdout(stream.open()).stderr(Stdio::piped()));
        assert_eq!(code, 3, "{stream:?}: {messages}");
    }
}
