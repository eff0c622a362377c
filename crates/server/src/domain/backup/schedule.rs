//! Scheduled backups: an archive at the configured destination every few hours, and the deletion of old ones.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidemark_api::{Compression, Timestamp};
use tidemark_store::Db;
use uuid::Uuid;

use super::{folder, name, stamp, write_archive};
use crate::infra::{
    backup_store::{BackupStore, BackupStoreError},
    config::{BackupSettings, Config},
    file_mode,
    partial_file::{self, PartialFile},
};

const HOUR: i64 = 3600;
/// Seconds before a failed backup is retried.
const RETRY_DELAY: i64 = 15 * 60;

/// The schedule of backups.
#[derive(Clone)]
pub(crate) struct BackupSchedule {
    settings: BackupSettings,
    store: BackupStore,
    folder: PathBuf,
}

impl BackupSchedule {
    /// Returns the configured schedule, if any.
    pub(crate) fn new(config: &Config) -> Result<Option<Self>, BackupStoreError> {
        if config.backup.interval_hours == 0 {
            return Ok(None);
        }
        let store = BackupStore::open(config)?;
        Ok(Some(Self { settings: config.backup.clone(), store, folder: folder(&config.data_dir) }))
    }

    /// Creates a backup if the newest one is too old, and deletes old backups. Returns the time of the next check.
    pub(crate) async fn back_up_if_due(&self, db: &Db, now: Timestamp, id: Uuid) -> Timestamp {
        match self.back_up(db, now, id).await {
            Ok(next) => next,
            Err(error) => {
                let error: &dyn std::error::Error = &*error;
                tracing::error!(
                    error,
                    destination = self.store.place(),
                    "a scheduled backup failed; retrying in 15 minutes"
                );
                now.plus_seconds(RETRY_DELAY)
            }
        }
    }

    async fn back_up(&self, db: &Db, now: Timestamp, id: Uuid) -> Result<Timestamp, BackupStoreError> {
        let interval = i64::from(self.settings.interval_hours) * HOUR;
        let oldest = format!("tidemark-{}", stamp(now.plus_seconds(-interval)));
        // Another start of this server may have created a backup recently.
        if self.store.list().await?.last().is_some_and(|newest| newest.name > oldest) {
            return Ok(now.plus_seconds(HOUR.min(interval)));
        }
        let backup = create(db, &self.store, &self.folder, now, id).await?;
        tracing::info!(
            name = backup.name,
            rows = backup.rows,
            bytes = backup.bytes,
            destination = self.store.place(),
            "created a backup"
        );
        for name in self.store.delete_old(self.settings.keep).await? {
            tracing::info!(name, "deleted an old backup");
        }
        Ok(now.plus_seconds(interval))
    }
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
    let folder = store.folder().unwrap_or(folder);
    file_mode::create_folder(folder)?;
    partial_file::delete_abandoned(folder)?;
    let partial = PartialFile::create(folder, &id.to_string())?;
    let summary = write_archive(db, now, partial.path(), Some(Compression::Zstd)).await?;
    let bytes = fs::metadata(partial.path())?.len();
    let name = format!("{}.archive.zst", name(now, id));
    match store.folder() {
        Some(folder) => partial.rename(&folder.join(&name))?,
        None => store.upload(partial.path(), &name).await?,
    }
    Ok(CreatedBackup { name, rows: summary.total_rows(), bytes })
}
