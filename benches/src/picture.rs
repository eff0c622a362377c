//! The cost of a picture.

use tidemark_api::{MeasureUuid, Timestamp, XAxis, YAxis};
use tidemark_server::domain::plot::{self, Line, Picture, Point, Theme};

use crate::{Result, report::cpu, round};

const LINES: usize = 8;
const POINTS: u32 = 1_000;
const ROUNDS: usize = 25;

/// Draws a picture and prints the duration.
pub(crate) fn measure() -> Result {
    let (plain, full) = (picture(false)?, picture(true)?);
    println!("| a picture of {LINES} series × {POINTS} points, CPU | values | with limits | unit |");
    println!("|---|---:|---:|---|");
    for (name, draw) in [
        ("SVG", (|picture| Ok(plot::svg(picture).len())) as fn(&Picture) -> Result<usize>),
        ("PNG", |picture| Ok(plot::png(&plot::svg(picture))?.len())),
        ("JPEG", |picture| Ok(plot::jpeg(&plot::svg(picture))?.len())),
    ] {
        let (plain, full) = (least(&plain, draw)?, least(&full, draw)?);
        println!("| {name} | {} | {} | ms |", round(plain), round(full));
    }
    Ok(())
}

/// Returns the minimum duration of drawing a picture: the duration on an otherwise idle machine.
fn least(picture: &Picture, draw: fn(&Picture) -> Result<usize>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = cpu();
        draw(picture)?;
        least = least.min((cpu() - begun).as_secs_f64() * 1000.0);
    }
    Ok(least)
}

fn picture(limits: bool) -> Result<Picture> {
    let measure: MeasureUuid = "0190a000-0000-7000-8000-000000000000".parse()?;
    let lines = (0..LINES).map(|line| Line {
        label: vec!["main".into(), "ci".into(), format!("bench {line}"), "Latency".into()],
        measure,
        measure_name: "Latency".into(),
        units: "nanoseconds (ns)".into(),
        points: (0..POINTS)
            .map(|number| {
                // Pseudo-random noise; deterministic.
                let noise = f64::from(number.wrapping_mul(2_654_435_761) >> 22) / 100.0;
                let value = 1_000.0 + 200.0 * line as f64 + noise;
                Point {
                    time: Timestamp::from_micros(1_750_000_000_000_000 + i64::from(number) * 3_600_000_000),
                    version: number,
                    value,
                    lower_value: None,
                    upper_value: None,
                    lower_limit: None,
                    upper_limit: limits.then_some(value + 30.0),
                    alert: limits && number % 100 == 99,
                }
            })
            .collect(),
    });
    Ok(Picture {
        title: "Eight series".into(),
        theme: Theme::Light,
        x: XAxis::DateTime,
        y: YAxis::Auto,
        lower_value: false,
        upper_value: false,
        lower_boundary: limits,
        upper_boundary: limits,
        lines: lines.collect(),
        hidden: 0,
    })
}
