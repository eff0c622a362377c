//! Explains an alert by its history: the usual level, since when it differs, how certain this is, and which versions to check.
//! The explanation is a starting point for an investigation and does not change the alert.

use serde_json::{Value, json};
use tidemark_api::{Alert, BoundaryLimit, Perf, PerfMetric};
use tidemark_stats::{Level, levels, median, noise};
use url::form_urlencoded;

use super::summary::{percent, point, share};

/// Maximum number of analyzed points: the newest points, and the points around the alert.
const MAX_POINTS: usize = 512;
/// Number of points to show before and after the alert.
const SHOWN_POINTS: usize = 12;
/// Number of standard deviations from the usual level above which a value is an outlier.
const OUTLIER_DEVIATIONS: f64 = 3.5;
/// Size of a change, in standard deviations, that is detected with a power of 80 % at a significance level of 5 %.
const DETECTABLE_DEVIATIONS: f64 = 2.8;

/// A history that contains an alert.
struct History<'a> {
    points: &'a [PerfMetric],
    values: Vec<f64>,
    levels: Vec<Level>,
    noise: Option<f64>,
    /// Index of the metric of the alert.
    place: usize,
    /// Whether a greater value is worse.
    rising: bool,
}

/// The most likely explanation.
struct Explanation {
    /// Index of the first outlier.
    place: usize,
    verdict: String,
}

/// Explains an alert by the series of its metric. `console` is the URL of the console.
pub(super) fn of(alert: &Alert, perf: &Perf, console: &str) -> Option<Value> {
    let is_its = |metric: &PerfMetric| metric.metric.uuid == alert.metric.uuid;
    let series = perf.results.iter().find(|series| series.metrics.iter().any(is_its))?;
    let all = series.metrics.as_slice();
    let place = all.iter().position(is_its)?;
    // The newest points, but always including the alert and the points before it.
    let start = all.len().saturating_sub(MAX_POINTS).min(place.saturating_sub(MAX_POINTS / 2));
    let points = &all[start..all.len().min(start + MAX_POINTS)];
    let values: Vec<f64> = points.iter().map(|metric| metric.metric.value).collect();
    let history = History {
        levels: levels(&values),
        noise: noise(&values),
        points,
        values,
        place: place - start,
        rising: alert.limit == BoundaryLimit::Upper,
    };
    let explanation = history.explanation();
    let before = history.values.get(..explanation.place).unwrap_or_default();
    let usual = history.usual_before(explanation.place);
    let visible = history.noise.zip(usual).map(|(noise, usual)| {
        DETECTABLE_DEVIATIONS * noise * (1.0 + 1.0 / before.len().max(1) as f64).sqrt() / usual.abs()
    });
    let limit = if history.rising { alert.boundary.upper_limit } else { alert.boundary.lower_limit };
    let (threshold, measure) = (&alert.threshold, &alert.threshold.measure);
    let after = history.values.get(history.place + 1..).unwrap_or_default();
    let around = history.place.saturating_sub(SHOWN_POINTS)
        ..history.points.len().min(history.place + SHOWN_POINTS + 1);
    Some(json!({
        "verdict": explanation.verdict,
        "alert": { "uuid": alert.uuid, "status": alert.status, "limit": alert.limit, "created": alert.created },
        "benchmark": alert.benchmark.name,
        "parameters": alert.variant.as_ref().map(|variant| json!(variant.parameters)),
        "measure": { "name": measure.name, "units": measure.units, "direction": measure.direction },
        "branch": threshold.branch.name,
        "testbed": threshold.testbed.name,
        "value": alert.metric.value,
        "expected": alert.boundary.baseline,
        "limit": limit,
        "change_percent": percent(share(alert.boundary.baseline.or(usual), Some(alert.metric.value))),
        "likely_first_bad": history.points.get(explanation.place).map(point),
        "last_good": explanation.place.checked_sub(1).and_then(|place| history.points.get(place)).map(point),
        "history": {
            "points": all.len(),
            "looked_at": history.points.len(),
            "noise_percent": percent(history.noise.zip(usual).map(|(noise, usual)| noise / usual.abs())),
            "smallest_visible_change_percent": percent(visible),
            "points_after_alert": after.len(),
            "median_after_alert": median(after),
        },
        "levels": history.levels.iter().map(|level| history.show(level)).collect::<Vec<_>>(),
        "around_alert": history.points[around].iter().map(point).collect::<Vec<_>>(),
        "links": links(alert, perf, console),
    }))
}

impl History<'_> {
    /// Finds the first outlier.
    fn explanation(&self) -> Explanation {
        let own = self.levels.iter().position(|level| (level.start..level.end).contains(&self.place));
        if let Some([before, after]) = own.and_then(|own| self.levels.get(own.checked_sub(1)?..=own))
            && self.is_worse(after.median, before.median)
        {
            let change = percent(share(Some(before.median), Some(after.median))).unwrap_or_default();
            let (runs, since) = (after.end - after.start, self.name(after.start));
            return Explanation {
                place: after.start,
                verdict: format!(
                    "The level changed by {change} % at {since}, confirmed by {runs} runs: this is probably \
                     a real change. Check the commits between the previous version and this one."
                ),
            };
        }
        let usual = self.usual_before(self.place);
        let is_outlier = |place: usize| {
            let value = self.values.get(place).copied();
            value.zip(usual).zip(self.noise).is_some_and(|((value, usual), noise)| {
                self.is_worse(value, usual) && (value - usual).abs() > OUTLIER_DEVIATIONS * noise
            })
        };
        let mut first = self.place;
        while first > 0 && is_outlier(first) && is_outlier(first - 1) {
            first -= 1;
        }
        let later = self.values.len() - self.place - 1;
        let verdict = if self.noise.is_none() {
            "There are too few runs to distinguish a change from noise; measure this version and the \
             previous version again."
                .to_owned()
        } else if !is_outlier(self.place) {
            "The value crosses the limit but is within the usual variation of this benchmark: this is \
             probably noise. Measure again, and consider a wider limit or a larger sample."
                .to_owned()
        } else if later > 0 && !is_outlier(self.place + 1) {
            "The value is an outlier, and the next run was normal again: this is probably a disturbance of one run."
                .to_owned()
        } else if later == 0 {
            let runs = self.place - first + 1;
            format!(
                "The value is an outlier, and it is the newest ({runs} in a row): this can be a change or a \
                 disturbance. Measure this version again to decide."
            )
        } else {
            "The value and later values are outliers, but there are too few runs for a new level; measure again."
                .to_owned()
        };
        Explanation { place: first, verdict }
    }

    fn is_worse(&self, value: f64, usual: f64) -> bool {
        if self.rising { value > usual } else { value < usual }
    }

    /// Returns the usual value before an index: the median of the earlier part of its level, or of the previous level.
    fn usual_before(&self, place: usize) -> Option<f64> {
        let level = self.levels.iter().rev().find(|level| level.start < place)?;
        median(&self.values[level.start..level.end.min(place)])
    }

    fn name(&self, place: usize) -> String {
        let version = &self.points[place].version;
        match &version.hash {
            Some(hash) => format!("version {} (commit {hash})", version.number),
            None => format!("version {}", version.number),
        }
    }

    fn show(&self, level: &Level) -> Value {
        let end = |place: usize| {
            let PerfMetric { version, start_time, .. } = &self.points[place];
            json!({ "version": version.number, "hash": version.hash, "start_time": start_time })
        };
        let points = level.end - level.start;
        json!({ "points": points, "median": level.median, "from": end(level.start), "to": end(level.end - 1) })
    }
}

/// Returns the links to the console.
fn links(alert: &Alert, perf: &Perf, console: &str) -> Value {
    let project = format!("{console}/console/projects/{}", perf.project.slug);
    let threshold = &alert.threshold;
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("branches", &threshold.branch.uuid.to_string())
        .append_pair("heads", &threshold.branch.head.uuid.to_string())
        .append_pair("testbeds", &threshold.testbed.uuid.to_string())
        .append_pair("benchmarks", &alert.benchmark.uuid.to_string())
        .append_pair("measures", &threshold.measure.uuid.to_string())
        .finish();
    json!({
        "alert": format!("{project}/alerts/{}", alert.uuid),
        "report": format!("{project}/reports/{}", alert.report),
        "plot": format!("{project}/perf?{query}"),
    })
}
