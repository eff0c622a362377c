//! The platforms that Tidemark is packaged for, with the name that each package format has for them.

use std::process::Command;

use crate::{Result, tools};

/// A platform.
#[derive(Debug)]
pub(crate) struct Platform {
    /// Target of the compiler.
    pub(crate) target: &'static str,
    /// Architecture of Debian packages and container images, if there are any for this platform.
    pub(crate) debian: Option<&'static str>,
    /// Operating system and processor, as npm names them.
    pub(crate) npm: (&'static str, &'static str),
}

/// All platforms.
pub(crate) const PLATFORMS: [Platform; 4] = [
    Platform { target: "x86_64-unknown-linux-gnu", debian: Some("amd64"), npm: ("linux", "x64") },
    Platform { target: "aarch64-unknown-linux-gnu", debian: Some("arm64"), npm: ("linux", "arm64") },
    Platform { target: "x86_64-apple-darwin", debian: None, npm: ("darwin", "x64") },
    Platform { target: "aarch64-apple-darwin", debian: None, npm: ("darwin", "arm64") },
];

impl Platform {
    /// Returns the npm package that contains the binary.
    pub(crate) fn npm_package(&self) -> String {
        format!("@tidemark-dev/{}-{}", self.npm.0, self.npm.1)
    }

    /// Returns the name of the archive, without its extension.
    pub(crate) fn archive(&self) -> String {
        format!("tidemark-{}", self.target)
    }
}

/// Returns the platform of this machine.
pub(crate) fn host() -> Result<&'static Platform> {
    let text = tools::read(Command::new("rustc").arg("-vV"))?;
    let target = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    PLATFORMS.iter().find(|platform| platform.target == target).ok_or_else(|| {
        let known = PLATFORMS.map(|platform| platform.target).join(", ");
        format!("there are no packages for {target}; use one of {known}")
    })
}
