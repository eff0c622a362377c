//! Output of a comparison: a table, a page or JSON.

use std::{collections::HashSet, fmt::Write};

use serde_json::{Value, json};
use tidemark_render::markup::{self, Align, Block, Dialect, Span};
use tidemark_stats::Verdict;

use super::{ComparisonReport, Row};
use crate::{
    output::{self, Format},
    table::{Color, Column, Table},
};

/// Each verdict with its label, its label in counts, and its name in JSON.
const LABELS: [(Verdict, &str, &str, &str); 5] = [
    (Verdict::Regression, "regression", "regressions", "regression"),
    (Verdict::Difference, "difference", "differences", "difference"),
    (Verdict::Improvement, "improvement", "improvements", "improvement"),
    (Verdict::Inconclusive, "inconclusive", "inconclusive", "too_few_data"),
    (Verdict::Unchanged, "no difference", "without a difference", "no_difference"),
];

fn labels(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    let (_, one, many, json) = LABELS[verdict as usize];
    (one, many, json)
}

impl ComparisonReport {
    /// Returns the comparison in a format.
    pub(crate) fn show(&self, format: Format, all: bool) -> String {
        match format {
            Format::Human => self.human(all),
            Format::Json => format!("{:#}\n", self.json()),
            Format::Html => self.page(Dialect::Html),
            Format::Markdown => self.page(Dialect::Markdown),
        }
    }

    fn human(&self, all: bool) -> String {
        if self.is_identical() {
            return self.remarks();
        }
        let colors = output::has_colors();
        let columns = [
            Column::Left("Verdict"),
            Column::Benchmark("Benchmark"),
            Column::Text("Measure"),
            Column::Right("Base"),
            Column::Right("New"),
            Column::Right("Change"),
            Column::Right("Interval"),
            Column::Right("Runs"),
            Column::Left("Note"),
        ];
        let mut table = Table::new(columns, &["Note", "Runs", "Interval", "Base", "New"]);
        for row in &self.rows {
            let cells = self.cells(row);
            match row.verdict {
                Verdict::Regression => table.push_colored(Some(Color::Red).filter(|_| colors), cells),
                Verdict::Improvement => table.push_colored(Some(Color::Green).filter(|_| colors), cells),
                Verdict::Difference => table.push(cells),
                verdict => table.push_passing(labels(verdict).1, cells),
            }
        }
        let (base, new) = (output::plain(&self.base_name), output::plain(&self.new_name));
        let benchmarks: HashSet<_> =
            self.rows.iter().map(|row| (&row.series.label, &row.series.parameters)).collect();
        let count = output::benchmark_count(self.adapter, benchmarks.len());
        let table = table.show_screenful(all);
        format!("{count}, {base} (base) and {new} (new)\n\n{table}\n{}", self.remarks())
    }

    fn page(&self, dialect: Dialect) -> String {
        let named = |name: &str| Span::name(output::plain(name));
        let titles = [
            ("Verdict", Align::Left),
            ("Benchmark", Align::Left),
            ("Measure", Align::Left),
            ("Base", Align::Right),
            ("New", Align::Right),
            ("Change", Align::Right),
            ("Interval", Align::Right),
            ("Runs", Align::Right),
        ];
        let spans = |row: &Row| {
            let cell = |(index, text): (usize, String)| match (index, row.verdict) {
                (0, Verdict::Regression) => Span::strong(text),
                (1, _) => Span::name(text),
                _ => Span::text(text),
            };
            self.cells(row).into_iter().take(titles.len()).enumerate().map(cell).collect()
        };
        let table = Block::Table { titles: titles.to_vec(), rows: self.rows.iter().map(spans).collect() };
        let subject = vec![named(&self.new_name), Span::text(" compared with "), named(&self.base_name)];
        let mut blocks = vec![Block::Paragraph(subject)];
        blocks.extend(Some(table).filter(|_| !self.is_identical()));
        blocks.extend(
            self.remarks()
                .lines()
                .filter(|line| !line.is_empty())
                .map(|line| Block::Paragraph(vec![Span::text(line)])),
        );
        markup::write(&blocks, dialect)
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let Row { series, comparison, .. } = row;
                json!({
                    "verdict": labels(row.verdict).2,
                    "benchmark": series.label,
                    "parameters": series.parameters,
                    "measure": series.measure,
                    "units": row.units,
                    "base": { "value": comparison.base, "runs": row.base_runs },
                    "new": { "value": comparison.new, "runs": row.new_runs },
                    "change": comparison.change,
                    "lower": comparison.interval.map(|(lower, _)| lower),
                    "upper": comparison.interval.map(|(_, upper)| upper),
                    "p": comparison.p,
                    "p_adjusted": row.adjusted,
                })
            })
            .collect();
        let mut document = json!({
            "base": self.base_name, "new": self.new_name, "paired": self.paired, "confidence": self.confidence,
            "comparisons": rows, "only_base": self.only_base, "only_new": self.only_new,
        });
        if let Some(hash) = &self.identical {
            document["verdict"] = json!("identical");
            document["binary"] = json!(hash);
        }
        document
    }

    fn cells(&self, row: &Row) -> [String; 9] {
        let Row { series, comparison, units, .. } = row;
        let interval = comparison.interval.filter(|(lower, upper)| lower.is_finite() && upper.is_finite());
        [
            labels(row.verdict).0.to_owned(),
            series.benchmark(),
            output::plain(series.measure.as_str()),
            output::quantity(comparison.base, units),
            output::quantity(comparison.new, units),
            comparison.change.map_or_else(String::new, output::percent),
            interval.map_or_else(String::new, |(lower, upper)| {
                format!("{} … {}", output::percent(lower), output::percent(upper))
            }),
            match (self.paired, row.base_runs, row.new_runs) {
                (true, 1, _) => "1 pair".to_owned(),
                (true, pairs, _) => format!("{pairs} pairs"),
                (false, base, new) => format!("{base} + {new}"),
            },
            row.note.to_owned(),
        ]
    }

    /// Returns the text below the table.
    fn remarks(&self) -> String {
        let mut text = String::new();
        if let Some(hash) = &self.identical {
            let _ = writeln!(
                text,
                "The binaries of {} (base) and {} (new) are identical (SHA-256 {hash}); nothing was measured.",
                output::plain(&self.base_name),
                output::plain(&self.new_name)
            );
        }
        for (name, titles) in [(&self.base_name, &self.only_base), (&self.new_name, &self.only_new)] {
            if !titles.is_empty() {
                let _ = writeln!(text, "Only in {}: {}.", output::plain(name), titles.join(", "));
            }
        }
        if self.rows.iter().any(|row| row.is_significant_alone(1.0 - self.confidence)) {
            text.push_str(
                "With many comparisons, some intervals exclude 0 by chance; this alone is not a change.\n",
            );
        }
        if self.rows.iter().any(|row| row.verdict == Verdict::Inconclusive) {
            text.push_str(if self.paired {
                "For a verdict on every benchmark, increase --max-time and --iter.\n"
            } else {
                "For more precise results, use at least 4 runs per side, or measure both sides alternately \
                 with `tidemark run --ab`.\n"
            });
        }
        if self.rows.iter().any(|row| row.comparison.interval.is_some()) {
            let _ = writeln!(text, "The confidence level of the intervals is {}%.", self.confidence * 100.0);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "Verdict: {}.", self.counts());
        text
    }

    /// Returns the number of rows with each verdict.
    fn counts(&self) -> String {
        if self.is_identical() {
            "identical".to_owned()
        } else {
            counts(self.rows.iter().map(|row| row.verdict))
        }
    }
}

/// Returns the label of a verdict.
pub(super) fn label(verdict: Verdict) -> &'static str {
    labels(verdict).0
}

/// Returns the number of each verdict.
pub(super) fn counts(verdicts: impl Iterator<Item = Verdict>) -> String {
    let mut numbers = [0; LABELS.len()];
    for verdict in verdicts {
        numbers[verdict as usize] += 1;
    }
    let part = |((verdict, one, many, _), count): (&(Verdict, &str, &str, &str), usize)| match count {
        0 => None,
        1 => Some(format!("1 {}", if *verdict < Verdict::Inconclusive { one } else { many })),
        count => Some(format!("{count} {many}")),
    };
    LABELS.iter().zip(numbers).filter_map(part).collect::<Vec<_>>().join(", ")
}

impl Row {
    /// Whether the row would be a change without the correction for the number of comparisons.
    fn is_significant_alone(&self, chance: f64) -> bool {
        let alone = self.comparison.p.is_some_and(|p| p <= chance);
        alone && self.adjusted.is_some_and(|adjusted| adjusted > chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_a_label() {
        for (index, (verdict, ..)) in LABELS.iter().enumerate() {
            assert_eq!(*verdict as usize, index);
        }
    }
}
