//! `cargo xtask dist --check` and `cargo xtask test --full`: install every artifact of `cargo xtask dist` as a user does, and run a benchmark with it.

mod deb;
mod image;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{
    Result, dist,
    timing::Timing,
    tools::{self, say},
};

/// Output of a benchmark, and the benchmark that prints it.
const RESULTS: &str = r#"{"parse": {"latency": {"value": 1}}}"#;

/// Programs that the checks call, and their Debian packages.
const PROGRAMS: [(&str, &str); 2] = [("podman", "podman"), ("mmdebstrap", "mmdebstrap")];

/// Builds all artifacts, uses each of them, and prints the durations.
pub(crate) fn all(build: bool) -> Result {
    let mut timing = Timing::start();
    let outcome = check(&mut timing, build);
    timing.print();
    outcome
}

/// Builds all artifacts and uses each of them.
pub(crate) fn check(timing: &mut Timing, build: bool) -> Result {
    let folder = timing.phase("dist", || dist::all(build))?;
    dist::verify_checksums(&folder)?;
    timing.phase("archive", || archive(&folder))?;
    timing.phase("wheel", || wheel(&folder))?;
    timing.phase("npm", || npm(&folder))?;
    if cfg!(target_os = "linux") {
        let runtime = if image::is_hybrid() { ("runc", "runc") } else { ("crun", "crun") };
        let missing = PROGRAMS.iter().chain([&runtime]).filter(|(name, _)| tools::find(name).is_none());
        let missing: Vec<_> = missing.map(|(_, package)| *package).collect();
        if !missing.is_empty() {
            timing.phase("installation", || tools::install(&missing))?;
        }
        timing.phase("Debian package", || deb::check(&find(&folder, ".deb")?))?;
        timing.phase("image", || image::check(&folder))?;
    }
    Ok(())
}

/// Extracts the archive and runs its binary.
fn archive(folder: &Path) -> Result {
    let file = find(folder, ".tar.gz")?;
    let scratch = Scratch::new("archive")?;
    tools::run(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(&scratch.folder))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().replace(".tar.gz", "");
    let content = scratch.folder.join(name);
    for path in [
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "THIRD-PARTY-LICENSES.txt",
        "completions/_tidemark",
        "man/tidemark-run.1",
    ] {
        if !content.join(path).is_file() {
            return Err(format!("{} has no file {path}", file.display()));
        }
    }
    scratch.benchmark(&mut Command::new(content.join("tidemark")))
}

/// Installs the wheel into an empty virtual environment and runs its program.
fn wheel(folder: &Path) -> Result {
    let scratch = Scratch::new("wheel")?;
    let environment = scratch.folder.join("venv");
    tools::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let start = Instant::now();
    tools::run(
        Command::new(environment.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "--no-index"])
            .arg(find(folder, ".whl")?),
    )?;
    scratch.benchmark(&mut Command::new(environment.join("bin/tidemark")))?;
    say(&format!("From `pip install` to the first verdict: {:.1} s.", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Installs the npm packages into an empty project and runs the program with npx.
fn npm(folder: &Path) -> Result {
    let scratch = Scratch::new("npm-project")?;
    let project = scratch.folder.join("project");
    fs::create_dir(&project).map_err(|error| dist::failed("created", &project, &error))?;
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(&project);
        command
    };
    tools::read(&mut npm(&["init", "--yes"]))?;
    // The packages of other platforms are optional and, before a release, in no registry.
    let packages: Vec<PathBuf> = names(folder, ".tgz")?;
    let start = Instant::now();
    tools::run(npm(&["install", "--no-audit", "--no-fund", "--loglevel=error"]).args(packages))?;
    let mut npx = Command::new("npx");
    npx.args(["--no-install", "tidemark"]).current_dir(&project);
    scratch.benchmark(&mut npx)?;
    say(&format!("From `npm install` to the first verdict: {:.1} s.", start.elapsed().as_secs_f64()));
    Ok(())
}

/// A temporary folder, which is also the home folder of the programs.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new(name: &str) -> Result<Self> {
        // On the disk, because the storage of podman is too large for memory.
        let folder = tools::target()?.join(format!("scratch-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| dist::failed("created", &folder, &error))?;
        Ok(Self { folder })
    }

    /// Runs `tidemark run` with a benchmark, and checks that it prints a verdict.
    fn benchmark(&self, command: &mut Command) -> Result {
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEMARK_")) {
            command.env_remove(name);
        }
        if command.get_current_dir().is_none() {
            command.current_dir(&self.folder);
        }
        command.args(["run", &format!("printf '%s' '{RESULTS}'")]).env("HOME", &self.folder);
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        check_verdict(&tools::read(command)?)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Fails if the output of `tidemark run` has no verdict.
fn check_verdict(output: &str) -> Result {
    if output.contains("inconclusive") && output.contains("parse") {
        Ok(())
    } else {
        Err(format!("`tidemark run` printed no verdict:\n{output}"))
    }
}

/// Returns the only artifact with an ending.
fn find(folder: &Path, ending: &str) -> Result<PathBuf> {
    match names(folder, ending)?.as_slice() {
        [file] => Ok(file.clone()),
        files => Err(format!("{} has {} files *{ending}; expected one", folder.display(), files.len())),
    }
}

/// Returns the artifacts with an ending.
fn names(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let artifacts = dist::artifacts(folder)?.into_iter();
    Ok(artifacts.filter(|(name, _)| name.ends_with(ending)).map(|(name, _)| folder.join(name)).collect())
}
