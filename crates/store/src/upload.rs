//! Uploads: blobs on their way into a repository, one object a request until they are finished.

use tidemark_api::time::Timestamp;
use uuid::Uuid;

use crate::{Fresh, RepositoryId, Result, Tx, UploadId};

/// An upload and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The key.
    pub id: UploadId,
    /// How many bytes have come.
    pub size: u64,
    /// How many requests brought them.
    pub parts: u32,
}

/// What one request brought.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of its object.
    pub object: Uuid,
    /// How many bytes it has.
    pub size: u64,
    /// The SHA-256 digest of it alone.
    pub digest: String,
}

/// Begins an upload and answers its name.
pub fn create(tx: &mut Tx<'_>, fresh: &Fresh, repository: RepositoryId) -> Result<Uuid> {
    let uuid = fresh.uuid();
    tx.execute(
        "insert into upload (uuid, repository_id, size, created, touched) values ($1, $2, 0, $3, $3)",
        &[&uuid, &repository, &fresh.now],
    )?;
    Ok(uuid)
}

/// An upload of a repository.
pub fn find(tx: &mut Tx<'_>, repository: RepositoryId, upload: Uuid) -> Result<Option<Found>> {
    tx.optional(
        "select id, size, (select count(*) from upload_part where upload_id = upload.id) from upload
         where uuid = $2 and repository_id = $1",
        &[&repository, &upload],
        |row| Ok(Found { id: row.get(0)?, size: row.get(1)?, parts: row.get(2)? }),
    )
}

/// Notes that somebody is at it.
pub fn touch(tx: &mut Tx<'_>, upload: UploadId, now: Timestamp) -> Result<()> {
    tx.execute("update upload set touched = $2 where id = $1", &[&upload, &now])?;
    Ok(())
}

/// Adds what one request brought, if the upload is still as far as `from`; `false` if it is not.
pub fn append(tx: &mut Tx<'_>, from: &Found, part: &Part, now: Timestamp) -> Result<bool> {
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

/// What has come so far, in order.
pub fn parts(tx: &mut Tx<'_>, upload: UploadId) -> Result<Vec<Part>> {
    tx.all(
        "select object, size, digest from upload_part where upload_id = $1 order by place",
        &[&upload],
        |row| Ok(Part { object: row.get(0)?, size: row.get(1)?, digest: row.get(2)? }),
    )
}

/// Ends an upload that is still as far as `from`; `false` if somebody was faster.
pub fn end(tx: &mut Tx<'_>, from: &Found) -> Result<bool> {
    let size = integer(from.size)?;
    Ok(tx.execute("delete from upload where id = $1 and size = $2", &[&from.id, &size])? == 1)
}

/// Ends a few uploads that nobody has touched since `before`; answers how many, and the names of their objects.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<(usize, Vec<Uuid>)> {
    let uploads: Vec<i64> = tx.all(
        &format!("select id from upload where touched < $1 order by touched limit $2 {}", tx.skip_locked()),
        &[&before, &i64::from(limit)],
        |row| row.get(0),
    )?;
    let objects =
        tx.all("select object from upload_part where upload_id in {ints $1}", &[&uploads], |row| row.get(0))?;
    tx.execute("delete from upload where id in {ints $1}", &[&uploads])?;
    Ok((uploads.len(), objects))
}

fn integer(size: u64) -> Result<i64> {
    i64::try_from(size).map_err(|error| crate::Error::Engine(error.into()))
}
