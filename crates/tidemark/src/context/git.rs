//! Data of a git repository, read with the command `git`, so that git applies its own configuration. Without git or without a
//! repository there is no data.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tidemark_api::GitHash;

/// A repository and a folder in it.
#[derive(Debug)]
pub(crate) struct Repository {
    folder: PathBuf,
    /// Checked-out branch; `None` if a commit or a tag is checked out.
    pub(crate) branch: Option<String>,
    /// Checked-out commit.
    pub(crate) hash: Option<GitHash>,
}

impl Repository {
    /// Returns the repository that contains a folder.
    pub(crate) fn find(folder: &Path) -> Option<Self> {
        ask(folder, &["rev-parse", "--show-toplevel"])?;
        Some(Self {
            folder: folder.to_owned(),
            branch: ask(folder, &["symbolic-ref", "--quiet", "--short", "HEAD"]),
            hash: ask(folder, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
                .and_then(|hash| hash.parse().ok()),
        })
    }

    /// Returns the URL of the remote `origin`, or of the only remote.
    pub(super) fn remote(&self) -> Option<String> {
        ask(&self.folder, &["remote", "get-url", "origin"]).or_else(|| {
            let names = ask(&self.folder, &["remote"])?;
            if names.lines().count() != 1 {
                return None;
            }
            ask(&self.folder, &["remote", "get-url", &names])
        })
    }

    /// Returns the newest commit that a measured commit and a branch have in common; `None` if the clone does not have it.
    pub(super) fn merge_base(&self, branch: &str, measured: &str) -> Option<GitHash> {
        let head = self.hash.as_ref()?.as_str();
        // Unlike `git log`, the commit object names the parents even if a shallow clone does not have them.
        let object = ask(&self.folder, &["cat-file", "commit", head])?;
        // The first line names the tree.
        let parents: Vec<&str> =
            object.lines().skip(1).map_while(|line| line.strip_prefix("parent ")).collect();
        // CI may check out and measure a merge of the pull request into its base.
        let is_merge = parents.get(1) == Some(&measured);
        let commit = if is_merge { head } else { measured };
        let found = ["refs/remotes/origin", "refs/heads"]
            .iter()
            .find_map(|folder| ask(&self.folder, &["merge-base", &format!("{folder}/{branch}"), commit]));
        let merged_into = parents.first().filter(|_| is_merge).map(|hash| (*hash).to_owned());
        found.or(merged_into)?.parse().ok()
    }

    /// Returns the folder of the repository, the same for all its work trees.
    pub(super) fn root(&self) -> PathBuf {
        match ask(&self.folder, &["rev-parse", "--git-common-dir"]) {
            Some(path) => {
                let path = self.folder.join(path);
                let path = fs::canonicalize(&path).unwrap_or(path);
                match path.parent() {
                    Some(root) if path.ends_with(".git") => root.to_owned(),
                    _ => path,
                }
            }
            None => self.folder.clone(),
        }
    }
}

/// Returns why git does not read the repository of a folder: git is not installed, or the repository belongs to another user.
/// `None` if there is no repository.
pub(super) fn refusal(folder: &Path) -> Option<String> {
    let mut command = Command::new("git");
    command.env("LC_ALL", "C").arg("-C").arg(folder).args(["rev-parse", "--git-dir"]).stdin(Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let reason = text.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ");
            (!text.contains("not a git repository")).then(|| reason.to_owned())
        }
        Err(error) => {
            let folder = fs::canonicalize(folder).ok()?;
            let has_repository = folder.ancestors().any(|folder| folder.join(".git").exists());
            has_repository.then(|| format!("git cannot be started: {error}"))
        }
    }
}

/// Returns the last component of a path or URL, without `.git`.
pub(super) fn last_segment(address: &str) -> Option<&str> {
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
