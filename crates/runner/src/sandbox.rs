//! One command of an image, run by an OCI runtime: apart from the host, within limits, on cores of its own, and for so
//! long. How often it is run, and what becomes of its output, is in `measure.rs`.
//!
//! Each run has a thread in a mount namespace of its own, so that nothing it mounts outlives it.

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
    captured::Captured,
    cgroup::{Cgroups, Figures},
    config::{Command, PROCESSES},
    files::{Found, Wanted},
    runtime::Runtime,
};
use crate::{
    error::{Error, Explain, Result},
    remove::remove_path,
};

/// How often it is looked whether a run is to be stopped.
const LOOK: Duration = Duration::from_millis(50);
/// How long the processes of a run may take to be gone once they are killed.
const FAREWELL: Duration = Duration::from_secs(30);
/// How long the runtime may take to prepare a run or to clean up after it.
const RUNTIME: Duration = Duration::from_secs(60);

/// What a sandbox is made with.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// What runs it.
    pub runtime: Runtime,
    /// What limits it, if something does.
    pub cgroups: Option<Cgroups>,
    /// Whether swap can be kept from it.
    pub limits_swap: bool,
    /// Whether it can have files of its own over those of its image. Otherwise nothing can be written.
    pub overlay: bool,
    /// Whether its system calls are filtered.
    pub seccomp: bool,
    /// Whether the runner is the root of its host, and not only of a user namespace.
    pub is_root: bool,
    /// Where bundles are made.
    pub folder: PathBuf,
    /// The cores on which outputs are read, away from those of the job.
    pub reading: Vec<usize>,
}

/// What a run may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The cores that it runs on.
    pub cores: Vec<usize>,
    /// How much memory it has, in bytes; there is no swap.
    pub memory: u64,
    /// How much it may write, in bytes.
    pub disk: u64,
    /// Whether it has the network of the host, or none.
    pub network: bool,
}

/// One run.
pub struct Task<'a> {
    /// The files of the image, which stay as they are.
    pub root: &'a Path,
    /// What to run.
    pub command: &'a Command,
    /// What it may take.
    pub limits: &'a Limits,
    /// When it is stopped.
    pub deadline: Instant,
    /// How many bytes of each of its two outputs are kept.
    pub output: u64,
    /// What is read once it has ended.
    pub files: &'a [Wanted],
    /// Who watches it, and may stop it earlier.
    pub watch: &'a Watch,
    /// Folders of the host that are seen inside, for nothing but a test of the runtime.
    pub(crate) binds: &'a [PathBuf],
}

/// What is seen of the runs of a job while they last, and how they are stopped.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    printed: Arc<Mutex<Printed>>,
}

/// The end of what was printed.
#[derive(Debug, Default)]
struct Printed {
    bytes: Vec<u8>,
    /// Whether nobody has seen it yet.
    is_new: bool,
}

impl Watch {
    /// Stops the run, now or once it begins.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The end of what was printed, if that is something new.
    pub fn printed(&self) -> Option<String> {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = std::mem::take(&mut printed.is_new);
        is_new.then(|| String::from_utf8_lossy(&printed.bytes).into_owned())
    }

    fn print(&self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(PRINTED_MAX)..];
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let too_many = (printed.bytes.len() + bytes.len()).saturating_sub(PRINTED_MAX);
        printed.bytes.drain(..too_many);
        printed.bytes.extend_from_slice(bytes);
        printed.is_new = true;
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code; 128 and the number of a signal if one ended it.
    Code(i32),
    /// It took too long.
    TimedOut,
    /// It was stopped.
    Stopped,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// How long it took, from the start of the command to its end.
    pub wall: Duration,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// The files that were wanted and found.
    pub files: Vec<Found>,
    /// What the kernel counted, if it does.
    pub figures: Figures,
}

impl Sandbox {
    /// Runs a command and answers once nothing is left of it.
    pub fn run(&self, task: &Task<'_>) -> Result<Outcome> {
        let bundle = tempfile::Builder::new().prefix("bundle-").tempdir_in(&self.folder);
        let bundle = bundle.explain(|| "The folder of the sandbox cannot be made")?;
        self.apart(&task.limits.cores, || self.run_here(task, &bundle))
    }

    /// Ends what an earlier runner left behind when it was killed.
    pub fn sweep(&self) -> Result<()> {
        self.apart(&[], || {
            for id in self.runtime.known() {
                self.runtime.delete(&id)?;
            }
            Ok(())
        })?;
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("bundle-") {
                // It only takes room.
                drop(remove_path(&entry.path()));
            }
        }
        Ok(())
    }

    /// Does something in a thread that has its own mounts, and on these cores.
    pub(crate) fn apart<T: Send>(
        &self,
        cores: &[usize],
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let hides = self.runtime.hides_unified;
        let inside = || {
            pin(cores)?;
            own_mounts(hides)?;
            work()
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|_| Err(Error::new("The sandbox has failed for a reason of its own.")))
    }

    fn run_here(&self, task: &Task<'_>, bundle: &TempDir) -> Result<Outcome> {
        let id = format!("tidemark-{}", Uuid::new_v4());
        let root = self.root(task, bundle.path())?;
        let config = config::write(self, task, &root, &id)?;
        let written = fs::write(bundle.path().join("config.json"), config.to_string());
        written.explain(|| "The configuration of the sandbox cannot be written")?;
        let outcome = self.execute(task, bundle.path(), &root, &id);
        let deleted = self.runtime.delete(&id);
        let outcome = outcome?;
        deleted?;
        Ok(outcome)
    }

    /// The files that the command sees: those of the image and, over them, what it writes, in memory up to the limit.
    fn root(&self, task: &Task<'_>, bundle: &Path) -> Result<PathBuf> {
        if !self.overlay {
            return Ok(task.root.to_owned());
        }
        let [scratch, root] = ["scratch", "root"].map(|name| bundle.join(name));
        overlay(task.root, &scratch, &root, task.limits.disk)?;
        Ok(root)
    }

    fn execute(&self, task: &Task<'_>, bundle: &Path, root: &Path, id: &str) -> Result<Outcome> {
        let pid_file = bundle.join("pid");
        let mut create = self.runtime.command(bundle);
        create.arg("create").arg("--bundle").arg(bundle).arg("--pid-file").arg(&pid_file).arg(id);
        create.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        thread::scope(|scope| {
            let mut child =
                create.spawn().explain(|| format!("`{}` cannot be started", self.runtime.name))?;
            let stdout = child.stdout.take().map(|pipe| scope.spawn(move || self.capture(pipe, task)));
            let stderr = child.stderr.take().map(|pipe| scope.spawn(move || self.capture(pipe, task)));
            // A command that is not in the image is found out here.
            self.runtime.finish(child, bundle, RUNTIME)?;
            let process = init(&pid_file)?;
            let began = Instant::now();
            let exit = match self.runtime.call(&["start", id], bundle, RUNTIME) {
                Ok(()) => watch(&process, task)?,
                Err(error) => {
                    kill(&process)?;
                    return Err(error);
                }
            };
            let wall = began.elapsed();
            let code = reap(&process)?;
            let exit = exit.unwrap_or(Exit::Code(code));
            let figures = self.cgroups.map(|cgroups| cgroups.figures(id)).unwrap_or_default();
            let read = |reader: Option<ScopedJoinHandle<'_, Result<Captured>>>| {
                let captured = reader.and_then(|reader| reader.join().ok());
                captured.unwrap_or_else(|| Err(Error::new("The output of the job cannot be read.")))
            };
            let (stdout, stderr) = (read(stdout)?, read(stderr)?);
            let files = files::read(root, &task.command.folder, task.files, &self.folder)?;
            Ok(Outcome { exit, wall, stdout, stderr, files, figures })
        })
    }

    /// Reads to the end, and keeps the beginning in a file: the job is not held up, and takes no memory here.
    fn capture(&self, mut pipe: impl Read, task: &Task<'_>) -> Result<Captured> {
        // Where it cannot be elsewhere, it is read on the cores of the job.
        drop(pin(&self.reading));
        let mut captured = Captured::create(&self.folder)?;
        let mut written = Ok(());
        let mut buffer = vec![0; 64 << 10];
        // A pipe that cannot be read has no more to say.
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            let left = usize::try_from(task.output - captured.size()).unwrap_or(usize::MAX);
            let kept = read.min(left);
            if written.is_ok() {
                written = captured.write(&buffer[..kept]);
            }
            captured.left_out += (read - kept) as u64;
            task.watch.print(&buffer[..read]);
        }
        written.map(|()| captured)
    }
}

/// Keeps this thread, and what it starts, on these cores; on all if there are none.
pub(crate) fn pin(cores: &[usize]) -> Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    sched_setaffinity(None, &set).explain(|| "The cores of the job cannot be used")
}

/// Gives this thread mounts of its own, without those that would confuse the runtime.
pub(crate) fn own_mounts(hides_unified: bool) -> Result<()> {
    let what = || "No mount namespace can be made; run the runner as root, or allow user namespaces";
    nix::sched::unshare(CloneFlags::CLONE_NEWNS).explain(what)?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).explain(what)?;
    if hides_unified {
        unmount(cgroup::UNIFIED, UnmountFlags::DETACH)
            .explain(|| "The second cgroup tree cannot be hidden")?;
    }
    Ok(())
}

/// Mounts `root`: what is in `below`, and over it what is written, which goes to memory at `scratch`.
pub(crate) fn overlay(below: &Path, scratch: &Path, root: &Path, size: u64) -> Result<()> {
    let made = [scratch, root].iter().try_for_each(fs::create_dir);
    made.explain(|| "The folder of the sandbox cannot be made")?;
    let options = std::ffi::CString::new(format!("size={size},mode=0755")).unwrap_or_default();
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount("tmpfs", scratch, "tmpfs", flags, Some(options.as_c_str()))
        .explain(|| "The memory for what a job writes cannot be mounted")?;
    let [upper, work] = ["upper", "work"].map(|name| scratch.join(name));
    let made = [&upper, &work].iter().try_for_each(fs::create_dir);
    made.explain(|| "The folder of the sandbox cannot be made")?;
    // What separates options and folders has to be marked in a path.
    let escape = |path: &Path| {
        path.display().to_string().replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
    };
    let options = format!("lowerdir={},upperdir={},workdir={}", escape(below), escape(&upper), escape(&work));
    let options = std::ffi::CString::new(options).unwrap_or_default();
    mount("overlay", root, "overlay", flags, Some(options.as_c_str()))
        .explain(|| "The files of the job cannot be laid over those of its image")
}

/// The first process of a sandbox.
struct Init {
    id: Pid,
    handle: OwnedFd,
}

fn init(pid_file: &Path) -> Result<Init> {
    let text = fs::read_to_string(pid_file).explain(|| "The process of the sandbox cannot be found")?;
    let id = text.trim().parse().ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| Error::new("The process of the sandbox cannot be found."))?;
    let handle =
        pidfd_open(id, PidfdFlags::empty()).explain(|| "The process of the sandbox cannot be found")?;
    Ok(Init { id, handle })
}

/// Waits until the command has ended, and ends it when its time is over; then answers why.
fn watch(process: &Init, task: &Task<'_>) -> Result<Option<Exit>> {
    loop {
        let left = task.deadline.saturating_duration_since(Instant::now());
        if has_ended(process, left.min(LOOK))? {
            return Ok(None);
        }
        let reason = if task.watch.is_stopped() {
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

/// Whether a process ends within some time.
fn has_ended(process: &Init, time: Duration) -> Result<bool> {
    ends_within(&process.handle, time)
}

pub(crate) fn ends_within(handle: impl AsFd, time: Duration) -> Result<bool> {
    let time = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    let mut waits = [PollFd::new(&handle, PollFlags::IN)];
    match poll(&mut waits, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error).explain(|| "The process of the sandbox cannot be waited for"),
    }
}

/// Ends a sandbox: with its first process all others go.
fn kill(process: &Init) -> Result<()> {
    // It may have ended in this moment.
    let _ = pidfd_send_signal(&process.handle, Signal::KILL);
    let asked = Instant::now();
    while !has_ended(process, LOOK)? {
        if asked.elapsed() > FAREWELL {
            return Err(Error::new("The processes of the job do not end, even though they were killed."));
        }
    }
    Ok(())
}

/// The code of a command that has ended. It is our child, as the runtime that made it is gone.
fn reap(process: &Init) -> Result<i32> {
    let ended = waitpid(Some(process.id), WaitOptions::empty());
    let (_, status) = ended
        .explain(|| "The end of the job cannot be told")?
        .ok_or_else(|| Error::new("The end of the job cannot be told."))?;
    Ok(status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(1))
}

/// Opens a folder as the root that paths are resolved in.
fn open_root(root: &Path) -> Result<OwnedFd> {
    openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .explain(|| "The files of the job cannot be opened")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_is_printed_is_seen_once() {
        let watch = Watch::default();
        assert_eq!(watch.printed(), None);
        watch.print(b"one ");
        watch.print(b"two");
        assert_eq!(watch.printed().as_deref(), Some("one two"));
        assert_eq!(watch.printed(), None);
        watch.print(&vec![b'x'; PRINTED_MAX - 1]);
        assert_eq!(watch.printed().unwrap(), format!("o{}", "x".repeat(PRINTED_MAX - 1)));
        watch.print(&vec![b'y'; 3 * PRINTED_MAX]);
        assert_eq!(watch.printed().unwrap(), "y".repeat(PRINTED_MAX));
    }
}
