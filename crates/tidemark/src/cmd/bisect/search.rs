//! The search: measures commits from a source until one commit is the culprit with the requested probability, and prints the
//! progress.

use std::time::{Duration, Instant};

use tidemark_adapters::Results;
use tidemark_api::{
    BisectionCommit, BisectionCulprit, BisectionDifference, BisectionStatus, NewBisection,
    bisection::{MAX_BISECTION_CANDIDATES, MAX_BISECTION_COMMITS, MAX_BISECTION_VALUES},
};
use tidemark_stats::{Assessment, Bisection, Culprit, MIN_END_MEASUREMENTS};

use super::{
    commits::CommitRange,
    earlier::EarlierResults,
    series::{Series, SeriesChoice, Values},
};
use crate::{
    failure::{Exit, Failure, Result},
    output,
    progress::time_left,
};

/// Number of consecutive failed measurements after which a commit that was measured before is skipped, and after which the search ends
/// if nothing can be measured.
const MAX_FAILURES: u32 = 3;
/// Number of the measurements of the search, and of the earlier results, as sources with a level of their own.
const OWN: usize = 0;
const EARLIER: usize = 1;

/// A search and its limits.
pub(super) struct Search<'a> {
    pub(super) range: &'a CommitRange,
    pub(super) choice: SeriesChoice<'a>,
    pub(super) probability: f64,
    pub(super) deadline: Instant,
    pub(super) earlier: Option<&'a EarlierResults<'a>>,
    pub(super) quiet: bool,
}

/// Measures commits.
pub(super) trait Source {
    /// Measures a commit once. `name` describes the measurement in messages.
    fn measure(&mut self, commit: usize, name: &str) -> Result<Attempt>;
}

/// Result of a measurement.
pub(super) enum Attempt {
    Measured(Results),
    /// The commit cannot be measured, with the reason.
    Failed(String),
    /// The measurement failed for a reason that does not concern the commit, for example because the runner was lost.
    Unavailable(Failure),
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Found,
    NoDifference,
    Undecided,
}

/// Result of a search.
pub(super) struct SearchResult {
    pub(super) end: End,
    pub(super) document: NewBisection,
    /// Numbers of the commits of [`NewBisection::commits`].
    pub(super) numbers: Vec<usize>,
    /// Numbers of the possible culprits.
    pub(super) culprit: Culprit,
}

/// State of a search.
struct State {
    runs: Vec<(usize, Values)>,
    /// Number of the first runs that only served to choose the series.
    choice_runs: usize,
    /// Number of consecutive failures of each commit.
    failures: Vec<u32>,
    reasons: Vec<Option<String>>,
    earlier: Vec<(usize, f64)>,
    series: Option<Series>,
    bisection: Bisection,
}

impl Search<'_> {
    /// Searches until a commit is found, there is no difference, or the time is over.
    pub(super) fn run(&self, source: &mut dyn Source) -> Result<SearchResult> {
        let commits = self.range.count();
        let mut state = State {
            runs: Vec::new(),
            choice_runs: 0,
            failures: vec![0; commits + 1],
            reasons: vec![None; commits + 1],
            earlier: Vec::new(),
            series: None,
            bisection: Bisection::new(commits),
        };
        if !self.quiet {
            let word = if commits == 1 { "commit" } else { "commits" };
            message!("Searching {commits} {word} after {}.", self.range.commits[0].short());
        }
        let started = Instant::now();
        let has_time = |needed: Duration| Instant::now() + needed < self.deadline;
        let (mut measured, mut unavailable): (u32, u32) = (0, 0);
        loop {
            let assessment = state.bisection.assess();
            let culprit = state.bisection.culprit(&assessment);
            if let Some(end) = self.end(&state, &assessment, &culprit) {
                return self.result(&state, end, &assessment, culprit);
            }
            let mean = started.elapsed().checked_div(measured).unwrap_or_default();
            let is_over = match state.series {
                Some(_) => measured > 0 && !has_time(mean),
                // Without the first measurements, there is no result.
                None => !has_time(Duration::ZERO),
            };
            if is_over {
                return self.result(&state, End::Undecided, &assessment, culprit);
            }
            let commit = match state.series {
                Some(_) => state.bisection.next(&assessment),
                // The good and the bad commit alternate until the series is chosen.
                None if state.count(0) <= state.count(commits) => 0,
                None => commits,
            };
            measured += 1;
            let name = format!("Run {measured}, {}", self.range.commits[commit].short());
            match source.measure(commit, &name)? {
                Attempt::Measured(results) => {
                    unavailable = 0;
                    self.record(&mut state, commit, Values::new(&results))?;
                }
                // A command that was stopped says nothing about the commit.
                Attempt::Failed(_) if !has_time(Duration::ZERO) => continue,
                Attempt::Failed(reason) => {
                    unavailable = 0;
                    self.fail(&mut state, commit, reason)?;
                }
                Attempt::Unavailable(failure) => {
                    unavailable += 1;
                    if unavailable < MAX_FAILURES && has_time(Duration::ZERO) {
                        message!("warning: {failure}");
                        continue;
                    }
                    if state.series.is_none() {
                        return Err(failure);
                    }
                    message!("warning: {failure} The search ends with the result so far.");
                    return self.result(&state, End::Undecided, &assessment, culprit);
                }
            }
            self.choose(&mut state)?;
            self.report(&state, commit, measured, started.elapsed());
        }
    }

    fn end(&self, state: &State, assessment: &Assessment, culprit: &Culprit) -> Option<End> {
        if state.series.is_none() {
            None
        } else if culprit.probability >= self.probability {
            Some(End::Found)
        } else if assessment.no_change >= self.probability {
            Some(End::NoDifference)
        } else {
            None
        }
    }

    /// Records the values of a measurement. A commit without the series cannot be measured.
    fn record(&self, state: &mut State, commit: usize, values: Values) -> Result {
        if let Some(series) = &state.series {
            match values.get(series) {
                Some(value) => {
                    state.failures[commit] = 0;
                    state.bisection.record(commit, value, OWN);
                }
                None => {
                    let reason = format!("it has no result of {}", series.title());
                    return self.fail(state, commit, reason);
                }
            }
        }
        state.runs.push((commit, values));
        Ok(())
    }

    /// Skips a commit that failed, unless it was measured before.
    fn fail(&self, state: &mut State, commit: usize, reason: String) -> Result {
        state.failures[commit] += 1;
        if state.count(commit) > 0 && state.failures[commit] < MAX_FAILURES {
            return Ok(());
        }
        let found = &self.range.commits[commit];
        if commit == 0 || commit == self.range.count() {
            let which = if commit == 0 { "good" } else { "bad" };
            return Err(Failure::with(
                Exit::Benchmark,
                format!(
                    "The {which} commit {} cannot be measured: {}. Give a commit that can be measured.",
                    found.short(),
                    reason.trim_end_matches('.')
                ),
            ));
        }
        if !self.quiet {
            message!("Skipping {}: {}.", found.short(), reason.trim_end_matches('.'));
        }
        state.bisection.skip(commit);
        state.reasons[commit] = Some(reason);
        Ok(())
    }

    /// Chooses the series after the first measurements of the good and the bad commit, and reads its earlier results.
    fn choose(&self, state: &mut State) -> Result {
        let commits = self.range.count();
        if state.series.is_some() || state.count(0).min(state.count(commits)) < MIN_END_MEASUREMENTS {
            return Ok(());
        }
        let of = |wanted: usize| -> Vec<&Values> {
            state.runs.iter().filter(|(commit, _)| *commit == wanted).map(|(_, values)| values).collect()
        };
        let (series, candidates) = self.choice.choose(&of(0), &of(commits))?;
        if let Some(earlier) = self.earlier {
            state.earlier = earlier.read(&series, self.range);
            for (commit, value) in &state.earlier {
                state.bisection.record(*commit, *value, EARLIER);
            }
        }
        // Of several series, the one with the largest difference was chosen by these values: as evidence, they would exaggerate the
        // difference.
        if candidates > 1 {
            state.choice_runs = state.runs.len();
        }
        for (commit, values) in &state.runs[state.choice_runs..] {
            if let Some(value) = values.get(&series) {
                state.bisection.record(*commit, value, OWN);
            }
        }
        if !self.quiet {
            let reused = match state.earlier.len() {
                0 => String::new(),
                1 => " The server has 1 earlier result.".to_owned(),
                count => format!(" The server has {count} earlier results."),
            };
            message!("Searching for the change of {}.{reused}", series.title());
        }
        state.series = Some(series);
        Ok(())
    }

    /// Prints the progress after a measurement.
    fn report(&self, state: &State, commit: usize, measured: u32, elapsed: Duration) {
        if self.quiet || state.reasons[commit].is_some() {
            return;
        }
        let found = &self.range.commits[commit];
        let place = format!("Run {measured}: {} ({commit} of {})", found.short(), self.range.count());
        let Some((series, (last, values))) = state.series.as_ref().zip(state.runs.last()) else {
            message!("{place}");
            return;
        };
        let Some(value) = values.get(series).filter(|_| *last == commit) else { return };
        let assessment = state.bisection.assess();
        let culprit = state.bisection.culprit(&assessment);
        let value = output::quantity(value, values.units(series));
        let best = if assessment.no_change > culprit.probability {
            format!("no difference with {:.0}%", assessment.no_change * 100.0)
        } else {
            let best = self.range.commits[*culprit.commits.end()].short();
            format!("culprit {best} with {:.0}%", culprit.probability * 100.0)
        };
        let left = match state.bisection.remaining(&assessment, self.probability) {
            None | Some(0) => String::new(),
            Some(1) => "; about 1 more run".to_owned(),
            Some(runs) => {
                let time = time_left(elapsed, measured as usize, measured as usize + runs);
                format!("; about {runs} more runs{time}")
            }
        };
        message!("{place} {value}; {best}{left}");
    }

    fn result(
        &self,
        state: &State,
        end: End,
        assessment: &Assessment,
        culprit: Culprit,
    ) -> Result<SearchResult> {
        let series = state.series.as_ref().ok_or_else(|| {
            Failure::with(
                Exit::Empty,
                format!(
                    "--max-time was over before the good and the bad commit were measured {MIN_END_MEASUREMENTS} times each. \
                     Increase --max-time."
                ),
            )
        })?;
        let values_of = |wanted: usize| -> Vec<f64> {
            let of_commit = state.evidence().iter().filter(|(commit, _)| *commit == wanted);
            of_commit.filter_map(|(_, values)| values.get(series)).collect()
        };
        let reused_of = |wanted: usize| -> Vec<f64> {
            state.earlier.iter().filter(|(commit, _)| *commit == wanted).map(|(_, value)| *value).collect()
        };
        let mut numbers: Vec<usize> = (0..=self.range.count())
            .filter(|commit| state.bisection.count(*commit) > 0 || state.reasons[*commit].is_some())
            .collect();
        numbers.truncate(MAX_BISECTION_COMMITS);
        let limited = |mut values: Vec<f64>| {
            values.truncate(MAX_BISECTION_VALUES);
            values
        };
        let commits = numbers.iter().map(|commit| BisectionCommit {
            hash: self.range.commits[*commit].hash.clone(),
            probability: commit.checked_sub(1).map_or(0.0, |place| assessment.probabilities[place]),
            values: limited(values_of(*commit)),
            reused: limited(reused_of(*commit)),
            skipped: state.reasons[*commit].as_ref().and_then(|reason| reason.parse().ok()),
        });
        let mean = |is_wanted: &dyn Fn(usize) -> bool| {
            let of_side = state.evidence().iter().filter(|(commit, _)| is_wanted(*commit));
            let values: Vec<f64> = of_side.filter_map(|(_, values)| values.get(series)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (first, last) = (*culprit.commits.start(), *culprit.commits.end());
        let is_found = end == End::Found;
        let found = &self.range.commits[last];
        let named = BisectionCulprit {
            hash: found.hash.clone(),
            subject: output::plain(&found.subject),
            author: output::plain(&found.author),
            date: found.date.clone(),
        };
        let candidates = culprit.commits.clone().filter(|_| end != End::NoDifference);
        let document = NewBisection {
            status: match end {
                End::Found => BisectionStatus::Found,
                End::NoDifference => BisectionStatus::NoDifference,
                End::Undecided => BisectionStatus::Undecided,
            },
            culprit: Some(named).filter(|_| end != End::NoDifference),
            candidates: candidates
                .map(|commit| self.range.commits[commit].hash.clone())
                .take(MAX_BISECTION_CANDIDATES)
                .collect(),
            probability: if end == End::NoDifference { assessment.no_change } else { culprit.probability },
            good: self.range.commits[0].hash.clone(),
            bad: self.range.commits[self.range.count()].hash.clone(),
            benchmark: series
                .benchmark()
                .parse()
                .map_err(|error| Failure::new(format!("The name of the benchmark is not valid: {error}.")))?,
            measure: series
                .measure()
                .parse()
                .map_err(|error| Failure::new(format!("The name of the measure is not valid: {error}.")))?,
            units: state.runs.last().map_or("", |(_, values)| values.units(series)).to_owned(),
            before: mean(&|commit| if is_found { commit < first } else { commit == 0 }),
            after: mean(&|commit| if is_found { commit >= last } else { commit == self.range.count() }),
            difference: assessment.difference.map(|difference| BisectionDifference {
                estimate: difference.estimate,
                lower: difference.lower,
                upper: difference.upper,
                relative: assessment.is_relative,
            }),
            runs: u32::try_from(state.runs.len()).unwrap_or(u32::MAX),
            reused: u32::try_from(state.earlier.len()).unwrap_or(u32::MAX),
            total: u32::try_from(self.range.count()).unwrap_or(u32::MAX),
            commits: commits.collect(),
        };
        Ok(SearchResult { end, document, numbers, culprit })
    }
}

impl State {
    /// Returns the runs that are evidence for the chosen series.
    fn evidence(&self) -> &[(usize, Values)] {
        &self.runs[self.choice_runs..]
    }

    /// Returns the number of measurements of a commit, without earlier results.
    fn count(&self, wanted: usize) -> usize {
        self.runs.iter().filter(|(commit, _)| *commit == wanted).count()
    }
}
