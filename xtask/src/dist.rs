//! `cargo xtask dist`: builds the optimized binary once, and packages it for every way to install it.

mod archive;
mod binary;
mod checksum;
mod deb;
mod image;
mod notices;
mod npm;
mod platform;
mod sbom;
mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(crate) use checksum::{SUMS, verify as verify_checksums, write as write_checksums};
pub(crate) use image::NAME as IMAGE;
pub(crate) use platform::{PLATFORMS, Platform};
pub(crate) use sbom::NAME as SBOM;

use crate::{
    Result, changelog, console,
    timing::Timing,
    tools::{self, say},
};

/// Release notes among the artifacts.
pub(crate) const NOTES: &str = "RELEASE_NOTES.md";

/// Files of the repository that are artifacts as they are.
const COPIES: [&str; 3] = ["install.sh", "packaging/compose.yaml", "packaging/gitlab.yml"];

/// What the packages are made of, and where they go.
pub(crate) struct Dist {
    /// Folder of the artifacts.
    pub(crate) folder: PathBuf,
    /// The optimized binary.
    binary: PathBuf,
    /// Folder for files that only the packages contain: completions and manual pages.
    profile_folder: PathBuf,
    /// Version of the workspace.
    version: String,
    /// Platform of this machine.
    platform: &'static Platform,
    /// Modification time of packaged files in seconds since 1970: the time of the commit, so that a build can be repeated.
    time: u64,
}

/// Builds all artifacts for this platform and returns their folder. Without `build`, uses the binary of the last build.
pub(crate) fn all(build: bool) -> Result<PathBuf> {
    let mut timing = Timing::start();
    let outcome = package(&mut timing, build);
    timing.print();
    let dist = outcome?;
    for (name, size) in artifacts(&dist.folder)? {
        eprintln!("{:>9.1} MB  {name}", megabytes(size));
    }
    say(&format!("The artifacts are in {}.", dist.folder.display()));
    Ok(dist.folder)
}

fn package(timing: &mut Timing, build: bool) -> Result<Dist> {
    let platform = platform::host()?;
    let (target, version, time) = (tools::target()?, version()?, commit_time()?);
    let folder = target.join("artifacts");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| failed("removed", &folder, &error))?;
    }
    fs::create_dir_all(&folder).map_err(|error| failed("created", &folder, &error))?;
    if build {
        timing.phase("console", console::build)?;
        timing.phase("binary", || binary::build(platform, time))?;
    }
    let binary = binary::check(platform)?;
    let dist = Dist { folder, binary, profile_folder: target.join(binary::PROFILE), version, platform, time };
    timing.phase("completions and manual pages", || dist.write_documents())?;
    timing.phase("licenses", || notices::build(&dist))?;
    timing.phase("archive", || archive::build(&dist))?;
    if platform.debian.is_some() {
        timing.phase("Debian package", || deb::build(&dist))?;
        timing.phase("container image", || image::build(&dist))?;
    }
    timing.phase("Python wheel", || wheel::build(&dist))?;
    timing.phase("npm packages", || npm::build(&dist))?;
    timing.phase("SBOM", || sbom::build(&dist))?;
    let root = tools::root()?;
    for copy in COPIES {
        let name = Path::new(copy).file_name().unwrap_or_default();
        let file = dist.folder.join(name);
        fs::copy(root.join(copy), &file).map_err(|error| failed("written", &file, &error))?;
    }
    write(&dist.folder.join(NOTES), changelog::notes(&dist.version)?.as_bytes())?;
    write_checksums(&dist.folder)?;
    Ok(dist)
}

impl Dist {
    /// Returns the file with the licenses of the libraries.
    fn notices(&self) -> PathBuf {
        self.profile_folder.join(notices::NAME)
    }

    /// Returns the folder of the manual pages.
    fn manual_pages(&self) -> PathBuf {
        self.profile_folder.join("man")
    }

    /// Returns the folder of the completion scripts.
    fn completions(&self) -> PathBuf {
        self.profile_folder.join("completions")
    }

    /// Lets the binary write its completion scripts and manual pages.
    fn write_documents(&self) -> Result {
        let (pages, completions) = (self.manual_pages(), self.completions());
        for folder in [&pages, &completions] {
            // Pages of removed commands.
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(|error| failed("created", folder, &error))?;
        }
        tools::run(Command::new(&self.binary).args(["man", "--out"]).arg(&pages))?;
        for (shell, file) in [("bash", "tidemark.bash"), ("zsh", "_tidemark"), ("fish", "tidemark.fish")] {
            let script = tools::read(Command::new(&self.binary).args(["completions", shell]))?;
            write(&completions.join(file), script.as_bytes())?;
        }
        Ok(())
    }
}

/// Returns the artifacts of a folder with their sizes, sorted by name.
pub(crate) fn artifacts(folder: &Path) -> Result<Vec<(String, u64)>> {
    let read = || -> std::io::Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len()));
        }
        found.sort();
        Ok(found)
    };
    read().map_err(|error| failed("read", folder, &error))
}

/// Returns the version of the workspace.
pub(crate) fn version() -> Result<String> {
    let manifest = tools::root()?.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| failed("read", &manifest, &error))?;
    text.lines()
        .skip_while(|line| *line != "[workspace.package]")
        .find_map(|line| Some(line.strip_prefix("version = \"")?.trim_end_matches('"').to_owned()))
        .ok_or_else(|| "Cargo.toml has no version in [workspace.package]".to_owned())
}

/// Returns the time of the last commit in seconds since 1970, or 0 in an exported tree.
fn commit_time() -> Result<u64> {
    let time = tools::read_quietly(&mut tools::git(&["log", "-1", "--format=%ct"])?);
    Ok(time.ok().and_then(|time| time.trim().parse().ok()).unwrap_or(0))
}

/// Writes a file.
fn write(file: &Path, content: &[u8]) -> Result {
    fs::write(file, content).map_err(|error| failed("written", file, &error))
}

/// Returns an error about a file.
pub(crate) fn failed(what: &str, file: &Path, error: &std::io::Error) -> String {
    format!("{} could not be {what}: {error}", file.display())
}

/// Returns a size in units of 1,000,000 bytes.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
