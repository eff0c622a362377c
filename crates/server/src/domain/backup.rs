//! Online backups: a consistent copy of the database while the server is running.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use percent_encoding::percent_decode_str;
use tidemark_api::{Compression, Timestamp};
use tokio::{process::Command, task::spawn_blocking};

use crate::{
    domain::{
        app::App,
        error::{Error, Result},
    },
    infra::{config::DatabaseUrl, file_mode},
};

/// Suffixes of unfinished backup files: copied, and compressed.
const UNFINISHED: [&str; 2] = [".partial", ".packed"];

/// Writes a backup into `<data>/backups` and returns its path. A failed backup leaves no files behind.
pub(crate) async fn create(
    app: &App,
    started: Timestamp,
    compression: Option<Compression>,
) -> Result<PathBuf> {
    let folder = folder(&app.config.data_dir);
    file_mode::create_folder(&folder).map_err(|error| failed("cannot create its folder", &error))?;
    let stamp: String = started.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let extension = if app.db.is_shared() { "dump" } else { "db" };
    let suffix = match compression {
        None => "",
        Some(Compression::Gzip) => ".gz",
        Some(Compression::Zstd) => ".zst",
    };
    // The id distinguishes two backups in the same millisecond.
    let id = app.fresh().uuid().simple().to_string();
    let file = folder.join(format!("tidemark-{stamp}-{}.{extension}{suffix}", &id[24..]));
    let [partial, packed] = UNFINISHED.map(|end| Partial(folder.join(format!(".{id}{end}"))));

    match app.db.backup(partial.0.clone()).await {
        Some(copied) => copied?,
        None => dump(app, &partial.0).await?,
    }
    let target = file.clone();
    spawn_blocking(move || {
        let ready = match compression {
            None => &partial,
            Some(compression) => {
                compress(&partial.0, &packed.0, compression)?;
                &packed
            }
        };
        File::open(&ready.0)?.sync_all()?;
        fs::rename(&ready.0, &target)?;
        // The rename is durable only after the folder is synced.
        #[cfg(unix)]
        File::open(&folder)?.sync_all()?;
        Ok(())
    })
    .await
    .map_err(|error| Error::Internal(error.into()))?
    .map_err(|error| failed("cannot write its file", &error))?;
    Ok(file)
}

/// Deletes unfinished backups of a killed server. No other process may use the data folder.
pub(crate) fn clear(data_dir: &Path) -> io::Result<()> {
    let folder = folder(data_dir);
    if !folder.try_exists()? {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && UNFINISHED.iter().any(|end| name.ends_with(end)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the folder of the backups.
pub(crate) fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("backups")
}

/// Whether a file name is that of a finished backup. The names sort by time.
pub(crate) fn is_backup(name: &str) -> bool {
    let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.starts_with("tidemark-") && (plain.ends_with(".db") || plain.ends_with(".dump"))
}

/// Copies a PostgreSQL database with `pg_dump`.
async fn dump(app: &App, target: &Path) -> Result<()> {
    let url = app.config.database.url.as_ref().map(DatabaseUrl::expose).unwrap_or_default();
    let (address, password) = split_password(url);
    // `pg_dump` keeps the permissions of an existing file.
    file_mode::create_file(target).map_err(|error| failed("cannot create its file", &error))?;
    let mut command = Command::new("pg_dump");
    command.args(["--format=custom", "--no-password", "--file"]).arg(target).arg("--dbname").arg(address);
    if let Some(password) = password {
        // All users of the machine can see the arguments of a process, but not its environment.
        command.env("PGPASSWORD", password);
    }
    let output = command.kill_on_drop(true).output().await.map_err(|error| {
        Error::Unavailable(format!(
            "A backup of PostgreSQL requires pg_dump, which could not be started ({error}). Install pg_dump \
             in the PATH of the server."
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Internal(format!("pg_dump failed: {reason}").into()))
}

/// Splits the URL of a database into the URL without its password, and the password.
fn split_password(url: &str) -> (String, Option<String>) {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (mut address, query) = match url.split_once('?') {
        Some((address, query)) => (address.to_owned(), query),
        None => (url.to_owned(), ""),
    };
    let mut password = None;
    if let Some((login, host)) = address.rsplit_once('@')
        && let Some((scheme, login)) = login.split_once("://")
        && let Some((user, secret)) = login.split_once(':')
    {
        password = Some(decode(secret));
        address = format!("{scheme}://{user}@{host}");
    }
    let mut separator = '?';
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        if let Some(secret) = pair.strip_prefix("password=") {
            password = Some(decode(secret));
        } else {
            address.push(separator);
            address.push_str(pair);
            separator = '&';
        }
    }
    (address, password)
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

/// A file that is deleted on drop, unless it was renamed before.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_server_left_goes_away() {
        let data_dir = tempfile::tempdir().unwrap();
        clear(data_dir.path()).unwrap();
        let folder = folder(data_dir.path());
        fs::create_dir(&folder).unwrap();
        for name in [".1.partial", ".1.packed", "tidemark-1.db", "mine.partial"] {
            fs::write(folder.join(name), "").unwrap();
        }
        clear(data_dir.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["mine.partial", "tidemark-1.db"]);
    }

    #[test]
    fn a_password_is_kept_out_of_the_address() {
        let split = |url| {
            let (address, password) = split_password(url);
            (address, password.unwrap_or_default())
        };
        let plain = |address: &str| (address.to_owned(), String::new());
        let secret = |address: &str, password: &str| (address.to_owned(), password.to_owned());
        assert_eq!(split("postgres://ada@host/db"), plain("postgres://ada@host/db"));
        assert_eq!(split("postgres://host:5432/db?a=b"), plain("postgres://host:5432/db?a=b"));
        assert_eq!(split("postgres://ada:p%40ss:w@host:1/db"), secret("postgres://ada@host:1/db", "p@ss:w"));
        assert_eq!(
            split("postgres://host/db?user=ada&password=x%26y&sslmode=require"),
            secret("postgres://host/db?user=ada&sslmode=require", "x&y")
        );
    }
}
