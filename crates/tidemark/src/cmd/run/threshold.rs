//! Threshold flags: lists whose elements belong together by position, compatible with existing scripts.

use std::collections::BTreeMap;

use tidemark_api::{
    Boundary, MeasureDirection, ModelTest, NameId, NewModel, ReportThresholds, SampleSize, Window,
};
use tidemark_stats::Test;

use crate::failure::{Failure, Result};

/// Placeholder for a missing value.
const SKIP: &str = "_";

/// Thresholds of the branch and testbed of a run.
#[derive(clap::Args)]
pub(crate) struct ThresholdFlags {
    /// Measure with a threshold; repeat the flag for several: the flags below apply to the measures by position
    #[arg(long, value_name = "MEASURE")]
    threshold_measure: Vec<String>,
    /// Test of the threshold: static percentage z_score t_test log_normal iqr delta_iqr
    #[arg(long, value_name = "TEST", requires = "threshold_measure")]
    threshold_test: Vec<String>,
    /// Minimum number of values in the sample; `_` means no value, also for the flags below
    #[arg(long, value_name = "COUNT", requires = "threshold_measure")]
    threshold_min_sample_size: Vec<String>,
    /// Maximum number of values in the sample, the newest ones
    #[arg(long, value_name = "COUNT", requires = "threshold_measure")]
    threshold_max_sample_size: Vec<String>,
    /// Maximum age of the values in the sample, in seconds
    #[arg(long, value_name = "SECONDS", requires = "threshold_measure")]
    threshold_window: Vec<String>,
    /// Lower boundary
    #[arg(long, value_name = "NUMBER", requires = "threshold_measure", allow_negative_numbers = true)]
    threshold_lower_boundary: Vec<String>,
    /// Upper boundary
    #[arg(long, value_name = "NUMBER", requires = "threshold_measure", allow_negative_numbers = true)]
    threshold_upper_boundary: Vec<String>,
    /// Remove the models of all other thresholds of the branch and testbed
    #[arg(long)]
    thresholds_reset: bool,
}

impl ThresholdFlags {
    /// Returns the thresholds to send; `None` if no flag was given.
    pub(crate) fn thresholds(&self) -> Result<Option<ReportThresholds>> {
        let mut models = BTreeMap::new();
        for (flag, values) in self.lists() {
            if values.len() > self.threshold_measure.len() {
                return Err(Failure::usage(format!(
                    "--{flag} is given {} times for {} measures; give --threshold-measure for each.",
                    values.len(),
                    self.threshold_measure.len()
                )));
            }
        }
        for (index, measure) in self.threshold_measure.iter().enumerate() {
            let id: NameId = measure.parse().map_err(|error| {
                Failure::usage(format!("The measure `{measure}` of --threshold-measure is invalid: {error}."))
            })?;
            if models.insert(id, self.model(index, measure)?).is_some() {
                return Err(Failure::usage(format!(
                    "The measure `{measure}` is given twice with --threshold-measure."
                )));
            }
        }
        let thresholds = ReportThresholds {
            models: Some(models).filter(|models| !models.is_empty()),
            reset: self.thresholds_reset.then_some(true),
        };
        Ok((thresholds != ReportThresholds::default()).then_some(thresholds))
    }

    fn lists(&self) -> [(&'static str, &[String]); 6] {
        [
            ("threshold-test", &self.threshold_test),
            ("threshold-min-sample-size", &self.threshold_min_sample_size),
            ("threshold-max-sample-size", &self.threshold_max_sample_size),
            ("threshold-window", &self.threshold_window),
            ("threshold-lower-boundary", &self.threshold_lower_boundary),
            ("threshold-upper-boundary", &self.threshold_upper_boundary),
        ]
    }

    fn model(&self, index: usize, measure: &str) -> Result<NewModel> {
        let test = self.threshold_test.get(index).filter(|test| *test != SKIP).ok_or_else(|| {
            Failure::usage(format!(
                "The measure `{measure}` has no test; give --threshold-test as often as --threshold-measure."
            ))
        })?;
        let test = match test.as_str() {
            "z" => Test::ZScore,
            "t" => Test::TTest,
            test => test.parse().map_err(|_| {
                let tests = Test::ALL.map(Test::as_str).join(" ");
                Failure::usage(format!("`{test}` of --threshold-test is not one of: {tests}."))
            })?,
        };
        let size = |flag, values: &[String]| {
            number::<u32>(flag, values, index)?
                .map(SampleSize::try_from)
                .transpose()
                .map_err(|error| invalid(flag, error))
        };
        let boundary = |flag, values: &[String]| {
            number::<f64>(flag, values, index)?
                .map(Boundary::try_from)
                .transpose()
                .map_err(|error| invalid(flag, error))
        };
        let window = "threshold-window";
        let model = NewModel {
            test: ModelTest(test),
            min_sample_size: size("threshold-min-sample-size", &self.threshold_min_sample_size)?,
            max_sample_size: size("threshold-max-sample-size", &self.threshold_max_sample_size)?,
            window: number::<u32>(window, &self.threshold_window, index)?
                .map(Window::try_from)
                .transpose()
                .map_err(|error| invalid(window, error))?,
            lower_boundary: boundary("threshold-lower-boundary", &self.threshold_lower_boundary)?,
            upper_boundary: boundary("threshold-upper-boundary", &self.threshold_upper_boundary)?,
        };
        // The server validates, too, but only after the benchmarks have run.
        model.complete(MeasureDirection::worse(measure, None)).map_err(|error| {
            Failure::usage(format!("The threshold of `{measure}` cannot be used: {error}."))
        })?;
        Ok(model)
    }
}

/// Parses the element of a list at a position, if there is one.
fn number<T: std::str::FromStr>(flag: &str, values: &[String], index: usize) -> Result<Option<T>> {
    let Some(text) = values.get(index).filter(|text| *text != SKIP) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        Failure::usage(format!("`{text}` of --{flag} is not a valid number; use `{SKIP}` for no value."))
    })
}

fn invalid(flag: &str, error: tidemark_api::Invalid) -> Failure {
    Failure::usage(format!("The value of --{flag} is invalid: {error}."))
}
