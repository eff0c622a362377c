//! The cost of long lists: a page of benchmarks, and a search in them.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::json;
use tidemark_api::{BenchmarkName, Timestamp};
use tidemark_store::{Db, Error, WriteContext, benchmark};

use crate::{
    Result, load, round,
    server::{Counter, Engine, Server, location},
};

/// Numbers of benchmarks that the project has, one after the other.
const ROWS: [u32; 2] = [1_000, 100_000];
/// Queries: a page; a search with one match; a search that matches all, whose total counts every benchmark.
const QUERIES: [(&str, &str); 3] = [
    ("a page of 8", ""),
    ("a search with one hit", "?search=000777"),
    ("a search that all match", "?search=bench"),
];
const WARM_UP: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_secs(3);

/// Measures both engines and prints the medians.
pub(crate) fn measure(program: &Path, engines: &[Engine]) -> Result {
    println!("| `GET …/benchmarks`, median | of 1,000 | of 100,000 | ratio | unit |");
    println!("|---|---:|---:|---:|---|");
    for engine in engines {
        eprintln!("benches: measuring lists on {engine}");
        let [few, many] = medians(program, engine)?;
        for (place, (what, _)) in QUERIES.iter().enumerate() {
            let (few, many) = (few[place].as_secs_f64() * 1000.0, many[place].as_secs_f64() * 1000.0);
            println!("| {what}, {engine} | {} | {} | {:.2} | ms |", round(few), round(many), many / few);
        }
    }
    Ok(())
}

fn medians(program: &Path, engine: &Engine) -> Result<[[Duration; QUERIES.len()]; ROWS.len()]> {
    let database = engine.fresh_database()?;
    let (mut server, _) = Server::start(program, tempfile::tempdir()?, database.clone())?;
    let token = server.sign_up()?;
    let project = json!({ "name": "Lab" }).to_string();
    server.call("POST", "/v0/organizations/ada/projects", &token, &project)?;
    let mut medians = [[Duration::ZERO; QUERIES.len()]; ROWS.len()];
    for (rows, medians) in ROWS.into_iter().zip(&mut medians) {
        let data = server.stop()?;
        fill(data.path(), database.as_deref(), rows)?;
        (server, _) = Server::start(program, data, database.clone())?;
        for ((_, query), median) in QUERIES.into_iter().zip(medians) {
            let path = format!("/v0/projects/lab/benchmarks{query}");
            *median = load::run(server.address, &path, &token, 1, WARM_UP, MEASURED)?.quantile(0.50);
        }
    }
    server.stop()?;
    Ok(medians)
}

/// Adds benchmarks to the project, with the function that reports use.
fn fill(data: &Path, database: Option<&str>, rows: u32) -> Result {
    let location = location(data, database);
    let name = |number| format!("bench {number:06}");
    let wanted = (0..rows).map(|number| Ok(name(number).parse()?)).collect::<Result<Vec<BenchmarkName>>>()?;
    let shared = database.is_some();
    let fresh = WriteContext::new(Timestamp::from_micros(0), Arc::new(Counter));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let db = Db::open(&location).await?;
        db.write(move |tx| {
            let project = tx.value("select id from project where slug = 'lab'", &[])?;
            let wanted: Vec<_> = wanted.iter().map(|name| (None, name)).collect();
            benchmark::ensure(tx, &fresh, project, &wanted)?;
            // PostgreSQL does this itself within a minute after this many new rows.
            if shared {
                tx.execute("analyze", &[])?;
            }
            Ok::<_, Error>(())
        })
        .await?;
        db.close().await;
        Ok::<_, Error>(())
    })?;
    Ok(())
}
