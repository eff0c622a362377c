//! GitHub: a check on the commit, a comment on the pull request, a summary of the job and annotations. Its Actions say
//! by variables and by a document in a file what they run for.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use tidemark_api::JobCallback;
use tidemark_client::{Failed, Patience};

use super::{
    comment::Comment,
    host::{Host, Refusal},
    marker,
};
use crate::{
    context::{Context, Environment},
    failure::Failure,
    markup::Dialect,
    verdict::{Row, Verdict},
};

/// The most bytes of a comment, and of the text of a check: GitHub counts characters, of which there are never more.
const TEXT_MAX: usize = 65_535;
/// The most bytes that a job can add to its summary.
const SUMMARY_MAX: usize = 1 << 20;
/// The most bytes of the name of a check.
const NAME_MAX: usize = 255;
/// The most annotations of a kind that a step shows.
const ANNOTATIONS_MAX: usize = 10;
/// How many comments a page has.
const PER_PAGE: usize = 100;
/// What a token needs, for those who gave it too little.
const PERMISSIONS: &str = "the token needs the permissions `checks: write` and `pull-requests: write`";

/// A repository, and the commit and pull request that a run is for.
pub(crate) struct GitHub {
    host: Host,
    repository: String,
    commit: String,
    number: Option<u64>,
    /// Whether comments say what their author may do; Forgejo and Gitea do not.
    has_associations: bool,
    check: Mutex<Option<u64>>,
    is_completed: AtomicBool,
}

/// How a check ends.
#[derive(Clone, Copy)]
pub(crate) enum Conclusion {
    Success,
    Failure,
    /// There was nothing to judge by.
    Neutral,
    Cancelled,
}

impl Conclusion {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The host with the headers that it wants.
fn host(environment: &Environment, token: &str, patience: Patience) -> Host {
    let base = environment.get("GITHUB_API_URL").unwrap_or("https://api.github.com");
    let headers = vec![
        ("authorization", format!("Bearer {token}")),
        ("accept", "application/vnd.github+json".to_owned()),
        ("x-github-api-version", "2022-11-28".to_owned()),
    ];
    Host::new("GitHub", base, headers, patience)
}

/// Looks for the pull request of a workflow that follows the one of a fork: GitHub does not name it there.
pub(crate) fn pull_request_of_fork(
    environment: &Environment,
    token: &str,
    patience: Patience,
    context: &Context,
) -> Option<(u64, Option<String>)> {
    let head = context.head.as_ref().filter(|_| context.fork && context.pull_request.is_none())?;
    let repository = environment.get("GITHUB_REPOSITORY")?;
    let (owner, _) = head.repository.as_deref()?.split_once('/')?;
    let path = format!(
        "/repos/{repository}/pulls?state=open&per_page={PER_PAGE}&head={}",
        super::encode(&format!("{owner}:{}", head.branch))
    );
    let found = host(environment, token, patience).send("GET", &path, None).ok()?;
    let hash = context.hash.as_ref().map(tidemark_api::GitHash::as_str);
    let request = found
        .as_array()?
        .iter()
        .find(|request| request.pointer("/head/sha").and_then(Value::as_str) == hash)?;
    let base = request.pointer("/base/ref").and_then(Value::as_str).map(str::to_owned);
    Some((request.get("number")?.as_u64()?, base))
}

impl GitHub {
    /// What Actions say that this run is for; nothing if they do not say enough.
    pub(crate) fn find(
        environment: &Environment,
        token: &str,
        patience: Patience,
        commit: &str,
        context: &Context,
    ) -> Option<Self> {
        let repository = environment.get("GITHUB_REPOSITORY").filter(|name| name.contains('/'))?;
        Some(Self {
            host: host(environment, token, patience),
            repository: repository.to_owned(),
            commit: commit.to_owned(),
            number: context.pull_request,
            has_associations: context.system == Some("GitHub Actions"),
            check: Mutex::new(None),
            is_completed: AtomicBool::new(false),
        })
    }

    /// Opens the check before the benchmarks run.
    pub(crate) fn open_check(&self, id: Option<&str>) {
        let body = json!({
            "name": check_name(id),
            "head_sha": self.commit,
            "status": "in_progress",
            "output": { "title": "Running", "summary": "The benchmarks run." },
        });
        match self.send("POST", "/check-runs", Some(&body)) {
            Ok(check) => *self.check() = check.get("id").and_then(Value::as_u64),
            Err(refusal) => eprintln!("warning: The check could not be opened: {}.", self.explain(&refusal)),
        }
    }

    /// Completes the check; makes it if it could not be opened. What fails is only a warning: the verdict is elsewhere,
    /// too.
    pub(crate) fn complete_check(
        &self,
        id: Option<&str>,
        conclusion: Conclusion,
        title: &str,
        summary: &str,
        link: Option<&str>,
    ) {
        self.is_completed.store(true, Ordering::Relaxed);
        let mut body = json!({
            "status": "completed",
            "conclusion": conclusion.as_str(),
            "output": { "title": title, "summary": summary },
        });
        if let Some(link) = link {
            body["details_url"] = json!(link);
        }
        if let Some(id) = id {
            body["name"] = json!(check_name(Some(id)));
        }
        let open = *self.check();
        let sent = match open {
            Some(check) => self.send("PATCH", &format!("/check-runs/{check}"), Some(&body)),
            None => {
                body["name"] = json!(check_name(id));
                body["head_sha"] = json!(self.commit);
                self.send("POST", "/check-runs", Some(&body))
            }
        };
        if let Err(refusal) = sent {
            eprintln!("warning: The check could not be completed: {}.", self.explain(&refusal));
        }
    }

    /// Completes the check of a run that came to nothing, if there is one.
    pub(crate) fn fail_check(&self, conclusion: Conclusion, title: &str, sentence: &str) {
        let is_open = self.check().is_some();
        if is_open && !self.is_completed.load(Ordering::Relaxed) {
            self.complete_check(None, conclusion, title, sentence, None);
        }
    }

    /// The report on the commit.
    pub(crate) fn report_check(&self, id: &str, conclusion: Conclusion, comment: &Comment<'_>) {
        let summary = comment.within(Dialect::Folding, TEXT_MAX);
        self.complete_check(
            Some(id),
            conclusion,
            &comment.title(),
            &summary,
            comment.links.report().as_deref(),
        );
    }

    /// Writes the comment on the pull request, or writes it anew if it is there. `may_create` says whether a first one
    /// is wanted.
    pub(crate) fn comment(&self, id: &str, comment: &Comment<'_>, may_create: bool) -> Result<(), String> {
        let Some(number) = self.number else { return Ok(()) };
        let marker = marker(&comment.report.project.slug, id);
        let text = comment.within(Dialect::Folding, TEXT_MAX - marker.len() - 1);
        let body = json!({ "body": format!("{marker}\n{text}") });
        let failed = |refusal: &Refusal| {
            format!("The comment on pull request {number} could not be written: {}.", self.explain(refusal))
        };
        // A comment that may have been made in spite of an error is looked for before another is made.
        for attempt in 1.. {
            let written = self.find_comment(number, &marker).and_then(|found| match found {
                Some(known) => {
                    self.send("PATCH", &format!("/issues/comments/{known}"), Some(&body)).map(drop)
                }
                None if !may_create => Ok(()),
                None => self.send("POST", &format!("/issues/{number}/comments"), Some(&body)).map(drop),
            });
            match written {
                Ok(()) => break,
                Err(refusal) if refusal.is_doubtful && attempt < self.host.patience.attempts.min(3) => {
                    std::thread::sleep(self.host.patience.first_wait);
                }
                Err(refusal) => return Err(failed(&refusal)),
            }
        }
        Ok(())
    }

    /// The comment that begins with our marker. Anybody can write one that does; it counts only if it is from somebody
    /// who may write in the repository, such as Actions, or from ourselves where that is not known.
    fn find_comment(&self, number: u64, marker: &str) -> Result<Option<u64>, Refusal> {
        let own = match self.has_associations {
            true => Value::Null,
            false => self.host.send("GET", "/user", None)?,
        };
        for page in 1.. {
            let path = format!("/issues/{number}/comments?per_page={PER_PAGE}&page={page}");
            let answer = self.send("GET", &path, None)?;
            let comments = answer.as_array().map(Vec::as_slice).unwrap_or_default();
            let ours = comments.iter().find(|comment| {
                let text =
                    |pointer: &str| comment.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let is_trusted = match own.get("id") {
                    Some(own) => comment.pointer("/user/id") == Some(own),
                    None => {
                        text("/user/type") == "Bot"
                            || matches!(text("/author_association"), "OWNER" | "MEMBER" | "COLLABORATOR")
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

    /// Whom a server tells when a job that nobody waits for has ended.
    pub(crate) fn callback(&self, token: &str) -> Option<JobCallback> {
        Some(JobCallback {
            kind: "github".to_owned(),
            url: self.host.base().to_owned().try_into().ok()?,
            repository: self.repository.clone(),
            hash: self.commit.clone(),
            number: self.number,
            check: *self.check(),
            token: tidemark_api::job::JobSecret(token.to_owned()),
        })
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Refusal> {
        self.host.send(method, &format!("/repos/{}{path}", self.repository), body)
    }

    fn check(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.check.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn explain(&self, refusal: &Refusal) -> String {
        let hint = match refusal.status {
            Some(401 | 403 | 404) => format!("; {PERMISSIONS}"),
            _ => String::new(),
        };
        format!("{}, {}{hint}", self.host.name(), refusal.reason())
    }
}

/// The name of a check, which ends on a whole character.
fn check_name(id: Option<&str>) -> String {
    let Some(id) = id else { return "Tidemark".to_owned() };
    let room = NAME_MAX - "Tidemark ()".len();
    format!("Tidemark ({})", &id[..id.floor_char_boundary(room)])
}

/// The report as it is added to the summary of a job.
pub(crate) fn summary(comment: &Comment<'_>, before: u64) -> String {
    let room = SUMMARY_MAX.saturating_sub(usize::try_from(before).unwrap_or(usize::MAX));
    format!("{}\n", comment.within(Dialect::Folding, room.saturating_sub(1)))
}

/// The regressions as commands that Actions read from what a step prints.
pub(crate) fn annotations(rows: &[Row<'_>]) -> String {
    let regressions: Vec<&Row<'_>> = rows.iter().filter(|row| row.verdict == Verdict::Regression).collect();
    let shown = if regressions.len() > ANNOTATIONS_MAX { ANNOTATIONS_MAX - 1 } else { regressions.len() };
    let mut text = String::new();
    for row in &regressions[..shown] {
        let title = format!("Regression of {}", row.benchmark());
        let message = format!(
            "{}: {} is {} from {}, the limit is {}",
            row.measured.measure.name.as_str(),
            row.value(),
            row.change(),
            row.baseline(),
            row.limit()
        );
        text.push_str(&format!("::warning title={}::{}\n", property(&title), data(&message)));
    }
    if shown < regressions.len() {
        let rest = regressions.len() - shown;
        text.push_str(&format!("::warning title=Regressions::{rest} more regressions are in the report\n"));
    }
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Refuses what would run the code of strangers next to secrets: a pull request of a fork with a token that can write.
pub(crate) fn guard(environment: &Environment, context: &Context, runs_command: bool) -> Result<(), Failure> {
    if !context.fork {
        return Ok(());
    }
    let advice = "docs/ci.md shows the safe way with two workflows";
    match environment.get("GITHUB_EVENT_NAME") {
        Some("pull_request") => Err(Failure::usage(format!(
            "This pull request comes from a fork, whose code must not meet a token that can write; {advice}."
        ))),
        Some("pull_request_target") if runs_command => Err(Failure::usage(format!(
            "This workflow would run the code of a fork next to the secrets of this repository; {advice}."
        ))),
        _ => Ok(()),
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

    #[test]
    fn a_command_ends_where_it_ends() {
        assert_eq!(property("a:b,c%\n::error"), "a%3Ab%2Cc%25%0A%3A%3Aerror");
        assert_eq!(data("50 %\n::x"), "50 %25%0A::x");
    }
}
