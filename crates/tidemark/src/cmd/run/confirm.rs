//! `tidemark run --confirm`: measures the benchmarks that look regressed or are inconclusive again, against the base on this
//! machine, before the exit status is decided. The report that was sent stays as it is.

use std::fmt::Write;

use serde_json::{Value, json};
use tidemark_api::{
    Adapter, AlertStatus, Benchmark, ChangeCause, ChangeDirection, EventStatus, GitHash, Measure, Report,
    Variant, VerdictAnswer, VerdictComparison, measure,
};
use tidemark_stats::Verdict;

use super::Run;
use crate::{
    checkout,
    comparison::{ComparisonReport, Series},
    failure::{Failure, Result},
    output,
    table::{Column, Table},
    verdict::{MetricRow, ThresholdStatus},
};

/// Number of digits of a commit in messages.
const HASH_LENGTH: usize = 12;

/// Suspected benchmarks, measured again.
pub(super) struct Confirmation {
    /// Commit that they were compared with.
    base: String,
    is_identical: bool,
    suspects: Vec<Suspect>,
}

/// A series that looked regressed or was inconclusive.
struct Suspect {
    series: Series,
    suspicion: Suspicion,
    state: State,
    /// Verdict of the comparison; `None` if the series was not measured on both sides.
    verdict: Option<Verdict>,
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
    /// The time was too short for a verdict; the verdict of the run stays valid.
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
            Ok(confirmation) => confirmation,
            Err(failure) => {
                message!(
                    "warning: Nothing could be measured again: {failure} The verdict of the run stays valid."
                );
                None
            }
        }
    }

    fn measure_again(
        &self,
        suspects: Vec<(Series, Suspicion)>,
        verdict: Option<&tidemark_api::Verdict>,
        adapter: Option<Adapter>,
    ) -> Result<Option<Confirmation>> {
        let folder = self.benchmark.folder();
        let base = self.base(verdict)?;
        let is_given = self.ab.confirm.as_ref().is_some_and(|base| !base.is_empty());
        if !is_given
            && checkout::commit(folder, &base)? == checkout::commit(folder, "HEAD")?
            && !checkout::is_modified(folder)?
        {
            message!("The base is the measured commit; nothing is measured again.");
            return Ok(None);
        }
        if !self.quiet {
            let count = match suspects.len() {
                1 => "1 series".to_owned(),
                count => format!("{count} series"),
            };
            message!("Measuring {count} again, against {base} (base).");
        }
        let only: Vec<Series> = suspects.iter().map(|(series, _)| series.clone()).collect();
        let report = self.interleave(&base, Some(&only), adapter).run()?;
        let judge = |(series, suspicion)| Suspect::new(series, suspicion, &report);
        let suspects = suspects.into_iter().map(judge).collect();
        Ok(Some(Confirmation { base, is_identical: report.is_identical(), suspects }))
    }

    /// Returns the commit to compare with.
    fn base(&self, verdict: Option<&tidemark_api::Verdict>) -> Result<String> {
        let given = self.ab.confirm.clone().filter(|base| !base.is_empty());
        let short = |hash: &GitHash| hash.as_str().get(..HASH_LENGTH).unwrap_or(hash.as_str()).to_owned();
        let of_flag = || self.start_point.hash().map(short);
        let of_baseline = || {
            let version = verdict?.baseline.as_ref()?.branch.head.version.as_ref()?;
            version.hash.as_ref().map(short)
        };
        given.or_else(of_flag).or_else(of_baseline).ok_or_else(|| {
            Failure::usage("The commit of the baseline is unknown; name the base with --confirm=BASE.")
        })
    }
}

/// Returns the series that look regressed, by the verdict or by a threshold, and those that are inconclusive.
fn suspects(rows: &[MetricRow<'_>], verdict: Option<&tidemark_api::Verdict>) -> Vec<(Series, Suspicion)> {
    let mut found: Vec<(Series, Suspicion)> = Vec::new();
    let mut add = |series: Series, suspicion: Suspicion| {
        if !found.iter().any(|(other, _)| *other == series) {
            found.push((series, suspicion));
        }
    };
    for row in rows.iter().filter(|row| row.status == ThresholdStatus::Worse) {
        let variant = row.result.variant.as_deref();
        add(series(&row.result.benchmark, variant, &row.measured.measure), Suspicion::Regressed);
    }
    let Some(verdict) = verdict else { return found };
    for change in verdict.changes.iter().filter(|change| change.muted.is_none()) {
        if (change.direction, change.cause, change.status)
            == (ChangeDirection::Regression, ChangeCause::Code, EventStatus::Open)
        {
            add(series(&change.benchmark, change.variant.as_ref(), &change.measure), Suspicion::Regressed);
        }
    }
    for one in verdict.comparisons.iter().filter(|one| one.muted.is_none()) {
        let suspicion = match (one.answer, one.direction) {
            (VerdictAnswer::Changed, ChangeDirection::Regression) => Suspicion::Regressed,
            // The base does not have a new benchmark.
            (VerdictAnswer::Inconclusive, _) if one.base_runs == 0 && verdict.baseline.is_some() => continue,
            (VerdictAnswer::Inconclusive, _) => Suspicion::Inconclusive,
            _ => continue,
        };
        add(series(&one.benchmark, one.variant.as_ref(), &one.measure), suspicion);
    }
    found
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
    fn new(series: Series, suspicion: Suspicion, report: &ComparisonReport) -> Self {
        let found = report.verdict(&series);
        let verdict = found.map(|(verdict, ..)| verdict);
        let state = match verdict {
            _ if report.is_identical() => State::Refuted,
            Some(Verdict::Regression | Verdict::Difference) => State::Confirmed,
            Some(Verdict::Improvement | Verdict::Unchanged) => State::Refuted,
            Some(Verdict::Inconclusive) | None => State::Unresolved,
        };
        let change = found.and_then(|(_, comparison, _)| comparison.change);
        let interval = found.and_then(|(_, comparison, _)| comparison.interval);
        let pairs = found.map_or(0, |(.., pairs)| pairs);
        Self { series, suspicion, state, verdict, change, interval, pairs }
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
                    self.update(one, suspect);
                }
            }
            count(verdict);
        }
        report
    }

    fn update(&self, comparison: &mut VerdictComparison, suspect: &Suspect) {
        let (answer, direction) = match suspect.verdict {
            _ if self.is_identical => (VerdictAnswer::Unchanged, ChangeDirection::Unknown),
            Some(Verdict::Regression) => (VerdictAnswer::Changed, ChangeDirection::Regression),
            Some(Verdict::Improvement) => (VerdictAnswer::Changed, ChangeDirection::Improvement),
            Some(Verdict::Difference) => (VerdictAnswer::Changed, ChangeDirection::Unknown),
            Some(Verdict::Unchanged) => (VerdictAnswer::Unchanged, ChangeDirection::Unknown),
            Some(Verdict::Inconclusive) | None => return,
        };
        (comparison.answer, comparison.direction) = (answer, direction);
        if !self.is_identical {
            comparison.change = suspect.change;
            (comparison.lower, comparison.upper) = suspect.interval.unzip();
        }
    }

    /// Returns the text for a terminal.
    pub(super) fn human(&self) -> String {
        let base = output::plain(&self.base);
        if self.is_identical {
            return format!("The binary is identical to that of {base} (base): no difference is real.\n");
        }
        let columns = [
            Column::Left("State"),
            Column::Benchmark("Benchmark"),
            Column::Text("Measure"),
            Column::Right("Change"),
            Column::Right("Interval"),
            Column::Right("Runs"),
        ];
        let mut table = Table::new(columns, &["Runs", "Interval"]);
        for suspect in &self.suspects {
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
        let mut text = format!("Measured again, against {base} (base):\n\n{}", table.show());
        if self
            .suspects
            .iter()
            .any(|one| (one.state, one.suspicion) == (State::Unresolved, Suspicion::Regressed))
        {
            let _ = writeln!(
                text,
                "\nUnresolved regressions count as regressions; to resolve them, increase --max-time."
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
            "base": self.base,
            "identical": self.is_identical,
            "suspects": self.suspects.iter().map(suspect).collect::<Vec<_>>(),
        })
    }
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
