//! Runs a job that compares its image with a base: both sides in pairs, one after the other in random order or at the same time on
//! separate cores, until every benchmark has a verdict or a limit is reached.

use std::{collections::HashMap, io::Read, time::Instant};

use tidemark_adapters::{Results, parse};
use tidemark_api::{Adapter, Average, Fold, JobBase, JobIteration, JobNoise, JobSide, Parameters, Spec};
use tidemark_stats::{Comparison, Criteria, PAIRED_CONFIDENCE, Pairs, Verdict, Worse, verdicts};
use uuid::Uuid;

use super::{FileRequest, JobEnd, JobPlan, LongText, RunResults, SYNTHETIC_MARK, failure, measure_noise};
use crate::{
    Host,
    error::{Error, Explain, Result},
    image::Image,
    sandbox::{CapturedOutput, Command, Exit, Limits, RunControl, RunOutcome, Task},
};

/// Number of successive failed rounds after which further rounds would fail, too.
const MAX_FAILED_ROUNDS: u32 = 3;

/// Limits of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairLimits {
    /// The sides run one after the other with the same limits.
    Interleaved(Limits),
    /// The sides run at the same time, and then again with exchanged cores.
    Duet([Limits; 2]),
}

impl PairLimits {
    /// Returns the limits that a spec sets on this host. A duet needs the cores of the spec twice.
    pub fn new(host: &Host, spec: &Spec, duet: bool) -> Result<Self> {
        let limits = super::limits(host, spec)?;
        if !duet {
            return Ok(Self::Interleaved(limits));
        }
        let mut first = host.cores.choose(spec.cpu.get().saturating_mul(2))?;
        let second = first.split_off(first.len() / 2);
        let with = |cores| Limits { cores, ..limits.clone() };
        Ok(Self::Duet([with(first), with(second)]))
    }

    /// Number of runs of a round.
    fn runs_per_round(&self) -> u64 {
        match self {
            Self::Interleaved(_) => 2,
            Self::Duet(_) => 4,
        }
    }

    /// Returns the limits of the side that runs on the first cores.
    pub(crate) fn first(&self) -> &Limits {
        match self {
            Self::Interleaved(limits) | Self::Duet([limits, _]) => limits,
        }
    }
}

/// A job that compares two images.
pub struct PairJob<'a> {
    /// Image of the base.
    pub base_image: &'a Image,
    /// Image of the job.
    pub new_image: &'a Image,
    /// Command and limits of both sides.
    pub plan: &'a JobPlan,
    /// Adapter, rounds and criteria of the comparison.
    pub base: &'a JobBase,
    /// Average to read if the tool prints several.
    pub average: Option<Average>,
    /// Limits of the sides.
    pub limits: &'a PairLimits,
}

/// A side that is ready to run.
struct Side<'a> {
    side: JobSide,
    image: &'a Image,
    command: Command,
}

impl<'a> PairJob<'a> {
    /// Makes the runs of the job and appends the result of each to `results`. Calls `on_run` after each run.
    pub fn run(
        &self,
        host: &Host,
        control: &RunControl,
        results: &mut RunResults,
        mut on_run: impl FnMut(&RunOutcome),
    ) -> JobEnd {
        self.run_rounds(host, control, results, &mut on_run)
            .unwrap_or_else(|error| JobEnd::Failed(error.to_string()))
    }

    fn run_rounds(
        &self,
        host: &Host,
        control: &RunControl,
        results: &mut RunResults,
        on_run: &mut dyn FnMut(&RunOutcome),
    ) -> Result<JobEnd> {
        let started = Instant::now();
        let side = |side, image: &'a Image| -> Result<Side<'a>> {
            Ok(Side { side, image, command: self.plan.command(&image.config)? })
        };
        let sides = [side(JobSide::Base, self.base_image)?, side(JobSide::New, self.new_image)?];
        let requests = self.plan.file_requests(results.bounds);
        let round_runner = RoundRunner {
            host,
            control,
            limits: self.limits,
            deadline: started + self.plan.timeout,
            requests: &requests,
        };
        let mut rounds = Rounds::default();
        let mut failed_rounds = 0;
        let mut before = measure_noise(self.limits.first());
        for round in 1..=self.base.rounds {
            let size = results.remaining();
            let output = results.bounds.output.min(size / self.limits.runs_per_round());
            // If the order within a pair is random, no effect of the order favors a side.
            let is_base_first = Uuid::new_v4().as_bytes()[0] & 1 == 0;
            let outcomes = round_runner.run(&sides, is_base_first, output)?;
            let after = measure_noise(self.limits.first());
            let noise = JobNoise { before, after };
            before = after;
            outcomes.iter().for_each(|(_, outcome)| on_run(outcome));
            let is_timeout = outcomes.iter().any(|(_, outcome)| outcome.exit == Exit::TimedOut);
            if is_timeout && rounds.count > 0 {
                // Time is up; the complete rounds count.
                break;
            }
            let failed =
                outcomes.iter().find_map(|(_, outcome)| failure(outcome, self.plan, self.limits.first()));
            let is_stopped = outcomes.iter().any(|(_, outcome)| outcome.exit == Exit::Stopped);
            let mut parsed = [Vec::new(), Vec::new()];
            for (place, mut outcome) in outcomes {
                let side = &sides[place];
                let texts = self.plan.result_texts(&side.command, &mut outcome);
                if failed.is_none() {
                    parsed[place].extend(self.parse(side.side, &texts, &outcome.stdout)?);
                }
                let short = JobIteration {
                    side: Some(side.side),
                    round: Some(round),
                    ..JobPlan::short_result(&outcome, noise)
                };
                results.push(&short, &outcome.stdout, &outcome.stderr, &texts)?;
            }
            match failed {
                _ if is_stopped => return Ok(JobEnd::Stopped),
                Some(reason) if is_timeout || !self.plan.allow_failure => return Ok(JobEnd::Failed(reason)),
                Some(reason) => {
                    failed_rounds += 1;
                    if failed_rounds == MAX_FAILED_ROUNDS && rounds.count == 0 {
                        return Ok(JobEnd::Failed(reason));
                    }
                }
                None => failed_rounds = 0,
            }
            // The runs of a side in a round count as one value.
            if let [Some(base), Some(new)] = parsed.map(|runs| Results::fold(&runs, Fold::Mean)) {
                rounds.add(self.base, &base, &new);
            }
            let mean = started.elapsed() / round;
            let used = size - results.remaining();
            if rounds.is_decided(self.base)
                || failed_rounds == MAX_FAILED_ROUNDS
                || started.elapsed() + mean > self.plan.timeout
                || results.remaining() < used.saturating_mul(2)
            {
                break;
            }
        }
        Ok(JobEnd::Completed)
    }

    /// Parses the results of a run. Several values of a benchmark count as one value.
    fn parse(
        &self,
        side: JobSide,
        texts: &[(String, LongText)],
        stdout: &CapturedOutput,
    ) -> Result<Option<Results>> {
        let read = |adapter: Adapter, text: &str| {
            parse(adapter, text, self.average).map_err(|error| {
                Error::new(format!("The output of the side `{side}` could not be read: {error}"))
            })
        };
        let results = if texts.is_empty() {
            vec![read(self.base.adapter, &read_text(stdout)?)?]
        } else {
            let of_file = |(path, text): &(String, LongText)| {
                let adapter = if path.contains(SYNTHETIC_MARK) { Adapter::Json } else { self.base.adapter };
                match text {
                    LongText::File(captured) => read(adapter, &read_text(captured)?),
                    LongText::Memory(text) => read(adapter, text),
                }
            };
            texts.iter().map(of_file).collect::<Result<Vec<_>>>()?
        };
        Ok(Results::fold(&results, Fold::Mean))
    }
}

fn read_text(captured: &CapturedOutput) -> Result<String> {
    let mut bytes = Vec::new();
    let read = captured.reader().and_then(|mut reader| reader.read_to_end(&mut bytes));
    read.explain(|| "The output of the job cannot be read")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs both sides of a round.
struct RoundRunner<'a> {
    host: &'a Host,
    control: &'a RunControl,
    limits: &'a PairLimits,
    deadline: Instant,
    requests: &'a [FileRequest],
}

impl RoundRunner<'_> {
    /// Runs both sides: in this order, or as a duet, in which the first side starts on the first cores. Returns the outcomes with
    /// the indexes of their sides.
    fn run(
        &self,
        sides: &[Side<'_>; 2],
        is_base_first: bool,
        output: u64,
    ) -> Result<Vec<(usize, RunOutcome)>> {
        let run = |side: &Side<'_>, limits: &Limits| {
            self.host.sandbox.run(&Task {
                root: &side.image.root,
                command: &side.command,
                limits,
                deadline: self.deadline,
                output,
                files: self.requests,
                control: self.control,
                binds: &[],
            })
        };
        let order: [usize; 2] = if is_base_first { [0, 1] } else { [1, 0] };
        let [first, second] = match self.limits {
            PairLimits::Interleaved(limits) => {
                let mut outcomes = Vec::with_capacity(2);
                for side in order {
                    outcomes.push((side, run(&sides[side], limits)?));
                }
                outcomes.sort_by_key(|(side, _)| *side);
                return Ok(outcomes);
            }
            PairLimits::Duet(limits) => limits,
        };
        let mut outcomes = Vec::with_capacity(4);
        // Both sides run on both sets of cores, so that different cores favor no side.
        for [on_first, on_second] in [order, [order[1], order[0]]] {
            let both = std::thread::scope(|scope| {
                let handles = [
                    scope.spawn(|| run(&sides[on_first], first)),
                    scope.spawn(|| run(&sides[on_second], second)),
                ];
                let failed = |_| Err(Error::new("The sandbox failed with an internal error."));
                handles.map(|handle| handle.join().unwrap_or_else(failed))
            });
            let [one, other] = both;
            let mut both = [(on_first, one?), (on_second, other?)];
            both.sort_by_key(|(side, _)| *side);
            let is_ended =
                |(_, outcome): &(usize, RunOutcome)| matches!(outcome.exit, Exit::TimedOut | Exit::Stopped);
            let is_over = both.iter().any(is_ended);
            outcomes.extend(both);
            if is_over {
                break;
            }
        }
        Ok(outcomes)
    }
}

/// A benchmark with its parameters, and a measure.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Series {
    label: String,
    parameters: Option<Parameters>,
    measure: String,
}

/// Complete rounds: the pairs of values of each series.
#[derive(Default)]
struct Rounds {
    /// Number of complete rounds.
    count: u32,
    series: HashMap<Series, Pairs>,
}

impl Rounds {
    fn add(&mut self, job: &JobBase, base: &Results, new: &Results) {
        self.count += 1;
        let base: HashMap<Series, f64> = values(base).collect();
        for (series, value) in values(new) {
            if let Some(base) = base.get(&series) {
                let empty = || Pairs::new(PAIRED_CONFIDENCE, job.same_within);
                self.series.entry(series).or_insert_with(empty).push(*base, value);
            }
        }
    }

    /// Whether every benchmark that needs a verdict has one.
    fn is_decided(&self, base: &JobBase) -> bool {
        let needs_verdict =
            |series: &Series| base.benchmarks.is_empty() || base.benchmarks.contains(&series.label);
        let compared: Vec<(Comparison, Worse)> = self
            .series
            .iter()
            .filter(|(series, _)| needs_verdict(series))
            .map(|(_, pairs)| (pairs.quick_comparison(), Worse::Unknown))
            .collect();
        let criteria = Criteria { smallest_change: base.min_change, same_within: base.same_within };
        self.count > 0
            && verdicts(&compared, &criteria).iter().all(|(verdict, _)| *verdict != Verdict::Inconclusive)
    }
}

fn values(results: &Results) -> impl Iterator<Item = (Series, f64)> {
    results.entries.iter().flat_map(|entry| {
        entry.metrics().map(move |metric| {
            let series = Series {
                label: entry.label.as_str().to_owned(),
                parameters: entry.parameters(),
                measure: metric.measure.as_str().to_owned(),
            };
            (series, metric.value)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(benchmarks: &[&str]) -> JobBase {
        JobBase {
            repository: None,
            digest: String::new(),
            image: None,
            adapter: Adapter::Json,
            duet: false,
            rounds: 10,
            benchmarks: benchmarks.iter().map(|name| (*name).to_owned()).collect(),
            min_change: 0.01,
            same_within: 0.05,
        }
    }

    /// Results of the benchmarks `a`, with this value, and `noisy`.
    fn results(value: f64, noise: f64) -> Results {
        let text =
            format!(r#"{{"a":{{"latency":{{"value":{value}}}}},"noisy":{{"latency":{{"value":{noise}}}}}}}"#);
        parse(Adapter::Json, &text, None).unwrap()
    }

    #[test]
    fn the_comparison_ends_when_the_wanted_benchmarks_have_a_verdict() {
        let mut rounds = Rounds::default();
        assert!(!rounds.is_decided(&base(&[])));
        for round in 0..10_u32 {
            let noise = if round.is_multiple_of(2) { (100.0, 200.0) } else { (200.0, 100.0) };
            rounds.add(&base(&[]), &results(10.0, noise.0), &results(12.0, noise.1));
        }
        assert!(rounds.is_decided(&base(&["a"])));
        assert!(!rounds.is_decided(&base(&["a", "noisy"])));
        assert!(!rounds.is_decided(&base(&[])));
        // A benchmark that no side measures needs no further rounds.
        assert!(rounds.is_decided(&base(&["missing"])));
    }
}
