//! How far something is that takes its time, on standard error: one line that changes on a terminal, a line now and
//! then elsewhere, so that the log of a job shows that it lives and stays short.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// How often the line changes on a terminal.
const BLINK: Duration = Duration::from_millis(100);
/// How often a line is written elsewhere.
const PAUSE: Duration = Duration::from_secs(10);

/// Something that has steps.
pub(crate) struct Steps {
    what: &'static str,
    total: Option<usize>,
    done: usize,
    started: Instant,
    shown: Option<Instant>,
    terminal: bool,
    quiet: bool,
}

impl Steps {
    /// Begins. The total is left out if it is not known.
    pub(crate) fn new(what: &'static str, total: Option<usize>, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self { what, total, done: 0, started: Instant::now(), shown: None, terminal, quiet }
    }

    /// One more is done.
    pub(crate) fn step(&mut self) {
        self.at(self.done + 1);
    }

    /// So many are done.
    pub(crate) fn at(&mut self, done: usize) {
        self.done = done;
        let pause = if self.terminal { BLINK } else { PAUSE };
        if !self.quiet && self.shown.unwrap_or(self.started).elapsed() >= pause {
            self.shown = Some(Instant::now());
            let line = self.line();
            let _ = if self.terminal {
                write!(io::stderr(), "\r\u{1b}[K{line}")
            } else {
                writeln!(io::stderr(), "{line}")
            };
        }
    }

    /// It is over; on a terminal the line makes room for what follows.
    pub(crate) fn end(self) {
        drop(self);
    }

    fn line(&self) -> String {
        let Some(total) = self.total else { return format!("{}: {}", self.what, self.done) };
        let left = time_left(self.started.elapsed(), self.done, total);
        format!("{}: {} of {total}{left}", self.what, self.done)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if self.terminal && self.shown.is_some() {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// How long it takes still if it goes on as it went, as the end of a line; empty if nothing is known or it
/// is next to nothing.
pub(crate) fn time_left(elapsed: Duration, done: usize, total: usize) -> String {
    if done == 0 || done >= total {
        return String::new();
    }
    let left = elapsed.mul_f64((total - done) as f64 / done as f64);
    if left < Duration::from_secs(1) { String::new() } else { format!(", {} left", duration(left)) }
}

/// A length of time in the two units that tell most.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
