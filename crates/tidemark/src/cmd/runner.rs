//! `tidemark runner`: runners of a server and, on Linux, the runner itself.

#[cfg(target_os = "linux")]
mod local;
#[cfg(target_os = "linux")]
mod up;

use tidemark_api::{
    NewRunner, ResourceId, ResourceName, Runner, RunnerFilter, RunnerKey, RunnerPatch, RunnersSort, Slug,
};
use tidemark_client::{add_runner_spec, remove_runner_spec, renew_runner_key, runner_specs, runners};

#[cfg(target_os = "linux")]
use crate::{connection::Connection, resource::OutputFlags};
use crate::{
    failure::Result,
    output,
    resource::{ArchiveFlags, Fields, NameFilter, PageFlags, Printable, Session, SortFlag, Verb, optional},
};

/// Verbs of `tidemark runner`.
#[derive(clap::Subcommand)]
pub(crate) enum RunnerVerb {
    /// List the runners of the server
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        names: NameFilter<ResourceName>,
        /// List only archived runners
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        sort: SortFlag<RunnersSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Create a runner and show its key once
    #[command(visible_alias = "add")]
    Create {
        /// Name
        #[arg(long)]
        name: ResourceName,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
    },
    /// Show a runner and its current job
    #[command(visible_alias = "get")]
    View {
        /// Runner UUID or slug
        runner: ResourceId,
    },
    /// Update a runner
    #[command(visible_alias = "edit")]
    Update {
        /// Runner UUID or slug
        runner: ResourceId,
        /// New name
        #[arg(long)]
        name: Option<ResourceName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        archive: ArchiveFlags,
    },
    /// Replace the key of a runner and show the new key once; the old key stops working
    Key {
        /// Runner UUID or slug
        runner: ResourceId,
    },
    /// List or change the specs that a runner serves
    Specs {
        /// Runner UUID or slug
        runner: ResourceId,
        /// Spec to add: UUID or slug; repeat the flag for several
        #[arg(long, value_name = "SPEC")]
        add: Vec<ResourceId>,
        /// Spec to remove: UUID or slug; repeat the flag for several
        #[arg(long, value_name = "SPEC")]
        remove: Vec<ResourceId>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Run jobs of the server on this machine
    #[cfg(target_os = "linux")]
    Up(Box<up::Up>),
    /// Run an image on this machine as a runner does, without a server
    #[cfg(target_os = "linux")]
    Run(Box<local::RunImage>),
    /// Check what this machine supports as a runner
    #[cfg(target_os = "linux")]
    Check(local::Check),
}

impl Verb for RunnerVerb {
    #[cfg(target_os = "linux")]
    fn run_offline(&self, connection: &Connection, format: &OutputFlags) -> Option<Result> {
        match self {
            Self::Up(up) => Some(up.run(connection)),
            Self::Run(run) => Some(run.run(format.json)),
            Self::Check(check) => Some(check.run(format.json)),
            _ => None,
        }
    }

    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { names, archived, sort, page } => {
                let filter = RunnerFilter {
                    name: names.name.clone(),
                    search: names.search.clone(),
                    archived: archived.then_some(true),
                    sort: sort.sort,
                };
                session.list(runners().list(&filter), page)
            }
            Self::Create { name, slug } => {
                session.show(&runners().create(&NewRunner { name: name.clone(), slug: slug.clone() }))
            }
            Self::View { runner } => session.show(&runners().view(runner)),
            Self::Update { runner, name, slug, archive } => {
                let patch = RunnerPatch { name: name.clone(), slug: slug.clone(), archived: archive.value() };
                session.update(&runners(), runner, &patch)
            }
            Self::Key { runner } => session.show(&renew_runner_key(runner)),
            Self::Specs { runner, add, remove, page } => {
                for spec in add {
                    session.client.send(&add_runner_spec(runner, spec))?;
                }
                for spec in remove {
                    session.client.send(&remove_runner_spec(runner, spec))?;
                }
                session.list(runner_specs(runner), page)
            }
            // Handled by `run_offline`, before a session was created.
            #[cfg(target_os = "linux")]
            Self::Up(_) | Self::Run(_) | Self::Check(_) => Ok(()),
        }
    }
}

impl Printable for Runner {
    const DROPPABLE: &'static [&'static str] = &["Archived", "Specs", "Release", "Job", "Last heartbeat"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .column("State", self.state)
            .column("Job", optional(self.job))
            .column("Release", optional(self.version.as_ref()))
            .column("Last heartbeat", optional(self.last_heartbeat.map(output::time)))
            .number("Specs", self.specs.len())
            .detail("UUID", self.uuid)
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}

impl Printable for RunnerKey {
    fn fields(&self) -> Fields {
        Fields::default().column("Key", &self.key).column("UUID", self.uuid)
    }
}
