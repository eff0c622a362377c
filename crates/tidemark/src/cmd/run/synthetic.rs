//! Results without a tool: elapsed time of the command and sizes of files, in the format of the adapter `json`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tidemark_adapters::Results;
use tidemark_api::{Adapter, job::JOB_ENTRIES_MAX};

use super::command::BenchmarkCommand;
use crate::{
    failure::{Failure, Result},
    input::{AdapterChoice, ParseFlags, ToolOutput},
};

/// Maximum length of the name of a benchmark, in bytes.
const NAME_MAX: usize = 1_024;

/// Flags of these results.
#[derive(Clone, clap::Args)]
pub(crate) struct SyntheticFlags {
    /// Measure the duration of the command instead of parsing its output
    #[arg(long, conflicts_with = "file")]
    pub(crate) build_time: bool,
    /// Measure the size of this file, after the command if there is one; repeat the flag for several
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) file_size: Vec<PathBuf>,
}

impl SyntheticFlags {
    /// Whether any of these results is requested.
    pub(crate) fn is_given(&self) -> bool {
        self.build_time || !self.file_size.is_empty()
    }

    /// Reports errors before the benchmarks run.
    pub(crate) fn check(&self, runs_something: bool) -> Result {
        if self.build_time && !runs_something {
            return Err(Failure::usage("--build-time requires a command; give the command to run."));
        }
        if self.file_size.len() > JOB_ENTRIES_MAX {
            return Err(Failure::usage(format!(
                "--file-size is given {} times; the maximum is {JOB_ENTRIES_MAX}.",
                self.file_size.len()
            )));
        }
        let mut files: Vec<&PathBuf> = self.file_size.iter().collect();
        files.sort_unstable();
        match files.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Failure::usage(format!(
                "--file-size names {} twice; name each file once.",
                pair[0].display()
            ))),
            None => Ok(()),
        }
    }

    /// Returns the result: the elapsed time of the command, if it ran, and the sizes of the files, which `locate` finds.
    pub(crate) fn measure(
        &self,
        benchmark: &BenchmarkCommand,
        elapsed: Option<Duration>,
        locate: impl Fn(&Path) -> PathBuf,
    ) -> Result<ToolOutput> {
        let mut results = Map::new();
        if let Some(elapsed) = elapsed.filter(|_| self.build_time) {
            results
                .insert(command_name(benchmark), json!({ "build-time": { "value": elapsed.as_secs_f64() } }));
        }
        for file in &self.file_size {
            let size = fs::metadata(locate(file))
                .map_err(|error| {
                    Failure::new(format!(
                        "{} cannot be read ({error}); check the path of --file-size.",
                        file.display()
                    ))
                })?
                .len();
            let measured = json!({ "value": size });
            // A file may have the name of the command.
            match results.entry(self.name(file)).or_insert_with(|| json!({})) {
                Value::Object(measures) => drop(measures.insert("file-size".to_owned(), measured)),
                _ => unreachable!("only objects are put there"),
            }
        }
        Ok(ToolOutput::of_text("the measured values", Value::Object(results).to_string()))
    }

    /// Parses these results.
    pub(crate) fn parse(&self, flags: &ParseFlags, outputs: &mut [ToolOutput]) -> Result<Vec<Results>> {
        ParseFlags { adapter: AdapterChoice::Known(Adapter::Json), ..*flags }.parse(outputs)
    }

    /// Returns the name of a file: its last component, or its whole path if another file has the same last component.
    fn name(&self, file: &Path) -> String {
        let base = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = base(file).filter(|own| {
            self.file_size.iter().filter(|other| base(other).as_ref() == Some(own)).count() == 1
        });
        own.unwrap_or_else(|| file.display().to_string())
    }
}

/// Returns the elapsed time of a command as a latency, in the format of the adapter `json`.
pub(crate) fn elapsed_results(benchmark: &BenchmarkCommand, elapsed: Duration) -> ToolOutput {
    let mut results = Map::new();
    let nanoseconds = elapsed.as_secs_f64() * 1e9;
    results.insert(command_name(benchmark), json!({ "latency": { "value": nanoseconds } }));
    ToolOutput::of_text("the elapsed time", Value::Object(results).to_string())
}

/// Returns the name of the benchmark that is the command itself.
fn command_name(benchmark: &BenchmarkCommand) -> String {
    let name = benchmark.words().join(" ");
    name[..name.floor_char_boundary(NAME_MAX)].to_owned()
}
