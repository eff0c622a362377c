//! What only the store guarantees, on both engines: transactions, values, lists, bulk inserts, dimensions, migrations
//! and archives.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod archive;
#[path = "../../../server/tests/it/database.rs"]
#[expect(dead_code, reason = "only the tests of the server need a database with tables")]
mod database;
mod dimension;
mod migration;
mod transaction;
mod value;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tidemark_api::{Timestamp, Visibility};
use tidemark_store::{Db, Entropy, Error, Location, ProjectId, Tx, WriteContext, organization, project};

use self::database::Database;

/// A database that is deleted at the end of the test.
struct TestDb {
    db: Db,
    location: Location,
    _storage: Storage,
}

/// Storage of a database; deleted when dropped.
#[expect(dead_code, reason = "the values are only dropped")]
enum Storage {
    Sqlite(TempDir),
    Postgres(Database),
}

impl TestDb {
    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        let location = Location::Sqlite { file, busy_timeout: Duration::from_secs(60), cache_kib: 1024 };
        Self::open(location, Storage::Sqlite(folder)).await
    }

    async fn postgres() -> Self {
        // Without tables, as the file of the other engine is.
        let database = Database::create_empty().await;
        let location = Location::Postgres { url: database.url.clone(), connections: 4 };
        Self::open(location, Storage::Postgres(database)).await
    }

    async fn open(location: Location, storage: Storage) -> Self {
        Self { db: Db::open(&location).await.unwrap(), location, _storage: storage }
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.db.read(work).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.db.write(work).await
    }

    /// Creates an organization with a project.
    async fn project(&self) -> ProjectId {
        self.write(|tx| {
            let organization = organization::create(tx, &fresh(), None, &"lab".parse().unwrap(), None)?;
            let new = project::NewProjectRow {
                organization: organization.id,
                uuid: None,
                name: &"lab".parse().unwrap(),
                slug: None,
                url: None,
                visibility: Visibility::Public,
            };
            Ok(project::create(tx, &fresh(), &new)?.id)
        })
        .await
        .unwrap()
    }
}

/// Returns the input of a write: a fixed time, and bytes that differ from call to call.
fn fresh() -> WriteContext {
    WriteContext::new(Timestamp::from_micros(1_700_000_000_000_000), Arc::new(Counter))
}

struct Counter;

impl Entropy for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        for chunk in bytes.chunks_mut(8) {
            // Multiplying by an odd number visits all 64-bit numbers before one repeats.
            let next = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&next.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Defines tests that run on both engines.
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: TestDb) $body:block)*) => {$(
        $(#[$meta])*
        async fn $name($db: $crate::TestDb) $body

        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name($crate::TestDb::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name($crate::TestDb::postgres().await).await;
            }
        }
    )*};
}
pub(crate) use both;
