//! The file of the embedded database: its locks, and its replacement by a backup. This module does not read the tables,
//! and PostgreSQL has its own tools.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::atomic::AtomicU64,
};

use rusqlite::{Connection, OpenFlags};

use crate::{
    error::{Error, Result},
    migrate::{applied, verify},
    tx::Tx,
};

/// Exclusive lock of the server on the database file, held for the lifetime of this value.
#[derive(Debug)]
pub struct ExclusiveLock {
    _lock: File,
}

/// Locks the database file, or returns `None` if another process holds the lock. The folder must exist.
pub fn lock_exclusive(database: &Path) -> io::Result<Option<ExclusiveLock>> {
    lock(&with_suffix(database, ".lock"))
}

/// Shared lock of a program other than the server on the database file, held for the lifetime of this value.
#[derive(Debug)]
pub struct SharedLock {
    _lock: File,
}

/// Takes the shared lock on the database file, with or without a running server. Waits while a restore replaces the
/// file.
pub fn lock_shared(database: &Path) -> io::Result<SharedLock> {
    let lock = open_lock(&with_suffix(database, ".visit"))?;
    lock.lock_shared()?;
    Ok(SharedLock { _lock: lock })
}

/// Prevents programs from taking the shared lock, or returns `None` if a program holds it.
pub fn block_shared_locks(database: &Path) -> io::Result<Option<ExclusiveLock>> {
    lock(&with_suffix(database, ".visit"))
}

fn lock(file: &Path) -> io::Result<Option<ExclusiveLock>> {
    let lock = open_lock(file)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(ExclusiveLock { _lock: lock })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_lock(file: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(file)
}

/// Reads the whole file and rejects it if it is damaged, if Tidemark did not write it, or if this release cannot open
/// it.
pub fn check(database: &Path) -> Result<()> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let verdict: String = connection.query_row("pragma integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        let reason = verdict.lines().last().unwrap_or_default();
        return Err(Error::engine(format!("the file is damaged: {reason}")));
    }
    if !connection.table_exists(None, "migration")? {
        return Err(Error::engine("the file holds no Tidemark database"));
    }
    verify(&applied(&mut Tx::sqlite(&connection, &AtomicU64::new(0)))?)
}

/// Returns the path of the old database after a restore.
pub fn old_database_path(database: &Path) -> PathBuf {
    with_suffix(database, ".before-restore")
}

/// Replaces the database by a checked copy. Keeps an existing database at [`old_database_path`], together with its
/// write-ahead log, which may contain transactions that are not in the file yet. If the process is interrupted, the
/// path contains one of the two databases, complete. The caller holds the [`ExclusiveLock`].
pub fn replace(_lock: &ExclusiveLock, copy: &Path, database: &Path) -> io::Result<()> {
    if database.try_exists()? {
        let aside = old_database_path(database);
        for suffix in ["-shm", "-wal", ""] {
            remove(&with_suffix(&aside, suffix))?;
        }
        for suffix in ["-wal", ""] {
            link(&with_suffix(database, suffix), &with_suffix(&aside, suffix))?;
        }
        // Copies the log into the file, so that the old database is complete without the log. This fails if the
        // database is damaged; then only the saved pair of files contains its data.
        let _ = Connection::open(database)
            .and_then(|old| old.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())));
    }
    // A log must not be next to a file that it was not written for.
    for suffix in ["-wal", "-shm"] {
        remove(&with_suffix(database, suffix))?;
    }
    sync_folder(database)?;
    fs::rename(copy, database)?;
    sync_folder(database)
}

fn remove(file: &Path) -> io::Result<()> {
    ignore_not_found(fs::remove_file(file))
}

/// Creates a hard link, or a copy if the file system has no hard links.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    ignore_not_found(fs::hard_link(from, to)).or_else(|_| fs::copy(from, to).map(drop))
}

fn ignore_not_found(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Syncs the folder: new file names are durable only after that.
pub(crate) fn sync_folder(database: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = database.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Returns the path of a file next to the database.
fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::{Arc, Mutex},
        time::Duration,
    };

    use uuid::Uuid;

    use super::*;
    use crate::{Db, Location};

    async fn database(file: &Path) {
        let location = Location::Sqlite { file: file.into(), busy_timeout: Duration::ZERO, cache_kib: 1024 };
        Db::open(&location).await.unwrap().close().await;
    }

    #[tokio::test]
    async fn a_copy_takes_the_place_and_the_old_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (old, copy) = (folder.path().join("tidemark.db"), folder.path().join("copy"));
        database(&copy).await;
        check(&copy).unwrap();
        fs::write(&old, "old").unwrap();
        fs::write(with_suffix(&old, "-wal"), "old log").unwrap();

        let exclusive = lock_exclusive(&old).unwrap().unwrap();
        assert!(lock_exclusive(&old).unwrap().is_none());
        replace(&exclusive, &copy, &old).unwrap();
        check(&old).unwrap();
        assert_eq!(fs::read_to_string(old_database_path(&old)).unwrap(), "old");
        assert_eq!(fs::read_to_string(with_suffix(&old_database_path(&old), "-wal")).unwrap(), "old log");
        assert!(!with_suffix(&old, "-wal").exists() && !copy.exists());
        drop(exclusive);
        assert!(lock_exclusive(&old).unwrap().is_some());
        let shared = (lock_shared(&old).unwrap(), lock_shared(&old).unwrap());
        assert!(lock_exclusive(&old).unwrap().is_some() && block_shared_locks(&old).unwrap().is_none());
        drop(shared);
        assert!(block_shared_locks(&old).unwrap().is_some());
    }

    #[tokio::test]
    async fn what_only_the_log_holds_is_set_aside_too() {
        let folder = tempfile::tempdir().unwrap();
        let (live, old) = (folder.path().join("live.db"), folder.path().join("tidemark.db"));
        let copy = folder.path().join("copy");
        database(&copy).await;
        // The state after a killed process: the table is only in the log, not in the file.
        let connection = Connection::open(&live).unwrap();
        connection.execute_batch("pragma journal_mode = wal; create table late (id integer)").unwrap();
        fs::copy(&live, &old).unwrap();
        fs::copy(with_suffix(&live, "-wal"), with_suffix(&old, "-wal")).unwrap();
        drop(connection);

        for _ in 0..2 {
            replace(&lock_exclusive(&old).unwrap().unwrap(), &copy, &old).unwrap();
            check(&old).unwrap();
            let aside = Connection::open(old_database_path(&old)).unwrap();
            assert!(aside.table_exists(None, "late").unwrap());
            fs::rename(&old, &copy).unwrap();
            fs::rename(old_database_path(&old), &old).unwrap();
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_database_is_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        let location = Location::Sqlite { file: file.clone(), busy_timeout: Duration::ZERO, cache_kib: 1024 };
        let db = Db::open(&location).await.unwrap();
        db.backup(folder.path().join("copy")).await.unwrap().unwrap();
        for name in ["tidemark.db", "tidemark.db-wal", "tidemark.db-shm", "copy"] {
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        db.close().await;
    }

    #[tokio::test]
    async fn a_stale_log_without_a_database_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("tidemark.db"), folder.path().join("copy"));
        database(&copy).await;
        fs::write(with_suffix(&file, "-wal"), "stale").unwrap();
        replace(&lock_exclusive(&file).unwrap().unwrap(), &copy, &file).unwrap();
        assert!(file.exists() && !with_suffix(&file, "-wal").exists());
    }

    #[tokio::test]
    async fn damage_and_strangers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        database(&file).await;
        let mut bytes = fs::read(&file).unwrap();
        // The second page is the root page of a table.
        bytes[4096..4096 + 200].fill(0xff);
        fs::write(&file, bytes).unwrap();
        assert!(check(&file).is_err());

        let stranger = folder.path().join("stranger.db");
        Connection::open(&stranger).unwrap().execute_batch("create table other (id integer)").unwrap();
        assert!(check(&stranger).is_err());
    }

    #[tokio::test]
    async fn what_this_release_cannot_open_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (change, reason) in [
            (
                "insert into migration values (9999, 'later', '', '9.8.7')",
                "Tidemark 9.8.7 wrote the database with schema 9999, and this is Tidemark 0.",
            ),
            ("update migration set checksum = 'x' where number = 2", "an unreleased build of Tidemark 0."),
            ("alter table migration rename column checksum to other", "no such column"),
        ] {
            let file = folder.path().join("copy");
            database(&file).await;
            check(&file).unwrap();
            Connection::open(&file).unwrap().execute_batch(change).unwrap();
            let error = check(&file).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert!(cause.contains(reason), "{cause}");
            fs::remove_file(file).unwrap();
        }
    }

    /// Eight writers continue during the backup. The backup contains all writes that were acknowledged before it, and
    /// no partial write.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_backup_under_load_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("tidemark.db"), folder.path().join("copy"));
        let location =
            Location::Sqlite { file: file.clone(), busy_timeout: Duration::from_secs(600), cache_kib: 1024 };
        let db = Db::open(&location).await.unwrap();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (db, stopped, acknowledged) = (db.clone(), stopped.clone(), Arc::clone(&acknowledged));
                tokio::spawn(async move {
                    while !*stopped.borrow() {
                        let uuid = Uuid::new_v4();
                        db.write(move |tx| {
                            let sql =
                                "insert into server_report (server, received, document) values ($1, 0, $2)";
                            tx.execute(sql, &[&uuid, &uuid.to_string().as_str()]).map(drop)
                        })
                        .await
                        .unwrap();
                        acknowledged.lock().unwrap().insert(uuid.to_string());
                    }
                })
            })
            .collect();
        while acknowledged.lock().unwrap().len() < 200 {
            tokio::task::yield_now().await;
        }
        let before = acknowledged.lock().unwrap().clone();
        db.backup(copy.clone()).await.unwrap().unwrap();
        stop.send(true).unwrap();
        for writer in writers {
            writer.await.unwrap();
        }
        db.close().await;

        check(&copy).unwrap();
        replace(&lock_exclusive(&file).unwrap().unwrap(), &copy, &file).unwrap();
        let db = Db::open(&location).await.unwrap();
        let restored: Vec<(Uuid, String)> =
            db.read(|tx| tx.fetch_all("select server, document from server_report", &[])).await.unwrap();
        assert!(restored.iter().all(|(server, document)| server.to_string() == *document));
        let restored: BTreeSet<_> = restored.into_iter().map(|(_, document)| document).collect();
        assert!(before.is_subset(&restored));
        assert!(restored.is_subset(&acknowledged.lock().unwrap()));
        db.close().await;
    }
}
