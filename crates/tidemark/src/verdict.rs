//! Verdict on a report as a table for a terminal, with the limits of its thresholds. `tidemark-render` has the texts of the
//! verdict.

use std::{collections::HashSet, thread, time::Duration};

use tidemark_api::{Adapter, JobNoise, Report, ResourceId};
use tidemark_client::Client;
pub(crate) use tidemark_render::metric::*;
use tidemark_render::verdict::{self as render, VerdictRow};

/// Delays in milliseconds between requests until the server has analyzed the history of a branch; each doubles the previous one.
const POLL_DELAYS: [u64; 6] = [200, 400, 800, 1_600, 3_200, 0];

use crate::{
    history::History,
    output,
    table::{Color, Column, Table},
};

/// How to show a verdict on a terminal.
#[derive(Clone, Copy, Default)]
pub(crate) struct View {
    pub(crate) colors: bool,
    /// Whether to show the passing rows that do not fit on the screen.
    pub(crate) all: bool,
}

/// Returns the adapters that read the results, or the adapter of the report if there are none, and the number of benchmarks.
pub(crate) fn header(adapter: Adapter, readers: &str, rows: &[MetricRow<'_>]) -> String {
    let benchmarks: HashSet<_> = rows
        .iter()
        .map(|row| (row.result.benchmark.uuid, row.result.variant.as_ref().map(|variant| variant.uuid)))
        .collect();
    if readers.is_empty() {
        return format!("{}\n", output::benchmark_count(adapter, benchmarks.len()));
    }
    format!("{}: {}\n", output::plain(readers), output::benchmark_count(Adapter::Magic, benchmarks.len()))
}

/// Returns the table for a terminal, with remarks.
pub(crate) fn show(
    report: &Report,
    rows: &[MetricRow<'_>],
    verdict: Option<&tidemark_api::Verdict>,
    history: &History,
    view: View,
) -> String {
    let mut text = table(&render::verdict_rows(rows, verdict), history, view);
    let mut remarks = verdict.map(render::sentences).unwrap_or_default();
    if let Some(JobNoise { before, after }) = report.noise {
        let (before, after) = (before * 100.0, after * 100.0);
        remarks.push(format!("Noise of the machine: {before:.2} % before, {after:.2} % after."));
    }
    if !remarks.is_empty() {
        text.push_str(&format!("\n{}\n", remarks.join("\n")));
    }
    text
}

/// Returns the verdict in one line, the last line of the output.
pub(crate) fn line(rows: &[MetricRow<'_>], verdict: Option<&tidemark_api::Verdict>) -> String {
    format!("Verdict: {}.\n", render::summary(rows, verdict))
}

/// Returns the comparisons of a verdict without metrics.
pub(crate) fn show_comparisons(verdict: &tidemark_api::Verdict) -> String {
    let sentences: Vec<String> = render::sentences(verdict).iter().map(|one| format!("{one}\n")).collect();
    let table = table(&render::comparison_rows(verdict), &History::default(), View::default());
    let gap = if sentences.is_empty() { "" } else { "\n" };
    format!("{table}{gap}{}\nVerdict: {}.\n", sentences.concat(), render::counts(verdict))
}

fn table(lines: &[VerdictRow<'_>], history: &History, view: View) -> String {
    let columns = [
        Column::Left("Verdict"),
        Column::Benchmark("Benchmark"),
        Column::Right("Iterations"),
        Column::Text("Measure"),
        Column::Right("Value"),
        Column::Right("Change"),
        Column::Right("95%"),
        Column::Left("Limit"),
        Column::Right("Detectable"),
        Column::Left("History"),
    ];
    let droppable = &["History", "Detectable", "Iterations", "95%", "Limit", "Value"];
    let mut table = Table::new(columns, droppable);
    for line in lines {
        let cells = [
            line.word().to_owned(),
            line.benchmark(),
            line.iterations(),
            line.measure(),
            line.value(),
            line.change(),
            line.half_width(),
            line.limit(),
            line.detectable(),
            line.rows.first().map_or_else(String::new, |row| history.sparkline(row)),
        ];
        match line.word() {
            word @ ("unchanged" | "inconclusive") if !line.has_changed() => table.push_passing(word, cells),
            "" if !line.has_changed() => table.push_passing("without a verdict", cells),
            "regressed" => table.push_colored(Some(Color::Red).filter(|_| view.colors), cells),
            "improved" => table.push_colored(Some(Color::Green).filter(|_| view.colors), cells),
            _ => table.push(cells),
        }
    }
    table.show_screenful(view.all)
}

/// Returns the verdict on a report, once the server has computed it; `None` if the server does not support verdicts.
pub(crate) fn wait_for_verdict(client: &Client, report: &Report) -> Option<tidemark_api::Verdict> {
    let project = ResourceId::Slug(report.project.slug.clone());
    let request = tidemark_client::verdict(&project, report.uuid, None);
    let mut verdict = None;
    for pause in POLL_DELAYS {
        verdict = Some(client.send(&request).ok()?);
        if verdict.as_ref().is_some_and(|verdict| verdict.settled) {
            break;
        }
        thread::sleep(Duration::from_millis(pause));
    }
    verdict
}
