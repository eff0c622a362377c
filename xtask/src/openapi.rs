//! `cargo xtask openapi`: the API description in the repository, for readers and for the console's types.

use std::{fs, path::PathBuf};

use crate::{
    Result,
    tools::{self, say},
};

/// Writes `openapi.json`.
pub(crate) fn write() -> Result {
    let (file, document) = (file()?, document()?);
    fs::write(&file, document)
        .map_err(|error| format!("{} could not be written: {error}", file.display()))?;
    say("openapi.json is up to date.");
    Ok(())
}

/// Fails if `openapi.json` differs from the description that the server generates.
pub(crate) fn check() -> Result {
    if fs::read_to_string(file()?).ok() == Some(document()?) {
        say("openapi.json is up to date.");
        Ok(())
    } else {
        Err("openapi.json is stale; run `cargo xtask openapi` and commit it".to_owned())
    }
}

fn file() -> Result<PathBuf> {
    Ok(tools::root()?.join("openapi.json"))
}

/// Returns the description that the server generates.
fn document() -> Result<String> {
    tools::read(&mut tools::cargo(&["run", "--quiet", "--package", "tidemark", "--", "openapi"])?)
}
