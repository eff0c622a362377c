//! Progress on standard error. On a terminal, it is one line below other output. In pipes and logs, only operations with steps
//! print a line from time to time, so that the log shows activity and stays short.
//!
//! `indicatif` is not used: it redraws its line after every write, which erases output of the benchmark command that does not end
//! with a newline yet.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Interval at which the line is drawn.
const PACE: Duration = Duration::from_millis(500);
/// Interval at which a line is printed without a terminal.
const PAUSE: Duration = Duration::from_secs(10);
/// Moves the cursor to the start of the line and clears the line.
const CLEAR: &[u8] = b"\r\x1b[K";

/// Progress line; dropping it removes the line.
pub(crate) struct Progress {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    line: Mutex<Line>,
    wake: Condvar,
}

struct Line {
    label: String,
    started: Instant,
    /// Whether the line ends with the elapsed time.
    is_timed: bool,
    is_drawn: bool,
    /// Whether the last output did not end with a newline.
    is_inside: bool,
    has_ended: bool,
}

/// Whether standard error is a terminal.
pub(crate) fn is_possible() -> bool {
    io::stderr().is_terminal()
}

/// Removes the current progress line, if there is one.
pub(crate) fn clear() {
    if is_possible() {
        let _ = io::stderr().write_all(CLEAR);
    }
}

impl Progress {
    /// Starts a line with this label and the elapsed time; shows nothing unless `is_shown`.
    pub(crate) fn start(label: impl Into<String>, is_shown: bool) -> Self {
        Self::line(label.into(), true, is_shown)
    }

    fn line(label: String, is_timed: bool, is_shown: bool) -> Self {
        if !is_shown {
            return Self { shared: None };
        }
        let line = Line {
            label,
            started: Instant::now(),
            is_timed,
            is_drawn: false,
            is_inside: false,
            has_ended: false,
        };
        let shared = Arc::new(Shared { line: Mutex::new(line), wake: Condvar::new() });
        let ticker = Arc::clone(&shared);
        thread::spawn(move || ticker.tick());
        Self { shared: Some(shared) }
    }

    /// Changes the label of the line.
    pub(crate) fn set(&self, label: impl Into<String>) {
        if let Some(shared) = &self.shared {
            shared.line().label = label.into();
        }
    }

    /// Writes to standard error, above the line. Ignores write errors.
    pub(crate) fn write(&self, bytes: &[u8]) {
        match &self.shared {
            Some(shared) => shared.line().write(bytes),
            None => drop(io::stderr().write_all(bytes)),
        }
    }

    /// Removes the line; later output is written unchanged.
    pub(crate) fn end(&self) {
        if let Some(shared) = &self.shared {
            let mut line = shared.line();
            line.has_ended = true;
            line.clear();
            shared.wake.notify_all();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        let mut line = self.line();
        loop {
            line = self.wake.wait_timeout(line, PACE).unwrap_or_else(PoisonError::into_inner).0;
            if line.has_ended {
                return;
            }
            line.draw();
        }
    }
}

impl Line {
    fn draw(&mut self) {
        // Does not draw over an incomplete line of other output.
        if self.is_inside {
            return;
        }
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(CLEAR);
        let _ = match self.is_timed {
            true => write!(stderr, "{}, {}", self.label, duration(self.started.elapsed())),
            false => stderr.write_all(self.label.as_bytes()),
        };
        self.is_drawn = true;
    }

    fn clear(&mut self) {
        if self.is_drawn {
            let _ = io::stderr().write_all(CLEAR);
            self.is_drawn = false;
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.clear();
        let _ = io::stderr().write_all(bytes);
        self.is_inside = bytes.last().is_some_and(|byte| *byte != b'\n');
    }
}

/// An operation with steps.
pub(crate) struct Steps {
    what: &'static str,
    total: Option<usize>,
    done: usize,
    started: Instant,
    /// Time at which a line was last printed without a terminal.
    written: Instant,
    quiet: bool,
    progress: Progress,
}

impl Steps {
    /// Starts an operation; `total` is `None` if unknown.
    pub(crate) fn start(what: &'static str, total: Option<usize>, quiet: bool) -> Self {
        let (now, is_drawn) = (Instant::now(), !quiet && is_possible());
        let progress = Progress::line(what.to_owned(), false, is_drawn);
        Self { what, total, done: 0, started: now, written: now, quiet, progress }
    }

    /// Counts one completed step.
    pub(crate) fn step(&mut self) {
        self.at(self.done + 1);
    }

    /// Sets the number of completed steps.
    pub(crate) fn at(&mut self, done: usize) {
        self.done = done;
        let line = match self.total {
            Some(total) => {
                let left = time_left(self.started.elapsed(), done, total);
                format!("{}: {done} of {total}{left}", self.what)
            }
            None => format!("{}: {done}", self.what),
        };
        if !self.quiet && !is_possible() && self.written.elapsed() >= PAUSE {
            self.written = Instant::now();
            message!("{line}");
        }
        self.progress.set(line);
    }
}

/// Returns the estimated remaining time as the end of a line; empty if it is unknown or close to zero.
pub(crate) fn time_left(elapsed: Duration, done: usize, total: usize) -> String {
    if done == 0 || done >= total {
        return String::new();
    }
    let left = elapsed.mul_f64((total - done) as f64 / done as f64);
    if left < Duration::from_secs(1) { String::new() } else { format!(", {} left", duration(left)) }
}

/// Returns a duration in its two largest units.
fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_in_two_units() {
        for (seconds, said) in [(0, "0 s"), (61, "1 min 1 s"), (3_599, "59 min 59 s"), (90_061, "25 h 1 min")]
        {
            assert_eq!(duration(Duration::from_secs(seconds)), said);
        }
    }

    #[test]
    fn what_is_left_is_told_when_it_can_be() {
        let left = |seconds, done, total| time_left(Duration::from_secs(seconds), done, total);
        assert_eq!(left(0, 0, 4), "");
        assert_eq!(left(5, 1, 4), ", 15 s left");
        assert_eq!(left(100, 1, 2), ", 1 min 40 s left");
        assert_eq!(left(7_300, 1, 2), ", 2 h 1 min left");
        assert_eq!(left(5, 4, 4), "");
    }
}
