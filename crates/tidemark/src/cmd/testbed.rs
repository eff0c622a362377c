//! `tidemark testbed`

use serde::Serialize;
use tidemark_api::{
    NameId, NewTestbed, ProjTestbedsSort, ResourceId, ResourceName, Search, Slug, Spec, SpecFilter, Testbed,
    TestbedFilter, TestbedPatch,
};
use tidemark_client::{Collection, specs, testbeds};
use uuid::Uuid;

use crate::{
    dimension::Dimension,
    failure::{Exit, Failure, Result},
    output,
    resource::{Fields, NewValue, Printable, Session, optional},
};

/// Flags of `tidemark testbed create`.
#[derive(clap::Args)]
pub(crate) struct CreateFlags {
    /// Spec UUID or slug
    #[arg(long)]
    spec: Option<ResourceId>,
}

/// Flags of `tidemark testbed view`.
#[derive(Clone, clap::Args, Serialize)]
pub(crate) struct ViewFlags {
    /// Spec to show the testbed with: UUID, slug or name [default: the current spec]
    #[arg(long)]
    spec: Option<NameId>,
}

/// Returns the UUID of a spec, given by UUID, slug or name: the current spec of a testbed or, for administrators, any spec of the
/// server.
pub(crate) fn find_spec(session: &Session, project: &ResourceId, testbed: Uuid, id: &NameId) -> Result<Uuid> {
    if let Some(uuid) = id.uuid() {
        return Ok(uuid);
    }
    let text = id.as_str();
    let is_named = |spec: &Spec| spec.slug.as_str() == text || spec.name.as_str() == text;
    let current = session.client.send(&testbeds(project).view(&testbed))?.spec;
    let of_server = || {
        let search = text.parse().ok();
        let filter = SpecFilter { search, ..SpecFilter::default() };
        session.client.send(&specs().list(&filter)).ok()?.into_iter().find(is_named)
    };
    current.filter(is_named).or_else(of_server).map(|spec| spec.uuid.uuid()).ok_or_else(|| {
        Failure::with(
            Exit::Refused,
            format!(
                "`{}` is not the current spec of the testbed; give the UUID of the spec.",
                output::plain(text)
            ),
        )
    })
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

    fn resolve(session: &Session, project: &ResourceId, uuid: Uuid, flags: &ViewFlags) -> Result<ViewFlags> {
        let find = |id: &NameId| find_spec(session, project, uuid, id);
        let found = flags.spec.as_ref().map(find).transpose()?;
        Ok(ViewFlags { spec: found.and_then(|uuid| uuid.to_string().parse().ok()) })
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
