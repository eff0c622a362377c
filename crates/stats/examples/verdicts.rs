//! Measures the verdicts on runs: the number of false positives without a change, and the share of regressed runs after a
//! step.
//!
//! ```sh
//! cargo run --release -p tidemark-stats --example verdicts [-- REPEATS]
//! ```

use std::{env, error::Error};

use tidemark_stats::{
    Baseline, PeerNoise, median,
    synthetic::{Noise, normal, regressed_runs},
};

/// Number of runs without a change, and number of benchmarks.
const RUNS: usize = 220;
const BENCHMARKS: usize = 12;
/// Number of benchmarks with another kind of noise than the others.
const ODD: u64 = 3;
/// Number of series of a project that is measured twice a week, and number of their runs.
const SERIES: u64 = 56;
const WEEKLY: usize = 104;

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
    for odd in [Noise::HeavyTails, Noise::Spikes, Noise::LogNormal] {
        let counts: Vec<usize> = (0..repeats)
            .map(|seed| {
                let series = |benchmark| if benchmark < ODD { odd } else { Noise::Normal };
                regressed_runs(&equal_series(series, seed)).iter().filter(|is| **is).count()
            })
            .collect();
        let name = format!("{ODD} of {BENCHMARKS}: {odd}");
        let most = counts.iter().max().copied().unwrap_or_default();
        println!("{name:45} {:.2} {most:2}", counts.iter().sum::<usize>() as f64 / repeats as f64);
    }
    println!(
        "Smallest detectable change of {SERIES} series of {WEEKLY} runs with a noise of 2 %, in percent,"
    );
    println!(
        "if the level of some was 34 % higher for five runs: number of these, their median, median of the others"
    );
    for stepped in [0, 1, 8, 12] {
        let (with, without) = detectable(stepped);
        println!("{stepped:2} {with:.0} {without:.0}");
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
    if noise != Noise::StickyHosts {
        return regressed_runs(&equal_series(|_| noise, seed));
    }
    // All benchmarks run on the same host.
    let (hosts, _) = noise.hosts_and_series(seed, RUNS);
    let series: Vec<Vec<f64>> = (0..BENCHMARKS as u64)
        .map(|benchmark| {
            let values = hosts.iter().zip(normal(1_000 * seed + benchmark, RUNS));
            values.map(|(host, noise)| (0.1 * (3.0 * *host as f64 + noise)).exp()).collect()
        })
        .collect();
    regressed_runs(&series)
}

/// Generates series without a change, each with its own kind of noise.
fn equal_series(noise: impl Fn(u64) -> Noise, seed: u64) -> Vec<Vec<f64>> {
    (0..BENCHMARKS as u64)
        .map(|benchmark| {
            let values = noise(benchmark).series(1_000 * seed + benchmark, RUNS);
            values.iter().map(|value| (0.1 * (value - 100.0)).exp()).collect()
        })
        .collect()
}

/// Returns the median of the smallest detectable changes, in percent, of series whose level was higher for five runs, and of the
/// other series.
fn detectable(stepped: u64) -> (f64, f64) {
    let baselines: Vec<Baseline> = (0..SERIES)
        .filter_map(|series| {
            let factor = |run: usize| if series < stepped && (40..45).contains(&run) { 1.34 } else { 1.0 };
            let noise = normal(series, WEEKLY).into_iter().enumerate();
            let values: Vec<f64> = noise.map(|(run, noise)| factor(run) * (0.02 * noise).exp()).collect();
            Baseline::new(&values, &[], &[1.0])
        })
        .collect();
    let peers = PeerNoise::of(&baselines, baselines.len());
    let found: Vec<f64> =
        baselines.iter().filter_map(|one| one.compare(0.95, 0.0, &peers).detectable).collect();
    let (with, without) = found.split_at(stepped as usize);
    (100.0 * median(with).unwrap_or_default(), 100.0 * median(without).unwrap_or_default())
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
