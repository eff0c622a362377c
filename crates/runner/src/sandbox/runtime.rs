//! The OCI runtime: the program that creates containers, and its errors.

use std::{
    env, fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{RUNTIME_TIMEOUT, cgroup, exits_within};
use crate::error::{Error, Explain, Result};

/// Supported runtimes, in the order in which they are tried; the smallest first.
pub(crate) const NAMES: [&str; 2] = ["crun", "runc"];
/// Maximum number of characters of an error of the runtime.
const REASON_MAX: usize = 400;

/// An OCI runtime.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Name of the program.
    pub name: String,
    /// Path of the program.
    pub program: PathBuf,
    /// Version.
    pub version: String,
    /// Folder in which it keeps the state of its containers.
    pub(crate) state: PathBuf,
    /// Whether the version 2 tree of a hybrid host must be hidden from it.
    pub(crate) hides_unified: bool,
    /// Whether it creates control groups.
    pub(crate) creates_cgroups: bool,
}

impl Runtime {
    /// Returns the runtime with this name, if it is on the search path.
    pub(crate) fn find(name: &str, folder: &Path) -> Option<Self> {
        let paths = env::var_os("PATH").unwrap_or_default();
        // Runtimes are often in folders that are only on the search path of root.
        let folders = env::split_paths(&paths).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
        let is_program = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        let program = folders.map(|folder| folder.join(name)).find(is_program)?;
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next()?.rsplit(' ').next()?.to_owned();
        Some(Self {
            name: name.to_owned(),
            program,
            version,
            state: folder.join("state").join(name),
            hides_unified: name == "crun" && cgroup::is_hybrid(),
            creates_cgroups: true,
        })
    }

    /// Returns a call of the runtime that writes its log to the bundle.
    pub(super) fn command(&self, bundle: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(&self.state).arg("--log").arg(bundle.join("log"));
        if !self.creates_cgroups && self.name == "crun" {
            command.arg("--cgroup-manager=disabled");
        }
        command
    }

    /// Calls the runtime and waits until it exits.
    pub(super) fn call(&self, arguments: &[&str], bundle: &Path, timeout: Duration) -> Result<()> {
        let mut command = self.command(bundle);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().explain(|| format!("`{}` cannot be started", self.name))?;
        self.wait_for_exit(child, bundle, timeout)
    }

    /// Waits until a call exits.
    pub(super) fn wait_for_exit(&self, mut child: Child, bundle: &Path, timeout: Duration) -> Result<()> {
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| Error::new("The process of the runtime cannot be found."))?;
        let handle = pidfd_open(id, PidfdFlags::empty()).explain(|| "The runtime cannot be waited for")?;
        let began = Instant::now();
        while !exits_within(&handle, timeout.saturating_sub(began.elapsed()))? {
            if began.elapsed() >= timeout {
                // It may have exited already; `wait` follows.
                drop(child.kill());
                drop(child.wait());
                return Err(Error::new(format!(
                    "`{}` did not exit within {} s.",
                    self.name,
                    timeout.as_secs()
                )));
            }
        }
        let status = child.wait().explain(|| "The runtime cannot be waited for")?;
        if status.success() { Ok(()) } else { Err(self.error_from_log(bundle)) }
    }

    /// Deletes a container and its processes, if it exists.
    pub(super) fn delete(&self, id: &str) -> Result<()> {
        let folder = tempfile::tempdir().explain(|| "No temporary folder can be created")?;
        let deleted = self.call(&["delete", "--force", id], folder.path(), RUNTIME_TIMEOUT);
        if deleted.is_ok() || !self.state.join(id).exists() { Ok(()) } else { deleted }
    }

    /// Returns the identifiers of the existing containers.
    pub(super) fn containers(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.state).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Returns an error with the last message in the log of the runtime.
    fn error_from_log(&self, bundle: &Path) -> Error {
        let mut log = String::new();
        if let Ok(file) = fs::File::open(bundle.join("log")) {
            // A log that is not text is ignored.
            drop(file.take(64 << 10).read_to_string(&mut log));
        }
        let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it logged no reason");
        let message = match (last.find("msg=\""), last.split_once(": ")) {
            (Some(start), _) => last[start + 5..].trim_end_matches('"').replace("\\\"", "\""),
            (None, Some((time, rest))) if time.starts_with(|first: char| first.is_ascii_digit()) => {
                rest.to_owned()
            }
            _ => last.to_owned(),
        };
        let message: String = message.chars().filter(|one| !one.is_control()).take(REASON_MAX).collect();
        Error::new(format!("`{}` could not run the command: {message}", self.name))
    }
}
