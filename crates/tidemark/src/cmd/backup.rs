//! `tidemark backup`: writes all data of the database to an archive, with or without a running server. `tidemark server backup`
//! requests a backup from a server instead.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tidemark_api::Compression;
use tidemark_server::{
    domain::backup::{self, schedule},
    infra::{
        backup_store::{BackupStore, BackupStoreError},
        clock::{Clock, SystemEntropy},
        config::{Config, Flags},
        file_mode,
    },
};
use tidemark_store::{Db, WriteContext, restore};
use tokio::runtime::{self, Runtime};

use crate::{
    cmd::serve,
    failure::{Failure, Result, causes, print, write_message},
    settings,
    table::{Column, Table},
};

/// Arguments of `tidemark backup`.
#[derive(clap::Args)]
pub(crate) struct BackUp {
    /// File to create; .gz and .archive select gzip and no compression instead of zstd [default: a new backup at the destination
    /// in the section `backup` of the configuration]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// List the backups at the configured destination
    #[arg(long, conflicts_with = "file")]
    list: bool,
    #[command(flatten)]
    place: DatabaseFlags,
}

/// Flags that select the database.
#[derive(clap::Args)]
pub(crate) struct DatabaseFlags {
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Data folder [default: the data folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database instead of SQLite: postgres://user:password@host/name
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl DatabaseFlags {
    /// Loads the configuration of the server.
    pub(crate) fn load(&self) -> Result<Config> {
        let flags = Flags { bind: None, data_dir: self.data_dir.clone(), database: self.database.clone() };
        settings::load(self.config.clone(), &flags)
    }
}

impl BackUp {
    pub(crate) fn run(self) -> Result {
        let config = self.place.load()?;
        let runtime = runtime()?;
        if self.list {
            return list(&config, &runtime);
        }
        match self.file {
            Some(file) => runtime.block_on(to_file(&config, &file)),
            None => runtime.block_on(to_store(&config)),
        }
    }
}

/// Creates the runtime of a command that opens the database.
pub(crate) fn runtime() -> Result<Runtime> {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("The command cannot start its threads ({error}).")))
}

/// Returns the time and the random numbers of a command.
pub(crate) fn fresh() -> WriteContext {
    WriteContext::new(Clock::System.now(), Arc::new(SystemEntropy))
}

/// A database without pending migrations being applied, and the lock that prevents a restore meanwhile.
pub(crate) struct OpenDatabase {
    pub(crate) db: Db,
    pub(crate) _lock: Option<restore::SharedLock>,
}

/// Opens the existing database of a configuration without changing it.
pub(crate) async fn open(config: &Config) -> Result<OpenDatabase> {
    let path = serve::database(config);
    let file = &config.database.file;
    if config.database.url.is_none() && !file.exists() {
        return Err(Failure::new(format!(
            "There is no database at {path}; choose another folder with --data-dir, or a PostgreSQL database with --database."
        )));
    }
    let lock = match config.database.url {
        Some(_) => None,
        None => Some(
            restore::lock_shared(file)
                .map_err(|error| Failure::new(format!("The database {path} cannot be locked ({error}).")))?,
        ),
    };
    let db = Db::open_unchanged(&config.location()).await;
    let db = db.map_err(|error| {
        Failure::new(format!("The database {path} cannot be opened ({}).", causes(&error)))
    })?;
    Ok(OpenDatabase { db, _lock: lock })
}

async fn to_file(config: &Config, file: &Path) -> Result {
    if file.exists() {
        return Err(Failure::new(format!("{} exists already; choose another name.", file.display())));
    }
    let compression = match file.extension().and_then(OsStr::to_str) {
        Some("gz") => Some(Compression::Gzip),
        Some("archive") => None,
        _ => Some(Compression::Zstd),
    };
    let database = open(config).await?;
    let mut name = OsString::from(file);
    name.push(".partial");
    let partial = PathBuf::from(name);
    let written = backup::write_archive(&database.db, fresh().now, &partial, compression).await;
    database.db.close().await;
    let moved = match &written {
        Ok(_) => fs::rename(&partial, file)
            .and_then(|()| file_mode::sync_folder_of(file))
            .map_err(|error| error.to_string()),
        Err(error) => Err(causes(error)),
    };
    match (written, moved) {
        (Ok(summary), Ok(())) => {
            print(&format!("Wrote {} rows to {}.\n", summary.total_rows(), file.display()))
        }
        (_, outcome) => {
            let _ = fs::remove_file(&partial);
            let reason = outcome.err().unwrap_or_default();
            Err(Failure::new(format!("The backup {} cannot be written ({reason}).", file.display())))
        }
    }
}

async fn to_store(config: &Config) -> Result {
    config.create_folders()?;
    let store = BackupStore::open(config).map_err(|error| store_failure(&error))?;
    let (database, fresh) = (open(config).await?, fresh());
    let folder = backup::folder(&config.data_dir);
    let created = schedule::create(&database.db, &store, &folder, fresh.now, fresh.uuid()).await;
    let deleted = match &created {
        Ok(_) => schedule::delete_old(&database.db, &store, config.backup.keep, fresh.now).await,
        Err(_) => Ok(Vec::new()),
    };
    database.db.close().await;
    let created = created.map_err(|error| store_failure(&error))?;
    if let Some(folder) = store.folder() {
        warn_about_owner(folder, &folder.join(&created.name));
    }
    let deleted = deleted.map_err(|error| store_failure(&error))?;
    let mut text = format!("Wrote {} rows to {} in {}.\n", created.rows, created.name, store.place());
    for name in deleted {
        text.push_str(&format!("Deleted {name}; the configuration keeps {} backups.\n", config.backup.keep));
    }
    print(&text)
}

fn list(config: &Config, runtime: &Runtime) -> Result {
    let store = BackupStore::open(config).map_err(|error| store_failure(&error))?;
    let backups = runtime.block_on(store.list()).map_err(|error| store_failure(&error))?;
    if backups.is_empty() {
        return print(&format!("There are no backups in {}.\n", store.place()));
    }
    let mut table = Table::new([Column::Left("Name"), Column::Right("Bytes")], &[]);
    for backup in backups {
        table.push([backup.name, backup.bytes.to_string()]);
    }
    print(&table.show())
}

/// Warns if a file that this command wrote has another owner than its folder: root wrote it, and the service of the folder cannot
/// open it.
pub(crate) fn warn_about_owner(folder: &Path, file: &Path) {
    if let Some(warning) = owner_warning(folder, file) {
        write_message(warning.as_bytes());
    }
}

#[cfg(unix)]
fn owner_warning(folder: &Path, file: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (of_folder, of_file) = (fs::metadata(folder).ok()?, fs::metadata(file).ok()?);
    let (folder, file) = (folder.display(), file.display());
    (of_folder.uid() != of_file.uid()).then(|| {
        format!(
            "{folder} belongs to the user {}, but {file} to the user {}; run `chown -R --reference={folder} {folder}` so that the \
             service can open it.\n",
            of_folder.uid(),
            of_file.uid(),
        )
    })
}

#[cfg(not(unix))]
fn owner_warning(_: &Path, _: &Path) -> Option<String> {
    None
}

/// Returns the failure of the destination of backups.
pub(crate) fn store_failure(error: &BackupStoreError) -> Failure {
    Failure::new(format!(
        "The destination of backups failed ({}); check the section `backup` of the configuration.",
        causes(&**error)
    ))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_owner_than_its_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidemark.db");
        fs::write(&file, "").unwrap();
        assert_eq!(owner_warning(folder.path(), &file), None);
        // Only root can change the owner; a file of another user has another owner than the root folder.
        let (other, own) = (Path::new("/"), &file);
        let differs = std::os::unix::fs::chown(&file, Some(12_345), None).is_ok();
        let warning = owner_warning(if differs { folder.path() } else { other }, own);
        assert!(warning.is_some_and(|warning| warning.contains("chown -R --reference=")));
    }
}
