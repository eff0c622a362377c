//! A comparison as a table for people, as Markdown, and as JSON.

use std::{
    env,
    fmt::Write,
    io::{self, IsTerminal},
};

use serde_json::{Value, json};
use tidemark_stats::Verdict;

use super::{Outcome, Row};
use crate::output::{self, Color, Column, Table};

/// How a comparison is printed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A table with a verdict
    Human,
    /// All numbers, for machines
    Json,
    /// A table for a comment or a summary
    Markdown,
}

/// Each verdict with what it is called, what it is called among several, and its word in JSON.
const WORDS: [(Verdict, &str, &str, &str); 5] = [
    (Verdict::Regression, "regression", "regressions", "regression"),
    (Verdict::Difference, "difference", "differences", "difference"),
    (Verdict::Improvement, "improvement", "improvements", "improvement"),
    (Verdict::Unclear, "too few data to tell", "with too few data to tell", "too_few_data"),
    (Verdict::Same, "no difference", "without a difference", "no_difference"),
];

fn words(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    let (_, one, many, json) = WORDS[verdict as usize];
    (one, many, json)
}

impl Outcome {
    /// The comparison in a format.
    pub(crate) fn show(&self, format: Format) -> String {
        match format {
            Format::Human => self.human(),
            Format::Json => format!("{:#}\n", self.json()),
            Format::Markdown => self.markdown(),
        }
    }

    fn human(&self) -> String {
        let colors =
            io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let mut table = Table::new([
            Column::Left("Verdict"),
            Column::Left("Benchmark"),
            Column::Left("Measure"),
            Column::Right("Base"),
            Column::Right("New"),
            Column::Right("Change"),
            Column::Right("Interval"),
            Column::Right("Runs"),
            Column::Left("Note"),
        ]);
        for row in &self.rows {
            let color = match row.verdict {
                Verdict::Regression => Some(Color::Red),
                Verdict::Improvement => Some(Color::Green),
                _ => None,
            };
            table.push_colored(color.filter(|_| colors), self.cells(row));
        }
        let (base, new) = (output::plain(&self.base_name), output::plain(&self.new_name));
        format!("{base} (base) and {new} (new)\n\n{table}\n{}", self.remarks())
    }

    fn markdown(&self) -> String {
        let code = |text: &str| format!("`{}`", output::plain(text).replace('`', "'"));
        let mut text =
            format!("**{}** compared with **{}**\n\n", code(&self.new_name), code(&self.base_name));
        text.push_str("| Verdict | Benchmark | Measure | Base | New | Change | Interval | Runs |\n");
        text.push_str("|---|---|---|---:|---:|---:|---:|---:|\n");
        for row in &self.rows {
            let cells = self.cells(row);
            let cells = cells[..8].iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(" | ");
            let _ = writeln!(text, "| {cells} |");
        }
        format!("{text}\n{}", escaped_lines(&self.remarks()))
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let Row { series, comparison, .. } = row;
                json!({
                    "verdict": words(row.verdict).2,
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
        json!({
            "base": self.base_name, "new": self.new_name, "paired": self.paired, "confidence": self.confidence,
            "comparisons": rows, "only_base": self.only_base, "only_new": self.only_new,
        })
    }

    fn cells(&self, row: &Row) -> [String; 9] {
        let Row { series, comparison, units, .. } = row;
        let interval = comparison.interval.filter(|(lower, upper)| lower.is_finite() && upper.is_finite());
        [
            words(row.verdict).0.to_owned(),
            series.benchmark(),
            output::plain(series.measure.as_str()),
            output::quantity(comparison.base, units),
            output::quantity(comparison.new, units),
            comparison.change.map_or_else(String::new, |change| format!("{} %", percent(change))),
            interval.map_or_else(String::new, |(lower, upper)| {
                format!("{} … {} %", percent(lower), percent(upper))
            }),
            match (self.paired, row.base_runs, row.new_runs) {
                (true, 1, _) => "1 pair".to_owned(),
                (true, pairs, _) => format!("{pairs} pairs"),
                (false, base, new) => format!("{base} + {new}"),
            },
            row.note.to_owned(),
        ]
    }

    /// What there is to say below the table.
    fn remarks(&self) -> String {
        let mut text = String::new();
        for (name, titles) in [(&self.base_name, &self.only_base), (&self.new_name, &self.only_new)] {
            if !titles.is_empty() {
                let _ = writeln!(text, "Only in {}: {}.", output::plain(name), titles.join(", "));
            }
        }
        let mut parts = Vec::new();
        for (verdict, one, many, _) in WORDS {
            match self.rows.iter().filter(|row| row.verdict == verdict).count() {
                0 => {}
                1 => parts.push(format!("1 {}", if verdict < Verdict::Unclear { one } else { many })),
                count => parts.push(format!("{count} {many}")),
            }
        }
        let _ = write!(text, "{}.", parts.join(", "));
        if self.rows.iter().any(|row| row.comparison.interval.is_some()) {
            let _ = write!(text, " Intervals hold with {} %.", self.confidence * 100.0);
        }
        text.push('\n');
        if self.rows.iter().any(|row| row.is_one_of_many(1.0 - self.confidence)) {
            text.push_str(
                "An interval that leaves out 0 is no change yet where there are many: by chance, some will.\n",
            );
        }
        if self.rows.iter().any(|row| row.verdict == Verdict::Unclear) {
            text.push_str(if self.paired {
                "More rounds tell more: raise --iter.\n"
            } else {
                "More runs tell more, at least 4 of each side; best is to run both sides in turn with \
                 `tidemark run --ab`.\n"
            });
        }
        text
    }
}

impl Row {
    /// Whether it would be a change if it were the only one.
    fn is_one_of_many(&self, chance: f64) -> bool {
        let alone = self.comparison.p.is_some_and(|p| p <= chance);
        alone && self.adjusted.is_some_and(|adjusted| adjusted > chance)
    }
}

/// A share in percent, which is never less than nothing by rounding.
fn percent(share: f64) -> String {
    let percent = (share * 1e4).round() / 1e2;
    format!("{:+.2}", if percent == 0.0 { 0.0 } else { percent })
}

/// A text that Markdown and HTML take for nothing but text, on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn escaped_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", escaped(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_its_words() {
        for (index, (verdict, ..)) in WORDS.iter().enumerate() {
            assert_eq!(*verdict as usize, index);
        }
    }

    #[test]
    fn a_name_is_nothing_but_text() {
        assert_eq!(escaped("<b>|a_b|@ada `x`"), "&lt;b&gt;\\|a\\_b\\|&#64;ada \\`x\\`");
    }
}
