//! Handlers for Ctrl-C and termination signals: stop child processes and finish pending work, then exit. `child.rs` stops
//! processes. `tidemark serve` handles signals itself.

use std::{
    process,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::{
    failure::{Failure, Result},
    progress,
};

/// A handler.
type Handler = Box<dyn FnOnce() + Send>;

/// Registered handlers with their IDs, the newest last.
static HANDLERS: Mutex<(u64, Vec<(u64, Handler)>)> = Mutex::new((0, Vec::new()));
/// Whether the program is stopping.
static IS_STOPPING: AtomicBool = AtomicBool::new(false);
/// Maximum delay until a signal is noticed.
const SIGNAL_DELAY: Duration = Duration::from_millis(200);
/// Whether the signal handler is installed, or the error.
static INSTALLED: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// Registration of a handler; dropping it removes the handler.
pub(crate) struct Guard(u64);

/// Registers a handler that runs before the program stops because of a signal; the newest handler runs first. Does not return if
/// the program is stopping.
pub(crate) fn on_interrupt(handler: impl FnOnce() + Send + 'static) -> Result<Guard> {
    INSTALLED
        .get_or_init(install)
        .clone()
        .map_err(|error| Failure::new(format!("The signal handler cannot be installed ({error}).")))?;
    let mut all = lock();
    if IS_STOPPING.load(Ordering::Acquire) {
        drop(all);
        wait_for_exit();
    }
    all.0 += 1;
    let number = all.0;
    all.1.push((number, Box::new(handler)));
    Ok(Guard(number))
}

impl Drop for Guard {
    fn drop(&mut self) {
        lock().1.retain(|(number, _)| *number != self.0);
    }
}

/// Waits for the end if the program is stopping. If a command failed, waits a moment, because the signal that ended it may have
/// been sent to this program, too.
pub(crate) fn wait_if_stopping(has_succeeded: bool) {
    if !has_succeeded {
        thread::sleep(SIGNAL_DELAY);
    }
    if IS_STOPPING.load(Ordering::Acquire) {
        wait_for_exit();
    }
}

/// Waits until another thread ends the program.
pub(crate) fn wait_for_exit() -> ! {
    loop {
        thread::park();
    }
}

fn lock() -> MutexGuard<'static, (u64, Vec<(u64, Handler)>)> {
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a signal in a separate thread; returns when the handler is installed.
fn install() -> std::result::Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let (sender, ready) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let code = runtime.block_on(async {
            let signals = Signals::listen();
            let _ = sender.send(signals.as_ref().map(drop).map_err(ToString::to_string));
            match signals {
                Ok(signals) => signals.next().await,
                Err(_) => std::future::pending().await,
            }
        });
        IS_STOPPING.store(true, Ordering::Release);
        loop {
            // Does not hold the lock while the handler runs: other threads may drop their guards.
            let Some((_, handler)) = lock().1.pop() else { break };
            handler();
        }
        progress::clear();
        message!("error: Interrupted.");
        process::exit(code);
    });
    ready.recv().map_err(|error| error.to_string())?
}

/// Signals that stop a program.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal and returns the exit code that shells use for it.
    async fn next(mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 130,
            Err(_) => std::future::pending().await,
        }
    }
}
