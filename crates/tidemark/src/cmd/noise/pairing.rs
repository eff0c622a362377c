//! Precision of a comparison of two sides on this machine: measured one after the other, alternately, and as a duet. The machine
//! decides which is best: load that comes and goes affects both sides of a duet, but two sides at the same time also compete for
//! caches and memory.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tidemark_runner::noise::compute;
use tidemark_stats::{Pairs, Samples, compare};

use super::{LINE, walk};
use crate::{cores::CoreSet, failure::Result};

/// Runs per side.
const RUNS: usize = 40;
/// Confidence of the intervals: that of comparisons of commits.
const CONFIDENCE: f64 = 0.99;
/// Limits of the duration of a run.
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(20);
/// Memory that a run accesses, in bytes.
const MEMORY: usize = 1 << 20;
/// Half-width up to which separate runs are precise enough: the smallest change that counts.
const PRECISE: f64 = 0.01;
/// Factor by which a method must be more precise to be worth its disadvantages.
const ADVANTAGE: f64 = 0.8;

/// Half-widths of the confidence intervals of equal sides, as shares.
pub(super) struct Pairing {
    separate: f64,
    interleaved: f64,
    /// `Err` contains the reason why no duet is possible.
    duet: std::result::Result<f64, String>,
}

/// How to compare two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Separate,
    Interleaved,
    Duet,
}

impl Pairing {
    /// Measures the precision, in about this time.
    pub(super) fn measure(time: Duration) -> Self {
        // Both methods need a run per side and round; a duet runs twice at the same time.
        let run = (time / 2 / (2 * RUNS) as u32).clamp(SHORTEST, LONGEST);
        let mut memory = vec![1; MEMORY / size_of::<u64>()];
        let repeats = calibrate(run, &mut memory);
        let mut measure = || timed(repeats, &mut memory);
        let values: Vec<f64> = (0..2 * RUNS).map(|_| measure()).collect();
        let (first, second) = values.split_at(RUNS);
        let separate = half_width(compare(Samples::Independent(first, second), CONFIDENCE).interval);
        // The order within a pair is random in a comparison. Equal sides need no random order.
        let pairs: Vec<(f64, f64)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let duet =
            CoreSet::pair().and_then(|cores| duet(&cores, repeats)).map_err(|failure| failure.to_string());
        Self { separate, interleaved: of_pairs(&pairs), duet: duet.map(|pairs| of_pairs(&pairs)) }
    }

    fn method(&self) -> Method {
        let duet = self.duet.as_ref().copied().unwrap_or(f64::INFINITY);
        let best = self.interleaved.min(duet);
        if self.separate <= PRECISE && best > self.separate * ADVANTAGE {
            Method::Separate
        } else if duet < self.interleaved * ADVANTAGE {
            Method::Duet
        } else {
            Method::Interleaved
        }
    }

    /// Returns the recommendation with its reason.
    pub(super) fn human(&self) -> String {
        let percent = |share: f64| {
            if share.is_finite() { format!("±{:.2}%", share * 100.0) } else { "no interval".to_owned() }
        };
        let duet = match &self.duet {
            Ok(duet) => format!("{} as a duet", percent(*duet)),
            Err(reason) => format!("no duet is possible: {}", reason.trim_end_matches('.')),
        };
        let advice = match self.method() {
            Method::Separate => {
                "Neither a duet nor interleaving is necessary: sides that are measured one after the other \
                                 are precise enough."
            }
            Method::Interleaved => "To compare commits, interleave their runs: `tidemark run --ab BASE`.",
            Method::Duet => "To compare commits, run them as a duet: `tidemark run --ab BASE --duet`.",
        };
        format!(
            "Precision of a comparison of {RUNS} runs per side: {} one after the other, {} interleaved, {duet}.\n{advice}\n",
            percent(self.separate),
            percent(self.interleaved),
        )
    }

    /// Adds the precision to results in the format of the adapter `json`, in percent.
    pub(super) fn add_to(&self, results: &mut Value) {
        let precisions = [
            ("separate", Some(self.separate)),
            ("interleaved", Some(self.interleaved)),
            ("duet", self.duet.as_ref().ok().copied()),
        ];
        for (name, share) in precisions {
            if let Some(share) = share.filter(|share| share.is_finite()) {
                results[format!("tidemark::noise::{name}_precision")] = json!({
                    "Precision": {
                        "value": share * 100.0, "units": "percentage (%)", "direction": "lower_is_better",
                    }
                });
            }
        }
    }
}

fn of_pairs(pairs: &[(f64, f64)]) -> f64 {
    half_width(Pairs::of(pairs, CONFIDENCE, 0.0).comparison().interval)
}

fn half_width(interval: Option<(f64, f64)>) -> f64 {
    interval.map_or(f64::INFINITY, |(lower, upper)| (upper - lower) / 2.0)
}

/// Returns the number of repeats of the work that takes about this time.
fn calibrate(run: Duration, memory: &mut [u64]) -> u32 {
    let mut repeats = 1;
    while timed(repeats, memory) < run.as_secs_f64() && repeats < 1 << 20 {
        repeats *= 2;
    }
    repeats
}

/// Does the work, and returns its duration in seconds.
fn timed(repeats: u32, memory: &mut [u64]) -> f64 {
    let started = Instant::now();
    for _ in 0..repeats {
        compute();
        // A part of the memory at a time, so that arithmetic and memory take a similar time.
        walk(&mut memory[..MEMORY / size_of::<u64>() / LINE]);
    }
    started.elapsed().as_secs_f64()
}

/// Measures two sides at the same time. In each round, the sides swap their cores.
fn duet(cores: &[CoreSet; 2], repeats: u32) -> Result<Vec<(f64, f64)>> {
    let barrier = Barrier::new(2);
    let side = |index: usize| -> Result<Vec<f64>> {
        let mut memory = vec![1; MEMORY / size_of::<u64>()];
        let mut pinned = Ok(());
        let mut values = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let mut sum = 0.0;
            for swap in 0..2 {
                // Both threads must reach the barrier, even if one cannot be pinned.
                pinned = pinned.and(cores[(index + swap) % 2].pin());
                barrier.wait();
                sum += timed(repeats, &mut memory);
            }
            values.push(sum);
        }
        pinned.map(|()| values)
    };
    // Threads of their own, because a pinned thread stays pinned.
    let [base, new] = thread::scope(|scope| {
        let side = &side;
        [0, 1].map(|index| scope.spawn(move || side(index))).map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(crate::failure::Failure::new("A thread of the duet failed.")))
        })
    });
    Ok(base?.into_iter().zip(new?).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_precise_method_is_recommended() {
        let method = |separate, interleaved, duet: Option<f64>| {
            Pairing { separate, interleaved, duet: duet.ok_or_else(|| "one core".to_owned()) }.method()
        };
        assert_eq!(method(0.005, 0.005, Some(0.005)), Method::Separate);
        // A duet is more precise, although separate runs would be precise enough.
        assert_eq!(method(0.009, 0.008, Some(0.001)), Method::Duet);
        assert_eq!(method(0.05, 0.02, Some(0.019)), Method::Interleaved);
        assert_eq!(method(0.05, 0.02, Some(0.01)), Method::Duet);
        assert_eq!(method(0.05, 0.02, None), Method::Interleaved);
        assert_eq!(method(f64::INFINITY, f64::INFINITY, None), Method::Interleaved);
    }

    #[test]
    fn the_reason_is_shown() {
        let pairing = Pairing { separate: 0.05, interleaved: 0.02, duet: Ok(0.01) };
        assert_eq!(
            pairing.human(),
            "Precision of a comparison of 40 runs per side: ±5.00% one after the other, ±2.00% interleaved, ±1.00% as a \
             duet.\nTo compare commits, run them as a duet: `tidemark run --ab BASE --duet`.\n"
        );
        let pairing = Pairing { duet: Err("There is one core.".to_owned()), ..pairing };
        assert!(pairing.human().contains("no duet is possible: There is one core."));
    }
}
