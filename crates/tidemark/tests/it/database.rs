//! The tables that a server left, read without the server.

use std::path::Path;

use tidemark_store::{Db, Error, Location, Tx, restore};

use crate::process::PATIENCE;

/// Partial data that must not exist, because it is only written as a whole.
const HALVES: &[(&str, &str)] = &[
    (
        "reports without values",
        "select count(*) from report where id not in (select report_id from report_vector)",
    ),
    ("reports without metrics", "select count(*) from report where id not in (select report_id from metric)"),
    (
        "versions without reports",
        "select count(*) from version where id not in (select version_id from report)",
    ),
    (
        "reports that are not counted",
        "select (select count(*) from report) - (select cast(sum(reports) as bigint) from lane)",
    ),
    (
        "alerts that are not counted",
        "select (select count(*) from alert) - (select cast(sum(active) as bigint) from threshold_count)",
    ),
    (
        "gaps between versions",
        "select count(*) from (select head_id from version group by head_id
                               having min(number) <> 0 or max(number) <> count(*) - 1) as gap",
    ),
];

/// Runs a statement on a database file.
pub(crate) fn alter(file: &Path, sql: &'static str) {
    alter_at(&Location::Sqlite { file: file.to_owned(), busy_timeout: PATIENCE, cache_kib: 1024 }, sql);
}

/// Runs a statement on PostgreSQL.
pub(crate) fn alter_postgres(url: &str, sql: &'static str) {
    alter_at(&Location::Postgres { url: url.to_owned(), connections: 1 }, sql);
}

fn alter_at(location: &Location, sql: &'static str) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let db = Db::open(location).await.unwrap();
        db.write(move |tx| tx.execute(sql, &[])).await.unwrap();
        db.close().await;
    });
}

/// Asserts that the database in a folder, or on PostgreSQL, is intact and contains no partial data.
pub(crate) fn check(data: &Path, postgres: Option<&str>) {
    let location = match postgres {
        Some(url) => Location::Postgres { url: url.to_owned(), connections: 1 },
        None => {
            let file = data.join("tidemark.db");
            restore::check(&file).unwrap();
            Location::Sqlite { file, busy_timeout: PATIENCE, cache_kib: 1024 }
        }
    };
    let embedded = postgres.is_none();
    let read = move |tx: &mut Tx<'_>| {
        if embedded {
            let dangling = tx.fetch_all::<String>("pragma foreign_key_check", &[])?;
            assert!(dangling.is_empty(), "rows of {dangling:?} refer to what is not there");
        }
        for (what, sql) in HALVES {
            assert_eq!(tx.value::<i64>(sql, &[])?, 0, "there are {what}");
        }
        Ok::<_, Error>(())
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let db = Db::open(&location).await.unwrap();
        db.read(read).await.unwrap();
        db.close().await;
    });
}
