//! Deletes unused data of the registry, in batches. A row is deleted before its object, and only if it is still unused at that
//! time, so that no push loses data that it depends on.

use futures_util::TryStreamExt;
use tidemark_api::Timestamp;
use tidemark_store::{BlobId, Db, blob, repository, upload};

use crate::{domain::error::Error, infra::blobs::Blobs};

/// Maximum number of rows per transaction.
const PAGE_SIZE: u32 = 500;
/// Seconds between two searches for orphaned objects, and the minimum age of an orphaned object.
const DAY: i64 = 24 * 3600;

/// Deletes unused data of the registry.
#[derive(Clone)]
pub(crate) struct Housekeeper {
    /// The database.
    pub(crate) db: Db,
    /// The objects.
    pub(crate) blobs: Blobs,
    /// Age in seconds after which unused data is deleted.
    pub(crate) timeout: i64,
}

impl Housekeeper {
    /// Deletes data that is idle for too long and, with `thoroughly`, orphaned objects of crashes.
    pub(crate) async fn delete_unused(&self, now: Timestamp, thoroughly: bool) {
        let outcome = async {
            self.delete_idle_rows(now).await?;
            if thoroughly {
                self.delete_orphaned_objects(now.plus_seconds(-DAY)).await?;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = outcome.await {
            let cause = error.cause();
            tracing::warn!(cause, "clearing the registry failed; retrying");
        }
    }

    async fn delete_idle_rows(&self, now: Timestamp) -> Result<(), Error> {
        let before = now.plus_seconds(-self.timeout);
        loop {
            let (ended, objects) = self.db.write(move |tx| upload::purge(tx, before, PAGE_SIZE)).await?;
            self.blobs.delete(objects).await?;
            if ended < PAGE_SIZE as usize {
                break;
            }
        }
        while self.db.write(|tx| repository::purge_deleted(tx, PAGE_SIZE)).await? == u64::from(PAGE_SIZE) {}
        while self.db.write(move |tx| blob::unlink_idle(tx, before, PAGE_SIZE)).await? == u64::from(PAGE_SIZE)
        {
        }
        let mut last = BlobId::from(0);
        loop {
            let blobs = self.db.read(move |tx| blob::unlinked(tx, last, before, PAGE_SIZE)).await?;
            let Some(end) = blobs.last() else { break };
            last = *end;
            let objects = self.db.write(move |tx| blob::remove(tx, &blobs, before)).await?;
            self.blobs.delete(objects).await?;
        }
        self.db.write(move |tx| repository::purge_traffic(tx, now.plus_seconds(-2 * DAY))).await?;
        Ok(())
    }

    /// Deletes objects without a row. A writer inserts the row much less than a day after it wrote the object.
    async fn delete_orphaned_objects(&self, before: Timestamp) -> Result<(), Error> {
        self.blobs.clear_unfinished(before).await?;
        let mut pages = self.blobs.list(before, PAGE_SIZE as usize);
        while let Some(mut objects) = pages.try_next().await? {
            let page = objects.clone();
            let known = self.db.read(move |tx| blob::existing_objects(tx, &page)).await?;
            objects.retain(|object| !known.contains(object));
            self.blobs.delete(objects).await?;
        }
        Ok(())
    }
}

/// Whether the next search for orphaned objects is due.
pub(crate) fn is_due(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_none_or(|last| last.plus_seconds(DAY) <= now)
}
