//! A rolling upgrade: two servers on one PostgreSQL database continue while a newer release adds tables, columns and indexes.
//!
//! The migration of the newer release is applied directly, because there is no newer release yet.

use std::fs;

use tidemark_store::{Db, Error, Location};

use crate::{
    client::Client,
    process::{Server, create_database, tidemark, wait_until},
    report::Reports,
};

const KIND: Reports = Reports { shared: 4 };
const CLIENTS: usize = 4;
/// Number of acknowledged reports before and after each step.
const STEP: usize = 30;

/// Migration of a newer release: changes of tables that every report writes to and reads from.
const NEWER: [&str; 6] = [
    "create table future (id bigint primary key, report_id bigint not null references report on delete cascade)",
    "alter table report add column future_note text",
    "alter table metric add column future_flags bigint not null default 0",
    "alter table benchmark add column future_owner text",
    "create index report_future on report (future_note)",
    "insert into migration (number, name, checksum, release) values (9999, 'future', 'x', '9.8.7')",
];

#[test]
fn servers_of_the_old_release_continue_during_a_rolling_upgrade() {
    let folder = tempfile::tempdir().unwrap();
    let (url, data) = (create_database(), folder.path().join("data"));
    let command = || {
        let mut command = tidemark(&["serve", "--bind", "127.0.0.1:0", "--database", &url, "--data-dir"]);
        command.arg(&data);
        command
    };
    let start = || {
        let mut server = Server::spawn(&mut command());
        server.drain();
        server
    };
    let servers = [start(), start()];
    let mut ada = Client::connect(&servers[0]);
    ada.sign_up("Ada", &data);
    Reports::found_project(&mut ada);
    let clients = (0..CLIENTS).map(|number| Client::connect_as(&servers[number % servers.len()], &ada.token));
    let ((), sent) = KIND.send_during(clients, |acknowledged| {
        let more = |what: &str| {
            let before = acknowledged.lock().unwrap().len();
            wait_until(what, || acknowledged.lock().unwrap().len() >= before + STEP);
        };
        more("there are reports before the upgrade");
        upgrade(&url);
        more("there are reports after the upgrade");
    });
    for server in &servers {
        let found = KIND.check(&mut Client::connect_as(server, &ada.token));
        assert!(found.keys().eq(&sent), "a report is lost or duplicated");
    }
    // A server of the old release does not start again, and names both releases.
    let refused = command().output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("Tidemark 9.8.7") && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    assert!(fs::exists(&data).unwrap());
}

fn upgrade(url: &str) {
    let location = Location::Postgres { url: url.to_owned(), connections: 1 };
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let db = Db::open_unchanged(&location).await.unwrap();
        // As a new server does: a migration can deadlock with reports.
        loop {
            let applied =
                db.write::<_, Error, _>(|tx| NEWER.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop)));
            match applied.await {
                Err(Error::Busy(_)) => {}
                applied => break applied.unwrap(),
            }
        }
        db.close().await;
    });
}
