//! Blobs of the registry: content-addressed bytes, stored once and shared by the repositories that link to them.
//!
//! A blob belongs to the repositories that link to it. A blob or a link that is no longer needed stays idle for some time
//! before it is deleted, so that a push has time to reference the blob.

use tidemark_api::time::Timestamp;
use uuid::Uuid;

use crate::{BlobId, ProjectId, RepositoryId, Result, Tx, WriteContext, columns::columns};

columns! {
    /// A blob of a repository.
    #[derive(Clone, Copy, Debug)]
    pub struct BlobRow {
        /// Primary key.
        pub id: BlobId = "blob.id",
        /// Name of the object in the object store.
        pub object: Uuid = "blob.uuid",
        /// Size in bytes.
        pub size: u64 = "blob.size",
        /// Time since when no manifest of the repository needs the blob.
        pub idle: Option<Timestamp> = "repository_blob.idle",
    }
}

/// Returns the blob with this digest, if the repository links to it.
pub fn find(tx: &mut Tx<'_>, repository: RepositoryId, digest: &str) -> Result<Option<BlobRow>> {
    tx.fetch_optional(
        "select {columns} from blob
         join repository_blob on repository_blob.blob_id = blob.id and repository_blob.repository_id = $1
         where blob.digest = $2",
        &[&repository, &digest],
    )
}

/// Inserts a blob for an object, unless a blob with this digest exists. Returns the primary key and the object name of
/// the blob; the object name differs from `object` if the blob existed.
pub fn store(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    object: Uuid,
    digest: &str,
    size: u64,
) -> Result<(BlobId, Uuid)> {
    let size = i64::try_from(size).map_err(|error| crate::Error::Engine(error.into()))?;
    // Updating an existing row also protects it from garbage collection until this transaction ends.
    tx.fetch_one(
        "blob",
        "insert into blob (uuid, digest, size, created, touched) values ($1, $2, $3, $4, $4)
         on conflict (digest) do update set touched = excluded.touched returning id, uuid",
        &[&object, &digest, &size, &context.now],
    )
}

/// Links a repository to a blob; restarts the idle time of an existing idle link.
pub fn link(tx: &mut Tx<'_>, repository: RepositoryId, blob: BlobId, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into repository_blob (repository_id, blob_id, idle) values ($1, $2, $3)
         on conflict (repository_id, blob_id) do update set idle = excluded.idle
         where repository_blob.idle is not null",
        &[&repository, &blob, &now],
    )?;
    Ok(())
}

/// Restarts the idle time of a link to a blob; `false` if the repository no longer links to the blob.
pub fn touch_link(tx: &mut Tx<'_>, repository: RepositoryId, blob: BlobId, now: Timestamp) -> Result<bool> {
    let kept = tx.execute(
        "update repository_blob set idle = case when idle is null then null else cast($3 as bigint) end
         where repository_id = $1 and blob_id = $2",
        &[&repository, &blob, &now],
    )?;
    Ok(kept == 1)
}

/// Where a blob may be mounted from.
#[derive(Clone, Copy, Debug)]
pub enum MountSource {
    /// One repository.
    Repository(RepositoryId),
    /// Any repository of this project or of a public project.
    Anywhere(ProjectId),
}

/// Links a repository to a blob of another repository; `false` if the source does not have the blob.
pub fn mount(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    digest: &str,
    source: MountSource,
    now: Timestamp,
) -> Result<bool> {
    let (condition, key) = match source {
        MountSource::Repository(source) => ("repository_blob.repository_id = $3", source.get()),
        MountSource::Anywhere(project) => {
            ("(project.id = $3 or project.visibility = 'public') and project.deleted is null", project.get())
        }
    };
    let blob: Option<BlobId> = tx.fetch_optional(
        &format!(
            "update blob set touched = $2 where digest = $1 and exists
                 (select 1 from repository_blob join repository on repository.id = repository_blob.repository_id
                  join project on project.id = repository.project_id
                  where repository_blob.blob_id = blob.id and {condition})
             returning id"
        ),
        &[&digest, &now, &key],
    )?;
    if let Some(blob) = blob {
        link(tx, repository, blob, now)?;
    }
    Ok(blob.is_some())
}

/// Deletes the link of a repository to a blob, unless one of its manifests needs the blob. Returns whether the link is
/// deleted.
pub fn unlink(tx: &mut Tx<'_>, repository: RepositoryId, blob: BlobId) -> Result<bool> {
    let gone = tx.execute(
        "delete from repository_blob where repository_id = $1 and blob_id = $2 and idle is not null",
        &[&repository, &blob],
    )?;
    Ok(gone == 1)
}

/// Deletes at most `limit` links that have been idle since `before`. Returns the number of deleted links.
pub fn unlink_idle(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64> {
    tx.execute(
        "delete from repository_blob where idle < $1 and (repository_id, blob_id) in
             (select repository_id, blob_id from repository_blob where idle < $1 limit $2)",
        &[&before, &i64::from(limit)],
    )
}

/// Returns the next blobs after `after` that no repository links to and that were last touched before `before`, at most
/// `limit`.
pub fn unlinked(tx: &mut Tx<'_>, after: BlobId, before: Timestamp, limit: u32) -> Result<Vec<BlobId>> {
    tx.fetch_all(
        "select id from blob where id > $1 and touched < $2
         and not exists (select 1 from repository_blob where repository_blob.blob_id = blob.id)
         order by id limit $3",
        &[&after, &before, &i64::from(limit)],
    )
}

/// Deletes the blobs among `blobs` that are still unlinked and untouched. Returns the names of their objects.
pub fn remove(tx: &mut Tx<'_>, blobs: &[BlobId], before: Timestamp) -> Result<Vec<Uuid>> {
    let keys: Vec<i64> = blobs.iter().map(|blob| blob.get()).collect();
    tx.fetch_all(
        "delete from blob where id in {ints $1} and touched < $2
         and not exists (select 1 from repository_blob where repository_blob.blob_id = blob.id)
         and not exists (select 1 from manifest_blob where manifest_blob.blob_id = blob.id)
         returning uuid",
        &[&keys, &before],
    )
}

/// Returns the objects among `objects` that belong to a blob, to an upload or to a job.
pub fn existing_objects(tx: &mut Tx<'_>, objects: &[Uuid]) -> Result<Vec<Uuid>> {
    tx.fetch_all(
        "select uuid from blob where uuid in {uuids $1}
         union all select object from upload_part where object in {uuids $1}
         union all select output from job where output in {uuids $1}",
        &[&objects],
    )
}
