//! Holm's correction for multiple tests.

/// Returns the corrected p-values, in the order of the input.
///
/// S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6 (1979). Rejecting
/// all hypotheses with a corrected p-value of at most α controls the family-wise error rate at α, for any dependence between
/// the tests.
pub(crate) fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        highest = highest.max((p_values[index] * left).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::adjusted;

    /// Agrees with `p.adjust(p, "holm")` of R.
    #[test]
    fn adjusted_p_values_agree_with_r() {
        assert_eq!(adjusted(&[0.25, 0.0625, 0.5, 0.03125]), [0.5, 0.1875, 0.5, 0.125]);
        assert_eq!(adjusted(&[0.75, 0.5]), [1.0, 1.0]);
        assert_eq!(adjusted(&[]), [0.0; 0]);
    }
}
