//! What is still done when somebody stops the program, by Ctrl-C or by a signal: commands are stopped with it, and what
//! was begun elsewhere is brought to its end. How a command is stopped is in `child.rs`; how a server is, in neither.

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

/// Something to do.
type Last = Box<dyn FnOnce() + Send>;

/// What is to be done, the newest at the end, each with its number.
static LAST: Mutex<(u64, Vec<(u64, Last)>)> = Mutex::new((0, Vec::new()));
/// Whether the program is about to stop.
static STOPS: AtomicBool = AtomicBool::new(false);
/// How long it takes at most until a signal is noticed.
const NOTICE: Duration = Duration::from_millis(200);
/// Whether signals are listened to, or why not.
static LISTENS: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// Something that is done if the program is stopped while this is there.
pub(crate) struct Guard(u64);

/// Does something when the program is asked to stop, before it does: the newest first. Once it was asked to, nothing new
/// is begun.
pub(crate) fn on_interrupt(last: impl FnOnce() + Send + 'static) -> Result<Guard> {
    LISTENS
        .get_or_init(listen)
        .clone()
        .map_err(|error| Failure::new(format!("Signals cannot be listened to ({error}).")))?;
    let mut all = lock();
    if STOPS.load(Ordering::Acquire) {
        drop(all);
        wait_for_end();
    }
    all.0 += 1;
    let number = all.0;
    all.1.push((number, Box::new(last)));
    Ok(Guard(number))
}

impl Drop for Guard {
    fn drop(&mut self) {
        lock().1.retain(|(number, _)| *number != self.0);
    }
}

/// Waits for the end if the program is about to stop. What ended a command that came to nothing may be for us, too, and
/// is noticed in a moment.
pub(crate) fn settle(has_worked: bool) {
    if !has_worked {
        thread::sleep(NOTICE);
    }
    if STOPS.load(Ordering::Acquire) {
        wait_for_end();
    }
}

/// Waits for another thread to end the program.
pub(crate) fn wait_for_end() -> ! {
    loop {
        thread::park();
    }
}

fn lock() -> MutexGuard<'static, (u64, Vec<(u64, Last)>)> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a signal in a thread of its own, and answers once it would be noticed.
fn listen() -> std::result::Result<(), String> {
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
        STOPS.store(true, Ordering::Release);
        loop {
            // It is not kept locked meanwhile: others may be about to let go of theirs.
            let Some((_, last)) = lock().1.pop() else { break };
            last();
        }
        progress::clear();
        eprintln!("error: Interrupted.");
        process::exit(code);
    });
    ready.recv().map_err(|error| error.to_string())?
}

/// What asks a program to stop.
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

    /// Waits for one; answers what a shell shows for it.
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
