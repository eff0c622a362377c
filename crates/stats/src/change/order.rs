//! Sort order of the values, updated on demand, so that ranks and quantiles require little sorting.

/// Maximum number of new values that are inserted one by one.
const FEW: usize = 4;

/// Indexes of the values, sorted by ascending value.
#[derive(Clone, Debug, Default)]
pub(super) struct Order(Vec<u16>);

impl Order {
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
        self.0.extend((0..values.len()).map(|place| place as u16));
        self.0.sort_by(|one, two| values[usize::from(*one)].total_cmp(&values[usize::from(*two)]));
    }

    /// Adds the values since the last update. Most series do not require ranks after every value.
    pub(super) fn update(&mut self, values: &[f64]) {
        let known = self.0.len();
        let value = |place: u16| values[usize::from(place)];
        if values.len() - known > FEW {
            self.0.extend((known..values.len()).map(|place| place as u16));
            self.0.sort_by(|one, two| value(*one).total_cmp(&value(*two)));
            return;
        }
        for (place, newest) in values.iter().enumerate().skip(known) {
            let at = self.0.partition_point(|place| value(*place).total_cmp(newest).is_le());
            self.0.insert(at, place as u16);
        }
    }

    /// Computes twice the rank of each value; ties get twice their mean rank.
    pub(super) fn rank(&self, values: &[f64], ranks: &mut Vec<i16>) {
        ranks.clear();
        ranks.resize(values.len(), 0);
        let mut below = 0;
        let value = |place: &u16| values[usize::from(*place)];
        for alike in self.0.chunk_by(|one, two| value(one) == value(two)) {
            let count = alike.len() as i16;
            for place in alike {
                ranks[usize::from(*place)] = 2 * below + count + 1;
            }
            below += count;
        }
    }

    /// Returns the 10 % and 90 % quantiles.
    pub(super) fn tenths(&self, values: &[f64]) -> Option<(f64, f64)> {
        let tenth = self.0.len().checked_sub(1)? / 10;
        let value = |place: usize| values[usize::from(self.0[place])];
        Some((value(tenth), value(self.0.len() - 1 - tenth)))
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
    fn values_may_come_in_any_portions() {
        let values: Vec<f64> =
            crate::synthetic::normal(1, 100).iter().map(|value| (value * 3.0).round()).collect();
        for portion in [1, FEW, FEW + 1, 30] {
            let mut order = Order::default();
            for known in (0..=values.len()).step_by(portion) {
                order.update(&values[..known]);
            }
            order.update(&values);
            assert_eq!(order.0, Order::of(&values).0);
        }
    }

    #[test]
    fn ranks_and_tenths_follow_from_it() {
        let values = [3.0, 1.0, 2.0, 1.0];
        let mut ranks = Vec::new();
        Order::of(&values).rank(&values, &mut ranks);
        assert_eq!(ranks, [8, 3, 6, 3]);
        let values: Vec<f64> = (0..21).rev().map(f64::from).collect();
        assert_eq!(Order::of(&values).tenths(&values), Some((2.0, 18.0)));
        assert_eq!(Order::default().tenths(&[]), None);
    }
}
