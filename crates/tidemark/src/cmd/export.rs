//! `tidemark export`: writes all metrics of a project to a file or to standard output, while they arrive.

use std::{
    ffi::OsStr,
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use serde::Serialize;
use tidemark_api::{Benchmark, Branch, Measure, Millis, NameId, Testbed};
use tidemark_client::export;

use super::report::TimeRangeFlags;
use crate::{
    connection::Connection,
    dimension::Dimension,
    failure::{Exit, Failure, Result, check_written},
    file::{OutputFile, cannot_write},
    progress::{self, Progress},
    resource::{ProjectArgument, Session},
};

/// Read size, in bytes.
const CHUNK: usize = 1 << 16;

/// Arguments of `tidemark export`.
#[derive(clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    project: ProjectArgument,
    /// File to write; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// File format [default: from the extension of the file, else csv]
    #[arg(long, value_enum)]
    format: Option<ExportFormat>,
    /// Export only this branch: UUID, slug or name; repeat the flag for several
    #[arg(long)]
    branch: Vec<NameId>,
    /// Export only this testbed: UUID, slug or name; repeat the flag for several
    #[arg(long)]
    testbed: Vec<NameId>,
    /// Export only this benchmark: UUID, slug or name; repeat the flag for several
    #[arg(long)]
    benchmark: Vec<NameId>,
    /// Export only this measure: UUID, slug or name; repeat the flag for several
    #[arg(long)]
    measure: Vec<NameId>,
    #[command(flatten)]
    time: TimeRangeFlags,
    /// Suppress the progress line
    #[arg(long, short)]
    quiet: bool,
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum ExportFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Ndjson,
    /// Apache Parquet
    Parquet,
}

/// Query of an export.
#[derive(Serialize)]
struct ExportQuery {
    format: ExportFormat,
    branches: Option<String>,
    testbeds: Option<String>,
    benchmarks: Option<String>,
    measures: Option<String>,
    start_time: Option<Millis>,
    end_time: Option<Millis>,
}

impl Export {
    pub(crate) fn run(&self) -> Result {
        let to_stdout = self.out == Path::new("-");
        let format = self.format.unwrap_or_else(|| ExportFormat::of(&self.out));
        if to_stdout && format == ExportFormat::Parquet && io::stdout().is_terminal() {
            return Err(Failure::usage("Parquet is not a text; name a file with --out."));
        }
        let session = Session { client: self.connection.client()?, json: false };
        let query = ExportQuery {
            format,
            branches: self.uuids::<Branch>(&session, &self.branch)?,
            testbeds: self.uuids::<Testbed>(&session, &self.testbed)?,
            benchmarks: self.uuids::<Benchmark>(&session, &self.benchmark)?,
            measures: self.uuids::<Measure>(&session, &self.measure)?,
            start_time: self.time.start(),
            end_time: self.time.end(),
        };
        let project = self.project.id()?;
        let body = session.client.download(&export(project, &query))?;
        // Rows on the terminal would overwrite the progress line.
        let is_shown = !self.quiet && progress::is_possible() && !(to_stdout && io::stdout().is_terminal());
        let progress = Progress::start(format!("Exporting {project}"), is_shown);
        if to_stdout {
            let mut stdout = io::stdout().lock();
            return copy(body, &mut stdout, &progress, "the output is incomplete", |error| {
                // A closed pipe is the end of the output, not a failure.
                check_written(Err(error))
            });
        }
        let mut file = OutputFile::create(&self.out)?;
        let consequence = format!("{} was not written", self.out.display());
        copy(body, &mut file, &progress, &consequence, |error| Err(cannot_write(&self.out, &error)))?;
        file.finish()
    }

    /// Returns the UUIDs of resources, separated by commas; `None` if no resource is given.
    fn uuids<D: Dimension>(&self, session: &Session, ids: &[NameId]) -> Result<Option<String>> {
        let uuids = ids.iter().map(|id| Ok(session.find::<D>(&self.project, id)?.1.to_string()));
        let uuids: Vec<String> = uuids.collect::<Result<_>>()?;
        Ok((!uuids.is_empty()).then(|| uuids.join(",")))
    }
}

impl ExportFormat {
    /// Returns the format of a file from its extension.
    fn of(file: &Path) -> Self {
        match file.extension().and_then(OsStr::to_str) {
            Some("ndjson" | "jsonl") => Self::Ndjson,
            Some("parquet") => Self::Parquet,
            _ => Self::Csv,
        }
    }
}

/// Copies the body of a response while it arrives. `on_write_error` returns the result after a write error.
fn copy(
    mut body: impl Read,
    sink: &mut impl Write,
    progress: &Progress,
    consequence: &str,
    on_write_error: impl FnOnce(io::Error) -> Result,
) -> Result {
    let (mut chunk, mut total) = (vec![0; CHUNK], 0_u64);
    let label = "Exported";
    loop {
        let length = match body.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let sentence = format!("The export ended early ({error}); {consequence}. Try again.");
                return Err(Failure::with(Exit::Unreachable, sentence));
            }
        };
        if let Err(error) = sink.write_all(&chunk[..length]) {
            return on_write_error(error);
        }
        total += length as u64;
        progress.set(format!("{label} {:.1} MB", total as f64 / 1e6));
    }
    sink.flush().or_else(on_write_error)
}
