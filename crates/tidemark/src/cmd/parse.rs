//! `tidemark parse`: parses the output of a tool and prints it as a table or in the format of the adapter `json`, without a
//! network.

use std::path::{Path, PathBuf};

use tidemark_adapters::{Entry, ParsedMetric, Position, Results, explain};
use tidemark_api::Adapter;

use crate::{
    failure::{Failure, Result, print},
    input::{self, AdapterChoice, ParseFlags, ToolOutput},
    manifest, output,
    table::{Column, Table},
};

/// Arguments of `tidemark parse`.
#[derive(clap::Args)]
pub(crate) struct Parse {
    /// Files with the output of benchmark tools; `-` is standard input [default: standard input]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    parsing: ParseFlags,
    /// Print the results in the format of the adapter `json` instead of a table, one line per result
    #[arg(long)]
    json: bool,
    /// Show which formats read the output and why the others do not, and where the formats of `tidemark.toml` match
    #[arg(long, conflicts_with = "json")]
    explain: bool,
}

impl Parse {
    pub(crate) fn run(&self) -> Result {
        let mut outputs = self.outputs()?;
        if self.explain {
            return outputs.iter().try_for_each(|output| print(&self.explain(output)?));
        }
        let results = self.parsing.parse(&mut outputs)?;
        print(&show(&outputs, &results, self.json)?)
    }

    /// Returns how each format reads an output.
    fn explain(&self, output: &ToolOutput) -> Result<String> {
        let mut text = format!("{}\n\n", output::plain(&output.name));
        let mut table =
            Table::new([Column::Text("Adapter"), Column::Text("Format"), Column::Text("Result")], &[]);
        let (known, described) = match self.parsing.adapter {
            AdapterChoice::Known(adapter) => (Some(adapter), manifest::current()?.adapters()),
            AdapterChoice::Custom(format) => (None, std::slice::from_ref(format)),
        };
        let mut explanations =
            known.map(|adapter| explain(adapter, &output.text, self.parsing.average)).unwrap_or_default();
        explanations.sort_by_key(|explanation| explanation.outcome.is_err());
        if described.is_empty() && explanations.is_empty() {
            text.push_str(
                "No adapter knows a part of this output; `[adapter.NAME]` in tidemark.toml can describe it.\n",
            );
            return Ok(text);
        }
        for format in described {
            let name = output::plain(format.name());
            let mut push =
                |position: &str, result: String| table.push([name.clone(), position.to_owned(), result]);
            match format.matches(&output.text) {
                Ok(matches) if matches.is_empty() => push("described", "no match".to_owned()),
                Ok(matches) => {
                    for found in matches {
                        push(&position(&found.position), summary(&found.entry));
                    }
                }
                Err(error) => push("described", output::plain(&error.to_string())),
            }
        }
        for explanation in explanations {
            let result = match &explanation.outcome {
                Ok(1) => "reads 1 benchmark".to_owned(),
                Ok(count) => format!("reads {count} benchmarks"),
                Err(reason) => output::plain(reason),
            };
            table.push([explanation.adapter.short().to_owned(), explanation.syntax.to_string(), result]);
        }
        text.push_str(&table.show());
        Ok(text)
    }

    fn outputs(&self) -> Result<Vec<ToolOutput>> {
        if self.files.is_empty() {
            return Ok(vec![ToolOutput::from_stdin()?]);
        }
        let read = |file: &PathBuf| {
            if file == Path::new("-") { ToolOutput::from_stdin() } else { ToolOutput::from_file(file) }
        };
        self.files.iter().map(read).collect()
    }
}

/// Returns a position for a table.
fn position(position: &Position) -> String {
    match position {
        Position::Line(line) => format!("line {line}"),
        Position::Path(path) => output::plain(path),
    }
}

/// Returns a result on one line.
fn summary(entry: &Entry) -> String {
    let metric = |metric: &ParsedMetric| {
        let value = output::quantity(metric.value, output::units(&metric.measure, metric.units.as_ref()));
        let direction = metric.direction.map_or_else(String::new, |found| format!(" ({})", found.phrase()));
        format!("{} {value}{direction}", output::plain(metric.measure.as_str()))
    };
    let metrics: Vec<_> = entry.metrics.iter().map(metric).collect();
    let benchmark = output::entry(entry.label.as_str(), entry.parameters.as_ref(), entry.ignored);
    format!("{benchmark}: {}", metrics.join(", "))
}

/// Returns results with their source, as tables or as JSON.
pub(crate) fn show(outputs: &[ToolOutput], results: &[Results], json: bool) -> Result<String> {
    let mut text = String::new();
    for (index, result) in results.iter().enumerate() {
        if json {
            let json = serde_json::to_string(result)
                .map_err(|error| Failure::new(format!("The results cannot be written as JSON ({error}).")))?;
            text.push_str(&json);
            text.push('\n');
            continue;
        }
        if index > 0 {
            text.push('\n');
        }
        // Folded results come from all outputs together.
        let from = match outputs {
            [_, ..] if outputs.len() == results.len() => outputs[index].name.clone(),
            _ => format!("{} outputs", outputs.len()),
        };
        text.push_str(&format!(
            "{}, read as {}: {}\n\n{}",
            output::plain(&from),
            output::plain(input::reader(outputs, index, result)),
            output::benchmark_count(Adapter::Magic, result.entries.len()),
            table(result)
        ));
    }
    Ok(text)
}

/// Returns the results as a table.
fn table(results: &Results) -> String {
    let columns = [
        Column::Benchmark("Benchmark"),
        Column::Text("Measure"),
        Column::Right("Value"),
        Column::Right("Range"),
    ];
    let mut table = Table::new(columns, &["Range"]);
    for entry in &results.entries {
        let benchmark = output::entry(entry.label.as_str(), entry.parameters().as_ref(), entry.ignored);
        for metric in entry.metrics() {
            let units = output::units(metric.measure, metric.units);
            table.push([
                benchmark.clone(),
                output::plain(metric.measure.as_str()),
                output::quantity(metric.value, units),
                output::range(metric.lower_value, metric.upper_value, units),
            ]);
        }
    }
    table.show()
}
