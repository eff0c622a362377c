//! Databases for tests: each is a copy of a template with all tables, and is deleted at the end of its test.
//!
//! The first test of a run migrates the template. Tests of several processes run at the same time, so they coordinate by the
//! name of the template, which is a digest of the migrations, and on PostgreSQL by a lock of the server.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
    thread,
    time::Duration,
};

use sha2::{Digest, Sha256};
use tidemark_store::{Db, Location};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store");

/// Key of the lock for creating the template.
const LOCK: i64 = 0x71_de;

/// Creates the file of an embedded database with all tables. The migrations take much longer than a copy.
pub(crate) async fn create_file(file: &Path) {
    let template = Path::new(env!("CARGO_TARGET_TMPDIR")).join(template()).with_extension("db");
    if !template.exists() {
        make_file(&template).await;
    }
    fs::copy(template, file).unwrap();
}

/// Creates the template of the embedded database. Other tests may do the same: a file gets its final name when it is complete.
async fn make_file(template: &Path) {
    let folder = tempfile::tempdir_in(template.parent().unwrap()).unwrap();
    let file = folder.path().join("tidemark.db");
    let location =
        Location::Sqlite { file: file.clone(), busy_timeout: Duration::from_secs(60), cache_kib: 1024 };
    Db::open(&location).await.unwrap().close().await;
    fs::rename(file, template).unwrap();
}

/// A database on the server in `TIDEMARK_TEST_POSTGRES`.
pub(crate) struct Database {
    name: String,
    /// URL of the database.
    pub(crate) url: String,
}

impl Database {
    /// Creates a database with all tables.
    pub(crate) async fn create() -> Self {
        let client = connect().await;
        let template = template();
        if !exists(&client, template).await {
            make(&client, template).await;
        }
        Self::copy(&client, template).await
    }

    /// Creates a database without tables.
    pub(crate) async fn create_empty() -> Self {
        Self::copy(&connect().await, "template0").await
    }

    async fn copy(client: &Client, template: &str) -> Self {
        let name = format!("test_{}", Uuid::new_v4().simple());
        client.batch_execute(&format!("create database {name} template {template}")).await.unwrap();
        Self { url: url(&name), name }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("drop database {} with (force)", self.name);
        // Uses a separate thread: the test may end inside a runtime, which cannot wait for another runtime.
        let drop = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { connect().await.batch_execute(&statement).await.unwrap() });
        };
        thread::spawn(drop).join().unwrap();
    }
}

async fn connect() -> Client {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn server() -> String {
    env::var("TIDEMARK_TEST_POSTGRES")
        .expect("TIDEMARK_TEST_POSTGRES names a PostgreSQL server; `cargo xtask test` starts one")
}

fn url(name: &str) -> String {
    format!("{}/{name}", server().rsplit_once('/').unwrap().0)
}

async fn exists(client: &Client, name: &str) -> bool {
    let sql = "select count(*) from pg_database where datname = $1";
    client.query_one(sql, &[&name]).await.unwrap().get::<_, i64>(0) == 1
}

/// Creates the template, unless another process does. It gets its final name when it is complete.
async fn make(client: &Client, template: &str) {
    client.execute("select pg_advisory_lock($1)", &[&LOCK]).await.unwrap();
    if !exists(client, template).await {
        let name = format!("new_{template}");
        // Left by a test run that was killed.
        client.batch_execute(&format!("drop database if exists {name} with (force)")).await.unwrap();
        client.batch_execute(&format!("create database {name} template template0")).await.unwrap();
        let db = Db::open(&Location::Postgres { url: url(&name), connections: 1 }).await.unwrap();
        db.close().await;
        // Closing does not wait until the server has released the connections.
        let sql = "select pg_terminate_backend(pid, 600000) from pg_stat_activity where datname = $1";
        client.execute(sql, &[&name]).await.unwrap();
        client.batch_execute(&format!("alter database {name} rename to {template}")).await.unwrap();
    }
    client.execute("select pg_advisory_unlock($1)", &[&LOCK]).await.unwrap();
}

/// Returns the name of the template with the tables of this release.
fn template() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(name_template);
    &NAME
}

fn name_template() -> String {
    let migrations = fs::read_dir(Path::new(STORE).join("migrations")).unwrap();
    let mut files: Vec<PathBuf> = migrations.map(|entry| entry.unwrap().path()).collect();
    files.push(Path::new(STORE).join("src/migrate.rs"));
    files.sort();
    let digest = files
        .iter()
        .fold(Sha256::new_with_prefix(env!("CARGO_PKG_VERSION")), |digest, file| {
            digest.chain_update(fs::read(file).unwrap())
        })
        .finalize();
    format!("template_{}", hex::encode(&digest[..8]))
}
