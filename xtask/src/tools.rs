//! Finds programs, installs missing programs, and runs them.

use std::{
    env,
    ffi::OsStr,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::Result;

/// Timeout of a command; it only stops a command that hangs. No command that makes progress takes this long, however
/// busy the machine is.
pub(crate) const HANG: Duration = Duration::from_secs(60 * 60);

/// Returns the root of the checkout.
pub(crate) fn root() -> Result<PathBuf> {
    // Read at run time: two checkouts may share one target folder, and so one `xtask` binary.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or("start this program as `cargo xtask`")?;
    Path::new(&manifest)
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| "the xtask package has no parent folder".to_owned())
}

/// Returns the folder that cargo builds into.
pub(crate) fn target() -> Result<PathBuf> {
    let program = env::current_exe().map_err(|error| format!("this program cannot find itself: {error}"))?;
    program
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .ok_or_else(|| "start this program as `cargo xtask`".to_owned())
}

/// Returns a cargo command at the root of the checkout.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// Installs a program with cargo into the target folder, and returns its path.
pub(crate) fn cargo_tool(name: &str, version: &str) -> Result<PathBuf> {
    let folder = target()?.join("tools");
    let program = folder.join("bin").join(name);
    // The list of installed programs has a line `cargo-deb v3.8.0:` per program.
    let installed = read_quietly(cargo(&["install", "--list", "--root"])?.arg(&folder)).unwrap_or_default();
    if !installed.lines().any(|line| line == format!("{name} v{version}:")) {
        say(&format!("Installing {name} {version} into {}.", folder.display()));
        // An optimized build would only run faster, and takes minutes to build.
        let mut install =
            cargo(&["install", name, "--locked", "--debug", "--quiet", "--version", version, "--root"])?;
        run(install.arg(&folder).env_remove("RUSTC_WORKSPACE_WRAPPER"))?;
    }
    Ok(program)
}

/// Returns the command of a program that is a subcommand of cargo, at the root of the checkout.
pub(crate) fn cargo_subcommand(program: &Path, name: &str) -> Result<Command> {
    let mut command = Command::new(program);
    command.arg(name).current_dir(root()?);
    Ok(command)
}

/// Returns a git command at the root of the checkout.
pub(crate) fn git(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// Builds all binaries and tests, for all test phases. One build for all: a separate build of the server would
/// compile its dependencies again, with fewer features.
pub(crate) fn build() -> Result {
    say("Building the binary and the tests.");
    run(&mut cargo(&["build", "--workspace", "--all-targets"])?)
}

/// Returns the path of the binary that [`build`] creates.
pub(crate) fn binary() -> Result<PathBuf> {
    Ok(target()?.join("debug/tidemark"))
}

/// Prints the next step in one sentence.
pub(crate) fn say(sentence: &str) {
    eprintln!("xtask: {sentence}");
}

/// Installs Python packages, for example `moto[server]==5.2.5`, into their own folder, and returns the folder of
/// their programs. `proof` is a Python statement that succeeds once they are installed.
pub(crate) fn python(name: &str, packages: &[String], proof: &str) -> Result<PathBuf> {
    let folder = target()?.join(name);
    let programs = folder.join("bin");
    if succeeds(Command::new(programs.join("python")).args(["-c", proof])) {
        return Ok(programs);
    }
    if !succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
        install(&["python3", "python3-venv"])?;
    }
    say(&format!("Installing {} into {}.", packages.join(" and "), folder.display()));
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(programs.join("pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(packages))?;
    Ok(programs)
}

/// Runs a command with its output shown; fails if the command fails.
pub(crate) fn run(command: &mut Command) -> Result {
    let name = describe(command);
    let status = command.status().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed ({status})")) }
}

/// Runs a command with its output shown; fails if the command fails or hangs.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result {
    let name = describe(command);
    let lost = |error| format!("`{name}` could not be run: {error}");
    let start = Instant::now();
    let mut process = command.spawn().map_err(lost)?;
    loop {
        match process.try_wait().map_err(lost)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("`{name}` failed ({status})")),
            None if start.elapsed() > limit => {
                process.kill().and_then(|()| process.wait()).map_err(lost)?;
                return Err(format!("`{name}` was stopped because it took over {} seconds", limit.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Runs a command and returns its output; standard error goes to the terminal.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    read_quietly(command.stderr(Stdio::inherit()))
}

/// Runs a command and returns its output; discards standard error unless the caller has redirected it.
pub(crate) fn read_quietly(command: &mut Command) -> Result<String> {
    let name = describe(command);
    let output = command.output().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{name}` failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{name}` printed something that is not text"))
}

/// Whether a command can be started and succeeds. Discards its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the folder on the search path that contains a program.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).find(|folder| folder.join(program).is_file())
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> bool {
    read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs system packages. The error names them if the installation is not possible.
pub(crate) fn install(packages: &[&str]) -> Result {
    let wanted = packages.join(" ");
    if find("apt-get").is_none() {
        return Err(format!(
            "the Debian packages {wanted} or their like are missing; install them with your package manager"
        ));
    }
    let sudo: &[&str] = if is_root() { &[] } else { &["sudo", "--non-interactive"] };
    if !sudo.is_empty() && !succeeds(Command::new("sudo").args(["--non-interactive", "true"])) {
        return Err(format!(
            "the packages {wanted} are missing; install them with `sudo apt-get install {wanted}`"
        ));
    }
    say(&format!("Installing the packages {wanted}."));
    let apt = |arguments: &[&str]| {
        let mut words =
            sudo.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).chain(arguments);
        let program = words.next().copied().unwrap_or_default();
        run(Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()))
    };
    apt(&["update", "--quiet"])?;
    let mut arguments = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    arguments.extend(packages);
    apt(&arguments)
}

/// Returns a TCP port of the loopback address that was free a moment ago, for programs that cannot choose a port.
pub(crate) fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on 127.0.0.1: {error}"))
}

/// Returns a command as a user would type it.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words: Vec<_> = [program.file_name().unwrap_or(program.as_os_str())]
        .into_iter()
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error, "`sh -c exit 3` failed (exit status: 3)");
    }

    #[test]
    fn a_command_that_takes_too_long_is_stopped() {
        let error = run_within(Duration::ZERO, Command::new("sleep").arg("86400")).unwrap_err();
        assert_eq!(error, "`sleep 86400` was stopped because it took over 0 seconds");
    }
}
