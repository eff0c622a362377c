//! Reports the ends of jobs to code hosts and webhooks. The transaction that ends a job enqueues the callback, and
//! `background.rs` sends it. The token of the callback is stored with the job until then and deleted afterwards.

use serde_json::json;
use tidemark_api::{Job, JobCallback, JobStatus, JobUuid, Report, Timestamp, Url, job::JobCallbackKind};
use tidemark_render::{
    code_host::{CodeHost, CommentConditions, Commit, CompletedCheck, Conclusion, GITHUB_TEXT_MAX, Thread},
    comment::{self, Comment},
    format,
    links::Links,
    markup::{self, Block, Dialect, Span},
    metric,
};
use tidemark_store::{self as store, Db, Tx, job, outbox, project, report};
use tokio::task::spawn_blocking;

use crate::{
    domain::{
        error::{Error, Result},
        verdict::VerdictInput,
    },
    infra::{
        code_host::{Host, RequestError},
        mail::DeliveryError,
        outgoing,
    },
};

/// Maximum attempts per callback.
pub(crate) const MAX_ATTEMPTS: i64 = 10;
/// Maximum length of each text of a callback except its token.
const MAX_TEXT_LENGTH: usize = 512;

/// Rejects a callback that could never be sent.
pub(crate) fn check(callback: &JobCallback, allows_private: bool) -> Result<()> {
    let wrong = |reason: &str| Err(Error::Invalid(format!("`job.callback` cannot be used: {reason}.")));
    let missing = match callback.kind {
        JobCallbackKind::GitHub => {
            (callback.hash.is_none() && callback.number.is_none()) || callback.repository.is_none()
        }
        JobCallbackKind::Forgejo | JobCallbackKind::GitLab => {
            callback.number.is_none() || callback.repository.is_none()
        }
        JobCallbackKind::Webhook => false,
    };
    if missing {
        return wrong(
            "GitHub requires `repository`, and `hash` or `number`; Forgejo and GitLab require `repository` and \
             `number`",
        );
    }
    let texts = [&callback.repository, &callback.hash].into_iter().flatten();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte);
    if texts.clone().any(|text| text.is_empty() || text.contains("..") || !text.bytes().all(is_plain)) {
        return wrong(
            "`repository` or `hash` is empty or contains `..` or characters other than letters, digits and \
             -._~/%",
        );
    }
    let mut all = texts.chain(&callback.id);
    if all.any(|text| text.len() > MAX_TEXT_LENGTH) {
        return wrong(&format!("`repository`, `hash` or `id` is longer than {MAX_TEXT_LENGTH} bytes"));
    }
    let token = callback.token.0.as_str();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return wrong("`token` is empty or contains characters other than visible ASCII characters");
    }
    match outgoing::rejection_reason(callback.url.as_str(), allows_private) {
        Some(reason) => wrong(reason),
        None => Ok(()),
    }
}

/// Sends callbacks.
#[derive(Clone)]
pub(crate) struct CallbackSender {
    /// The database.
    pub(crate) db: Db,
    /// Base URL of the console, for links to reports.
    pub(crate) console: Url,
    /// Whether addresses that are not public are allowed.
    pub(crate) allows_private: bool,
}

/// The end of a job, and the callback to send.
struct EndedJob {
    job: Job,
    callback: JobCallback,
    report: Report,
    /// Input of the verdict of the report.
    input: Option<VerdictInput>,
    /// Suffix for the measurements that the runner adds to the output of tools.
    suffix: String,
}

impl CallbackSender {
    /// Sends the callback of the job that an outbox item names.
    pub(crate) async fn send(&self, item: &outbox::OutboxItem, now: Timestamp) -> Result<(), DeliveryError> {
        let uuid =
            item.payload.parse().map_err(|_| DeliveryError::Permanent("it does not name a job".into()))?;
        let later = |error: store::Error| DeliveryError::Temporary(error.to_string());
        let found = self.db.read(move |tx| find(tx, uuid, now)).await;
        let found = found.map_err(|error| DeliveryError::Temporary(error.cause().unwrap_or_default()))?;
        let Some(ended_job) = found else { return Ok(()) };
        // A lost runner can reconnect, and the job then ends with another status, which needs another callback.
        let is_final = ended_job.job.status != JobStatus::Unknown;
        let (console, allows_private) = (self.console.clone(), self.allows_private);
        let sent = spawn_blocking(move || ended_job.send(&console, allows_private)).await;
        let outcome = match sent.unwrap_or_else(|error| Err(DeliveryError::Temporary(error.to_string()))) {
            Err(DeliveryError::Temporary(reason)) if item.attempts >= MAX_ATTEMPTS => {
                Err(DeliveryError::Permanent(reason))
            }
            outcome => outcome,
        };
        if matches!(outcome, Ok(()) if is_final) || matches!(outcome, Err(DeliveryError::Permanent(_))) {
            self.db.write(move |tx| job::delete_callback(tx, uuid)).await.map_err(later)?;
        }
        outcome
    }
}

/// Reads the end of a job; `None` if its callback was already sent or the job has not ended.
fn find(tx: &mut Tx<'_>, uuid: JobUuid, now: Timestamp) -> Result<Option<EndedJob>> {
    let found = match job::find(tx, uuid) {
        Err(store::Error::NotFound(_)) => return Ok(None),
        found => found?,
    };
    let has_ended = job::END_STATUSES.contains(&found.job.status);
    let Some(callback) = job::callback(tx, found.id)?.filter(|_| has_ended) else { return Ok(None) };
    let project_row = project::by_id(tx, found.project)?;
    let summary = report::summary(tx, &project_row.project, found.report)?;
    let report = report::complete(tx, summary)?;
    let suffix = [(found.config.build_time, "-build_time"), (found.config.file_size, "-file_size")];
    let suffix = suffix.into_iter().filter(|(is_wanted, _)| *is_wanted == Some(true)).map(|(_, word)| word);
    let is_processed = found.job.status == JobStatus::Processed;
    let input = is_processed
        .then(|| VerdictInput::read(tx, found.project, &project_row.project, found.report, None, now));
    let input = input.transpose()?;
    Ok(Some(EndedJob { job: found.job, callback, report, input, suffix: suffix.collect() }))
}

impl EndedJob {
    fn send(mut self, console: &Url, allows_private: bool) -> Result<(), DeliveryError> {
        let verdict = self.input.take().and_then(|input| input.judge().ok());
        let rows = metric::rows(&self.report);
        let links = Links::new(console, Some(console), &self.report, self.callback.public_links);
        let verdict = verdict.as_ref();
        let comment = Comment { report: &self.report, rows: &rows, verdict, links: &links };
        let JobCallback { kind, url, token, .. } = &self.callback;
        let host = Host::new(*kind, url.as_str(), &token.0, allows_private);
        let repository = self.callback.repository.as_deref().unwrap_or_default();
        let result = match (self.callback.kind, self.callback.number) {
            (JobCallbackKind::Webhook, _) => {
                let body = json!({ "job": self.job, "report": self.report });
                host.send("POST", "", Some(&body)).map(drop)
            }
            (JobCallbackKind::GitHub, number) => {
                // The check shows that a job failed; without a check, the comment does.
                let has_check = self.callback.hash.is_some();
                let thread = number.filter(|_| self.job.status == JobStatus::Processed || !has_check);
                let thread = thread.map(|number| Thread::Pull { repository, number, has_associations: true });
                let commented = thread.map_or(Ok(()), |thread| self.comment(&host, &thread, &comment));
                // A token with the permission for one of them may lack the permission for the other.
                let checked = if has_check { self.check(&host, repository, &comment) } else { Ok(()) };
                commented.and(checked)
            }
            (JobCallbackKind::Forgejo, Some(number)) => {
                let thread = Thread::Pull { repository, number, has_associations: false };
                self.comment(&host, &thread, &comment)
            }
            (JobCallbackKind::GitLab, Some(number)) => {
                self.comment(&host, &Thread::Merge { project: repository, number }, &comment)
            }
            (JobCallbackKind::Forgejo | JobCallbackKind::GitLab, None) => Ok(()),
        };
        result.map_err(DeliveryError::from)
    }

    /// Writes the comment on a pull request.
    fn comment(&self, host: &Host, thread: &Thread<'_>, comment: &Comment<'_>) -> Result<(), RequestError> {
        let Comment { report, rows, .. } = comment;
        let id = self
            .callback
            .id
            .clone()
            .unwrap_or_else(|| comment::default_id(report, report.testbed.slug.as_str(), &self.suffix));
        let marker = comment::marker(&report.project.slug, &id);
        if self.job.status != JobStatus::Processed {
            return thread.write(host, &marker, &self.sentence(), true);
        }
        let reserve = CommentConditions {
            only_thresholds: self.callback.only_thresholds,
            only_on_alert: self.callback.only_on_alert,
        };
        if reserve.skips_comment(rows) {
            return Ok(());
        }
        let text = comment.render_within(Dialect::Folding, thread.limit() - marker.len() - 1);
        thread.write(host, &marker, &text, reserve.may_create(rows))
    }

    /// Completes the check on the commit.
    fn check(&self, host: &Host, repository: &str, comment: &Comment<'_>) -> Result<(), RequestError> {
        let hash = self.callback.hash.as_deref().unwrap_or_default();
        let commit = Commit { repository, hash };
        let link = comment.links.report();
        let (conclusion, title, summary) = match self.job.status {
            JobStatus::Processed => (
                Conclusion::of(comment),
                comment.title(),
                comment.render_within(Dialect::Folding, GITHUB_TEXT_MAX),
            ),
            JobStatus::Canceled => (Conclusion::Cancelled, self.title().to_owned(), self.sentence()),
            _ => (Conclusion::Failure, self.title().to_owned(), self.sentence()),
        };
        let name = self.callback.id.as_deref().unwrap_or(self.report.project.name.as_str());
        let completed_check = CompletedCheck {
            id: Some(name),
            conclusion,
            title: &title,
            summary: &summary,
            link: link.as_deref(),
        };
        commit.complete_check(host, self.callback.check, &completed_check)
    }

    /// Returns a short title for a job without a report.
    fn title(&self) -> &'static str {
        match self.job.status {
            JobStatus::Canceled => "The job was canceled",
            JobStatus::Unknown => "The runner of the job was lost",
            _ => "The job failed",
        }
    }

    /// Returns a sentence for a job without a report, with the reason.
    fn sentence(&self) -> String {
        let reason = self.job.error.as_deref().map(|error| format!(": {}", error.trim_end_matches('.')));
        let text = format!("{}{}. Job {}", self.title(), reason.unwrap_or_default(), self.job.uuid);
        markup::write(&[Block::Paragraph(vec![Span::text(format::plain(&text))])], Dialect::Folding)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value};

    use super::*;

    #[test]
    fn what_can_never_be_told_is_refused() {
        let github = json!({ "kind": "github", "url": "https://api.example.org", "repository": "a/b",
            "hash": "0123", "token": "s3cret" });
        let with = |change: Value| {
            let mut callback = github.clone();
            for (name, value) in change.as_object().unwrap() {
                callback[name] = value.clone();
            }
            check(&from_value(callback).unwrap(), false)
        };
        with(json!({})).unwrap();
        with(json!({ "kind": "webhook", "repository": null, "hash": null })).unwrap();
        with(json!({ "hash": null, "number": 3 })).unwrap();
        for wrong in [
            json!({ "hash": null }),
            json!({ "repository": "a/../../b" }),
            json!({ "repository": "a?b" }),
            json!({ "kind": "gitlab" }),
            json!({ "token": "" }),
            json!({ "token": "a\nb" }),
            json!({ "url": "http://127.0.0.1:1" }),
            json!({ "url": "http://[::1]" }),
            json!({ "id": "x".repeat(600) }),
        ] {
            let Err(Error::Invalid(message)) = with(wrong.clone()) else { panic!("{wrong}") };
            assert!(!message.contains("s3cret"), "{message}");
        }
        let neighbor = json!({ "kind": "webhook", "url": "http://10.0.0.1", "token": "x" });
        check(&from_value(neighbor).unwrap(), true).unwrap();
    }
}
