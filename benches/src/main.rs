//! Measures the performance that the documentation states, on the real binary over loopback. `cargo xtask bench`
//! builds and starts this program; docs/performance.md explains the numbers.

mod change;
mod cli;
mod list;
mod load;
mod picture;
mod registry;
mod report;
mod server;
mod watch;

use std::{env, path::Path, process::ExitCode, time::Duration};

use crate::{
    load::Load,
    server::{Engine, Server},
};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Number of concurrent connections.
const CONNECTIONS: usize = 32;
/// Duration of the warm-up of each route, and of its measurement.
const WARM_UP: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(5);
/// Number of server starts to measure the start time.
const STARTS: usize = 9;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("benches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result {
    let part = env::args().nth(1);
    if part.as_deref() == Some(registry::PLAIN) {
        return registry::serve_plain();
    }
    let wants = |name: &str| part.as_deref().is_none_or(|part| part == name);
    let program = env::current_exe()?.with_file_name("tidemark");
    let postgres = env::var("TIDEMARK_TEST_POSTGRES").map_err(
        |_| "TIDEMARK_TEST_POSTGRES must name a PostgreSQL server; `cargo xtask bench` starts one",
    )?;

    let engines = [Engine::Sqlite, Engine::Postgres(postgres)];
    if wants("start") {
        start(&program, &engines)?;
        println!();
    }
    if wants("list") {
        list::measure(&program, &engines)?;
        println!();
    }
    if wants("report") {
        report::measure(&program, &engines)?;
        println!();
    }
    if wants("picture") {
        picture::measure()?;
        println!();
    }
    if wants("change") {
        change::measure(&program)?;
        println!();
    }
    if wants("watch") {
        watch::measure(&program, &engines)?;
    }
    if wants("cli") {
        cli::measure(&program)?;
        println!();
    }
    if wants("registry") {
        registry::measure(&program)?;
    }
    Ok(())
}

fn start(program: &Path, engines: &[Engine]) -> Result {
    let mut figures = Vec::new();
    for engine in engines {
        eprintln!("benches: measuring on {engine}");
        figures.push(Figures::take(program, engine)?);
    }
    let [sqlite, postgres] = figures.as_slice() else { return Err("an engine was not measured".into()) };
    print(sqlite, postgres);
    Ok(())
}

/// All numbers of one engine.
struct Figures {
    first_start: Duration,
    start: Duration,
    idle_kib: u64,
    busy_kib: u64,
    root: Load,
    organization: Load,
}

impl Figures {
    fn take(program: &Path, engine: &Engine) -> Result<Self> {
        let mut first_starts = Vec::new();
        for _ in 0..STARTS {
            let (server, elapsed) = Server::start(program, tempfile::tempdir()?, engine.fresh_database()?)?;
            first_starts.push(elapsed);
            server.stop()?;
        }
        let database = engine.fresh_database()?;
        let (mut server, _) = Server::start(program, tempfile::tempdir()?, database.clone())?;
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            let elapsed;
            (server, elapsed) = Server::start(program, server.stop()?, database.clone())?;
            starts.push(elapsed);
        }
        // The server has received no requests since it became ready.
        let idle_kib = server.memory_kib()?;
        let token = server.sign_up()?;
        let root = load::run(server.address, "/", "", CONNECTIONS, WARM_UP, MEASURED)?;
        let path = "/v0/organizations/ada";
        let organization = load::run(server.address, path, &token, CONNECTIONS, WARM_UP, MEASURED)?;
        let busy_kib = server.memory_kib()?;
        server.stop()?;
        Ok(Self {
            first_start: median(first_starts),
            start: median(starts),
            idle_kib,
            busy_kib,
            root,
            organization,
        })
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn print(sqlite: &Figures, postgres: &Figures) {
    let row = |what: &str, unit: &str, value: &dyn Fn(&Figures) -> f64| {
        let (left, right) = (value(sqlite), value(postgres));
        println!("| {what} | {} | {} | {:.2} | {unit} |", round(left), round(right), right / left);
    };
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let mebibytes = |kib: u64| kib as f64 / 1024.0;
    println!("| | SQLite | PostgreSQL | ratio | unit |");
    println!("|---|---:|---:|---:|---|");
    row("`GET /`", "requests/s", &|figures| figures.root.per_second());
    row("`GET /` median", "ms", &|figures| millis(figures.root.quantile(0.50)));
    row("`GET /` p99", "ms", &|figures| millis(figures.root.quantile(0.99)));
    row("`GET /v0/organizations/{organization}`", "requests/s", &|figures| figures.organization.per_second());
    row("`GET /v0/organizations/{organization}` median", "ms", &|figures| {
        millis(figures.organization.quantile(0.50))
    });
    row("`GET /v0/organizations/{organization}` p99", "ms", &|figures| {
        millis(figures.organization.quantile(0.99))
    });
    row("an organization against the root", "of its requests/s", &|figures| {
        figures.organization.per_second() / figures.root.per_second()
    });
    row("first start to ready, on an empty database", "ms", &|figures| millis(figures.first_start));
    row("start to ready", "ms", &|figures| millis(figures.start));
    row("memory when idle", "MiB", &|figures| mebibytes(figures.idle_kib));
    row("memory after the load", "MiB", &|figures| mebibytes(figures.busy_kib));
}

/// Formats a value with three significant digits.
fn round(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}
