//! `tidemark measure`

use tidemark_api::{
    Measure, MeasureDirection, MeasureFilter, MeasurePatch, NewMeasure, ProjMeasuresSort, ResourceId,
    ResourceName, Search, Slug,
};
use tidemark_client::{Collection, measures};
use uuid::Uuid;

use crate::{
    dimension::Dimension,
    output,
    resource::{Fields, NewValue, Printable, fixed_string_parser, optional},
};

/// Flags of `tidemark measure create`.
#[derive(clap::Args)]
pub(crate) struct CreateFlags {
    /// Units, for example `nanoseconds (ns)`
    #[arg(long)]
    units: ResourceName,
    /// Whether lower or higher values are better [default: the direction of the built-in measure, otherwise unknown]
    #[arg(long, value_parser = fixed_string_parser::<MeasureDirection>())]
    direction: Option<MeasureDirection>,
}

/// Flags of `tidemark measure update`.
#[derive(clap::Args, Default)]
pub(crate) struct UpdateFlags {
    /// New units
    #[arg(long)]
    units: Option<ResourceName>,
    /// New direction, lower_is_better or higher_is_better; `_` restores the default
    #[arg(long)]
    direction: Option<NewValue<MeasureDirection>>,
}

impl Dimension for Measure {
    const NOUN: &'static str = "measure";
    const PLURAL: &'static str = "measures";
    const VALUE_NAME: &'static str = "MEASURE";

    type Name = ResourceName;
    type Sort = ProjMeasuresSort;
    type CreateFlags = CreateFlags;
    type ViewFlags = ();
    type UpdateFlags = UpdateFlags;

    fn of(project: &ResourceId) -> Collection<Self> {
        measures(project)
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
        sort: Option<ProjMeasuresSort>,
    ) -> MeasureFilter {
        MeasureFilter { name, search, archived, sort }
    }

    fn new(name: ResourceName, slug: Option<Slug>, flags: &CreateFlags) -> NewMeasure {
        NewMeasure { name, slug, units: flags.units.clone(), direction: flags.direction }
    }

    fn patch(
        name: Option<ResourceName>,
        slug: Option<Slug>,
        archived: Option<bool>,
        flags: &UpdateFlags,
    ) -> MeasurePatch {
        let direction = NewValue::patch(flags.direction.as_ref());
        MeasurePatch { name, slug, archived, units: flags.units.clone(), direction }
    }
}

impl Printable for Measure {
    const DROPPABLE: &'static [&'static str] = &["Created", "Archived", "Slug"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .text("Units", &self.units)
            .column("Direction", optional(self.direction.map(MeasureDirection::phrase)))
            .detail("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Archived", optional(self.archived.map(output::time)))
    }
}
