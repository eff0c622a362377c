//! Copies of the database file: online backups, and the backup before an upgrade.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use crate::{
    error::{Error, Result},
    migrate::RELEASE,
    restore::sync_folder,
};

/// Writes a consistent copy of a database to a file.
pub(super) fn copy(source: &Connection, target: &Path) -> Result<()> {
    create_for_owner(target)?;
    let mut copy = Connection::open(target)?;
    let backup = Backup::new(source, &mut copy)?;
    // All pages in one step: the copy is one snapshot, and in write-ahead mode it blocks no other connection.
    match backup.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(Error::Busy("the copy could not be finished".into())),
    }
}

/// Copies the database file before this release changes its tables, to `<file>.before-<release>-<time>`. If the copy fails, the
/// database must not be changed.
pub(super) fn before_upgrade(database: &Path, connection: &Connection) -> Result<()> {
    // The clock of SQLite, because this crate has none.
    let time: String =
        connection.query_row("select strftime('%Y%m%dT%H%M%SZ', 'now')", [], |row| row.get(0))?;
    let target = with_suffix(database, &format!(".before-{RELEASE}-{time}"));
    let partial = with_suffix(database, ".upgrade.partial");
    let copied = remove(&partial).and_then(|()| copy_durably(database, &partial, &target));
    match copied {
        Ok(()) => {
            tracing::info!(file = %target.display(), "backed up the database before the upgrade");
            Ok(())
        }
        Err(error) => {
            let _ = fs::remove_file(&partial);
            Err(refuse(&error, &target, fs::metadata(database).map_or(0, |file| file.len())))
        }
    }
}

fn copy_durably(database: &Path, partial: &Path, target: &Path) -> Result<()> {
    // Another connection, which does not see the open transaction.
    let source = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    copy(&source, partial)?;
    let synced = File::open(partial).and_then(|file| file.sync_all());
    synced.and_then(|()| fs::rename(partial, target)).and_then(|()| sync_folder(target)).map_err(Error::from)
}

fn refuse(error: &Error, target: &Path, bytes: u64) -> Error {
    let reason = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let message = format!(
        "the database must be backed up to {} before Tidemark {RELEASE} upgrades it, and the backup failed ({reason}); nothing \
         was changed; make sure that this folder is writable and has {bytes} free bytes, and start again",
        target.display()
    );
    match error {
        Error::Full(_) => Error::Full(message.into()),
        _ => Error::engine(message),
    }
}

/// Creates a database file, readable only by its owner; SQLite gives its auxiliary files the same permissions.
pub(super) fn create_for_owner(file: &Path) -> Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?;
    Ok(())
}

fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns the path of a file next to the database.
fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicU64, time::Duration};

    use super::*;
    use crate::{Db, Location, migrate, tx::Tx};

    /// Creates a database without the last migration, with a row.
    fn create_old(file: &Path) {
        let connection = Connection::open(file).unwrap();
        let (statements, known) = (AtomicU64::new(0), migrate::known());
        let tx = &mut Tx::sqlite(&connection, &statements);
        migrate::create(tx, &known[..known.len() - 1]).unwrap();
        tx.batch("insert into former_email (email, changed) values ('ada@example.org', 1)").unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| !name.ends_with("-wal") && !name.ends_with("-shm"));
        names.sort();
        names
    }

    fn migrations(file: &Path) -> i64 {
        let connection = Connection::open(file).unwrap();
        connection.query_row("select count(*) from migration", [], |row| row.get(0)).unwrap()
    }

    fn location(file: &Path) -> Location {
        Location::Sqlite { file: file.into(), busy_timeout: Duration::from_secs(60), cache_kib: 1024 }
    }

    #[tokio::test]
    async fn a_database_is_backed_up_before_its_upgrade() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        create_old(&file);
        let old = migrations(&file);
        for _ in 0..2 {
            let db = Db::open(&location(&file)).await.unwrap();
            let kept = db.read(|tx| tx.value::<i64>("select count(*) from former_email", &[])).await;
            assert_eq!(kept.unwrap(), 1);
            db.close().await;
        }
        assert_eq!(migrations(&file), old + 1);
        // A start without pending migrations, and a new database, need no backup.
        let [_, backup] = names(folder.path()).try_into().unwrap();
        let time = backup.strip_prefix(&format!("tidemark.db.before-{RELEASE}-")).unwrap();
        assert!(time.len() == 16 && time.ends_with('Z'), "{time}");
        let backup = folder.path().join(backup);
        crate::restore::check(&backup).unwrap();
        assert_eq!(migrations(&backup), old);
        let copy = Connection::open(&backup).unwrap();
        let email: String = copy.query_row("select email from former_email", [], |row| row.get(0)).unwrap();
        assert_eq!(email, "ada@example.org");
    }

    #[tokio::test]
    async fn without_a_backup_nothing_is_upgraded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        create_old(&file);
        let old = migrations(&file);
        // A folder is where the copy should be written.
        let obstacle = with_suffix(&file, ".upgrade.partial");
        fs::create_dir(&obstacle).unwrap();
        let error = Db::open(&location(&file)).await.err().unwrap();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("nothing was changed"), "{cause}");
        assert_eq!((migrations(&file), names(folder.path()).len()), (old, 2));
        fs::remove_dir(obstacle).unwrap();
        Db::open(&location(&file)).await.unwrap().close().await;
        assert_eq!(migrations(&file), old + 1);
    }

    #[test]
    fn a_full_disk_is_reported_as_such() {
        let full = Error::Full("database or disk is full".into());
        let error = refuse(&full, Path::new("tidemark.db.before-2"), 4096);
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(matches!(error, Error::Full(_)) && cause.contains("database or disk is full"), "{cause}");
        assert!(cause.contains("4096 free bytes"), "{cause}");
    }
}
