//! `cargo xtask release`: checks that the repository is ready for a release, then pushes the tag that starts the workflow
//! `release.yml`.

use std::{env, fs, path::Path};

use crate::{
    Result, changelog, dist,
    tools::{self, say},
};

/// A check of a release; returns what it found.
type Check = fn(&Release<'_>) -> Result<String>;

/// Checks of a release, in this order.
const CHECKS: [(&str, Check); 4] =
    [("version", version), ("changelog", released), ("tag", tag), ("artifacts", artifacts)];

struct Release<'a> {
    version: String,
    artifacts: &'a Path,
    /// Whether the artifacts must have all platforms: the release combines the artifacts of several machines.
    is_complete: bool,
    /// The tag that started the workflow, if any.
    pushed_tag: Option<String>,
}

/// Runs all checks and prints their results. If they pass, creates and pushes the tag, unless this is a dry run.
pub(crate) fn run(dry_run: bool, folder: Option<&Path>) -> Result {
    let built = tools::target()?.join("artifacts");
    let is_tag = env::var("GITHUB_REF_TYPE").is_ok_and(|kind| kind == "tag");
    let release = Release {
        version: dist::version()?,
        artifacts: folder.unwrap_or(&built),
        is_complete: folder.is_some(),
        pushed_tag: env::var("GITHUB_REF_NAME").ok().filter(|_| is_tag),
    };
    let mut failed = 0;
    for (name, check) in CHECKS {
        match check(&release) {
            Ok(found) => eprintln!("ok      {name}: {found}"),
            Err(reason) => {
                failed += 1;
                eprintln!("failed  {name}: {reason}");
            }
        }
    }
    if failed > 0 {
        return Err(format!("{failed} of {} checks failed; there is nothing to release", CHECKS.len()));
    }
    let tag = format!("v{}", release.version);
    if dry_run {
        say(&format!("Ready to release {tag}. Run `cargo xtask release` to create and push the tag."));
        return Ok(());
    }
    tools::run(&mut tools::git(&["tag", "--annotate", &tag, "--message", &format!("Tidemark {tag}")])?)?;
    tools::run(&mut tools::git(&["push", "origin", &tag])?)
}

/// Every crate and the lock file have the version of the workspace.
fn version(release: &Release<'_>) -> Result<String> {
    let root = tools::root()?;
    let manifest = read(&root.join("Cargo.toml"))?;
    let dependencies =
        manifest.lines().filter(|line| line.starts_with("tidemark-") && line.contains("version = "));
    for line in dependencies {
        if !line.contains(&format!("version = \"{}\"", release.version)) {
            return Err(format!("Cargo.toml: `{line}` does not have the version {}", release.version));
        }
    }
    let lock = read(&root.join("Cargo.lock"))?;
    if !lock.contains(&format!("name = \"tidemark\"\nversion = \"{}\"", release.version)) {
        return Err(format!("Cargo.lock does not have tidemark {}; run `cargo check`", release.version));
    }
    Ok(release.version.clone())
}

/// The changelog has a section for the version, and no other changes.
fn released(release: &Release<'_>) -> Result<String> {
    check_changelog(&changelog::read()?, &release.version)
}

fn check_changelog(text: &str, version: &str) -> Result<String> {
    let unreleased = changelog::section(text, changelog::UNRELEASED).unwrap_or_default();
    if !unreleased.trim().is_empty() {
        return Err(format!(
            "CHANGELOG.md has unreleased changes; move them to a section `## {version} (DATE)`"
        ));
    }
    match changelog::section(text, version) {
        Some(section) if !section.trim().is_empty() => Ok(format!("{} lines", section.lines().count())),
        _ => Err(format!("CHANGELOG.md has no section `## {version}`")),
    }
}

/// The tag that started the workflow has the version.
fn check_pushed_tag(pushed: Option<&str>, version: &str) -> Result {
    match pushed {
        Some(pushed) if pushed != format!("v{version}") => Err(format!(
            "the workflow was started by the tag {pushed}, but the version in Cargo.toml is {version}; delete the tag and push v{version}"
        )),
        _ => Ok(()),
    }
}

/// The tag does not exist, or is the current commit; nothing is uncommitted.
fn tag(release: &Release<'_>) -> Result<String> {
    check_pushed_tag(release.pushed_tag.as_deref(), &release.version)?;
    let tag = format!("v{}", release.version);
    let changes = tools::read(&mut tools::git(&["status", "--porcelain"])?)?;
    if !changes.is_empty() {
        return Err(format!("{} files are not committed", changes.lines().count()));
    }
    let head = tools::read(&mut tools::git(&["rev-parse", "HEAD"])?)?;
    let reference = format!("refs/tags/{tag}^{{commit}}");
    match tools::read_quietly(&mut tools::git(&["rev-parse", "--verify", "--quiet", &reference])?) {
        Ok(commit) if commit != head => {
            Err(format!("{tag} exists already, for the commit {}", commit.trim()))
        }
        Ok(_) => Ok(format!("{tag} is this commit")),
        Err(_) => Ok(format!("{tag} is free")),
    }
}

/// The artifacts have this version, and their checksums match.
fn artifacts(release: &Release<'_>) -> Result<String> {
    let folder = release.artifacts;
    dist::verify_checksums(folder).map_err(|reason| format!("{reason}; run `cargo xtask dist`"))?;
    let names: Vec<String> = dist::artifacts(folder)?.into_iter().map(|(name, _)| name).collect();
    check_artifacts(&names, &release.version, release.is_complete)?;
    Ok(format!("{} files", names.len()))
}

/// Every platform has all of its artifacts: all platforms of a complete release, or else the platforms that have an archive.
fn check_artifacts(names: &[String], version: &str, is_complete: bool) -> Result {
    let archive = |platform: &dist::Platform| format!("{}.tar.gz", platform.archive());
    let platforms: Vec<_> =
        dist::PLATFORMS.iter().filter(|platform| is_complete || names.contains(&archive(platform))).collect();
    if platforms.is_empty() {
        return Err("there is no archive; run `cargo xtask dist`".to_owned());
    }
    let mut expected: Vec<String> =
        ["install.sh", "compose.yaml", "gitlab.yml", dist::NOTES, dist::SBOM, dist::SUMS]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("tidemark-{version}.tgz")])
            .collect();
    for platform in &platforms {
        let (system, processor) = platform.npm;
        expected.push(archive(platform));
        expected.push(format!("tidemark-dev-{system}-{processor}-{version}.tgz"));
        if let Some(architecture) = platform.debian {
            expected.push(format!("tidemark_{version}-1_{architecture}.deb"));
            expected.push(format!("tidemark-image-{architecture}.tar"));
        }
    }
    let missing: Vec<String> = expected.into_iter().filter(|name| !names.contains(name)).collect();
    if !missing.is_empty() {
        return Err(format!("missing: {}; run `cargo xtask dist`", missing.join(", ")));
    }
    let wheels = names.iter().filter(|name| name.starts_with(&format!("tidemark-{version}-py3-"))).count();
    if wheels == platforms.len() {
        return Ok(());
    }
    Err(format!(
        "there are {wheels} wheels of version {version} for {} platforms; run `cargo xtask dist`",
        platforms.len()
    ))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| dist::failed("read", file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_its_own_section_and_no_unreleased_changes() {
        let error = |text| check_changelog(text, "1.2.3").unwrap_err();
        assert!(error("## Unreleased\n\n- x\n\n## 1.2.3\n\n- y\n").contains("unreleased changes"));
        assert!(error("## Unreleased\n\n## 1.2.2\n\n- y\n").contains("no section `## 1.2.3`"));
        assert_eq!(
            check_changelog("## Unreleased\n\n## 1.2.3 (2026-01-31)\n\n- y\n", "1.2.3").unwrap(),
            "1 lines"
        );
    }

    #[test]
    fn every_artifact_of_a_platform_is_required() {
        let mut names = [
            "RELEASE_NOTES.md",
            "SHA256SUMS",
            "compose.yaml",
            "gitlab.yml",
            "install.sh",
            "tidemark-1.2.3-py3-none-manylinux_2_35_x86_64.whl",
            "tidemark-1.2.3.tgz",
            "tidemark-dev-linux-x64-1.2.3.tgz",
            "tidemark-image-amd64.tar",
            "tidemark.cdx.json",
            "tidemark-x86_64-unknown-linux-gnu.tar.gz",
            "tidemark_1.2.3-1_amd64.deb",
        ]
        .map(str::to_owned)
        .to_vec();
        let error = |names: &[String], version, is_complete| {
            check_artifacts(names, version, is_complete).unwrap_err()
        };
        assert_eq!(check_artifacts(&names, "1.2.3", false), Ok(()));
        assert!(error(&names, "1.2.4", false).contains("missing: tidemark-1.2.4.tgz"));
        assert!(error(&names[..5], "1.2.3", false).contains("there is no archive"));
        // The release itself has all platforms.
        assert!(error(&names, "1.2.3", true).contains("tidemark-aarch64-apple-darwin.tar.gz"));
        let wheel = names.remove(5);
        assert!(error(&names, "1.2.3", false).contains("there are 0 wheels"));
        names.insert(5, wheel);
        names.pop();
        assert!(error(&names, "1.2.3", false).contains("missing: tidemark_1.2.3-1_amd64.deb"));
    }

    #[test]
    fn a_pushed_tag_has_the_version() {
        assert_eq!(check_pushed_tag(None, "1.2.3"), Ok(()));
        assert_eq!(check_pushed_tag(Some("v1.2.3"), "1.2.3"), Ok(()));
        for other in ["v1.2.4", "1.2.3", "v1.2.3-rc.1"] {
            assert!(check_pushed_tag(Some(other), "1.2.3").unwrap_err().contains(other), "{other}");
        }
    }
}
