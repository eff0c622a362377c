//! Prints the number of false notifications in the first month of synthetic projects, and the delay of the true ones: the
//! tables of `docs/statistics.md`.
//!
//! ```sh
//! cargo run --release -p tidemark-stats --example budget
//! ```

use tidemark_stats::synthetic::{MIXED_NOISE, Noise, count_events, notified_changes, project};

/// Number of projects simulated per kind.
const SEEDS: u64 = 32;
/// Series with normal noise that a commit makes slower, each with the relative increase.
const STEPS: [(usize, f64); 6] = [(3, 0.03), (7, 0.05), (11, 0.08), (15, 0.12), (19, 0.25), (23, 0.5)];
/// Run of the commit.
const COMMITS: [usize; 3] = [60, 120, 200];

fn main() {
    println!("| 200 series, 300 runs, no change | events, mean | most |");
    println!("|---|---:|---:|");
    print("a fifth each of normal, φ = 0.5 and 0.7, hosts, daily", &MIXED_NOISE);
    for kind in Noise::ALL {
        print(&kind.to_string(), &[kind]);
    }
    println!();
    println!("| step | {} |", COMMITS.map(|commit| format!("after {commit} runs")).join(" | "));
    println!("|---|{}", "---:|".repeat(COMMITS.len()));
    let delays = COMMITS.map(delays);
    for (index, (_, share)) in STEPS.iter().enumerate() {
        let cells = delays.iter().map(|delays| {
            let soon = delays[index].iter().filter(|delay| delay.is_some_and(|delay| delay <= 5)).count();
            format!("{} %", (100.0 * soon as f64 / delays[index].len() as f64).round())
        });
        println!("| {} % | {} |", share * 100.0, cells.collect::<Vec<_>>().join(" | "));
    }
}

fn print(name: &str, kinds: &[Noise]) {
    let counts: Vec<usize> =
        (1..=SEEDS).map(|seed| count_events(&notified_changes(&project(kinds, seed)))).collect();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    println!("| {name} | {mean:.2} | {} |", counts.iter().max().unwrap_or(&0));
}

/// Returns, for each step and project, the run after the commit that notifies about the step.
fn delays(commit: usize) -> Vec<Vec<Option<usize>>> {
    let mut delays = vec![Vec::new(); STEPS.len()];
    for seed in 1..=SEEDS {
        let mut project = project(&MIXED_NOISE, seed);
        for (series, share) in STEPS {
            project[series][commit..].iter_mut().for_each(|value| *value *= 1.0 + share);
        }
        let notified = notified_changes(&project);
        for (delays, (series, _)) in delays.iter_mut().zip(STEPS) {
            let first = notified.iter().find(|one| one.series == series && one.run >= commit);
            delays.push(first.map(|one| one.run - commit + 1));
        }
    }
    delays
}
