//! State machine of jobs: the only table of transitions. The store uses it, and docs/jobs.md draws it.

use crate::{JobStatus, scalar::fixed_string};

fixed_string! {
    /// Event that changes the status of a job.
    JobEvent {
        /// A runner claims the job.
        Claim = "claim",
        /// The server could not hand the job to the runner that claimed it.
        Return = "return",
        /// The runner starts the benchmarks.
        Start = "start",
        /// The runner sent no message for too long.
        Lose = "lose",
        /// The runner reconnects and still works on the job.
        Resume = "resume",
        /// The runner sends results.
        Complete = "complete",
        /// The runner reports an error.
        Fail = "fail",
        /// A user cancels the job, or the job exceeds a time limit.
        Cancel = "cancel",
        /// The server has stored the results in the report.
        Process = "process",
        /// The server cannot store the results in the report.
        Reject = "reject",
    }
}

/// All transitions as (from, event, to). No other transitions exist.
pub const TRANSITIONS: &[(JobStatus, JobEvent, JobStatus)] = {
    use JobEvent::{Cancel, Claim, Complete, Fail, Lose, Process, Reject, Resume, Return, Start};
    use JobStatus::{Canceled, Claimed, Completed, Failed, Pending, Processed, Running, Unknown};
    &[
        (Pending, Claim, Claimed),
        (Pending, Cancel, Canceled),
        (Claimed, Return, Pending),
        (Claimed, Start, Running),
        (Claimed, Complete, Completed),
        (Claimed, Fail, Failed),
        (Claimed, Cancel, Canceled),
        (Claimed, Lose, Unknown),
        (Running, Complete, Completed),
        (Running, Fail, Failed),
        (Running, Cancel, Canceled),
        (Running, Lose, Unknown),
        (Unknown, Resume, Running),
        (Unknown, Complete, Completed),
        (Unknown, Fail, Failed),
        (Unknown, Cancel, Canceled),
        (Completed, Process, Processed),
        (Completed, Reject, Failed),
    ]
};

impl JobEvent {
    /// Returns the status after the event, which does not depend on the status before.
    pub fn target(self) -> JobStatus {
        match self {
            Self::Claim => JobStatus::Claimed,
            Self::Return => JobStatus::Pending,
            Self::Start | Self::Resume => JobStatus::Running,
            Self::Lose => JobStatus::Unknown,
            Self::Complete => JobStatus::Completed,
            Self::Fail | Self::Reject => JobStatus::Failed,
            Self::Cancel => JobStatus::Canceled,
            Self::Process => JobStatus::Processed,
        }
    }

    /// Returns the statuses in which the event is allowed.
    pub fn sources(self) -> impl Iterator<Item = JobStatus> {
        TRANSITIONS.iter().filter(move |(_, event, _)| *event == self).map(|(from, ..)| *from)
    }
}

impl JobStatus {
    /// Returns the status after an event; `None` if the event is not allowed in this status.
    pub fn next(self, event: JobEvent) -> Option<Self> {
        TRANSITIONS.iter().find(|(from, by, _)| (*from, *by) == (self, event)).map(|(.., to)| *to)
    }

    /// Whether a runner holds the job.
    pub fn is_in_progress(self) -> bool {
        matches!(self, Self::Claimed | Self::Running)
    }

    /// Whether the job has ended as far as the server knows, so that its output can be shown.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Claimed | Self::Running)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// State of a job, modeled independently of the table.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Model {
        has_runner: bool,
        is_running: bool,
        is_lost: bool,
        has_results: bool,
        end: Option<JobStatus>,
    }

    impl Model {
        fn status(&self) -> JobStatus {
            match self.end {
                Some(end) => end,
                None if self.has_results => JobStatus::Completed,
                None if self.is_lost => JobStatus::Unknown,
                None if self.is_running => JobStatus::Running,
                None if self.has_runner => JobStatus::Claimed,
                None => JobStatus::Pending,
            }
        }

        /// Applies an event and returns whether it is allowed.
        fn apply(&mut self, event: JobEvent) -> bool {
            let is_open = self.end.is_none() && !self.has_results;
            let is_held = is_open && self.has_runner;
            let is_in_touch = is_held && !self.is_lost;
            let happens = match event {
                JobEvent::Claim => is_open && !self.has_runner,
                JobEvent::Return | JobEvent::Start => is_in_touch && !self.is_running,
                JobEvent::Lose => is_in_touch,
                JobEvent::Resume => is_held && self.is_lost,
                JobEvent::Complete | JobEvent::Fail => is_held,
                JobEvent::Cancel => is_open,
                JobEvent::Process | JobEvent::Reject => self.end.is_none() && self.has_results,
            };
            if !happens {
                return false;
            }
            match event {
                JobEvent::Claim => self.has_runner = true,
                JobEvent::Return => self.has_runner = false,
                JobEvent::Start => self.is_running = true,
                JobEvent::Lose => self.is_lost = true,
                JobEvent::Resume => (self.is_running, self.is_lost) = (true, false),
                JobEvent::Complete => self.has_results = true,
                JobEvent::Fail | JobEvent::Reject => self.end = Some(JobStatus::Failed),
                JobEvent::Cancel => self.end = Some(JobStatus::Canceled),
                JobEvent::Process => self.end = Some(JobStatus::Processed),
            }
            true
        }
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_the_model(
            events in proptest::collection::vec(proptest::sample::select(JobEvent::ALL), 0..40)
        ) {
            let (mut status, mut model) = (JobStatus::Pending, Model::default());
            for event in events {
                let next = status.next(event);
                prop_assert_eq!(next.is_some(), model.apply(event), "{} in {}", event, status);
                status = next.unwrap_or(status);
                prop_assert_eq!(status, model.status());
            }
        }
    }

    #[test]
    fn each_event_has_one_target() {
        for (_, event, to) in TRANSITIONS {
            assert_eq!(event.target(), *to, "{event}");
        }
        for event in JobEvent::ALL {
            assert!(event.sources().next().is_some(), "{event} never happens");
        }
    }

    #[test]
    fn the_manual_contains_the_table() {
        let manual = include_str!("../../../docs/jobs.md");
        let shown: BTreeSet<(&str, &str, &str)> = manual
            .lines()
            .filter_map(|line| {
                let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
                match cells[..] {
                    ["", from, event, to, _, ""] if from.parse::<JobStatus>().is_ok() => {
                        Some((from, event, to))
                    }
                    _ => None,
                }
            })
            .collect();
        let drawn: BTreeSet<(&str, &str, &str)> = manual
            .lines()
            .filter_map(|line| {
                let (from, rest) = line.trim().split_once(" --> ")?;
                let (to, event) = rest.split_once(": ")?;
                from.parse::<JobStatus>().is_ok().then_some((from, event, to))
            })
            .collect();
        let table: BTreeSet<_> = TRANSITIONS
            .iter()
            .map(|(from, event, to)| (from.as_str(), event.as_str(), to.as_str()))
            .collect();
        assert_eq!(shown, table, "the table of docs/jobs.md");
        assert_eq!(drawn, table, "the drawing of docs/jobs.md");
    }
}
