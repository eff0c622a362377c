//! Blobs of the registry: bytes known by their digest, stored once and shared by the repositories that have them.
//!
//! A blob belongs to whoever is linked to it. What nobody needs any more is idle for a while before it goes, so that a
//! push which relies on it has the time to say so.

use tidemark_api::time::Timestamp;
use uuid::Uuid;

use crate::{BlobId, Fresh, ProjectId, RepositoryId, Result, Tx};

/// A blob that a repository has.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The key.
    pub id: BlobId,
    /// The name of its object.
    pub object: Uuid,
    /// How many bytes it has.
    pub size: u64,
    /// Since when no manifest of the repository needs it.
    pub idle: Option<Timestamp>,
}

/// The blob with this digest, if the repository has it.
pub fn find(tx: &mut Tx<'_>, repository: RepositoryId, digest: &str) -> Result<Option<Found>> {
    tx.optional(
        "select blob.id, blob.uuid, blob.size, repository_blob.idle from blob
         join repository_blob on repository_blob.blob_id = blob.id and repository_blob.repository_id = $1
         where blob.digest = $2",
        &[&repository, &digest],
        |row| Ok(Found { id: row.get(0)?, object: row.get(1)?, size: row.get(2)?, idle: row.get(3)? }),
    )
}

/// Makes an object visible as the blob with this digest, unless there is one already; answers the blob's key and the
/// name of its object, which is another one then.
pub fn store(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    object: Uuid,
    digest: &str,
    size: u64,
) -> Result<(BlobId, Uuid)> {
    let size = i64::try_from(size).map_err(|error| crate::Error::Engine(error.into()))?;
    // Touching the row that is there also keeps it from being collected until this transaction ends.
    tx.one(
        "blob",
        "insert into blob (uuid, digest, size, created, touched) values ($1, $2, $3, $4, $4)
         on conflict (digest) do update set touched = excluded.touched returning id, uuid",
        &[&object, &digest, &size, &fresh.now],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Gives a repository a blob, and if it has it, time to use it.
pub fn link(tx: &mut Tx<'_>, repository: RepositoryId, blob: BlobId, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into repository_blob (repository_id, blob_id, idle) values ($1, $2, $3)
         on conflict (repository_id, blob_id) do update set idle = excluded.idle
         where repository_blob.idle is not null",
        &[&repository, &blob, &now],
    )?;
    Ok(())
}

/// Gives a repository time to use a blob that it has; `false` if it does not have it any more.
pub fn keep(tx: &mut Tx<'_>, repository: RepositoryId, blob: BlobId, now: Timestamp) -> Result<bool> {
    let kept = tx.execute(
        "update repository_blob set idle = case when idle is null then null else cast($3 as bigint) end
         where repository_id = $1 and blob_id = $2",
        &[&repository, &blob, &now],
    )?;
    Ok(kept == 1)
}

/// Where a blob may be taken from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// One repository.
    Repository(RepositoryId),
    /// Any repository of this project or of a public one.
    Anywhere(ProjectId),
}

/// Gives a repository a blob that it finds elsewhere; `false` if it is not there.
pub fn mount(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    digest: &str,
    source: Source,
    now: Timestamp,
) -> Result<bool> {
    let (condition, key) = match source {
        Source::Repository(source) => ("repository_blob.repository_id = $3", source.get()),
        Source::Anywhere(project) => {
            ("(project.id = $3 or project.visibility = 'public') and project.deleted is null", project.get())
        }
    };
    let blob: Option<BlobId> = tx.optional(
        &format!(
            "update blob set touched = $2 where digest = $1 and exists
                 (select 1 from repository_blob join repository on repository.id = repository_blob.repository_id
                  join project on project.id = repository.project_id
                  where repository_blob.blob_id = blob.id and {condition})
             returning id"
        ),
        &[&digest, &now, &key],
        |row| row.get(0),
    )?;
    if let Some(blob) = blob {
        link(tx, repository, blob, now)?;
    }
    Ok(blob.is_some())
}

/// Takes a blob away from a repository, unless one of its manifests needs it; answers whether it is gone.
pub fn unlink(tx: &mut Tx<'_>, repository: RepositoryId, blob: BlobId) -> Result<bool> {
    let gone = tx.execute(
        "delete from repository_blob where repository_id = $1 and blob_id = $2 and idle is not null",
        &[&repository, &blob],
    )?;
    Ok(gone == 1)
}

/// Takes blobs away from repositories that have not needed them since `before`, a few at a time; answers how many.
pub fn unlink_idle(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64> {
    tx.execute(
        "delete from repository_blob where idle < $1 and (repository_id, blob_id) in
             (select repository_id, blob_id from repository_blob where idle < $1 limit $2)",
        &[&before, &i64::from(limit)],
    )
}

/// The next few blobs after `after` that no repository has and nobody has touched since `before`.
pub fn unlinked(tx: &mut Tx<'_>, after: BlobId, before: Timestamp, limit: u32) -> Result<Vec<BlobId>> {
    tx.all(
        "select id from blob where id > $1 and touched < $2
         and not exists (select 1 from repository_blob where repository_blob.blob_id = blob.id)
         order by id limit $3",
        &[&after, &before, &i64::from(limit)],
        |row| row.get(0),
    )
}

/// Removes those of these blobs that are still unlinked and untouched; answers the names of their objects.
pub fn remove(tx: &mut Tx<'_>, blobs: &[BlobId], before: Timestamp) -> Result<Vec<Uuid>> {
    let keys: Vec<i64> = blobs.iter().map(|blob| blob.get()).collect();
    tx.all(
        "delete from blob where id in {ints $1} and touched < $2
         and not exists (select 1 from repository_blob where repository_blob.blob_id = blob.id)
         and not exists (select 1 from manifest_blob where manifest_blob.blob_id = blob.id)
         returning uuid",
        &[&keys, &before],
        |row| row.get(0),
    )
}

/// Which of these objects belong to a blob, to an upload or to a job.
pub fn known(tx: &mut Tx<'_>, objects: &[Uuid]) -> Result<Vec<Uuid>> {
    tx.all(
        "select uuid from blob where uuid in {uuids $1}
         union all select object from upload_part where object in {uuids $1}
         union all select output from job where output in {uuids $1}",
        &[&objects],
        |row| row.get(0),
    )
}
