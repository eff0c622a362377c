//! `tidemark compare`: comparison of two sets of result files or two commits, without a server and without history.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidemark_adapters::Results;
use tidemark_api::{Adapter, Report};

use crate::{
    checkout::Revision,
    cmd::run::{command::BenchmarkCommand, synthetic::SyntheticFlags},
    comparison::{ComparisonReport, CriteriaFlags, Sides},
    failure::{Exit, Failure, Result, print_before},
    input::{ParseFlags, ToolOutput},
    interleave::{Interleave, Limits},
    measurement::Measurement,
    output::Format,
    transfer,
};

/// Arguments of `tidemark compare`.
#[derive(clap::Args)]
pub(crate) struct Compare {
    /// Base of the comparison: a file with results, a folder of such files or, with a command, a commit
    base: String,
    /// New side of the comparison, of the same type as the base
    new: String,
    /// Additional file or folder of the base, for repeated runs; repeat the flag for several
    #[arg(long, value_name = "FILE")]
    also_base: Vec<String>,
    /// Additional file or folder of the new side; repeat the flag for several
    #[arg(long, value_name = "FILE")]
    also_new: Vec<String>,
    #[command(flatten)]
    parsing: ParseFlags,
    #[command(flatten)]
    criteria: CriteriaFlags,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Exit with status 3 if any benchmark regressed
    #[arg(long, alias = "err")]
    error_on_alert: bool,
    /// Print only the comparison
    #[arg(long, short)]
    quiet: bool,
    /// On a terminal: show all rows, even if they do not fit on the screen
    #[arg(long)]
    all: bool,
    /// Maximum number of runs of the command for each commit
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    iter: Option<u32>,
    #[command(flatten)]
    limits: Limits,
    /// Shell command that prepares each commit once, for example a build
    #[arg(long, alias = "ab-setup", value_name = "COMMAND", requires = "command")]
    setup: Option<String>,
    /// Leave out rounds in which the command fails, instead of stopping
    #[arg(long, requires = "command")]
    allow_failure: bool,
    /// Read results from this file in each checkout instead of the output of the command; repeat the flag for several
    #[arg(long, value_name = "FILE", requires = "command")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    synthetic: SyntheticFlags,
    /// Measured binary: if it is identical in both checkouts, nothing is measured; repeat the flag for several files
    #[arg(long, value_name = "PATH", requires = "command")]
    binary: Vec<PathBuf>,
    #[command(flatten)]
    benchmark: BenchmarkCommand,
}

impl Compare {
    pub(crate) fn run(&self) -> Result {
        self.synthetic.check(self.benchmark.is_given())?;
        let report = if self.benchmark.is_given() || self.synthetic.is_given() {
            self.of_commits()?
        } else if self.limits.duet {
            return Err(Failure::usage("--duet requires a command; give the command to run."));
        } else {
            self.of_files()?.compare(&self.criteria)?
        };
        let format = if self.json { Format::Json } else { self.format };
        print_before(report.gate(self.error_on_alert), &report.show(format, self.all))
    }

    fn of_commits(&self) -> Result<ComparisonReport> {
        Interleave {
            base: Revision::Commit(self.base.clone()),
            new: Revision::Commit(self.new.clone()),
            measurement: Measurement {
                setup: self.setup.as_deref(),
                benchmark: &self.benchmark,
                files: &self.file,
                synthetic: Some(&self.synthetic).filter(|synthetic| synthetic.is_given()),
                parsing: &self.parsing,
                allow_failure: self.allow_failure,
                deadline: None,
                quiet: self.quiet,
            },
            binaries: &self.binary,
            only: None,
            adapter: None,
            criteria: &self.criteria,
            limits: self.limits,
            max_rounds: self.iter,
        }
        .run()
    }

    fn of_files(&self) -> Result<Sides> {
        let side = |first: &String, more: &[String]| -> Result<Vec<Results>> {
            let mut results = Vec::new();
            for path in std::iter::once(first).chain(more) {
                for file in files(Path::new(path))? {
                    results.extend(self.read(&file)?);
                }
            }
            Ok(results)
        };
        Ok(Sides {
            base: side(&self.base, &self.also_base)?,
            new: side(&self.new, &self.also_new)?,
            base_name: self.base.clone(),
            new_name: self.new.clone(),
        })
    }

    /// Reads the results of a file: several iterations if it is a report or has a JSON document on each line, otherwise one.
    fn read(&self, file: &Path) -> Result<Vec<Results>> {
        let output = ToolOutput::from_file(file)?;
        if let Ok(report) = serde_json::from_str::<Report>(&output.text) {
            return Ok(iterations(&report));
        }
        let lines: Vec<&str> = output.text.lines().filter(|line| !line.trim().is_empty()).collect();
        let of_line = |line: &&str| tidemark_adapters::parse(Adapter::Json, line, None).ok();
        if lines.len() > 1
            && let Some(results) = lines.iter().map(of_line).collect()
        {
            return Ok(results);
        }
        self.parsing.parse(&mut [output])
    }
}

/// Returns a file, or the files of a folder, sorted by name.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.exists() {
        return Err(Failure::usage(format!(
            "There is no file {}; to compare commits, give the command that measures them after `--`.",
            path.display()
        )));
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let read = |error| Failure::new(format!("The folder {} cannot be read ({error}).", path.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(read)? {
        let entry = entry.map_err(read)?.path();
        if entry.is_file() {
            files.push(entry);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::with(
            Exit::Empty,
            format!("There is no file in the folder {}; give a folder with result files.", path.display()),
        ));
    }
    Ok(files)
}

/// Returns the results of a report, one per iteration.
fn iterations(report: &Report) -> Vec<Results> {
    let of = |iteration: &Vec<_>| Results {
        adapter: Adapter::Json,
        entries: iteration.iter().map(transfer::entry).collect(),
    };
    report.results.iter().flatten().map(of).collect()
}
