//! What git knows of a folder. It is asked by its command, so that it reads its own configuration; where there is no
//! git or no repository, nothing is known.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tidemark_api::GitHash;

/// A repository, seen from a folder in it.
#[derive(Debug)]
pub(crate) struct Repository {
    folder: PathBuf,
    /// The name of the repository where it comes from, or of its folder.
    pub(crate) name: Option<String>,
    /// The branch that is checked out; none if it is a commit or a tag.
    pub(crate) branch: Option<String>,
    /// The commit that is checked out.
    pub(crate) hash: Option<GitHash>,
}

impl Repository {
    /// The repository that a folder is in.
    pub(crate) fn find(folder: &Path) -> Option<Self> {
        let top = ask(folder, &["rev-parse", "--show-toplevel"])?;
        let origin = ask(folder, &["config", "--get", "remote.origin.url"]);
        let name = origin.as_deref().and_then(last_segment).or_else(|| last_segment(&top));
        Some(Self {
            folder: folder.to_owned(),
            name: name.map(str::to_owned),
            branch: ask(folder, &["symbolic-ref", "--quiet", "--short", "HEAD"]),
            hash: ask(folder, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
                .and_then(|hash| hash.parse().ok()),
        })
    }

    /// The first commit, by which a repository is known whatever its name. It takes a walk through the history, and a
    /// shallow copy does not have it.
    pub(crate) fn root(&self) -> Option<GitHash> {
        if ask(&self.folder, &["rev-parse", "--is-shallow-repository"])? != "false" {
            return None;
        }
        // Histories that were merged have several; the oldest comes last.
        ask(&self.folder, &["rev-list", "--max-parents=0", "HEAD"])?.lines().last()?.parse().ok()
    }
}

/// The last part of a path or an address, without `.git`.
fn last_segment(address: &str) -> Option<&str> {
    let segment = address.trim_end_matches('/').rsplit(['/', ':', '\\']).next()?;
    Some(segment.strip_suffix(".git").unwrap_or(segment)).filter(|segment| !segment.is_empty())
}

/// What git answers, if it does and it is not nothing.
fn ask(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !answer.is_empty()).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_after_where_it_comes_from() {
        for (address, name) in [
            ("https://example.org/acme/widget.git", Some("widget")),
            ("git@example.org:widget.git", Some("widget")),
            ("ssh://git@example.org:22/acme/widget/", Some("widget")),
            ("/home/ada/my repo", Some("my repo")),
            ("C:\\code\\widget", Some("widget")),
            ("/", None),
            (".git", None),
        ] {
            assert_eq!(last_segment(address), name, "{address}");
        }
    }
}
