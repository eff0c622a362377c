//! `tidemark.toml` in a repository: settings that all runs share. Flags and variables take precedence over it. The configuration
//! of `tidemark serve` is a different file, see `settings.rs`.

mod entry;

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs,
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use clap::{Arg, Command};
use serde::Deserialize;
use tidemark_adapters::CustomFormat;
use tidemark_api::{Average, Fold, NameId, NewModel, OnDemand, ReportThresholds, ResourceId, Url};

use self::entry::{AdapterEntry, CommandLine, HostUrl, Threshold};
use crate::{
    failure::{Failure, Result},
    output,
};

/// Name of the file.
pub(crate) const FILE: &str = "tidemark.toml";

/// Names of secrets, which are not allowed in the file.
const SECRETS: [&str; 11] = [
    "api_key",
    "api_token",
    "callback_token",
    "github_actions",
    "github_token",
    "gitlab",
    "gitlab_token",
    "key",
    "password",
    "secret",
    "token",
];

/// Settings of the server configuration.
const SERVER_SETTINGS: [&str; 8] =
    ["console", "data_dir", "database", "logging", "plus", "security", "server", "smtp"];

/// Content of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    project: Option<ResourceId>,
    host: Option<HostUrl>,
    testbed: Option<NameId>,
    adapter: Option<AdapterEntry>,
    average: Option<Average>,
    fold: Option<Fold>,
    iter: Option<NonZeroU32>,
    command: Option<CommandLine>,
    #[serde(default)]
    file: Vec<PathBuf>,
    error_on_alert: Option<bool>,
    thresholds: Option<BTreeMap<NameId, toml::Spanned<Threshold>>>,
    #[serde(default)]
    ci: Ci,
    /// Only the server uses it; `tidemark run` validates it.
    #[serde(rename = "on_demand")]
    _on_demand: Option<OnDemand>,
}

/// Settings of CI; each has a flag of the same name with the prefix `ci`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ci {
    only_on_alert: Option<bool>,
    only_thresholds: Option<bool>,
    public_links: Option<bool>,
    id: Option<String>,
}

/// File of a repository, parsed and validated; empty if there is none.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    folder: PathBuf,
    entries: Entries,
    models: Option<BTreeMap<NameId, NewModel>>,
    adapters: Vec<CustomFormat>,
}

/// File of the current repository, loaded on first use.
static CURRENT: OnceLock<Result<Manifest>> = OnceLock::new();

/// Returns the settings of the current repository, or an error.
pub(crate) fn current() -> Result<&'static Manifest> {
    CURRENT.get_or_init(Manifest::find).as_ref().map_err(Clone::clone)
}

/// Ignores the file of the repository, for output that must be the same everywhere.
pub(crate) fn ignore() {
    // A command that uses the repository may already have loaded the file.
    let _ = CURRENT.set(Ok(Manifest::default()));
}

/// Benchmark command of the file. It runs in the folder of the file.
pub(crate) struct ManifestCommand<'a> {
    pub(crate) folder: &'a Path,
    /// Words of the command.
    pub(crate) words: &'a [String],
    /// Whether a shell runs them.
    pub(crate) uses_shell: bool,
}

impl Manifest {
    /// Reads the file of the current repository, if it has one.
    pub(crate) fn find() -> Result<Self> {
        let here = env::current_dir().unwrap_or_default();
        match find_file(&here) {
            Some(file) => Self::read(&file),
            None => Ok(Self::default()),
        }
    }

    /// Reads a file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let name = relative_path(file);
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{name} cannot be read ({error}).")))?;
        let wrong = |at: usize, reason: &str| {
            let line =
                text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
            Failure::usage(format!("{name}, line {line}: {reason}"))
        };
        let entries: Entries = toml::from_str(&text).map_err(|error| {
            wrong(error.span().map_or(0, |span| span.start), &error_sentence(error.message()))
        })?;
        let models = entries.thresholds.as_ref().map(|thresholds| {
            let model = |(measure, threshold): (&NameId, &toml::Spanned<Threshold>)| {
                let model = threshold.get_ref().model(measure.as_str()).map_err(|error| {
                    let reason = error.to_string();
                    let reason = reason.trim_end_matches('.');
                    wrong(
                        threshold.span().start,
                        &format!("The threshold of `{measure}` cannot be used: {reason}."),
                    )
                })?;
                Ok((measure.clone(), model))
            };
            thresholds.iter().map(model).collect::<Result<_>>()
        });
        let models = models.transpose()?;
        let descriptions = entries.adapter.as_ref().map(AdapterEntry::descriptions).unwrap_or_default();
        let adapters = descriptions.iter().map(|(name, description)| {
            CustomFormat::new(name, description.get_ref()).map_err(|reason| {
                let reason = format!("The adapter `{name}` cannot be used: {reason}.");
                wrong(description.span().start, &reason)
            })
        });
        let adapters = adapters.collect::<Result<_>>()?;
        Ok(Self { folder: file.parent().unwrap_or(Path::new("")).to_owned(), entries, models, adapters })
    }

    /// Sets the values of the file as defaults of a command.
    ///
    /// The server and the project apply to every command that accepts them in a variable, the other settings to runs.
    pub(crate) fn apply(&self, command: Command) -> Command {
        let Entries { project, host, testbed, adapter, average, fold, error_on_alert, ci, .. } =
            &self.entries;
        let everywhere = [
            ("TIDEMARK_HOST", host.as_ref().map(|HostUrl(host)| host.to_string())),
            ("TIDEMARK_PROJECT", project.as_ref().map(ToString::to_string)),
        ];
        let word = |flag: Option<bool>| flag.map(|flag| flag.to_string());
        let in_runs = [
            ("testbed", testbed.as_ref().map(ToString::to_string)),
            ("adapter", adapter.as_ref().and_then(AdapterEntry::name).map(str::to_owned)),
            ("average", average.map(|average| average.as_str().to_owned())),
            ("fold", fold.map(|fold| fold.as_str().to_owned())),
            ("error_on_alert", word(*error_on_alert)),
            ("ci_only_on_alert", word(ci.only_on_alert)),
            ("ci_only_thresholds", word(ci.only_thresholds)),
            ("ci_public_links", word(ci.public_links)),
            ("ci_id", ci.id.clone()),
        ];
        let in_runs = if command.get_name() == "run" { in_runs.as_slice() } else { &[] };
        let of = |settings: &[(&str, Option<String>)], name: &str| {
            settings.iter().find(|(other, _)| *other == name).and_then(|(_, value)| value.clone())
        };
        with_defaults(command, &|argument| {
            let variable = argument.get_env().and_then(OsStr::to_str);
            variable
                .and_then(|variable| of(&everywhere, variable))
                .or_else(|| of(in_runs, argument.get_id().as_str()))
        })
    }

    /// Returns the server of the repository.
    pub(crate) fn host(&self) -> Option<&Url> {
        self.entries.host.as_ref().map(|HostUrl(host)| host)
    }

    /// Returns the project of the repository.
    pub(crate) fn project(&self) -> Option<&ResourceId> {
        self.entries.project.as_ref()
    }

    /// Returns the thresholds of runs. Thresholds of measures that are not in the file are removed.
    pub(crate) fn thresholds(&self) -> Option<ReportThresholds> {
        let models = self.models.clone()?;
        Some(ReportThresholds { models: Some(models).filter(|models| !models.is_empty()), reset: Some(true) })
    }

    /// Returns the formats that the file describes.
    pub(crate) fn adapters(&self) -> &[CustomFormat] {
        &self.adapters
    }

    /// Returns the benchmark command of runs.
    pub(crate) fn command(&self) -> Option<ManifestCommand<'_>> {
        let CommandLine { words, uses_shell } = self.entries.command.as_ref()?;
        Some(ManifestCommand { folder: &self.folder, words, uses_shell: *uses_shell })
    }

    /// Returns the number of runs of the benchmark command.
    pub(crate) fn iter(&self) -> Option<u32> {
        self.entries.iter.map(NonZeroU32::get)
    }

    /// Returns the files that the benchmark command writes its results to.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.entries.file.iter().map(|file| self.folder.join(file)).collect()
    }
}

/// Sets defaults of arguments, including those of subcommands.
fn with_defaults(command: Command, default: &dyn Fn(&Arg) -> Option<String>) -> Command {
    command
        .mut_args(|argument| match default(&argument) {
            // Leaked, because clap requires it for the lifetime of the program.
            Some(value) => argument.default_value(&*value.leak()),
            None => argument,
        })
        .mut_subcommands(|command| with_defaults(command, default))
}

/// Returns the file of the folder, or of a parent folder up to the root of the repository. Outside of a repository only the
/// folder itself counts, because the owner of a file in a parent folder is unknown.
fn find_file(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(root));
    folders.map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// Returns the path of the file relative to the current folder, for messages.
fn relative_path(file: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    file.strip_prefix(&here).unwrap_or(file).display().to_string()
}

/// Returns an error message as a sentence.
fn error_sentence(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    match unknown {
        Some(name) if SECRETS.contains(&name) => format!(
            "`{name}` is not allowed here, because everyone with access to the repository can read it; \
             store it in a CI secret, for example as TIDEMARK_API_KEY, or on this machine with `tidemark \
             login`."
        ),
        Some(name) if SERVER_SETTINGS.contains(&name) => format!(
            "`{name}` is a setting of `tidemark serve`, which has a different file; see `tidemark serve \
             --help`."
        ),
        Some(name) => {
            let allowed = message.split_once(", ").map_or("", |(_, allowed)| allowed);
            let allowed = allowed.trim_start_matches("expected one of ").trim_start_matches("expected ");
            format!("There is no setting `{name}`; the settings are {allowed}.")
        }
        None => format!("{}.", output::capitalized(message.trim_end_matches('.')).replace('\n', ", ")),
    }
}
