//! `tidemark restore`: restores a backup to SQLite or PostgreSQL, independent of the engine that the backup was made on.

use std::{
    collections::BTreeSet,
    error::Error as _,
    fs::{self, File},
    io::{self, BufReader, Cursor, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use tidemark_server::{
    domain::backup::{self, schedule::ScheduledBackup},
    infra::{
        backup_store::{BackupStore, BackupStoreError},
        config::Config,
        file_mode,
    },
};
use tidemark_store::{
    Db, Error, Location,
    archive::{self, ArchiveSummary},
    restore,
};

use crate::{
    cmd::{
        backup::{DatabaseFlags, fresh, runtime, store_failure, warn_about_owner},
        serve,
    },
    failure::{Failure, Result, causes, print},
};

/// First bytes of a SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Arguments of `tidemark restore`.
#[derive(clap::Args)]
pub(crate) struct Restore {
    /// Backup: an archive or a SQLite database, uncompressed or compressed with gzip or zstd
    #[arg(value_name = "FILE", required_unless_present = "stored")]
    backup: Option<PathBuf>,
    /// Restore a backup from the destination in the section `backup` of the configuration [default: the newest]
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with = "backup")]
    stored: Option<Option<String>>,
    /// Replace an existing SQLite database, which is kept as tidemark.db.before-restore
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: DatabaseFlags,
}

impl Restore {
    pub(crate) fn run(self) -> Result {
        let config = self.place.load()?;
        config.create_folders()?;
        let fetched = Partial(config.data_dir.join(".restore.fetched"));
        let (backup, name) = match self.backup {
            Some(file) => (file.clone(), file.display().to_string()),
            None => (fetched.0.clone(), fetch(&config, self.stored.flatten(), &fetched.0)?),
        };
        if config.database.url.is_some() {
            restore_postgres(&backup, &config)?;
        } else {
            restore_sqlite(&backup, &config.database.file, self.force)?;
            warn_about_owner(&config.data_dir, &config.database.file);
        }
        print(&format!("Restored {} from {name}.\n", serve::database(&config)))
    }
}

/// Copies a stored backup to a file and returns its name.
fn fetch(config: &Config, name: Option<String>, target: &Path) -> Result<String> {
    let store = BackupStore::open(config).map_err(|error| store_failure(&error))?;
    let fetched = runtime()?.block_on(async {
        let name = match name {
            Some(name) => Some(name),
            None => newest(store.list().await?.into_iter().map(|backup| backup.name))?,
        };
        if let Some(name) = &name {
            store.fetch(name, target).await?;
        }
        Ok::<_, BackupStoreError>(name)
    });
    fetched
        .map_err(|error| store_failure(&error))?
        .ok_or_else(|| Failure::new(format!("There are no backups in {}.", store.place())))
}

/// Returns the newest of all backups of one server.
fn newest(names: impl Iterator<Item = String>) -> std::result::Result<Option<String>, BackupStoreError> {
    let scheduled: Vec<_> =
        names.filter_map(|name| Some((ScheduledBackup::parse(&name)?.server, name))).collect();
    let servers: BTreeSet<&String> = scheduled.iter().map(|(server, _)| server).collect();
    if servers.len() > 1 {
        let servers = servers.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "it has backups of several servers ({servers}); choose one of `tidemark backup --list` with --stored NAME"
        )
        .into());
    }
    Ok(scheduled.into_iter().next_back().map(|(_, name)| name))
}

fn restore_sqlite(backup: &Path, database: &Path, force: bool) -> Result {
    let lock = lock_database(database)?;
    let _shared_blocked = require_lock(database, restore::block_shared_locks(database))?;
    File::open(backup).map_err(|error| unreadable(backup, &error))?;
    let aside = restore::old_database_path(database);
    if database.exists() {
        if !force {
            return Err(Failure::new(format!(
                "A database already exists at {}; use --force to replace it and keep it as {}.",
                database.display(),
                aside.display()
            )));
        }
        if aside.exists() {
            return Err(Failure::new(format!(
                "An earlier restore left {}; move it away, so that it is not lost.",
                aside.display()
            )));
        }
    }
    let copy = Partial(database.with_extension("restore"));
    copy.remove();
    match open(backup).map_err(|error| unreadable(backup, &error))? {
        Contents::Database(reader) => unpack(reader, &copy.0).map_err(|error| unreadable(backup, &error))?,
        Contents::Archive(reader) => {
            restore_archive(reader, &sqlite(&copy.0)).map_err(|error| unusable(backup, &error))?;
        }
    }
    restore::check(&copy.0).map_err(|error| unusable(backup, &error))?;
    restore::replace(&lock, &copy.0, database).map_err(|error| {
        Failure::new(format!("The database {} cannot be replaced ({error}).", database.display()))
    })
}

fn restore_postgres(backup: &Path, config: &Config) -> Result {
    let folder = &config.data_dir;
    let (copy, converted) = (Partial(folder.join(".restore.db")), Partial(folder.join(".restore.archive")));
    let reader: Box<dyn Read + Send> = match open(backup).map_err(|error| unreadable(backup, &error))? {
        Contents::Archive(reader) => reader,
        Contents::Database(reader) => {
            copy.remove();
            unpack(reader, &copy.0).map_err(|error| unreadable(backup, &error))?;
            restore::check(&copy.0).map_err(|error| unusable(backup, &error))?;
            let convert = async {
                let db = Db::open_unchanged(&sqlite(&copy.0)).await?;
                backup::write_archive(&db, fresh().now, &converted.0, None).await?;
                db.close().await;
                Ok::<_, Error>(())
            };
            runtime()?.block_on(convert).map_err(|error| unusable(backup, &error))?;
            Box::new(BufReader::new(File::open(&converted.0).map_err(|error| unreadable(backup, &error))?))
        }
    };
    restore_archive(reader, &config.location()).map_err(|error| unusable(backup, &error)).map(drop)
}

/// Restores an archive to an empty database.
fn restore_archive(
    reader: Box<dyn Read + Send>,
    location: &Location,
) -> std::result::Result<ArchiveSummary, Error> {
    let runtime = runtime().map_err(|failure| Error::engine(failure.to_string()))?;
    runtime.block_on(async {
        let db = Db::open_unchanged(location).await?;
        let restored = db.write(move |tx| archive::restore(tx, reader)).await;
        db.close().await;
        restored
    })
}

fn sqlite(file: &Path) -> Location {
    Location::Sqlite { file: file.to_owned(), busy_timeout: Duration::from_secs(5), cache_kib: 65_536 }
}

fn unusable(backup: &Path, error: &Error) -> Failure {
    let reason = match error.source() {
        Some(source) => causes(source),
        None => error.to_string(),
    };
    match error {
        Error::Full(_) => full(backup, &reason),
        _ => Failure::new(format!(
            "The backup {} cannot be used ({reason}); nothing was changed.",
            backup.display()
        )),
    }
}

fn unreadable(backup: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::StorageFull => full(backup, &error.to_string()),
        _ => Failure::new(format!(
            "The backup {} cannot be read ({error}); nothing was changed.",
            backup.display()
        )),
    }
}

fn full(backup: &Path, reason: &str) -> Failure {
    Failure::new(format!(
        "The disk is too full to restore {} ({reason}); nothing was changed. Free space, or choose another folder with --data-dir.",
        backup.display()
    ))
}

/// Locks the database, so that no server uses it meanwhile.
pub(crate) fn lock_database(database: &Path) -> Result<restore::ExclusiveLock> {
    require_lock(database, restore::lock_exclusive(database))
}

fn require_lock(
    database: &Path,
    lock: io::Result<Option<restore::ExclusiveLock>>,
) -> Result<restore::ExclusiveLock> {
    match lock {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(Failure::new(format!(
            "Another tidemark is running on {}; stop it first, or choose another folder with --data-dir.",
            database.display()
        ))),
        Err(error) => Err(Failure::new(format!(
            "The database {} cannot be locked ({error}); choose another folder with --data-dir.",
            database.display()
        ))),
    }
}

/// Decompressed contents of a backup.
enum Contents {
    Database(Box<dyn Read + Send>),
    Archive(Box<dyn Read + Send>),
}

/// Opens a backup, which is decompressed if necessary.
fn open(backup: &Path) -> io::Result<Contents> {
    let (start, source) = peek(BufReader::new(File::open(backup)?))?;
    let reader: Box<dyn Read + Send> = match start.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(source))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(BufReader::new(source))?),
        _ => source,
    };
    let (start, reader) = peek(reader)?;
    let reader = Box::new(BufReader::new(reader));
    if start.starts_with(SQLITE) {
        Ok(Contents::Database(reader))
    } else if start.starts_with(archive::MAGIC) {
        Ok(Contents::Archive(reader))
    } else {
        Err(io::Error::other(
            "it is neither an archive of this release nor a SQLite database, nor one of these compressed with gzip or zstd",
        ))
    }
}

/// Returns the first bytes of a reader, and a reader of all bytes.
fn peek(mut reader: impl Read + Send + 'static) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut start = Vec::new();
    reader.by_ref().take(32).read_to_end(&mut start)?;
    Ok((start.clone(), Box::new(Cursor::new(start).chain(reader))))
}

/// Copies a database to a file and syncs it.
fn unpack(mut reader: Box<dyn Read + Send>, target: &Path) -> io::Result<()> {
    let mut target = file_mode::create_file(target)?;
    io::copy(&mut reader, &mut target)?;
    target.sync_all()
}

/// A temporary file; dropping it deletes the file, unless it was renamed.
struct Partial(PathBuf);

impl Partial {
    /// Deletes the file and the files that SQLite adds to it.
    fn remove(&self) {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = self.0.clone().into_os_string();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_backup_of_the_only_server_is_restored() {
        let [first, second, other] = [
            "tidemark-20260131T120000000Z-aaaaaaaa-00000001.archive.zst",
            "tidemark-20260201T120000000Z-aaaaaaaa-00000002.archive.zst",
            "tidemark-20260301T120000000Z-bbbbbbbb-00000003.archive.zst",
        ];
        let choose = |names: &[&str]| newest(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(choose(&[]).unwrap(), None);
        assert_eq!(choose(&[first, second, "tidemark-zzz.archive.zst"]).unwrap().as_deref(), Some(second));
        let refused = choose(&[first, second, other]).unwrap_err().to_string();
        assert!(refused.contains("(aaaaaaaa, bbbbbbbb); choose one"), "{refused}");
    }
}
