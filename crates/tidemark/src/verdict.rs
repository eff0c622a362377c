//! The verdict on a report as a table for a terminal, by its thresholds and against the runs before it. What the verdict is,
//! is decided where servers find it, too.

use std::{thread, time::Duration};

pub(crate) use tidemark_api::telling::verdict::*;
use tidemark_api::{
    Change, ChangeCause, ChangeDirection, ChangeStatus, JobNoise, Report, ResourceId, VerdictAnswer,
    telling::outcome,
};
use tidemark_client::Client;

/// How long to wait until a server has looked at the history of a branch: twice as long each time it was asked.
const PAUSES: [u64; 6] = [200, 400, 800, 1_600, 3_200, 0];

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

/// What a report shows against the runs before it, once the server has looked at them; nothing from a server that does not
/// know.
pub(crate) fn against_history(client: &Client, report: &Report) -> Option<tidemark_api::Verdict> {
    let project = ResourceId::Slug(report.project.slug.clone());
    let request = tidemark_client::verdict(&project, report.uuid);
    let mut verdict = None;
    for pause in PAUSES {
        verdict = Some(client.send(&request).ok()?);
        if verdict.as_ref().is_some_and(|verdict| verdict.settled) {
            break;
        }
        thread::sleep(Duration::from_millis(pause));
    }
    verdict
}

/// How much became worse: comparisons of this run, and changes that it has made sure of.
pub(crate) fn regressions(verdict: &tidemark_api::Verdict) -> u32 {
    let is_worse = |change: &&Change| {
        (change.direction, change.cause, change.status)
            == (ChangeDirection::Regression, ChangeCause::Code, ChangeStatus::Active)
    };
    // A series that is worse in this run, too, is counted once.
    let is_new = |change: &&Change| {
        !verdict.comparisons.iter().any(|one| {
            (one.answer, one.direction) == (VerdictAnswer::Changed, ChangeDirection::Regression)
                && (one.benchmark.uuid, one.measure.uuid) == (change.benchmark.uuid, change.measure.uuid)
                && one.variant == change.variant
        })
    };
    let found = verdict.changes.iter().filter(is_worse).filter(is_new);
    verdict.counts.regressions + u32::try_from(found.count()).unwrap_or(u32::MAX)
}

/// What a report shows against the runs before it, for a terminal.
pub(crate) fn show_history(verdict: &tidemark_api::Verdict, colors: bool) -> String {
    let mut text = String::new();
    let lines = outcome::lines(verdict);
    if !lines.is_empty() {
        let mut table = Table::new([
            Column::Left("Against the runs before"),
            Column::Left("Benchmark"),
            Column::Left("Measure"),
            Column::Right("Level"),
            Column::Right("Now"),
            Column::Right("Change (95 %)"),
        ]);
        for line in lines {
            let color = match line.word {
                "regression" => Some(Color::Red),
                "improvement" => Some(Color::Green),
                _ => None,
            };
            let row = [line.word.to_owned(), line.benchmark, line.measure, line.base, line.head, line.change];
            table.push_colored(color.filter(|_| colors), row);
        }
        if let Some(width) = output::terminal_width() {
            table.fit(width);
        }
        text.push_str(&format!("{table}\n"));
    }
    for sentence in outcome::sentences(verdict) {
        text.push_str(&sentence);
        text.push('\n');
    }
    text
}
