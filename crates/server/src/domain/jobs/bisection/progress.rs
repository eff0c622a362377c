//! Progress of a search: its commits and their values, stored as JSON, and the result.

use serde::{Deserialize, Serialize};
use tidemark_api::{
    Benchmark, BisectionCommit, BisectionCulprit, BisectionDifference, BisectionStatus, GitHash, Measure,
    NewBisection,
    bisection::{MAX_BISECTION_CANDIDATES, MAX_BISECTION_VALUES},
};
use tidemark_stats::{Assessment, Bisection, Culprit};
use tidemark_store::{
    BenchmarkId, Dimension, MeasureId, Tx, VersionId,
    commit::{Commit, CommitImage},
    series::SeriesKey,
};

use crate::domain::error::{Error, Result};

/// Number of failed jobs after which a commit that was measured before is skipped.
const MAX_FAILURES: u32 = 3;
/// Length of a short commit hash.
const SHORT_HASH: usize = 10;
const NO_IMAGE: &str = "The registry has no image of the commit.";

/// Progress of a search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    benchmark: i64,
    variant: i64,
    measure: i64,
    /// The commit before the event, and the commits of the range, oldest first.
    pub(super) commits: Vec<SearchCommit>,
    /// Number of the commit and value of each measurement, in the order of time.
    values: Vec<(usize, f64)>,
    /// Commit that the current job measures.
    pub(super) current: Option<usize>,
    /// Number of jobs.
    pub(super) jobs: u32,
}

/// A commit of a search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SearchCommit {
    version: i64,
    hash: GitHash,
    /// Path of the repository and digest of the image.
    image: Option<(String, String)>,
    failures: u32,
    /// Reason why the commit is not measured.
    skipped: Option<String>,
}

impl SearchCommit {
    pub(super) fn new(commit: &Commit, image: Option<CommitImage>) -> Self {
        let skipped = image.is_none().then(|| NO_IMAGE.to_owned());
        let image = image.map(|image| (image.path, image.digest));
        Self { version: commit.version.get(), hash: commit.hash.clone(), image, failures: 0, skipped }
    }

    /// Returns the commit and its image.
    pub(super) fn side(&self) -> Result<(Commit, CommitImage)> {
        let version = VersionId::from(self.version);
        let Some((path, digest)) = self.image.clone() else { return Err(Error::not_found("image")) };
        Ok((Commit { version, hash: self.hash.clone() }, CommitImage { version, path, digest }))
    }
}

impl Progress {
    pub(super) fn new(series_key: SeriesKey, commits: Vec<SearchCommit>) -> Self {
        Self {
            benchmark: series_key.benchmark.get(),
            variant: series_key.variant,
            measure: series_key.measure.get(),
            commits,
            values: Vec::new(),
            current: None,
            jobs: 0,
        }
    }

    pub(super) fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::Internal(error.into()))
    }

    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Internal(error.into()))
    }

    pub(super) fn series_key(&self) -> SeriesKey {
        SeriesKey {
            benchmark: BenchmarkId::from(self.benchmark),
            variant: self.variant,
            measure: MeasureId::from(self.measure),
        }
    }

    /// Returns the benchmark.
    pub(super) fn benchmark(&self, tx: &mut Tx<'_>) -> Result<Benchmark> {
        let mut found = Benchmark::by_ids::<Benchmark>(tx, &[self.benchmark])?;
        found.remove(&BenchmarkId::from(self.benchmark)).ok_or_else(|| Error::not_found("benchmark"))
    }

    /// Whether there are values.
    pub(super) fn is_measured(&self) -> bool {
        !self.values.is_empty()
    }

    /// Records the pairs of a job that compared a commit with the commit before the event.
    pub(super) fn record(&mut self, commit: usize, pairs: &[(f64, f64)]) {
        self.values.extend(pairs.iter().flat_map(|(base, head)| [(0, *base), (commit, *head)]));
    }

    /// Skips a commit whose job failed, unless it was measured before. The error is the reason why the search cannot go on.
    pub(super) fn fail(&mut self, commit: usize, reason: &str) -> Result<(), String> {
        let is_end = commit + 1 == self.commits.len();
        let is_measured = self.values.iter().any(|(measured, _)| *measured == commit);
        let found = &mut self.commits[commit];
        found.failures += 1;
        if is_measured && found.failures < MAX_FAILURES {
            return Ok(());
        }
        if is_end {
            let hash: String = found.hash.as_str().chars().take(SHORT_HASH).collect();
            return Err(format!("The commit {hash} cannot be measured again: {reason}"));
        }
        found.skipped = Some(reason.to_owned());
        Ok(())
    }

    fn bisection(&self) -> Bisection {
        let mut bisection = Bisection::new(self.commits.len() - 1);
        for (commit, value) in &self.values {
            bisection.record(*commit, *value, 0);
        }
        for (commit, found) in self.commits.iter().enumerate() {
            if found.skipped.is_some() {
                bisection.skip(commit);
            }
        }
        bisection
    }

    /// Returns what the values say, the most probable commits, and the commit to measure next.
    pub(super) fn assess(&self) -> (Assessment, Culprit, usize) {
        let bisection = self.bisection();
        let assessment = bisection.assess();
        let culprit = bisection.culprit(&assessment);
        let next = bisection.next(&assessment);
        (assessment, culprit, next)
    }

    /// Returns the result of the search.
    pub(super) fn result(&self, tx: &mut Tx<'_>, status: BisectionStatus) -> Result<NewBisection> {
        let benchmark = self.benchmark(tx)?;
        let mut measures = Measure::by_ids::<Measure>(tx, &[self.measure])?;
        let measure =
            measures.remove(&MeasureId::from(self.measure)).ok_or_else(|| Error::not_found("measure"))?;
        let (assessment, culprit, _) = self.assess();
        let last = self.commits.len() - 1;
        let is_found = status == BisectionStatus::Found;
        let differs = status != BisectionStatus::NoDifference;
        let values_of = |wanted: &dyn Fn(usize) -> bool| -> Vec<f64> {
            self.values.iter().filter(|(commit, _)| wanted(*commit)).map(|(_, value)| *value).collect()
        };
        let mean = |wanted: &dyn Fn(usize) -> bool| {
            let values = values_of(wanted);
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (first_culprit, last_culprit) = (*culprit.commits.start(), *culprit.commits.end());
        let commits = self.commits.iter().enumerate().filter_map(|(number, commit)| {
            let mut values = values_of(&|measured| measured == number);
            values.truncate(MAX_BISECTION_VALUES);
            (!values.is_empty() || commit.skipped.is_some()).then(|| BisectionCommit {
                hash: commit.hash.clone(),
                probability: number.checked_sub(1).map_or(0.0, |place| assessment.probabilities[place]),
                values,
                reused: Vec::new(),
                skipped: commit.skipped.as_ref().and_then(|reason| reason.parse().ok()),
            })
        });
        let hash = |number: usize| self.commits[number].hash.clone();
        // The server does not know the messages of commits.
        let named = BisectionCulprit {
            hash: hash(last_culprit),
            subject: String::new(),
            author: String::new(),
            date: String::new(),
        };
        let candidates = culprit.commits.clone().filter(|_| differs);
        Ok(NewBisection {
            status,
            culprit: Some(named).filter(|_| differs),
            candidates: candidates.map(hash).take(MAX_BISECTION_CANDIDATES).collect(),
            probability: if differs { culprit.probability } else { assessment.no_change },
            good: hash(0),
            bad: hash(last),
            benchmark: benchmark.name,
            measure: measure.name.clone(),
            units: measure.units.to_string(),
            before: mean(&|commit| if is_found { commit < first_culprit } else { commit == 0 }),
            after: mean(&|commit| if is_found { commit >= last_culprit } else { commit == last }),
            difference: assessment.difference.map(|difference| BisectionDifference {
                estimate: difference.estimate,
                lower: difference.lower,
                upper: difference.upper,
                relative: assessment.is_relative,
            }),
            runs: u32::try_from(self.values.len()).unwrap_or(u32::MAX),
            reused: 0,
            total: u32::try_from(last).unwrap_or(u32::MAX),
            commits: commits.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(commits: usize) -> Progress {
        let hash = |number: usize| format!("{number:040x}").parse().unwrap();
        let commit = |number| Commit { version: VersionId::from(1), hash: hash(number) };
        let image = CommitImage { version: VersionId::from(1), path: String::new(), digest: "d".to_owned() };
        let key = SeriesKey { benchmark: BenchmarkId::from(1), variant: 0, measure: MeasureId::from(1) };
        Progress::new(
            key,
            (0..=commits).map(|number| SearchCommit::new(&commit(number), Some(image.clone()))).collect(),
        )
    }

    #[test]
    fn a_failed_commit_is_skipped_and_the_last_one_ends_the_search() {
        let mut search = progress(4);
        search.fail(2, "It does not start.").unwrap();
        search.record(3, &[(1.0, 2.0); 3]);
        // A commit that was measured before may fail twice.
        search.fail(3, "The runner was lost.").unwrap();
        let skipped: Vec<bool> = search.commits.iter().map(|commit| commit.skipped.is_some()).collect();
        assert_eq!(skipped, [false, false, true, false, false]);
        let reason = search.fail(4, "It does not start.").unwrap_err();
        assert_eq!(reason, "The commit 0000000000 cannot be measured again: It does not start.");
    }

    #[test]
    fn the_search_goes_on_from_its_stored_progress() {
        let mut search = progress(8);
        for jobs in 0..20 {
            let stored = search.to_json().unwrap();
            search = Progress::from_json(&stored).unwrap();
            let (_, culprit, next) = search.assess();
            if culprit.probability >= 0.97 {
                assert_eq!((culprit.commits, jobs > 1), (6..=6, true));
                return;
            }
            let commit = if next == 0 { 8 } else { next };
            let level = if commit >= 6 { 150.0 } else { 100.0 };
            search.record(commit, &[(100.0, level), (101.0, level + 1.0), (99.0, level - 1.0)]);
        }
        panic!("the search did not end");
    }
}
