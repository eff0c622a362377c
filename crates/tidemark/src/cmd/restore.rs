//! `tidemark restore`: restores a backup of the SQLite database. For PostgreSQL, use `pg_restore`.

use std::{
    error::Error,
    fs::{self, File},
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use tidemark_server::infra::{config::Flags, file_mode};
use tidemark_store::restore;

use crate::{
    failure::{Failure, Result, causes, print},
    settings,
};

/// Arguments of `tidemark restore`.
#[derive(clap::Args)]
pub(crate) struct Restore {
    /// Backup: a database file, uncompressed or compressed with gzip or zstd
    #[arg(value_name = "FILE")]
    backup: PathBuf,
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Folder of the database [default: the data folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Replace an existing database, which is kept as tidemark.db.before-restore
    #[arg(long)]
    force: bool,
}

impl Restore {
    pub(crate) fn run(self) -> Result {
        let flags = Flags { data_dir: self.data_dir, ..Flags::default() };
        let config = settings::load(self.config, &flags)?;
        if config.database.url.is_some() {
            return Err(Failure::new("This server uses PostgreSQL; restore a backup with pg_restore."));
        }
        config.create_folders()?;
        restore_backup(&self.backup, &config.database.file, self.force)?;
        print(&format!("Restored {} from {}.\n", config.database.file.display(), self.backup.display()))
    }
}

fn restore_backup(backup: &Path, database: &Path, force: bool) -> Result {
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
    unpack(backup, &copy.0).map_err(|error| unreadable(backup, &error))?;
    restore::check(&copy.0).map_err(|error| {
        Failure::new(format!(
            "The backup {} cannot be used ({}); nothing was changed.",
            backup.display(),
            causes(error.source().unwrap_or(&error))
        ))
    })?;
    restore::replace(&lock, &copy.0, database).map_err(|error| {
        Failure::new(format!("The database {} cannot be replaced ({error}).", database.display()))
    })
}

fn unreadable(backup: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("The backup {} cannot be read ({error}); nothing was changed.", backup.display()))
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

/// Copies a backup to a file and syncs it, decompressed if necessary.
fn unpack(backup: &Path, target: &Path) -> io::Result<()> {
    let mut source = File::open(backup)?;
    let mut start = Vec::new();
    source.by_ref().take(16).read_to_end(&mut start)?;
    source.rewind()?;
    let source = BufReader::new(source);
    let mut reader: Box<dyn Read> = match start.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(source)?),
        b"SQLite format 3\0" => Box::new(source),
        _ => {
            return Err(io::Error::other(
                "it is neither a SQLite database nor one compressed with gzip or zstd",
            ));
        }
    };
    let mut target = file_mode::create_file(target)?;
    io::copy(&mut reader, &mut target)?;
    target.sync_all()
}

/// A temporary file; dropping it deletes the file, unless it was renamed.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
