//! Measures comparisons in pairs: false alarms under continuous monitoring, and the rounds until a small change is found, compared
//! with a fixed number of rounds.
//!
//! ```sh
//! cargo run --release -p tidemark-stats --example pairs [-- COMPARISONS]
//! ```

use std::{
    env,
    error::Error,
    fmt::{self, Display, Formatter},
};

use tidemark_stats::{
    Criteria, Pairs, Verdict, Worse,
    synthetic::{Noise, normal},
    verdicts,
};

/// Benchmarks of a comparison, and noise of a run.
const BENCHMARKS: usize = 8;
const NOISE: f64 = 0.05;
/// Change of the first benchmark.
const CHANGE: f64 = 1.03;
/// Defaults of `tidemark run --ab`.
const CONFIDENCE: f64 = 0.99;
const SMALLEST_CHANGE: f64 = 0.01;
const SAME_WITHIN: f64 = 0.03;
/// Rounds of the comparisons without a change, and maximum number of rounds with a change.
const MONITORED: usize = 200;
const MAX_ROUNDS: usize = 600;

/// A comparison of benchmarks that are measured in pairs, in random order within a pair.
struct Simulation {
    /// Pairs of each benchmark.
    pairs: Vec<Vec<(f64, f64)>>,
}

/// Result of a comparison.
struct Outcome {
    /// Rounds until each benchmark had its verdict.
    rounds: Vec<usize>,
    verdicts: Vec<Verdict>,
    /// Whether any round reported a change.
    has_alarm: bool,
}

/// Values of a benchmark without a change, in the order of measurement.
#[derive(Clone, Copy)]
enum Values {
    /// Continuous noise.
    Noisy(Noise),
    /// One of two values with the same probability, as with a timer of low resolution.
    Two,
    /// The second run of a pair takes longer, and there is no other noise.
    SecondIsSlower,
    /// One value.
    Constant,
}

impl Values {
    fn generate(self, seed: u64, count: usize) -> Vec<f64> {
        match self {
            Self::Noisy(noise) => {
                noise.series(seed, count).iter().map(|value| (NOISE * (value - 100.0)).exp()).collect()
            }
            Self::Two => normal(seed, count).iter().map(|one| if *one < 0.0 { 0.01 } else { 0.02 }).collect(),
            Self::SecondIsSlower => (0..count).map(|run| if run % 2 == 0 { 1.0 } else { 1.1 }).collect(),
            Self::Constant => vec![1000.0; count],
        }
    }
}

impl Display for Values {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noisy(noise) => write!(formatter, "{noise}"),
            Self::Two => write!(formatter, "one of two values, half of the runs each"),
            Self::SecondIsSlower => write!(formatter, "second run always slower, no other noise"),
            Self::Constant => write!(formatter, "no noise"),
        }
    }
}

impl Simulation {
    fn new(values: Values, seed: u64, rounds: usize, change: f64) -> Self {
        // All benchmarks of a round are measured in the same order.
        let order = normal(seed * 1_000 + 500, rounds);
        let benchmark = |index: usize| {
            let values = values.generate(seed * 1_000 + index as u64, 2 * rounds);
            let factor = if index == 0 { change } else { 1.0 };
            let runs = values.chunks_exact(2).zip(&order).map(|(runs, order)| {
                let (base, new) = if *order < 0.0 { (runs[0], runs[1]) } else { (runs[1], runs[0]) };
                (base, factor * new)
            });
            runs.collect()
        };
        Self { pairs: (0..BENCHMARKS).map(benchmark).collect() }
    }

    /// Inspects the comparison after every round. If `stops`, benchmarks with a verdict are not measured again.
    fn run(&self, stops: bool, same_within: f64) -> Outcome {
        let criteria = Criteria { smallest_change: SMALLEST_CHANGE, same_within };
        let mut pairs = vec![Pairs::new(CONFIDENCE, same_within); BENCHMARKS];
        let mut outcome = Outcome {
            rounds: vec![0; BENCHMARKS],
            verdicts: vec![Verdict::Inconclusive; BENCHMARKS],
            has_alarm: false,
        };
        for round in 0..self.pairs[0].len() {
            for (index, one) in pairs.iter_mut().enumerate() {
                if !stops || outcome.verdicts[index] == Verdict::Inconclusive {
                    let (base, new) = self.pairs[index][round];
                    one.push(base, new);
                    outcome.rounds[index] += 1;
                }
            }
            let compared: Vec<_> = pairs.iter().map(|one| (one.quick_comparison(), Worse::Up)).collect();
            outcome.verdicts =
                verdicts(&compared, &criteria).into_iter().map(|(verdict, _)| verdict).collect();
            outcome.has_alarm |= outcome.verdicts.iter().any(|verdict| *verdict < Verdict::Inconclusive);
            if stops && outcome.verdicts.iter().all(|verdict| *verdict != Verdict::Inconclusive) {
                break;
            }
        }
        outcome
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let comparisons: u64 = env::args().nth(1).map_or(Ok(500), |text| text.parse())?;
    println!(
        "A/A: {comparisons} comparisons of {BENCHMARKS} benchmarks, inspected after each of {MONITORED} rounds"
    );
    for values in Noise::ALL.map(Values::Noisy).into_iter().chain([Values::Two, Values::SecondIsSlower]) {
        let is_alarm =
            |seed: &u64| Simulation::new(values, *seed, MONITORED, 1.0).run(false, SAME_WITHIN).has_alarm;
        let alarms = (0..comparisons).filter(is_alarm).count();
        println!(
            "{:45} {alarms:3} report a change ({:.1} %)",
            values.to_string(),
            percent(alarms, comparisons)
        );
    }
    for same_within in [SAME_WITHIN, 0.05] {
        detect(comparisons, same_within);
    }
    println!(
        "Rounds until each verdict without noise: change of the first of {BENCHMARKS} benchmarks, rounds"
    );
    for change in [1.0, 1.001, CHANGE] {
        let outcome = Simulation::new(Values::Constant, 0, MAX_ROUNDS, change).run(true, SAME_WITHIN);
        println!("{:+.1} %: {:?}", (change - 1.0) * 100.0, outcome.rounds);
    }
    Ok(())
}

/// Prints how often, and after how many rounds, a change of one benchmark is found.
fn detect(comparisons: u64, same_within: f64) {
    println!(
        "A/B: {:+.0} % in one of {BENCHMARKS} benchmarks, noise of {:.0} %, at most {MAX_ROUNDS} rounds, equal within ±{:.0} %",
        (CHANGE - 1.0) * 100.0,
        NOISE * 100.0,
        same_within * 100.0
    );
    let outcomes: Vec<Outcome> = (0..comparisons)
        .map(|seed| {
            Simulation::new(Values::Noisy(Noise::Normal), seed + 1_000_000, MAX_ROUNDS, CHANGE)
                .run(true, same_within)
        })
        .collect();
    let found: Vec<&Outcome> =
        outcomes.iter().filter(|outcome| outcome.verdicts[0] == Verdict::Regression).collect();
    let mut rounds: Vec<usize> = outcomes.iter().map(|outcome| outcome.rounds[0]).collect();
    rounds.sort_unstable();
    let unchanged = outcomes.iter().filter(|outcome| outcome.verdicts[0] == Verdict::Unchanged).count();
    println!(
        "detected: {:.1} %; called equal: {:.1} %",
        percent(found.len(), comparisons),
        percent(unchanged, comparisons)
    );
    println!(
        "rounds until the verdict: median {}, 90 % within {}",
        rounds[rounds.len() / 2],
        rounds[rounds.len() * 9 / 10]
    );
    let wrong = outcomes
        .iter()
        .filter(|one| one.verdicts[1..].iter().any(|verdict| *verdict < Verdict::Inconclusive))
        .count();
    println!("a change in another benchmark: {:.1} %", percent(wrong, comparisons));
    let mut others: Vec<usize> = outcomes.iter().flat_map(|outcome| outcome.rounds[1..].to_vec()).collect();
    others.sort_unstable();
    println!("rounds of the equal benchmarks: median {}", others[others.len() / 2]);
    // A test with a fixed number of rounds, the same significance (two-sided, divided by the number of benchmarks) and the same
    // power. The power is below 1, even if every change was detected.
    let most = 1.0 - 1.0 / (2.0 * comparisons as f64);
    let power = (percent(found.len(), comparisons) / 100.0).min(most);
    let significance = (1.0 - CONFIDENCE) / BENCHMARKS as f64;
    let sum = quantile(1.0 - significance / 2.0) + quantile(power);
    let fixed = (sum / (CHANGE.ln() / (NOISE * 2_f64.sqrt()))).powi(2).ceil();
    println!("fixed design with a power of {:.2} %: {fixed} rounds", power * 100.0);
}

/// Returns the quantile of the standard normal distribution, by halving an interval.
fn quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if distribution(middle) < probability { low = middle } else { high = middle }
    }
    low
}

/// Returns the probability of a standard normal value below a limit, by Simpson's rule.
fn distribution(limit: f64) -> f64 {
    const STEPS: u32 = 2_000;
    let density = |value: f64| (-value * value / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let (start, width) = (-9.0, (limit + 9.0) / f64::from(STEPS));
    let weight = |step: u32| match step {
        0 | STEPS => 1.0,
        step if step % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=STEPS).map(|step| weight(step) * density(start + width * f64::from(step))).sum::<f64>() * width / 3.0
}

fn percent(count: usize, all: u64) -> f64 {
    100.0 * count as f64 / all as f64
}
