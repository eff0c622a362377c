//! The secret that signs sessions, stored in a file unless it is configured, and the folder of the file.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tidemark_api::Secret;
use tidemark_store::Entropy as _;

use super::ConfigError;
use crate::infra::{clock::SystemEntropy, file_mode};

/// Minimum length of the secret, in bytes.
pub(super) const MIN_SECRET_LENGTH: usize = 16;

/// Creates a folder and its parents. New folders are accessible to their owner only.
pub(super) fn create_folder(folder: &Path) -> Result<(), ConfigError> {
    file_mode::create_folder(folder).map_err(|error| {
        ConfigError::new(format!(
            "The folder {} cannot be created ({error}); choose another with --data-dir.",
            folder.display()
        ))
    })
}

/// Returns the secret in the file, and creates the file if it does not exist.
pub(super) fn load_or_create(file: &Path, shared: bool) -> Result<Secret, ConfigError> {
    let failed = |error: io::Error| {
        ConfigError::new(format!(
            "The secret in {} cannot be used ({error}); make the file readable and writable or set security.secret_key.",
            file.display()
        ))
    };
    let mut secret = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    if secret.trim().is_empty() {
        if let Some(folder) = file.parent() {
            create_folder(folder)?;
        }
        secret = create(file).map_err(failed)?;
    }
    if shared {
        tracing::warn!(
            file = %file.display(),
            "security.secret_key is not set, so this server uses the secret of its data folder; \
             servers that share a database must share the secret"
        );
    }
    let secret = secret.trim();
    if secret.len() < MIN_SECRET_LENGTH {
        return Err(ConfigError::new(format!(
            "The secret in {} is shorter than {MIN_SECRET_LENGTH} characters; remove the file to get a new one, which signs everybody out.",
            file.display()
        )));
    }
    Secret::try_from(secret.to_owned()).map_err(|error| ConfigError::new(error.to_string()))
}

/// Writes a new secret, unless another process has created the file first. Returns the stored secret.
fn create(file: &Path) -> io::Result<String> {
    let mut handle: File = file_mode::options().read(true).write(true).create(true).open(file)?;
    handle.lock()?;
    let mut text = String::new();
    handle.read_to_string(&mut text)?;
    if text.trim().is_empty() {
        let mut random = [0; 48];
        SystemEntropy.fill(&mut random);
        text = URL_SAFE_NO_PAD.encode(random);
        handle.write_all(text.as_bytes())?;
        handle.sync_all()?;
    }
    Ok(text)
}
