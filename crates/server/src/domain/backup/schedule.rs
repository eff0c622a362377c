//! Scheduled backups: an archive at the configured destination every few hours, and the deletion of old ones.

use std::{fs, path::Path, sync::Arc};

use tidemark_api::{Compression, ServerUuid, Timestamp};
use tidemark_store::{self as store, Db, Tx, WriteContext, rate_window, server};
use uuid::Uuid;

use super::{ID_DIGITS, folder, is_future, is_hex, parse_stamp, short, stamp, write_archive};
use crate::infra::{
    backup_store::{BackupStore, BackupStoreError},
    config::Config,
    file_mode,
    partial_file::{self, PartialFile},
};

const HOUR: i64 = 3600;
/// Seconds before a failed backup is retried.
const RETRY_DELAY: i64 = 15 * 60;
/// Seconds after which another server on the same database may create a backup, if this server was killed during a backup.
const LEASE: i64 = 2 * HOUR;
/// Name of the lease of scheduled backups.
const LEASE_NAME: &str = "scheduled backup";
/// Extension of scheduled backups.
const EXTENSION: &str = ".archive.zst";

/// The name of a scheduled backup: its time, its server and an ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledBackup {
    /// Time.
    pub time: Timestamp,
    /// Last digits of the UUID of its server. Several servers can use the same destination.
    pub server: String,
}

impl ScheduledBackup {
    /// Parses a name; `None` for a file that the schedule did not write.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("tidemark-")?.strip_suffix(EXTENSION)?;
        let [time, server, id] = rest.split('-').collect::<Vec<_>>().try_into().ok()?;
        let time = parse_stamp(time).filter(|_| is_hex(server, ID_DIGITS) && is_hex(id, ID_DIGITS))?;
        Some(Self { time, server: server.to_owned() })
    }
}

/// Returns the name of a scheduled backup.
fn name(started: Timestamp, server: ServerUuid, id: Uuid) -> String {
    format!("tidemark-{}-{}-{}{EXTENSION}", stamp(started), short(server.uuid()), short(id))
}

/// The schedule of backups.
#[derive(Clone)]
pub(crate) struct BackupSchedule {
    config: Arc<Config>,
}

impl BackupSchedule {
    /// Returns the configured schedule, if any. Does not open the destination: a server starts without it.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        (config.backup.interval_hours > 0).then(|| Self { config: Arc::new(config.clone()) })
    }

    /// Creates a backup if the newest one of this server is too old, and deletes old backups. Returns the time of the next check.
    pub(crate) async fn back_up_if_due(&self, db: &Db, fresh: WriteContext) -> Timestamp {
        let now = fresh.now;
        match self.claim_and_back_up(db, fresh).await {
            Ok(next) => next,
            Err(error) => {
                let error: &dyn std::error::Error = &*error;
                tracing::error!(error, "a scheduled backup failed; retrying in 15 minutes");
                now.plus_seconds(RETRY_DELAY)
            }
        }
    }

    /// Several servers on one database create one backup per interval: only the server with the lease checks the destination.
    async fn claim_and_back_up(&self, db: &Db, fresh: WriteContext) -> Result<Timestamp, BackupStoreError> {
        // SQLite has only one server.
        if !db.is_shared() {
            return self.back_up(db, fresh).await;
        }
        let now = fresh.now;
        let claim = move |tx: &mut Tx<'_>| rate_window::claim(tx, LEASE_NAME, now, now.plus_seconds(LEASE));
        if !db.write::<_, store::Error, _>(claim).await? {
            return Ok(now.plus_seconds(RETRY_DELAY));
        }
        let outcome = self.back_up(db, fresh).await;
        db.write::<_, store::Error, _>(|tx| rate_window::release(tx, LEASE_NAME)).await?;
        outcome
    }

    async fn back_up(&self, db: &Db, fresh: WriteContext) -> Result<Timestamp, BackupStoreError> {
        let (now, settings) = (fresh.now, &self.config.backup);
        let interval = i64::from(settings.interval_hours) * HOUR;
        let store = BackupStore::open(&self.config)?;
        let server = db.read::<_, store::Error, _>(server::view).await?.uuid;
        // Another start of this server may have created a backup recently.
        let newest = own_backups(&store, server, now).await?.pop();
        if newest.is_some_and(|(_, time)| time > now.plus_seconds(-interval)) {
            return Ok(now.plus_seconds(HOUR.min(interval)));
        }
        let backup = create(db, &store, &folder(&self.config.data_dir), now, fresh.uuid()).await?;
        tracing::info!(
            name = backup.name,
            rows = backup.rows,
            bytes = backup.bytes,
            destination = store.place(),
            "created a backup"
        );
        for name in delete_old(db, &store, settings.keep, now).await? {
            tracing::info!(name, "deleted an old backup");
        }
        Ok(now.plus_seconds(interval))
    }
}

/// Returns the names and times of the scheduled backups of a server, the oldest first, without backups in the future.
async fn own_backups(
    store: &BackupStore,
    server: ServerUuid,
    now: Timestamp,
) -> Result<Vec<(String, Timestamp)>, BackupStoreError> {
    let server = short(server.uuid());
    let own = |name: String| {
        let backup = ScheduledBackup::parse(&name).filter(|backup| backup.server == server)?;
        (!is_future(&name, backup.time, now)).then_some((name, backup.time))
    };
    Ok(store.list().await?.into_iter().filter_map(|backup| own(backup.name)).collect())
}

/// Deletes all scheduled backups of the server of a database except the newest `keep`. Returns the names of the deleted backups.
pub async fn delete_old(
    db: &Db,
    store: &BackupStore,
    keep: u32,
    now: Timestamp,
) -> Result<Vec<String>, BackupStoreError> {
    if keep == 0 {
        return Ok(Vec::new());
    }
    let server = db.read::<_, store::Error, _>(server::view).await?.uuid;
    let backups = own_backups(store, server, now).await?;
    let old = backups.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let mut deleted = Vec::new();
    for (name, _) in backups.into_iter().take(old) {
        store.delete(&name).await?;
        deleted.push(name);
    }
    Ok(deleted)
}

/// A backup at the destination.
#[derive(Clone, Debug)]
pub struct CreatedBackup {
    /// Name.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Writes an archive to an unfinished file, and moves it to the destination. The file is at the destination if this is a folder,
/// and in the given folder otherwise.
pub async fn create(
    db: &Db,
    store: &BackupStore,
    folder: &Path,
    now: Timestamp,
    id: Uuid,
) -> Result<CreatedBackup, BackupStoreError> {
    let server = db.read::<_, store::Error, _>(server::view).await?.uuid;
    let folder = store.folder().unwrap_or(folder);
    file_mode::create_folder(folder)?;
    partial_file::delete_abandoned(folder)?;
    let partial = PartialFile::create(folder, &id.to_string())?;
    let summary = write_archive(db, now, partial.path(), Some(Compression::Zstd)).await?;
    let bytes = fs::metadata(partial.path())?.len();
    let name = name(now, server, id);
    match store.folder() {
        Some(folder) => partial.rename(&folder.join(&name))?,
        None => store.upload(partial.path(), &name).await?,
    }
    Ok(CreatedBackup { name, rows: summary.total_rows(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_schedule_are_parsed() {
        let time: Timestamp = "2026-01-31T12:00:00.123Z".parse().unwrap();
        let name = name(time, Uuid::from_u128(0xabc).into(), Uuid::from_u128(7));
        assert_eq!(name, "tidemark-20260131T120000123Z-00000abc-00000007.archive.zst");
        let expected = ScheduledBackup { time, server: "00000abc".to_owned() };
        assert_eq!(ScheduledBackup::parse(&name), Some(expected));
        for other in [
            "tidemark-keep-this-one.archive.zst",
            "tidemark-20260131T120000123Z-00000007.archive.zst",
            "tidemark-20260131T120000123Z-00000abc-00000007.archive",
            "tidemark-99999999T999999999Z-00000abc-00000007.archive.zst",
            "tidemark-20260131T120000123Z-00000abc-00000007-1.archive.zst",
        ] {
            assert_eq!(ScheduledBackup::parse(other), None, "{other}");
        }
    }
}
