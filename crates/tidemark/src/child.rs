//! A command that this program starts and that does not outlive it: whoever stops the one stops the other, with all that
//! it has started. What it prints, and what its end means, is up to who started it.

use std::{
    io,
    process::{self, ChildStderr, ChildStdout, Command, ExitStatus},
    sync::{Arc, OnceLock},
};

use crate::interrupt::{self, Guard, on_interrupt};

/// A command that runs.
pub(crate) struct Child {
    process: process::Child,
    guard: Option<Guard>,
}

impl Child {
    /// Starts a command.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let has_group = set_apart(command);
        let started = Arc::new(OnceLock::new());
        let id = Arc::clone(&started);
        // Where signals cannot be listened to, it can still be run.
        let guard = on_interrupt(move || {
            if let Some(id) = id.get() {
                stop(*id, has_group);
            }
        });
        let process = command.spawn()?;
        let _ = started.set(process.id());
        Ok(Self { process, guard: guard.ok() })
    }

    /// What it prints, if that is piped and not taken yet.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// What it complains of, if that is piped and not taken yet.
    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Waits for its end. If that is the end of this program as well, nothing follows.
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.process.wait();
        drop(self.guard);
        interrupt::settle(status.as_ref().is_ok_and(ExitStatus::success));
        status
    }
}

/// Gives the command a group of its own, so that all that it starts can be stopped with it; answers whether it has one.
/// On a terminal it stays where the keyboard reaches it.
#[cfg(unix)]
fn set_apart(command: &mut Command) -> bool {
    use std::{io::IsTerminal, os::unix::process::CommandExt};
    let apart = !io::stdin().is_terminal();
    if apart {
        command.process_group(0);
    }
    apart
}

#[cfg(not(unix))]
fn set_apart(_: &mut Command) -> bool {
    false
}

/// Stops a command: asks it to end, and ends it if it does not.
#[cfg(unix)]
fn stop(id: u32, has_group: bool) {
    use rustix::process::{
        Pid, Signal, kill_current_process_group, kill_process, kill_process_group, test_kill_process,
        test_kill_process_group,
    };
    use std::{
        thread,
        time::{Duration, Instant},
    };

    /// How long it may take to end when it is asked to, by us or by the keyboard.
    const GRACE: Duration = Duration::from_secs(3);
    let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    let goes = || {
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            let there = if has_group { test_kill_process_group(id) } else { test_kill_process(id) };
            if there.is_err() {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    };
    // Whoever is gone cannot be told so, which is well.
    if has_group {
        let _ = kill_process_group(id, Signal::TERM);
        if !goes() {
            let _ = kill_process_group(id, Signal::KILL);
        }
    // The keyboard has reached it, too. Otherwise it is told as the keyboard would: with all of our group.
    } else if !goes() {
        let _ = kill_current_process_group(Signal::TERM);
        if !goes() {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

#[cfg(not(unix))]
fn stop(_: u32, _: bool) {}
