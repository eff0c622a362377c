//! Commits to measure again: the versions of a head that have a hash, and their images in the registry.

use tidemark_api::{GitHash, JobConfig};

use crate::{
    Error, HeadId, ProjectId, ReportId, Result, SpecId, TestbedId, Tx, VersionId, columns::columns,
    value::distinct, version,
};

columns! {
    /// A version of a commit.
    #[derive(Clone, Debug)]
    pub struct Commit {
        /// Version.
        pub version: VersionId = "id",
        /// Hash of the commit.
        pub hash: GitHash = "hash",
    }
}

/// Returns the commit of a version, if it has a hash.
pub fn find(tx: &mut Tx<'_>, version: VersionId) -> Result<Option<Commit>> {
    newest(tx, &[version])
}

/// Returns the newest commit of versions of a head.
pub fn newest(tx: &mut Tx<'_>, versions: &[VersionId]) -> Result<Option<Commit>> {
    let versions = distinct(versions.iter().map(|version| version.get()));
    let sql =
        "select {columns} from version where id in {ints $1} and hash is not null order by id desc limit 1";
    tx.fetch_optional(sql, &[&versions])
}

/// Returns the newest commit before a version of a head.
pub fn before(tx: &mut Tx<'_>, head: HeadId, version: VersionId) -> Result<Option<Commit>> {
    let sql = "select {columns} from version where head_id = $1 and id < $2 and hash is not null
         order by id desc limit 1";
    let own = tx.fetch_optional(sql, &[&head, &version])?;
    if own.is_some() {
        return Ok(own);
    }
    // The head has no earlier version: the newest inherited one.
    let inherited = version::history(tx, head)?.into_iter().nth(1);
    let Some(range) = inherited else { return Ok(None) };
    let after = VersionId::from(range.last.get().saturating_add(1));
    tx.fetch_optional(sql, &[&range.head, &after])
}

/// Returns the commits of a head after one version and up to another, oldest first, at most `limit`. If the head inherits the first
/// version, its commits begin with its own first version.
pub fn between(
    tx: &mut Tx<'_>,
    head: HeadId,
    (after, last): (VersionId, VersionId),
    limit: i64,
) -> Result<Vec<Commit>> {
    tx.fetch_all(
        "select {columns} from version where head_id = $1 and id <= $3 and hash is not null
           and id > coalesce((select id from version where id = $2 and head_id = $1), 0)
         order by id limit $4",
        &[&head, &after, &last, &limit],
    )
}

columns! {
    /// An image of a commit in the registry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CommitImage {
        /// Version of the commit.
        pub version: VersionId = "version.id",
        /// Path of the repository below the project.
        pub path: String = "repository.path",
        /// Digest.
        pub digest: String = "manifest.digest",
    }
}

/// Returns the images of versions: the images with the hashes of the commits as their tags, then the images that jobs measured
/// for the versions. Images of one kind are in the order of their repositories.
pub fn images(tx: &mut Tx<'_>, project: ProjectId, versions: &[VersionId]) -> Result<Vec<CommitImage>> {
    let versions = distinct(versions.iter().map(|version| version.get()));
    let mut images: Vec<CommitImage> = tx.fetch_all(
        "select {columns} from version join tag on tag.name = version.hash
         join manifest on manifest.id = tag.manifest_id join repository on repository.id = tag.repository_id
         where version.id in {ints $2} and repository.project_id = $1 order by repository.path, version.id",
        &[&project, &versions],
    )?;
    let configs: Vec<(VersionId, String)> = tx.fetch_all(
        "select report.version_id, job.config from report join job on job.report_id = report.id
         where report.project_id = $1 and report.version_id in {ints $2} and report.metrics > 0
         order by job.id desc limit 256",
        &[&project, &versions],
    )?;
    let mut measured = Vec::with_capacity(configs.len());
    for (version, config) in configs {
        let config = parse(&config)?;
        measured.push(CommitImage { version, path: path(&config).to_owned(), digest: config.digest });
    }
    if measured.is_empty() {
        return Ok(images);
    }
    // An image that was deleted since then cannot be measured again.
    let stored: Vec<(String, String)> = tx.fetch_all(
        "select repository.path, manifest.digest from report join job on job.report_id = report.id
         join repository on repository.project_id = report.project_id
         join manifest on manifest.repository_id = repository.id
           and job.config like '%' || manifest.digest || '%'
         where report.project_id = $1 and report.version_id in {ints $2} and report.metrics > 0",
        &[&project, &versions],
    )?;
    measured
        .retain(|image| stored.iter().any(|(path, digest)| *path == image.path && *digest == image.digest));
    images.extend(measured);
    Ok(images)
}

/// Returns the newest report with results of a version on a testbed.
pub fn report(tx: &mut Tx<'_>, version: VersionId, testbed: TestbedId) -> Result<Option<ReportId>> {
    tx.fetch_optional(
        "select id from report where version_id = $1 and testbed_id = $2 and metrics > 0 order by id desc limit 1",
        &[&version, &testbed],
    )
}

/// Whether reports of two versions on a testbed measured the same binary.
pub fn is_same_binary(tx: &mut Tx<'_>, testbed: TestbedId, [base, head]: [VersionId; 2]) -> Result<bool> {
    tx.value(
        "select exists (select 1 from report as base join report as other on other.binary_hash = base.binary_hash
             where base.version_id = $2 and base.testbed_id = $1 and other.version_id = $3 and other.testbed_id = $1)",
        &[&testbed, &base, &head],
    )
}

/// Returns the configuration of the job that shows how to measure a testbed, without its environment: the job of the report,
/// otherwise the newest job of its head or of the heads before it. A job for the benchmarks of a comment does not count.
pub fn model_config(
    tx: &mut Tx<'_>,
    project: ProjectId,
    head: HeadId,
    testbed: TestbedId,
    report: ReportId,
) -> Result<Option<JobConfig>> {
    let heads = distinct(version::history(tx, head)?.into_iter().map(|range| range.head.get()));
    let config: Option<String> = tx.fetch_optional(
        "select job.config from report join job on job.report_id = report.id
         where report.project_id = $1 and report.testbed_id = $2 and report.head_id in {ints $3} and report.metrics > 0
           and not exists (select 1 from code_host_command as command
                           where command.uuid = report.idempotency_key and command.benchmark is not null)
         order by case when report.id = $4 then 0 when report.head_id = $5 then 1 else 2 end,
             report.start_time desc, report.id desc limit 1",
        &[&project, &testbed, &heads, &report, &head],
    )?;
    config.map(|config| parse(&config)).transpose()
}

/// Returns the path of the repository of a job below its project.
pub fn path(config: &JobConfig) -> &str {
    config.repository.as_deref().and_then(|name| name.split_once('/')).map_or("", |(_, path)| path)
}

fn parse(config: &str) -> Result<JobConfig> {
    serde_json::from_str(config).map_err(|error| Error::Engine(error.into()))
}

/// Returns the spec of a testbed, and whether a runner serves it. A testbed without a spec has the only spec that runners serve.
pub fn spec(tx: &mut Tx<'_>, testbed: TestbedId) -> Result<Option<(SpecId, bool)>> {
    let own = tx.fetch_optional(
        "select spec.id, exists (select 1 from runner_spec join runner on runner.id = runner_spec.runner_id
                                 where runner_spec.spec_id = spec.id and runner.archived is null)
         from testbed join spec on spec.id = testbed.spec_id where testbed.id = $1",
        &[&testbed],
    )?;
    if own.is_some() {
        return Ok(own);
    }
    let served: Vec<SpecId> = tx.fetch_all(
        "select id from spec where archived is null
           and exists (select 1 from runner_spec join runner on runner.id = runner_spec.runner_id
                       where runner_spec.spec_id = spec.id and runner.archived is null)
         order by id limit 2",
        &[],
    )?;
    Ok(match served[..] {
        [only] => Some((only, true)),
        _ => None,
    })
}
