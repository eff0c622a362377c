//! Archives of a project that were changed: an import rejects them and changes nothing, or imports a project that can be read. It
//! never changes data of the server.

use std::{collections::BTreeMap, env, panic::AssertUnwindSafe};

use futures_util::FutureExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidemark_api::Timestamp;
use tidemark_store::{Error, Tx, archive, project};

use crate::{
    Engine, Lab, Person, TestServer,
    fixture::{SETTINGS, populate, responses},
    project_transfer::{export, import, reason, start},
    report::report_body,
};

/// Number of changed archives on SQLite, and on PostgreSQL, where comparing the whole database takes ten times as long.
const CHANGES: [u64; 2] = [60, 30];
/// Environment variable with another number, to look for more.
const CHANGES_VARIABLE: &str = "TIDEMARK_TEST_ARCHIVES";

/// An archive without its checksum: the kind and the contents of each frame.
#[derive(Clone)]
struct Frames(Vec<(u8, Vec<u8>)>);

impl Frames {
    fn parse(archive: &[u8]) -> Self {
        let mut rest = &archive[archive::MAGIC.len()..archive.len() - 32];
        let mut frames = Vec::new();
        while let [kind, a, b, c, d, contents @ ..] = rest {
            let (frame, after) = contents.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
            frames.push((*kind, frame.to_vec()));
            rest = after;
        }
        Self(frames)
    }

    /// Returns the archive with a valid checksum.
    fn archive(&self) -> Vec<u8> {
        let mut bytes = archive::MAGIC.to_vec();
        for (kind, contents) in &self.0 {
            bytes.push(*kind);
            bytes.extend_from_slice(&u32::try_from(contents.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(contents);
        }
        let hash = Sha256::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }

    fn change_json(&mut self, index: usize, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&self.0[index].1).unwrap();
        change(&mut value);
        self.0[index].1 = value.to_string().into_bytes();
    }

    fn header(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut changed = self.clone();
        changed.change_json(0, |header| change(&mut header["project"]));
        changed.archive()
    }

    /// Returns the index of the first row of a table, and the position of a column.
    fn find(&self, table: &str, column: &str) -> (usize, usize) {
        let found = self.0.iter().enumerate().find_map(|(index, (kind, contents))| {
            let header: Value = (*kind == b'T').then(|| serde_json::from_slice(contents).unwrap())?;
            let columns = header["columns"].as_array().unwrap();
            (header["name"] == table)
                .then(|| (index + 1, columns.iter().position(|name| name == column).unwrap()))
        });
        found.unwrap()
    }

    /// Returns the archive with another value in the first row of a table.
    fn value(&self, table: &str, column: &str, value: &[u8]) -> Vec<u8> {
        let (row, column) = self.find(table, column);
        let mut changed = self.clone();
        changed.0[row].1 = with_value(&changed.0[row].1, column, value);
        changed.archive()
    }
}

/// Divides a row into its values.
fn values(mut row: &[u8]) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    while let Some(tag) = row.first() {
        let length = match tag {
            b'n' => 0,
            b'b' => 1,
            b'i' | b'r' => 8,
            b'u' => 16,
            _ => 4 + u32::from_le_bytes(row[1..5].try_into().unwrap()) as usize,
        };
        let (value, rest) = row.split_at(1 + length);
        values.push(value.to_vec());
        row = rest;
    }
    values
}

fn with_value(row: &[u8], column: usize, value: &[u8]) -> Vec<u8> {
    let mut values = values(row);
    values[column] = value.to_vec();
    values.concat()
}

fn int(number: i64) -> Vec<u8> {
    [b"i".as_slice(), &number.to_le_bytes()].concat()
}

fn real(number: f64) -> Vec<u8> {
    [b"r".as_slice(), &number.to_le_bytes()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [b"t".as_slice(), &u32::try_from(text.len()).unwrap().to_le_bytes(), text.as_bytes()].concat()
}

/// Pseudorandom numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % count
    }
}

/// Returns an archive with one change, and a description of the change.
fn change(frames: &Frames, seed: u64) -> (String, Vec<u8>) {
    let mut random = Random(seed);
    let mut changed = frames.clone();
    // Each table with the same probability, independent of its number of rows.
    let tables: Vec<usize> = (0..frames.0.len())
        .filter(|index| frames.0[*index].0 == b'T' && frames.0[index + 1].0 == b'R')
        .collect();
    let table = tables[random.below(tables.len())];
    let rows = frames.0[table + 1..].iter().take_while(|(kind, _)| *kind == b'R').count();
    let row = table + 1 + random.below(rows);
    let header: Value = serde_json::from_slice(&frames.0[table].1).unwrap();
    let what = match random.below(4) {
        0 => {
            let frame = [0, table, row][random.below(3)];
            let bit = random.below(changed.0[frame].1.len() * 8);
            changed.0[frame].1[bit / 8] ^= 1 << (bit % 8);
            format!("bit {bit} of frame {frame} of {}", header["name"])
        }
        1 => {
            let [first, last] =
                [[-5, 5], [0, 1], [1, i64::MAX], [i64::MIN, 9], [2, 3], [7, 1]][random.below(6)];
            changed.change_json(0, |archive| {
                let keys = archive["project"]["keys"].as_object_mut().unwrap();
                let keys = keys.values_mut().nth(random.below(20)).unwrap();
                *keys = json!([first, last]);
            });
            format!("keys {first} to {last}")
        }
        _ => {
            let hostile = [
                b"n".to_vec(),
                int(0),
                int(1),
                int(2),
                int(-1),
                int(i64::MIN),
                int(i64::MAX),
                int(1 << 40),
                real(f64::NAN),
                real(-1e308),
                real(f64::INFINITY),
                text(""),
                text("5"),
                text("[]"),
                text("a\u{0}b"),
                text("'; drop table project; --"),
                text(&"x".repeat(5000)),
                b"b\x07".to_vec(),
                [b"u".as_slice(), &[0; 16]].concat(),
                [b"x".as_slice(), &[3, 0, 0, 0, 255, 255, 255]].concat(),
            ];
            let column = random.below(header["columns"].as_array().unwrap().len());
            let value = &hostile[random.below(hostile.len())];
            changed.0[row].1 = with_value(&changed.0[row].1, column, value);
            format!("{}.{} = {value:?}", header["name"], header["columns"][column])
        }
    };
    (what, changed.archive())
}

/// Returns a fingerprint of the rows of each table of the server.
async fn fingerprint(server: &TestServer) -> BTreeMap<String, String> {
    let read = |tx: &mut Tx<'_>| {
        let mut bytes = Vec::new();
        archive::write(tx, Timestamp::from_micros(0), &mut bytes)?;
        archive::fingerprint(&*bytes)
    };
    server.app.db.read::<_, Error, _>(read).await.unwrap()
}

/// Starts a server with a project, and returns it with an archive of another project.
async fn set_up(engine: Engine) -> (TestServer, Person, Frames) {
    let Lab { server: source, .. } = populate(TestServer::start_with(engine, SETTINGS).await).await;
    let archive = export(&source).await;
    let server = start(engine, &source).await;
    let zoe = server.person("Zoe").await;
    server.project(&zoe, json!({ "name": "Own" })).await;
    let report = report_body(json!([json!({ "own": { "latency": { "value": 7 } } }).to_string()]), json!({}));
    server.post("/v0/projects/own/reports", &zoe.token, report).await.expect(201);
    server.idle().await;
    server.stop_workers().await;
    (server, zoe, Frames::parse(&archive))
}

/// Asserts that an import fails with a message and changes nothing.
async fn assert_rejected(server: &TestServer, archive: &[u8], message: &str) {
    let before = fingerprint(server).await;
    let failed = reason(import(server, "zoe", None, archive).await);
    assert!(failed.contains(message), "{failed}, not {message}");
    assert_eq!(fingerprint(server).await, before, "{message}");
}

async fn hostile_archives_are_rejected(engine: Engine) {
    let (server, _, frames) = set_up(engine).await;
    // SQL in the name of a table.
    let name = "',0;update account set admin=1;/*";
    let injected = frames.header(|project| project["keys"][name] = json!([1, 1]));
    assert_rejected(&server, &injected, "unknown table").await;
    // Keys that would become keys of other projects.
    for (first, last) in [(i64::MIN, 5), (0, 5), (9, 2), (1, i64::MAX)] {
        let keys = frames.header(|project| project["keys"]["branch"] = json!([first, last]));
        assert_rejected(&server, &keys, "the keys of branch are").await;
    }
    let narrow = frames.header(|project| project["keys"]["report"] = json!([1, 1]));
    assert_rejected(&server, &narrow, "which is not in the archive").await;
    let wide = frames.header(|project| project["keys"]["report"] = json!([1, 1_000_000]));
    assert_rejected(&server, &wide, "do not have the keys of its header").await;
    for bucket in [-1, 1_000] {
        let archive = frames.value("metric", "bucket", &int(bucket));
        assert_rejected(&server, &archive, "a series that is not in the archive").await;
    }
    // SQLite converts a text to an integer.
    for column in ["id", "project_id"] {
        let archive = frames.value("branch", column, &text("1"));
        assert_rejected(&server, &archive, "is not a key").await;
    }
    let series = [b"x".as_slice(), &4_u32.to_le_bytes(), &60_000_u32.to_le_bytes()].concat();
    let archive = frames.value("report_vector", "series", &series);
    assert_rejected(&server, &archive, "which is not in the archive").await;
    // Another project, or two.
    let other = frames.header(|project| project["uuid"] = json!("00000000-0000-0000-0000-000000000001"));
    assert_rejected(&server, &other, "differs from the project of its header").await;
    let mut twice = frames.clone();
    let (row, column) = frames.find("project", "id");
    twice.0.insert(row, (b'R', with_value(&frames.0[row].1, column, &int(999))));
    let twice = twice.archive();
    let failed = import(&server, "zoe", None, &twice).await;
    assert!(failed.is_err());
    // Values that no request can create.
    for (table, column, value) in [
        ("project", "visibility", text("secret")),
        ("benchmark", "slug", text("Not a slug")),
        ("branch", "name", text("")),
        ("report", "counts", text("{")),
        ("model", "min_sample_size", int(-1)),
        ("branch", "uuid", text("7")),
        ("change", "sigma", real(f64::NAN)),
        ("branch", "created", int(i64::MAX)),
    ] {
        let archive = frames.value(table, column, &value);
        assert_rejected(&server, &archive, &format!("{table}.{column} is")).await;
    }
    import(&server, "zoe", None, &frames.archive()).await.unwrap();
}

async fn a_changed_archive_is_rejected_or_can_be_read(engine: Engine) {
    let (server, zoe, frames) = set_up(engine).await;
    let (mut rejected, mut imported) = (0, 0);
    let own = server.get("/v0/projects/own/export?format=ndjson", &zoe.token).await.expect(200).body;
    let changes = if engine == Engine::Sqlite { CHANGES[0] } else { CHANGES[1] };
    let changes = env::var(CHANGES_VARIABLE).map_or(changes, |number| number.parse().unwrap());
    let mut before = fingerprint(&server).await;
    for seed in 0..changes {
        let (what, archive) = change(&frames, seed);
        match import(&server, "zoe", Some("lab"), &archive).await {
            Err(_) => {
                assert_eq!(fingerprint(&server).await, before, "seed {seed}: {what}");
                rejected += 1;
            }
            Ok(()) => {
                // The requests assert that the server does not fail.
                let read = AssertUnwindSafe(responses(&server, &zoe.token)).catch_unwind().await;
                assert!(read.is_ok(), "seed {seed}: {what}");
                let after = server.get("/v0/projects/own/export?format=ndjson", &zoe.token).await.expect(200);
                assert_eq!(after.body, own, "seed {seed}: {what}");
                let destroy = |tx: &mut Tx<'_>| {
                    let (found, _) = project::find(tx, &"lab".parse().unwrap(), None)?;
                    project::destroy(tx, found.id)
                };
                server.app.db.write::<_, Error, _>(destroy).await.unwrap();
                before = fingerprint(&server).await;
                imported += 1;
            }
        }
    }
    assert!(rejected > changes / 3 && imported > changes / 20, "{rejected} rejected, {imported} imported");
}

macro_rules! engines {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name(Engine::Postgres).await;
            }
        }
    )*};
}
engines!(hostile_archives_are_rejected a_changed_archive_is_rejected_or_can_be_read);
