//! `tidemark parse`: parses the output of a tool and prints it as a table or in the format of the adapter `json`, without a
//! network.

use std::path::{Path, PathBuf};

use tidemark_adapters::Results;

use crate::{
    failure::{Failure, Result, print},
    input::{ParseFlags, ToolOutput},
    output,
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
}

impl Parse {
    pub(crate) fn run(&self) -> Result {
        let outputs = self.outputs()?;
        let results = self.parsing.parse(&outputs)?;
        print(&show(&outputs, &results, self.json)?)
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
        text.push_str(&format!("{}, read as {}\n\n{}", output::plain(&from), result.adapter, table(result)));
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
        let benchmark = output::entry(entry);
        for metric in &entry.metrics {
            let units = output::units(metric);
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
