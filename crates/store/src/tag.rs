//! Tags: names of manifests in a repository.

use tidemark_api::time::Timestamp;

use crate::{ManifestId, RepositoryId, Result, Tx};

/// Upserts a tag that points to a manifest.
pub fn upsert(
    tx: &mut Tx<'_>,
    repository: RepositoryId,
    name: &str,
    manifest: ManifestId,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into tag (repository_id, name, manifest_id, modified) values ($1, $2, $3, $4)
         on conflict (repository_id, name) do update set manifest_id = excluded.manifest_id, modified = excluded.modified",
        &[&repository, &name, &manifest, &now],
    )?;
    Ok(())
}

/// Deletes a tag, but not its manifest.
pub fn delete(tx: &mut Tx<'_>, repository: RepositoryId, name: &str) -> Result<()> {
    tx.execute("delete from tag where repository_id = $1 and name = $2", &[&repository, &name])?;
    Ok(())
}

/// Lists the tags of a repository after `last`, in the order of the specification: case-insensitive, with case as the
/// tie-breaker.
pub fn list(tx: &mut Tx<'_>, repository: RepositoryId, last: &str, limit: u32) -> Result<Vec<String>> {
    tx.fetch_all(
        "select name from tag where repository_id = $1 and (lower(name), name) > ($2, $3)
         order by lower(name), name limit $4",
        &[&repository, &last.to_ascii_lowercase(), &last, &i64::from(limit)],
    )
}
