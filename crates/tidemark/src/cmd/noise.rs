//! `tidemark noise`: measures how much the speed of this machine varies, and gives advice. `platform` reads the state of the
//! system; the runner, which measures the same, has the timing functions.

mod pairing;
mod platform;

use std::{
    fs::File,
    hint::black_box,
    io::{self, Read, Seek, SeekFrom, Write},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tidemark_runner::noise::{compute, jitter, sample};

use self::{pairing::Pairing, platform::Platform};
use crate::{
    failure::{Result, print},
    table::{Column, Table},
};

/// Parts with their share of the time and their weight in the score. The remaining time is for the observation of the system.
const COMPUTE: Part = Part { name: "compute", share: 0.25, weight: 0.30 };
const CACHE: Part = Part { name: "cache", share: 0.25, weight: 0.40 };
const DISK: Part = Part { name: "I/O", share: 0.15, weight: 0.15 };
/// Share of the time for the precision of comparisons.
const PAIRING_SHARE: f64 = 0.2;
/// Weight of stolen time in the score.
const STEAL_WEIGHT: f64 = 0.15;
/// Default cache size, in bytes.
const DEFAULT_CACHE: usize = 8 << 20;
/// Maximum memory to access, in bytes.
const MOST_MEMORY: usize = 64 << 20;
/// Distance of the accessed words: one cache line.
const LINE: usize = 8;
/// Size of a write, in bytes.
const BLOCK: usize = 4096;

/// Arguments of `tidemark noise`.
#[derive(clap::Args)]
pub(crate) struct Noise {
    /// Duration of the measurement in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    duration: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Suppress progress messages
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Table with advice
    Human,
    /// Results in the format of the adapter `json`, for `tidemark run`
    Json,
}

struct Part {
    name: &'static str,
    share: f64,
    weight: f64,
}

/// Result of the measurement.
struct Found {
    /// Variation of the compute part, in percent.
    compute: f64,
    cache: f64,
    /// `None` if no file can be written.
    disk: Option<f64>,
    /// Share of stolen time, in percent; `None` if the system does not report it.
    steal: Option<f64>,
    platform: Platform,
}

impl Noise {
    pub(crate) fn run(&self) -> Result {
        let time = |part: &Part| Duration::from_secs_f64(self.duration as f64 * part.share);
        let tell = |what: &str| {
            if !self.quiet {
                message!("Measuring {what} …");
            }
        };
        let before = platform::times();
        tell(COMPUTE.name);
        let compute = jitter(&sample(time(&COMPUTE), compute));
        tell(CACHE.name);
        let size = (platform::cache_size().unwrap_or(DEFAULT_CACHE) / 4 * 3).min(MOST_MEMORY);
        let mut memory = vec![1_u64; size / size_of::<u64>()];
        let cache = jitter(&sample(time(&CACHE), || walk(&mut memory)));
        tell(DISK.name);
        let disk = write_samples(time(&DISK)).ok().map(|samples| jitter(&samples));
        tell("comparisons");
        let pairing = Pairing::measure(Duration::from_secs_f64(self.duration as f64 * PAIRING_SHARE));
        tell("the system");
        let rest = 1.0 - COMPUTE.share - CACHE.share - DISK.share - PAIRING_SHARE;
        let platform = Platform::watch(Duration::from_secs_f64(self.duration as f64 * rest));
        let steal = before.zip(platform::times()).map(|(before, after)| after.steal_since(&before));
        let found = Found { compute, cache, disk, steal, platform };
        let is_json = self.json || self.format == Format::Json;
        if is_json {
            let mut results = found.json();
            pairing.add_to(&mut results);
            return print(&format!("{results:#}\n"));
        }
        print(&found.human(&pairing.human()))
    }
}

impl Found {
    /// Returns the score, from 0 to 100: 33 · log₁₀ of the weighted mean of the percentages.
    fn score(&self) -> f64 {
        let parts = [
            (Some(self.compute), COMPUTE.weight),
            (Some(self.cache), CACHE.weight),
            (self.disk, DISK.weight),
            (self.steal, STEAL_WEIGHT),
        ];
        // The weight of unknown parts is distributed among the other parts.
        let known: f64 = parts.iter().filter_map(|(value, weight)| value.map(|_| weight)).sum();
        let sum: f64 = parts.iter().filter_map(|(value, weight)| Some((*value)? * weight)).sum();
        (33.0 * (sum / known).log10()).clamp(0.0, 100.0)
    }

    /// Returns the text; `comparisons` is the part about comparisons.
    fn human(&self, comparisons: &str) -> String {
        let mut table =
            Table::new([Column::Left("Part"), Column::Right("Variation"), Column::Left("Rating")], &[]);
        let percent = |value: f64| format!("{value:.2}%");
        table.push([COMPUTE.name.into(), percent(self.compute), rating(self.compute).into()]);
        table.push([CACHE.name.into(), percent(self.cache), rating(self.cache).into()]);
        let (disk, disk_rating) = match self.disk {
            Some(disk) => (percent(disk), rating(disk / 10.0)),
            None => (String::new(), "not measured: no file can be written"),
        };
        table.push([DISK.name.into(), disk, disk_rating.into()]);
        if let Some(steal) = self.steal {
            table.push(["stolen time".into(), percent(steal), rating(steal * 2.0).into()]);
        }
        let score = self.score();
        let verdict = match score {
            ..=40.0 => "quiet",
            ..=55.0 => "moderate",
            ..=70.0 => "noisy",
            _ => "very noisy",
        };
        let mut text =
            format!("{}\nThis machine is {verdict}: {score:.0} of 100 dB.\n\n{comparisons}", table.show());
        let advice = self.platform.advice(self);
        if !advice.is_empty() {
            text.push_str("\nAdvice:\n");
            for line in advice {
                text.push_str(&format!("* {line}\n"));
            }
        }
        text
    }

    /// Returns the results in the format of the adapter `json`.
    fn json(&self) -> Value {
        let mut results = json!({
            "tidemark::noise::compute_jitter": { "compute-jitter": { "value": self.compute } },
            "tidemark::noise::cache_jitter": { "cache-jitter": { "value": self.cache } },
            "tidemark::noise::composite": { "noise-score": { "value": self.score() } },
        });
        if let Some(disk) = self.disk {
            results["tidemark::noise::io_jitter"] = json!({ "io-jitter": { "value": disk } });
        }
        if let Some(steal) = self.steal {
            results["tidemark::noise::cpu_steal"] = json!({ "cpu-steal": { "value": steal } });
        }
        results
    }
}

fn rating(percent: f64) -> &'static str {
    match percent {
        ..=1.0 => "very steady",
        ..=3.0 => "steady",
        ..=10.0 => "unsteady",
        _ => "very unsteady",
    }
}

/// Reads and writes one word in each cache line of a memory range.
fn walk(memory: &mut [u64]) {
    for word in memory.iter_mut().step_by(LINE) {
        *word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    black_box(memory);
}

/// Measures the time to write, sync and read a block.
fn write_samples(time: Duration) -> io::Result<Vec<f64>> {
    let mut file: File = tempfile::tempfile()?;
    let mut block = vec![7; BLOCK];
    let started = Instant::now();
    let mut samples = Vec::new();
    while started.elapsed() < time || samples.len() < 20 {
        let begin = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&block)?;
        file.sync_all()?;
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut block)?;
        samples.push(begin.elapsed().as_secs_f64());
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_do_not_change_the_score() {
        let found =
            |disk, steal| Found { compute: 10.0, cache: 10.0, disk, steal, platform: Platform::default() };
        for known in [found(Some(10.0), Some(10.0)), found(None, Some(10.0)), found(None, None)] {
            assert!((known.score() - 33.0).abs() < 1e-9, "{}", known.score());
        }
        let quiet = Found { compute: 0.1, cache: 0.1, ..found(None, None) };
        assert_eq!(quiet.score(), 0.0);
    }
}
