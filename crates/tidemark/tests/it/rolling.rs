//! A rolling upgrade: two servers on one PostgreSQL database continue while a newer release adds tables, columns and indexes.
//!
//! The first test applies the migration of a newer release directly: no newer server runs. The second test runs the released binary of
//! the release before next to this one. It needs this binary, so it is ignored by default.

use std::{env, fs};

use tidemark_store::{Db, Error, Location};

use crate::{
    client::Client,
    process::{Server, create_database, isolated, tidemark, wait_until},
    report::{PATH, Reports},
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

/// Names the binary of the release before.
const PREVIOUS: &str = "TIDEMARK_PREVIOUS_BINARY";

#[test]
#[ignore = "TIDEMARK_PREVIOUS_BINARY must name the binary of the release before"]
fn a_server_of_the_release_before_and_of_this_release_share_a_database() {
    let previous = env::var(PREVIOUS).expect(PREVIOUS);
    let folder = tempfile::tempdir().unwrap();
    let (url, data) = (create_database(), folder.path().join("data"));
    let start = |mut command: std::process::Command| {
        command.args(["serve", "--bind", "127.0.0.1:0", "--database", &url, "--data-dir"]).arg(&data);
        let mut server = Server::spawn(&mut command);
        server.drain();
        server
    };
    let old = start(isolated(&previous));
    let mut ada = Client::connect(&old);
    ada.sign_up("Ada", &data);
    Reports::found_project(&mut ada);
    let clients = (0..CLIENTS).map(|_| Client::connect_as(&old, &ada.token));
    // The reports of the clients of the new server have numbers that the clients of the old server do not reach.
    let newer = 1_000_000..1_000_000 + STEP;
    let (new, mut sent) = KIND.send_during(clients, |acknowledged| {
        let more = |what: &str| {
            let before = acknowledged.lock().unwrap().len();
            wait_until(what, || acknowledged.lock().unwrap().len() >= before + STEP);
        };
        more("there are reports before the upgrade");
        let new = start(tidemark(&[]));
        let mut client = Client::connect_as(&new, &ada.token);
        for number in newer.clone() {
            let (status, answer) = client.post_with_retries(PATH, &KIND.body(number)).unwrap();
            assert_eq!(status, 201, "{answer}");
        }
        more("there are reports of the old server after the upgrade");
        new
    });
    sent.extend(newer);
    for server in [&old, &new] {
        let found = KIND.check(&mut Client::connect_as(server, &ada.token));
        assert!(found.keys().eq(&sent), "a report is lost or duplicated");
    }
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
