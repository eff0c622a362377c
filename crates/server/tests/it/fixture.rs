//! Databases of released versions: each is upgraded on both engines, and answers every request as before.
//!
//! `TIDEMARK_UPDATE_FIXTURE=1` writes the fixture of the current version: a SQLite file, an archive of PostgreSQL, and the responses
//! to all GET requests. A version is released when CHANGELOG.md has a section for it. Until then, its schema can change, and a test
//! fails if its fixture is stale; afterwards, never write its fixture again.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use tidemark_store::{Db, Error, Location, Param, Tx, archive};
use uuid::Uuid;

use crate::{
    Engine, Lab, PATIENCE, TestServer,
    database::Database,
    job::{ask, set_up},
    registry::client::Client,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
const UPDATE: &str = "TIDEMARK_UPDATE_FIXTURE";
/// Signs the session in the fixture.
pub(crate) const SETTINGS: &str = "[security]\nsecret_key = \"signs-the-session-in-the-fixture\"\n";
/// How to update a fixture.
const REGENERATE: &str =
    "run `TIDEMARK_UPDATE_FIXTURE=1 cargo nextest run -p tidemark-server the_fixture_fills_every_table`";
/// Maximum size of a fixture, in bytes.
const MAX_BYTES: u64 = 300 * 1024;

/// Rows of tables that requests fill only with other services, or only for a moment. `$1` is a UUID, `$2` a blob.
const ROWS: &[(&str, &str)] = &[
    ("former_email", "insert into former_email (email, changed) values ('old@example.org', 1)"),
    (
        "sign_in",
        "insert into sign_in (uuid, account_id, email, created, expires)
         values ($1, (select min(id) from account), 'ada@example.com', 1, 9000000000000000)",
    ),
    (
        "user_token",
        "insert into user_token (uuid, account_id, name, hash, created, expires)
         values ($1, (select min(id) from account), 'legacy', $2, 1, 9000000000000000)",
    ),
    ("rate_window", "insert into rate_window (name, state, expires) values ('fixture', '{}', 9000000000000000)"),
    ("server_report", "insert into server_report (server, received, document) values ($1, 1, '{}')"),
    (
        "outbox",
        "insert into outbox (kind, payload, attempts, due, created) values ('none', '{}', 0, 9000000000000000, 1)",
    ),
    (
        "project_member",
        "insert into project_member (project_id, account_id, role, created, modified)
         values ((select min(id) from project), (select max(id) from account), 'viewer', 1, 1)",
    ),
    (
        "upload",
        "insert into upload (uuid, repository_id, size, created, touched)
         values ($1, (select min(id) from repository), 1, 1, 9000000000000000)",
    ),
    (
        "upload_part",
        "insert into upload_part (upload_id, place, object, size, digest)
         values ((select min(id) from upload), 0, $1, 1, 'sha256:00')",
    ),
    (
        "registry_traffic",
        "insert into registry_traffic (organization_id, hour, bytes)
         values ((select min(id) from organization), 1000000, 1)",
    ),
    (
        "sso",
        "insert into sso (uuid, organization_id, domain, created)
         values ($1, (select min(id) from organization), 'example.org', 1)",
    ),
    (
        "identity",
        "insert into identity (account_id, provider, subject, created)
         values ((select min(id) from account), 'github', '1', 1)",
    ),
    (
        "oauth",
        "insert into oauth (uuid, provider, browser, nonce, verifier, expires)
         values ($1, 'github', $2, 'nonce', 'verifier', 9000000000000000)",
    ),
    (
        "plan",
        "insert into plan (organization_id, subscription, customer, level, status, shown, revision, asked)
         values ((select max(id) from organization), 'sub_1', 'cus_1', 'team', 'active', '{}', 1, 1)",
    ),
    ("customer", "insert into customer (account_id, customer) values ((select min(id) from account), 'cus_1')"),
    (
        "checkout",
        "insert into checkout (session, organization_id, asked) values ('cs_1', (select min(id) from organization), 1)",
    ),
    (
        "notice",
        "insert into notice (uuid, project_id, name, kind, url, secret, direction, digest, created, modified)
         values ($1, (select min(id) from project), 'Hook', 'webhook', 'https://example.org/hook', 'secret', 'any', 'none', 1, 1)",
    ),
    (
        "delivery",
        "insert into delivery (uuid, notice_id, project_id, report_id, event, again, status, attempts, created, tried)
         values ($1, (select min(id) from notice), (select min(id) from project), (select max(id) from report), $1, false,
                 'delivered', 1, 1767225600000000, 1767225600000000)",
    ),
    (
        "report_factor",
        "insert into report_factor (report_id, factors) values ((select min(id) from report), $2)",
    ),
    (
        "pair_series",
        "insert into pair_series (report_id, benchmark_id, variant_id, measure_id, pairs)
         values ((select min(id) from report), (select min(id) from benchmark), 0, (select min(id) from measure), $2)",
    ),
    (
        "confirmation",
        "insert into confirmation (event_id, report_id, state, pending, reason, deadline, created, modified)
         values ((select min(id) from event), (select min(id) from report), 'suspected', false, 'no image', 1, 1, 1)",
    ),
    (
        "bisection_search",
        "insert into bisection_search (event_id, progress, pending, reason, deadline, attempts, next_attempt, actor_kind,
             created, modified)
         values ((select min(id) from event), '{}', false, 'No reason.', 1, 0, 1, 'system', 1, 1)",
    ),
    (
        "code_host",
        "insert into code_host (project_id, provider, url, repository, token, secret, commands, created, modified)
         values ((select min(id) from project), 'github', 'https://example.org', 'lab/lab', 'token', 'secret', true, 1, 1)",
    ),
    (
        "code_host_command",
        "insert into code_host_command (uuid, code_host_id, comment, pull, author, author_id, command, created, completed)
         values ($1, (select min(id) from code_host), 1, 1, 'ada', 1, 'run', 1, 1)",
    ),
];

/// Rows of users that the first row of their table does not cover. `$1` is a UUID.
const USER_ROWS: [&str; 2] = [
    "insert into notice (uuid, account_id, name, kind, url, secret, direction, digest, created, modified)
     values ($1, (select min(id) from account), 'Mine', 'webhook', 'https://example.org/mine', 'secret', 'any', 'none', 1, 1)",
    "insert into delivery (uuid, notice_id, project_id, report_id, event, again, status, attempts, created, tried)
     values ($1, (select max(id) from notice), (select min(id) from project), (select max(id) from report), $1, false,
             'delivered', 1, 1767225600000000, 1767225600000000)",
];

/// GET requests that the comparison skips, and why. All other requests of openapi.json are compared.
const EXCEPTIONS: [(&str, &str); 26] = [
    ("/", "it has the version of the server"),
    ("/v0/server/version", "it has the version of the server"),
    ("/v0/server/spec", "it describes the API of the version"),
    ("/v0/server/config", "it has the settings and paths of the server"),
    ("/v0/server/config/console", "it has the settings of the server"),
    ("/v0/server/stats", "it has the version and the time"),
    ("/v0/server/stats/{server}", "it repeats its parameter"),
    ("/v0/auth/github", "it requires an identity provider"),
    ("/v0/auth/google", "it requires an identity provider"),
    ("/v0/auth/oidc/{provider}", "it requires an identity provider"),
    ("/v0/auth/oci/token", "each response has a new token"),
    ("/v0/auth/caller", "it has the rights of the version"),
    ("/v0/organizations/{organization}/invitations/{invitation}/link", "each response has a new token"),
    ("/v0/organizations/{organization}/plan", "it requires the payment provider"),
    ("/v0/organizations/{organization}/usage", "it requires the payment provider"),
    ("/v0/projects/{project}/badge", "a newer version can draw another picture"),
    ("/v0/projects/{project}/perf/img", "a newer version can draw another picture"),
    ("/v0/projects/{project}/plots/{plot}/img", "a newer version can draw another picture"),
    ("/v0/projects/{project}/feed", "a newer version can write other texts"),
    ("/v0/runners/{runner}/channel", "it is a WebSocket for runners"),
    ("/v2", "it has no data"),
    ("/v2/{name}/blobs/{ref}", "the objects of the registry are not in the database"),
    ("/v2/{name}/blobs/{ref}/{session_id}", "the objects of the registry are not in the database"),
    ("/v2/{name}/manifests/{reference}", "the objects of the registry are not in the database"),
    ("/v2/{name}/referrers/{digest}", "the objects of the registry are not in the database"),
    ("/v2/{name}/tags/list", "it requires a token of the registry"),
];

fn folder() -> PathBuf {
    Path::new(FOLDER).join(env!("CARGO_PKG_VERSION"))
}

/// Creates a database with rows in every table, through the API where this is possible.
pub(crate) async fn populate(server: TestServer) -> Lab {
    let ada = set_up(&server).await;
    let grace = server.person("Grace").await;
    server.join("ada", &ada, &grace, "member").await;
    server.invite("ada", &ada, "alan@example.com", "member").await;
    server.project_key(&ada, "/v0/projects/lab").await;
    server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "laptop" })).await.expect(201);
    server.post("/v0/runners", &ada.token, json!({ "name": "Rack" })).await.expect(201);
    server.post("/v0/runners/rack/specs", &ada.token, json!({ "spec": "metal" })).await.expect(201);
    Client::user(&server, &ada).await.push_image("lab", "latest", b"layer").await;
    let id = |tx: &mut Tx<'_>| tx.value("select id from project where slug = 'lab'", &[]);
    let id = server.app.db.read::<_, Error, _>(id).await.unwrap();
    let lab = Lab { server, token: ada.token.clone(), id };
    lab.stay(0..40, 100.0).await;
    lab.limit("localhost", 130.0).await;
    lab.stay(40..60, 150.0).await;
    lab.changes("", 1).await;
    let variant =
        json!([{ "name": "fib", "parameters": { "n": 10 }, "measures": { "latency": { "value": 5 } } }]);
    let more = json!({ "branch": "feature", "start_point": { "branch": "main" } });
    lab.report(json!([variant.to_string()]), more).await.expect(201);
    let event = lab.get("events").await.expect(200).body[0]["uuid"].as_str().unwrap().to_owned();
    let action = json!({ "status": "expected", "note": "A new allocator" });
    lab.patch(&format!("events/{event}"), action).await.expect(200);
    lab.post(&format!("events/{event}/bisection"), crate::bisection::result()).await.expect(201);
    lab.post("mutes", json!({ "benchmark": "still", "reason": "Flaky" })).await.expect(201);
    let mut plot = json!({
        "lower_value": false, "upper_value": false, "lower_boundary": false, "upper_boundary": false,
        "x_axis": "date_time", "window": 86_400, "title": "Latency",
    });
    for noun in ["branches", "testbeds", "benchmarks", "measures"] {
        plot[noun] = json!([lab.get(noun).await.expect(200).body[0]["uuid"]]);
    }
    lab.post("plots", plot).await.expect(201);
    // The next step moves the clock, and jobs expire.
    ask(&lab.server, &ada, json!({ "env": { "TOKEN": "s3cret" } })).await;
    lab.settled().await;
    lab.server.idle().await;
    lab.server.stop_workers().await;
    lab.server.app.db.write(fill).await.unwrap();
    lab
}

/// Adds a row to the tables that are empty.
fn fill(tx: &mut Tx<'_>) -> Result<(), Error> {
    for ((table, sql), number) in ROWS.iter().zip(1_u128..) {
        if tx.value::<i64>(&format!("select count(*) from {table}"), &[])? > 0 {
            continue;
        }
        let (uuid, mut blob) = (Uuid::from_u128(number), vec![0_u8; 16]);
        // A common factor starts with the key of a measure.
        blob[0] = 1;
        let (has_uuid, has_blob) = (sql.contains("$1"), sql.contains("$2"));
        let params: &[&dyn Param] = match (has_uuid, has_blob) {
            (true, true) => &[&uuid, &blob],
            (true, false) => &[&uuid],
            (false, true) => &[&blob],
            (false, false) => &[],
        };
        let sql = if has_uuid { (*sql).to_owned() } else { sql.replace("$2", "$1") };
        tx.execute(&sql, params)?;
    }
    for (sql, number) in USER_ROWS.iter().zip(0x1000_u128..) {
        tx.execute(sql, &[&Uuid::from_u128(number)])?;
    }
    Ok(())
}

/// Returns the names of empty tables.
async fn empty_tables(db: &Db) -> Vec<String> {
    let bytes = archived(db).await;
    let rows = archive::check(&*bytes).unwrap().rows;
    rows.into_iter().filter(|(_, rows)| *rows == 0).map(|(table, _)| table).collect()
}

async fn archived(db: &Db) -> Vec<u8> {
    db.read(|tx| {
        let mut bytes = Vec::new();
        archive::write(tx, tidemark_api::Timestamp::from_micros(0), &mut bytes)?;
        Ok::<_, Error>(bytes)
    })
    .await
    .unwrap()
}

fn get_paths() -> Vec<String> {
    let document: Value = serde_json::from_str(include_str!("../../../../openapi.json")).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    paths.filter(|(_, operations)| operations.get("get").is_some()).map(|(path, _)| path.clone()).collect()
}

/// Returns the responses to all GET requests without an exception, by path. A path with the ID of a resource uses the first resource
/// of its list, and is missing if the list is empty.
pub(crate) async fn responses(server: &TestServer, token: &str) -> BTreeMap<String, Value> {
    all_responses(server, token).await.0
}

/// Returns the responses, and the paths whose lists are empty.
async fn all_responses(server: &TestServer, token: &str) -> (BTreeMap<String, Value>, Vec<String>) {
    let (mut responses, mut missing) = (BTreeMap::new(), Vec::new());
    for path in get_paths() {
        if EXCEPTIONS.iter().any(|(skipped, _)| *skipped == path) {
            continue;
        }
        let Some(resolved) = resolve(server, token, &path).await else {
            missing.push(path);
            continue;
        };
        let answer = server.get(&resolved, token).await;
        assert!(!answer.status.is_server_error(), "{resolved}: {}", answer.body);
        responses.insert(resolved, json!({ "status": answer.status.as_u16(), "body": answer.body }));
    }
    (responses, missing)
}

/// Replaces the parameters of a path, and adds the required parameters of its query; `None` if a list is empty.
async fn resolve(server: &TestServer, token: &str, path: &str) -> Option<String> {
    let mut resolved = String::new();
    let first = async |list: &str, field: &str| {
        Some(server.get(list, token).await.body.pointer(field)?.as_str()?.to_owned())
    };
    for segment in path.split('/').skip(1) {
        let value = match segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}')) {
            None => segment.to_owned(),
            Some("project") => "lab".to_owned(),
            Some("organization" | "user") => "ada".to_owned(),
            Some("permission") => "view".to_owned(),
            Some("metric") => {
                let uuid = first("/v0/projects/lab/reports", "/0/uuid").await?;
                let report = format!("/v0/projects/lab/reports/{uuid}");
                first(&report, "/results/0/0/measures/0/metric/uuid").await?
            }
            Some(_) => first(&resolved, "/0/uuid").await?,
        };
        resolved.push('/');
        resolved.push_str(&value);
    }
    match path {
        "/v0/projects/{project}/export" => resolved.push_str("?format=ndjson"),
        "/v0/projects/{project}/perf" => {
            for (noun, separator) in
                [("branches", '?'), ("testbeds", '&'), ("benchmarks", '&'), ("measures", '&')]
            {
                let uuid = first(&format!("/v0/projects/lab/{noun}"), "/0/uuid").await?;
                resolved.push_str(&format!("{separator}{noun}={uuid}"));
            }
        }
        _ => {}
    }
    Some(resolved)
}

/// Asserts that a response has all fields of an earlier response. A newer version may add fields.
fn assert_kept(path: &str, before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old.iter().filter(|(name, _)| *name != "request_id") {
                let kept = new.get(name).unwrap_or_else(|| panic!("{path}/{name} is missing"));
                assert_kept(&format!("{path}/{name}"), value, kept);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{path}");
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                assert_kept(&format!("{path}/{index}"), old, new);
            }
        }
        _ => assert_eq!(before, after, "{path}"),
    }
}

fn name(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "sqlite",
        Engine::Postgres => "postgres",
    }
}

fn write(file: &Path, bytes: &[u8]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, zstd::encode_all(bytes, 19).unwrap()).unwrap();
    let bytes = fs::metadata(file).unwrap().len();
    assert!(bytes < MAX_BYTES, "{} has {bytes} bytes", file.display());
}

/// Checks that the generator fills every table, and writes the fixture of this version on request.
async fn generate(engine: Engine) {
    let lab = populate(TestServer::start_with(engine, SETTINGS).await).await;
    let db = lab.server.app.db.clone();
    assert_eq!(
        empty_tables(&db).await,
        Vec::<String>::new(),
        "these tables need rows in `populate` or `ROWS`"
    );
    let (responses, missing) = all_responses(&lab.server, &lab.token).await;
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "these requests need a resource in `populate`, or an exception"
    );
    let failed: Vec<_> = responses.iter().filter(|(_, response)| response["status"] != 200).collect();
    assert!(failed.is_empty(), "{failed:?}");
    if env::var_os(UPDATE).is_none() {
        return;
    }
    let document =
        json!({ "token": lab.token, "now": lab.server.app.clock.now().micros(), "responses": responses });
    write(&folder().join(format!("{}.json.zst", name(engine))), document.to_string().as_bytes());
    let database = match engine {
        Engine::Sqlite => {
            let copy = lab.server.folder().join("copy.db");
            db.backup(copy.clone()).await.unwrap().unwrap();
            fs::read(copy).unwrap()
        }
        Engine::Postgres => archived(&db).await,
    };
    write(&folder().join(format!("{}.database.zst", name(engine))), &database);
}

/// Restores the stored database of a version without its newer migrations, into a folder or a new PostgreSQL database.
async fn stored(engine: Engine, version: &Path, folder: &Path) -> (Location, Option<Database>) {
    let file = version.join(format!("{}.database.zst", name(engine)));
    let bytes = zstd::decode_all(fs::File::open(file).unwrap()).unwrap();
    match engine {
        Engine::Sqlite => {
            let file = folder.join("tidemark.db");
            fs::write(&file, bytes).unwrap();
            (Location::Sqlite { file, busy_timeout: PATIENCE, cache_kib: 1024 }, None)
        }
        Engine::Postgres => {
            let target = Database::create_empty().await;
            let location = Location::Postgres { url: target.url.clone(), connections: 1 };
            let db = Db::open_unchanged(&location).await.unwrap();
            db.write(move |tx| archive::restore_unchanged(tx, &*bytes).map(drop)).await.unwrap();
            db.close().await;
            (location, Some(target))
        }
    }
}

/// Whether the changelog has a section of a version. Before, the schema and the fixture of the version can change.
fn is_released(version: &str) -> bool {
    let changelog = include_str!("../../../../CHANGELOG.md");
    let title = |line: &'static str| line.strip_prefix("## ")?.split(' ').next();
    changelog.lines().any(|line| title(line) == Some(version))
}

/// Returns the applied migrations with their checksums.
async fn migrations(db: &Db) -> Vec<(i64, String)> {
    let sql = "select number, checksum from migration order by number";
    db.read::<_, Error, _>(move |tx| tx.fetch_all(sql, &[])).await.unwrap()
}

/// Checks the stored databases: every table has rows, and the database of a version that is not released has all tables.
async fn check_stored(engine: Engine) {
    let server = TestServer::start(engine).await;
    let current = migrations(&server.app.db).await;
    for version in fs::read_dir(FOLDER).unwrap() {
        let version = version.unwrap().path();
        let folder = tempfile::tempdir().unwrap();
        let (location, _database) = stored(engine, &version, folder.path()).await;
        let db = Db::open_unchanged(&location).await.unwrap();
        let (number, empty) = (version.file_name().unwrap().to_str().unwrap(), empty_tables(&db).await);
        assert_eq!(empty, Vec::<String>::new(), "tables of the fixture {number} are empty; {REGENERATE}");
        if !is_released(number) {
            let found = migrations(&db).await;
            assert_eq!(
                found, current,
                "the fixture of the unreleased version {number} is stale; {REGENERATE}"
            );
        }
        db.close().await;
    }
}

/// Opens the databases of all released versions, which upgrades them, and compares the responses.
async fn upgrade(engine: Engine) {
    let mut versions = 0;
    let folders = fs::read_dir(FOLDER)
        .expect("run these tests with TIDEMARK_UPDATE_FIXTURE=1 to write the first fixture");
    for version in folders {
        let version = version.unwrap().path();
        let file = version.join(format!("{}.json.zst", name(engine)));
        let document = zstd::decode_all(fs::File::open(file).unwrap()).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // The server applies the newer migrations, as in an upgrade.
        let (_, target) = stored(engine, &version, folder.path()).await;
        let server = TestServer::start_on(engine, SETTINGS, folder, target.map(Arc::new), None).await;
        server.stop_workers().await;
        server.pass_to(tidemark_api::Timestamp::from_micros(document["now"].as_i64().unwrap()));
        let token = document["token"].as_str().unwrap();
        let before = document["responses"].as_object().unwrap();
        assert!(before.len() > 40, "{}", before.len());
        for (path, response) in before {
            let answer = server.get(path, token).await;
            assert_kept(path, response, &json!({ "status": answer.status.as_u16(), "body": answer.body }));
        }
        versions += 1;
    }
    assert!(versions > 0);
}

mod the_fixture_fills_every_table {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        generate(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        generate(Engine::Postgres).await;
    }
}

mod the_stored_databases_are_complete {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        check_stored(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        check_stored(Engine::Postgres).await;
    }
}

#[test]
fn the_exceptions_are_requests() {
    let paths = get_paths();
    let unknown: Vec<_> =
        EXCEPTIONS.iter().filter(|(path, _)| !paths.contains(&(*path).to_owned())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

mod a_database_of_a_released_version_is_upgraded {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        upgrade(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        upgrade(Engine::Postgres).await;
    }
}
