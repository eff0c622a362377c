//! Configuration of server commands: file, environment, flags. Also writes files atomically.

use std::{
    env,
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
};

use tidemark_server::infra::config::{Config, Flags};

use crate::failure::Result;

/// Loads the configuration: the given file or the file in the configuration folder of the platform, the environment and the
/// flags.
pub(crate) fn load(file: Option<PathBuf>, flags: &Flags) -> Result<Config> {
    let file = file.filter(|file| !file.as_os_str().is_empty()).or_else(Config::default_file);
    // No variable of Tidemark has a name or a value that is not UTF-8.
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Config::load(file.as_deref(), variables, flags)?)
}

/// Returns the file that the environment names.
pub(crate) fn named_file() -> Option<PathBuf> {
    env::var_os("TIDEMARK_CONFIG").map(PathBuf::from)
}

/// Writes a file atomically, readable only by its owner.
pub(crate) fn write_for_owner(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}", process::id()));
    let draft = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&draft, file));
    if moved.is_err() {
        // The write error is reported; a leftover temporary file is harmless.
        let _ = fs::remove_file(&draft);
    }
    moved
}
