//! `tidemark runner`: runners of a server and, on Linux, the runner itself.

#[cfg(target_os = "linux")]
mod here;
#[cfg(target_os = "linux")]
mod up;

use tidemark_api::{
    NewRunner, ResourceId, ResourceName, Runner, RunnerFilter, RunnerKey, RunnerPatch, RunnersSort, Slug,
};
use tidemark_client::{add_runner_spec, remove_runner_spec, renew_runner_key, runner_specs, runners};

#[cfg(target_os = "linux")]
use crate::{connection::Connection, resource::Format};
use crate::{
    failure::Result,
    output,
    resource::{Archiving, Fields, Find, Order, Paging, Session, Shown, Verb, optional},
};

/// Verbs of `tidemark runner`.
#[derive(clap::Subcommand)]
pub(crate) enum RunnerVerb {
    /// List the runners of the server
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        find: Find<ResourceName>,
        /// List the archived ones instead of the others
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        order: Order<RunnersSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Make a runner, and show its key this once
    #[command(visible_alias = "add")]
    Create {
        /// Its name
        #[arg(long)]
        name: ResourceName,
        /// Its slug; made from the name when not given
        #[arg(long)]
        slug: Option<Slug>,
    },
    /// Show a runner and what it does
    #[command(visible_alias = "get")]
    View {
        /// The runner, by UUID or slug
        runner: ResourceId,
    },
    /// Change a runner
    #[command(visible_alias = "edit")]
    Update {
        /// The runner, by UUID or slug
        runner: ResourceId,
        /// The new name
        #[arg(long)]
        name: Option<ResourceName>,
        /// The new slug
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        archiving: Archiving,
    },
    /// Give a runner another key, and show it this once; the one before works no longer
    Key {
        /// The runner, by UUID or slug
        runner: ResourceId,
    },
    /// List the specs that a runner does jobs for, or change them
    Specs {
        /// The runner, by UUID or slug
        runner: ResourceId,
        /// A spec to add, by UUID or slug; repeat it for several
        #[arg(long, value_name = "SPEC")]
        add: Vec<ResourceId>,
        /// A spec to take away, by UUID or slug; repeat it for several
        #[arg(long, value_name = "SPEC")]
        remove: Vec<ResourceId>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Be a runner: take jobs from the server, and run them here
    #[cfg(target_os = "linux")]
    Up(Box<up::Up>),
    /// Run an image on this machine as a runner does, without a server
    #[cfg(target_os = "linux")]
    Run(Box<here::RunImage>),
    /// Say what this machine can do as a runner
    #[cfg(target_os = "linux")]
    Check(here::Check),
}

impl Verb for RunnerVerb {
    #[cfg(target_os = "linux")]
    fn run_here(&self, connection: &Connection, format: &Format) -> Option<Result> {
        match self {
            Self::Up(up) => Some(up.run(connection)),
            Self::Run(run) => Some(run.run(format.json)),
            Self::Check(check) => Some(check.run(format.json)),
            _ => None,
        }
    }

    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { find, archived, order, paging } => {
                let filter = RunnerFilter {
                    name: find.name.clone(),
                    search: find.search.clone(),
                    archived: archived.then_some(true),
                    sort: order.sort,
                };
                session.list(runners().list(&filter), paging)
            }
            Self::Create { name, slug } => {
                session.show(&runners().create(&NewRunner { name: name.clone(), slug: slug.clone() }))
            }
            Self::View { runner } => session.show(&runners().view(runner)),
            Self::Update { runner, name, slug, archiving } => {
                let patch =
                    RunnerPatch { name: name.clone(), slug: slug.clone(), archived: archiving.wanted() };
                session.update(&runners(), runner, &patch)
            }
            Self::Key { runner } => session.show(&renew_runner_key(runner)),
            Self::Specs { runner, add, remove, paging } => {
                for spec in add {
                    session.client.send(&add_runner_spec(runner, spec))?;
                }
                for spec in remove {
                    session.client.send(&remove_runner_spec(runner, spec))?;
                }
                session.list(runner_specs(runner), paging)
            }
            // Handled by `run_here`, before a session was created.
            #[cfg(target_os = "linux")]
            Self::Up(_) | Self::Run(_) | Self::Check(_) => Ok(()),
        }
    }
}

impl Shown for Runner {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Slug", &self.slug)
            .column("State", self.state)
            .column("Job", optional(self.job))
            .column("Release", optional(self.version.as_ref()))
            .column("Heard of", optional(self.last_heartbeat.map(output::time)))
            .number("Specs", self.specs.len())
            .detail("UUID", self.uuid)
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}

impl Shown for RunnerKey {
    fn fields(&self) -> Fields {
        Fields::default().column("Key", &self.key).column("UUID", self.uuid)
    }
}
