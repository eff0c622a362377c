//! The settings as a command of the server side finds them: file, environment, flags.

use std::{env, path::PathBuf};

use tidemark_server::config::{Config, Flags};

use crate::failure::Result;

/// Loads the configuration from the named file or the one in the platform's folder, the environment and the flags.
pub(crate) fn load(file: Option<PathBuf>, flags: &Flags) -> Result<Config> {
    let file = file.filter(|file| !file.as_os_str().is_empty()).or_else(Config::default_file);
    // A variable that is not text cannot be one of ours.
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Config::load(file.as_deref(), variables, flags)?)
}

/// The file that the environment names.
pub(crate) fn named_file() -> Option<PathBuf> {
    env::var_os("TIDEMARK_CONFIG").map(PathBuf::from)
}
