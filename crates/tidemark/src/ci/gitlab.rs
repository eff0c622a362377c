//! GitLab: a note on the merge request, and the files that it shows in one: a report on code quality and one of metrics.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidemark_api::{JobCallback, Report, job::JobSecret};
use tidemark_client::{Failed, Patience};

use super::{
    comment::Comment,
    host::{Host, Refusal},
    marker,
};
use crate::{
    context::Environment,
    markup::Dialect,
    verdict::{Row, Verdict},
};

/// The most bytes of a note.
const NOTE_MAX: usize = 1_000_000;
/// How many notes a page has.
const PER_PAGE: usize = 100;

/// A merge request.
pub(crate) struct GitLab {
    host: Host,
    project: String,
    commit: String,
    number: u64,
}

impl GitLab {
    /// What the pipeline says that this run is for; nothing if it is not for a merge request.
    pub(crate) fn find(
        environment: &Environment,
        token: &str,
        patience: Patience,
        number: Option<u64>,
    ) -> Option<Self> {
        let base = environment.get("CI_API_V4_URL").unwrap_or("https://gitlab.com/api/v4");
        // The project of the merge request is the one that it goes to, also in the pipeline of a fork.
        let project = environment.get("CI_MERGE_REQUEST_PROJECT_ID").or(environment.get("CI_PROJECT_ID"))?;
        let headers = vec![("private-token", token.to_owned()), ("accept", "application/json".to_owned())];
        let host = Host::new("GitLab", base, headers, patience);
        let commit = environment.get("CI_COMMIT_SHA").unwrap_or_default().to_owned();
        Some(Self { host, project: super::encode(project), commit, number: number? })
    }

    /// Writes the note, or writes it anew if it is there.
    pub(crate) fn comment(&self, id: &str, comment: &Comment<'_>, may_create: bool) -> Result<(), String> {
        let marker = marker(&comment.report.project.slug, id);
        let text = comment.within(Dialect::Folding, NOTE_MAX - marker.len() - 1);
        let body = json!({ "body": format!("{marker}\n{text}") });
        let notes = format!("/projects/{}/merge_requests/{}/notes", self.project, self.number);
        for attempt in 1.. {
            let written = self.find_note(&notes, &marker).and_then(|found| match found {
                Some(known) => self.host.send("PUT", &format!("{notes}/{known}"), Some(&body)).map(drop),
                None if !may_create => Ok(()),
                None => self.host.send("POST", &notes, Some(&body)).map(drop),
            });
            match written {
                Ok(()) => break,
                Err(refusal) if refusal.is_doubtful && attempt < self.host.patience.attempts.min(3) => {
                    std::thread::sleep(self.host.patience.first_wait);
                }
                Err(refusal) => return Err(self.explain(&refusal)),
            }
        }
        Ok(())
    }

    /// The note of the token's own user that begins with our marker.
    fn find_note(&self, notes: &str, marker: &str) -> Result<Option<u64>, Refusal> {
        let own = self.host.send("GET", "/user", None)?;
        for page in 1.. {
            let answer = self.host.send("GET", &format!("{notes}?per_page={PER_PAGE}&page={page}"), None)?;
            let found = answer.as_array().map(Vec::as_slice).unwrap_or_default();
            let ours = found.iter().find(|note| {
                let text = note.get("body").and_then(Value::as_str).unwrap_or_default();
                text.starts_with(marker) && note.pointer("/author/id") == own.get("id")
            });
            if let Some(id) = ours.and_then(|note| note.get("id")?.as_u64()) {
                return Ok(Some(id));
            }
            if found.len() < PER_PAGE {
                break;
            }
        }
        Ok(None)
    }

    /// Whom a server tells when a job that nobody waits for has ended.
    pub(crate) fn callback(&self, token: &str) -> Option<JobCallback> {
        Some(JobCallback {
            kind: "gitlab".to_owned(),
            url: self.host.base().to_owned().try_into().ok()?,
            repository: self.project.clone(),
            hash: self.commit.clone(),
            number: Some(self.number),
            check: None,
            token: JobSecret(token.to_owned()),
        })
    }

    fn explain(&self, refusal: &Refusal) -> String {
        let hint = match refusal.status {
            Some(401 | 403 | 404) => {
                "; it takes an access token with the scope `api`, as the token of a job cannot write notes"
            }
            _ => "",
        };
        let (number, name) = (self.number, self.host.name());
        format!(
            "The note on merge request {number} could not be written: {name}, {}{hint}.",
            refusal.reason()
        )
    }
}

/// The regressions in the format of Code Climate, which GitLab shows as a change of code quality. Benchmarks have no place
/// in a file that we know of, so that their names stand for one.
pub(crate) fn code_quality(report: &Report, rows: &[Row<'_>]) -> String {
    let issues: Vec<Value> = rows
        .iter()
        .filter(|row| row.verdict == Verdict::Regression)
        .map(|row| {
            let measure = row.measured.measure.name.as_str();
            let benchmark = row.benchmark();
            // The same regression on two branches is one.
            let known_by = [
                report.project.slug.as_str(),
                report.testbed.slug.as_str(),
                &benchmark,
                row.measured.measure.slug.as_str(),
            ];
            let fingerprint = Sha256::digest(known_by.join("\n"));
            let fingerprint: String = fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "description": format!(
                    "{benchmark}: {measure} is {}, {} from {}, the limit is {}",
                    row.value(), row.change(), row.baseline(), row.limit()
                ),
                "check_name": "performance",
                "fingerprint": fingerprint,
                "severity": "major",
                "location": { "path": benchmark, "lines": { "begin": 1 } },
            })
        })
        .collect();
    format!("{:#}\n", Value::Array(issues))
}

/// All metrics in the text format of OpenMetrics.
pub(crate) fn metrics(rows: &[Row<'_>]) -> String {
    let mut sorted: Vec<&Row<'_>> = rows.iter().collect();
    let key = |row: &Row<'_>| (metric_name(row), row.benchmark(), row.result.iteration);
    sorted.sort_by_cached_key(|row| key(row));
    let (mut text, mut last) = (String::new(), String::new());
    for row in sorted {
        let name = metric_name(row);
        if name != last {
            text.push_str(&format!(
                "# TYPE {name} gauge\n# HELP {name} {}\n",
                label(row.measured.measure.units.as_str())
            ));
            last.clone_from(&name);
        }
        text.push_str(&format!(
            "{name}{{benchmark=\"{}\",iteration=\"{}\"}} {}\n",
            label(&row.benchmark()),
            row.result.iteration,
            row.measured.metric.value
        ));
    }
    text.push_str("# EOF\n");
    text
}

fn metric_name(row: &Row<'_>) -> String {
    let slug = row.measured.measure.slug.as_str();
    let name: String =
        slug.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    format!("tidemark_{name}")
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
