//! Commits of a search: the good one, and the commits after it up to the bad one, by first parents.

use std::path::Path;

use tidemark_api::GitHash;

use crate::{
    checkout::{commit, git},
    failure::{Failure, Result},
};

/// Separator of fields in the output of git.
const SEPARATOR: char = '\u{1f}';
/// Length of a short hash.
const SHORT: usize = 10;

/// Commits in the order of the history.
pub(super) struct CommitRange {
    /// The good commit is the first, the bad one the last.
    pub(super) commits: Vec<Commit>,
}

/// A commit.
pub(super) struct Commit {
    pub(super) hash: GitHash,
    pub(super) author: String,
    pub(super) date: String,
    pub(super) subject: String,
    /// Whether the commit is a merge.
    pub(super) is_merge: bool,
}

impl Commit {
    pub(super) fn short(&self) -> &str {
        let hash = self.hash.as_str();
        &hash[..hash.len().min(SHORT)]
    }
}

impl CommitRange {
    /// Reads the commits between two revisions.
    pub(super) fn read(folder: &Path, good: &str, bad: &str) -> Result<Self> {
        git(folder, &["--version"])?;
        git(folder, &["rev-parse", "--show-toplevel"]).map_err(|_| {
            Failure::usage("This is not a git repository; run the command in a git repository.")
        })?;
        let (first, last) = (commit(folder, good)?, commit(folder, bad)?);
        if git(folder, &["merge-base", "--is-ancestor", &first, &last]).is_err() {
            return Err(Failure::usage(format!(
                "{good} is not an ancestor of {bad}; give an ancestor, for example `git merge-base {good} {bad}`."
            )));
        }
        let format = format!("--format=%H{SEPARATOR}%an{SEPARATOR}%cs{SEPARATOR}%P{SEPARATOR}%s");
        let mut lines = git(folder, &["log", "--no-walk", &format, &first, "--"])?;
        lines.push('\n');
        let range = format!("{first}..{last}");
        lines.push_str(&git(folder, &["log", "--first-parent", "--reverse", &format, &range, "--"])?);
        let commits: Option<Vec<Commit>> = lines.lines().map(parse).collect();
        let commits = commits.ok_or_else(|| Failure::new("The output of git log cannot be parsed."))?;
        if commits.len() < 2 {
            return Err(Failure::usage(format!("{good} and {bad} are the same commit; give two commits.")));
        }
        Ok(Self { commits })
    }

    /// Returns the number of commits after the good one.
    pub(super) fn count(&self) -> usize {
        self.commits.len() - 1
    }
}

fn parse(line: &str) -> Option<Commit> {
    let mut fields = line.splitn(5, SEPARATOR);
    let hash = fields.next()?.parse().ok()?;
    let (author, date) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let is_merge = fields.next()?.contains(' ');
    Some(Commit { hash, author, date, subject: fields.next()?.to_owned(), is_merge })
}
