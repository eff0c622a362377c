//! `tidemark spec`

use tidemark_api::{
    Architecture, Cpu, Disk, Memory, NewSpec, OperatingSystem, ResourceId, ResourceName, Sandbox, Slug, Spec,
    SpecFilter, SpecPatch, SpecsSort,
};
use tidemark_client::specs;

use crate::{
    failure::Result,
    output,
    resource::{
        ArchiveFlags, Fields, NameFilter, PageFlags, Printable, Session, SortFlag, Verb, fixed_string_parser,
        optional, parse_number, yes_if,
    },
};

/// Verbs of `tidemark spec`.
#[derive(clap::Subcommand)]
pub(crate) enum SpecVerb {
    /// List the specs of the server
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        names: NameFilter<ResourceName>,
        /// List only archived specs
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        sort: SortFlag<SpecsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Create a spec
    #[command(visible_alias = "add")]
    Create(New),
    /// Show a spec
    #[command(visible_alias = "get")]
    View {
        /// Spec UUID or slug
        spec: ResourceId,
    },
    /// Update a spec
    #[command(visible_alias = "edit")]
    Update {
        /// Spec UUID or slug
        spec: ResourceId,
        /// New name
        #[arg(long)]
        name: Option<ResourceName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        /// Whether the spec serves jobs that name no spec
        #[arg(long, value_name = "BOOL")]
        fallback: Option<bool>,
        #[command(flatten)]
        archive: ArchiveFlags,
    },
    /// Delete a spec without runners and jobs
    #[command(visible_alias = "rm")]
    Delete {
        /// Spec UUID or slug
        spec: ResourceId,
    },
}

/// A new spec.
#[derive(clap::Args)]
pub(crate) struct New {
    /// Name
    #[arg(long)]
    name: ResourceName,
    /// Slug [default: derived from the name]
    #[arg(long)]
    slug: Option<Slug>,
    /// Operating system
    #[arg(long, value_parser = fixed_string_parser::<OperatingSystem>())]
    os: OperatingSystem,
    /// Architecture
    #[arg(long, value_parser = fixed_string_parser::<Architecture>())]
    architecture: Architecture,
    /// Sandbox of jobs [default: none; jobs run directly on the host]
    #[arg(long, value_parser = fixed_string_parser::<Sandbox>())]
    sandbox: Option<Sandbox>,
    /// Number of processors of a job
    #[arg(long, value_parser = parse_number::<u32, Cpu>)]
    cpu: Cpu,
    /// Memory of a job in bytes
    #[arg(long, value_name = "BYTES", value_parser = parse_number::<u64, Memory>)]
    memory: Memory,
    /// Disk space of a job in bytes
    #[arg(long, value_name = "BYTES", value_parser = parse_number::<u64, Disk>)]
    disk: Disk,
    /// Allow jobs access to the network
    #[arg(long)]
    network: bool,
    /// Use this spec for jobs that name no spec, instead of the current fallback
    #[arg(long)]
    fallback: bool,
}

impl Verb for SpecVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { names, archived, sort, page } => {
                let filter = SpecFilter {
                    name: names.name.clone(),
                    search: names.search.clone(),
                    archived: archived.then_some(true),
                    sort: sort.sort,
                };
                session.list(specs().list(&filter), page)
            }
            Self::Create(new) => session.show(&specs().create(&NewSpec {
                name: new.name.clone(),
                slug: new.slug.clone(),
                os: new.os,
                architecture: new.architecture,
                sandbox: new.sandbox,
                cpu: new.cpu,
                memory: new.memory,
                disk: new.disk,
                network: new.network,
                fallback: new.fallback,
            })),
            Self::View { spec } => session.show(&specs().view(spec)),
            Self::Update { spec, name, slug, fallback, archive } => {
                let patch = SpecPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    fallback: *fallback,
                    archived: archive.value(),
                };
                session.update(&specs(), spec, &patch)
            }
            Self::Delete { spec } => session.confirm(&specs().delete(spec), "The spec is deleted."),
        }
    }
}

impl Printable for Spec {
    const DROPPABLE: &'static [&'static str] = &["Archived", "Fallback", "Disk", "Memory", "Processors"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .column("System", format!("{} {}", self.os, self.architecture))
            .number("Processors", self.cpu)
            .number("Memory", self.memory)
            .number("Disk", self.disk)
            .detail("Sandbox", optional(self.sandbox))
            .detail("Network", yes_if(self.network))
            .column("Fallback", yes_if(self.fallback.is_some()))
            .detail("UUID", self.uuid)
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
