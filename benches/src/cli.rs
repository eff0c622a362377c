//! The cost of the command line itself: its start, and a run whose benchmarks cost nothing.

use std::{
    fmt::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    Result, round,
    server::{Engine, Server},
};

/// Number of benchmarks per run.
const BENCHMARKS: usize = 1_000;
/// Number of repetitions of each measurement.
const ROUNDS: u32 = 50;

/// Measures the command line and prints the results.
pub(crate) fn measure(program: &Path) -> Result {
    eprintln!("benches: measuring the command line");
    let mut starts = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        quietly(Command::new(program).arg("--version"))?;
        starts.push(begun.elapsed());
    }
    let start = starts.into_iter().min().unwrap_or_default();
    println!("| the command line | | unit |");
    println!("|---|---:|---|");
    println!("| `tidemark --version`, least of {ROUNDS} | {} | ms |", millis(start));
    match instructions(program)? {
        Some(count) => println!("| `tidemark --version` | {} | million instructions |", round(count / 1e6)),
        None => println!("| `tidemark --version` | valgrind is not there | million instructions |"),
    }
    println!("| `tidemark run` of {BENCHMARKS} benchmarks, CPU | {} | ms |", millis(run(program)?));
    Ok(())
}

fn millis(time: Duration) -> String {
    round(time.as_secs_f64() * 1000.0)
}

fn quietly(command: &mut Command) -> Result {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// Counts the instructions of a start with valgrind, which are the same on every machine.
fn instructions(program: &Path) -> Result<Option<f64>> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).arg("--version");
    let Ok(output) = command.output() else { return Ok(None) };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = text.lines().find_map(|line| line.split_once("Collected :"));
    let (_, count) = count.ok_or_else(|| format!("valgrind counted nothing: {text}"))?;
    Ok(Some(count.trim().parse()?))
}

/// Returns the CPU time of one run against a server, with results from a file.
fn run(program: &Path) -> Result<Duration> {
    let (server, _) = Server::start(program, tempfile::tempdir()?, Engine::Sqlite.fresh_database()?)?;
    let token = server.sign_up()?;
    server.call("POST", "/v0/organizations/ada/projects", &token, &json!({ "name": "Lab" }).to_string())?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("results.txt");
    let mut text = String::new();
    for benchmark in 0..BENCHMARKS {
        let _ =
            writeln!(text, "test suite::bench_{benchmark:04} ... bench:       1,234.50 ns/iter (+/- 12.25)");
    }
    std::fs::write(&file, text)?;
    // The shell prints the CPU time of its children.
    let script = "for round in $(seq \"$1\"); do \"$2\" run --quiet --host \"$3\" --key \"$4\" --project lab \
        --branch main --testbed ci --file \"$5\" > /dev/null || exit 1; done; times";
    let host = format!("http://{}", server.address);
    let mut command = Command::new("bash");
    command.args(["-c", script, "run", &ROUNDS.to_string()]).arg(program).args([&host, &token]).arg(&file);
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).current_dir(folder.path());
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("tidemark run failed: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let children = text.lines().last().ok_or("the shell text no times")?;
    let seconds =
        children.split_whitespace().map(seconds).sum::<Option<f64>>().ok_or("the times cannot be read")?;
    server.stop()?;
    Ok(Duration::from_secs_f64(seconds) / ROUNDS)
}

/// Parses a duration like `0m1.250s`.
fn seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}
