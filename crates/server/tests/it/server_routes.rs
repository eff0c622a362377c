//! `/` and `/v0/server`.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_api::Timestamp;
use tidemark_store::{Db, Error, Location, Tx, archive, restore, server as statistics};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{Engine, TestServer, both, contract, database::Database, until};

const SECRETS: &str = "[security]\nsecret_key = \"signing-secret-in-the-file\"\n\
     [smtp]\nhostname = \"mail.example.org\"\nusername = \"mailer\"\nsecret = \"mail-password\"\n\
     from_email = \"sender@example.org\"\n";

both! {
    async fn the_root_answers_nothing(server: TestServer) {
        let answer = server.get("/", "").await;
        assert_snapshot!("server_root", server.show(&answer));
        assert_eq!(answer.body, Value::Null);
    }

    async fn the_version_is_the_contract_s(server: TestServer) {
        let answer = server.get("/v0/server/version", "").await;
        assert_snapshot!("server_version", server.show(&answer));
        let ada = server.person("Ada").await;
        let stats = server.get("/v0/server/stats", &ada.token).await.expect(200);
        assert_eq!(stats.text("/server/version"), answer.text("/version"));
        assert_eq!(stats.text("/server/tidemark_version"), answer.headers["x-server-version"].to_str().unwrap());
        let spec = server.get("/v0/server/spec", "").await.expect(200);
        assert_eq!(spec.text("/info/version"), answer.text("/version"));
    }

    async fn the_description_is_the_one_in_the_repository(server: TestServer) {
        let answer = server.get("/v0/server/spec", "").await.expect(200);
        assert!(answer.body["openapi"].as_str().unwrap().starts_with("3.1."));
        let described: Value = serde_json::to_value(tidemark_server::transport::openapi::document()).unwrap();
        assert!(answer.body == described);
    }

    async fn the_console_has_an_address(server: TestServer) {
        let answer = server.get("/v0/server/config/console", "").await;
        assert_snapshot!("server_console", server.show(&answer));
        // An invalid credential does not block this route.
        server.get("/v0/server/config/console", "svc_user_gone").await.expect(200);
    }

    async fn the_configuration_is_shown_without_its_secrets(server: TestServer) {
        let ada = server.person("Ada").await;
        let grace = server.person("Grace").await;
        server.get("/v0/server/config", "").await.expect(401);
        server.get("/v0/server/config", &grace.token).await.expect(403);
        let answer = server.get("/v0/server/config", &ada.token).await.expect(200);
        let kept = fs::read_to_string(server.folder().join("secret")).unwrap();
        assert!(!answer.body.to_string().contains(kept.trim()));
        assert_eq!(answer.text("/security/secret_key"), "************");
        let mut shown = server.show(&answer).replace(server.folder().to_str().unwrap(), "<data>");
        if server.engine == Engine::Postgres {
            let url = answer.text("/database/url");
            shown = shown.replace(&format!("{url:?}"), "null");
        }
        assert_snapshot!("server_config", shown);
        assert_eq!(contract::undeclared("JsonConfig", &answer.body), [""; 0]);
    }

    async fn configured_secrets_are_masked(server: TestServer) {
        // Its mail server does not exist, so the test cannot sign in and reads the configuration directly.
        let secretive = TestServer::start_with(server.engine, SECRETS).await;
        let shown = secretive.app.config.masked();
        assert_eq!(shown["smtp"]["secret"], "************");
        assert_eq!(shown["security"]["secret_key"], "************");
        let shown = format!("{shown} {:?}", secretive.app.config);
        assert!(!shown.contains("signing-secret") && !shown.contains("mail-password"), "{shown}");
    }

    async fn statistics_are_given_to_administrators(server: TestServer) {
        let ada = server.person("Ada").await;
        server.pass(10 * 86_400);
        let grace = server.person("Grace").await;
        server.get("/v0/server/stats", "").await.expect(401);
        server.get("/v0/server/stats", &grace.token).await.expect(403);
        let answer = server.get("/v0/server/stats", &ada.token).await;
        assert_snapshot!("server_stats", server.show(&answer));
    }

    async fn statistics_of_others_are_received(server: TestServer) {
        let ada = server.person("Ada").await;
        let stats = server.get("/v0/server/stats", &ada.token).await.expect(200).body;
        let answer = server.post("/v0/server/stats", "", stats.clone()).await;
        assert_snapshot!("server_stats_received", server.show(&answer));
        server.post("/", "", stats.clone()).await.expect(202);
        let mut other = stats;
        other["server"]["uuid"] = json!("0190a3c0-0000-7000-8000-000000000001");
        server.post("/", "", other).await.expect(202);
        let kept = server.app.db.read(|tx| tx.value::<i64>("select count(*) from server_report", &[]));
        assert_eq!(kept.await.unwrap(), 2, "the newest of each server is kept");
        let kept = server.app.db.read(|tx| {
            tx.fetch_all::<String>("select document from server_report", &[])
        });
        for document in kept.await.unwrap() {
            assert!(!document.contains("ada"), "neither people nor organizations are kept: {document}");
        }
        server.post("/v0/server/stats", "", json!({})).await.expect(400);

        let uuid = "0190a3c0-0000-7000-8000-000000000001";
        let seen = server.get(&format!("/v0/server/stats/{uuid}?startup=true&stats=false"), "").await.expect(200);
        assert_eq!(seen.body, json!({ "uuid": uuid }));
        server.get("/v0/server/stats/somebody", "").await.expect(400);
    }

    async fn received_statistics_are_bounded(server: TestServer) {
        let ada = server.person("Ada").await;
        let mut stats = server.get("/v0/server/stats", &ada.token).await.expect(200).body;
        stats["server"]["version"] = json!("x".repeat(20 << 10));
        server.post("/v0/server/stats", "", stats).await.expect(400);

        let now = server.app.clock.now();
        let write = move |tx: &mut Tx<'_>| {
            for number in 1..=statistics::MAX_SERVERS + 5 {
                let uuid = Uuid::from_u128(number.unsigned_abs().into());
                statistics::record_report(tx, uuid.into(), "{}", now.plus_seconds(number))?;
            }
            tx.fetch_one::<(i64, Timestamp)>("report", "select count(*), min(received) from server_report", &[])
        };
        let (kept, oldest) = server.app.db.write::<_, Error, _>(write).await.unwrap();
        assert_eq!((kept, oldest), (statistics::MAX_SERVERS, now.plus_seconds(6)));
    }

    async fn received_statistics_are_limited(server: TestServer) {
        let ada = server.person("Ada").await;
        let stats: Value = server.get("/v0/server/stats", &ada.token).await.expect(200).body;
        for _ in 0..32 {
            server.post("/v0/server/stats", "", stats.clone()).await.expect(202);
        }
        server.post("/", "", stats).await.expect(429);
        server.person("Grace").await;
    }

    async fn a_backup_is_for_administrators(server: TestServer) {
        server.person("Ada").await;
        let grace = server.person("Grace").await;
        server.post("/v0/server/backup", "", json!({})).await.expect(401);
        server.post("/v0/server/backup", &grace.token, json!({})).await.expect(403);
        assert!(backups(&server).is_empty());
    }

    async fn a_backup_is_written_as_asked(server: TestServer) {
        let ada = server.person("Ada").await;
        let answer = server.post("/v0/server/backup", &ada.token, json!({})).await;
        assert_snapshot!("server_backup", server.show(&answer));
        let wanted = [
            json!({ "compress": true }),
            json!({ "compress": false, "compression": "zstd" }),
            json!({ "compress": true, "compression": "zstd" }),
            json!({ "compression": "gzip" }),
            json!({ "compression": "zstd", "rm": false }),
        ];
        for body in wanted {
            server.post("/v0/server/backup", &ada.token, body).await.expect(201);
        }
        let files = backups(&server);
        let ending = |ending: &str| files.iter().filter(|file| file.to_str().unwrap().ends_with(ending)).count();
        let plain = if server.engine == Engine::Sqlite { "db" } else { "archive" };
        assert_eq!(files.len(), 6, "{files:?}");
        let packed = (ending(&format!(".{plain}.gz")), ending(&format!(".{plain}.zst")), ending(&format!(".{plain}")));
        assert_eq!(packed, (2, 2, 2), "{files:?}");
        for file in files {
            assert!(is_private(&file), "{file:?} can be read by others");
            let start: &[u8] = if server.engine == Engine::Sqlite { b"SQLite format 3\0" } else { archive::MAGIC };
            assert!(unpack(&file).starts_with(start), "{file:?} is not a backup");
        }
        let log = server.get("/v0/server/audit?per_page=1", &ada.token).await;
        assert_eq!(log.text("/0/action"), "server.backup");
    }

    async fn a_backup_that_would_not_last_is_refused(server: TestServer) {
        let ada = server.person("Ada").await;
        let answer = server.post("/v0/server/backup", &ada.token, json!({ "data_store": "aws_s3" })).await;
        assert_snapshot!("server_backup_data_store", server.show(&answer));
        server.post("/v0/server/backup", &ada.token, json!({ "data_store": "floppy" })).await.expect(400);
        for remove in ["remove", "rm"] {
            let answer = server.post("/v0/server/backup", &ada.token, json!({ remove: true })).await;
            assert_snapshot!("server_backup_remove", server.show(&answer));
        }
        assert!(backups(&server).is_empty());
        server.post("/v0/server/backup", &ada.token, json!({ "remove": false })).await.expect(201);
        assert_eq!(backups(&server).len(), 1);
    }

    async fn a_backup_under_load_brings_back_what_was_acknowledged(server: TestServer) {
        let ada = server.person("Ada").await;
        let server = Arc::new(server);
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let mut writers = JoinSet::new();
        for writer in 0..4 {
            let (server, token) = (Arc::clone(&server), ada.token.clone());
            let (stop, acknowledged) = (Arc::clone(&stop), Arc::clone(&acknowledged));
            writers.spawn(async move {
                for count in 0.. {
                    let name = json!({ "name": format!("Load {writer} {count}") });
                    let made = server.post("/v0/organizations", &token, name).await.expect(201);
                    acknowledged.lock().unwrap().push(made.text("/slug"));
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        until("the writers do not get on", async || (acknowledged.lock().unwrap().len() >= 20).then_some(())).await;
        let before = acknowledged.lock().unwrap().clone();
        server.post("/v0/server/backup", &ada.token, json!({ "compression": "zstd" })).await.expect(201);
        stop.store(true, Ordering::Relaxed);
        while let Some(writer) = writers.join_next().await {
            writer.unwrap();
        }

        let folder = tempfile::tempdir().unwrap();
        let (restored, _database) = bring_back(&server, folder.path()).await;
        let made = acknowledged.lock().unwrap().clone();
        let read = restored.read(move |tx| {
            let slugs = tx.fetch_all::<String>("select slug from organization", &[])?;
            let orphans = tx.value::<i64>(
                "select count(*) from organization where id not in (select organization_id from member)",
                &[],
            )?;
            let deeds = tx.value::<i64>("select count(*) from audit where action = 'organization.create'", &[])?;
            Ok::<_, tidemark_store::Error>((slugs, orphans, deeds))
        });
        let (slugs, orphans, deeds) = read.await.unwrap();
        restored.close().await;
        for slug in before {
            assert!(slugs.contains(&slug), "{slug} was acknowledged before the backup and is not in it");
        }
        let strangers: Vec<_> = slugs.iter().filter(|slug| !made.contains(slug) && **slug != ada.slug).collect();
        assert!(strangers.is_empty(), "{strangers:?}");
        assert_eq!((orphans, deeds), (0, i64::try_from(slugs.len()).unwrap()), "half a change is in the backup");
    }
}

/// Whether only the owner can access a file and its folder.
#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    (mode(file), mode(file.parent().unwrap())) == (0o600, 0o700)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

fn backups(server: &TestServer) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(server.folder().join("backups")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn unpack(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    let mut plain = Vec::new();
    match file.extension().unwrap().to_str().unwrap() {
        "gz" => flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap(),
        "zst" => zstd::Decoder::new(bytes.as_slice()).unwrap().read_to_end(&mut plain).unwrap(),
        _ => return bytes,
    };
    plain
}

/// Restores the only backup into its own database.
async fn bring_back(server: &TestServer, folder: &Path) -> (Db, Option<Database>) {
    let [backup] = backups(server).try_into().expect("one backup");
    let copy = folder.join("copy");
    fs::write(&copy, unpack(&backup)).unwrap();
    let (location, database) = match server.engine {
        Engine::Sqlite => {
            let file = folder.join("tidemark.db");
            restore::check(&copy).unwrap();
            restore::replace(&restore::lock_exclusive(&file).unwrap().unwrap(), &copy, &file).unwrap();
            (Location::Sqlite { file, busy_timeout: Duration::ZERO, cache_kib: 1024 }, None)
        }
        Engine::Postgres => {
            let database = Database::create_empty().await;
            let location = Location::Postgres { url: database.url.clone(), connections: 1 };
            let db = Db::open_unchanged(&location).await.unwrap();
            let file = fs::File::open(&copy).unwrap();
            db.write(move |tx| archive::restore(tx, file).map(drop)).await.unwrap();
            db.close().await;
            (location, Some(database))
        }
    };
    (Db::open(&location).await.unwrap(), database)
}
