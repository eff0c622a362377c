//! Simulates searches for a commit: how often they are correct and how many runs they need, compared with plain `git bisect` with
//! repetitions at the same rate of success. Prints the tables of `docs/statistics.md`.
//!
//! ```sh
//! cargo run --release -p tidemark-stats --example bisect [-- SEARCHES]
//! ```

use std::{env, error::Error, thread};

use tidemark_stats::synthetic::{Found, Scenario, Tails};

/// Default number of searches per scenario.
const SEARCHES: u64 = 400;
/// Number of simulated binary searches per design.
const BINARY_SEARCHES: u64 = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let searches = env::args().nth(1).map_or(Ok(SEARCHES), |text| text.parse())?;
    let standard = Scenario::STANDARD;
    let scenarios = [
        ("64 commits, step of 5 % in normal noise of 5 %", standard),
        ("improvement of 5 %", Scenario { step: -0.05, ..standard }),
        ("heavy tails (t₃)", Scenario { tails: Tails::Heavy, ..standard }),
        ("skewed (exponential)", Scenario { tails: Tails::Skewed, ..standard }),
        ("autocorrelation 0.5", Scenario { correlation: 0.5, ..standard }),
        ("autocorrelation 0.8", Scenario { correlation: 0.8, ..standard }),
        ("30 % of the commits do not build", Scenario { broken: 0.3, ..standard }),
        ("8 commits", Scenario { commits: 8, ..standard }),
        ("1,000 commits, noise of 0.5 %", Scenario { commits: 1_000, deviation: 0.005, ..standard }),
        ("1,000 commits, no noise", Scenario { commits: 1_000, deviation: 0.0, ..standard }),
        ("no step", Scenario { step: 0.0, ..standard }),
        ("no step, heavy tails", Scenario { step: 0.0, tails: Tails::Heavy, ..standard }),
        ("no step, autocorrelation 0.5", Scenario { step: 0.0, correlation: 0.5, ..standard }),
    ];
    println!("| {searches} searches | correct | wrong | no difference | open | mean runs | median | 90 % |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut success = (0.0, 0.0);
    for (index, (name, scenario)) in scenarios.iter().enumerate() {
        let ends = all(searches, |seed| scenario.search(seed));
        let share = |end: Found| {
            100.0 * ends.iter().filter(|(found, _)| *found == end).count() as f64 / searches as f64
        };
        let mut runs: Vec<usize> = ends.iter().map(|(_, runs)| *runs).collect();
        runs.sort_unstable();
        let mean = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
        println!(
            "| {name} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {mean:.0} | {} | {} |",
            share(Found::Culprit),
            share(Found::Other),
            share(Found::NoChange),
            share(Found::Nothing),
            runs[runs.len() / 2],
            runs[runs.len() * 9 / 10]
        );
        if index == 0 {
            success = (share(Found::Culprit), mean);
        }
    }
    println!();
    let (rate, runs) = success;
    let Some((repetitions, end_repetitions, found, cost)) = cheapest(rate) else {
        return Err("no design of a binary search has this rate of success".into());
    };
    println!(
        "A binary search with the same rate of success ({found:.1} %) needs {cost:.0} runs: {repetitions} of each \
         commit, {end_repetitions} of the good and of the bad one. The search needs {:.0} % of them.",
        100.0 * runs / cost
    );
    Ok(())
}

/// Returns the binary search with the fewest runs and at least this rate of success: the runs per commit and of the ends, the rate
/// and the number of runs.
fn cheapest(rate: f64) -> Option<(usize, usize, f64, f64)> {
    let mut best: Option<(usize, usize, f64, f64)> = None;
    for end_repetitions in (10..=100).step_by(10) {
        for repetitions in (10..=80).step_by(2) {
            let cost = (2 * end_repetitions + 6 * repetitions) as f64;
            if best.is_some_and(|(_, _, _, least)| cost >= least) {
                break;
            }
            let ends = all(BINARY_SEARCHES, |seed| {
                Scenario::STANDARD.binary_search(seed, repetitions, end_repetitions)
            });
            let found =
                100.0 * ends.iter().filter(|(found, _)| *found).count() as f64 / BINARY_SEARCHES as f64;
            if found >= rate {
                best = Some((repetitions, end_repetitions, found, cost));
                break;
            }
        }
    }
    best
}

/// Runs simulations on all processors.
fn all<T: Send>(count: u64, simulate: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    thread::scope(|scope| {
        let simulate = &simulate;
        let parts: Vec<_> = (0..threads)
            .map(|thread| {
                let seeds = (thread..count).step_by(threads as usize);
                scope.spawn(move || seeds.map(simulate).collect::<Vec<T>>())
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}
