//! `cargo xtask agents`: MCP clients call every tool of a live server. The scripts are in `xtask/agents/`; both
//! clients are installed into their own folders.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Result, server, service,
    tools::{self, say},
};

/// Version of the official Python SDK.
const SDK: &str = "2.3.0";
/// Version of the MCP inspector, and of a Node.js that it supports.
const INSPECTOR: &str = "2.12.0";
const NODE: &str = "22.23.3";

/// Installs both clients.
pub(crate) fn install() -> Result {
    sdk()?;
    inspector().map(drop)
}

/// Calls every tool with every client.
pub(crate) fn check() -> Result {
    let python = sdk()?;
    let programs = inspector()?;
    tools::build()?;

    let source = tools::root()?.join("xtask/agents");
    let log = tools::target()?.join("agents-server.log");
    let data = service::folder("agents")?;
    let server = server::start(&source.join("tidemark.toml"), &data, &log)?;
    say("Letting the Python SDK and the MCP inspector use every tool.");
    tools::run_within(
        tools::HANG,
        Command::new(python.join("python"))
            .arg(source.join("converse.py"))
            .arg(format!("http://{}", server.address))
            .arg(&data)
            .arg(tools::binary()?)
            .arg(programs.join("node"))
            .arg(programs.join("../@modelcontextprotocol/inspector/clients/cli/build/index.js")),
    )
    .map_err(|reason| format!("{reason}; the server's log is {}", log.display()))
}

/// Installs the Python SDK and returns the folder of its programs.
fn sdk() -> Result<PathBuf> {
    tools::python(&format!("mcp-sdk-{SDK}"), &[format!("mcp=={SDK}")], "import mcp")
}

/// Installs the inspector and returns the folder of its programs and of Node.js.
fn inspector() -> Result<PathBuf> {
    let folder = tools::target()?.join(format!("mcp-inspector-{INSPECTOR}"));
    let programs = folder.join("node_modules/.bin");
    let is_there = |programs: &Path| {
        tools::succeeds(
            Command::new(programs.join("node")).arg(programs.join("mcp-inspector")).args(["--cli", "--help"]),
        )
    };
    if is_there(&programs) {
        return Ok(programs);
    }
    if tools::find("npm").is_none() {
        tools::install(&["nodejs", "npm"])?;
    }
    say(&format!("Installing the MCP inspector {INSPECTOR} into {}.", folder.display()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("{} could not be made: {error}", folder.display()))?;
    tools::run(
        Command::new("npm")
            .args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"])
            .arg(&folder)
            .args([format!("node@{NODE}"), format!("@modelcontextprotocol/inspector@{INSPECTOR}")]),
    )?;
    if is_there(&programs) {
        return Ok(programs);
    }
    Err(format!("the MCP inspector does not run from {}; remove that folder and try again", folder.display()))
}
