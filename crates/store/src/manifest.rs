//! Manifests of the registry, stored in the database: they are small, and are inserted and deleted in the same
//! transaction as the rows that refer to them.

use tidemark_api::time::Timestamp;

use crate::{
    BlobId, ManifestId, RepositoryId, Result, Tx,
    columns::{columns, insert_columns},
};

columns! {
    /// A stored manifest.
    #[derive(Clone, Debug)]
    pub struct ManifestRow {
        /// Primary key.
        pub id: ManifestId = "manifest.id",
        /// Digest.
        pub digest: String = "manifest.digest",
        /// Media type.
        pub media_type: String = "manifest.media_type",
        /// Size in bytes.
        pub size: u64 = "manifest.size",
    }
}

/// A manifest to insert.
#[derive(Clone, Debug)]
pub struct NewManifestRow {
    /// Digest.
    pub digest: String,
    /// Media type.
    pub media_type: String,
    /// Artifact type, a filter of the referrers API.
    pub artifact_type: Option<String>,
    /// Digest of the manifest that this manifest refers to.
    pub subject: Option<String>,
    /// Annotations, as a JSON object.
    pub annotations: Option<String>,
    /// Body.
    pub body: Vec<u8>,
}

columns! {
    /// A manifest that refers to another manifest.
    #[derive(Clone, Debug)]
    pub struct Referrer {
        /// Digest.
        pub digest: String = "digest",
        /// Media type.
        pub media_type: String = "media_type",
        /// Artifact type.
        pub artifact_type: Option<String> = "artifact_type",
        /// Annotations, as a JSON object.
        pub annotations: Option<String> = "annotations",
        /// Size in bytes.
        pub size: u64 = "size",
    }
}

insert_columns! {
    struct NewManifestBlob {
        manifest_id: ManifestId,
        blob_id: BlobId,
    }
}

/// Returns the manifest of a repository with this digest.
pub fn by_digest(tx: &mut Tx<'_>, repository: RepositoryId, digest: &str) -> Result<Option<ManifestRow>> {
    tx.fetch_optional(
        "select {columns} from manifest where repository_id = $1 and digest = $2",
        &[&repository, &digest],
    )
}

/// Returns the manifest of a repository that a tag points to.
pub fn by_tag(tx: &mut Tx<'_>, repository: RepositoryId, tag: &str) -> Result<Option<ManifestRow>> {
    tx.fetch_optional(
        "select {columns} from tag join manifest on manifest.id = tag.manifest_id
         where tag.repository_id = $1 and tag.name = $2",
        &[&repository, &tag],
    )
}

/// Returns the body of a manifest.
pub fn body(tx: &mut Tx<'_>, manifest: ManifestId) -> Result<Vec<u8>> {
    tx.fetch_one("manifest", "select body from manifest where id = $1", &[&manifest])
}

/// Marks the blobs of a repository with these digests as needed by a manifest. Returns the primary keys and the digests
/// of the blobs that exist. The caller holds the lock of the repository.
pub fn need_blobs(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    digests: &[&str],
) -> Result<Vec<(BlobId, String)>> {
    // The update also protects the blobs from garbage collection until the transaction ends.
    tx.fetch_all(
        "update repository_blob set idle = null
         where repository_id = $1 and blob_id in (select id from blob where digest in {texts $2})
         returning blob_id, (select digest from blob where blob.id = repository_blob.blob_id)",
        &[&repository, &digests],
    )
}

/// Returns the digests among `digests` that the repository has as a manifest.
pub fn existing_digests(tx: &mut Tx<'_>, repository: RepositoryId, digests: &[&str]) -> Result<Vec<String>> {
    tx.fetch_all(
        "select digest from manifest where repository_id = $1 and digest in {texts $2}",
        &[&repository, &digests],
    )
}

/// Inserts a manifest, unless it exists, with links to the blobs that it needs.
pub fn store(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    new: &NewManifestRow,
    blobs: &[BlobId],
    now: Timestamp,
) -> Result<ManifestId> {
    let size = i64::try_from(new.body.len()).map_err(|error| crate::Error::Engine(error.into()))?;
    let id: ManifestId = tx.fetch_one(
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
    )?;
    let needed: Vec<_> =
        blobs.iter().map(|blob| NewManifestBlob { manifest_id: id, blob_id: *blob }).collect();
    tx.insert_many("manifest_blob", &needed, "on conflict (manifest_id, blob_id) do nothing")?;
    Ok(id)
}

/// Deletes a manifest and the tags that point to it. Blobs that no other manifest needs become idle. The caller holds
/// the lock of the repository.
pub fn delete(tx: &mut Tx<'_>, repository: RepositoryId, manifest: ManifestId, now: Timestamp) -> Result<()> {
    let blobs: Vec<i64> =
        tx.fetch_all("select blob_id from manifest_blob where manifest_id = $1", &[&manifest])?;
    tx.execute("delete from manifest where id = $1", &[&manifest])?;
    tx.execute(
        "update repository_blob set idle = $3 where repository_id = $1 and blob_id in {ints $2}
         and not exists (select 1 from manifest_blob join manifest on manifest.id = manifest_blob.manifest_id
                         where manifest_blob.blob_id = repository_blob.blob_id and manifest.repository_id = $1)",
        &[&repository, &blobs, &now],
    )?;
    Ok(())
}

/// Returns the manifests of a repository that refer to the manifest with this digest, ordered by digest, after the
/// cursor `last`.
pub fn referrers(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    subject: &str,
    artifact_type: Option<&str>,
    last: &str,
    limit: u32,
) -> Result<Vec<Referrer>> {
    tx.fetch_all(
        "select {columns} from manifest
         where repository_id = $1 and subject = $2 and digest > $3
         and (cast($4 as text) is null or artifact_type = $4) order by digest limit $5",
        &[&repository, &subject, &last, &artifact_type, &i64::from(limit)],
    )
}
