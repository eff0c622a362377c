//! `cargo xtask check`: the checks to run before each commit. `.ci/run` runs all of them on everything.

use std::{collections::BTreeSet, fs};

use crate::{
    Result, console,
    timing::Timing,
    tools::{self, say},
};

/// Checks the format and the lints, runs the unit tests of the crates that changed since a commit, and checks the
/// console if it or the API changed.
pub(crate) fn all(since: Option<&str>) -> Result {
    let mut timing = Timing::start();
    let outcome = run(&mut timing, since);
    timing.print();
    outcome
}

fn run(timing: &mut Timing, since: Option<&str>) -> Result {
    let files = changed_files(since)?;
    timing.phase("format", || tools::run(&mut tools::cargo(&["fmt", "--all", "--check"])?))?;
    if files.iter().any(|file| file.starts_with("console/") || file == "openapi.json") {
        timing.phase("console lints and types", console::check_sources)?;
    }
    timing.phase("lints", || {
        tools::run(&mut tools::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?)
    })?;
    let crates = changed_crates(&files)?;
    if crates.is_empty() {
        say("No crate changed, so no unit test ran.");
        return Ok(());
    }
    say(&format!("Running the unit tests of {}.", crates.iter().cloned().collect::<Vec<_>>().join(", ")));
    timing.phase("unit tests", || {
        let nextest = tools::succeeds(&mut tools::cargo(&["nextest", "--version"])?);
        let mut tests =
            tools::cargo(if nextest { &["nextest", "run", "--no-tests=pass"] } else { &["test"] })?;
        tests.args(["--lib", "--bins"]);
        for name in &crates {
            tests.args(["--package", name]);
        }
        tools::run(&mut tests)
    })
}

/// Returns the files that differ from a commit, including new files. Without a commit, compares with the upstream
/// branch if it exists, or else with the last commit.
fn changed_files(since: Option<&str>) -> Result<Vec<String>> {
    let since = match since {
        Some(commit) => commit.to_owned(),
        None => tools::read_quietly(&mut tools::git(&["merge-base", "HEAD", "@{upstream}"])?)
            .unwrap_or_else(|_| "HEAD".to_owned()),
    };
    let tracked = tools::read(&mut tools::git(&["diff", "--name-only", since.trim()])?)?;
    let untracked = tools::read(&mut tools::git(&["ls-files", "--others", "--exclude-standard"])?)?;
    Ok(tracked.lines().chain(untracked.lines()).map(str::to_owned).collect())
}

/// Returns the packages of the workspace that contain one of the files.
fn changed_crates(files: &[String]) -> Result<BTreeSet<String>> {
    let root = tools::root()?;
    let folders: BTreeSet<_> = files.iter().filter_map(|file| package_folder(file)).collect();
    let mut names = BTreeSet::new();
    for folder in folders {
        // A removed package has no manifest.
        let Ok(manifest) = fs::read_to_string(root.join(folder).join("Cargo.toml")) else { continue };
        names.extend(
            manifest
                .lines()
                .find_map(|line| Some(line.strip_prefix("name = \"")?.trim_end_matches('"').to_owned())),
        );
    }
    Ok(names)
}

/// Returns the folder of the package that a file belongs to.
fn package_folder(file: &str) -> Option<&str> {
    let (first, rest) = file.split_once('/')?;
    match first {
        "benches" | "xtask" => Some(first),
        "crates" => Some(&file[..first.len() + 1 + rest.find('/')?]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_package_of_its_folder() {
        let folders =
            ["crates/store/src/db.rs", "xtask/src/main.rs", "docs/cli.md", "Cargo.toml"].map(package_folder);
        assert_eq!(folders, [Some("crates/store"), Some("xtask"), None, None]);
    }
}
