//! `tidemark mock`: generates random results in the format of the adapter `json`. It measures nothing.

use std::{
    collections::HashSet,
    hash::{BuildHasher, Hasher, RandomState},
};

use tidemark_adapters::{Entry, Label, ParsedMetric, Results};
use tidemark_api::{Adapter, BenchmarkName, ResourceName};

use crate::{
    failure::{Failure, Result, print},
    output,
};

/// Distance of the lower and the upper value from the value, as a share of it.
const SPREAD: f64 = 0.1;

/// Arguments of `tidemark mock`.
#[derive(clap::Args)]
pub(crate) struct Mock {
    /// Seed; the same seed generates the same results [default: random]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Number of benchmarks
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(..=100_000))]
    count: u32,
    /// Measure of each benchmark; repeat the flag for several
    #[arg(long, value_name = "MEASURE", default_value = "latency")]
    measure: Vec<ResourceName>,
    /// Magnitude of the values: a power of ten
    #[arg(long, value_name = "POWER", default_value_t = 1, allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(-300..=300))]
    pow: i32,
    /// Fail after printing the results
    #[arg(long)]
    fail: bool,
    /// Fail in half of the runs
    #[arg(long, conflicts_with = "fail")]
    flaky: bool,
}

impl Mock {
    pub(crate) fn run(&self) -> Result {
        let mut distinct = HashSet::new();
        if let Some(twice) = self.measure.iter().find(|measure| !distinct.insert(*measure)) {
            return Err(Failure::usage(format!("The measure `{twice}` is given twice with --measure.")));
        }
        let mut random = Random(self.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()));
        let entries = (0..self.count).map(|index| self.entry(index, &mut random)).collect::<Result<_>>()?;
        print(&output::json("The results", &Results { adapter: Adapter::Json, entries })?)?;
        if self.fail || (self.flaky && random.uniform() < 0.5) {
            return Err(Failure::new("The command failed as requested by --fail or --flaky."));
        }
        Ok(())
    }

    /// Returns the benchmark with this index: each has its own range of values.
    fn entry(&self, index: u32, random: &mut Random) -> Result<Entry> {
        let name: BenchmarkName = format!("tidemark::mock_{index}")
            .parse()
            .map_err(|error| Failure::new(format!("A benchmark cannot be named: {error}.")))?;
        let size = 10_f64.powi(self.pow);
        let measured = |measure: &ResourceName| {
            let value = size * (f64::from(index) + random.uniform());
            ParsedMetric {
                measure: measure.clone(),
                units: None,
                direction: None,
                value,
                lower_value: Some(value - value * SPREAD),
                upper_value: Some(value + value * SPREAD),
            }
        };
        let metrics = self.measure.iter().map(measured).collect();
        Ok(Entry { label: Label::Name(name), parameters: None, ignored: false, metrics })
    }
}

/// SplitMix64, implemented here so that the results of a seed do not depend on the version of a library.
struct Random(u64);

impl Random {
    /// Returns a uniform number in [0, 1) from the upper 53 bits.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
