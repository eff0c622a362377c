//! `tidemark measure`

use tidemark_api::{
    Measure, MeasureFilter, MeasurePatch, NameId, NewMeasure, ProjMeasuresSort, ResourceId, ResourceName,
    Slug,
};
use tidemark_client::{Collection, measures};
use uuid::Uuid;

use crate::{
    failure::Result,
    output,
    resource::{
        Archiving, Dimension, Fields, Find, InProject, Order, Paging, Session, Shown, Verb, optional,
    },
};

/// Verbs of `tidemark measure`.
#[derive(clap::Subcommand)]
pub(crate) enum MeasureVerb {
    /// List the measures of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        #[command(flatten)]
        find: Find<ResourceName>,
        /// List only archived measures
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        order: Order<ProjMeasuresSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Create a measure
    #[command(visible_alias = "add")]
    Create {
        #[command(flatten)]
        project: InProject,
        /// Name
        #[arg(long)]
        name: ResourceName,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
        /// Units, for example `nanoseconds (ns)`
        #[arg(long)]
        units: ResourceName,
    },
    /// Show a measure
    #[command(visible_alias = "get")]
    View(MeasureTarget),
    /// Update a measure
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: MeasureTarget,
        /// New name
        #[arg(long)]
        name: Option<ResourceName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        /// New units
        #[arg(long)]
        units: Option<ResourceName>,
        #[command(flatten)]
        archiving: Archiving,
    },
    /// Delete a measure without reports
    #[command(visible_alias = "rm")]
    Delete(MeasureTarget),
}

/// A measure of a project.
#[derive(clap::Args)]
pub(crate) struct MeasureTarget {
    #[command(flatten)]
    project: InProject,
    /// Measure UUID, slug or name
    measure: NameId,
}

impl Verb for MeasureVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, find, archived, order, paging } => {
                let filter = MeasureFilter {
                    name: find.name.clone(),
                    search: find.search.clone(),
                    archived: archived.then_some(true),
                    sort: order.sort,
                };
                session.list(measures(project.id()?).list(&filter), paging)
            }
            Self::Create { project, name, slug, units } => {
                let new = NewMeasure { name: name.clone(), slug: slug.clone(), units: units.clone() };
                session.show(&measures(project.id()?).create(&new))
            }
            Self::View(one) => {
                let (measures, measure) = session.find::<Measure>(&one.project, &one.measure)?;
                session.show(&measures.view(&measure))
            }
            Self::Update { one, name, slug, units, archiving } => {
                let patch = MeasurePatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    units: units.clone(),
                    archived: archiving.wanted(),
                };
                let (measures, measure) = session.find::<Measure>(&one.project, &one.measure)?;
                session.update(&measures, &measure, &patch)
            }
            Self::Delete(one) => {
                let (measures, measure) = session.find::<Measure>(&one.project, &one.measure)?;
                session.done(&measures.delete(&measure), "The measure is deleted.")
            }
        }
    }
}

impl Dimension for Measure {
    const NOUN: &'static str = "measure";

    type Name = ResourceName;

    fn of(project: &ResourceId) -> Collection<Self> {
        measures(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> Self::Name {
        self.name.clone()
    }

    fn filter(name: Option<Self::Name>, archived: bool) -> MeasureFilter {
        MeasureFilter { name, archived: Some(archived), ..MeasureFilter::default() }
    }

    fn archive(archived: bool) -> MeasurePatch {
        MeasurePatch { archived: Some(archived), ..MeasurePatch::default() }
    }
}

impl Shown for Measure {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Slug", &self.slug)
            .column("Units", &self.units)
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
