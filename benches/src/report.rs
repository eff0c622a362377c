//! The cost of recording a report, and of reading many reports, compared with bare SQLite statements on the same
//! machine in the same run.

use std::{
    fmt::Write as _,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde_json::json;
use tidemark_api::{Timestamp, Visibility};
use tidemark_server::domain::{
    error::Error,
    ingest::{self, Submission, TargetProject},
    quota::Quota,
};
use tidemark_store::{Db, Tx, WriteContext};

use crate::{
    Result, load, round,
    server::{Counter, Engine, Server, location},
};

/// Number of benchmarks per report, each with two measures, under t-test thresholds with a sample of 64 values.
const BENCHMARKS: usize = 1_000;
const METRICS: usize = BENCHMARKS * 2;
const SAMPLE: u32 = 64;
/// Numbers of stored metrics at which a report is measured.
const STORED: [usize; 2] = [10_000, 1_000_000];
/// Number of repetitions of each measurement.
const ROUNDS: usize = 25;
/// Number of queried series, and of points per series.
const SERIES: usize = 200;
const POINTS: usize = 500;
/// Number of concurrent clients, and of reports that each sends.
const CLIENTS: usize = 8;
const EACH: usize = 8;
/// Duration of the warm-up of a list, and of its measurement.
const WARM_UP: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_secs(2);

/// Returns the CPU time of this thread.
pub(crate) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Returns the minimum of the durations in milliseconds: the duration on an otherwise idle machine.
fn least(times: &[Duration]) -> f64 {
    times.iter().min().map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

/// Measures reports and prints the results.
pub(crate) fn measure(program: &Path, engines: &[Engine]) -> Result {
    let bare = bare_insert()?;
    let bare_read = bare_read()?;
    println!("bare: {METRICS} rows of ten columns into SQLite, CPU: {} ms", round(bare));
    println!("bare: {} rows from SQLite to JSON, CPU: {} ms", SERIES * POINTS, round(bare_read));
    println!();
    let mut figures = Vec::new();
    for engine in engines {
        eprintln!("benches: measuring reports on {engine}");
        figures.push(Figures::take(program, engine)?);
    }
    let [sqlite, postgres] = figures.as_slice() else { return Err("an engine was not measured".into()) };
    println!("| a report of {METRICS} metrics | SQLite | PostgreSQL | unit | SQLite ÷ bare |");
    println!("|---|---:|---:|---|---:|");
    let row = |what: &str, value: &dyn Fn(&Figures) -> f64, bare: f64| {
        let (left, right) = (value(sqlite), value(postgres));
        println!("| {what} | {} | {} | ms | {} |", round(left), round(right), round(left / bare));
    };
    row("`ingest::record`, CPU, 10,000 metrics stored", &|figures| figures.record[0], bare);
    row("`ingest::record`, CPU, 1,000,000 metrics stored", &|figures| figures.record[1], bare);
    row("the whole request, 10,000 stored", &|figures| figures.request[0], bare);
    row("the whole request, 1,000,000 stored", &|figures| figures.request[1], bare);
    row("a first report, all benchmarks new", &|figures| figures.first, bare);
    row("a second report", &|figures| figures.second, bare);
    row("perf of 200 series × 500 points", &|figures| figures.perf, bare_read);
    println!();
    println!("| ratio | SQLite | PostgreSQL |");
    println!("|---|---:|---:|");
    let ratio = |what: &str, value: &dyn Fn(&Figures) -> f64| {
        println!("| {what} | {} | {} |", round(value(sqlite)), round(value(postgres)));
    };
    ratio("`record` at 1,000,000 : 10,000", &|figures| figures.record[1] / figures.record[0]);
    ratio("request at 1,000,000 : 10,000", &|figures| figures.request[1] / figures.request[0]);
    ratio("first report : second", &|figures| figures.first / figures.second);
    ratio("first report : later, 10,000 stored", &|figures| figures.first / figures.request[0]);
    for (place, path) in LISTS.iter().enumerate() {
        ratio(&format!("`GET …/{path}` at 1,000,000 : 10,000"), &|figures| {
            figures.lists[1][place] / figures.lists[0][place]
        });
    }
    ratio("reports a second into one project, eight clients : one", &|figures| figures.gain);
    ratio("reports a second into a project each, eight clients : one", &|figures| figures.gain_apart);
    println!("| a request against SQLite's | 1 | {} |", round(postgres.request[1] / sqlite.request[1]));
    Ok(())
}

const LISTS: [&str; 3] = ["reports", "alerts", "benchmarks"];

/// The numbers of one engine, in milliseconds, for each size of [`STORED`].
#[derive(Default)]
struct Figures {
    record: [f64; 2],
    request: [f64; 2],
    lists: [[f64; LISTS.len()]; 2],
    first: f64,
    second: f64,
    perf: f64,
    /// Ratio of reports per second with eight clients to one client: all clients in one project, and each in its own
    /// project.
    gain: f64,
    gain_apart: f64,
}

impl Figures {
    fn take(program: &Path, engine: &Engine) -> Result<Self> {
        let mut figures = Self::default();
        let database = engine.fresh_database()?;
        let (mut server, _) = Server::start(program, tempfile::tempdir()?, database.clone())?;
        let token = server.sign_up()?;
        make_project(&server, "lab", &token)?;
        let mut number = 0;
        let mut firsts = Vec::new();
        for place in 0..CLIENTS {
            let name = new(place);
            make_project(&server, &name, &token)?;
            firsts.push(report(&server, &name, &token, &mut number)?);
        }
        figures.first = least(&firsts);
        let mut seconds = Vec::new();
        for place in 0..CLIENTS {
            seconds.push(report(&server, &new(place), &token, &mut number)?);
        }
        figures.second = least(&seconds);
        let mut stored = 0;
        for (size, wanted) in STORED.into_iter().enumerate() {
            let data = server.stop()?;
            figures.record[size] =
                fill(data.path(), database.as_deref(), (wanted - stored) / METRICS, &mut number, submission)?;
            stored = wanted;
            eprintln!("benches: {wanted} metrics are stored");
            (server, _) = Server::start(program, data, database.clone())?;
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                times.push(report(&server, "lab", &token, &mut number)?);
            }
            figures.request[size] = least(&times);
            for (place, path) in LISTS.iter().enumerate() {
                let path = format!("/v0/projects/lab/{path}?per_page=8");
                let load = load::run(server.address, &path, &token, 1, WARM_UP, MEASURED)?;
                figures.lists[size][place] = load.quantile(0.1).as_secs_f64() * 1000.0;
            }
        }
        figures.perf = perf(&server, &token)?;
        figures.gain = gain(&server, &token, &mut number, |_| new(0))?;
        figures.gain_apart = gain(&server, &token, &mut number, new)?;
        server.stop()?;
        Ok(figures)
    }
}

pub(crate) fn make_project(server: &Server, name: &str, token: &str) -> Result {
    let body = json!({ "name": name }).to_string();
    let (status, answer) = server.call("POST", "/v0/organizations/ada/projects", token, &body)?;
    if status == 201 {
        Ok(())
    } else {
        Err(format!("the project {name} was answered {status}: {answer}").into())
    }
}

/// Returns the output of a tool: the values vary a little from report to report, and eight values per report are
/// outliers, so that alerts occur.
fn output(number: usize) -> String {
    let mut text = String::from("{");
    for benchmark in 0..BENCHMARKS {
        let noise = ((benchmark * 7_919 + number * 104_729) % 1_000) as f64 / 50.0;
        let comma = if benchmark == 0 { "" } else { "," };
        let spike = if (benchmark + 13 * number).is_multiple_of(125) { 1_000.0 } else { 0.0 };
        let latency = 1_000.0 + noise + spike;
        let _ = write!(
            text,
            "{comma}\"suite::bench_{benchmark:04}\":{{\"latency\":{{\"value\":{latency},\"lower_value\":{},\
             \"upper_value\":{}}},\"throughput\":{{\"value\":{}}}}}",
            latency - 5.0,
            latency + 5.0,
            1e9 / latency
        );
    }
    text.push('}');
    text
}

/// Returns the body of a report; one report per minute.
fn body(number: usize) -> serde_json::Value {
    let time = Timestamp::from_micros(1_760_000_000_000_000 + number as i64 * 60_000_000).to_string();
    let model = json!({ "test": "t_test", "max_sample_size": SAMPLE, "upper_boundary": 0.999, "lower_boundary": 0.999 });
    json!({
        "branch": "main", "testbed": "ci", "start_time": time, "end_time": time, "results": [output(number)],
        "thresholds": { "models": { "latency": model, "throughput": model } }, "settings": { "adapter": "json" },
    })
}

/// Sends a report over HTTP and returns the duration.
fn report(server: &Server, project: &str, token: &str, number: &mut usize) -> Result<Duration> {
    *number += 1;
    let body = body(*number).to_string();
    let begun = Instant::now();
    let (status, answer) = server.call("POST", &format!("/v0/projects/{project}/reports"), token, &body)?;
    let elapsed = begun.elapsed();
    if status != 201 {
        return Err(format!("a report was answered {status}: {}", &answer[..answer.len().min(300)]).into());
    }
    Ok(elapsed)
}

/// Records reports without HTTP, and returns the minimum CPU time of the last reports.
pub(crate) fn fill(
    data: &Path,
    database: Option<&str>,
    reports: usize,
    number: &mut usize,
    submission: fn(usize) -> Result<Submission>,
) -> Result<f64> {
    let location = location(data, database);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let last = Arc::new(Mutex::new(Vec::new()));
    runtime.block_on(async {
        let db = Db::open(&location).await?;
        for _ in 0..reports {
            *number += 1;
            let submission = submission(*number)?;
            let last = Arc::clone(&last);
            let fresh = WriteContext::new(submission.start_time, Arc::new(Counter));
            db.write(move |tx: &mut Tx<'_>| {
                let (project, organization) = tx.fetch_one(
                    "project",
                    "select id, organization_id from project where slug = 'lab'",
                    &[],
                )?;
                let target_project =
                    TargetProject { project, organization, claimed: true, visibility: Visibility::Public };
                let begun = cpu();
                let report = ingest::record(tx, &fresh, Quota::NONE, target_project, &submission)?;
                if let Ok(mut last) = last.lock() {
                    last.push(cpu() - begun);
                }
                Ok::<_, Error>(report)
            })
            .await
            .map_err(|error| format!("{error:?}"))?;
        }
        // PostgreSQL does this itself within a minute after this many new rows.
        if database.is_some() {
            db.write(|tx: &mut Tx<'_>| tx.execute("analyze", &[])).await?;
        }
        db.close().await;
        Result::Ok(())
    })?;
    let times = last.lock().map_err(|_| "the times are lost")?;
    Ok(least(&times[times.len().saturating_sub(ROUNDS)..]))
}

fn submission(number: usize) -> Result<Submission> {
    Ok(Submission::read(serde_json::from_value(body(number))?, None, false)
        .map_err(|error| format!("{error:?}"))?)
}

/// Returns the duration of a query of many series.
fn perf(server: &Server, token: &str) -> Result<f64> {
    let uuids = |path: &str| -> Result<Vec<String>> {
        let (_, body) = server.call("GET", &format!("/v0/projects/lab/{path}"), token, "")?;
        let list: Vec<serde_json::Value> = serde_json::from_str(&body)?;
        Ok(list.iter().filter_map(|one| one["uuid"].as_str().map(str::to_owned)).collect())
    };
    let benchmarks = uuids(&format!("benchmarks?per_page={SERIES}"))?.join(",");
    let (branches, testbeds) = (uuids("branches")?.join(","), uuids("testbeds")?.join(","));
    let measures = uuids("measures")?;
    // The reports that `fill` recorded, one per minute.
    let path = format!(
        "/v0/projects/lab/perf?branches={branches}&testbeds={testbeds}&benchmarks={benchmarks}&measures={}",
        measures[0]
    );
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let (status, body) = server.call("GET", &path, token, "")?;
        times.push(begun.elapsed());
        let points = body.matches("\"iteration\"").count();
        if status != 200 || points < SERIES * POINTS {
            return Err(format!("perf was answered {status} with {points} points").into());
        }
    }
    Ok(least(&times))
}

/// Returns the name of a project with few reports.
fn new(place: usize) -> String {
    format!("new-{place}")
}

/// Returns the ratio of reports per second with eight clients to one client; `project` names the project of each
/// client.
fn gain(server: &Server, token: &str, number: &mut usize, project: fn(usize) -> String) -> Result<f64> {
    let mut send = |clients: usize| -> Result<f64> {
        let begun = Instant::now();
        thread::scope(|scope| {
            let clients: Vec<_> = (0..clients)
                .map(|client| {
                    let mut number = *number + client * EACH;
                    let project = project(client);
                    scope.spawn(move || {
                        (0..EACH).try_for_each(|_| report(server, &project, token, &mut number).map(drop))
                    })
                })
                .collect();
            clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
        })?;
        *number += clients * EACH;
        Ok((clients * EACH) as f64 / begun.elapsed().as_secs_f64())
    };
    let (mut alone, mut together) = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        alone = alone.max(send(1)?);
        together = together.max(send(CLIENTS)?);
    }
    Ok(together / alone)
}

/// Returns the CPU time of inserting the metrics of a report with a prepared statement in one transaction, on disk.
fn bare_insert() -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = rusqlite::Connection::open(folder.path().join("bare.db"))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch(
        "create table bare (a integer, b integer, c integer, d integer, e integer, f real, g real, h real, i real, j real)",
    )?;
    let mut times = Vec::new();
    for round in 0..ROUNDS as i64 {
        let begun = cpu();
        let transaction = connection.transaction()?;
        {
            let mut statement =
                transaction.prepare_cached("insert into bare values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
            for number in 0..METRICS as i64 {
                let value = number as f64;
                statement
                    .execute((round, number, number, round, number, value, value, value, value, value))?;
            }
        }
        transaction.commit()?;
        times.push(cpu() - begun);
    }
    Ok(least(&times))
}

/// Returns the CPU time of reading the points of a query from a clustered table and writing them as JSON.
fn bare_read() -> Result<f64> {
    #[derive(Serialize)]
    struct Row {
        report: String,
        iteration: u32,
        start_time: Timestamp,
        end_time: Timestamp,
        number: u32,
        metric: String,
        value: f64,
        lower_value: Option<f64>,
        upper_value: Option<f64>,
        threshold: String,
        model: String,
        test: &'static str,
        model_created: Timestamp,
        threshold_created: Timestamp,
        baseline: Option<f64>,
        lower_limit: Option<f64>,
        upper_limit: Option<f64>,
    }
    let folder = tempfile::tempdir()?;
    let mut connection = rusqlite::Connection::open(folder.path().join("bare.db"))?;
    connection.execute_batch(
        "create table bare (series integer, point integer, report text, time integer, metric text, threshold text, \
         model text, value real, lower_value real, upper_value real, baseline real, lower_limit real, upper_limit real, \
         primary key (series, point)) strict, without rowid",
    )?;
    let uuid = "0190a000-0000-7000-8000-000000000000";
    let transaction = connection.transaction()?;
    for series in 0..SERIES as i64 {
        for point in 0..POINTS as i64 {
            transaction
                .prepare_cached("insert into bare values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
                .execute((
                    series,
                    point,
                    uuid,
                    point * 60_000_000,
                    uuid,
                    uuid,
                    uuid,
                    1.5,
                    1.25,
                    1.75,
                    1.5,
                    1.0,
                    2.0,
                ))?;
        }
    }
    transaction.commit()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = cpu();
        let mut out = Vec::new();
        for series in 0..SERIES as i64 {
            let mut statement =
                connection.prepare_cached("select * from bare where series = ? order by point")?;
            let mut rows = statement.query([series])?;
            while let Some(row) = rows.next()? {
                let time = Timestamp::from_micros(row.get(3)?);
                let row = Row {
                    report: row.get(2)?,
                    iteration: 0,
                    start_time: time,
                    end_time: time,
                    number: row.get(1)?,
                    metric: row.get(4)?,
                    value: row.get(7)?,
                    lower_value: row.get(8)?,
                    upper_value: row.get(9)?,
                    threshold: row.get(5)?,
                    model: row.get(6)?,
                    test: "t_test",
                    model_created: time,
                    threshold_created: time,
                    baseline: row.get(10)?,
                    lower_limit: row.get(11)?,
                    upper_limit: row.get(12)?,
                };
                serde_json::to_writer(&mut out, &row)?;
            }
        }
        times.push(cpu() - begun);
        if out.len() < SERIES * POINTS {
            return Err("too little was written".into());
        }
    }
    Ok(least(&times))
}
