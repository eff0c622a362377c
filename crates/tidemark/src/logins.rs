//! Credentials that `tidemark login` stores: a file in the configuration folder that only its owner can read.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use directories::ProjectDirs;
use serde::{Deserialize, Serialize};
use tidemark_api::Url;

use crate::{
    failure::{Failure, Result},
    settings,
};

/// Name of the file.
const FILE: &str = "credentials.toml";

/// Stored logins.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Logins {
    /// Default server: the server of the last login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    #[serde(default)]
    hosts: BTreeMap<String, Login>,
}

#[derive(Serialize, Deserialize)]
struct Login {
    key: String,
}

impl Logins {
    /// Reads the file. A missing file has no logins.
    pub(crate) fn load() -> Result<Self> {
        let Some(file) = file() else { return Ok(Self::default()) };
        let failed = |reason: String| {
            Failure::new(format!(
                "{} cannot be read ({reason}); delete it, then run `tidemark login`.",
                file.display()
            ))
        };
        match fs::read_to_string(&file) {
            // The error message does not quote the content, because it may contain a key.
            Ok(text) => {
                toml::from_str(&text).map_err(|_| failed("it is not a valid credentials file".to_owned()))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Self::default())
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Returns the default server.
    pub(crate) fn current(&self) -> Option<Url> {
        self.current.as_ref()?.parse().ok()
    }

    /// Returns the stored credential of a server.
    pub(crate) fn credential(&self, host: &Url) -> Option<&str> {
        self.hosts.get(name(host)).map(|login| login.key.as_str())
    }

    /// Stores a credential and makes its server the default.
    pub(crate) fn add(&mut self, host: &Url, credential: String) {
        self.hosts.insert(name(host).to_owned(), Login { key: credential });
        self.current = Some(name(host).to_owned());
    }

    /// Removes the credential of a server; returns whether there was one.
    pub(crate) fn remove(&mut self, host: &Url) -> bool {
        let removed = self.hosts.remove(name(host)).is_some();
        if self.current.as_deref() == Some(name(host)) {
            self.current = self.hosts.keys().next().cloned();
        }
        removed
    }

    /// Writes the file atomically.
    pub(crate) fn save(&self) -> Result<PathBuf> {
        let file = file().ok_or_else(|| {
            Failure::new("The configuration folder is unknown because there is no home folder; set HOME.")
        })?;
        let text = toml::to_string(self)
            .map_err(|error| Failure::new(format!("The login cannot be written as TOML ({error}).")))?;
        match settings::write_for_owner(&file, &text) {
            Ok(()) => Ok(file),
            Err(error) => Err(Failure::new(format!("{} cannot be written ({error}).", file.display()))),
        }
    }
}

/// Returns the name of a server in the file, without a trailing slash.
fn name(host: &Url) -> &str {
    host.as_str().trim_end_matches('/')
}

fn file() -> Option<PathBuf> {
    ProjectDirs::from("", "", "tidemark").map(|folders| folders.config_dir().join(FILE))
}
