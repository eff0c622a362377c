//! Requests to code hosts, and the meaning of their responses. The caller sends the requests and decides about retries.

use serde_json::{Value, json};

use crate::{
    comment::Comment,
    format,
    metric::{MetricRow, ThresholdStatus},
    verdict::regressions_without_threshold,
};
use tidemark_api::job::JobCallbackKind;

/// Maximum size of a comment on GitHub and of the text of a check, in bytes. GitHub limits characters, and a text never has more
/// characters than bytes.
pub const GITHUB_TEXT_MAX: usize = 65_535;
/// Maximum size of a note on GitLab, in bytes.
pub const GITLAB_NOTE_MAX: usize = 1_000_000;
/// Maximum size of the name of a check, in bytes.
const NAME_MAX: usize = 255;
/// Comments per page.
pub const PER_PAGE: usize = 100;
/// Maximum number of pages of comments to read. GitHub allows 2,500 comments on a pull request.
pub const MAX_PAGES: usize = 30;
/// Maximum length of a quoted reason, in characters.
const REASON_MAX: usize = 200;

/// A code host with a JSON API.
pub trait CodeHost {
    /// Error of a rejected request.
    type Error;

    /// Sends a request and returns the JSON document of the response.
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Self::Error>;
}

/// Returns the headers of every request to a host of this kind.
pub fn headers(kind: JobCallbackKind, token: &str) -> Vec<(&'static str, String)> {
    let bearer = ("authorization", format!("Bearer {token}"));
    match kind {
        JobCallbackKind::GitHub | JobCallbackKind::Forgejo => vec![
            bearer,
            ("accept", "application/vnd.github+json".to_owned()),
            ("x-github-api-version", "2022-11-28".to_owned()),
        ],
        JobCallbackKind::GitLab => {
            vec![("private-token", token.to_owned()), ("accept", "application/json".to_owned())]
        }
        JobCallbackKind::Webhook => vec![bearer, ("accept", "application/json".to_owned())],
    }
}

/// Returns the reason of a rejected request: the status and the message of the host.
pub fn reason(status: u16, answer: &Value) -> String {
    let message = error_message(answer);
    if message.is_empty() {
        format!("it responded with status {status}")
    } else {
        format!("it responded with status {status}: {message}")
    }
}

/// Whether the host rejected a request because of a rate limit, which hosts also report as 403. `waits` is true if the host requests a
/// delay.
pub fn is_rate_limited(status: u16, answer: &Value, waits: bool) -> bool {
    status == 429 || (status == 403 && (waits || error_message(answer).contains("rate limit")))
}

fn error_message(answer: &Value) -> String {
    let message = [answer.get("message"), answer.get("error")].into_iter().flatten().next();
    let message = message.map(|message| message.as_str().map_or_else(|| message.to_string(), str::to_owned));
    format::plain(message.unwrap_or_default().trim_end_matches('.')).chars().take(REASON_MAX).collect()
}

/// Conclusion of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// No alert and no regression.
    Success,
    /// At least one alert or regression.
    Failure,
    /// No threshold applies, and the baseline is too small.
    Neutral,
    /// The run was canceled.
    Cancelled,
}

impl Conclusion {
    /// Returns the conclusion for a report, as `--error-on-alert` decides: an alert that is not muted is a failure, and so is a
    /// regression of a series without a threshold. The conclusion is neutral if nothing was compared with anything.
    pub fn of(comment: &Comment<'_>) -> Self {
        let worse = comment.verdict.map_or(0, |verdict| regressions_without_threshold(comment.rows, verdict));
        if comment.report.counts.alerts.unmuted() > 0 || worse > 0 {
            return Self::Failure;
        }
        let is_judged = |row: &MetricRow<'_>| row.status.has_limits();
        match comment.verdict.map(|verdict| &verdict.counts) {
            _ if comment.rows.iter().any(is_judged) => Self::Success,
            Some(counts) if counts.improvements + counts.unchanged > 0 => Self::Success,
            _ => Self::Neutral,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Completion of a check on a commit.
#[derive(Clone, Copy, Debug)]
pub struct CompletedCheck<'a> {
    /// ID of the check, if it changed after the check was opened.
    pub id: Option<&'a str>,
    /// Conclusion.
    pub conclusion: Conclusion,
    /// Title.
    pub title: &'a str,
    /// Summary in Markdown.
    pub summary: &'a str,
    /// Link to the details.
    pub link: Option<&'a str>,
}

/// A commit in a repository on GitHub or on a host with the same API.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// Repository, as OWNER/NAME.
    pub repository: &'a str,
    /// Commit hash.
    pub hash: &'a str,
}

impl Commit<'_> {
    /// Opens a check and returns its number.
    pub fn open_check<H: CodeHost>(&self, host: &H, id: Option<&str>) -> Result<Option<u64>, H::Error> {
        let body = json!({
            "name": check_name(id),
            "head_sha": self.hash,
            "status": "in_progress",
            "output": { "title": "Running", "summary": "The benchmarks run." },
        });
        let check = host.send("POST", &format!("/repos/{}/check-runs", self.repository), Some(&body))?;
        Ok(check.get("id").and_then(Value::as_u64))
    }

    /// Completes a check, or creates a completed check.
    pub fn complete_check<H: CodeHost>(
        &self,
        host: &H,
        check: Option<u64>,
        end: &CompletedCheck<'_>,
    ) -> Result<(), H::Error> {
        let mut body = json!({
            "status": "completed",
            "conclusion": end.conclusion.as_str(),
            "output": { "title": end.title, "summary": end.summary },
        });
        if let Some(link) = end.link {
            body["details_url"] = json!(link);
        }
        if end.id.is_some() || check.is_none() {
            body["name"] = json!(check_name(end.id));
        }
        let path = format!("/repos/{}/check-runs", self.repository);
        let sent = match check {
            Some(check) => host.send("PATCH", &format!("{path}/{check}"), Some(&body)),
            None => {
                body["head_sha"] = json!(self.hash);
                host.send("POST", &path, Some(&body))
            }
        };
        sent.map(drop)
    }
}

/// Returns the name of a check, cut at a character boundary.
fn check_name(id: Option<&str>) -> String {
    let Some(id) = id else { return "Tidemark".to_owned() };
    let room = NAME_MAX - "Tidemark ()".len();
    format!("Tidemark ({})", &id[..id.floor_char_boundary(room)])
}

/// Comments of a pull request or merge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread<'a> {
    /// A pull request on GitHub, Forgejo or Gitea, which have the same API.
    Pull {
        /// Repository, as OWNER/NAME.
        repository: &'a str,
        /// Number of the pull request.
        number: u64,
        /// Whether comments have the field `author_association`. Forgejo and Gitea do not have it.
        has_associations: bool,
    },
    /// A merge request on GitLab.
    Merge {
        /// Project, by its number or its URL-encoded path.
        project: &'a str,
        /// Number of the merge request.
        number: u64,
    },
}

impl Thread<'_> {
    /// Returns the maximum size of a comment, in bytes.
    pub fn limit(&self) -> usize {
        match self {
            Self::Pull { .. } => GITHUB_TEXT_MAX,
            Self::Merge { .. } => GITLAB_NOTE_MAX,
        }
    }

    /// Updates the comment with this marker, or creates it if `may_create` is true.
    pub fn write<H: CodeHost>(
        &self,
        host: &H,
        marker: &str,
        text: &str,
        may_create: bool,
    ) -> Result<(), H::Error> {
        let body = json!({ "body": format!("{marker}\n{text}") });
        let list = match self {
            Self::Pull { repository, number, .. } => format!("/repos/{repository}/issues/{number}/comments"),
            Self::Merge { project, number } => format!("/projects/{project}/merge_requests/{number}/notes"),
        };
        match (self.find(host, &list, marker)?, self) {
            (Some(known), Self::Pull { repository, .. }) => {
                host.send("PATCH", &format!("/repos/{repository}/issues/comments/{known}"), Some(&body))?;
            }
            (Some(known), Self::Merge { .. }) => {
                host.send("PUT", &format!("{list}/{known}"), Some(&body))?;
            }
            (None, _) if may_create => {
                host.send("POST", &list, Some(&body))?;
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// Returns the comment that begins with the marker. Any user can write a comment with this marker. Therefore a comment counts
    /// only if the owner of the token wrote it or, where the host reports the role of the author, if the author can write to the
    /// repository, for example Actions.
    fn find<H: CodeHost>(&self, host: &H, list: &str, marker: &str) -> Result<Option<u64>, H::Error> {
        let own = match self {
            Self::Pull { has_associations: true, .. } => Value::Null,
            Self::Pull { .. } | Self::Merge { .. } => host.send("GET", "/user", None)?,
        };
        let author = match self {
            Self::Pull { .. } => "/user/id",
            Self::Merge { .. } => "/author/id",
        };
        for page in 1..=MAX_PAGES {
            let answer = host.send("GET", &format!("{list}?per_page={PER_PAGE}&page={page}"), None)?;
            let comments = answer.as_array().map(Vec::as_slice).unwrap_or_default();
            let ours = comments.iter().find(|comment| {
                let text =
                    |pointer: &str| comment.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let is_trusted = match self {
                    Self::Pull { has_associations: true, .. } => {
                        text("/user/type") == "Bot"
                            || matches!(text("/author_association"), "OWNER" | "MEMBER" | "COLLABORATOR")
                    }
                    Self::Pull { .. } | Self::Merge { .. } => {
                        own.get("id").is_some() && comment.pointer(author) == own.get("id")
                    }
                };
                is_trusted && text("/body").starts_with(marker)
            });
            if let Some(id) = ours.and_then(|comment| comment.get("id")?.as_u64()) {
                return Ok(Some(id));
            }
            if comments.len() < PER_PAGE {
                break;
            }
        }
        Ok(None)
    }
}

/// Conditions for a comment on a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommentConditions {
    /// Comment only if there is a threshold.
    pub only_thresholds: bool,
    /// Create a first comment only if there is a change or a value outside a threshold.
    pub only_on_alert: bool,
}

impl CommentConditions {
    /// Whether the report gets no comment.
    pub fn skips_comment(self, rows: &[MetricRow<'_>]) -> bool {
        self.only_thresholds && rows.iter().all(|row| row.status == ThresholdStatus::NoThreshold)
    }

    /// Whether to create a first comment on the report.
    pub fn may_create(self, rows: &[MetricRow<'_>]) -> bool {
        !self.only_on_alert || rows.iter().any(|row| row.status.is_outside())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_check_is_truncated() {
        assert_eq!(check_name(None), "Tidemark");
        assert_eq!(check_name(Some("Lab")), "Tidemark (Lab)");
        for letter in ["x", "é", "漢", "🦀"] {
            let name = check_name(Some(&letter.repeat(300)));
            assert!(name.len() <= NAME_MAX && name.len() > NAME_MAX - 4, "{name}");
            assert!(name.ends_with(')'));
        }
    }
}
