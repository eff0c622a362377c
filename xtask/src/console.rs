//! `cargo xtask console`: building it for the binary, and everything that is done with it in a browser.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use clap::ValueEnum;

use crate::{
    Result, server, service, test,
    tools::{self, say},
};

/// The oldest Node.js that its tools run on.
const NODE: u32 = 20;

/// Where Debian puts the browser; set beforehand, another one is used.
const CHROMIUM: &str = "TIDEMARK_TEST_CHROMIUM";

/// How long the browser may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// What can be done with the console.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Part {
    /// Build it.
    Build,
    /// Check it, and walk its pages in a browser.
    Test,
    /// Take the pictures of the manual anew.
    Pictures,
    /// Measure how smooth half a million points are.
    Smooth,
}

/// Do one of them.
pub(crate) fn run(part: Part) -> Result {
    match part {
        Part::Build => build(),
        Part::Test => check().and_then(|()| browse()),
        Part::Pictures => build().and_then(|()| on_demo("Taking pictures of the console.", "pictures")),
        Part::Smooth => {
            build().and_then(|()| on_demo("Panning and zooming half a million points.", "smooth"))
        }
    }
}

/// Build `console/dist`, from where it goes into the binary.
pub(crate) fn build() -> Result {
    install()?;
    say("Building the console.");
    for script in ["types", "build"] {
        tools::run(&mut npm(&["run", "--silent", script])?)?;
    }
    Ok(())
}

/// Build it, and check its types and what can be tested without a browser.
pub(crate) fn check() -> Result {
    build()?;
    say("Checking the console.");
    for script in ["check", "unit"] {
        tools::run(&mut npm(&["run", "--silent", script])?)?;
    }
    Ok(())
}

/// Walk the pages of a fresh server with the demo project in a browser.
pub(crate) fn browse() -> Result {
    on_demo("Walking the pages of the console in Chromium.", "browser")
}

/// Run a script of the console with a browser, on a fresh server with the demo project.
fn on_demo(what: &str, script: &str) -> Result {
    let chromium = chromium()?;
    // As the conformance run does it, and for the same reason.
    tools::run(&mut tools::cargo(&["build", "--workspace", "--bins", "--tests"])?)?;
    let data = service::folder("console")?;
    let log = tools::target()?.join("console.log");
    let address = format!("127.0.0.1:{}", tools::free_port()?);
    let config = tools::root()?.join("xtask/conformance/tidemark.toml");
    say("Filling a server with a year of made-up benchmarks.");
    tools::run(
        Command::new(tools::target()?.join("debug/tidemark")).args(["demo", "--data-dir"]).arg(&data),
    )?;
    let _server = server::start(&config, &data, &address, &log)?;
    say(what);
    tools::run_within(
        LIMIT,
        npm(&["run", "--silent", script])?
            .env("TIDEMARK_CONSOLE_URL", format!("http://{address}"))
            .env("TIDEMARK_CONSOLE_DATA", &data)
            .env("TIDEMARK_TEST_BINARY", tools::target()?.join("debug/tidemark"))
            .env(test::LOCALSTRIPE, test::localstripe()?)
            .env(CHROMIUM, chromium),
    )
    .map_err(|reason| format!("{reason}; the server's log is {}", log.display()))
}

/// Install what it is made with, when that has changed since.
fn install() -> Result {
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

/// The browser, installed if need be.
fn chromium() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os(CHROMIUM) {
        return Ok(chosen.into());
    }
    let find = || tools::find("chromium").map(|folder| folder.join("chromium"));
    if let Some(found) = find() {
        return Ok(found);
    }
    tools::install(&["chromium"])?;
    find().ok_or_else(|| format!("the package chromium brought no browser; name one in {CHROMIUM}"))
}

/// An npm command in the console's folder.
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
