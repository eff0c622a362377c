//! `tidemark run --confirm`: measures the benchmarks that look regressed or are inconclusive again, against the base on this
//! machine, before the exit status is decided. The report that was sent stays as it is.

use std::{fmt::Write, time::Instant};

use serde_json::{Value, json};
use tidemark_api::{
    Adapter, AlertStatus, Benchmark, ChangeDirection, GitHash, Measure, Report, Variant, VerdictAnswer,
    VerdictComparison, measure,
};
use tidemark_stats::{Comparison, Test, Verdict};

use super::Run;
use crate::{
    checkout,
    comparison::{ComparisonReport, Series},
    failure::{Failure, Result},
    interleave::Interleave,
    output,
    table::{Column, Table},
    verdict::{MetricRow, ThresholdStatus},
};

/// Number of digits of a commit in messages.
const HASH_LENGTH: usize = 12;

/// Suspected benchmarks, measured again.
pub(super) struct Confirmation {
    suspects: Vec<Suspect>,
}

/// A series that looks regressed or is inconclusive.
struct SuspectedSeries {
    series: Series,
    suspicion: Suspicion,
    /// Commit before the suspected change, if the verdict has it.
    base: Option<String>,
    /// Level of the baseline and of the run, if the verdict has both.
    levels: Option<(f64, f64)>,
    limits: Vec<CrossedLimit>,
}

/// Limits of a threshold that the value is outside of, in the worse direction.
#[derive(Clone, Copy)]
struct CrossedLimit {
    lower: Option<f64>,
    upper: Option<f64>,
    /// Whether the limits do not depend on earlier values.
    is_static: bool,
}

/// A suspected series with its second measurement.
struct Suspect {
    series: Series,
    suspicion: Suspicion,
    /// Commit that it was compared with.
    base: String,
    /// Whether the binaries of both sides are identical, so that nothing was measured.
    is_identical: bool,
    state: State,
    /// Verdict of the comparison; `None` if the series was not measured on both sides.
    verdict: Option<Verdict>,
    /// Whether both sides are at the level of the run, not at the level of the baseline.
    is_at_level_of_run: bool,
    change: Option<f64>,
    interval: Option<(f64, f64)>,
    pairs: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Suspicion {
    Regressed,
    Inconclusive,
}

/// Result of the second measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The change is real.
    Confirmed,
    /// There is no regression.
    Refuted,
    /// There is no answer, for example because the time was too short; the verdict of the run stays valid.
    Unresolved,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Unresolved => "unresolved",
        }
    }
}

impl Run {
    /// Reports errors of `--confirm` before the benchmarks run.
    pub(super) fn check_confirm(&self) -> Result {
        let Some(base) = &self.ab.confirm else { return Ok(()) };
        if !self.benchmark.is_given() {
            return Err(Failure::usage("--confirm requires a command; give the command to run."));
        }
        // A missing repository is an error, too.
        checkout::commit(self.benchmark.folder(), if base.is_empty() { "HEAD" } else { base }).map(drop)
    }

    /// Measures suspected benchmarks again. A failure is a warning, because the results are already recorded: the verdict of the
    /// run then stays valid. Returns `None` if nothing is to be measured.
    pub(super) fn confirm(
        &self,
        rows: &[MetricRow<'_>],
        verdict: Option<&tidemark_api::Verdict>,
        adapter: Option<Adapter>,
    ) -> Option<Confirmation> {
        self.ab.confirm.as_ref()?;
        let suspects = suspects(rows, verdict);
        if suspects.is_empty() {
            return None;
        }
        match self.measure_again(suspects, verdict, adapter) {
            Ok(suspects) => Some(Confirmation { suspects }).filter(|found| !found.suspects.is_empty()),
            Err(failure) => {
                warn(&failure);
                None
            }
        }
    }

    fn measure_again(
        &self,
        suspects: Vec<SuspectedSeries>,
        verdict: Option<&tidemark_api::Verdict>,
        adapter: Option<Adapter>,
    ) -> Result<Vec<Suspect>> {
        let folder = self.benchmark.folder();
        // The suspected changes may have begun at different commits.
        let mut groups: Vec<(String, Vec<SuspectedSeries>)> = Vec::new();
        for suspect in suspects {
            let base = self.base(&suspect, verdict)?;
            match groups.iter_mut().find(|(other, _)| *other == base) {
                Some((_, group)) => group.push(suspect),
                None => groups.push((base, vec![suspect])),
            }
        }
        let is_given = self.ab.confirm.as_ref().is_some_and(|base| !base.is_empty());
        let mut measured = Vec::new();
        let started = Instant::now();
        for (index, (base, group)) in groups.iter().enumerate() {
            if !is_given
                && checkout::commit(folder, base)? == checkout::commit(folder, "HEAD")?
                && !checkout::is_modified(folder)?
            {
                message!("The base is the measured commit; nothing is measured again.");
                continue;
            }
            if !self.quiet {
                let count = match group.len() {
                    1 => "1 series".to_owned(),
                    count => format!("{count} series"),
                };
                message!("Measuring {count} again, against {base} (base).");
            }
            let only: Vec<Series> = group.iter().map(|suspect| suspect.series.clone()).collect();
            let interleave = self.interleave(base, Some(&only), adapter);
            let share = interleave.limits.share(started.elapsed(), groups.len() - index);
            let interleave = Interleave { limits: share, ..interleave };
            match interleave.run() {
                Ok(report) => {
                    measured.extend(group.iter().map(|suspect| Suspect::new(suspect, base, &report)));
                }
                Err(failure) => warn(&failure),
            }
        }
        Ok(measured)
    }

    /// Returns the commit to compare a suspect with: the last one before its change may have begun.
    fn base(&self, suspect: &SuspectedSeries, verdict: Option<&tidemark_api::Verdict>) -> Result<String> {
        let given = self.ab.confirm.clone().filter(|base| !base.is_empty());
        let of_flag = || self.start_point.hash().map(short);
        let of_baseline = || {
            let version = verdict?.baseline.as_ref()?.branch.head.version.as_ref()?;
            version.hash.as_ref().map(short)
        };
        given.or_else(of_flag).or_else(|| suspect.base.clone()).or_else(of_baseline).ok_or_else(|| {
            Failure::usage("The commit of the baseline is unknown; name the base with --confirm=BASE.")
        })
    }
}

fn warn(failure: &Failure) {
    message!("warning: Nothing could be measured again: {failure} The verdict of the run stays valid.");
}

fn short(hash: &GitHash) -> String {
    hash.as_str().get(..HASH_LENGTH).unwrap_or(hash.as_str()).to_owned()
}

/// Returns the series that look regressed, by the verdict or by a threshold, and those that are inconclusive.
fn suspects(rows: &[MetricRow<'_>], verdict: Option<&tidemark_api::Verdict>) -> Vec<SuspectedSeries> {
    let mut found: Vec<SuspectedSeries> = Vec::new();
    let mut add = |series: Series, suspicion: Suspicion| -> usize {
        found.iter().position(|one| one.series == series).unwrap_or_else(|| {
            found.push(SuspectedSeries { series, suspicion, base: None, levels: None, limits: Vec::new() });
            found.len() - 1
        })
    };
    let mut limits: Vec<(usize, CrossedLimit)> = Vec::new();
    for row in rows.iter().filter(|row| row.status == ThresholdStatus::Worse) {
        let variant = row.result.variant.as_deref();
        let index = add(series(&row.result.benchmark, variant, &row.measured.measure), Suspicion::Regressed);
        limits.extend(CrossedLimit::of(row).map(|limit| (index, limit)));
    }
    let comparisons = verdict.iter().flat_map(|verdict| &verdict.comparisons);
    for one in comparisons.clone().filter(|one| one.muted.is_none()) {
        let suspicion = match (one.answer, one.direction) {
            (VerdictAnswer::Changed, ChangeDirection::Regression) => Suspicion::Regressed,
            // The base does not have a new benchmark.
            (VerdictAnswer::Inconclusive, _)
                if one.base_runs == 0 && verdict.is_some_and(|verdict| verdict.baseline.is_some()) =>
            {
                continue;
            }
            (VerdictAnswer::Inconclusive, _) => Suspicion::Inconclusive,
            _ => continue,
        };
        add(series(&one.benchmark, one.variant.as_ref(), &one.measure), suspicion);
    }
    for (index, limit) in limits {
        found[index].limits.push(limit);
    }
    for one in comparisons {
        let own = series(&one.benchmark, one.variant.as_ref(), &one.measure);
        let Some(suspect) = found.iter_mut().find(|suspect| suspect.series == own) else { continue };
        suspect.base = one.base_version.as_ref().and_then(|version| version.hash.as_ref()).map(short);
        let is_regressed =
            (one.answer, one.direction) == (VerdictAnswer::Changed, ChangeDirection::Regression);
        // The change excludes the common factor of the benchmarks.
        let base = one.change.map(|change| one.head / (1.0 + change));
        suspect.levels = base.filter(|_| is_regressed).map(|base| (base, one.head));
    }
    found
}

impl CrossedLimit {
    fn of(row: &MetricRow<'_>) -> Option<Self> {
        let boundary = row.measured.boundary?;
        let threshold = row.measured.threshold.as_ref();
        let is_static = threshold.is_some_and(|threshold| threshold.model.test.0 == Test::Static);
        Some(Self { lower: boundary.lower_limit, upper: boundary.upper_limit, is_static })
    }

    fn is_crossed(&self, value: f64) -> bool {
        self.lower.is_some_and(|lower| value < lower) || self.upper.is_some_and(|upper| value > upper)
    }
}

/// Returns a series as the results of a tool name it.
fn series(benchmark: &Benchmark, variant: Option<&Variant>, measure: &Measure) -> Series {
    let built_in = measure::built_in(measure.slug.as_str()).and_then(|known| known.slug.parse().ok());
    Series {
        label: benchmark.name.as_str().to_owned(),
        parameters: variant.map(|variant| variant.parameters.clone()),
        measure: built_in.unwrap_or_else(|| measure.name.clone()),
    }
}

impl Suspect {
    fn new(suspect: &SuspectedSeries, base: &str, report: &ComparisonReport) -> Self {
        let found = report.verdict(&suspect.series);
        let comparison = found.map(|(_, comparison, _)| comparison);
        let is_at_level_of_run = comparison.is_some_and(|found| suspect.is_at_level_of_run(found));
        let verdict = match found.map(|(verdict, ..)| verdict) {
            // The base may have the change already.
            Some(Verdict::Unchanged) if is_at_level_of_run => Some(Verdict::Inconclusive),
            verdict => verdict,
        };
        let is_crossed =
            |limit: &&CrossedLimit| comparison.is_none_or(|comparison| limit.is_crossed(comparison.new));
        let crossed = suspect.limits.iter().find(is_crossed);
        let is_static = suspect.limits.iter().filter(is_crossed).any(|limit| limit.is_static);
        let state = match verdict {
            // The base may be outside a limit that does not depend on it.
            _ if report.is_identical() && is_static => State::Unresolved,
            _ if report.is_identical() => State::Refuted,
            Some(Verdict::Regression | Verdict::Difference) => State::Confirmed,
            Some(_) if is_static => State::Confirmed,
            Some(Verdict::Improvement | Verdict::Unchanged) if crossed.is_none() => State::Refuted,
            Some(_) | None => State::Unresolved,
        };
        Self {
            series: suspect.series.clone(),
            suspicion: suspect.suspicion,
            base: base.to_owned(),
            is_identical: report.is_identical(),
            state,
            verdict,
            is_at_level_of_run: is_at_level_of_run || (state == State::Unresolved && crossed.is_some()),
            change: comparison.and_then(|comparison| comparison.change),
            interval: comparison.and_then(|comparison| comparison.interval),
            pairs: found.map_or(0, |(.., pairs)| pairs),
        }
    }

    /// Replaces the result of a comparison by the second measurement, if it has one.
    fn update(&self, comparison: &mut VerdictComparison) {
        let (answer, direction) = match self.verdict {
            _ if self.is_identical => (VerdictAnswer::Unchanged, ChangeDirection::Unknown),
            Some(Verdict::Regression) => (VerdictAnswer::Changed, ChangeDirection::Regression),
            Some(Verdict::Improvement) => (VerdictAnswer::Changed, ChangeDirection::Improvement),
            Some(Verdict::Difference) => (VerdictAnswer::Changed, ChangeDirection::Unknown),
            Some(Verdict::Unchanged) => (VerdictAnswer::Unchanged, ChangeDirection::Unknown),
            Some(Verdict::Inconclusive) | None => return,
        };
        (comparison.answer, comparison.direction) = (answer, direction);
        if !self.is_identical {
            comparison.change = self.change;
            (comparison.lower, comparison.upper) = self.interval.unzip();
        }
    }
}

impl SuspectedSeries {
    /// Whether both sides of a comparison are closer to the level of the run than to the level of the baseline.
    fn is_at_level_of_run(&self, comparison: &Comparison) -> bool {
        self.levels.is_some_and(|(base, run)| {
            [comparison.base, comparison.new].iter().all(|value| (value - run).abs() < (value - base).abs())
        })
    }
}

impl Confirmation {
    /// Returns the report without the alerts of refuted series, and updates the verdict to the second measurement.
    pub(super) fn apply(&self, report: &Report, verdict: Option<&mut tidemark_api::Verdict>) -> Report {
        let mut report = report.clone();
        let is_refuted = |other: &Series| {
            self.suspects.iter().any(|one| one.state == State::Refuted && one.series == *other)
        };
        if let Some(alerts) = &mut report.alerts {
            let before = alerts.len();
            let mut active = 0;
            alerts.retain(|alert| {
                let variant = alert.variant.as_ref();
                let status = ThresholdStatus::of_crossing(alert.limit, alert.threshold.measure.worse());
                let is_removed = status == ThresholdStatus::Worse
                    && alert.muted.is_none()
                    && is_refuted(&series(&alert.benchmark, variant, &alert.threshold.measure));
                active += u32::from(is_removed && alert.status == AlertStatus::Active);
                !is_removed
            });
            let removed = u32::try_from(before - alerts.len()).unwrap_or(u32::MAX);
            let counts = &mut report.counts.alerts;
            counts.total = counts.total.saturating_sub(removed);
            counts.active = counts.active.saturating_sub(active);
        }
        if let Some(verdict) = verdict {
            verdict
                .changes
                .retain(|one| !is_refuted(&series(&one.benchmark, one.variant.as_ref(), &one.measure)));
            for one in verdict.comparisons.iter_mut().filter(|one| one.muted.is_none()) {
                let own = series(&one.benchmark, one.variant.as_ref(), &one.measure);
                if let Some(suspect) = self.suspects.iter().find(|suspect| suspect.series == own) {
                    suspect.update(one);
                }
            }
            count(verdict);
        }
        report
    }

    /// Returns the commits that the suspects were compared with.
    fn bases(&self) -> Vec<&str> {
        let mut bases: Vec<&str> = Vec::new();
        for suspect in &self.suspects {
            if !bases.contains(&suspect.base.as_str()) {
                bases.push(&suspect.base);
            }
        }
        bases
    }

    /// Returns the text for a terminal.
    pub(super) fn human(&self) -> String {
        let mut text = String::new();
        for base in self.bases() {
            let suspects: Vec<&Suspect> = self.suspects.iter().filter(|one| one.base == base).collect();
            let base = output::plain(base);
            let gap = if text.is_empty() { "" } else { "\n" };
            if suspects.iter().all(|one| one.is_identical) {
                let _ = writeln!(
                    text,
                    "{gap}The binary is identical to that of {base} (base): no difference is real."
                );
            } else {
                let _ = write!(text, "{gap}Measured again, against {base} (base):\n\n{}", table(&suspects));
            }
        }
        let unresolved = |is_at_level: bool| {
            self.suspects.iter().any(|one| {
                (one.state, one.suspicion) == (State::Unresolved, Suspicion::Regressed)
                    && one.is_at_level_of_run == is_at_level
            })
        };
        if unresolved(false) {
            let _ = writeln!(
                text,
                "\nUnresolved regressions count as regressions; to resolve them, increase --max-time."
            );
        }
        if unresolved(true) {
            let _ = writeln!(
                text,
                "\nA regression is unresolved if both sides have the value of this run: the machine is slower than before, or the \
                 base has the change already. It counts as a regression. --confirm=BASE names an older base."
            );
        }
        text
    }

    /// Returns the object `confirmation` of the report in JSON.
    pub(super) fn json(&self) -> Value {
        let suspect = |one: &Suspect| {
            json!({
                "benchmark": one.series.label,
                "parameters": one.series.parameters,
                "measure": one.series.measure,
                "base": one.base,
                "suspected": match one.suspicion {
                    Suspicion::Regressed => "regressed",
                    Suspicion::Inconclusive => "inconclusive",
                },
                "state": one.state.as_str(),
                "change": one.change,
                "lower": one.interval.map(|(lower, _)| lower),
                "upper": one.interval.map(|(_, upper)| upper),
                "pairs": one.pairs,
            })
        };
        json!({
            "base": self.bases().first(),
            "identical": self.suspects.iter().all(|one| one.is_identical),
            "suspects": self.suspects.iter().map(suspect).collect::<Vec<_>>(),
        })
    }
}

/// Returns the table of suspects with the same base.
fn table(suspects: &[&Suspect]) -> String {
    let columns = [
        Column::Left("State"),
        Column::Benchmark("Benchmark"),
        Column::Text("Measure"),
        Column::Right("Change"),
        Column::Right("Interval"),
        Column::Right("Runs"),
    ];
    let mut table = Table::new(columns, &["Runs", "Interval"]);
    for suspect in suspects {
        let interval = suspect
            .interval
            .map(|(lower, upper)| format!("{} … {}", output::percent(lower), output::percent(upper)));
        table.push([
            suspect.state.as_str().to_owned(),
            suspect.series.benchmark(),
            output::plain(suspect.series.measure.as_str()),
            suspect.change.map_or_else(String::new, output::percent),
            interval.unwrap_or_default(),
            format!("{} pairs", suspect.pairs),
        ]);
    }
    table.show()
}

/// Counts the comparisons of a verdict again, as the server does.
fn count(verdict: &mut tidemark_api::Verdict) {
    let counts = &mut verdict.counts;
    (counts.regressions, counts.improvements, counts.differences) = (0, 0, 0);
    (counts.unchanged, counts.inconclusive) = (0, 0);
    for one in verdict.comparisons.iter().filter(|one| one.muted.is_none()) {
        *match (one.answer, one.direction) {
            (VerdictAnswer::Changed, ChangeDirection::Regression) => &mut counts.regressions,
            (VerdictAnswer::Changed, ChangeDirection::Improvement) => &mut counts.improvements,
            (VerdictAnswer::Changed, ChangeDirection::Unknown) => &mut counts.differences,
            (VerdictAnswer::Unchanged, _) => &mut counts.unchanged,
            (VerdictAnswer::Inconclusive, _) => &mut counts.inconclusive,
        } += 1;
    }
    verdict.answer = if counts.regressions + counts.improvements + counts.differences > 0 {
        VerdictAnswer::Changed
    } else if counts.unchanged > 0 {
        VerdictAnswer::Unchanged
    } else {
        VerdictAnswer::Inconclusive
    };
}
