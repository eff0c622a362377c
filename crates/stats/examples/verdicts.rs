//! Measures the verdicts on runs: the number of false positives without a change, and the share of regressed runs after a
//! step.
//!
//! ```sh
//! cargo run --release -p tidemark-stats --example verdicts [-- REPEATS]
//! ```

use std::{env, error::Error};

use tidemark_stats::synthetic::{Noise, normal, regressed_runs};

/// Number of runs without a change, and number of benchmarks.
const RUNS: usize = 220;
const BENCHMARKS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let repeats: u64 = env::args().nth(1).map_or(Ok(20), |text| text.parse())?;
    println!(
        "Regressed runs of {RUNS} without a change, {BENCHMARKS} benchmarks: mean of {repeats}, most, and the mean"
    );
    println!("of runs 0 to 18, 19 to 59, 60 to 219");
    for noise in Noise::ALL {
        let counts: Vec<Vec<bool>> = (0..repeats).map(|seed| aa(noise, seed)).collect();
        let count = |from: usize, to: usize| {
            let regressed = counts.iter().flat_map(|runs| &runs[from..to]).filter(|is| **is).count();
            regressed as f64 / repeats as f64
        };
        let most = counts.iter().map(|runs| runs.iter().filter(|is| **is).count()).max().unwrap_or(0);
        let parts = format!("{:.2} {:.2} {:.2}", count(0, 19), count(19, 60), count(60, RUNS));
        println!("{:45} {:.2} {most:2} {parts}", noise.to_string(), count(0, RUNS));
    }
    println!(
        "Percent of runs regressed after a step of 20 % in noise of 2 %: benchmarks, runs before, run 1, 2, …"
    );
    for benchmarks in [1, BENCHMARKS] {
        for before in [3, 4, 6, 8, 10, 14, 19, 30, 60, 120] {
            let mut shares = [0.0; 32];
            for seed in 0..repeats {
                for (share, is) in shares.iter_mut().zip(step(before, benchmarks, seed)) {
                    *share += f64::from(u8::from(is)) / repeats as f64;
                }
            }
            let shown: Vec<String> = shares.iter().map(|share| format!("{:.0}", share * 100.0)).collect();
            println!("{benchmarks:2} {before:3}: {}", shown.join(" "));
        }
    }
    Ok(())
}

/// Returns which runs without a change are regressed. The standard deviation of the noise is 10 %.
fn aa(noise: Noise, seed: u64) -> Vec<bool> {
    // All benchmarks run on the same host.
    let (hosts, _) = noise.hosts_and_series(seed, RUNS);
    let series: Vec<Vec<f64>> = (0..BENCHMARKS as u64)
        .map(|benchmark| {
            let own = 1_000 * seed + benchmark;
            let values: Vec<f64> = if noise == Noise::StickyHosts {
                hosts.iter().zip(normal(own, RUNS)).map(|(host, noise)| 3.0 * *host as f64 + noise).collect()
            } else {
                noise.series(own, RUNS).iter().map(|value| value - 100.0).collect()
            };
            values.iter().map(|value| (0.1 * value).exp()).collect()
        })
        .collect();
    regressed_runs(&series)
}

/// Returns which runs after a step of 20 % in the first benchmark are regressed.
fn step(before: usize, benchmarks: usize, seed: u64) -> Vec<bool> {
    let count = before + 32;
    let series: Vec<Vec<f64>> = (0..benchmarks as u64)
        .map(|benchmark| {
            let noise = normal(1_000 * seed + benchmark, count);
            let factor = |run: usize| if run >= before && benchmark == 0 { 1.2 } else { 1.0 };
            noise.iter().enumerate().map(|(run, noise)| factor(run) * (0.02 * noise).exp()).collect()
        })
        .collect();
    regressed_runs(&series).split_off(before)
}
