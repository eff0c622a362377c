//! Manifests of the registry, kept whole: they are small, and come and go with the rows that speak of them.

use tidemark_api::time::Timestamp;

use crate::{BlobId, ManifestId, RepositoryId, Result, Row, Tx, Value, value::Kind};

/// A stored manifest.
#[derive(Clone, Debug)]
pub struct Found {
    /// The key.
    pub id: ManifestId,
    /// Its digest.
    pub digest: String,
    /// What it is.
    pub media_type: String,
    /// How many bytes it has.
    pub size: u64,
}

/// A manifest to store.
#[derive(Clone, Debug)]
pub struct New {
    /// Its digest.
    pub digest: String,
    /// What it is.
    pub media_type: String,
    /// What it is about, for those that look for it by that.
    pub artifact_type: Option<String>,
    /// The digest of the manifest that it says something about.
    pub subject: Option<String>,
    /// Its annotations, as a JSON object.
    pub annotations: Option<String>,
    /// The manifest itself.
    pub body: Vec<u8>,
}

/// A manifest that says something about another.
#[derive(Clone, Debug)]
pub struct Referrer {
    /// Its digest.
    pub digest: String,
    /// What it is.
    pub media_type: String,
    /// What it is about.
    pub artifact_type: Option<String>,
    /// Its annotations, as a JSON object.
    pub annotations: Option<String>,
    /// How many bytes it has.
    pub size: u64,
}

fn read(row: &Row<'_>) -> Result<Found> {
    Ok(Found { id: row.get(0)?, digest: row.get(1)?, media_type: row.get(2)?, size: row.get(3)? })
}

/// The manifest of a repository with this digest.
pub fn by_digest(tx: &mut Tx<'_>, repository: RepositoryId, digest: &str) -> Result<Option<Found>> {
    tx.optional(
        "select id, digest, media_type, size from manifest where repository_id = $1 and digest = $2",
        &[&repository, &digest],
        read,
    )
}

/// The manifest of a repository that a tag points to.
pub fn by_tag(tx: &mut Tx<'_>, repository: RepositoryId, tag: &str) -> Result<Option<Found>> {
    tx.optional(
        "select manifest.id, manifest.digest, manifest.media_type, manifest.size
         from tag join manifest on manifest.id = tag.manifest_id where tag.repository_id = $1 and tag.name = $2",
        &[&repository, &tag],
        read,
    )
}

/// The bytes of a manifest.
pub fn body(tx: &mut Tx<'_>, manifest: ManifestId) -> Result<Vec<u8>> {
    tx.one("manifest", "select body from manifest where id = $1", &[&manifest], |row| row.get(0))
}

/// Which of these digests a repository has as a blob, with their keys: a manifest needs them from now on. The caller
/// holds the lock of the repository.
pub fn need_blobs(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    digests: &[&str],
) -> Result<Vec<(BlobId, String)>> {
    // As an update it also keeps them from being collected until the transaction ends.
    tx.all(
        "update repository_blob set idle = null
         where repository_id = $1 and blob_id in (select id from blob where digest in {texts $2})
         returning blob_id, (select digest from blob where blob.id = repository_blob.blob_id)",
        &[&repository, &digests],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Which of these digests a repository has as a manifest.
pub fn known(tx: &mut Tx<'_>, repository: RepositoryId, digests: &[&str]) -> Result<Vec<String>> {
    tx.all(
        "select digest from manifest where repository_id = $1 and digest in {texts $2}",
        &[&repository, &digests],
        |row| row.get(0),
    )
}

/// Stores a manifest, unless it is there, with the blobs that it needs.
pub fn store(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    new: &New,
    blobs: &[BlobId],
    now: Timestamp,
) -> Result<ManifestId> {
    let size = i64::try_from(new.body.len()).map_err(|error| crate::Error::Engine(error.into()))?;
    let id: ManifestId = tx.one(
        "manifest",
        "insert into manifest (repository_id, digest, media_type, artifact_type, subject, annotations, body, size, created)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (repository_id, digest) do update set media_type = excluded.media_type returning id",
        &[
            &repository,
            &new.digest,
            &new.media_type,
            &new.artifact_type,
            &new.subject,
            &new.annotations,
            &new.body,
            &size,
            &now,
        ],
        |row| row.get(0),
    )?;
    let rows: Vec<Vec<Value<'_>>> =
        blobs.iter().map(|blob| vec![Value::Int(id.get()), Value::Int(blob.get())]).collect();
    tx.insert_many(
        "manifest_blob",
        &[("manifest_id", Kind::Int), ("blob_id", Kind::Int)],
        &rows,
        "on conflict (manifest_id, blob_id) do nothing",
    )?;
    Ok(id)
}

/// Removes a manifest and the tags that point to it. Blobs that only it needed become idle. The caller holds the lock
/// of the repository.
pub fn delete(tx: &mut Tx<'_>, repository: RepositoryId, manifest: ManifestId, now: Timestamp) -> Result<()> {
    let blobs: Vec<i64> =
        tx.all("select blob_id from manifest_blob where manifest_id = $1", &[&manifest], |row| row.get(0))?;
    tx.execute("delete from manifest where id = $1", &[&manifest])?;
    tx.execute(
        "update repository_blob set idle = $3 where repository_id = $1 and blob_id in {ints $2}
         and not exists (select 1 from manifest_blob join manifest on manifest.id = manifest_blob.manifest_id
                         where manifest_blob.blob_id = repository_blob.blob_id and manifest.repository_id = $1)",
        &[&repository, &blobs, &now],
    )?;
    Ok(())
}

/// The manifests of a repository that say something about the one with this digest, by their digests, which come after
/// `last`.
pub fn referrers(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    subject: &str,
    artifact_type: Option<&str>,
    last: &str,
    limit: u32,
) -> Result<Vec<Referrer>> {
    tx.all(
        "select digest, media_type, artifact_type, annotations, size from manifest
         where repository_id = $1 and subject = $2 and digest > $3
         and (cast($4 as text) is null or artifact_type = $4) order by digest limit $5",
        &[&repository, &subject, &last, &artifact_type, &i64::from(limit)],
        |row| {
            Ok(Referrer {
                digest: row.get(0)?,
                media_type: row.get(1)?,
                artifact_type: row.get(2)?,
                annotations: row.get(3)?,
                size: row.get(4)?,
            })
        },
    )
}
