//! Child processes that stop with this program, together with the processes that they started. The caller handles the output and
//! the exit status.

use std::{
    io,
    process::{self, ChildStderr, ChildStdout, Command, ExitStatus},
    sync::{
        Arc, OnceLock,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Instant,
};

use crate::interrupt::{self, Guard, on_interrupt};

/// A running child process.
pub(crate) struct Child {
    process: process::Child,
    guard: Option<Guard>,
    has_group: bool,
}

/// How a child process ended.
pub(crate) struct EndedChild {
    pub(crate) status: ExitStatus,
    /// Whether it was stopped at the deadline.
    pub(crate) is_late: bool,
}

impl Child {
    /// Starts a command.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let has_group = new_process_group(command);
        let started = Arc::new(OnceLock::new());
        let id = Arc::clone(&started);
        // Without a signal handler, the command can still run.
        let guard = on_interrupt(move || {
            if let Some(id) = id.get() {
                stop(*id, has_group, !has_group);
            }
        });
        let process = command.spawn()?;
        let _ = started.set(process.id());
        Ok(Self { process, guard: guard.ok(), has_group })
    }

    /// Takes the standard output of the command, if it is piped.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// Takes the standard error of the command, if it is piped.
    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Waits until the command ends, and stops it at the deadline. Does not return if this program is being interrupted.
    pub(crate) fn wait(mut self, deadline: Option<Instant>) -> io::Result<EndedChild> {
        let (ended, has_ended) = mpsc::sync_channel::<()>(0);
        let (id, has_group) = (self.process.id(), self.has_group);
        let watchdog = deadline.map(|deadline| {
            thread::spawn(move || {
                let left = deadline.saturating_duration_since(Instant::now());
                let is_late = has_ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
                if is_late {
                    stop(id, has_group, false);
                }
                is_late
            })
        });
        let status = self.process.wait();
        drop(ended);
        let is_late = watchdog.is_some_and(|watchdog| watchdog.join().unwrap_or_default());
        drop(self.guard);
        interrupt::wait_if_stopping(status.as_ref().is_ok_and(ExitStatus::success) || is_late);
        Ok(EndedChild { status: status?, is_late })
    }
}

/// Puts the command into a new process group, so that its child processes can be stopped with it. Returns whether it did. On a
/// terminal, the command stays in the foreground group, so that it receives Ctrl-C.
#[cfg(unix)]
fn new_process_group(command: &mut Command) -> bool {
    use std::{io::IsTerminal, os::unix::process::CommandExt};
    let is_separate = !io::stdin().is_terminal();
    if is_separate {
        command.process_group(0);
    }
    is_separate
}

#[cfg(not(unix))]
fn new_process_group(_: &mut Command) -> bool {
    false
}

/// Stops a command: requests it to terminate, and kills it after a grace period. `has_ctrl_c` is true if the terminal has sent Ctrl-C
/// to the command, too. Without a group of its own and without Ctrl-C, processes that the command started may continue.
#[cfg(unix)]
fn stop(id: u32, has_group: bool, has_ctrl_c: bool) {
    use rustix::process::{
        Pid, Signal, kill_current_process_group, kill_process, kill_process_group, test_kill_process,
        test_kill_process_group,
    };
    use std::time::Duration;

    /// Time to terminate after SIGTERM or Ctrl-C.
    const GRACE: Duration = Duration::from_secs(3);
    let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    let has_ended = || {
        let started = Instant::now();
        while started.elapsed() < GRACE {
            let alive = if has_group { test_kill_process_group(id) } else { test_kill_process(id) };
            if alive.is_err() {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    };
    // A signal to a process that has ended fails, which is harmless.
    if has_group {
        let _ = kill_process_group(id, Signal::TERM);
        if !has_ended() {
            let _ = kill_process_group(id, Signal::KILL);
        }
    } else if !has_ctrl_c {
        let _ = kill_process(id, Signal::TERM);
        if !has_ended() {
            let _ = kill_process(id, Signal::KILL);
        }
    // The command has received Ctrl-C, too. Otherwise send the signal to the whole process group, as the terminal does.
    } else if !has_ended() {
        let _ = kill_current_process_group(Signal::TERM);
        if !has_ended() {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

#[cfg(not(unix))]
fn stop(_: u32, _: bool, _: bool) {}
