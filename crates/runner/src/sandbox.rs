//! Runs one command of an image with an OCI runtime: isolated from the host, with limits, on its own cores, until a
//! deadline. `measure.rs` decides how often the command runs and processes its output.
//!
//! Each run has a thread in its own mount namespace, so that its mounts end with it.

mod captured;
pub(crate) mod cgroup;
mod config;
mod files;
pub(crate) mod runtime;
mod user;

use std::{
    fs,
    io::Read,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use nix::sched::CloneFlags;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, Mode, OFlags, openat},
    mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount},
    process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid},
    thread::{CpuSet, sched_setaffinity},
};
use tempfile::TempDir;
use tidemark_api::channel::PRINTED_MAX;
use uuid::Uuid;

pub use self::{
    captured::CapturedOutput,
    cgroup::{Cgroups, ResourceUsage},
    config::{Command, PROCESSES_MAX},
    files::{FileRequest, FoundFile},
    runtime::Runtime,
};
use crate::{
    error::{Error, Explain, Result},
    remove::remove_path,
};

/// Interval at which a run is checked for a stop request.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum time for the processes of a run to exit after they were killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for the runtime to prepare a run or to clean up after it.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(60);

/// Configuration of a sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// OCI runtime.
    pub runtime: Runtime,
    /// Version of control groups that sets the limits, if they are available.
    pub cgroups: Option<Cgroups>,
    /// Whether control groups can disable swap.
    pub limits_swap: bool,
    /// Whether an overlay file system makes the image writable. Otherwise jobs cannot write.
    pub overlay: bool,
    /// Whether seccomp filters system calls.
    pub seccomp: bool,
    /// Whether the runner is root of its host, and not only of a user namespace.
    pub is_root: bool,
    /// Folder of bundles.
    pub folder: PathBuf,
    /// Cores that read outputs, separate from the cores of the job.
    pub reader_cores: Vec<usize>,
}

/// Limits of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Cores that the run may use.
    pub cores: Vec<usize>,
    /// Memory in bytes; without swap.
    pub memory: u64,
    /// Bytes that the run may write.
    pub disk: u64,
    /// Whether the run has the network of the host, or none.
    pub network: bool,
}

/// One run.
pub struct Task<'a> {
    /// Folder of the image's files, which stay unchanged.
    pub root: &'a Path,
    /// Command to run.
    pub command: &'a Command,
    /// Limits of the run.
    pub limits: &'a Limits,
    /// Time at which the run is stopped.
    pub deadline: Instant,
    /// Maximum number of bytes that are kept of each of the two output streams.
    pub output: u64,
    /// Files to read after the run.
    pub files: &'a [FileRequest],
    /// Receives the output, and can stop the run.
    pub control: &'a RunControl,
    /// Folders of the host to bind-mount; only for tests of the runtime.
    pub(crate) binds: &'a [PathBuf],
}

/// Handle of a running job: returns its newest output, and stops it.
#[derive(Clone, Debug, Default)]
pub struct RunControl {
    stop: Arc<AtomicBool>,
    tail: Arc<Mutex<OutputTail>>,
}

/// The end of the output.
#[derive(Debug, Default)]
struct OutputTail {
    bytes: Vec<u8>,
    /// Whether [`RunControl::take_output_tail`] has not returned it yet.
    is_new: bool,
}

impl RunControl {
    /// Stops the run, now or when it starts.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Whether a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Returns the end of the output if there is new output.
    pub fn take_output_tail(&self) -> Option<String> {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = std::mem::take(&mut tail.is_new);
        is_new.then(|| String::from_utf8_lossy(&tail.bytes).into_owned())
    }

    fn append_output(&self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(PRINTED_MAX)..];
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (tail.bytes.len() + bytes.len()).saturating_sub(PRINTED_MAX);
        tail.bytes.drain(..excess);
        tail.bytes.extend_from_slice(bytes);
        tail.is_new = true;
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Exited with this status; 128 plus the number of the signal if a signal ended it.
    Code(i32),
    /// Exceeded its deadline.
    TimedOut,
    /// Was stopped.
    Stopped,
}

/// Outcome of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// How the run ended.
    pub exit: Exit,
    /// Duration from the start of the command to its end.
    pub wall: Duration,
    /// Standard output.
    pub stdout: CapturedOutput,
    /// Standard error.
    pub stderr: CapturedOutput,
    /// The requested files that exist.
    pub files: Vec<FoundFile>,
    /// Resource usage, if the kernel counts it.
    pub usage: ResourceUsage,
}

impl Sandbox {
    /// Runs a command, and returns when all its processes and mounts are gone.
    pub fn run(&self, task: &Task<'_>) -> Result<RunOutcome> {
        let bundle = tempfile::Builder::new().prefix("bundle-").tempdir_in(&self.folder);
        let bundle = bundle.explain(|| "The folder of the sandbox cannot be created")?;
        self.run_in_mount_namespace(&task.limits.cores, || self.run_in_bundle(task, &bundle))
    }

    /// Deletes the containers and bundles that a killed runner left.
    pub fn remove_leftovers(&self) -> Result<()> {
        self.run_in_mount_namespace(&[], || {
            for id in self.runtime.containers() {
                self.runtime.delete(&id)?;
            }
            Ok(())
        })?;
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("bundle-") {
                // A leftover bundle only takes space.
                drop(remove_path(&entry.path()));
            }
        }
        Ok(())
    }

    /// Runs `work` in a thread with its own mount namespace, on these cores.
    pub(crate) fn run_in_mount_namespace<T: Send>(
        &self,
        cores: &[usize],
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let hides = self.runtime.hides_unified;
        let inside = || {
            pin(cores)?;
            unshare_mounts(hides)?;
            work()
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|_| Err(Error::new("The sandbox failed with an internal error.")))
    }

    fn run_in_bundle(&self, task: &Task<'_>, bundle: &TempDir) -> Result<RunOutcome> {
        let id = format!("tidemark-{}", Uuid::new_v4());
        let root = self.mount_root(task, bundle.path())?;
        let config = config::bundle_config(self, task, &root, &id)?;
        let written = fs::write(bundle.path().join("config.json"), config.to_string());
        written.explain(|| "The configuration of the sandbox cannot be written")?;
        let outcome = self.execute(task, bundle.path(), &root, &id);
        let deleted = self.runtime.delete(&id);
        let outcome = outcome?;
        deleted?;
        Ok(outcome)
    }

    /// Mounts the root of the command: the files of the image with a writable layer in memory, up to the disk limit.
    fn mount_root(&self, task: &Task<'_>, bundle: &Path) -> Result<PathBuf> {
        if !self.overlay {
            return Ok(task.root.to_owned());
        }
        let [scratch, root] = ["scratch", "root"].map(|name| bundle.join(name));
        mount_overlay(task.root, &scratch, &root, task.limits.disk)?;
        Ok(root)
    }

    fn execute(&self, task: &Task<'_>, bundle: &Path, root: &Path, id: &str) -> Result<RunOutcome> {
        let pid_file = bundle.join("pid");
        let mut create = self.runtime.command(bundle);
        create.arg("create").arg("--bundle").arg(bundle).arg("--pid-file").arg(&pid_file).arg(id);
        create.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        thread::scope(|scope| {
            let mut child =
                create.spawn().explain(|| format!("`{}` cannot be started", self.runtime.name))?;
            let stdout = child.stdout.take().map(|pipe| scope.spawn(move || self.capture(pipe, task)));
            let stderr = child.stderr.take().map(|pipe| scope.spawn(move || self.capture(pipe, task)));
            // Fails here if the command is not in the image.
            self.runtime.wait_for_exit(child, bundle, RUNTIME_TIMEOUT)?;
            let process = open_init(&pid_file)?;
            let began = Instant::now();
            let exit = match self.runtime.call(&["start", id], bundle, RUNTIME_TIMEOUT) {
                Ok(()) => wait_or_kill(&process, task)?,
                Err(error) => {
                    kill(&process)?;
                    return Err(error);
                }
            };
            let wall = began.elapsed();
            let code = reap(&process)?;
            let exit = exit.unwrap_or(Exit::Code(code));
            let usage = self.cgroups.map(|cgroups| cgroups.resource_usage(id)).unwrap_or_default();
            let read = |reader: Option<ScopedJoinHandle<'_, Result<CapturedOutput>>>| {
                let captured = reader.and_then(|reader| reader.join().ok());
                captured.unwrap_or_else(|| Err(Error::new("The output of the job cannot be read.")))
            };
            let (stdout, stderr) = (read(stdout)?, read(stderr)?);
            let files = files::read(root, &task.command.folder, task.files, &self.folder)?;
            Ok(RunOutcome { exit, wall, stdout, stderr, files, usage })
        })
    }

    /// Reads an output stream to its end and keeps its start in a file, so that the job is never blocked and its
    /// output uses no memory.
    fn capture(&self, mut pipe: impl Read, task: &Task<'_>) -> Result<CapturedOutput> {
        // If pinning fails, read on the cores of the job.
        drop(pin(&self.reader_cores));
        let mut captured = CapturedOutput::create(&self.folder)?;
        let mut written = Ok(());
        let mut buffer = vec![0; 64 << 10];
        // A read error counts as the end of the output.
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            let left = usize::try_from(task.output - captured.size()).unwrap_or(usize::MAX);
            let kept = read.min(left);
            if written.is_ok() {
                written = captured.write(&buffer[..kept]);
            }
            captured.left_out += (read - kept) as u64;
            task.control.append_output(&buffer[..read]);
        }
        written.map(|()| captured)
    }
}

/// Pins this thread, and the processes and threads that it starts, to these cores. Does nothing if the list is empty.
pub(crate) fn pin(cores: &[usize]) -> Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    sched_setaffinity(None, &set).explain(|| "The thread cannot be pinned to its cores")
}

/// Moves this thread to its own mount namespace, without the mounts that the runtime does not support.
pub(crate) fn unshare_mounts(hides_unified: bool) -> Result<()> {
    let what = || "A mount namespace cannot be created; run the runner as root, or allow user namespaces";
    nix::sched::unshare(CloneFlags::CLONE_NEWNS).explain(what)?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).explain(what)?;
    if hides_unified {
        unmount(cgroup::UNIFIED_MOUNT_POINT, UnmountFlags::DETACH)
            .explain(|| "The second cgroup tree cannot be hidden")?;
    }
    Ok(())
}

/// Mounts an overlay at `root`: `below` is the lower layer, and writes go to a tmpfs at `scratch`.
pub(crate) fn mount_overlay(below: &Path, scratch: &Path, root: &Path, size: u64) -> Result<()> {
    let made = [scratch, root].iter().try_for_each(fs::create_dir);
    made.explain(|| "The folder of the sandbox cannot be created")?;
    let options = std::ffi::CString::new(format!("size={size},mode=0755")).unwrap_or_default();
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount("tmpfs", scratch, "tmpfs", flags, Some(options.as_c_str()))
        .explain(|| "The tmpfs for the files of the job cannot be mounted")?;
    let [upper, work] = ["upper", "work"].map(|name| scratch.join(name));
    let made = [&upper, &work].iter().try_for_each(fs::create_dir);
    made.explain(|| "The folder of the sandbox cannot be created")?;
    // Escape the characters that separate options and folders.
    let escape = |path: &Path| {
        path.display().to_string().replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
    };
    let options = format!("lowerdir={},upperdir={},workdir={}", escape(below), escape(&upper), escape(&work));
    let options = std::ffi::CString::new(options).unwrap_or_default();
    mount("overlay", root, "overlay", flags, Some(options.as_c_str()))
        .explain(|| "The overlay over the image cannot be mounted")
}

/// The first process of a sandbox.
struct Init {
    id: Pid,
    handle: OwnedFd,
}

fn open_init(pid_file: &Path) -> Result<Init> {
    let text = fs::read_to_string(pid_file).explain(|| "The process of the sandbox cannot be found")?;
    let id = text.trim().parse().ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| Error::new("The process of the sandbox cannot be found."))?;
    let handle =
        pidfd_open(id, PidfdFlags::empty()).explain(|| "The process of the sandbox cannot be found")?;
    Ok(Init { id, handle })
}

/// Waits until the command exits, or kills it at its deadline or on a stop request. Returns the reason for the kill.
fn wait_or_kill(process: &Init, task: &Task<'_>) -> Result<Option<Exit>> {
    loop {
        let left = task.deadline.saturating_duration_since(Instant::now());
        if has_exited(process, left.min(STOP_CHECK_INTERVAL))? {
            return Ok(None);
        }
        let reason = if task.control.is_stopped() {
            Exit::Stopped
        } else if left.is_zero() {
            Exit::TimedOut
        } else {
            continue;
        };
        kill(process)?;
        return Ok(Some(reason));
    }
}

/// Whether a process exits within `time`.
fn has_exited(process: &Init, time: Duration) -> Result<bool> {
    exits_within(&process.handle, time)
}

pub(crate) fn exits_within(handle: impl AsFd, time: Duration) -> Result<bool> {
    let time = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    let mut waits = [PollFd::new(&handle, PollFlags::IN)];
    match poll(&mut waits, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error).explain(|| "The process of the sandbox cannot be waited for"),
    }
}

/// Kills a sandbox: when its first process ends, the kernel kills all others.
fn kill(process: &Init) -> Result<()> {
    // It may have exited already.
    let _ = pidfd_send_signal(&process.handle, Signal::KILL);
    let killed = Instant::now();
    while !has_exited(process, STOP_CHECK_INTERVAL)? {
        if killed.elapsed() > KILL_TIMEOUT {
            return Err(Error::new(format!(
                "The processes of the job did not exit within {} s after they were killed.",
                KILL_TIMEOUT.as_secs()
            )));
        }
    }
    Ok(())
}

/// Returns the exit status of a command. The command is a child of this process because the runtime that created it
/// has exited.
fn reap(process: &Init) -> Result<i32> {
    let ended = waitpid(Some(process.id), WaitOptions::empty());
    let (_, status) = ended
        .explain(|| "The exit status of the job cannot be read")?
        .ok_or_else(|| Error::new("The exit status of the job cannot be read."))?;
    Ok(status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(1))
}

/// Opens a folder as the root for resolving paths.
fn open_root(root: &Path) -> Result<OwnedFd> {
    openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .explain(|| "The files of the job cannot be opened")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_the_output_is_returned_once() {
        let control = RunControl::default();
        assert_eq!(control.take_output_tail(), None);
        control.append_output(b"one ");
        control.append_output(b"two");
        assert_eq!(control.take_output_tail().as_deref(), Some("one two"));
        assert_eq!(control.take_output_tail(), None);
        control.append_output(&vec![b'x'; PRINTED_MAX - 1]);
        assert_eq!(control.take_output_tail().unwrap(), format!("o{}", "x".repeat(PRINTED_MAX - 1)));
        control.append_output(&vec![b'y'; 3 * PRINTED_MAX]);
        assert_eq!(control.take_output_tail().unwrap(), "y".repeat(PRINTED_MAX));
    }
}
