//! The cheapest way to cut values into levels, kept up to date value by value. It proposes where a level may have
//! changed; whether to believe it is for the judge.
//!
//! Optimal partitioning (B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", 2005)
//! with the biweight loss of P. Fearnhead and G. Rigaill, "Changepoint detection in the presence of outliers" (2019): a
//! value costs its squared distance from its level, but never more than [`BOUND`]², so that a spike is cheaper as an
//! outlier than as a level of its own. As in their algorithm it is the cost of every possible level that is carried
//! along, here on a grid of the levels at which values have been seen, which makes a step as cheap as the grid is short.

/// The distance from its level, in units of the noise, from which on a value counts as an outlier.
pub(super) const BOUND: f64 = 4.5;
/// What a further level costs: a lasting step of one unit of noise has paid for it after 28 values, and no single value
/// can pay for it, however far off it is.
const PENALTY: f64 = 28.0;
/// How fine the grid of levels is, in units of the noise. The loss is flat around its minimum: being half of this off
/// costs a value less than a hundredth.
const WIDTH: f64 = 0.25;

/// The state after some values, which are in units of their noise.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    /// The places in the grid at which there have been values, sorted.
    cells: Vec<i64>,
    /// The level in the middle of each cell.
    levels: Vec<f64>,
    /// What the values cost up to here if the last level is this one.
    costs: Vec<f64>,
    /// Where that last level begins.
    starts: Vec<u32>,
    /// The values.
    values: Vec<f64>,
    /// What no value costs at best, the first value, the first two, and so on.
    cheapest: Vec<f64>,
    /// Where the last level begins for the first value, the first two, and so on.
    last: Vec<u32>,
}

impl Partition {
    /// Starts over with these values.
    pub(super) fn reset(&mut self, values: &[f64]) {
        self.cells.clear();
        self.cells.extend(values.iter().map(|value| cell(*value)));
        self.cells.sort_unstable();
        self.cells.dedup();
        self.levels.clear();
        self.levels.extend(self.cells.iter().map(|cell| middle(*cell)));
        self.costs.clear();
        self.costs.resize(self.cells.len(), 0.0);
        self.starts.clear();
        self.starts.resize(self.cells.len(), 0);
        self.values.clear();
        self.cheapest.clear();
        self.cheapest.push(-PENALTY);
        self.last.clear();
        for value in values {
            self.step(*value);
        }
    }

    /// Takes one more value.
    pub(super) fn push(&mut self, value: f64) {
        let cell = cell(value);
        if let Err(place) = self.cells.binary_search(&cell) {
            self.open(place, cell);
        }
        self.step(value);
    }

    /// Adds a cell, with the costs that it would have had if it had been there from the start.
    fn open(&mut self, place: usize, cell: i64) {
        let level = middle(cell);
        let (mut cost, mut start) = (f64::INFINITY, 0);
        for (now, (value, cheapest)) in self.values.iter().zip(&self.cheapest).enumerate() {
            if cheapest + PENALTY < cost {
                (cost, start) = (cheapest + PENALTY, now as u32);
            }
            cost += loss(value - level);
        }
        self.cells.insert(place, cell);
        self.levels.insert(place, level);
        self.costs.insert(place, cost);
        self.starts.insert(place, start);
    }

    fn step(&mut self, value: f64) {
        let now = self.last.len() as u32;
        let afresh = self.cheapest[self.values.len()] + PENALTY;
        let mut cheapest = f64::INFINITY;
        for ((cost, start), level) in self.costs.iter_mut().zip(&mut self.starts).zip(&self.levels) {
            let is_afresh = afresh < *cost;
            *start = if is_afresh { now } else { *start };
            *cost = if is_afresh { afresh } else { *cost } + loss(value - level);
            cheapest = cheapest.min(*cost);
        }
        let best = self.costs.iter().position(|cost| *cost == cheapest).unwrap_or(0);
        self.values.push(value);
        self.cheapest.push(cheapest);
        self.last.push(self.starts.get(best).copied().unwrap_or(0));
    }

    /// The places where the levels after the first begin, in ascending order.
    pub(super) fn cuts(&self, cuts: &mut Vec<usize>) {
        cuts.clear();
        let mut end = self.last.len();
        while end > 0 {
            end = self.last[end - 1] as usize;
            if end > 0 {
                cuts.push(end);
            }
        }
        cuts.reverse();
    }
}

/// What a value costs at this distance from its level.
pub(super) fn loss(distance: f64) -> f64 {
    (distance * distance).min(BOUND * BOUND)
}

fn cell(value: f64) -> i64 {
    (value / WIDTH).floor() as i64
}

fn middle(cell: i64) -> f64 {
    (cell as f64 + 0.5) * WIDTH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f64]) -> Vec<usize> {
        let (mut partition, mut cuts) = (Partition::default(), Vec::new());
        partition.reset(values);
        partition.cuts(&mut cuts);
        cuts
    }

    /// The cost of the best partition by going through all of them, level by level of the same grid.
    fn cheapest(values: &[f64]) -> f64 {
        let levels: Vec<f64> = values.iter().map(|value| middle(cell(*value))).collect();
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
            partition.reset(&values);
            assert!((partition.cheapest[40] - cheapest(&values)).abs() < 1e-9);
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
        partition.reset(&values[..50]);
        values[50..].iter().for_each(|value| partition.push(*value));
        partition.cuts(&mut found);
        assert_eq!(found, [90]);
        // The levels that were not there from the start make no difference.
        let mut whole = Partition::default();
        whole.reset(&values);
        assert_eq!(whole.last[199], partition.last[199]);
    }
}
