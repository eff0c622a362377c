//! Quartiles of a sample, interpolated linearly between neighbors (type 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in
//! Statistical Packages", 1996).

/// First quartile, median and third quartile of a sample.
pub(crate) struct Quartiles {
    pub(crate) first: f64,
    pub(crate) median: f64,
    pub(crate) third: f64,
}

impl Quartiles {
    /// Sorts the sample, which must not be empty, and computes its quartiles.
    ///
    /// A quartile is not finite if a value that it depends on is not finite; the other quartiles are unaffected.
    pub(crate) fn of(sample: &mut [f64]) -> Self {
        sample.sort_unstable_by(f64::total_cmp);
        Self { first: quantile(sample, 1), median: quantile(sample, 2), third: quantile(sample, 3) }
    }

    /// Returns the interquartile range.
    pub(crate) fn interquartile_range(&self) -> f64 {
        self.third - self.first
    }
}

fn quantile(sorted: &[f64], quarters: usize) -> f64 {
    let rank = quarters * (sorted.len() - 1);
    let (index, rest) = (rank / 4, rank % 4);
    let below = sorted[index];
    if rest == 0 {
        // Without interpolation, the next value is not used: it may not exist, or be infinite.
        return below;
    }
    below + (sorted[index + 1] - below) * (rest as f64 / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quartiles(sample: &[f64]) -> [f64; 3] {
        let Quartiles { first, median, third } = Quartiles::of(&mut sample.to_vec());
        [first, median, third]
    }

    #[test]
    fn quartiles_are_interpolated() {
        assert_eq!(quartiles(&[7.0]), [7.0, 7.0, 7.0]);
        assert_eq!(quartiles(&[12.0, 10.0]), [10.5, 11.0, 11.5]);
        assert_eq!(quartiles(&[102.0, 98.0, 100.0, 101.0, 99.0]), [99.0, 100.0, 101.0]);
        assert_eq!(quartiles(&[10.0, 12.0, 11.0, 50.0]), [10.75, 11.5, 21.5]);
    }

    #[test]
    fn an_infinite_value_affects_only_adjacent_quartiles() {
        assert_eq!(quartiles(&[f64::INFINITY, 1.0, 2.0, 3.0, 4.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[f64::INFINITY, 1.0, 2.0]), [1.5, 2.0, f64::INFINITY]);
    }
}
