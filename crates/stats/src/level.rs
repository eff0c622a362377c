//! Descriptive statistics of a history: its noise from run to run, and its levels. The models compute limits for new values.

/// Standard deviation of normal values divided by their median absolute deviation.
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;
/// Standard deviation of normal values divided by their mean absolute deviation.
pub(crate) const MEAN_DEVIATION_TO_SIGMA: f64 = 1.253_314_137_315_500_3;
/// Variance of the median of normal values, relative to that of their mean.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;
/// Minimum length of a level, so that the median of the shortest level ignores one outlier.
const MIN_LEVEL_LENGTH: usize = 3;

/// Successive values that vary around one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of the first value.
    pub start: usize,
    /// Index after the last value.
    pub end: usize,
    /// Median of the values.
    pub median: f64,
}

/// Returns the median; `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// Returns the median and reorders the values; `None` if there are no values.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    let is_even = values.len().is_multiple_of(2);
    let (_, below, above) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let next = above.iter().copied().min_by(f64::total_cmp).filter(|_| is_even);
    Some(next.map_or(*below, |next| *below + (next - *below) / 2.0))
}

/// Whether values are counts rather than timings, which the machine does not affect: most equal their predecessor.
pub fn is_exact(values: &[f64]) -> bool {
    count_repeated(values) * 2 >= values.len()
}

/// Returns the number of values that equal their predecessor.
pub(crate) fn count_repeated(values: &[f64]) -> usize {
    values.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// Returns the median absolute deviation.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    median(&values.iter().map(|value| (value - center).abs()).collect::<Vec<_>>())
}

/// Returns the noise from run to run as a standard deviation; `None` with fewer than three values.
///
/// It is estimated from the differences of successive values, of which a change of level affects one and a drift none.
pub fn noise(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let estimate = median(&steps)? * MAD_TO_SIGMA;
    // If most differences are zero, the median is zero and the mean is used instead.
    let deviation = if estimate > 0.0 {
        estimate
    } else {
        steps.iter().sum::<f64>() / steps.len() as f64 * MEAN_DEVIATION_TO_SIGMA
    };
    Some(deviation / std::f64::consts::SQRT_2)
}

/// Divides a history into levels.
///
/// Finds the cut with the smallest sum of distances from the medians of both sides, accepts it if the medians differ
/// significantly given the noise, and divides both sides recursively (binary segmentation; A. J. Scott and M. Knott, 1974).
/// The penalty grows with the logarithm of the length, which is the number of candidate cuts.
pub fn levels(values: &[f64]) -> Vec<Level> {
    let mut found = Vec::new();
    let noise = noise(values).filter(|noise| noise.is_finite()).unwrap_or(0.0);
    segment(values, 0, noise, &mut found);
    found
}

fn segment(values: &[f64], offset: usize, noise: f64, found: &mut Vec<Level>) {
    let Some(whole) = median(values) else { return };
    match best_cut(values, noise) {
        Some(index) => {
            segment(&values[..index], offset, noise, found);
            segment(&values[index..], offset + index, noise, found);
        }
        None => found.push(Level { start: offset, end: offset + values.len(), median: whole }),
    }
}

/// Returns the index of the best cut, if it is significant.
fn best_cut(values: &[f64], noise: f64) -> Option<usize> {
    let count = values.len();
    if count < 2 * MIN_LEVEL_LENGTH || noise <= 0.0 {
        return None;
    }
    let before = prefix_statistics(values.iter().copied());
    let after = prefix_statistics(values.iter().rev().copied());
    let sides = |index: usize| (before[index - 1], after[count - index - 1]);
    let index = (MIN_LEVEL_LENGTH..=count - MIN_LEVEL_LENGTH).min_by(|left, right| {
        let distance = |index: usize| sides(index).0.distance + sides(index).1.distance;
        distance(*left).total_cmp(&distance(*right))
    })?;
    let (left, right) = sides(index);
    let step = (left.median - right.median) / noise;
    let share = index as f64 * (count - index) as f64 / count as f64;
    let best = share * step * step / MEDIAN_VARIANCE;
    let penalty = 3.0 * (count as f64).ln().max(3.0);
    (best > penalty).then_some(index)
}

/// A prefix of the values: its median, and the sum of the distances from it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PrefixStatistics {
    median: f64,
    distance: f64,
}

/// Returns the statistics of all prefixes, starting with the first value.
fn prefix_statistics(values: impl Iterator<Item = f64>) -> Vec<PrefixStatistics> {
    let mut sorted: Vec<f64> = Vec::new();
    values
        .map(|value| {
            let index = sorted.partition_point(|earlier| earlier.total_cmp(&value).is_lt());
            sorted.insert(index, value);
            let middle = sorted.len() / 2;
            let median = match sorted.len() % 2 {
                1 => sorted[middle],
                _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
            };
            PrefixStatistics { median, distance: sorted.iter().map(|value| (value - median).abs()).sum() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generates approximately normal numbers with a standard deviation of one: sums of twelve uniform numbers.
    fn noisy(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..count).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
    }

    fn cuts(values: &[f64]) -> Vec<usize> {
        levels(values).iter().skip(1).map(|level| level.start).collect()
    }

    #[test]
    fn noise_does_not_depend_on_level_changes() {
        let mut values = noisy(1, 400);
        let quiet = noise(&values).unwrap();
        assert!((0.85..1.15).contains(&quiet), "{quiet}");
        values[200..].iter_mut().for_each(|value| *value += 100.0);
        assert!((noise(&values).unwrap() - quiet).abs() < 0.05);
        assert_eq!(noise(&[1.0, 2.0]), None);
        assert_eq!(noise(&[3.0; 9]), Some(0.0));
    }

    #[test]
    fn noise_is_one_level() {
        let cut = (0..200).filter(|seed| !cuts(&noisy(*seed, 64)).is_empty()).count();
        assert!(cut <= 10, "{cut} of 200 histories without a change were segmented");
        assert_eq!(cuts(&[5.0; 30]), []);
        assert_eq!(levels(&[]), []);
        assert_eq!(levels(&[4.0]), [Level { start: 0, end: 1, median: 4.0 }]);
    }

    #[test]
    fn a_change_of_level_is_detected_at_its_index() {
        let hit = (0..100)
            .filter(|seed| {
                let mut values = noisy(*seed, 60);
                values[40..].iter_mut().for_each(|value| *value += 4.0);
                cuts(&values).iter().any(|index| index.abs_diff(40) <= 1)
            })
            .count();
        assert!(hit >= 97, "{hit} of 100");
        // Counts that never vary change by one.
        let mut counts = vec![1000.0; 30];
        counts[20..].fill(1001.0);
        assert_eq!(cuts(&counts), [20]);
    }

    #[test]
    fn an_outlier_is_not_a_level() {
        let mut values = noisy(3, 40);
        values[20] += 50.0;
        assert_eq!(cuts(&values), []);
        let mut counts = vec![1000.0; 30];
        counts[29] = 2000.0;
        assert_eq!(cuts(&counts), []);
    }

    #[test]
    fn prefix_statistics_are_medians_and_distances() {
        let values = [3.0, 1.0, 2.0, 5.0];
        let medians: Vec<_> = prefix_statistics(values.into_iter()).iter().map(|one| one.median).collect();
        assert_eq!(medians, [3.0, 2.0, 2.0, 2.5]);
        assert_eq!(prefix_statistics(values.into_iter())[3].distance, 5.0);
        assert_eq!(median(&values), Some(2.5));
        assert_eq!(median_absolute_deviation(&values), Some(1.0));
    }
}
