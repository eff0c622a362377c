//! Unclaimed organizations: their storage, their claim tokens, and the expiry of idle ones.

use tidemark_api::time::Timestamp;

use crate::{OrganizationId, Result, Tx, repository::ROW_BYTES};

/// Stored data that counts towards a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredData {
    /// Number of metrics.
    pub metrics: u64,
    /// Size of the reports as received, in bytes.
    pub report_bytes: u64,
}

/// Records that an anonymous run or push created an organization, which expires when it is idle. `claim_hash` is the
/// hash of its claim token.
pub fn create(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    claim_hash: Option<&[u8]>,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update organization set active = $3, claim_hash = $2 where id = $1",
        &[&organization, &claim_hash, &now],
    )?;
    Ok(())
}

/// Records a push to an unclaimed organization.
pub fn touch(tx: &mut Tx<'_>, organization: OrganizationId, now: Timestamp) -> Result<()> {
    tx.execute(
        "update organization set active = $2 where id = $1 and claimed is null and active is not null",
        &[&organization, &now],
    )?;
    Ok(())
}

/// Adds a report to the stored data of an organization. Returns the new totals.
pub fn add(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    added: StoredData,
    now: Timestamp,
) -> Result<StoredData> {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (metrics, report_bytes) = tx.fetch_one(
        "organization",
        "update organization set metrics = metrics + $2, report_bytes = report_bytes + $3,
                active = case when active is null then active else $4 end
         where id = $1 returning metrics, report_bytes",
        &[&organization, &number(added.metrics), &number(added.report_bytes), &now],
    )?;
    Ok(StoredData { metrics, report_bytes })
}

/// Returns the stored data of all unclaimed organizations together.
pub fn total(tx: &mut Tx<'_>) -> Result<StoredData> {
    let (metrics, report_bytes) = tx.fetch_one(
        "organization",
        "select cast(coalesce(sum(metrics), 0) as bigint), cast(coalesce(sum(report_bytes), 0) as bigint)
         from organization where claimed is null and deleted is null",
        &[],
    )?;
    Ok(StoredData { metrics, report_bytes })
}

/// Returns the size in bytes of the images of all unclaimed organizations together, with [`ROW_BYTES`] for each row.
pub fn image_bytes(tx: &mut Tx<'_>) -> Result<u64> {
    tx.value(
        "with theirs as (select repository.id from organization
                         join project on project.organization_id = organization.id
                         join repository on repository.project_id = project.id
                         where organization.claimed is null and organization.deleted is null)
         select cast(coalesce((select sum(size) from blob where id in
                    (select blob_id from repository_blob where repository_id in (select id from theirs))), 0)
                + coalesce((select sum(size) from manifest where repository_id in (select id from theirs)), 0)
                + coalesce((select sum(size) from upload where repository_id in (select id from theirs)), 0)
                + $1 * ((select count(*) from theirs)
                        + (select count(*) from repository_blob where repository_id in (select id from theirs))
                        + (select count(*) from tag where repository_id in (select id from theirs))
                        + (select count(*) from upload where repository_id in (select id from theirs))) as bigint)",
        &[&ROW_BYTES],
    )
}

/// Returns the hash of the claim token of an organization, if it has one.
pub fn claim_hash(tx: &mut Tx<'_>, organization: OrganizationId) -> Result<Option<Vec<u8>>> {
    tx.value("select claim_hash from organization where id = $1", &[&organization])
}

/// Deletes at most `limit` organizations that have been idle since `before`, with all of their data. Returns their
/// slugs.
pub fn expire(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<Vec<String>> {
    tx.fetch_all(
        "delete from organization where id in
             (select id from organization where claimed is null and deleted is null and active < $1
              order by active limit $2)
           and claimed is null and active < $1
         returning slug",
        &[&before, &i64::from(limit)],
    )
}
