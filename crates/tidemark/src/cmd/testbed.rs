//! `tidemark testbed`

use tidemark_api::{
    NameId, NewTestbed, ProjTestbedsSort, ResourceId, ResourceName, Slug, SpecQuery, SpecUuid, Testbed,
    TestbedFilter, TestbedPatch,
};
use tidemark_client::{Collection, testbeds};
use uuid::Uuid;

use crate::{
    failure::Result,
    output,
    resource::{
        Archiving, Change, Dimension, Fields, Find, InProject, Order, Paging, Session, Shown, Verb, optional,
    },
};

/// Verbs of `tidemark testbed`.
#[derive(clap::Subcommand)]
pub(crate) enum TestbedVerb {
    /// List the testbeds of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: InProject,
        #[command(flatten)]
        find: Find<ResourceName>,
        /// List only archived testbeds
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        order: Order<ProjTestbedsSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Create a testbed
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
        /// Spec UUID or slug
        #[arg(long)]
        spec: Option<ResourceId>,
    },
    /// Show a testbed
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        one: TestbedTarget,
        /// UUID of the spec to show the testbed with [default: the current spec]
        #[arg(long)]
        spec: Option<SpecUuid>,
    },
    /// Update a testbed
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        one: TestbedTarget,
        /// New name
        #[arg(long)]
        name: Option<ResourceName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        /// New spec: UUID or slug; `_` removes it
        #[arg(long)]
        spec: Option<Change<ResourceId>>,
        #[command(flatten)]
        archiving: Archiving,
    },
    /// Delete a testbed without reports
    #[command(visible_alias = "rm")]
    Delete(TestbedTarget),
}

/// A testbed of a project.
#[derive(clap::Args)]
pub(crate) struct TestbedTarget {
    #[command(flatten)]
    project: InProject,
    /// Testbed UUID, slug or name
    testbed: NameId,
}

impl Verb for TestbedVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, find, archived, order, paging } => {
                let filter = TestbedFilter {
                    name: find.name.clone(),
                    search: find.search.clone(),
                    archived: archived.then_some(true),
                    sort: order.sort,
                };
                session.list(testbeds(project.id()?).list(&filter), paging)
            }
            Self::Create { project, name, slug, spec } => {
                let new = NewTestbed { name: name.clone(), slug: slug.clone(), spec: spec.clone() };
                session.show(&testbeds(project.id()?).create(&new))
            }
            Self::View { one, spec } => {
                let (testbeds, testbed) = session.find::<Testbed>(&one.project, &one.testbed)?;
                session.show(&testbeds.view(&testbed).query(&SpecQuery { spec: *spec }))
            }
            Self::Update { one, name, slug, spec, archiving } => {
                let patch = TestbedPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    spec: Change::of(spec.as_ref()),
                    archived: archiving.wanted(),
                };
                let (testbeds, testbed) = session.find::<Testbed>(&one.project, &one.testbed)?;
                session.update(&testbeds, &testbed, &patch)
            }
            Self::Delete(one) => {
                let (testbeds, testbed) = session.find::<Testbed>(&one.project, &one.testbed)?;
                session.done(&testbeds.delete(&testbed), "The testbed is deleted.")
            }
        }
    }
}

impl Dimension for Testbed {
    const NOUN: &'static str = "testbed";

    type Name = ResourceName;

    fn of(project: &ResourceId) -> Collection<Self> {
        testbeds(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> Self::Name {
        self.name.clone()
    }

    fn filter(name: Option<Self::Name>, archived: bool) -> TestbedFilter {
        TestbedFilter { name, archived: Some(archived), ..TestbedFilter::default() }
    }

    fn archive(archived: bool) -> TestbedPatch {
        TestbedPatch { archived: Some(archived), ..TestbedPatch::default() }
    }
}

impl Shown for Testbed {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Slug", &self.slug)
            .column("Spec", optional(self.spec.as_ref().map(|spec| &spec.name)))
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
