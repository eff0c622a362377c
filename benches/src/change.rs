//! What it costs to find changes, in a whole series and with each value that comes in. Where the values are kept is not
//! measured.

use std::hint::black_box;

use tidemark_stats::{Monitor, Settings, changes};

use crate::{report::cpu, round};

/// How long a series is.
const VALUES: u32 = 2_000;
/// How many different series there are.
const SERIES: u32 = 20;
/// How often each is looked at.
const ROUNDS: usize = 10;

/// Looks at series and prints what it took.
pub(crate) fn measure() {
    let series: Vec<Vec<f64>> = (0..SERIES).map(series).collect();
    let settings = Settings::default();
    let whole = least(|| {
        for values in &series {
            black_box(changes(values, &settings));
        }
    });
    let appended = least(|| {
        let mut monitor = Monitor::new(settings);
        for value in series.iter().flatten() {
            black_box(monitor.push(*value));
        }
    });
    println!("| changes, CPU | | unit |");
    println!("|---|---:|---|");
    println!("| a series of {VALUES} values | {} | ms |", round(whole / f64::from(SERIES) * 1e3));
    println!("| a value more | {} | µs |", round(appended / f64::from(SERIES * VALUES) * 1e6));
}

/// The least time that something takes, in seconds: when nobody else wants the machine.
fn least(act: impl Fn()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let begun = cpu();
        act();
        (cpu() - begun).as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Noise of a few percent around a level that moves now and then; the same each time.
fn series(number: u32) -> Vec<f64> {
    let noise = |index: u32| f64::from((index + number * VALUES).wrapping_mul(2_654_435_761) >> 22) / 1_024.0;
    (0..VALUES).map(|index| 1_000.0 + 60.0 * f64::from(index / 270 % 3) + 50.0 * noise(index)).collect()
}
