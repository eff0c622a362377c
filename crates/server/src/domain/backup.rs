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

/// Whether a file name is that of a finished backup. The names sort by time.
pub(crate) fn is_backup(name: &str) -> bool {
    let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.starts_with("tidemark-") && [".db", ".archive", ".dump"].iter().any(|end| plain.ends_with(end))
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
    format!("tidemark-{}-{}", stamp(started), &id.simple().to_string()[24..])
}

/// Returns the time in the name of a backup.
fn stamp(time: Timestamp) -> String {
    time.to_string().chars().filter(char::is_ascii_alphanumeric).collect()
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
