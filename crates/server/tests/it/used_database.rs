//! Databases on the PostgreSQL server that tests of a process use one after the other.
//!
//! A new connection reads the catalog and plans every statement anew, which takes longer than most tests. So a database
//! keeps its open connections, and a test that starts on it finds the rows of a migrated template and no others. The databases exist
//! until the server stops: no code runs at the end of the process.

use std::sync::{Arc, Barrier, LazyLock, Mutex};

use tidemark_store::{Db, Error, Location, Tx};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

use crate::database::Database;

/// Connections that are opened with the database: as many as most tests use at a time.
const CONNECTIONS: usize = 3;

/// Growth in bytes after which a database is deleted: deleted rows still occupy their pages.
const MAX_GROWTH: i64 = 8 << 20;

/// Databases that no test uses now.
static FREE: Mutex<Vec<UsedDatabase>> = Mutex::new(Vec::new());

/// Runs the connections, which outlive the runtimes of the tests.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

/// A migrated database with open connections.
pub(crate) struct UsedDatabase {
    pub(crate) database: Arc<Database>,
    pub(crate) db: Db,
    fresh: Shape,
}

/// What [`reset`] does not restore.
#[derive(Clone, Copy, Debug)]
struct Shape {
    relations: i64,
    columns: i64,
    bytes: i64,
}

impl UsedDatabase {
    /// Returns a database that no other test uses.
    pub(crate) fn take() -> Self {
        let free = FREE.lock().unwrap().pop();
        free.unwrap_or_else(|| RUNTIME.block_on(Self::create()))
    }

    /// Makes the database available to the next test, unless this test changed more than rows.
    pub(crate) fn give_back(self) {
        let db = self.db.clone();
        // Fails if the test closed the connections.
        let shape = RUNTIME.block_on(async move { db.write(reset).await });
        if shape.is_ok_and(|shape| shape.continues(self.fresh)) {
            FREE.lock().unwrap().push(self);
        }
    }

    async fn create() -> Self {
        let database = Arc::new(Database::create().await);
        let location = Location::Postgres { url: database.url.clone(), connections: 16 };
        let db = Db::open(&location).await.unwrap();
        let fresh = db.write(define_reset).await.unwrap();
        connect(&db).await;
        Self { database, db, fresh }
    }
}

impl Shape {
    fn continues(self, fresh: Self) -> bool {
        self.relations == fresh.relations
            && self.columns == fresh.columns
            && self.bytes < fresh.bytes + MAX_GROWTH
    }
}

/// Opens connections in the runtime that outlives the tests: each read waits until all have a connection.
async fn connect(db: &Db) {
    let barrier = Arc::new(Barrier::new(CONNECTIONS));
    let mut reads = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (db, barrier) = (db.clone(), Arc::clone(&barrier));
        reads.spawn(async move {
            db.read(move |_: &mut Tx<'_>| {
                barrier.wait();
                Ok::<_, Error>(())
            })
            .await
            .unwrap();
        });
    }
    reads.join_all().await;
}

/// Creates the function that deletes the rows of all tables that are empty now, and restarts all sequences.
fn define_reset(tx: &mut Tx<'_>) -> Result<Shape, Error> {
    let tables: Vec<String> = tx.fetch_all(
        "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
        &[],
    )?;
    let mut statements = String::new();
    for table in tables {
        if tx.value(&format!("select not exists (select 1 from {table})"), &[])? {
            statements.push_str(&format!("delete from {table};\n"));
        }
    }
    tx.execute(
        &format!(
            "create function reset_for_next_test() returns void language plpgsql as $$ begin
             set local session_replication_role = replica;
             {statements}
             perform setval(oid::regclass, 1, false) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S';
             end $$"
        ),
        &[],
    )?;
    shape(tx)
}

fn reset(tx: &mut Tx<'_>) -> Result<Shape, Error> {
    tx.value::<Option<String>>("select reset_for_next_test()::text", &[])?;
    shape(tx)
}

fn shape(tx: &mut Tx<'_>) -> Result<Shape, Error> {
    let number = |tx: &mut Tx<'_>, sql: &str| tx.value::<i64>(sql, &[]);
    let relations = "from pg_class where relnamespace = 'public'::regnamespace";
    Ok(Shape {
        relations: number(tx, &format!("select count(*) {relations}"))?,
        columns: number(tx, &format!("select sum(relnatts) {relations}"))?,
        bytes: number(tx, "select pg_database_size(current_database())")?,
    })
}
