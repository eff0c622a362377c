//! Data of a git repository, read with the command `git`, so that git applies its own configuration. Without git or without a
//! repository there is no data.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tidemark_api::GitHash;

/// A repository and a folder in it.
#[derive(Debug)]
pub(crate) struct Repository {
    folder: PathBuf,
    /// Name of the remote `origin`, or of the folder of the repository.
    pub(crate) name: Option<String>,
    /// Checked-out branch; `None` if a commit or a tag is checked out.
    pub(crate) branch: Option<String>,
    /// Checked-out commit.
    pub(crate) hash: Option<GitHash>,
}

impl Repository {
    /// Returns the repository that contains a folder.
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

    /// Returns the root commit, which identifies a repository regardless of its name. This reads the whole history; a shallow
    /// clone has no root commit.
    pub(crate) fn root(&self) -> Option<GitHash> {
        if ask(&self.folder, &["rev-parse", "--is-shallow-repository"])? != "false" {
            return None;
        }
        // Merged histories have several root commits; the oldest is the last.
        ask(&self.folder, &["rev-list", "--max-parents=0", "HEAD"])?.lines().last()?.parse().ok()
    }
}

/// Returns the last component of a path or URL, without `.git`.
fn last_segment(address: &str) -> Option<&str> {
    let segment = address.trim_end_matches('/').rsplit(['/', ':', '\\']).next()?;
    Some(segment.strip_suffix(".git").unwrap_or(segment)).filter(|segment| !segment.is_empty())
}

/// Runs git and returns its output; `None` if git fails or prints nothing.
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
    fn a_repository_is_named_after_its_origin() {
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
