//! `cargo xtask console`: builds the console for the binary, and runs its tests in a browser.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::ValueEnum;

use crate::{
    Result, docs, server, service, test,
    tools::{self, say},
};

/// Oldest supported Node.js version.
const NODE: u32 = 20;

/// Chromium without the parts that only a window needs: it needs two thirds of the CPU time.
const HEADLESS: &str = "chromium-headless-shell";

/// Environment variable that names the browser to use.
const CHROMIUM: &str = "TIDEMARK_TEST_CHROMIUM";

/// Environment variable with the path of the JUnit report of the browser tests, if they write one.
pub(crate) const JUNIT: &str = "PLAYWRIGHT_JUNIT_OUTPUT_FILE";

/// Tasks of the console.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Part {
    /// Build the console.
    Build,
    /// Run all checks and the browser tests.
    Test,
    /// Build the console and run only the browser tests.
    Browse,
    /// Update the screenshots of the manual.
    Pictures,
    /// Check all pages and main dialogs, and save their screenshots in `target/screenshots`.
    Screenshots,
    /// Measure panning and zooming of a plot with 500,000 points.
    Smooth,
}

/// Runs one of the commands.
pub(crate) fn run(part: Part) -> Result {
    match part {
        Part::Build => build(),
        Part::Test => check().and_then(|()| browse()),
        Part::Browse => build().and_then(|()| browse()),
        Part::Pictures => build().and_then(|()| on_demo("Taking pictures of the console.", "pictures")),
        Part::Screenshots => {
            build().and_then(|()| on_demo("Taking screenshots of all pages of the console.", "screenshots"))
        }
        Part::Smooth => {
            build().and_then(|()| on_demo("Panning and zooming half a million points.", "smooth"))
        }
    }
}

/// Builds the files that the binary embeds: the console in `console/dist` and the manual in `docs/book`.
pub(crate) fn build() -> Result {
    install()?;
    say("Building the console.");
    scripts(&["types", "build"])?;
    docs::build()
}

/// Builds the console, checks its format, lints and types, and runs the tests that need no browser.
pub(crate) fn check() -> Result {
    build()?;
    say("Checking the console.");
    scripts(&["lint", "check", "unit"])
}

/// Checks the format, lints and types of the console, without building it.
pub(crate) fn check_sources() -> Result {
    install()?;
    scripts(&["lint", "types", "check"])
}

fn scripts(names: &[&str]) -> Result {
    names.iter().try_for_each(|name| tools::run(&mut npm(&["run", "--silent", name])?))
}

/// Runs the browser tests on a fresh server with the demo project.
fn browse() -> Result {
    on_demo("Walking the pages of the console in Chromium.", "browser")
}

/// Runs a script of the console with a browser, on a fresh server with the demo project.
fn on_demo(what: &str, script: &str) -> Result {
    let chromium = chromium()?;
    tools::build()?;
    let data = service::folder("console")?;
    let log = tools::target()?.join("console.log");
    let config = tools::root()?.join("xtask/conformance/tidemark.toml");
    say("Filling a server with a year of made-up benchmarks.");
    tools::run(Command::new(tools::binary()?).args(["demo", "--data-dir"]).arg(&data))?;
    let server = server::start(&config, &data, &log)?;
    say(what);
    tools::run_within(
        tools::HANG,
        npm(&["run", "--silent", script])?
            .env("TIDEMARK_CONSOLE_URL", format!("http://{}", server.address))
            .env("TIDEMARK_CONSOLE_DATA", &data)
            .env("TIDEMARK_TEST_BINARY", tools::binary()?)
            .env(test::LOCALSTRIPE, test::localstripe()?)
            .env(CHROMIUM, chromium),
    )
    .map_err(|reason| format!("{reason}; the server's log is {}", log.display()))
}

/// Returns a command that runs a script of the console's folder with Node.js.
pub(crate) fn node(arguments: &[&str]) -> Result<Command> {
    install_node()?;
    let mut command = Command::new("node");
    command.args(arguments).current_dir(folder()?);
    Ok(command)
}

/// Installs Node.js if it is missing, and checks its version.
fn install_node() -> Result {
    if tools::find("npm").is_none() {
        tools::install(&["nodejs", "npm"])?;
    }
    let version = tools::read(Command::new("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    if major.is_none_or(|major: u32| major < NODE) {
        return Err(format!(
            "the console is built with Node.js {NODE} or newer, and this is {}; install a newer one",
            version.trim()
        ));
    }
    Ok(())
}

/// Installs the npm packages if the lock file changed since the last installation.
fn install() -> Result {
    install_node()?;
    let folder = folder()?;
    let (lock, installed) =
        (folder.join("package-lock.json"), folder.join("node_modules/.installed-lock.json"));
    let wanted = read(&lock)?;
    if fs::read(&installed).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    say("Installing what the console is made with.");
    tools::run(&mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"])?)?;
    fs::write(&installed, wanted)
        .map_err(|error| format!("{} could not be written: {error}", installed.display()))
}

/// Returns the browser, and installs it if it is missing.
pub(crate) fn chromium() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os(CHROMIUM) {
        return Ok(chosen.into());
    }
    let find = |name: &str| tools::find(name).map(|folder| folder.join(name));
    if let Some(found) = find(HEADLESS) {
        return Ok(found);
    }
    match tools::install(&[HEADLESS]) {
        Ok(()) => find(HEADLESS)
            .ok_or_else(|| format!("the package {HEADLESS} brought no browser; name one in {CHROMIUM}")),
        Err(reason) => find("chromium").ok_or(reason),
    }
}

/// Returns an npm command in the console's folder.
fn npm(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(folder()?).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    Ok(command)
}

fn folder() -> Result<PathBuf> {
    Ok(tools::root()?.join("console"))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(|error| format!("{} could not be read: {error}", file.display()))
}
