//! Texts of the verdict on a run: the comparison of each of its series with the baseline.

use std::collections::{HashMap, HashSet};

use tidemark_stats::median;

use crate::{
    format,
    metric::{self, MetricRow, ThresholdStatus},
};
use tidemark_api::{
    BenchmarkUuid, Change, ChangeCause, ChangeDirection, Measure, MeasureUuid, VariantUuid, Verdict,
    VerdictAnswer, VerdictComparison,
};

/// Maximum number of changes that are listed one by one.
const LISTED_CHANGES_MAX: usize = 20;
/// Maximum number of reasons of mutes that are listed.
const LISTED_REASONS_MAX: usize = 3;
/// Runs that a conclusive baseline needs. In a smaller baseline, all runs can be closer to their level than one run in twenty.
const CONCLUSIVE_RUNS: u32 = 19;
/// Sentence about the number of runs that a large and a small change require.
const REQUIRED_RUNS: &str = "A large change shows after 3 runs, a small one after 19.";
/// Largest smallest detectable change that is shown, as a share. A larger share only means that there is too much noise.
const SHOWN_DETECTABLE_MAX: f64 = 1.0;
/// Length of a short commit hash.
const SHORT_HASH: usize = 10;

/// A series of a report: its iterations with their thresholds, and its comparison with the baseline.
pub struct VerdictRow<'a> {
    /// Iterations, the worst first; empty if only the comparison is known.
    pub rows: Vec<&'a MetricRow<'a>>,
    /// Comparison, if the server returns one.
    pub comparison: Option<&'a VerdictComparison>,
}

/// Returns the key of the series of a metric.
fn series_key(row: &MetricRow<'_>) -> (BenchmarkUuid, Option<VariantUuid>, MeasureUuid) {
    let variant = row.result.variant.as_ref().map(|variant| variant.uuid);
    (row.result.benchmark.uuid, variant, row.measured.measure.uuid)
}

/// Returns the number of regressed series that have no value with the limits of a threshold. Muted series do not count.
pub fn regressions_without_threshold(rows: &[MetricRow<'_>], verdict: &Verdict) -> u32 {
    let limited: HashSet<_> = rows.iter().filter(|row| row.status.has_limits()).map(series_key).collect();
    let is_regressed = |one: &&VerdictComparison| {
        let variant = one.variant.as_ref().map(|variant| variant.uuid);
        (one.answer, one.direction) == (VerdictAnswer::Changed, ChangeDirection::Regression)
            && one.muted.is_none()
            && !limited.contains(&(one.benchmark.uuid, variant, one.measure.uuid))
    };
    u32::try_from(verdict.comparisons.iter().filter(is_regressed).count()).unwrap_or(u32::MAX)
}

/// Returns the series of a report: changed series and series outside a threshold first, the worst first.
pub fn verdict_rows<'a>(rows: &'a [MetricRow<'a>], verdict: Option<&'a Verdict>) -> Vec<VerdictRow<'a>> {
    let comparisons = verdict.into_iter().flat_map(|verdict| &verdict.comparisons);
    let comparisons: HashMap<_, (usize, &VerdictComparison)> = comparisons
        .enumerate()
        .map(|(index, one)| {
            let variant = one.variant.as_ref().map(|variant| variant.uuid);
            ((one.benchmark.uuid, variant, one.measure.uuid), (index, one))
        })
        .collect();
    let mut indexes: HashMap<_, usize> = HashMap::new();
    let mut lines: Vec<(usize, VerdictRow<'_>)> = Vec::new();
    for row in rows {
        let found = comparisons.get(&series_key(row));
        let index = *indexes.entry(series_key(row)).or_insert(lines.len());
        if index == lines.len() {
            let comparison = found.map(|(_, comparison)| *comparison);
            lines.push((
                found.map_or(usize::MAX, |(index, _)| *index),
                VerdictRow { rows: Vec::new(), comparison },
            ));
        }
        lines[index].1.rows.push(row);
    }
    lines.sort_by_key(|(index, line)| (!line.has_changed(), *index));
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Returns the rows of a verdict without metrics.
pub fn comparison_rows(verdict: &Verdict) -> Vec<VerdictRow<'_>> {
    verdict.comparisons.iter().map(|one| VerdictRow { rows: Vec::new(), comparison: Some(one) }).collect()
}

impl VerdictRow<'_> {
    /// Whether the series changed or has a value outside a threshold.
    pub fn has_changed(&self) -> bool {
        self.comparison.is_some_and(|one| one.answer == VerdictAnswer::Changed) || self.count_outside() > 0
    }

    /// Whether the series regressed.
    pub fn is_regressed(&self) -> bool {
        self.word() == "regressed"
    }

    /// Returns the verdict as one word; empty if there is none.
    pub fn word(&self) -> &'static str {
        self.comparison.map_or("", |one| match (one.answer, one.direction) {
            (VerdictAnswer::Changed, _) if one.muted.is_some() => "muted",
            (VerdictAnswer::Changed, ChangeDirection::Regression) => "regressed",
            (VerdictAnswer::Changed, ChangeDirection::Improvement) => "improved",
            (VerdictAnswer::Changed, ChangeDirection::Unknown) => "changed",
            (VerdictAnswer::Unchanged, _) => "unchanged",
            (VerdictAnswer::Inconclusive, _) => "inconclusive",
        })
    }

    /// Returns the benchmark with its parameters.
    pub fn benchmark(&self) -> String {
        match (self.rows.first(), self.comparison) {
            (Some(row), _) => row.benchmark(),
            (None, Some(one)) => benchmark(&one.benchmark, one.variant.as_ref()),
            (None, None) => String::new(),
        }
    }

    /// Returns the name of the measure.
    pub fn measure(&self) -> String {
        self.measure_of_series().map_or_else(String::new, |measure| format::plain(measure.name.as_str()))
    }

    fn measure_of_series(&self) -> Option<&Measure> {
        let measured = self.rows.first().map(|row| &row.measured.measure);
        measured.map(|measure| &**measure).or(self.comparison.map(|one| &one.measure))
    }

    /// Returns the number of iterations; empty if there is one.
    pub fn iterations(&self) -> String {
        if self.rows.len() > 1 { self.rows.len().to_string() } else { String::new() }
    }

    /// Returns the value: the median of the iterations.
    pub fn value(&self) -> String {
        let values: Vec<f64> = self.rows.iter().map(|row| row.measured.metric.value).collect();
        let units = self.measure_of_series().map_or("", |measure| measure.units.as_str());
        let value = median(&values).or(self.comparison.map(|one| one.head));
        value.map_or_else(String::new, |value| format::quantity(value, units))
    }

    /// Returns the level of the baseline; empty if there is none.
    pub fn base(&self) -> String {
        let base = self.comparison.and_then(|one| Some((one.base?, one.measure.units.as_str())));
        base.map_or_else(String::new, |(base, units)| format::quantity(base, units))
    }

    /// Returns the difference from the level of the baseline.
    pub fn change(&self) -> String {
        self.comparison.and_then(|one| one.change).map_or_else(String::new, format::percent)
    }

    /// Returns half the width of the 95 % confidence interval of the change.
    pub fn half_width(&self) -> String {
        let ends = self.comparison.and_then(|one| Some((one.change?, one.lower?, one.upper?)));
        let half_width = ends.map(|(change, lower, upper)| (change - lower).max(upper - change));
        half_width.map_or_else(String::new, |half_width| format!("±{}", format::share(half_width)))
    }

    /// Returns the smallest detectable change. Above 100 % only the fact that there is too much noise counts.
    pub fn detectable(&self) -> String {
        match self.comparison.and_then(|one| one.detectable) {
            None => String::new(),
            Some(share) if share > SHOWN_DETECTABLE_MAX => {
                format!(">{}", format::share(SHOWN_DETECTABLE_MAX))
            }
            Some(share) => format::share(share),
        }
    }

    /// Returns the limits of the threshold, and whether the value is outside.
    pub fn limit(&self) -> String {
        let limit = self.rows.first().map_or_else(String::new, |row| row.limit());
        let is_muted = self.rows.iter().any(|row| row.status == ThresholdStatus::Muted);
        match (self.count_outside(), self.rows.len()) {
            (0, _) if is_muted => format!("muted outside {limit}"),
            (0, _) => limit,
            (1, 1) => format!("outside {limit}"),
            (outside, all) => format!("{outside} of {all} outside {limit}"),
        }
    }

    /// Returns the number of iterations outside their threshold.
    fn count_outside(&self) -> usize {
        self.rows.iter().filter(|row| row.status.is_outside()).count()
    }
}

/// Returns the word for a direction.
pub fn word(direction: ChangeDirection) -> &'static str {
    match direction {
        ChangeDirection::Regression => "regression",
        ChangeDirection::Improvement => "improvement",
        ChangeDirection::Unknown => "change",
    }
}

fn benchmark(benchmark: &tidemark_api::Benchmark, variant: Option<&tidemark_api::Variant>) -> String {
    format::benchmark(benchmark.name.as_str(), variant.map(|variant| &variant.parameters))
}

/// Returns the number of comparisons of each verdict as text, the worst first.
pub fn counts(verdict: &Verdict) -> String {
    let counts = &verdict.counts;
    let parts: Vec<String> = [
        (counts.regressions, "regressed"),
        (counts.differences, "changed"),
        (counts.improvements, "improved"),
        (counts.muted, "muted"),
        (counts.unchanged, "unchanged"),
        (counts.inconclusive, "inconclusive"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    if parts.is_empty() { "nothing was measured".to_owned() } else { parts.join(", ") }
}

/// Returns a short summary of the verdict and the thresholds.
pub fn summary(rows: &[MetricRow<'_>], verdict: Option<&Verdict>) -> String {
    let parts: Vec<String> = verdict.map(counts).into_iter().chain(metric::limits(rows)).collect();
    if parts.is_empty() { "no verdict and no threshold".to_owned() } else { parts.join(", ") }
}

/// Returns additional sentences: remarks, advice and the changes found.
pub fn sentences(verdict: &Verdict) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(advice(verdict));
    match verdict.cause {
        ChangeCause::Code => {}
        ChangeCause::Noise => {
            sentences
                .push("The same commit or binary was measured before: all differences are noise.".to_owned());
        }
        ChangeCause::Host => {
            let factors = verdict.factors.iter().filter(|factor| factor.is_host).map(|factor| {
                let name = format::plain(factor.measure.name.as_str());
                format!("{name} {}", format::percent(factor.change))
            });
            sentences.push(format!(
                "Most benchmarks changed together ({}): check the machine first. The verdicts exclude this \
                 common change.",
                factors.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    sentences.extend(mute_reasons(verdict));
    let changes: Vec<&Change> = verdict
        .changes
        .iter()
        .filter(|change| change.cause != ChangeCause::Noise && change.muted.is_none())
        .collect();
    sentences.extend(changes.iter().take(LISTED_CHANGES_MAX).map(|change| change_sentence(change)));
    if let Some(more) = changes.len().checked_sub(LISTED_CHANGES_MAX).filter(|more| *more > 0) {
        sentences.push(format!("… and {more} more changes."));
    }
    sentences
}

/// Returns why changed series are muted; `None` if none is.
fn mute_reasons(verdict: &Verdict) -> Option<String> {
    let changed = verdict.comparisons.iter().filter(|one| one.answer == VerdictAnswer::Changed);
    let mut reasons: Vec<&str> =
        changed.filter_map(|one| one.muted.as_ref()).map(|muted| muted.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() {
        return None;
    }
    let more = reasons.len().saturating_sub(LISTED_REASONS_MAX);
    let listed = reasons.iter().take(LISTED_REASONS_MAX).map(|reason| format::plain(reason));
    let listed = listed.collect::<Vec<_>>().join("; ");
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(format!("Muted series do not fail the run ({listed}{more})."))
}

/// Returns why comparisons are inconclusive and what to do; `None` if none is.
fn advice(verdict: &Verdict) -> Option<String> {
    let inconclusive = || verdict.comparisons.iter().filter(|one| one.answer == VerdictAnswer::Inconclusive);
    let runs = inconclusive().map(|one| one.base_runs).max()?;
    let mut detectable: Vec<f64> = inconclusive().filter_map(|one| one.detectable).collect();
    detectable.sort_by(f64::total_cmp);
    let detectable = detectable.get(detectable.len() / 2).copied();
    if let Some(pairs) = verdict.pairs {
        return Some(format!(
            "Inconclusive after {pairs} pairs. More rounds or a longer timeout of the job show more."
        ));
    }
    let runs = match runs {
        0 => return Some(format!("There is no earlier run to compare with. {REQUIRED_RUNS}")),
        1 => "There is 1 earlier run".to_owned(),
        runs if runs < CONCLUSIVE_RUNS => format!("There are {runs} earlier runs"),
        _ => {
            let detectable = match detectable {
                Some(detectable) if detectable <= SHOWN_DETECTABLE_MAX => {
                    format!("changes below {}", format::share(detectable))
                }
                Some(_) => "even changes of 100%".to_owned(),
                None => "changes".to_owned(),
            };
            return Some(format!(
                "Inconclusive: the noise hides {detectable}. More iterations (--iter), measuring both commits in turn (--ab) or a \
                 quieter testbed shows smaller ones."
            ));
        }
    };
    Some(match detectable.filter(|detectable| *detectable <= SHOWN_DETECTABLE_MAX) {
        Some(detectable) => format!(
            "{runs}, so the confidence is low: a change of {} would have been detected. {REQUIRED_RUNS} --ab compares \
             two commits without earlier runs.",
            format::share(detectable)
        ),
        None => format!("{runs}. {REQUIRED_RUNS} --ab compares two commits without earlier runs."),
    })
}

/// Returns a sentence about a change that was found with a report.
fn change_sentence(change: &Change) -> String {
    let units = change.measure.units.as_str();
    let since = match &change.at.version.hash {
        Some(hash) => hash.as_str().chars().take(SHORT_HASH).collect(),
        None => format!("version {}", change.at.version.number),
    };
    let effect = change.effect.map_or_else(String::new, |effect| format!(" ({})", format::percent(effect)));
    let state = change.confirmation.map_or_else(String::new, |state| format!(", {state}"));
    format!(
        "Found now: a lasting {} of {} {} since {since}, from {} to {}{effect}{state}.",
        word(change.direction),
        benchmark(&change.benchmark, change.variant.as_ref()),
        format::plain(change.measure.name.as_str()),
        format::quantity(change.before, units),
        format::quantity(change.after, units),
    )
}
