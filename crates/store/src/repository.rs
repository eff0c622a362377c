//! Repositories of the registry: the repository of a project, and repositories at paths below it.

use tidemark_api::time::Timestamp;

use crate::{OrganizationId, ProjectId, RepositoryId, Result, Tx};

/// Returns the repository of a project at this path, if it exists.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, path: &str) -> Result<Option<RepositoryId>> {
    tx.fetch_optional("select id from repository where project_id = $1 and path = $2", &[&project, &path])
}

/// Returns the repository of a project at this path. Creates it if it is missing.
pub fn ensure(tx: &mut Tx<'_>, project: ProjectId, path: &str, now: Timestamp) -> Result<RepositoryId> {
    if let Some(found) = find(tx, project, path)? {
        return Ok(found);
    }
    // The update changes nothing; it returns the row if a concurrent transaction inserted it first.
    tx.fetch_one(
        "repository",
        "insert into repository (project_id, path, created) values ($1, $2, $3)
         on conflict (project_id, path) do update set path = excluded.path returning id",
        &[&project, &path, &now],
    )
}

/// Bytes that each repository, tag, unfinished upload and blob link of a repository counts for in the quotas of
/// unclaimed organizations, in addition to its content: each is a row, even if its content is small.
pub const ROW_BYTES: i64 = 1024;

/// Returns the number of bytes that an organization stores: each blob once, even if several of its repositories link to
/// it, manifests, and unfinished uploads.
pub fn stored(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<u64> {
    stored_with_rows(tx, organization, 0)
}

/// Returns the number of bytes that an organization stores, plus `row_bytes` for each row.
pub fn stored_with_rows(tx: &mut Tx<'_>, organization: OrganizationId, row_bytes: i64) -> Result<u64> {
    tx.value(
        "with mine as (select repository.id from repository
                       join project on project.id = repository.project_id where project.organization_id = $1)
         select cast(coalesce((select sum(size) from blob where id in
                    (select blob_id from repository_blob where repository_id in (select id from mine))), 0)
                + coalesce((select sum(size) from manifest where repository_id in (select id from mine)), 0)
                + coalesce((select sum(size) from upload where repository_id in (select id from mine)), 0)
                + $2 * ((select count(*) from mine)
                        + (select count(*) from repository_blob where repository_id in (select id from mine))
                        + (select count(*) from tag where repository_id in (select id from mine))
                        + (select count(*) from upload where repository_id in (select id from mine))) as bigint)",
        &[&organization, &row_bytes],
    )
}

/// Deletes at most `limit` repositories of deleted projects with all of their data. Returns the number of deleted
/// repositories.
pub fn purge_deleted(tx: &mut Tx<'_>, limit: u32) -> Result<u64> {
    tx.execute(
        "delete from repository where id in
             (select repository.id from project join repository on repository.project_id = project.id
              where project.deleted is not null limit $1)",
        &[&i64::from(limit)],
    )
}

/// Adds bytes that an organization transferred to the hour that starts at `hour`.
pub fn count_traffic(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    hour: Timestamp,
    bytes: i64,
) -> Result<()> {
    tx.execute(
        "insert into registry_traffic (organization_id, hour, bytes) values ($1, $2, $3)
         on conflict (organization_id, hour) do update set bytes = registry_traffic.bytes + excluded.bytes",
        &[&organization, &hour, &bytes],
    )?;
    Ok(())
}

/// Returns the bytes that an organization transferred in each hour after `from`, earliest first.
pub fn traffic(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    from: Timestamp,
) -> Result<Vec<(Timestamp, u64)>> {
    tx.fetch_all(
        "select hour, bytes from registry_traffic where organization_id = $1 and hour > $2 order by hour",
        &[&organization, &from],
    )
}

/// Deletes the traffic that no longer counts towards a limit.
pub fn purge_traffic(tx: &mut Tx<'_>, before: Timestamp) -> Result<u64> {
    tx.execute("delete from registry_traffic where hour <= $1", &[&before])
}
