//! Optimal partition of the values into levels, updated with every value. It proposes changes;
//! [`elimination`](super::elimination) rejects the insignificant ones.
//!
//! Optimal partitioning (B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", 2005) with
//! the biweight loss of P. Fearnhead and G. Rigaill, "Changepoint detection in the presence of outliers" (2019): a value
//! costs its squared distance from its level, but at most [`OUTLIER_DISTANCE`]², so that a spike is cheaper as an outlier
//! than as a separate level. As in their algorithm, the state is the cost of every possible last level, here on a grid of the
//! levels near observed values. The time per value is therefore proportional to the size of the grid.

/// Distance from the level, in units of noise, from which on a value counts as an outlier.
pub(super) const OUTLIER_DISTANCE: f64 = 4.5;
/// Cost of a further level: a lasting step of one unit of noise outweighs it after 28 values; a single value, however far
/// away, never does.
const PENALTY: f64 = 28.0;
/// Grid spacing of the levels, in units of noise. The loss is flat around its minimum: an error of half the spacing costs
/// less than 0.02 per value.
const GRID_SPACING: f64 = 0.25;

/// Number of the newest values among which a level that is new on the grid may have begun.
const RECENT: usize = 32;

/// State after some values in units of noise. It is small, because each series has one.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    /// Centers of the grid cells that contain values, sorted.
    levels: Vec<f64>,
    /// Minimum cost of all values for each last level.
    costs: Vec<f64>,
    /// Start of the last level for each entry of `costs`.
    starts: Vec<u16>,
    /// Newest values, each with the minimum cost of all values before it.
    recent: Vec<(f64, f64)>,
    /// Minimum cost of all values.
    min_cost: f64,
    /// Start of the last level for each prefix of the values.
    last: Vec<u16>,
}

impl Partition {
    /// Partitions the values anew, and reserves capacity for `more` values.
    pub(super) fn reset(&mut self, values: &[f64], more: usize) {
        self.levels.clear();
        self.levels.extend(values.iter().map(|value| cell_center(*value)));
        self.levels.sort_unstable_by(f64::total_cmp);
        self.levels.dedup();
        self.levels.shrink_to_fit();
        self.costs = vec![0.0; self.levels.len()];
        self.starts = vec![0; self.levels.len()];
        self.recent.clear();
        self.min_cost = -PENALTY;
        self.last = Vec::with_capacity(values.len() + more);
        for value in values {
            self.update_costs(*value);
        }
    }

    /// Adds a value.
    pub(super) fn push(&mut self, value: f64) {
        let level = cell_center(value);
        if let Err(index) = self.levels.binary_search_by(|other| other.total_cmp(&level)) {
            self.add_level(index, level);
        }
        self.update_costs(value);
    }

    /// Adds a level to the grid, with the costs that it would have if it had existed for the newest values.
    fn add_level(&mut self, index: usize, level: f64) {
        let (mut cost, mut start) = (f64::INFINITY, 0);
        let first = self.last.len() - self.recent.len();
        for (now, (value, before)) in self.recent.iter().enumerate() {
            if before + PENALTY < cost {
                (cost, start) = (before + PENALTY, (first + now) as u16);
            }
            cost += loss(value - level);
        }
        self.levels.insert(index, level);
        self.costs.insert(index, cost);
        self.starts.insert(index, start);
    }

    fn update_costs(&mut self, value: f64) {
        let now = self.last.len() as u16;
        let before = self.min_cost;
        let with_new_level = before + PENALTY;
        let mut min_cost = f64::INFINITY;
        for ((cost, start), level) in self.costs.iter_mut().zip(&mut self.starts).zip(&self.levels) {
            let is_new_level = with_new_level < *cost;
            *start = if is_new_level { now } else { *start };
            *cost = if is_new_level { with_new_level } else { *cost } + loss(value - level);
            min_cost = min_cost.min(*cost);
        }
        let best = self.costs.iter().position(|cost| *cost == min_cost).unwrap_or(0);
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((value, before));
        self.min_cost = min_cost;
        self.last.push(self.starts.get(best).copied().unwrap_or(0));
    }

    /// Returns the minimum cost of all values, including the penalties for the levels after the first.
    pub(super) fn cost(&self) -> f64 {
        self.min_cost
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.levels.capacity() + self.costs.capacity() + 2 * self.recent.capacity()) * size_of::<f64>()
            + (self.starts.capacity() + self.last.capacity()) * size_of::<u16>()
    }

    /// Computes the starts of the levels after the first, in ascending order.
    pub(super) fn cuts(&self, cuts: &mut Vec<usize>) {
        cuts.clear();
        let mut end = self.last.len();
        while end > 0 {
            end = usize::from(self.last[end - 1]);
            if end > 0 {
                cuts.push(end);
            }
        }
        cuts.reverse();
    }
}

/// Returns the cost of a value at a distance from its level.
pub(super) fn loss(distance: f64) -> f64 {
    (distance * distance).min(OUTLIER_DISTANCE * OUTLIER_DISTANCE)
}

/// Returns the center of the grid cell that contains a value.
fn cell_center(value: f64) -> f64 {
    ((value / GRID_SPACING).floor() + 0.5) * GRID_SPACING
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f64]) -> Vec<usize> {
        let (mut partition, mut cuts) = (Partition::default(), Vec::new());
        partition.reset(values, 0);
        partition.cuts(&mut cuts);
        cuts
    }

    /// Computes the cost of the optimal partition by exhaustive search on the same grid.
    fn min_cost(values: &[f64]) -> f64 {
        let levels: Vec<f64> = values.iter().map(|value| cell_center(*value)).collect();
        let mut best = vec![-PENALTY];
        for end in 1..=values.len() {
            let costs = (0..end).flat_map(|start| {
                let (best, levels) = (&best, &levels);
                levels.iter().map(move |level| {
                    let cost: f64 = values[start..end].iter().map(|value| loss(value - level)).sum();
                    best[start] + PENALTY + cost
                })
            });
            let cost = costs.fold(f64::INFINITY, f64::min);
            best.push(cost);
        }
        best[values.len()]
    }

    #[test]
    fn the_partition_has_the_minimum_cost() {
        for seed in 0..20 {
            let mut values = crate::synthetic::normal(seed, 40);
            values[25..].iter_mut().for_each(|value| *value += 3.0);
            values[10] += 30.0;
            let mut partition = Partition::default();
            partition.reset(&values, 0);
            assert!((partition.min_cost - min_cost(&values)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_step_is_cut_and_a_spike_is_not() {
        let mut values = vec![0.0; 20];
        values[7] = 1000.0;
        assert_eq!(cuts(&values), []);
        values[12..].fill(5.0);
        assert_eq!(cuts(&values), [12]);
        assert_eq!(cuts(&[]), []);
    }

    #[test]
    fn the_partition_can_be_updated_value_by_value() {
        let mut values = crate::synthetic::normal(3, 200);
        values[90..].iter_mut().for_each(|value| *value += 6.0);
        let (mut partition, mut found) = (Partition::default(), Vec::new());
        partition.reset(&values[..50], 150);
        values[50..].iter().for_each(|value| partition.push(*value));
        partition.cuts(&mut found);
        assert_eq!(found, [90]);
        // Levels that were added to the grid later make no difference.
        let mut whole = Partition::default();
        whole.reset(&values, 0);
        assert_eq!(whole.last[199], partition.last[199]);
    }
}
