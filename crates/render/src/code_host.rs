//! What code hosts are asked, and what their answers mean. How a request is sent, and how often, is up to the one who
//! sends it.

use serde_json::{Value, json};

use crate::{
    comment::Comment,
    format,
    metric::{MetricRow, ThresholdStatus},
};
use tidemark_api::job::JobCallbackKind;

/// The most bytes of a comment on GitHub, and of the text of a check: it counts characters, of which there are never
/// more.
pub const GITHUB_TEXT_MAX: usize = 65_535;
/// The most bytes of a note on GitLab.
pub const GITLAB_NOTE_MAX: usize = 1_000_000;
/// The most bytes of the name of a check.
const NAME_MAX: usize = 255;
/// How many comments a page has.
pub const PER_PAGE: usize = 100;
/// Maximum number of pages of comments to read. GitHub allows 2,500 comments on a pull request.
pub const MAX_PAGES: usize = 30;
/// The most characters of a reason that are told.
const REASON_MAX: usize = 200;

/// A code host that takes requests in JSON.
pub trait CodeHost {
    /// Why it did not do what it was asked for.
    type Refusal;

    /// Sends a request and answers the document that comes back.
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Self::Refusal>;
}

/// The headers of every request to a host of this kind.
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

/// Why a host refuses something: what it answers, and what it says about it.
pub fn reason(status: u16, answer: &Value) -> String {
    let said = said(answer);
    if said.is_empty() { format!("it answers {status}") } else { format!("it answers {status}: {said}") }
}

/// Whether a refusal is one of too many requests, which are also called forbidden. `waits` says whether the host asks to
/// wait.
pub fn is_busy(status: u16, answer: &Value, waits: bool) -> bool {
    status == 429 || (status == 403 && (waits || said(answer).contains("rate limit")))
}

fn said(answer: &Value) -> String {
    let said = [answer.get("message"), answer.get("error")].into_iter().flatten().next();
    let said = said.map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned));
    format::plain(said.unwrap_or_default().trim_end_matches('.')).chars().take(REASON_MAX).collect()
}

/// How a check ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// All is well.
    Success,
    /// Something is not.
    Failure,
    /// There was nothing to judge by.
    Neutral,
    /// It was stopped.
    Cancelled,
}

impl Conclusion {
    /// How the check of a report ends, as `--error-on-alert` has it: any alert is a failure. Where no threshold applies, a
    /// regression against earlier runs is, and it is neutral where those cannot say.
    pub fn of(comment: &Comment<'_>) -> Self {
        if comment.report.counts.alerts.total > 0 {
            return Self::Failure;
        }
        if comment.rows.iter().any(|row| row.standing == ThresholdStatus::Within) {
            return Self::Success;
        }
        match comment.verdict.map(|verdict| &verdict.counts) {
            Some(counts) if counts.regressions > 0 => Self::Failure,
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

/// The end of a check on a commit.
#[derive(Clone, Copy, Debug)]
pub struct CheckEnd<'a> {
    /// What the check is known by, if that has changed since it was opened.
    pub id: Option<&'a str>,
    /// How it ends.
    pub conclusion: Conclusion,
    /// That in a few words.
    pub title: &'a str,
    /// That in Markdown.
    pub summary: &'a str,
    /// Where there is more.
    pub link: Option<&'a str>,
}

/// A commit in a repository on GitHub or a host that speaks like it.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// The repository, as OWNER/NAME.
    pub repository: &'a str,
    /// The commit.
    pub hash: &'a str,
}

impl Commit<'_> {
    /// Opens a check, and answers its number.
    pub fn open_check<H: CodeHost>(&self, host: &H, id: Option<&str>) -> Result<Option<u64>, H::Refusal> {
        let body = json!({
            "name": check_name(id),
            "head_sha": self.hash,
            "status": "in_progress",
            "output": { "title": "Running", "summary": "The benchmarks run." },
        });
        let check = host.send("POST", &format!("/repos/{}/check-runs", self.repository), Some(&body))?;
        Ok(check.get("id").and_then(Value::as_u64))
    }

    /// Completes a check, or makes a completed one.
    pub fn end_check<H: CodeHost>(
        &self,
        host: &H,
        check: Option<u64>,
        end: &CheckEnd<'_>,
    ) -> Result<(), H::Refusal> {
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

/// The name of a check, which ends on a whole character.
fn check_name(id: Option<&str>) -> String {
    let Some(id) = id else { return "Tidemark".to_owned() };
    let room = NAME_MAX - "Tidemark ()".len();
    format!("Tidemark ({})", &id[..id.floor_char_boundary(room)])
}

/// How a pull request is spoken about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread<'a> {
    /// A pull request on GitHub, or on Forgejo and Gitea, which are asked the same.
    Pull {
        /// The repository, as OWNER/NAME.
        repository: &'a str,
        /// Its number.
        number: u64,
        /// Whether comments say what their author may do; Forgejo and Gitea do not.
        has_associations: bool,
    },
    /// A merge request on GitLab.
    Merge {
        /// The project, by its number or its path in the form for an address.
        project: &'a str,
        /// Its number.
        number: u64,
    },
}

impl Thread<'_> {
    /// How many bytes a comment has at the most.
    pub fn limit(&self) -> usize {
        match self {
            Self::Pull { .. } => GITHUB_TEXT_MAX,
            Self::Merge { .. } => GITLAB_NOTE_MAX,
        }
    }

    /// Writes the comment with this marker, or writes it anew if it is there. `may_create` says whether a first one is
    /// wanted.
    pub fn write<H: CodeHost>(
        &self,
        host: &H,
        marker: &str,
        text: &str,
        may_create: bool,
    ) -> Result<(), H::Refusal> {
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

    /// The comment that begins with our marker. Anybody can write one that does; it counts only if it is from ourselves
    /// or, where a host says what an author may do, from somebody who may write in the repository, such as Actions.
    fn find<H: CodeHost>(&self, host: &H, list: &str, marker: &str) -> Result<Option<u64>, H::Refusal> {
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

/// Which reports get a comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserve {
    /// Whether there must be a threshold.
    pub only_thresholds: bool,
    /// Whether something must have moved before there is a first comment.
    pub only_on_alert: bool,
}

impl Reserve {
    /// Whether nothing is to be said about a report.
    pub fn is_silent(self, rows: &[MetricRow<'_>]) -> bool {
        self.only_thresholds && rows.iter().all(|row| row.standing == ThresholdStatus::NoThreshold)
    }

    /// Whether a report may get a first comment.
    pub fn may_create(self, rows: &[MetricRow<'_>]) -> bool {
        !self.only_on_alert || rows.iter().any(|row| row.standing.is_outside())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_check_fits() {
        assert_eq!(check_name(None), "Tidemark");
        assert_eq!(check_name(Some("Lab")), "Tidemark (Lab)");
        for letter in ["x", "é", "漢", "🦀"] {
            let name = check_name(Some(&letter.repeat(300)));
            assert!(name.len() <= NAME_MAX && name.len() > NAME_MAX - 4, "{name}");
            assert!(name.ends_with(')'));
        }
    }
}
