//! The total cost of a report, until the server is idle again, with histories of different lengths.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use tidemark_server::domain::ingest::Submission;

use crate::{
    Result, change,
    report::{fill, make_project},
    round,
    server::{Engine, Server},
};

/// Number of series per report.
const SERIES: usize = 1_000;
/// Numbers of reports before the measured reports.
const HISTORIES: [usize; 3] = [64, 640, 2_000];
/// Number of measured reports: enough for the monitor of each series to restart once.
const MEASURED: usize = 128;
/// Time without CPU use after which the server counts as idle.
const QUIET: Duration = Duration::from_millis(150);
/// Maximum time until the server is idle.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sends reports to a server that analyzes them, and prints their cost.
pub(crate) fn measure(program: &Path, engines: &[Engine]) -> Result {
    let names: String = engines.iter().map(|engine| format!(" {engine} |")).collect();
    println!("| a report of {SERIES} series in all, CPU of the server |{names} unit |");
    println!("|---|{}---|", "---:|".repeat(engines.len()));
    for history in HISTORIES {
        let mut cells = String::new();
        let mut memory = String::new();
        for engine in engines {
            let (per_metric, kib) = watched(program, engine, history)?;
            cells += &format!(" {} |", round(per_metric * 1e6));
            memory += &format!(" {} |", kib / 1_024);
        }
        println!("| with {history} before it |{cells} µs a metric |");
        println!("| memory after that |{memory} MiB |");
    }
    println!();
    Ok(())
}

/// Returns the CPU time of the server per metric, and its memory afterwards.
fn watched(program: &Path, engine: &Engine, history: usize) -> Result<(f64, u64)> {
    let database = engine.fresh_database()?;
    let (server, _) = Server::start(program, tempfile::tempdir()?, database.clone())?;
    let token = server.sign_up()?;
    make_project(&server, "Lab", &token)?;
    let data = server.stop()?;
    let mut number = 0;
    fill(data.path(), database.as_deref(), history, &mut number, submission)?;
    let (server, _) = Server::start(program, data, database)?;
    // The first report creates the monitors.
    send(&server, &token, history + 1)?;
    let begun = idle(&server)?;
    for number in 0..MEASURED {
        send(&server, &token, history + 2 + number)?;
        idle(&server)?;
    }
    let taken = idle(&server)? - begun;
    let memory = server.memory_kib()?;
    server.stop()?;
    Ok((taken.as_secs_f64() / (MEASURED * SERIES) as f64, memory))
}

fn send(server: &Server, token: &str, number: usize) -> Result {
    let body = change::report(number, SERIES)?.to_string();
    let (status, answer) = server.call("POST", "/v0/projects/lab/reports", token, &body)?;
    if status != 201 {
        return Err(format!("a report was answered {status}: {}", &answer[..answer.len().min(300)]).into());
    }
    Ok(())
}

/// Waits until the server is idle, and returns its total CPU time.
fn idle(server: &Server) -> Result<Duration> {
    let begun = Instant::now();
    let (mut seen, mut since) = (server.cpu()?, Instant::now());
    while since.elapsed() < QUIET {
        if begun.elapsed() > PATIENCE {
            return Err("the server does not become idle".into());
        }
        thread::sleep(Duration::from_millis(5));
        let now = server.cpu()?;
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
    }
    Ok(seen)
}

fn submission(number: usize) -> Result<Submission> {
    let body = change::report(number, SERIES)?;
    Ok(Submission::read(serde_json::from_value(body)?, None, false).map_err(|error| format!("{error:?}"))?)
}
