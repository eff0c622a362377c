//! Measurements of two states of a repository in pairs on this machine, so that variations of the machine affect both, until
//! every benchmark has a verdict: alternately, or as a duet, at the same time on separate cores.

use std::{
    cell::Cell,
    path::PathBuf,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use tidemark_adapters::Results;
use tidemark_api::Adapter;
use uuid::Uuid;

use crate::{
    checkout::{Checkout, Checkouts, Revision},
    cmd::run::{
        binary,
        command::{BenchmarkCommand, CommandResult},
    },
    comparison::{ComparisonReport, CriteriaFlags, Rounds, Series},
    cores::CoreSet,
    failure::{Exit, Failure, Result},
    filter::{self, Selection},
    measurement::Measurement,
    progress::time_left,
};

/// Number of successive failed rounds after which further rounds would fail, too.
const MAX_FAILED_ROUNDS: u32 = 3;
/// Maximum length of the list of benchmarks in an environment variable, in bytes.
const MAX_LIST: usize = 64 << 10;

/// Flags of the measurement.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Limits {
    /// Maximum duration of a comparison of commits, with --setup; it ends earlier, as soon as every benchmark has a verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_time: u64,
    /// Run both sides of a comparison of commits or images at the same time, on separate cores that they swap in each round
    #[arg(long)]
    pub(crate) duet: bool,
}

impl Limits {
    /// Returns the limits of the next of `count` comparisons that share the time, of which `elapsed` is over.
    pub(crate) fn share(self, elapsed: Duration, count: usize) -> Self {
        let left = self.max_time.saturating_sub(elapsed.as_secs());
        Self { max_time: (left / u64::try_from(count).unwrap_or(u64::MAX).max(1)).max(1), ..self }
    }
}

/// What to measure, and how.
pub(crate) struct Interleave<'a> {
    pub(crate) base: Revision,
    pub(crate) new: Revision,
    pub(crate) measurement: Measurement<'a>,
    /// Measured binaries: if they are identical on both sides, nothing is measured.
    pub(crate) binaries: &'a [PathBuf],
    /// Series to compare; `None` for all.
    pub(crate) only: Option<&'a [Series]>,
    /// Adapter of the results, if it is known before the first round.
    pub(crate) adapter: Option<Adapter>,
    pub(crate) criteria: &'a CriteriaFlags,
    pub(crate) limits: Limits,
    /// Maximum number of rounds.
    pub(crate) max_rounds: Option<u32>,
}

/// The next round.
struct Round<'a> {
    number: u32,
    sides: &'a [Checkout; 2],
    command: &'a BenchmarkCommand,
    /// Benchmarks to run, one per line; `None` for all.
    benchmarks: Option<&'a str>,
    /// Whether the output has no known format, so that the elapsed time is the result.
    is_timed: &'a Cell<bool>,
    cores: Option<&'a [CoreSet; 2]>,
}

/// Ended run of a side.
struct EndedRun<'a> {
    side: &'a Checkout,
    result: Option<CommandResult>,
}

/// Results of a run of a side, and the elapsed time of its command.
struct MeasuredRun {
    is_base: bool,
    elapsed: Duration,
    /// `None` if the output has no known format.
    results: Option<Results>,
}

impl Interleave<'_> {
    /// Measures both sides in pairs, until every benchmark has a verdict or a limit is reached. The order within a pair is random:
    /// then no effect of the order, of the time or of earlier runs favors a side, and the test needs no further assumption.
    pub(crate) fn run(mut self) -> Result<ComparisonReport> {
        let deadline = Instant::now().checked_add(Duration::from_secs(self.limits.max_time));
        self.measurement.deadline = deadline;
        let has_time = |needed: Duration| deadline.is_none_or(|deadline| Instant::now() + needed < deadline);
        let cores = self.core_sets()?;
        let checkouts = Checkouts::open(self.measurement.benchmark.folder())?;
        let sides = [checkouts.prepare("base", &self.base)?, checkouts.prepare("new", &self.new)?];
        for side in &sides {
            self.measurement.set_up(side)?;
        }
        if let Some(report) = self.identical(&sides) {
            return Ok(report);
        }
        let mut rounds = Rounds::new(&sides[0].name, &sides[1].name, self.criteria, self.only);
        let (mut failed_rounds, mut may_filter, is_timed) = (0, true, Cell::new(false));
        let started = Instant::now();
        for number in 1.. {
            let (wanted, others) = rounds.selection();
            let is_filtered = may_filter && !wanted.is_empty() && (!others.is_empty() || self.only.is_some());
            let selection = Selection { wanted: &wanted, others: &others };
            let adapter = rounds.adapter().or(self.adapter).filter(|_| is_filtered && !is_timed.get());
            let narrowed =
                adapter.and_then(|adapter| filter::narrow(adapter, self.measurement.benchmark, &selection));
            let list = Some(wanted.join("\n")).filter(|list| is_filtered && list.len() <= MAX_LIST);
            let round = Round {
                number,
                sides: &sides,
                command: narrowed.as_ref().unwrap_or(self.measurement.benchmark),
                benchmarks: list.as_deref(),
                is_timed: &is_timed,
                cores: cores.as_ref(),
            };
            let results = match self.measure(&round) {
                Err(failure) if !has_time(Duration::ZERO) && is_without_results(&failure) => {
                    message!("warning: {failure}");
                    break;
                }
                // A filter that the command does not accept must not end the comparison.
                Err(failure) if is_filtered && is_without_results(&failure) => {
                    message!("warning: {failure}");
                    None
                }
                results => results?,
            };
            let has_wanted = |results: &Results| wanted.iter().all(|name| has(results, name));
            if is_filtered && !results.as_ref().is_some_and(|both| both.iter().all(has_wanted)) {
                message!(
                    "warning: The filter of the benchmarks omitted a benchmark; all benchmarks run again."
                );
                may_filter = false;
            }
            // Only complete rounds count.
            if let Some([base, new]) = results {
                rounds.push(&base, &new);
                failed_rounds = 0;
                if rounds.is_empty() {
                    return rounds.report();
                }
            } else {
                failed_rounds += 1;
            }
            if number == 1
                && let Some(report) = self.identical_after_build(&sides)
            {
                return Ok(report);
            }
            let mean = started.elapsed() / number;
            if rounds.is_conclusive()
                || self.max_rounds.is_some_and(|max_rounds| number >= max_rounds)
                || failed_rounds == MAX_FAILED_ROUNDS
                || !has_time(mean)
            {
                break;
            }
            if !self.measurement.quiet && !rounds.is_empty() {
                message!("After round {number}: {}{}", rounds.counts(), expected(&rounds, mean));
                for line in rounds.lines() {
                    message!("{line}");
                }
            }
        }
        if rounds.is_empty() && !has_time(Duration::ZERO) {
            return Err(Failure::with(
                Exit::Empty,
                format!(
                    "No round ended within --max-time ({} s); nothing was measured. Increase --max-time.",
                    self.limits.max_time
                ),
            ));
        }
        if rounds.is_empty() {
            return Err(Failure::with(
                Exit::Empty,
                "In every round a run of the benchmark command failed; nothing was measured. Correct the command.",
            ));
        }
        rounds.report()
    }

    /// Returns the core sets of a duet; `None` without `--duet`.
    fn core_sets(&self) -> Result<Option<[CoreSet; 2]>> {
        if !self.limits.duet {
            return Ok(None);
        }
        if !self.measurement.benchmark.is_given() {
            return Err(Failure::usage("--duet requires a command; give the command to run."));
        }
        CoreSet::pair().map(Some)
    }

    /// Returns the report if the binaries are the same on both sides.
    fn identical(&self, sides: &[Checkout; 2]) -> Option<ComparisonReport> {
        let hash = |side: &Checkout| {
            let files: Vec<PathBuf> = self.binaries.iter().map(|file| side.file(file)).collect();
            binary::hash(&files).ok().flatten()
        };
        let (base, new) = (hash(&sides[0])?, hash(&sides[1])?);
        (base == new)
            .then(|| ComparisonReport::identical(&sides[0].name, &sides[1].name, self.criteria, base))
    }

    /// Returns the report if the benchmark command itself built the binaries, and they are the same. Warns if a binary is missing.
    fn identical_after_build(&self, sides: &[Checkout; 2]) -> Option<ComparisonReport> {
        for (side, file) in sides.iter().flat_map(|side| self.binaries.iter().map(move |file| (side, file))) {
            if !side.file(file).is_file() {
                message!(
                    "warning: {} has no file {}; whether the binaries are identical is unknown.",
                    side.title(),
                    file.display()
                );
                return None;
            }
        }
        self.identical(sides)
    }

    /// Runs a round; returns the results of the base and of the new side, or `None` if a run failed and failures are allowed.
    fn measure(&self, round: &Round<'_>) -> Result<Option<[Results; 2]>> {
        let order = if Uuid::new_v4().as_bytes()[0] & 1 == 0 { [0, 1] } else { [1, 0] };
        let mut runs = Vec::new();
        for first in order {
            let ended = match round.cores {
                // Each side uses each core set once, so that neither favors a side.
                Some(cores) => self.run_duet(round, first, cores)?,
                None => vec![self.run_alone(round, &round.sides[first])?],
            };
            for run in ended {
                match self.results(round, run)? {
                    Some(run) => runs.push(run),
                    None => return Ok(None),
                }
            }
        }
        let (mut base, mut new) = (Vec::new(), Vec::new());
        for run in runs {
            let results = match run.results.filter(|_| !round.is_timed.get()) {
                Some(results) => Some(results),
                None => self.measurement.elapsed_time(run.elapsed)?,
            };
            if run.is_base { base.extend(results) } else { new.extend(results) }
        }
        Ok(self.measurement.fold(&base).zip(self.measurement.fold(&new)).map(<[Results; 2]>::from))
    }

    /// Returns the results of a run; `None` if it failed and failures are allowed. If the output of the first round has no known
    /// format, the elapsed time becomes the result.
    fn results(&self, round: &Round<'_>, run: EndedRun<'_>) -> Result<Option<MeasuredRun>> {
        let EndedRun { side, result } = run;
        let is_base = side.label == round.sides[0].label;
        let elapsed = result.as_ref().map_or(Duration::ZERO, |result| result.elapsed);
        let has_failed = result.as_ref().is_some_and(|result| result.failure.is_some());
        if round.is_timed.get() && !has_failed {
            return Ok(Some(MeasuredRun { is_base, elapsed, results: None }));
        }
        match self.measurement.results(side, &round.name(side), result) {
            Err(failure)
                if round.number == 1
                    && self.measurement.may_be_timed()
                    && (failure.is(Exit::Unreadable) || failure.is(Exit::Empty)) =>
            {
                message!(
                    "The output of the command has no known format; its elapsed time is compared. To read results, name \
                     their format with --adapter."
                );
                round.is_timed.set(true);
                Ok(Some(MeasuredRun { is_base, elapsed, results: None }))
            }
            results => Ok(results?.map(|results| MeasuredRun { is_base, elapsed, results: Some(results) })),
        }
    }

    fn run_alone<'a>(&self, round: &Round<'a>, side: &'a Checkout) -> Result<EndedRun<'a>> {
        let quiet = self.measurement.quiet;
        if !quiet {
            message!("Round {}, {}{}", round.number, side.title(), round.selected());
        }
        let name = round.name(side);
        let result = self.measurement.start(round.command, side, &name, round.benchmarks, quiet)?;
        Ok(EndedRun { side, result })
    }

    /// Runs both sides at the same time, the side `first` on the first cores. The processes inherit the cores of the thread that
    /// starts them.
    fn run_duet<'a>(
        &self,
        round: &Round<'a>,
        first: usize,
        cores: &[CoreSet; 2],
    ) -> Result<Vec<EndedRun<'a>>> {
        if !self.measurement.quiet {
            let [base, new] = [&cores[first], &cores[1 - first]];
            message!("Round {}, base on {base}, new on {new}{}", round.number, round.selected());
        }
        let Round { sides, command, benchmarks, .. } = *round;
        // Neither side starts before both threads run on their cores.
        let start = Barrier::new(sides.len());
        let run = |side: &'a Checkout, cores: &CoreSet, name: &str| {
            let pinned = cores.pin();
            start.wait();
            pinned?;
            // The outputs of both sides would be mixed.
            let result = self.measurement.start(command, side, name, benchmarks, true)?;
            Ok(EndedRun { side, result })
        };
        thread::scope(|scope| {
            let run = &run;
            let order = [first, 1 - first].map(|side| &sides[side]);
            let started = order.into_iter().zip(cores).map(|(side, cores)| {
                let name = round.name(side);
                scope.spawn(move || run(side, cores, &name))
            });
            let started: Vec<_> = started.collect();
            let ended = started.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Failure::new("A thread of the comparison failed.")))
            });
            ended.collect()
        })
    }
}

impl Round<'_> {
    /// Returns the description of a run.
    fn name(&self, side: &Checkout) -> String {
        format!("Round {} for {}", self.number, side.title())
    }

    /// Returns the number of selected benchmarks, as the end of a line; empty if all run.
    fn selected(&self) -> String {
        match self.benchmarks.map(|names| names.lines().count()) {
            None => String::new(),
            Some(1) => ", 1 benchmark without a verdict".to_owned(),
            Some(count) => format!(", {count} benchmarks without a verdict"),
        }
    }
}

/// Whether a run ended without results that can be read.
fn is_without_results(failure: &Failure) -> bool {
    [Exit::Benchmark, Exit::Unreadable, Exit::Empty].into_iter().any(|exit| failure.is(exit))
}

/// Whether results contain a benchmark.
fn has(results: &Results, name: &str) -> bool {
    results.entries.iter().any(|entry| entry.label.as_str() == name)
}

/// Returns the expected number of further rounds with their duration.
fn expected(rounds: &Rounds<'_>, mean: Duration) -> String {
    match rounds.rounds_left() {
        Some(1) => format!("; about 1 more round{}", time_left(mean, 1, 2)),
        Some(rounds) => format!("; about {rounds} more rounds{}", time_left(mean, 1, rounds as usize + 1)),
        None => String::new(),
    }
}
