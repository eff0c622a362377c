//! What is shown on a terminal while it is waited for something: a line with the time that has passed, below what comes
//! out meanwhile. Pipes and logs see none of it.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How often the line is drawn.
const PACE: Duration = Duration::from_millis(500);
/// Goes to the start of the line and clears it.
const CLEAR: &[u8] = b"\r\x1b[K";

/// The line, until it is dropped.
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
    is_drawn: bool,
    /// Whether what came out last did not end its line.
    is_inside: bool,
    has_ended: bool,
}

/// Whether there is a terminal that a line can be drawn on.
pub(crate) fn is_possible() -> bool {
    io::stderr().is_terminal()
}

impl Progress {
    /// Starts a line that begins with this, or none.
    pub(crate) fn start(label: impl Into<String>, is_shown: bool) -> Self {
        if !is_shown {
            return Self { shared: None };
        }
        let line = Line {
            label: label.into(),
            started: Instant::now(),
            is_drawn: false,
            is_inside: false,
            has_ended: false,
        };
        let shared = Arc::new(Shared { line: Mutex::new(line), wake: Condvar::new() });
        let ticker = Arc::clone(&shared);
        thread::spawn(move || ticker.tick());
        Self { shared: Some(shared) }
    }

    /// Changes what the line begins with.
    pub(crate) fn set(&self, label: impl Into<String>) {
        if let Some(shared) = &self.shared {
            shared.line().label = label.into();
        }
    }

    /// Writes to standard error, above the line. Who does not look is no reason to stop.
    pub(crate) fn write(&self, bytes: &[u8]) {
        match &self.shared {
            Some(shared) => shared.line().write(bytes),
            None => drop(io::stderr().write_all(bytes)),
        }
    }

    /// Takes the line away; what is written after it is written as it is.
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
        // A line that is not finished belongs to the one who writes it.
        if self.is_inside {
            return;
        }
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(CLEAR);
        let _ = write!(stderr, "{}, {}", self.label, elapsed(self.started.elapsed()));
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

/// A time as people say it.
fn elapsed(time: Duration) -> String {
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
            assert_eq!(elapsed(Duration::from_secs(seconds)), said);
        }
    }
}
