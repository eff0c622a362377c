//! What a command needs to know from the code host: the permission of its author, the commits of the pull request, and the
//! `tidemark.toml` of the base branch. Nothing here comes from the event or from the head of the pull request.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use tidemark_api::CodeHostProvider;
use tidemark_render::{
    code_host::{CodeHost as _, Thread},
    comment::encode,
};
use tidemark_store::code_host::{CodeHostRow, CommandRow};

use crate::infra::code_host::{Host, RequestError};

/// Name of the file with the settings of a repository.
pub(super) const FILE: &str = "tidemark.toml";
/// Lowest access level of GitLab that can push: Developer.
const GITLAB_DEVELOPER: i64 = 30;

/// A pull request or merge request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PullRequest {
    /// Newest commit.
    pub(super) head: String,
    /// Source branch.
    pub(super) branch: String,
    /// Target branch.
    pub(super) base: String,
    /// Newest common commit of the source branch and the target branch, if the host knows it.
    pub(super) merge_base: Option<String>,
    /// Whether it is neither merged nor closed.
    pub(super) is_open: bool,
}

impl PullRequest {
    /// Returns the name of the branch in the project. A run starts the branch again from the merge base, which must not replace the
    /// history of the source branch: the source branch may be a branch with runs of its own, for example `develop`, or have the
    /// name of another branch in a fork.
    pub(super) fn branch_name(&self, number: i64) -> String {
        format!("pull/{number}/{}", self.branch)
    }
}

/// The repository of a command at its code host.
pub(super) struct Repository<'a> {
    host: Host,
    code_host: &'a CodeHostRow,
    /// Name of the repository in paths of the API.
    path: String,
}

impl<'a> Repository<'a> {
    pub(super) fn new(code_host: &'a CodeHostRow, allows_private: bool) -> Self {
        let CodeHostRow { provider, url, token, repository, .. } = code_host;
        let host = Host::new(provider.callback_kind(), url.as_str(), token.as_str(), allows_private);
        Self { host, code_host, path: path(*provider, repository.as_str()) }
    }

    fn get(&self, path: &str) -> Result<Value, RequestError> {
        self.host.send("GET", path, None)
    }

    /// Same as `get`; `None` if the host does not have the resource.
    fn find(&self, path: &str) -> Result<Option<Value>, RequestError> {
        match self.get(path) {
            Err(RequestError { status: Some(404), .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Whether the author of a command can write to the repository, as the host says now.
    pub(super) fn may_write(&self, command: &CommandRow) -> Result<bool, RequestError> {
        let repository = &self.path;
        if self.code_host.provider == CodeHostProvider::GitLab {
            let path = format!("/projects/{repository}/members/all/{}", command.author_id);
            let Some(member) = self.find(&path)? else { return Ok(false) };
            let is_active = member["state"].is_null() || member["state"] == "active";
            let level = member["access_level"].as_i64().unwrap_or_default();
            return Ok(is_active && level >= GITLAB_DEVELOPER);
        }
        let author = encode(&command.author).replace('/', "%2F");
        let answer = self.find(&format!("/repos/{repository}/collaborators/{author}/permission"))?;
        let Some(answer) = answer else { return Ok(false) };
        // Another user may have taken the name of the author since the comment.
        let is_author = answer["user"]["id"].as_i64() == Some(command.author_id);
        let permission = answer["permission"].as_str();
        Ok(is_author && matches!(permission, Some("write" | "maintain" | "admin" | "owner")))
    }

    /// Returns the pull request of a command.
    pub(super) fn pull_request(&self, number: i64) -> Result<PullRequest, RequestError> {
        let repository = &self.path;
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let found = match self.code_host.provider {
            CodeHostProvider::GitLab => {
                let found = self.get(&format!("/projects/{repository}/merge_requests/{number}"))?;
                PullRequest {
                    head: text(&found, "/sha"),
                    branch: text(&found, "/source_branch"),
                    base: text(&found, "/target_branch"),
                    merge_base: Some(text(&found, "/diff_refs/base_sha")),
                    is_open: found["state"] == "opened",
                }
            }
            CodeHostProvider::GitHub | CodeHostProvider::Forgejo => {
                let found = self.get(&format!("/repos/{repository}/pulls/{number}"))?;
                let (head, base) = (text(&found, "/head/sha"), text(&found, "/base/ref"));
                let merge_base = match self.code_host.provider {
                    CodeHostProvider::GitHub if is_hash(&head) => {
                        let path =
                            format!("/repos/{repository}/compare/{}...{head}?per_page=1", encode(&base));
                        self.find(&path)?.map(|compared| text(&compared, "/merge_base_commit/sha"))
                    }
                    _ => Some(text(&found, "/merge_base")),
                };
                PullRequest {
                    branch: text(&found, "/head/ref"),
                    is_open: found["state"] == "open",
                    head,
                    base,
                    merge_base,
                }
            }
        };
        if !is_hash(&found.head) || found.base.is_empty() || found.branch.is_empty() {
            return Err(RequestError {
                reason: "it did not name the commit and the branches of the pull request".to_owned(),
                is_temporary: false,
                status: None,
            });
        }
        let merge_base = found.merge_base.filter(|hash| is_hash(hash));
        Ok(PullRequest { merge_base, ..found })
    }

    /// Returns the `tidemark.toml` at the head of the base branch, if it has one.
    pub(super) fn manifest(&self, base: &str) -> Result<Option<String>, RequestError> {
        let (repository, base) = (&self.path, encode(base));
        let path = match self.code_host.provider {
            CodeHostProvider::GitLab => format!("/projects/{repository}/repository/files/{FILE}?ref={base}"),
            CodeHostProvider::GitHub | CodeHostProvider::Forgejo => {
                format!("/repos/{repository}/contents/{FILE}?ref={base}")
            }
        };
        let Some(file) = self.find(&path)? else { return Ok(None) };
        let content: String = file["content"].as_str().unwrap_or_default().split_whitespace().collect();
        let bytes = STANDARD.decode(content).unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Writes the answer to a command: updates the comment with the marker, or creates it.
    pub(super) fn reply(&self, number: i64, marker: &str, text: &str) -> Result<(), RequestError> {
        let number = number.unsigned_abs();
        let thread = match self.code_host.provider {
            CodeHostProvider::GitLab => Thread::Merge { project: &self.path, number },
            provider => Thread::Pull {
                repository: &self.path,
                number,
                has_associations: provider == CodeHostProvider::GitHub,
            },
        };
        thread.write(&self.host, marker, text, true)
    }
}

/// Returns the name of a repository in paths of the API: GitLab requires one encoded segment.
pub(super) fn path(provider: CodeHostProvider, repository: &str) -> String {
    match provider {
        CodeHostProvider::GitLab => repository.replace('/', "%2F"),
        CodeHostProvider::GitHub | CodeHostProvider::Forgejo => repository.to_owned(),
    }
}

/// Whether a text is the full hash of a commit.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
