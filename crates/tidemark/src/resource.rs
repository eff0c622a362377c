//! Shared code of the resource commands: a noun with its verbs, the flags of lists, and the output as a table, a record or JSON.
//! The file of each noun below `cmd` has its flags and columns.

use std::{fmt::Display, str::FromStr};

use clap::{
    ArgMatches, Args, Command, FromArgMatches, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::de::DeserializeOwned;
use tidemark_api::{Direction, Invalid, NameId, Page, ResourceId, Search, Word};
use tidemark_client::{Client, Collection, Request, Resource};

use crate::{
    connection::Connection,
    failure::{Failure, Result, print},
    manifest, output,
    table::{Column, Table},
};

/// Value of a flag that removes the current value.
const NONE: &str = "_";

/// A command whose verbs and flags are built when it is called, because there are hundreds of them.
pub(crate) struct Later<A>(pub(crate) A);

impl<A: Args> Args for Later<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| {
            let about = command.get_about().cloned().unwrap_or_default();
            let mut command = A::augment_args(command);
            if command.has_subcommands() {
                // Shared flags can follow each verb.
                command = command.mut_args(|flag| flag.global(true));
            }
            let mut command = crate::forget_empty(command);
            // Commands that use the file report its errors.
            if let Ok(manifest) = manifest::here() {
                command = manifest.apply(command);
            }
            command.about(about)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<A: Args> FromArgMatches for Later<A> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        A::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// A noun of the command line with its verb.
#[derive(clap::Args)]
pub(crate) struct Noun<V: Subcommand> {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
    #[command(subcommand)]
    verb: V,
}

/// Verbs of a noun.
pub(crate) trait Verb: Subcommand {
    fn run(&self, session: &Session) -> Result;

    /// Runs a verb that sends no requests to the server; `None` for all other verbs.
    fn run_here(&self, _: &Connection, _: &Format) -> Option<Result> {
        None
    }
}

impl<V: Verb> Noun<V> {
    pub(crate) fn run(&self) -> Result {
        if let Some(done) = self.verb.run_here(&self.connection, &self.format) {
            return done;
        }
        let session = Session { client: self.connection.client()?, json: self.format.json };
        self.verb.run(&session).map_err(|failure| self.connection.explain(failure))
    }
}

/// Output format of a response.
#[derive(clap::Args)]
pub(crate) struct Format {
    /// Print the response of the server as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The project of a command.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct InProject {
    /// Project UUID or slug; optional if TIDEMARK_PROJECT or tidemark.toml names it
    #[arg(env = "TIDEMARK_PROJECT")]
    project: Option<ResourceId>,
}

impl InProject {
    pub(crate) fn id(&self) -> Result<&ResourceId> {
        self.project.as_ref().ok_or_else(|| {
            Failure::usage("No project is named: give its slug or UUID, or set TIDEMARK_PROJECT.")
        })
    }
}

impl From<ResourceId> for InProject {
    fn from(project: ResourceId) -> Self {
        Self { project: Some(project) }
    }
}

/// Filter on a part of a project; the whole project by default.
#[derive(clap::Args)]
pub(crate) struct Part {
    /// Restrict to this branch: UUID, slug or name
    #[arg(long)]
    pub(crate) branch: Option<NameId>,
    /// Restrict to this testbed: UUID, slug or name
    #[arg(long)]
    pub(crate) testbed: Option<NameId>,
    /// Restrict to this benchmark: UUID, slug or name
    #[arg(long)]
    pub(crate) benchmark: Option<NameId>,
    /// Restrict to this measure: UUID, slug or name
    #[arg(long)]
    pub(crate) measure: Option<NameId>,
}

/// Filter of a list by name.
#[derive(clap::Args)]
pub(crate) struct Find<N: FromStr<Err = Invalid> + Clone + Send + Sync + 'static> {
    /// List only entries with exactly this name
    #[arg(long)]
    pub(crate) name: Option<N>,
    /// List only entries with this text in the name, slug or UUID
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<Search>,
}

/// Order of a list.
#[derive(clap::Args)]
pub(crate) struct Order<S: Word> {
    /// Field to sort by
    #[arg(long, value_parser = word::<S>())]
    pub(crate) sort: Option<S>,
}

/// Page of a list.
#[derive(clap::Args)]
pub(crate) struct Paging {
    /// Sort direction
    #[arg(long, value_parser = word::<Direction>())]
    direction: Option<Direction>,
    /// Page, counted from 1
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    page: u32,
    /// Entries per page, at most 255
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    per_page: u8,
    /// Show all pages
    #[arg(long, conflicts_with_all = ["page", "per_page"])]
    all: bool,
}

/// Flags to archive and unarchive a resource.
#[derive(clap::Args)]
pub(crate) struct Archiving {
    /// Archive the resource
    #[arg(long, conflicts_with = "unarchive")]
    archive: bool,
    /// Unarchive the resource
    #[arg(long)]
    unarchive: bool,
}

impl Archiving {
    pub(crate) fn wanted(&self) -> Option<bool> {
        (self.archive || self.unarchive).then_some(self.archive)
    }
}

/// A new value, or the removal of the value.
#[derive(Clone, Debug)]
pub(crate) struct Change<T>(pub(crate) Option<T>);

impl<T: FromStr> FromStr for Change<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> std::result::Result<Self, T::Err> {
        if text == NONE { Ok(Self(None)) } else { text.parse().map(|value| Self(Some(value))) }
    }
}

impl<T: Clone> Change<T> {
    /// Returns the value for a patch.
    pub(crate) fn of(change: Option<&Self>) -> Option<Option<T>> {
        change.map(|change| change.0.clone())
    }
}

/// Returns a parser of the words that the help lists.
pub(crate) fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::ALL.iter().map(|word| word.as_str())).try_map(|word| word.parse::<T>())
}

/// Parses a number within the range of a type.
pub(crate) fn number<N, T>(text: &str) -> std::result::Result<T, String>
where
    N: FromStr<Err: Display>,
    T: TryFrom<N, Error = Invalid>,
{
    let number: N = text.parse().map_err(|error: N::Err| error.to_string())?;
    number.try_into().map_err(|error: Invalid| error.to_string())
}

/// Output of a resource.
pub(crate) trait Shown: DeserializeOwned {
    /// Titles of the columns that a list on a narrow terminal drops, the least important first.
    const DROPPABLE: &'static [&'static str] = &[];

    fn fields(&self) -> Fields;

    /// Returns the text below the record of a single resource.
    fn more(&self) -> String {
        String::new()
    }
}

/// Fields of a resource in order: columns of a table, or lines of a record.
#[derive(Default)]
pub(crate) struct Fields(Vec<Field>);

struct Field {
    column: Column,
    text: String,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Tables,
    Records,
    Both,
}

impl Fields {
    fn add(mut self, column: Column, text: &dyn Display, place: Place) -> Self {
        self.0.push(Field { column, text: output::plain(&text.to_string()), place });
        self
    }

    /// Adds a field of tables and records.
    pub(crate) fn column(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Left(title), &text, Place::Both)
    }

    /// Adds a text that a narrow terminal can shorten.
    pub(crate) fn text(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Text(title), &text, Place::Both)
    }

    /// Adds a benchmark that a narrow terminal can shorten.
    pub(crate) fn benchmark(self, title: &'static str, benchmark: impl Display) -> Self {
        self.add(Column::Benchmark(title), &benchmark, Place::Both)
    }

    /// Adds a field of tables only: a short form of a field of records.
    pub(crate) fn short(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Left(title), &text, Place::Tables)
    }

    /// Adds a right-aligned number of tables and records.
    pub(crate) fn number(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Right(title), &text, Place::Both)
    }

    /// Adds a field of records only.
    pub(crate) fn detail(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Left(title), &text, Place::Records)
    }
}

/// Returns the text of an optional value; empty if there is none.
pub(crate) fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns `yes`, or an empty text.
pub(crate) fn flag(is_set: bool) -> &'static str {
    if is_set { "yes" } else { "" }
}

/// Returns a table of resources.
pub(crate) fn table<T: Shown>(items: &[T]) -> String {
    let columns = |item: &T| item.fields().0.into_iter().filter(|field| field.place != Place::Records);
    let Some(first) = items.first() else { return String::new() };
    let mut table = Table::new(columns(first).map(|field| field.column).collect::<Vec<_>>(), T::DROPPABLE);
    for item in items {
        table.push(columns(item).map(|field| field.text).collect::<Vec<_>>());
    }
    table.show()
}

/// Returns a record of one resource.
pub(crate) fn record(thing: &impl Shown) -> String {
    let mut table = Table::record();
    for Field { column, text, place } in thing.fields().0 {
        if place != Place::Tables && !text.is_empty() {
            table.push([column.title().to_owned(), text]);
        }
    }
    let (table, more) = (table.show(), thing.more());
    let gap = if table.is_empty() || more.is_empty() { "" } else { "\n" };
    format!("{table}{gap}{more}")
}

/// A client and the output format.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) json: bool,
}

impl Session {
    /// Sends a request and prints the resource of the response.
    pub(crate) fn show<T: Shown>(&self, request: &Request<T>) -> Result {
        let answer = self.client.fetch(request)?;
        if self.json { print_json(answer.json()?) } else { print(&record(&answer.read()?)) }
    }

    /// Sends a request without a resource in the response and prints a sentence.
    pub(crate) fn done<T>(&self, request: &Request<T>, sentence: &str) -> Result {
        let answer = self.client.fetch(request)?;
        if self.json { print_json(answer.json()?) } else { print(&format!("{sentence}\n")) }
    }

    /// Sends an update, unless it changes nothing.
    pub(crate) fn update<R>(&self, list: &Collection<R>, id: &dyn Display, patch: &R::Patch) -> Result
    where
        R: Resource<Patch: Default + PartialEq> + Shown,
    {
        if *patch == R::Patch::default() {
            return Err(Failure::usage("There is nothing to change: give a flag with a new value."));
        }
        self.show(&list.update(id, patch))
    }

    /// Prints a list: one page or all pages.
    pub(crate) fn list<T: Shown>(&self, request: Request<Vec<T>>, paging: &Paging) -> Result {
        let Paging { direction, page, per_page, all } = *paging;
        if !all {
            let answer = self.client.fetch(&request.query(&Page { page, per_page, direction }))?;
            if self.json {
                return print_json(answer.json()?);
            }
            let items = answer.read()?;
            print(&table(&items))?;
            let total = answer.total.unwrap_or(items.len() as u64);
            match items.len() {
                0 if total == 0 => eprintln!("No entries."),
                count if (count as u64) < total => {
                    eprintln!("{count} of {total} shown; --all shows the rest.");
                }
                _ => {}
            }
            return Ok(());
        }
        let (mut items, mut texts) = (Vec::new(), Vec::new());
        self.client.pages(&request, direction, |answer, found| {
            items.extend(found);
            let text = answer.json()?;
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).trim();
            if !inner.is_empty() {
                texts.push(inner.to_owned());
            }
            Ok(())
        })?;
        if self.json {
            return print_json(&format!("[{}]", texts.join(",")));
        }
        if items.is_empty() {
            eprintln!("No entries.");
        }
        print(&table(&items))
    }
}

pub(crate) fn print_json(json: &str) -> Result {
    print(&format!("{}\n", output::pretty(json)))
}
