//! Shared code of the resource commands: a noun with its verbs, the flags of lists, and the output as a table, a record or JSON.
//! The file of each noun below `cmd` has its flags and columns.

use std::{fmt::Display, str::FromStr};

use clap::{
    ArgMatches, Args, Command, FromArgMatches, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::de::DeserializeOwned;
use tidemark_api::{Direction, FixedString, Invalid, NameId, Page, ResourceId, Search};
use tidemark_client::{Client, Collection, Request, Resource};

use crate::{
    connection::Connection,
    failure::{Failure, Result, print},
    manifest, output, project,
    table::{Column, Table},
};

/// Value of a flag that removes the current value.
const REMOVE: &str = "_";

/// A command whose verbs and flags are built when it is called, because building hundreds of them would delay every start.
pub(crate) struct LazyCommand<A>(pub(crate) A);

impl<A: Args> Args for LazyCommand<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| {
            let about = command.get_about().cloned().unwrap_or_default();
            let mut command = A::augment_args(command);
            if command.has_subcommands() {
                // Shared flags can follow each verb.
                command = command.mut_args(|flag| flag.global(true));
            }
            let mut command = crate::ignore_empty_variables(command);
            // Commands that use the file report its errors.
            if let Ok(manifest) = manifest::current() {
                command = manifest.apply(command);
            }
            command.about(about)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<A: Args> FromArgMatches for LazyCommand<A> {
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
    format: OutputFlags,
    #[command(subcommand)]
    verb: V,
}

/// Verbs of a noun.
pub(crate) trait Verb: Subcommand {
    fn run(&self, session: &Session) -> Result;

    /// Runs a verb that sends no requests to the server; `None` for all other verbs.
    fn run_offline(&self, _: &Connection, _: &OutputFlags) -> Option<Result> {
        None
    }
}

impl<V: Verb> Noun<V> {
    pub(crate) fn run(&self) -> Result {
        if let Some(done) = self.verb.run_offline(&self.connection, &self.format) {
            return done;
        }
        let session = Session { client: self.connection.client()?, json: self.format.json };
        project::load_from_key(&self.connection, &session.client);
        self.verb.run(&session).map_err(|failure| {
            self.connection.explain(project::explain(&session.client, &self.connection, failure))
        })
    }
}

/// Output format of a response.
#[derive(clap::Args)]
pub(crate) struct OutputFlags {
    /// Print the response of the server as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The project of a command.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct ProjectArgument {
    /// Project UUID or slug [default: tidemark.toml, or the project of this repository or folder]
    #[arg(env = "TIDEMARK_PROJECT")]
    project: Option<ResourceId>,
}

impl ProjectArgument {
    pub(crate) fn id(&self) -> Result<&ResourceId> {
        project::select(self.project.as_ref())
    }
}

impl From<ResourceId> for ProjectArgument {
    fn from(project: ResourceId) -> Self {
        Self { project: Some(project) }
    }
}

/// Filter on a part of a project; the whole project by default.
#[derive(clap::Args)]
pub(crate) struct SeriesFilter {
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
pub(crate) struct NameFilter<N: FromStr<Err = Invalid> + Clone + Send + Sync + 'static> {
    /// List only entries with exactly this name
    #[arg(long)]
    pub(crate) name: Option<N>,
    /// List only entries with this text in the name, slug or UUID
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<Search>,
}

/// Order of a list.
#[derive(clap::Args)]
pub(crate) struct SortFlag<S: FixedString> {
    /// Field to sort by
    #[arg(long, value_parser = fixed_string_parser::<S>())]
    pub(crate) sort: Option<S>,
}

/// Page of a list.
#[derive(clap::Args)]
pub(crate) struct PageFlags {
    /// Sort direction
    #[arg(long, value_parser = fixed_string_parser::<Direction>())]
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
pub(crate) struct ArchiveFlags {
    /// Archive the resource
    #[arg(long, conflicts_with = "unarchive")]
    archive: bool,
    /// Unarchive the resource
    #[arg(long)]
    unarchive: bool,
}

impl ArchiveFlags {
    pub(crate) fn value(&self) -> Option<bool> {
        (self.archive || self.unarchive).then_some(self.archive)
    }
}

/// A new value, or the removal of the value.
#[derive(Clone, Debug)]
pub(crate) struct NewValue<T>(pub(crate) Option<T>);

impl<T: FromStr> FromStr for NewValue<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> std::result::Result<Self, T::Err> {
        if text == REMOVE { Ok(Self(None)) } else { text.parse().map(|value| Self(Some(value))) }
    }
}

impl<T: Clone> NewValue<T> {
    /// Returns the value for a patch.
    pub(crate) fn patch(value: Option<&Self>) -> Option<Option<T>> {
        value.map(|value| value.0.clone())
    }
}

/// Returns a parser of the words that the help lists.
pub(crate) fn fixed_string_parser<T: FixedString>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::ALL.iter().map(|word| word.as_str())).try_map(|word| word.parse::<T>())
}

/// Parses a number within the range of a type.
pub(crate) fn parse_number<N, T>(text: &str) -> std::result::Result<T, String>
where
    N: FromStr<Err: Display>,
    T: TryFrom<N, Error = Invalid>,
{
    let number: N = text.parse().map_err(|error: N::Err| error.to_string())?;
    number.try_into().map_err(|error: Invalid| error.to_string())
}

/// Output of a resource.
pub(crate) trait Printable: DeserializeOwned {
    /// Titles of the columns that a list on a narrow terminal drops, the least important first.
    const DROPPABLE: &'static [&'static str] = &[];

    fn fields(&self) -> Fields;

    /// Returns the text below the record of a single resource.
    fn footer(&self) -> String {
        String::new()
    }
}

/// Fields of a resource in order: columns of a table, or lines of a record.
#[derive(Default)]
pub(crate) struct Fields(Vec<Field>);

struct Field {
    column: Column,
    text: String,
    scope: FieldScope,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldScope {
    Tables,
    Records,
    Both,
}

impl Fields {
    fn add(mut self, column: Column, text: &dyn Display, scope: FieldScope) -> Self {
        self.0.push(Field { column, text: output::plain(&text.to_string()), scope });
        self
    }

    /// Adds a field of tables and records.
    pub(crate) fn column(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Left(title), &text, FieldScope::Both)
    }

    /// Adds a text that a narrow terminal can shorten.
    pub(crate) fn text(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Text(title), &text, FieldScope::Both)
    }

    /// Adds a benchmark that a narrow terminal can shorten.
    pub(crate) fn benchmark(self, title: &'static str, benchmark: impl Display) -> Self {
        self.add(Column::Benchmark(title), &benchmark, FieldScope::Both)
    }

    /// Adds a field of tables only: a short form of a field of records.
    pub(crate) fn table_only(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Left(title), &text, FieldScope::Tables)
    }

    /// Adds a right-aligned number of tables and records.
    pub(crate) fn number(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Right(title), &text, FieldScope::Both)
    }

    /// Adds a field of records only.
    pub(crate) fn detail(self, title: &'static str, text: impl Display) -> Self {
        self.add(Column::Left(title), &text, FieldScope::Records)
    }
}

/// Returns the text of an optional value; empty if there is none.
pub(crate) fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns `yes`, or an empty text.
pub(crate) fn yes_if(is_set: bool) -> &'static str {
    if is_set { "yes" } else { "" }
}

/// Returns a table of resources.
pub(crate) fn table<T: Printable>(items: &[T]) -> String {
    let columns = |item: &T| item.fields().0.into_iter().filter(|field| field.scope != FieldScope::Records);
    let Some(first) = items.first() else { return String::new() };
    let mut table = Table::new(columns(first).map(|field| field.column).collect::<Vec<_>>(), T::DROPPABLE);
    for item in items {
        table.push(columns(item).map(|field| field.text).collect::<Vec<_>>());
    }
    table.show()
}

/// Returns a record of one resource.
pub(crate) fn record(thing: &impl Printable) -> String {
    record_with(thing.fields(), &thing.footer())
}

/// Returns a record of fields, with a text below it.
pub(crate) fn record_with(fields: Fields, footer: &str) -> String {
    let mut table = Table::record();
    for Field { column, text, scope } in fields.0 {
        if scope != FieldScope::Tables && !text.is_empty() {
            table.push([column.title().to_owned(), text]);
        }
    }
    let table = table.show();
    let gap = if table.is_empty() || footer.is_empty() { "" } else { "\n" };
    format!("{table}{gap}{footer}")
}

/// A client and the output format.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) json: bool,
}

impl Session {
    /// Sends a request and prints the resource of the response.
    pub(crate) fn show<T: Printable>(&self, request: &Request<T>) -> Result {
        let answer = self.client.fetch(request)?;
        if self.json { print_json(answer.json()?) } else { print(&record(&answer.read()?)) }
    }

    /// Sends a request without a resource in the response and prints a sentence.
    pub(crate) fn confirm<T>(&self, request: &Request<T>, sentence: &str) -> Result {
        let answer = self.client.fetch(request)?;
        if self.json { print_json(answer.json()?) } else { print(&format!("{sentence}\n")) }
    }

    /// Sends an update, unless it changes nothing.
    pub(crate) fn update<R>(&self, list: &Collection<R>, id: &dyn Display, patch: &R::Patch) -> Result
    where
        R: Resource<Patch: Default + PartialEq> + Printable,
    {
        if *patch == R::Patch::default() {
            return Err(Failure::usage("There is nothing to change: give a flag with a new value."));
        }
        self.show(&list.update(id, patch))
    }

    /// Prints a list: one page or all pages.
    pub(crate) fn list<T: Printable>(&self, request: Request<Vec<T>>, paging: &PageFlags) -> Result {
        let PageFlags { direction, page, per_page, all } = *paging;
        if !all {
            let answer = self.client.fetch(&request.query(&Page { page, per_page, direction }))?;
            if self.json {
                return print_json(answer.json()?);
            }
            let items = answer.read()?;
            print(&table(&items))?;
            let total = answer.total.unwrap_or(items.len() as u64);
            match items.len() {
                0 if total == 0 => message!("No entries."),
                count if (count as u64) < total => {
                    message!("{count} of {total} shown; --all shows the rest.");
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
            message!("No entries.");
        }
        print(&table(&items))
    }
}

pub(crate) fn print_json(json: &str) -> Result {
    print(&format!("{}\n", output::pretty(json)))
}
