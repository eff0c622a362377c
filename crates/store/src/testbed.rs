//! Testbeds: the environments in which benchmarks run.

use tidemark_api::{
    ProjTestbedsSort,
    id::NameId,
    name::ResourceName,
    slug::Slug,
    spec::Spec,
    testbed::{Testbed, TestbedFilter, TestbedPatch},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    ProjectId, Result, SpecId, TestbedId, Tx, WriteContext,
    columns::{columns, insert_columns},
    dimension::{self, Dimension, DimensionFilter, DimensionUpdate, ItemReference, NewItem, single_key},
};

columns!(Testbed {
    uuid: "testbed.uuid",
    project: "project.uuid",
    name: "testbed.name",
    slug: "testbed.slug",
    created: "testbed.created",
    modified: "testbed.modified",
    archived: "testbed.archived",
    spec: Option<Spec>,
});

insert_columns! {
    struct NewTestbed<'a> {
        uuid: Uuid,
        project_id: ProjectId,
        name: &'a str,
        slug: &'a Slug,
        spec_id: Option<SpecId>,
        created: Timestamp,
        modified: Timestamp,
    }
}

impl Dimension for Testbed {
    type Id = TestbedId;
    type Fields<'a> = Option<SpecId>;
    const TABLE: &'static str = "testbed";
    const NEWEST_RUN: &'static str = "from report as newest where newest.testbed_id = testbed.id
         order by newest.start_time desc, newest.id desc limit 1";

    fn joins() -> String {
        "join project on project.id = testbed.project_id left join spec on spec.id = testbed.spec_id"
            .to_owned()
    }

    fn uuid(&self) -> Uuid {
        self.uuid.uuid()
    }

    fn insert(tx: &mut Tx<'_>, items: Vec<(NewItem<'_>, Option<SpecId>)>, suffix: &str) -> Result<Vec<i64>> {
        let items = items.into_iter().map(|(item, spec_id)| {
            let NewItem { uuid, project_id, name, slug, created, modified } = item;
            NewTestbed { uuid, project_id, name, slug, spec_id, created, modified }
        });
        tx.insert_keyed(Self::TABLE, &items.collect::<Vec<_>>(), suffix)
    }
}

impl<'a> From<&'a TestbedFilter> for DimensionFilter<'a> {
    fn from(filter: &'a TestbedFilter) -> Self {
        Self {
            name: filter.name.as_ref().map(ResourceName::as_str),
            search: filter.search.as_ref().map(AsRef::as_ref),
            archived: filter.archived.unwrap_or(false),
            by_newest_run: filter.sort == Some(ProjTestbedsSort::NewestRun),
        }
    }
}

impl<'a> From<&'a TestbedPatch> for DimensionUpdate<'a> {
    fn from(patch: &'a TestbedPatch) -> Self {
        Self {
            name: patch.name.as_ref().map(ResourceName::as_str),
            slug: patch.slug.as_ref(),
            archived: patch.archived,
        }
    }
}

/// Returns the primary key of a testbed. Creates it if it is missing and restores it if it is archived.
pub fn ensure(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    testbed: &NameId,
    name: &ResourceName,
) -> Result<TestbedId> {
    let wanted = ItemReference { reference: Some(testbed), name: name.as_str(), slug: None, fields: None };
    single_key(dimension::ensure::<Testbed>(tx, context, project, &[wanted])?)
}

/// Sets or removes the spec of a testbed.
pub fn set_spec(tx: &mut Tx<'_>, testbed: TestbedId, spec: Option<SpecId>, now: Timestamp) -> Result<()> {
    tx.execute(
        "update testbed set spec_id = $2, modified = $3 where id = $1 and spec_id is distinct from $2",
        &[&testbed, &spec, &now],
    )?;
    Ok(())
}
