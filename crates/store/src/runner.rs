//! Runners: the machines that run jobs. Only the hashes of their keys are stored.

use std::collections::HashMap;

use tidemark_api::{
    id::{JobUuid, ResourceId, RunnerUuid, SpecUuid},
    name::ResourceName,
    page::{Direction, Page, RunnersSort},
    runner::{Runner, RunnerFilter, RunnerPatch, RunnerState},
    slug::Slug,
    spec::Spec,
    time::Timestamp,
};

use crate::{
    Error, List, Param, Result, RunnerId, SpecId, Tx, WriteContext,
    columns::columns,
    sql::{contains, direction},
};

const TABLES: &str =
    "runner left join job on job.runner_id = runner.id and job.status in ('claimed', 'running')";

/// A runner to insert.
#[derive(Clone, Copy, Debug)]
pub struct NewRunnerRow<'a> {
    /// Name.
    pub name: &'a ResourceName,
    /// Slug; derived from the name if `None`.
    pub slug: Option<&'a Slug>,
    /// Hash of the key.
    pub hash: &'a [u8],
}

/// A runner with its primary key.
#[derive(Clone, Debug)]
pub struct RunnerRow {
    /// Primary key.
    pub id: RunnerId,
    /// Representation in the API.
    pub runner: Runner,
}

columns! {
    struct RunnerColumns {
        id: RunnerId = "runner.id",
        uuid: RunnerUuid = "runner.uuid",
        name: ResourceName = "runner.name",
        slug: Slug = "runner.slug",
        version: Option<String> = "runner.version",
        last_heartbeat: Option<Timestamp> = "runner.last_heartbeat",
        created: Timestamp = "runner.created",
        modified: Timestamp = "runner.modified",
        archived: Option<Timestamp> = "runner.archived",
        job: Option<JobUuid> = "job.uuid",
    }
}

impl RunnerColumns {
    /// Returns the runner, without its specs.
    fn into_row(self, alive: Timestamp) -> RunnerRow {
        let Self { id, uuid, name, slug, version, last_heartbeat, created, modified, archived, job } = self;
        let state = match (&job, last_heartbeat) {
            (Some(_), _) => RunnerState::Busy,
            (None, Some(last)) if last >= alive => RunnerState::Idle,
            _ => RunnerState::Offline,
        };
        let specs = Vec::new();
        let runner = Runner {
            uuid,
            name,
            slug,
            specs,
            state,
            job,
            version,
            last_heartbeat,
            created,
            modified,
            archived,
        };
        RunnerRow { id, runner }
    }
}

/// Inserts a runner.
pub fn create(tx: &mut Tx<'_>, context: &WriteContext, new: &NewRunnerRow<'_>) -> Result<RunnerUuid> {
    let uuid = RunnerUuid::from(context.uuid());
    let slug = new.slug.cloned().or_else(|| Slug::derive(new.name.as_str()));
    let slug = slug.unwrap_or_else(|| Slug::from_uuid(uuid.uuid()));
    tx.execute(
        "insert into runner (uuid, name, slug, hash, created, modified) values ($1, $2, $3, $4, $5, $5)",
        &[&uuid, new.name, &slug, &new.hash, &context.now],
    )?;
    Ok(uuid)
}

/// Returns the runner with this slug or UUID. A runner with a heartbeat since `alive` is online.
pub fn find(tx: &mut Tx<'_>, runner: &ResourceId, alive: Timestamp) -> Result<RunnerRow> {
    let (column, value): (_, &dyn Param) = match runner {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    let sql = format!("select {{columns}} from {TABLES} where runner.{column} = $1");
    let found: RunnerColumns = tx.fetch_one("runner", &sql, &[value])?;
    let mut found = [found.into_row(alive)];
    add_specs(tx, &mut found)?;
    let [found] = found;
    Ok(found)
}

/// Lists all runners of this server. A runner with a heartbeat since `alive` is online.
pub fn list(
    tx: &mut Tx<'_>,
    filter: &RunnerFilter,
    page: &Page,
    alive: Timestamp,
) -> Result<(Vec<Runner>, i64)> {
    let order = match filter.sort.unwrap_or_default() {
        RunnersSort::Name => {
            let direction = direction(page.direction.unwrap_or(Direction::Asc));
            format!("lower(runner.name) {direction}, runner.id {direction}")
        }
        RunnersSort::Created => {
            let direction = direction(page.direction.unwrap_or(Direction::Desc));
            format!("runner.created {direction}, runner.id {direction}")
        }
    };
    let from = format!(
        "{TABLES} where (cast($1 as text) is null or runner.name = $1)
         and (cast($2 as text) is null or lower(runner.name) like $2 escape '\\'
              or runner.slug like $2 escape '\\' or cast(runner.uuid as text) like $2 escape '\\')
         and (runner.archived is not null) = $3"
    );
    let search = filter.search.as_ref().map(|search| contains(search.as_ref()));
    let (found, total) = tx.page::<RunnerColumns>(
        &List { from: &from, order: &order },
        &[&filter.name, &search, &filter.archived.unwrap_or(false)],
        page,
    )?;
    let mut found: Vec<_> = found.into_iter().map(|found| found.into_row(alive)).collect();
    add_specs(tx, &mut found)?;
    Ok((found.into_iter().map(|found| found.runner).collect(), total))
}

/// Adds the specs that the runners serve.
fn add_specs(tx: &mut Tx<'_>, runners: &mut [RunnerRow]) -> Result<()> {
    let ids: Vec<i64> = runners.iter().map(|found| found.id.get()).collect();
    let served: Vec<(RunnerId, SpecUuid)> = tx.fetch_all(
        "select runner_spec.runner_id, spec.uuid from runner_spec join spec on spec.id = runner_spec.spec_id
         where runner_spec.runner_id in {ints $1} order by lower(spec.name), spec.id",
        &[&ids],
    )?;
    let mut specs: HashMap<RunnerId, Vec<SpecUuid>> = HashMap::new();
    for (runner, spec) in served {
        specs.entry(runner).or_default().push(spec);
    }
    for found in runners {
        found.runner.specs = specs.remove(&found.id).unwrap_or_default();
    }
    Ok(())
}

/// Updates a runner.
pub fn update(tx: &mut Tx<'_>, runner: RunnerId, patch: &RunnerPatch, now: Timestamp) -> Result<()> {
    tx.execute(
        "update runner set name = coalesce($2, name), slug = coalesce($3, slug), modified = $4 where id = $1",
        &[&runner, &patch.name, &patch.slug, &now],
    )?;
    let sql = match patch.archived {
        Some(true) => "update runner set archived = coalesce(archived, $2) where id = $1",
        Some(false) => "update runner set archived = null where id = $1 and archived <= $2",
        None => return Ok(()),
    };
    tx.execute(sql, &[&runner, &now])?;
    Ok(())
}

/// Replaces the key of a runner.
pub fn set_key(tx: &mut Tx<'_>, runner: RunnerId, hash: &[u8], now: Timestamp) -> Result<()> {
    tx.execute("update runner set hash = $2, modified = $3 where id = $1", &[&runner, &hash, &now])?;
    Ok(())
}

columns! {
    struct AuthenticatedRunner {
        id: RunnerId = "id",
        uuid: RunnerUuid = "uuid",
        slug: Slug = "slug",
    }
}

/// Returns the runner with this key hash, unless it is archived.
pub fn authenticate(tx: &mut Tx<'_>, hash: &[u8]) -> Result<Option<(RunnerId, RunnerUuid, Slug)>> {
    let found: Option<AuthenticatedRunner> =
        tx.fetch_optional("select {columns} from runner where hash = $1 and archived is null", &[&hash])?;
    Ok(found.map(|AuthenticatedRunner { id, uuid, slug }| (id, uuid, slug)))
}

/// Records a heartbeat of a runner and, if sent, its version.
pub fn record_heartbeat(
    tx: &mut Tx<'_>,
    runner: RunnerId,
    version: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update runner set last_heartbeat = $2, version = coalesce($3, version) where id = $1",
        &[&runner, &now, &version],
    )?;
    Ok(())
}

/// Returns the specs that a runner serves, by name.
pub fn specs(tx: &mut Tx<'_>, runner: RunnerId) -> Result<Vec<Spec>> {
    tx.fetch_all(
        "select {columns} from runner_spec join spec on spec.id = runner_spec.spec_id
         where runner_spec.runner_id = $1 order by lower(spec.name), spec.id",
        &[&runner],
    )
}

/// Adds a spec to a runner.
pub fn add_spec(tx: &mut Tx<'_>, runner: RunnerId, spec: SpecId, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into runner_spec (runner_id, spec_id, created) values ($1, $2, $3)",
        &[&runner, &spec, &now],
    )?;
    Ok(())
}

/// Removes a spec from a runner.
pub fn remove_spec(tx: &mut Tx<'_>, runner: RunnerId, spec: SpecId) -> Result<()> {
    let removed =
        tx.execute("delete from runner_spec where runner_id = $1 and spec_id = $2", &[&runner, &spec])?;
    if removed == 0 { Err(Error::NotFound("spec of this runner")) } else { Ok(()) }
}
