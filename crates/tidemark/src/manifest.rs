//! `tidemark.toml` in a repository: what its runs have in common, so that nobody has to type it. Flags and variables win
//! over it. The settings of `tidemark serve` are another file, which `settings.rs` knows.

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
use tidemark_api::{Adapter, Average, Fold, NameId, NewModel, ReportThresholds, ResourceId, Url};

use self::entry::{Address, Line, Threshold};
use crate::failure::{Failure, Result};

/// The name of the file.
pub(crate) const FILE: &str = "tidemark.toml";

/// What somebody may try to write into the file that must not stand there.
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

/// What only the settings of a server have.
const OF_SERVER: [&str; 8] =
    ["console", "data_dir", "database", "logging", "plus", "security", "server", "smtp"];

/// What stands in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    project: Option<ResourceId>,
    host: Option<Address>,
    testbed: Option<NameId>,
    adapter: Option<Adapter>,
    average: Option<Average>,
    fold: Option<Fold>,
    iter: Option<NonZeroU32>,
    command: Option<Line>,
    #[serde(default)]
    file: Vec<PathBuf>,
    error_on_alert: Option<bool>,
    thresholds: Option<BTreeMap<NameId, toml::Spanned<Threshold>>>,
    #[serde(default)]
    ci: Ci,
}

/// What is said on CI; each has a flag of the same name that begins with `ci`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ci {
    only_on_alert: Option<bool>,
    only_thresholds: Option<bool>,
    public_links: Option<bool>,
    id: Option<String>,
}

/// The file of a repository, read and checked; an empty one if there is none.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    folder: PathBuf,
    entries: Entries,
    models: Option<BTreeMap<NameId, NewModel>>,
}

/// The file of the repository that we are in. It is read when it is first asked for.
static HERE: OnceLock<Result<Manifest>> = OnceLock::new();

/// What the repository that we are in says, or what is wrong with that.
pub(crate) fn here() -> Result<&'static Manifest> {
    HERE.get_or_init(Manifest::find).as_ref().map_err(Clone::clone)
}

/// Makes this program believe that it is in no repository, for what is to be the same everywhere.
pub(crate) fn disregard() {
    // It may have been read before, by a command that is about the repository.
    let _ = HERE.set(Ok(Manifest::default()));
}

/// A benchmark command of the file, which is run where the file is.
pub(crate) struct Given<'a> {
    pub(crate) folder: &'a Path,
    /// The words of the command.
    pub(crate) words: &'a [String],
    /// Whether they are for a shell.
    pub(crate) is_line: bool,
}

impl Manifest {
    /// Reads the file of the repository that we are in, if it has one.
    pub(crate) fn find() -> Result<Self> {
        let here = env::current_dir().unwrap_or_default();
        match locate(&here) {
            Some(file) => Self::read(&file),
            None => Ok(Self::default()),
        }
    }

    /// Reads a file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let name = shown(file);
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{name} cannot be read ({error}).")))?;
        let wrong = |at: usize, reason: &str| {
            let line =
                text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
            Failure::usage(format!("{name}, line {line}: {reason}"))
        };
        let entries: Entries = toml::from_str(&text)
            .map_err(|error| wrong(error.span().map_or(0, |span| span.start), &explain(error.message())))?;
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
        Ok(Self { folder: file.parent().unwrap_or(Path::new("")).to_owned(), entries, models })
    }

    /// Makes what the file says what a command goes by where nothing else is said.
    ///
    /// The server and the project are for every command that can be told them by a variable, the rest is for runs.
    pub(crate) fn apply(&self, command: Command) -> Command {
        let Entries { project, host, testbed, adapter, average, fold, error_on_alert, ci, .. } =
            &self.entries;
        let everywhere = [
            ("TIDEMARK_HOST", host.as_ref().map(|Address(host)| host.to_string())),
            ("TIDEMARK_PROJECT", project.as_ref().map(ToString::to_string)),
        ];
        let word = |flag: Option<bool>| flag.map(|flag| flag.to_string());
        let in_runs = [
            ("testbed", testbed.as_ref().map(ToString::to_string)),
            ("adapter", adapter.map(|adapter| adapter.as_str().to_owned())),
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

    /// The server of the repository.
    pub(crate) fn host(&self) -> Option<&Url> {
        self.entries.host.as_ref().map(|Address(host)| host)
    }

    /// The thresholds of runs. What is not in the file is not watched.
    pub(crate) fn thresholds(&self) -> Option<ReportThresholds> {
        let models = self.models.clone()?;
        Some(ReportThresholds { models: Some(models).filter(|models| !models.is_empty()), reset: Some(true) })
    }

    /// The benchmark command of runs.
    pub(crate) fn command(&self) -> Option<Given<'_>> {
        let Line { words, is_line } = self.entries.command.as_ref()?;
        Some(Given { folder: &self.folder, words, is_line: *is_line })
    }

    /// How often a benchmark command is run.
    pub(crate) fn iter(&self) -> Option<u32> {
        self.entries.iter.map(NonZeroU32::get)
    }

    /// The files that the benchmark command writes its results to.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.entries.file.iter().map(|file| self.folder.join(file)).collect()
    }
}

/// Gives arguments a default, here and below.
fn with_defaults(command: Command, default: &dyn Fn(&Arg) -> Option<String>) -> Command {
    command
        .mut_args(|argument| match default(&argument) {
            // It is needed for as long as the program runs.
            Some(value) => argument.default_value(&*value.leak()),
            None => argument,
        })
        .mut_subcommands(|command| with_defaults(command, default))
}

/// The file of the folder, or of one above it up to the root of its repository. Outside of a repository there is no
/// telling whose a file above would be.
fn locate(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(root));
    folders.map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// The file as somebody here would call it.
fn shown(file: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    file.strip_prefix(&here).unwrap_or(file).display().to_string()
}

/// What is wrong, as a sentence.
fn explain(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    match unknown {
        Some(name) if SECRETS.contains(&name) => format!(
            "`{name}` does not belong here, since everybody who has the repository can read it; put it into a secret of \
             CI that is a variable there, such as TIDEMARK_API_KEY, or keep it on this machine with `tidemark login`."
        ),
        Some(name) if OF_SERVER.contains(&name) => format!(
            "`{name}` is a setting of `tidemark serve`, whose file is another one; see `tidemark serve --help`."
        ),
        Some(name) => {
            let allowed = message.split_once(", ").map_or("", |(_, allowed)| allowed);
            let allowed = allowed.trim_start_matches("expected one of ").trim_start_matches("expected ");
            format!("There is no setting `{name}` here; there are {allowed}.")
        }
        None => {
            let mut letters = message.trim_end_matches('.').chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            format!("{}{}.", first.unwrap_or_default(), letters.as_str().replace('\n', ", "))
        }
    }
}
