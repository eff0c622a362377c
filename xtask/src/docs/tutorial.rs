//! `cargo xtask docs --run`: runs the tutorials of the manual against a live server.
//!
//! The `sh` blocks of a tutorial are one script, which must end with the verdict *regressed*. A tutorial whose tools cannot be
//! installed is skipped, and its name is printed; if the caller named it, the command fails.

use std::{
    env,
    fs::{self, File},
    path::Path,
    process::{self, Command},
};

use super::{Manual, page::Page};
use crate::{
    Result, server, service,
    tools::{self, say},
};

/// A tutorial: its name, and the files or programs that it needs with their Debian packages.
struct Tutorial {
    name: &'static str,
    needs: &'static [(&'static str, &'static str)],
}

const TUTORIALS: [Tutorial; 5] = [
    Tutorial { name: "rust", needs: &[("cargo", "cargo")] },
    Tutorial { name: "python", needs: &[("python3", "python3-venv")] },
    Tutorial { name: "go", needs: &[("go", "golang-go")] },
    Tutorial { name: "javascript", needs: &[("npm", "npm")] },
    Tutorial {
        name: "cpp",
        needs: &[
            ("g++", "g++"),
            ("cmake", "cmake"),
            ("/usr/include/benchmark/benchmark.h", "libbenchmark-dev"),
        ],
    },
];

/// Last line of the output of a tutorial: `tidemark run --error-on-alert` found the regression.
const REGRESSED: &str = "exit status 3";

/// Variables of CI systems: with them, `tidemark run` requires a named project.
const CI: [&str; 3] = ["CI", "GITHUB_ACTIONS", "GITLAB_CI"];

/// Runs the tutorials with these names, or all of them.
pub(crate) fn run(names: &[String]) -> Result {
    if let Some(name) = names.iter().find(|name| TUTORIALS.iter().all(|tutorial| tutorial.name != **name)) {
        let known = TUTORIALS.map(|tutorial| tutorial.name).join(", ");
        return Err(format!("there is no tutorial `{name}`; the tutorials are {known}"));
    }
    let manual = Manual::read(&tools::root()?)?;
    tools::run(&mut tools::cargo(&["build", "--package", "tidemark"])?)?;
    let data = service::folder("tutorials")?;
    let config = tools::root()?.join("xtask/conformance/tidemark.toml");
    let key = tools::read(
        Command::new(tools::binary()?)
            .args(["admin", "create", "--email", "ada@example.org", "--data-dir"])
            .arg(&data)
            .arg("--config")
            .arg(&config),
    )?;
    let server = server::start(&config, &data, &tools::target()?.join("tutorials.log"))?;
    let mut skipped = Vec::new();
    for tutorial in
        TUTORIALS.iter().filter(|one| names.is_empty() || names.iter().any(|name| name == one.name))
    {
        if let Err(reason) = tutorial.install() {
            say(&format!("Skipping the tutorial {}: {reason}.", tutorial.name));
            skipped.push(tutorial.name);
            continue;
        }
        let path = format!("docs/tutorials/{}.md", tutorial.name);
        let page = manual.files.get(&path).ok_or_else(|| format!("{path} does not exist"))?;
        tutorial.run(page, &format!("http://{}", server.address), key.trim())?;
    }
    if skipped.is_empty() {
        return Ok(());
    }
    say(&format!("Skipped: {}.", skipped.join(", ")));
    // A tutorial that was asked for must run.
    if names.is_empty() { Ok(()) } else { Err(format!("{} tutorials were not run", skipped.len())) }
}

impl Tutorial {
    /// Installs the missing tools.
    fn install(&self) -> Result {
        let is_missing = |need: &str| match need.starts_with('/') {
            true => !Path::new(need).exists(),
            false => tools::find(need).is_none(),
        };
        let missing: Vec<&str> =
            self.needs.iter().filter(|(need, _)| is_missing(need)).map(|(_, package)| *package).collect();
        if missing.is_empty() { Ok(()) } else { tools::install(&missing) }
    }

    /// Runs the script of the page in an empty folder.
    fn run(&self, page: &Page, host: &str, key: &str) -> Result {
        say(&format!("Running the tutorial {}.", self.name));
        // Outside of the repository: cargo and npm look for a workspace in the parent folders.
        let folder = env::temp_dir().join(format!("tidemark-tutorial-{}-{}", self.name, process::id()));
        fs::create_dir(&folder)
            .map_err(|error| format!("{} could not be made: {error}", folder.display()))?;
        let log = tools::target()?.join(format!("tutorial-{}.log", self.name));
        let lost = |error| format!("the tutorial {} could not be run: {error}", self.name);
        let output = File::create(&log).map_err(lost)?;
        let program = tools::binary()?;
        let own = program.parent().unwrap_or(Path::new("/"));
        let rest = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([own.to_owned()].into_iter().chain(env::split_paths(&rest)))
            .map_err(|error| format!("{} cannot be on the search path: {error}", own.display()))?;
        let mut command = Command::new("bash");
        command
            .args(["-c", &script(page)])
            .current_dir(&folder)
            .env("PATH", path)
            .env("TIDEMARK_HOST", host)
            .env("TIDEMARK_API_KEY", key)
            .env("XDG_CONFIG_HOME", folder.join(".config"))
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .stdout(output.try_clone().map_err(lost)?)
            .stderr(output);
        CI.iter().for_each(|name| {
            command.env_remove(name);
        });
        let done = tools::run_within(tools::HANG, &mut command);
        // Ignored: the next run replaces a folder that could not be removed.
        let _ = fs::remove_dir_all(&folder);
        let text = fs::read_to_string(&log).map_err(lost)?;
        let reason = match done {
            Ok(()) if text.lines().any(|line| line == REGRESSED) => return Ok(()),
            Ok(()) => format!("its output has no line `{REGRESSED}`"),
            Err(_) => "its script failed".to_owned(),
        };
        Err(format!("the tutorial {} is wrong: {reason}\n{text}", self.name))
    }
}

/// Returns the `sh` blocks of a page as one script that stops at the first error and shows its commands.
fn script(page: &Page) -> String {
    let blocks = page.blocks.iter().filter(|block| block.language == "sh");
    blocks.fold("set -euxo pipefail\n".to_owned(), |script, block| script + &block.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_consists_of_the_shell_blocks() {
        let page =
            Page::parse("a.md", "# A\n\n```sh\nls\n```\n\n```text\nfile\n```\n\n```sh\nexit\n```\n", &|_| {
                true
            });
        assert_eq!(script(&page), "set -euxo pipefail\nls\nexit\n");
    }

    #[test]
    fn every_tutorial_of_the_manual_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let manual = Manual::read(root).unwrap();
        let pages = manual.files.keys().filter_map(|path| path.strip_prefix("docs/tutorials/"));
        let mut names = TUTORIALS.map(|tutorial| format!("{}.md", tutorial.name));
        names.sort();
        assert_eq!(pages.collect::<Vec<_>>(), names);
        for name in names {
            let script = script(&manual.files[&format!("docs/tutorials/{name}")]);
            assert!(script.contains("--error-on-alert"), "{name}");
        }
    }
}
