//! Uploads of blobs to a repository that are in progress; each request stores one object.

use tidemark_api::time::Timestamp;
use uuid::Uuid;

use crate::{RepositoryId, Result, Tx, UploadId, WriteContext, columns::columns};

columns! {
    /// An upload and its progress.
    #[derive(Clone, Copy, Debug)]
    pub struct UploadRow {
        /// Primary key.
        pub id: UploadId = "id",
        /// Received bytes.
        pub size: u64 = "size",
        /// Number of received parts.
        pub parts: u32 = "(select count(*) from upload_part where upload_id = upload.id)",
    }
}

columns! {
    /// The part of one request.
    #[derive(Clone, Debug)]
    pub struct UploadPart {
        /// Name of the object.
        pub object: Uuid = "object",
        /// Size in bytes.
        pub size: u64 = "size",
        /// SHA-256 digest of the part.
        pub digest: String = "digest",
    }
}

/// Starts an upload and returns its UUID.
pub fn create(tx: &mut Tx<'_>, context: &WriteContext, repository: RepositoryId) -> Result<Uuid> {
    let uuid = context.uuid();
    tx.execute(
        "insert into upload (uuid, repository_id, size, created, touched) values ($1, $2, 0, $3, $3)",
        &[&uuid, &repository, &context.now],
    )?;
    Ok(uuid)
}

/// Returns an upload of a repository.
pub fn find(tx: &mut Tx<'_>, repository: RepositoryId, upload: Uuid) -> Result<Option<UploadRow>> {
    tx.fetch_optional(
        "select {columns} from upload where uuid = $2 and repository_id = $1",
        &[&repository, &upload],
    )
}

/// Updates the time of the last activity of an upload.
pub fn touch(tx: &mut Tx<'_>, upload: UploadId, now: Timestamp) -> Result<()> {
    tx.execute("update upload set touched = $2 where id = $1", &[&upload, &now])?;
    Ok(())
}

/// Appends a part, if the upload has not progressed since `from`; otherwise returns `false`.
pub fn append(tx: &mut Tx<'_>, from: &UploadRow, part: &UploadPart, now: Timestamp) -> Result<bool> {
    let (before, size) = (integer(from.size)?, integer(part.size)?);
    let moved = tx.execute(
        "update upload set size = size + $3, touched = $4 where id = $1 and size = $2",
        &[&from.id, &before, &size, &now],
    )?;
    if moved == 0 {
        return Ok(false);
    }
    tx.execute(
        "insert into upload_part (upload_id, place, object, size, digest) values ($1, $2, $3, $4, $5)",
        &[&from.id, &from.parts, &part.object, &size, &part.digest],
    )?;
    Ok(true)
}

/// Returns the parts received so far, in order.
pub fn parts(tx: &mut Tx<'_>, upload: UploadId) -> Result<Vec<UploadPart>> {
    tx.fetch_all("select {columns} from upload_part where upload_id = $1 order by place", &[&upload])
}

/// Ends an upload that has not progressed since `from`; `false` if another request was faster.
pub fn end(tx: &mut Tx<'_>, from: &UploadRow) -> Result<bool> {
    let size = integer(from.size)?;
    Ok(tx.execute("delete from upload where id = $1 and size = $2", &[&from.id, &size])? == 1)
}

/// Deletes at most `limit` uploads without activity since `before`. Returns their number and the names of their
/// objects.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<(usize, Vec<Uuid>)> {
    let uploads: Vec<i64> = tx.fetch_all(
        &format!("select id from upload where touched < $1 order by touched limit $2 {}", tx.skip_locked()),
        &[&before, &i64::from(limit)],
    )?;
    let objects = tx.fetch_all("select object from upload_part where upload_id in {ints $1}", &[&uploads])?;
    tx.execute("delete from upload where id in {ints $1}", &[&uploads])?;
    Ok((uploads.len(), objects))
}

fn integer(size: u64) -> Result<i64> {
    i64::try_from(size).map_err(|error| crate::Error::Engine(error.into()))
}
