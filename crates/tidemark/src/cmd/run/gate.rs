//! Exit status of a run: from its thresholds, from its verdict, or both.

use tidemark_api::{Report, Verdict};
use tidemark_render::verdict::regressions_without_threshold;

use crate::verdict::{MetricRow, ThresholdStatus};

/// Conditions under which a run fails.
#[derive(Clone, Copy)]
pub(super) struct Gate {
    /// A value outside a threshold, or a regression of a series without a threshold.
    pub(super) on_alert: bool,
    /// A regression.
    pub(super) on_change: bool,
}

impl Gate {
    /// Returns why a run fails; `None` if it passes. Warns if the flags cannot make this run fail.
    pub(super) fn cause(
        self,
        report: &Report,
        rows: &[MetricRow<'_>],
        verdict: Option<&Verdict>,
    ) -> Option<String> {
        let has_no_threshold = rows.iter().all(|row| row.status == ThresholdStatus::NoThreshold);
        if self.on_alert && has_no_threshold && verdict.is_none() {
            message!(
                "warning: --error-on-alert has no effect: no threshold applies to this report, and the server gives \
                 no verdict. Create a threshold with `tidemark threshold create` or --threshold-measure."
            );
        }
        let worse = match verdict {
            Some(verdict) if self.on_change => verdict.counts.regressions,
            Some(verdict) if self.on_alert => regressions_without_threshold(rows, verdict),
            _ => 0,
        };
        // Alerts of an expected event are dismissed.
        match (report.counts.alerts.unmuted(), worse) {
            (1, _) if self.on_alert => Some("There is 1 alert.".to_owned()),
            (alerts @ 2.., _) if self.on_alert => Some(format!("There are {alerts} alerts.")),
            (_, 0) => None,
            (_, 1) => Some("There is 1 regression against the baseline.".to_owned()),
            (_, _) => Some(format!("There are {worse} regressions against the baseline.")),
        }
    }
}
