//! Last runs of each folder on this machine, whose pages `tidemark open` opens. The file is a convenience: without it, commands work and know no last run.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tidemark_server::infra::config::Flags;

use crate::settings;

/// Folder of the files, in the data folder.
const FOLDER: &str = "runs";
/// Maximum number of runs per file.
const MAX_RUNS: usize = 64;

/// Series of a run, as the command selected them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunKey {
    /// Server; `None` is the database on this machine.
    pub(crate) host: Option<String>,
    /// Project, if it is named.
    pub(crate) project: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) testbed: Option<String>,
}

/// The newest run of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastRun {
    pub(crate) key: RunKey,
    /// Slug of the project.
    pub(crate) project: String,
    /// UUID of the report.
    pub(crate) report: String,
    /// Page of the report; `None` for results on this machine.
    pub(crate) url: Option<String>,
}

/// Returns the last runs of the current folder, the newest first.
pub(crate) fn of_folder() -> Vec<LastRun> {
    let text = file().and_then(|file| fs::read_to_string(file).ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Stores a run of the current folder. Ignores errors: the run itself is recorded.
pub(crate) fn store(run: LastRun) {
    let Some(file) = file() else { return };
    let mut runs = of_folder();
    runs.retain(|earlier| earlier.key != run.key);
    runs.insert(0, run);
    runs.truncate(MAX_RUNS);
    if let Ok(text) = serde_json::to_string(&runs) {
        let _ = settings::write_for_owner(&file, &text);
    }
}

/// Returns the file of the current folder: of the repository that contains it or, outside of a repository, of the folder itself.
fn file() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here);
    let name = hex::encode(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..16]);
    let data = settings::load(settings::named_file(), &Flags::default()).ok()?.data_dir;
    Some(Path::new(&data).join(FOLDER).join(format!("{name}.json")))
}
