//! The verdict on a report as a table for a terminal. What the verdict is, is decided where servers find it, too.

pub(crate) use tidemark_api::telling::verdict::*;
use tidemark_api::{JobNoise, Report};

use crate::{
    history::History,
    output::{self, Color, Column, Table},
};

/// The table for a terminal, and a summary.
pub(crate) fn show(report: &Report, rows: &[Row<'_>], history: &History, colors: bool) -> String {
    let several = is_repeated(report);
    let mut table = Table::new([
        Column::Left("Verdict"),
        Column::Left("Benchmark"),
        Column::Right("Iteration"),
        Column::Left("Measure"),
        Column::Right("Value"),
        Column::Right("Baseline"),
        Column::Right("Change"),
        Column::Right("Limit"),
        Column::Left("History"),
    ]);
    for row in rows {
        let color = match row.verdict {
            Verdict::Regression => Some(Color::Red),
            Verdict::Improvement => Some(Color::Green),
            _ => None,
        };
        let iteration = if several { row.result.iteration.to_string() } else { String::new() };
        table.push_colored(
            color.filter(|_| colors),
            [
                row.word().to_owned(),
                row.benchmark(),
                iteration,
                output::plain(row.measured.measure.name.as_str()),
                row.value(),
                row.baseline(),
                row.change(),
                row.limit(),
                history.sparkline(row),
            ],
        );
    }
    // A line that is broken is harder to read than one without its history.
    if let Some(width) = output::terminal_width() {
        table.fit(width);
    }
    let noise = report.noise.map(|JobNoise { before, after }| {
        format!("Noise of the machine: {:.2} % before, {:.2} % after.\n", before * 100.0, after * 100.0)
    });
    format!("{table}\n{}.\n{}", summary(rows), noise.unwrap_or_default())
}
