//! Sort order of the values, updated on demand, so that ranks and quantiles require little sorting.

/// Maximum number of new values that are inserted one by one.
const MAX_INSERTIONS: usize = 4;

/// Indexes of the values, sorted by ascending value.
#[derive(Clone, Debug, Default)]
pub(super) struct SortOrder(Vec<u16>);

impl SortOrder {
    /// Creates the sort order of the values.
    #[cfg(test)]
    pub(super) fn of(values: &[f64]) -> Self {
        let mut order = Self::default();
        order.reset(values, 0);
        order
    }

    /// Sorts the values anew, and reserves capacity for `more` values.
    pub(super) fn reset(&mut self, values: &[f64], more: usize) {
        self.0 = Vec::with_capacity(values.len() + more);
        self.0.extend((0..values.len()).map(|index| index as u16));
        self.0.sort_by(|one, two| values[usize::from(*one)].total_cmp(&values[usize::from(*two)]));
    }

    /// Adds the values since the last update. Most series do not require ranks after every value.
    pub(super) fn update(&mut self, values: &[f64]) {
        let known = self.0.len();
        let value = |index: u16| values[usize::from(index)];
        if values.len() - known > MAX_INSERTIONS {
            self.0.extend((known..values.len()).map(|index| index as u16));
            self.0.sort_by(|one, two| value(*one).total_cmp(&value(*two)));
            return;
        }
        for (index, newest) in values.iter().enumerate().skip(known) {
            let at = self.0.partition_point(|index| value(*index).total_cmp(newest).is_le());
            self.0.insert(at, index as u16);
        }
    }

    /// Computes twice the rank of each value; ties get twice their mean rank.
    pub(super) fn rank(&self, values: &[f64], ranks: &mut Vec<i16>) {
        ranks.clear();
        ranks.resize(values.len(), 0);
        let mut below = 0;
        let value = |index: &u16| values[usize::from(*index)];
        for ties in self.0.chunk_by(|one, two| value(one) == value(two)) {
            let count = ties.len() as i16;
            for index in ties {
                ranks[usize::from(*index)] = 2 * below + count + 1;
            }
            below += count;
        }
    }

    /// Returns the first and ninth decile: the 10 % and 90 % quantiles.
    pub(super) fn deciles(&self, values: &[f64]) -> Option<(f64, f64)> {
        let decile = self.0.len().checked_sub(1)? / 10;
        let value = |index: usize| values[usize::from(self.0[index])];
        Some((value(decile), value(self.0.len() - 1 - decile)))
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_depend_on_the_batches() {
        let values: Vec<f64> =
            crate::synthetic::normal(1, 100).iter().map(|value| (value * 3.0).round()).collect();
        for batch in [1, MAX_INSERTIONS, MAX_INSERTIONS + 1, 30] {
            let mut order = SortOrder::default();
            for known in (0..=values.len()).step_by(batch) {
                order.update(&values[..known]);
            }
            order.update(&values);
            assert_eq!(order.0, SortOrder::of(&values).0);
        }
    }

    #[test]
    fn ranks_and_deciles_are_computed_from_the_order() {
        let values = [3.0, 1.0, 2.0, 1.0];
        let mut ranks = Vec::new();
        SortOrder::of(&values).rank(&values, &mut ranks);
        assert_eq!(ranks, [8, 3, 6, 3]);
        let values: Vec<f64> = (0..21).rev().map(f64::from).collect();
        assert_eq!(SortOrder::of(&values).deciles(&values), Some((2.0, 18.0)));
        assert_eq!(SortOrder::default().deciles(&[]), None);
    }
}
