//! The file of the embedded database seen from outside: who holds it, and how a backup takes its place. What is in
//! the tables is not looked at here, and PostgreSQL has tools of its own.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// The sole right to the database file, for as long as this value lives.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

/// Claims the database file, or answers `None` while another process holds it. The folder must exist.
pub fn claim(database: &Path) -> io::Result<Option<Claim>> {
    let lock = File::options().create(true).truncate(false).write(true).open(beside(database, ".lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(Claim { _lock: lock })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Reads the whole file and refuses one that is damaged or was not written by Tidemark.
pub fn check(database: &Path) -> Result<()> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let verdict: String = connection.query_row("pragma integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        let reason = verdict.lines().last().unwrap_or_default();
        return Err(Error::engine(format!("the file is damaged: {reason}")));
    }
    let known = connection.table_exists(None, "migration")?;
    if known { Ok(()) } else { Err(Error::engine("the file holds no Tidemark database")) }
}

/// Where the database goes that a restored one replaces.
pub fn set_aside(database: &Path) -> PathBuf {
    beside(database, ".before-restore")
}

/// Puts a checked copy in the place of the database. One that is there is set aside together with its log, which may
/// hold transactions that are not in the file yet. Whoever calls holds the [`Claim`].
pub fn replace(_claim: &Claim, copy: &Path, database: &Path) -> io::Result<()> {
    let aside = set_aside(database);
    let kept = database.try_exists()?;
    for suffix in ["-wal", "-shm", ""] {
        let (from, to) = (beside(database, suffix), beside(&aside, suffix));
        let moved = if kept { fs::rename(from, to) } else { fs::remove_file(from) };
        moved.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    }
    fs::rename(copy, database)?;
    // The new names last only once the folder is on disk.
    #[cfg(unix)]
    if let Some(folder) = database.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A file that the engine or we keep next to the database.
fn beside(database: &Path, suffix: &str) -> PathBuf {
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

    use tidemark_api::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::{Db, Location, server};

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
        fs::write(beside(&old, "-wal"), "old log").unwrap();

        let claimed = claim(&old).unwrap().unwrap();
        assert!(claim(&old).unwrap().is_none());
        replace(&claimed, &copy, &old).unwrap();
        check(&old).unwrap();
        assert_eq!(fs::read_to_string(set_aside(&old)).unwrap(), "old");
        assert_eq!(fs::read_to_string(beside(&set_aside(&old), "-wal")).unwrap(), "old log");
        assert!(!beside(&old, "-wal").exists() && !copy.exists());
        drop(claimed);
        assert!(claim(&old).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_stale_log_without_a_database_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("tidemark.db"), folder.path().join("copy"));
        database(&copy).await;
        fs::write(beside(&file, "-wal"), "stale").unwrap();
        replace(&claim(&file).unwrap().unwrap(), &copy, &file).unwrap();
        assert!(file.exists() && !beside(&file, "-wal").exists());
    }

    #[tokio::test]
    async fn damage_and_strangers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        database(&file).await;
        let mut bytes = fs::read(&file).unwrap();
        // The second page is the root of a table.
        bytes[4096..4096 + 200].fill(0xff);
        fs::write(&file, bytes).unwrap();
        assert!(check(&file).is_err());

        let stranger = folder.path().join("stranger.db");
        Connection::open(&stranger).unwrap().execute_batch("create table other (id integer)").unwrap();
        assert!(check(&stranger).is_err());
    }

    /// Eight writers go on while the copy is made; it holds all that was acknowledged before and nothing torn.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_backup_under_load_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("tidemark.db"), folder.path().join("copy"));
        let location =
            Location::Sqlite { file: file.clone(), busy_timeout: Duration::from_secs(5), cache_kib: 1024 };
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
                            let now = Timestamp::from_micros(0);
                            server::record_report(tx, uuid.into(), &uuid.to_string(), now)
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
        replace(&claim(&file).unwrap().unwrap(), &copy, &file).unwrap();
        let db = Db::open(&location).await.unwrap();
        let restored = db
            .read(|tx| {
                tx.all("select server, document from server_report", &[], |row| {
                    Ok((row.get::<Uuid>(0)?.to_string(), row.get::<String>(1)?))
                })
            })
            .await
            .unwrap();
        assert!(restored.iter().all(|(server, document)| server == document));
        let restored: BTreeSet<_> = restored.into_iter().map(|(server, _)| server).collect();
        assert!(before.is_subset(&restored));
        assert!(restored.is_subset(&acknowledged.lock().unwrap()));
        db.close().await;
    }
}
