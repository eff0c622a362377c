//! `tidemark import`: imports historical results, from files of other tools or from another server. A repetition sends only the
//! missing reports.

mod asv;
mod github;
mod series;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidemark_adapters::{Entry, Label, ParsedMetric, Results};
use tidemark_api::{
    Adapter, GitHash, NameId, NewRun, ReportIdempotencyKey, ReportSettings, ResourceId, ResourceName,
    Timestamp, Url,
};
use tidemark_client::{Client, Credential};
use uuid::Builder;

use crate::{
    connection::Connection,
    failure::{Exit, Failure, Result, print},
    input::ToolOutput,
    transfer::{self, PendingRun, Route, TransferCounts},
};

/// Testbed of results that do not name one.
const UNKNOWN_TESTBED: &str = "imported";

/// Arguments of `tidemark import`.
#[derive(clap::Args)]
pub(crate) struct Import {
    #[command(flatten)]
    connection: Connection,
    /// Target project: UUID or slug; an unknown slug creates a project
    #[arg(long, env = "TIDEMARK_PROJECT")]
    project: ResourceId,
    /// Import from this server with the same API instead of files
    #[arg(long, value_name = "URL", conflicts_with = "paths", required_unless_present = "paths")]
    from: Option<Url>,
    /// Key or token for that server [default: none; only public projects can be read]
    #[arg(long, value_name = "KEY", env = "TIDEMARK_FROM_KEY", hide_env_values = true)]
    from_key: Option<String>,
    /// Project on that server [default: the value of --project]
    #[arg(long, value_name = "PROJECT", requires = "from")]
    from_project: Option<ResourceId>,
    /// Branch of the results of files
    #[arg(long, default_value = "main", conflicts_with = "from")]
    branch: NameId,
    /// Testbed of the results of files [default: detected from the files]
    #[arg(long, conflicts_with = "from")]
    testbed: Option<NameId>,
    /// Only show what would be sent
    #[arg(long)]
    dry_run: bool,
    /// Suppress progress messages
    #[arg(long, short)]
    quiet: bool,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
    /// `data.js` of github-action-benchmark, a result folder of asv, or JSON files of pyperf, Google Benchmark or another tool,
    /// one per run
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// An imported result.
pub(crate) struct ImportedRun {
    /// Measured commit.
    hash: Option<GitHash>,
    /// Name of the testbed.
    testbed: Option<String>,
    time: Timestamp,
    content: Content,
}

/// Content of an imported result.
enum Content {
    /// Parsed results.
    Read(Vec<Entry>),
    /// Output of a tool.
    Printed { adapter: Adapter, text: String },
}

impl Import {
    pub(crate) fn run(&self) -> Result {
        let counts = match &self.from {
            Some(from) => {
                let (source, to) = (self.source(from)?, self.connection.client()?);
                let from_project = self.from_project.as_ref().unwrap_or(&self.project);
                let route = Route { from: &source, source: from_project, to: &to, target: &self.project };
                transfer::copy(&route, self.dry_run, self.quiet)?
            }
            None => {
                let runs = self.runs()?;
                transfer::send(&self.connection.client()?, &self.project, runs, self.dry_run, self.quiet)?
            }
        };
        if self.json {
            let TransferCounts { found, missing } = counts;
            let sent = if self.dry_run { 0 } else { missing };
            let done = json!({ "project": self.project, "reports": found, "missing": missing, "sent": sent });
            return print(&format!("{done:#}\n"));
        }
        print(&summary(counts, self.dry_run))
    }

    /// Returns a client of the source server.
    fn source(&self, from: &Url) -> Result<Client> {
        let credential = match &self.from_key {
            Some(key) => Some(
                Credential::new(key.trim())
                    .ok_or_else(|| Failure::usage("The key of --from-key contains invalid characters."))?,
            ),
            None => None,
        };
        Ok(self.connection.client_for(from.clone(), credential))
    }

    /// Returns the runs of the files, the oldest first, because the server numbers versions in the order of arrival.
    fn runs(&self) -> Result<Vec<PendingRun>> {
        let mut all = Vec::new();
        for path in &self.paths {
            all.extend(read(path)?);
        }
        if all.is_empty() {
            let paths: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure::with(
                Exit::Empty,
                format!("There are no results in {}; check the path.", paths.join(", ")),
            ));
        }
        all.sort_by_key(|imported| imported.time);
        all.into_iter().map(|imported| self.pending_run(imported)).collect()
    }

    fn pending_run(&self, imported: ImportedRun) -> Result<PendingRun> {
        let (adapter, text, units) = imported.content.into_text()?;
        let named = imported.testbed.as_deref().unwrap_or(UNKNOWN_TESTBED);
        let testbed = match &self.testbed {
            Some(testbed) => testbed.clone(),
            None => shortened(named).parse().map_err(|error| {
                Failure::with(
                    Exit::Unreadable,
                    format!("`{named}` is not a valid testbed name ({error}); give a name with --testbed."),
                )
            })?,
        };
        let run = NewRun {
            project: Some(self.project.clone()),
            branch: Some(self.branch.clone()),
            hash: imported.hash,
            start_point: None,
            testbed: Some(testbed),
            spec_reset: None,
            thresholds: None,
            start_time: imported.time,
            end_time: imported.time,
            results: vec![text],
            settings: Some(ReportSettings { adapter: Some(adapter), ..ReportSettings::default() }),
            job: None,
            context: Some(transfer::project_name_context(&self.project.to_string())),
            idempotency_key: None,
        };
        let idempotency_key = Some(idempotency_key(&run)?);
        Ok(PendingRun { run: NewRun { idempotency_key, ..run }, units, dismissed: Vec::new() })
    }
}

impl Content {
    /// Returns the text to send, its adapter, and the units of custom measures.
    fn into_text(self) -> Result<(Adapter, String, HashMap<ResourceName, ResourceName>)> {
        match self {
            Self::Printed { adapter, text } => Ok((adapter, text, HashMap::new())),
            Self::Read(entries) => {
                let metrics = entries.iter().flat_map(|entry| &entry.metrics);
                let units = metrics
                    .filter_map(|measured| Some((measured.measure.clone(), measured.units.clone()?)))
                    .collect();
                let text =
                    serde_json::to_string(&Results { adapter: Adapter::Json, entries: entries.into() })
                        .map_err(|error| {
                            Failure::new(format!("The results cannot be written as JSON ({error})."))
                        })?;
                Ok((Adapter::Json, text, units))
            }
        }
    }
}

/// Returns an idempotency key that depends only on the content of the run.
fn idempotency_key(run: &NewRun) -> Result<ReportIdempotencyKey> {
    let text = serde_json::to_vec(run)
        .map_err(|error| Failure::new(format!("The run cannot be written as JSON ({error}).")))?;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(text)[..16]);
    Ok(ReportIdempotencyKey(Builder::from_custom_bytes(bytes).into_uuid()))
}

/// Reads the results of a file or folder; detects the format from the content.
fn read(path: &Path) -> Result<Vec<ImportedRun>> {
    if path.is_dir() {
        return if asv::is_folder(path) { asv::read(path) } else { series::read_folder(path) };
    }
    let output = ToolOutput::from_file(path)?;
    if github::is_data(&output.text) { github::read(&output) } else { Ok(vec![series::read(path, output)?]) }
}

/// Returns the files of a folder with this extension, sorted by name.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let unreadable =
        |error| Failure::new(format!("The folder {} cannot be read ({error}).", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Parses a JSON document.
fn document(name: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| unreadable(name, &format!("The file is not valid JSON ({error})")))
}

fn unreadable(name: &str, reason: &str) -> Failure {
    Failure::with(Exit::Unreadable, format!("{name}: {reason}."))
}

/// Returns a benchmark with one value; `None` if the name is not valid.
fn entry(name: &str, measured: ParsedMetric) -> Option<Entry> {
    let label = Label::Reference(name.parse().ok()?);
    Some(Entry { label, parameters: None, ignored: false, metrics: vec![measured] })
}

/// Returns a value of a measure; `None` if it is not finite.
fn measured(measure: &str, units: Option<&str>, value: f64) -> Option<ParsedMetric> {
    let measure = measure.parse().ok()?;
    let units = units.and_then(|units| units.parse().ok());
    value.is_finite().then_some(ParsedMetric {
        measure,
        units,
        direction: None,
        value,
        lower_value: None,
        upper_value: None,
    })
}

/// Returns a time from milliseconds since 1970.
fn from_millis(millis: f64) -> Timestamp {
    Timestamp::from_micros((millis * 1e3) as i64)
}

/// Cuts a name to at most 64 characters.
fn shortened(name: &str) -> String {
    name.trim().chars().take(64).collect::<String>().trim_end().to_owned()
}

fn summary(TransferCounts { found, missing }: TransferCounts, dry_run: bool) -> String {
    let reports = |count: usize| if count == 1 { "1 report".to_owned() } else { format!("{count} reports") };
    match (missing, dry_run) {
        (0, _) => format!("Nothing to send: the project already has all of {}.\n", reports(found)),
        (_, true) => format!("{missing} of {} would be sent.\n", reports(found)),
        (_, false) => format!("{missing} of {} were sent; the project has them all now.\n", reports(found)),
    }
}
