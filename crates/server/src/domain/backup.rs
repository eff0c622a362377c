//! Online backups: a consistent copy of the database while the server is running. A backup of SQLite that a user requests is a copy
//! of the database file; all other backups are archives, which can be restored on both engines.

pub mod schedule;

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use tidemark_api::{Compression, Timestamp};
use tidemark_store::{
    self as store, Db,
    archive::{self, ArchiveSummary},
};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::{
    domain::{
        app::App,
        error::{Error, Result},
    },
    infra::{
        file_mode,
        partial_file::{self, PartialFile},
    },
};

/// Number of hexadecimal digits of an ID in the name of a backup.
const ID_DIGITS: usize = 8;
/// Seconds that the clocks of two servers may differ.
const MAX_CLOCK_DIFFERENCE: i64 = 3600;

/// Writes a backup into `<data>/backups` and returns its path. A failed backup leaves no files behind.
pub(crate) async fn create(
    app: &App,
    started: Timestamp,
    compression: Option<Compression>,
) -> Result<PathBuf> {
    let folder = folder(&app.config.data_dir);
    file_mode::create_folder(&folder).map_err(|error| failed("cannot create its folder", &error))?;
    let extension = if app.db.is_shared() { "archive" } else { "db" };
    let suffix = match compression {
        None => "",
        Some(Compression::Gzip) => ".gz",
        Some(Compression::Zstd) => ".zst",
    };
    let id = app.fresh().uuid();
    let file = folder.join(format!("{}.{extension}{suffix}", name(started, id)));
    let unwritable = |error| failed("cannot write its file", &error);
    let partial = PartialFile::create(&folder, &id.to_string()).map_err(unwritable)?;

    let archived = match app.db.backup(partial.path().to_owned()).await {
        Some(copied) => {
            copied?;
            false
        }
        None => {
            write_archive(&app.db, started, partial.path(), compression).await?;
            true
        }
    };
    let target = file.clone();
    spawn_blocking(move || match compression {
        Some(compression) if !archived => {
            let packed = PartialFile::create(&folder, &format!("{id}.packed"))?;
            compress(partial.path(), packed.path(), compression)?;
            packed.rename(&target)
        }
        _ => partial.rename(&target),
    })
    .await
    .map_err(|error| Error::Internal(error.into()))?
    .map_err(unwritable)?;
    Ok(file)
}

/// Deletes unfinished backups of a killed process.
pub(crate) fn clear(data_dir: &Path) -> io::Result<()> {
    partial_file::delete_abandoned(&folder(data_dir))
}

/// Returns the folder of the backups.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("backups")
}

/// Returns the time of a backup that [`create`] wrote; `None` for any other file name.
pub(crate) fn time_of(name: &str) -> Option<Timestamp> {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let name = name.strip_suffix(".db").or_else(|| name.strip_suffix(".archive"))?;
    let (time, id) = name.strip_prefix("tidemark-")?.split_once('-')?;
    is_hex(id, ID_DIGITS).then(|| parse_stamp(time)).flatten()
}

/// Whether a backup is newer than the clock allows: the clock of this or of another server was wrong. Logs a warning, because this
/// backup does not take part in the schedule and is never deleted.
pub(crate) fn is_future(name: &str, time: Timestamp, now: Timestamp) -> bool {
    let is_future = time > now.plus_seconds(MAX_CLOCK_DIFFERENCE);
    if is_future {
        tracing::warn!(name, "ignored a backup with a time in the future; delete it or rename it");
    }
    is_future
}

/// Writes all rows of a database to an archive. The write stops if this future is dropped.
pub async fn write_archive(
    db: &Db,
    created: Timestamp,
    target: &Path,
    compression: Option<Compression>,
) -> store::Result<ArchiveSummary> {
    let target = target.to_owned();
    let caller = Arc::new(());
    let waits = Arc::downgrade(&caller);
    let written = db.read(move |tx| {
        let file = Cancelable { file: file_mode::create_file(&target)?, caller: waits };
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let summary = match compression {
            None => archive::write(tx, created, &mut file)?,
            Some(Compression::Gzip) => {
                let mut encoder = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
                let summary = archive::write(tx, created, &mut encoder)?;
                encoder.finish()?;
                summary
            }
            Some(Compression::Zstd) => {
                let mut encoder = zstd::Encoder::new(&mut file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                let summary = archive::write(tx, created, &mut encoder)?;
                encoder.finish()?;
                summary
            }
        };
        file.flush()?;
        file.get_ref().file.sync_all()?;
        Ok(summary)
    });
    let written = written.await;
    drop(caller);
    written
}

/// Returns the name of a backup without its extension. The ID distinguishes two backups in the same millisecond.
pub fn name(started: Timestamp, id: Uuid) -> String {
    format!("tidemark-{}-{}", stamp(started), short(id))
}

/// Returns the last digits of a UUID; the first digits contain a time.
fn short(id: Uuid) -> String {
    id.simple().to_string()[32 - ID_DIGITS..].to_owned()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns the time in the name of a backup.
fn stamp(time: Timestamp) -> String {
    time.to_string().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Parses the time in the name of a backup.
fn parse_stamp(text: &str) -> Option<Timestamp> {
    let part = |from: usize, to: usize| text.get(from..to);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second, millis) = (part(9, 11)?, part(11, 13)?, part(13, 15)?, part(15, 18)?);
    let parsed = format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{millis}Z").parse().ok()?;
    // Only the exact text: no other separators, and no other precision.
    (stamp(parsed) == text).then_some(parsed)
}

fn compress(from: &Path, to: &Path, compression: Compression) -> io::Result<()> {
    let mut source = BufReader::with_capacity(1 << 16, File::open(from)?);
    let target = BufWriter::with_capacity(1 << 16, file_mode::create_file(to)?);
    let mut target = match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(target, flate2::Compression::fast());
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(target, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
    };
    target.flush()
}

fn failed(what: &str, error: &io::Error) -> Error {
    Error::Internal(format!("a backup failed: {what}: {error}").into())
}

/// A file whose writes fail when the caller is gone, so that a long backup does not delay the shutdown of the server.
struct Cancelable {
    file: File,
    caller: Weak<()>,
}

impl Write for Cancelable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.caller.strong_count() == 0 {
            return Err(io::Error::other("the backup was canceled"));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_backups_have_a_time() {
        let time: Timestamp = "2026-01-31T12:00:00.123Z".parse().unwrap();
        let name = name(time, Uuid::from_u128(7));
        assert_eq!(name, "tidemark-20260131T120000123Z-00000007");
        for extension in [".db", ".db.gz", ".archive", ".archive.zst"] {
            assert_eq!(time_of(&format!("{name}{extension}")), Some(time), "{extension}");
        }
        for other in [
            "tidemark-before-the-upgrade.db",
            "tidemark-20260131.db",
            "tidemark-20261331T120000123Z-00000007.db",
            "tidemark-20260131T120000123Z-0000000G.db",
            "tidemark-20260131T120000123Z-00000007",
            "tidemark-20260131T120000123Z-00000007.db.bak",
            "my-tidemark-20260131T120000123Z-00000007.db",
            "tidemark-20260131T120000123Z-00000007-11111111.archive.zst",
        ] {
            assert_eq!(time_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_wrong_clock_is_noticed() {
        let now = Timestamp::from_micros(0);
        assert!(!is_future("tidemark-1.db", now.plus_seconds(60), now));
        assert!(is_future("tidemark-1.db", now.plus_seconds(7200), now));
    }
}
