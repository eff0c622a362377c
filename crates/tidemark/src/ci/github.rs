//! GitHub: a check on the commit, a comment on the pull request, a summary of the job and annotations. GitHub Actions provides
//! the context of the run in variables and in a JSON file.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use serde_json::Value;
use tidemark_api::{JobCallback, job::JobCallbackKind};
use tidemark_client::{RetryPolicy, RetryableFailure};
use tidemark_render::{
    code_host::{self, CodeHost, Commit, CompletedCheck, Conclusion, GITHUB_TEXT_MAX, PER_PAGE, Thread},
    comment::{Comment, encode},
    markup::Dialect,
    metric::{MetricRow, ThresholdStatus},
};

use super::host::{Host, RequestError};
use crate::{
    context::{Context, Environment},
    failure::Failure,
};

/// Maximum size of the summary of a job step, in bytes.
const SUMMARY_MAX: usize = 1 << 20;
/// Maximum number of annotations of one kind per step.
const ANNOTATIONS_MAX: usize = 10;
/// Permissions that the token requires, as a hint in errors.
const PERMISSIONS: &str = "the token needs the permissions `checks: write` and `pull-requests: write`";

/// Repository, commit and pull request of a run.
pub(crate) struct GitHub {
    host: Host,
    repository: String,
    commit: String,
    number: Option<u64>,
    /// Whether comments have the field `author_association`. Forgejo and Gitea do not have it.
    has_associations: bool,
    check: Mutex<Option<u64>>,
    is_completed: AtomicBool,
}

/// Returns the host with its headers.
fn host(environment: &Environment, token: &str, retry_policy: RetryPolicy) -> Host {
    let base = environment.get("GITHUB_API_URL").unwrap_or("https://api.github.com");
    let headers = code_host::headers(JobCallbackKind::GitHub, token);
    Host::new("GitHub", base, headers, retry_policy)
}

/// Finds the pull request of a `workflow_run` workflow that follows the workflow of a fork: GitHub does not name it there.
pub(crate) fn pull_request_of_fork(
    environment: &Environment,
    token: &str,
    retry_policy: RetryPolicy,
    context: &Context,
) -> Option<(u64, Option<String>)> {
    let head = context.head.as_ref().filter(|_| context.fork && context.pull_request.is_none())?;
    let repository = environment.get("GITHUB_REPOSITORY")?;
    let (owner, _) = head.repository.as_deref()?.split_once('/')?;
    let path = format!(
        "/repos/{repository}/pulls?state=open&per_page={PER_PAGE}&head={}",
        encode(&format!("{owner}:{}", head.branch))
    );
    let found = host(environment, token, retry_policy).send("GET", &path, None).ok()?;
    let hash = context.hash.as_ref().map(tidemark_api::GitHash::as_str);
    let request = found
        .as_array()?
        .iter()
        .find(|request| request.pointer("/head/sha").and_then(Value::as_str) == hash)?;
    let base = request.pointer("/base/ref").and_then(Value::as_str).map(str::to_owned);
    Some((request.get("number")?.as_u64()?, base))
}

impl GitHub {
    /// Returns the repository, commit and pull request from the variables; `None` if they are incomplete.
    pub(crate) fn find(
        environment: &Environment,
        token: &str,
        retry_policy: RetryPolicy,
        commit: &str,
        context: &Context,
    ) -> Option<Self> {
        let repository = environment.get("GITHUB_REPOSITORY").filter(|name| name.contains('/'))?;
        Some(Self {
            host: host(environment, token, retry_policy),
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
        match self.commit().open_check(&self.host, id) {
            Ok(check) => *self.check() = check,
            Err(failure) => message!("warning: The check could not be opened: {}.", self.explain(&failure)),
        }
    }

    /// Completes the check; creates it if it could not be opened. A failure is only a warning, because the verdict is reported
    /// elsewhere, too.
    fn end_check(&self, end: &CompletedCheck<'_>) {
        self.is_completed.store(true, Ordering::Relaxed);
        let check = *self.check();
        if let Err(failure) = self.commit().complete_check(&self.host, check, end) {
            message!("warning: The check could not be completed: {}.", self.explain(&failure));
        }
    }

    /// Completes the check of a failed run, if there is a check.
    pub(crate) fn fail_check(&self, conclusion: Conclusion, title: &str, sentence: &str) {
        let is_open = self.check().is_some();
        if is_open && !self.is_completed.load(Ordering::Relaxed) {
            self.end_check(&CompletedCheck { id: None, conclusion, title, summary: sentence, link: None });
        }
    }

    /// Completes the check with the report.
    pub(crate) fn report_check(&self, id: &str, comment: &Comment<'_>) {
        self.end_check(&CompletedCheck {
            id: Some(id),
            conclusion: Conclusion::of(comment),
            title: &comment.title(),
            summary: &comment.render_within(Dialect::Folding, GITHUB_TEXT_MAX),
            link: comment.links.report().as_deref(),
        });
    }

    /// Updates the comment on the pull request, or creates it if `may_create` is true.
    pub(crate) fn comment(&self, id: &str, comment: &Comment<'_>, may_create: bool) -> Result<(), String> {
        let Some(number) = self.number else { return Ok(()) };
        let has_associations = self.has_associations;
        let thread = Thread::Pull { repository: &self.repository, number, has_associations };
        self.host.write(&thread, id, comment, may_create).map_err(|failure| {
            format!("The comment on pull request {number} could not be written: {}.", self.explain(&failure))
        })
    }

    /// Returns the callback with which the server reports the end of a detached job.
    pub(crate) fn callback(&self, token: &str) -> Option<JobCallback> {
        let kind = if self.has_associations { JobCallbackKind::GitHub } else { JobCallbackKind::Forgejo };
        // Forgejo has no checks: without a pull request there is nothing to report to.
        if kind == JobCallbackKind::Forgejo && self.number.is_none() {
            return None;
        }
        let url = self.host.base().to_owned().try_into().ok()?;
        Some(JobCallback {
            kind,
            repository: Some(self.repository.clone()),
            hash: Some(self.commit.clone()),
            number: self.number,
            check: *self.check(),
            ..JobCallback::webhook(url, token)
        })
    }

    fn commit(&self) -> Commit<'_> {
        Commit { repository: &self.repository, hash: &self.commit }
    }

    fn check(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.check.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn explain(&self, failure: &RequestError) -> String {
        let hint = match failure.status {
            Some(401 | 403 | 404) => format!("; {PERMISSIONS}"),
            _ => String::new(),
        };
        format!("{}, {}{hint}", self.host.name(), failure.reason())
    }
}

/// Returns the report for the summary of a job, limited by the bytes that the summary already has.
pub(crate) fn summary(comment: &Comment<'_>, before: u64) -> String {
    let room = SUMMARY_MAX.saturating_sub(usize::try_from(before).unwrap_or(usize::MAX));
    format!("{}\n", comment.render_within(Dialect::Folding, room.saturating_sub(1)))
}

/// Returns the regressed values outside their threshold as workflow commands, which Actions reads from the output of a step.
pub(crate) fn annotations(rows: &[MetricRow<'_>]) -> String {
    let outside: Vec<&MetricRow<'_>> =
        rows.iter().filter(|row| row.status == ThresholdStatus::Worse).collect();
    let shown = if outside.len() > ANNOTATIONS_MAX { ANNOTATIONS_MAX - 1 } else { outside.len() };
    let mut text = String::new();
    for row in &outside[..shown] {
        let title = format!("{} is outside the configured threshold", row.benchmark());
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
    if shown < outside.len() {
        let rest = outside.len() - shown;
        text.push_str(&format!(
            "::warning title=Outside the configured threshold::{rest} more are in the report\n"
        ));
    }
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Rejects a configuration that runs untrusted code with access to secrets: a pull request of a fork with a token that can write.
pub(crate) fn guard(environment: &Environment, context: &Context, runs_command: bool) -> Result<(), Failure> {
    if !context.fork {
        return Ok(());
    }
    let advice = "docs/ci.md shows the safe way with two workflows";
    match environment.get("GITHUB_EVENT_NAME") {
        Some("pull_request") => Err(Failure::usage(format!(
            "This pull request comes from a fork, whose code must not have access to a token that can \
             write; {advice}."
        ))),
        Some("pull_request_target") if runs_command => Err(Failure::usage(format!(
            "This workflow would run the code of a fork with access to the secrets of this repository; \
             {advice}."
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_are_escaped() {
        assert_eq!(property("a:b,c%\n::error"), "a%3Ab%2Cc%25%0A%3A%3Aerror");
        assert_eq!(data("50 %\n::x"), "50 %25%0A::x");
    }
}
