//! Removes from the registry what nobody needs any more, a page at a time. A row goes before its object, and only if it
//! is still not needed at that moment; so no push can lose what it relies on.

use futures_util::TryStreamExt;
use tidemark_api::Timestamp;
use tidemark_store::{BlobId, Db, blob, repository, upload};

use crate::{domain::error::Error, infra::blobs::Blobs};

/// How much is done in one transaction.
const PAGE: u32 = 500;
/// Seconds between two searches for objects that no row knows of, and the least age of one.
const DAY: i64 = 24 * 3600;

/// Clears up behind the registry.
#[derive(Clone)]
pub(crate) struct Housekeeper {
    /// The database.
    pub(crate) db: Db,
    /// The objects.
    pub(crate) blobs: Blobs,
    /// After how many seconds what nobody uses is removed.
    pub(crate) timeout: i64,
}

impl Housekeeper {
    /// Removes what has been idle for too long, and if asked also what crashes have left.
    pub(crate) async fn clear(&self, now: Timestamp, thoroughly: bool) {
        let outcome = async {
            self.clear_rows(now).await?;
            if thoroughly {
                self.clear_strays(now.plus_seconds(-DAY)).await?;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = outcome.await {
            let cause = error.cause();
            tracing::warn!(cause, "the registry could not be cleared up; will try again");
        }
    }

    async fn clear_rows(&self, now: Timestamp) -> Result<(), Error> {
        let before = now.plus_seconds(-self.timeout);
        loop {
            let (ended, objects) = self.db.write(move |tx| upload::purge(tx, before, PAGE)).await?;
            self.blobs.delete(objects).await?;
            if ended < PAGE as usize {
                break;
            }
        }
        while self.db.write(|tx| repository::purge_deleted(tx, PAGE)).await? == u64::from(PAGE) {}
        while self.db.write(move |tx| blob::unlink_idle(tx, before, PAGE)).await? == u64::from(PAGE) {}
        let mut last = BlobId::from(0);
        loop {
            let blobs = self.db.read(move |tx| blob::unlinked(tx, last, before, PAGE)).await?;
            let Some(end) = blobs.last() else { break };
            last = *end;
            let objects = self.db.write(move |tx| blob::remove(tx, &blobs, before)).await?;
            self.blobs.delete(objects).await?;
        }
        self.db.write(move |tx| repository::purge_traffic(tx, now.plus_seconds(-2 * DAY))).await?;
        Ok(())
    }

    /// Removes objects that no row knows of. Whoever writes one names it within much less than a day.
    async fn clear_strays(&self, before: Timestamp) -> Result<(), Error> {
        self.blobs.clear_unfinished(before).await?;
        let mut pages = self.blobs.list(before, PAGE as usize);
        while let Some(mut objects) = pages.try_next().await? {
            let page = objects.clone();
            let known = self.db.read(move |tx| blob::known(tx, &page)).await?;
            objects.retain(|object| !known.contains(object));
            self.blobs.delete(objects).await?;
        }
        Ok(())
    }
}

/// Whether it is time again to look for what crashes have left.
pub(crate) fn is_due(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_none_or(|last| last.plus_seconds(DAY) <= now)
}
