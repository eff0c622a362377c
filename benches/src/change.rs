//! The cost of change detection: in a whole series, per new value, and in all series of a database.

use std::{
    fmt::Write,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tidemark_api::Timestamp;
use tidemark_server::domain::ingest::Submission;
use tidemark_stats::{DetectionSettings, Monitor, Scratch, changes};

use crate::{
    Result,
    report::{cpu, fill, make_project},
    round,
    server::Server,
};

/// Number of values per series.
const VALUES: u32 = 2_000;
/// Number of different series.
const SERIES: u32 = 20;
/// Number of times each measurement is repeated.
const ROUNDS: usize = 10;

/// Number of benchmarks and of reports of the large project.
const BENCHMARKS: usize = 6_000;
const REPORTS: usize = 2_000;
/// Timeout of the analysis of a whole history.
const PATIENCE: Duration = Duration::from_secs(600);

/// Analyzes series and prints the duration.
pub(crate) fn measure(program: &Path) -> Result {
    let series: Vec<Vec<f64>> = (0..SERIES).map(series).collect();
    let settings = DetectionSettings::default();
    let whole = least(|| {
        for values in &series {
            black_box(changes(values, &settings));
        }
    });
    let appended = least(|| {
        let (mut monitor, mut scratch) = (Monitor::new(settings), Scratch::default());
        for value in series.iter().flatten() {
            black_box(monitor.push(*value, &mut scratch));
        }
    });
    println!("| changes, CPU | | unit |");
    println!("|---|---:|---|");
    println!("| a series of {VALUES} values | {} | ms |", round(whole / f64::from(SERIES) * 1e3));
    println!("| a value more | {} | µs |", round(appended / f64::from(SERIES * VALUES) * 1e6));
    println!();
    large(program)
}

/// Analyzes all series of a large project in a database, and prints the duration.
fn large(program: &Path) -> Result {
    let (server, _) = Server::start(program, tempfile::tempdir()?, None)?;
    let token = server.sign_up()?;
    make_project(&server, "Lab", &token)?;
    let data = server.stop()?;
    fill(data.path(), None, REPORTS, &mut 0, submission)?;
    let begun = Instant::now();
    let (server, _) = Server::start(program, data, None)?;
    let send = |method: &str, path: &str, body: &str| -> Result<String> {
        let (status, answer) =
            server.call_for(PATIENCE, method, &format!("/v0/projects/lab/{path}"), &token, body)?;
        if !(200..300).contains(&status) {
            return Err(format!("{path} was answered {status}: {answer}").into());
        }
        Ok(answer)
    };
    let ask = |method: &str, path: &str, body: &str| -> Result<Value> {
        Ok(serde_json::from_str(&send(method, path, body)?)?)
    };
    // The server writes all changes of a branch and testbed at once.
    while ask("GET", "changes?per_page=1", "")?[0].is_null() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let settled = begun.elapsed();
    let newest = ask("GET", "reports?per_page=1", "")?;
    let verdict = format!("reports/{}/verdict", newest[0]["uuid"].as_str().unwrap_or_default());
    let begun = Instant::now();
    send("GET", &verdict, "")?;
    let judged = begun.elapsed();
    let begun = Instant::now();
    let tested = ask("POST", "backtest", "{}")?;
    let whole = begun.elapsed();
    println!("| a project of {BENCHMARKS} series with {} values | s |", tested["values"]);
    println!("|---|---:|");
    println!("| all of them from the database, {} alarms | {:.1} |", tested["raised"], whole.as_secs_f64());
    println!(
        "| after a report: its branch and testbed, with the start of the server | {:.1} |",
        settled.as_secs_f64()
    );
    println!("| the verdict on a report | {:.2} |", judged.as_secs_f64());
    println!("\nMemory of the server at its peak: {} MiB.", server.peak_memory_kib()? / 1_024);
    server.stop().map(drop)
}

/// Returns a report of the large project.
fn submission(number: usize) -> Result<Submission> {
    let body = report(number, BENCHMARKS)?;
    Ok(Submission::read(serde_json::from_value(body)?, None, false).map_err(|error| format!("{error:?}"))?)
}

/// Returns a report with this number of series; one report per hour. One series in a hundred changes every 500
/// reports.
pub(crate) fn report(number: usize, benchmarks: usize) -> Result<Value> {
    let mut output = String::from("{");
    for benchmark in 0..benchmarks {
        let noise =
            f64::from(((benchmark * 2_000 + number) as u32).wrapping_mul(2_654_435_761) >> 22) / 1_024.0;
        let level = if benchmark % 100 == 0 { 100.0 * (number / 500) as f64 } else { 0.0 };
        let comma = if benchmark == 0 { "" } else { "," };
        write!(
            output,
            "{comma}\"b{benchmark:04}\":{{\"latency\":{{\"value\":{}}}}}",
            1_000.0 + level + 50.0 * noise
        )?;
    }
    output.push('}');
    let time = Timestamp::from_micros(1_760_000_000_000_000 + number as i64 * 3_600_000_000).to_string();
    Ok(json!({
        "branch": "main", "testbed": "ci", "start_time": time, "end_time": time, "results": [output],
        "settings": { "adapter": "json" },
    }))
}

/// Returns the minimum duration in seconds: the duration on an otherwise idle machine.
fn least(act: impl Fn()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let begun = cpu();
        act();
        (cpu() - begun).as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Returns noise of a few percent around a level that changes occasionally; deterministic.
fn series(number: u32) -> Vec<f64> {
    let noise = |index: u32| f64::from((index + number * VALUES).wrapping_mul(2_654_435_761) >> 22) / 1_024.0;
    (0..VALUES).map(|index| 1_000.0 + 60.0 * f64::from(index / 270 % 3) + 50.0 * noise(index)).collect()
}
