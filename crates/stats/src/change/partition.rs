//! Optimal partition of the values into levels, updated with every value. It proposes changes; the judge accepts or rejects
//! them.
//!
//! Optimal partitioning (B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", 2005) with
//! the biweight loss of P. Fearnhead and G. Rigaill, "Changepoint detection in the presence of outliers" (2019): a value
//! costs its squared distance from its level, but at most [`BOUND`]², so that a spike is cheaper as an outlier than as a
//! separate level. As in their algorithm, the state is the cost of every possible last level, here on a grid of the levels
//! near observed values. The time per value is therefore proportional to the size of the grid.

/// Distance from the level, in units of noise, from which on a value counts as an outlier.
pub(super) const BOUND: f64 = 4.5;
/// Cost of a further level: a lasting step of one unit of noise outweighs it after 28 values; a single value, however far
/// away, never does.
const PENALTY: f64 = 28.0;
/// Grid spacing of the levels, in units of noise. The loss is flat around its minimum: an error of half the spacing costs
/// less than 0.02 per value.
const WIDTH: f64 = 0.25;

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
    cheapest: f64,
    /// Start of the last level for each prefix of the values.
    last: Vec<u16>,
}

impl Partition {
    /// Partitions the values anew, and reserves capacity for `more` values.
    pub(super) fn reset(&mut self, values: &[f64], more: usize) {
        self.levels.clear();
        self.levels.extend(values.iter().map(|value| middle(*value)));
        self.levels.sort_unstable_by(f64::total_cmp);
        self.levels.dedup();
        self.levels.shrink_to_fit();
        self.costs = vec![0.0; self.levels.len()];
        self.starts = vec![0; self.levels.len()];
        self.recent.clear();
        self.cheapest = -PENALTY;
        self.last = Vec::with_capacity(values.len() + more);
        for value in values {
            self.step(*value);
        }
    }

    /// Adds a value.
    pub(super) fn push(&mut self, value: f64) {
        let level = middle(value);
        if let Err(place) = self.levels.binary_search_by(|other| other.total_cmp(&level)) {
            self.open(place, level);
        }
        self.step(value);
    }

    /// Adds a level to the grid, with the costs that it would have if it had existed for the newest values.
    fn open(&mut self, place: usize, level: f64) {
        let (mut cost, mut start) = (f64::INFINITY, 0);
        let first = self.last.len() - self.recent.len();
        for (now, (value, before)) in self.recent.iter().enumerate() {
            if before + PENALTY < cost {
                (cost, start) = (before + PENALTY, (first + now) as u16);
            }
            cost += loss(value - level);
        }
        self.levels.insert(place, level);
        self.costs.insert(place, cost);
        self.starts.insert(place, start);
    }

    fn step(&mut self, value: f64) {
        let now = self.last.len() as u16;
        let before = self.cheapest;
        let afresh = before + PENALTY;
        let mut cheapest = f64::INFINITY;
        for ((cost, start), level) in self.costs.iter_mut().zip(&mut self.starts).zip(&self.levels) {
            let is_afresh = afresh < *cost;
            *start = if is_afresh { now } else { *start };
            *cost = if is_afresh { afresh } else { *cost } + loss(value - level);
            cheapest = cheapest.min(*cost);
        }
        let best = self.costs.iter().position(|cost| *cost == cheapest).unwrap_or(0);
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((value, before));
        self.cheapest = cheapest;
        self.last.push(self.starts.get(best).copied().unwrap_or(0));
    }

    /// Returns the minimum cost of all values, including the penalties for the levels after the first.
    pub(super) fn cost(&self) -> f64 {
        self.cheapest
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
    (distance * distance).min(BOUND * BOUND)
}

/// Returns the center of the grid cell that contains a value.
fn middle(value: f64) -> f64 {
    ((value / WIDTH).floor() + 0.5) * WIDTH
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
    fn cheapest(values: &[f64]) -> f64 {
        let levels: Vec<f64> = values.iter().map(|value| middle(*value)).collect();
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
    fn no_other_partition_is_cheaper() {
        for seed in 0..20 {
            let mut values = crate::synthetic::normal(seed, 40);
            values[25..].iter_mut().for_each(|value| *value += 3.0);
            values[10] += 30.0;
            let mut partition = Partition::default();
            partition.reset(&values, 0);
            assert!((partition.cheapest - cheapest(&values)).abs() < 1e-9);
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
    fn values_may_come_one_by_one() {
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
