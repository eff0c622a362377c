//! Model `log_normal`: quantiles of the log-normal distribution fitted to the sample. Limits are factors, not distances.

use crate::limits::{Bounds, Limits};
use crate::{moments, normal};

pub(crate) fn limits(boundaries: Bounds, sample: &[f64], scratch: &mut Vec<f64>) -> Option<Limits> {
    if sample.len() < 2 || sample.iter().any(|&value| value <= 0.0) {
        return None;
    }
    // Logarithms relative to one value of the sample lose no precision to its magnitude, and the result for a constant
    // history is exactly that constant.
    let unit = sample[0];
    scratch.clear();
    scratch.extend(sample.iter().map(|value| (value / unit).ln()));
    let mean = moments::mean(scratch);
    let deviation = moments::deviation(scratch, mean);
    let baseline = unit * mean.exp();
    let distance = boundaries.map(|p| deviation * normal::quantile(p));
    Limits {
        baseline: Some(baseline),
        lower: distance.lower.map(|distance| baseline * (-distance).exp()),
        upper: distance.upper.map(|distance| baseline * distance.exp()),
    }
    .if_finite()
}
