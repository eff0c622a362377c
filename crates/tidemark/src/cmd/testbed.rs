//! `tidemark testbed`

use serde::Serialize;
use tidemark_api::{
    NewTestbed, ProjTestbedsSort, ResourceId, ResourceName, Search, Slug, SpecUuid, Testbed, TestbedFilter,
    TestbedPatch,
};
use tidemark_client::{Collection, testbeds};
use uuid::Uuid;

use crate::{
    dimension::Dimension,
    output,
    resource::{Fields, NewValue, Printable, optional},
};

/// Flags of `tidemark testbed create`.
#[derive(clap::Args)]
pub(crate) struct CreateFlags {
    /// Spec UUID or slug
    #[arg(long)]
    spec: Option<ResourceId>,
}

/// Flags of `tidemark testbed view`.
#[derive(clap::Args, Serialize)]
pub(crate) struct ViewFlags {
    /// UUID of the spec to show the testbed with [default: the current spec]
    #[arg(long)]
    spec: Option<SpecUuid>,
}

/// Flags of `tidemark testbed update`.
#[derive(clap::Args, Default)]
pub(crate) struct UpdateFlags {
    /// New spec: UUID or slug; `_` removes it
    #[arg(long)]
    spec: Option<NewValue<ResourceId>>,
}

impl Dimension for Testbed {
    const NOUN: &'static str = "testbed";
    const PLURAL: &'static str = "testbeds";
    const VALUE_NAME: &'static str = "TESTBED";

    type Name = ResourceName;
    type Sort = ProjTestbedsSort;
    type CreateFlags = CreateFlags;
    type ViewFlags = ViewFlags;
    type UpdateFlags = UpdateFlags;

    fn of(project: &ResourceId) -> Collection<Self> {
        testbeds(project)
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn name(&self) -> ResourceName {
        self.name.clone()
    }

    fn filter(
        name: Option<ResourceName>,
        search: Option<Search>,
        archived: Option<bool>,
        sort: Option<ProjTestbedsSort>,
    ) -> TestbedFilter {
        TestbedFilter { name, search, archived, sort }
    }

    fn new(name: ResourceName, slug: Option<Slug>, flags: &CreateFlags) -> NewTestbed {
        NewTestbed { name, slug, spec: flags.spec.clone() }
    }

    fn patch(
        name: Option<ResourceName>,
        slug: Option<Slug>,
        archived: Option<bool>,
        flags: &UpdateFlags,
    ) -> TestbedPatch {
        TestbedPatch { name, slug, archived, spec: NewValue::patch(flags.spec.as_ref()) }
    }
}

impl Printable for Testbed {
    const DROPPABLE: &'static [&'static str] = &["Created", "Archived", "Slug"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .text("Spec", optional(self.spec.as_ref().map(|spec| &spec.name)))
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
