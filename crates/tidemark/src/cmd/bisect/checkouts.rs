//! Measurements in checkouts on this machine. A checkout is prepared once and kept, so that a commit that is measured again needs no
//! further build; the least recently used checkout is removed if there are too many.

use std::path::Path;

use super::{
    commits::CommitRange,
    search::{Attempt, Source},
};
use crate::{
    checkout::{Checkout, Checkouts, Revision},
    failure::{Exit, Failure, Result},
    measurement::Measurement,
};

/// Measures commits in checkouts.
pub(super) struct CheckoutSource<'a> {
    measurement: Measurement<'a>,
    runs: u32,
    checkouts: Checkouts,
    max_checkouts: usize,
    range: &'a CommitRange,
    /// Prepared checkouts, the most recently used last.
    prepared: Vec<(usize, Checkout)>,
}

impl<'a> CheckoutSource<'a> {
    /// Prepares checkouts for this folder of a repository.
    pub(super) fn open(
        folder: &Path,
        measurement: Measurement<'a>,
        runs: u32,
        max_checkouts: u32,
        range: &'a CommitRange,
    ) -> Result<Self> {
        let checkouts = Checkouts::open(folder)?;
        let max_checkouts = usize::try_from(max_checkouts).unwrap_or(usize::MAX);
        Ok(Self { measurement, runs, checkouts, max_checkouts, range, prepared: Vec::new() })
    }

    /// Checks out and prepares a commit, unless it is prepared; returns the reason if it cannot be prepared.
    fn prepare(&mut self, commit: usize) -> Result<Option<String>> {
        if let Some(place) = self.prepared.iter().position(|(number, _)| *number == commit) {
            let used = self.prepared.remove(place);
            self.prepared.push(used);
            return Ok(None);
        }
        while self.prepared.len() >= self.max_checkouts {
            let (_, oldest) = self.prepared.remove(0);
            self.checkouts.discard(&oldest);
        }
        let found = &self.range.commits[commit];
        let revision = Revision::Commit(found.hash.as_str().to_owned());
        let checkout = match self.checkouts.prepare(found.short(), &revision) {
            Ok(checkout) => checkout,
            // The folder of the command does not exist in every commit.
            Err(failure) if failure.is(Exit::Usage) => return Ok(Some(failure.to_string())),
            Err(failure) => return Err(failure),
        };
        match self.measurement.set_up(&checkout) {
            Ok(()) => {
                self.prepared.push((commit, checkout));
                Ok(None)
            }
            Err(failure) => {
                self.checkouts.discard(&checkout);
                can_skip(failure).map(Some)
            }
        }
    }
}

impl Source for CheckoutSource<'_> {
    fn measure(&mut self, commit: usize, name: &str) -> Result<Attempt> {
        if let Some(reason) = self.prepare(commit)? {
            return Ok(Attempt::Failed(reason));
        }
        let Some((_, checkout)) = self.prepared.last() else {
            return Err(Failure::new("The checkout was removed."));
        };
        let mut results = Vec::new();
        for _ in 0..self.runs {
            match self.measurement.measure(checkout, name) {
                Ok(Some(measured)) => results.push(measured),
                Ok(None) => return Ok(Attempt::Failed("the benchmark command failed".to_owned())),
                Err(failure) => return can_skip(failure).map(Attempt::Failed),
            }
        }
        Ok(match self.measurement.fold(&results) {
            Some(results) => Attempt::Measured(results),
            None => Attempt::Failed("the output contains no metric".to_owned()),
        })
    }
}

/// Returns the reason of a failure that concerns only this commit.
fn can_skip(failure: Failure) -> Result<String> {
    let is_of_commit = [Exit::Benchmark, Exit::Unreadable, Exit::Empty, Exit::Failed];
    if is_of_commit.iter().any(|exit| failure.is(*exit)) { Ok(failure.to_string()) } else { Err(failure) }
}
