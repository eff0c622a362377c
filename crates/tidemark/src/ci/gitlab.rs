//! GitLab: a note on the merge request, and the report files that GitLab shows in a merge request: code quality and metrics.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidemark_api::{JobCallback, Report, job::JobCallbackKind};
use tidemark_client::{RetryPolicy, RetryableFailure};
use tidemark_render::{
    code_host::{self, Thread},
    comment::{Comment, encode},
    metric::{MetricRow, ThresholdStatus},
};

use super::host::{Host, RequestError};
use crate::context::Environment;

/// A merge request.
pub(crate) struct GitLab {
    host: Host,
    project: String,
    commit: String,
    number: u64,
}

impl GitLab {
    /// Returns the merge request of the pipeline; `None` if the pipeline is not for a merge request.
    pub(crate) fn find(
        environment: &Environment,
        token: &str,
        retry_policy: RetryPolicy,
        number: Option<u64>,
    ) -> Option<Self> {
        let base = environment.get("CI_API_V4_URL").unwrap_or("https://gitlab.com/api/v4");
        // Uses the target project of the merge request, also in the pipeline of a fork.
        let project = environment.get("CI_MERGE_REQUEST_PROJECT_ID").or(environment.get("CI_PROJECT_ID"))?;
        let headers = code_host::headers(JobCallbackKind::GitLab, token);
        let host = Host::new("GitLab", base, headers, retry_policy);
        let commit = environment.get("CI_COMMIT_SHA").unwrap_or_default().to_owned();
        Some(Self { host, project: encode(project), commit, number: number? })
    }

    /// Updates the note, or creates it.
    pub(crate) fn comment(&self, id: &str, comment: &Comment<'_>, may_create: bool) -> Result<(), String> {
        let thread = Thread::Merge { project: &self.project, number: self.number };
        self.host.write(&thread, id, comment, may_create).map_err(|failure| self.explain(&failure))
    }

    /// Returns the callback with which the server reports the end of a detached job.
    pub(crate) fn callback(&self, token: &str) -> Option<JobCallback> {
        let url = self.host.base().to_owned().try_into().ok()?;
        Some(JobCallback {
            kind: JobCallbackKind::GitLab,
            repository: Some(self.project.clone()),
            hash: Some(self.commit.clone()).filter(|commit| !commit.is_empty()),
            number: Some(self.number),
            ..JobCallback::webhook(url, token)
        })
    }

    fn explain(&self, failure: &RequestError) -> String {
        let hint = match failure.status {
            Some(401 | 403 | 404) => {
                "; use an access token with the scope `api`, because a job token cannot write notes"
            }
            _ => "",
        };
        let (number, name) = (self.number, self.host.name());
        format!(
            "The note on merge request {number} could not be written: {name}, {}{hint}.",
            failure.reason()
        )
    }
}

/// Returns the regressed values outside their threshold in the format of Code Climate, which GitLab shows as a change of code
/// quality. The location is the name of the benchmark, because its source file is unknown.
pub(crate) fn code_quality(report: &Report, rows: &[MetricRow<'_>]) -> String {
    let issues: Vec<Value> = rows
        .iter()
        .filter(|row| row.status == ThresholdStatus::Worse)
        .map(|row| {
            let measure = row.measured.measure.name.as_str();
            let benchmark = row.benchmark();
            // The same problem on two branches has the same fingerprint.
            let known_by = [
                report.project.slug.as_str(),
                report.testbed.slug.as_str(),
                &benchmark,
                row.measured.measure.slug.as_str(),
            ];
            let fingerprint = hex::encode(Sha256::digest(known_by.join("\n")));
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

/// Returns all metrics in the text format of OpenMetrics.
pub(crate) fn metrics(rows: &[MetricRow<'_>]) -> String {
    let mut sorted: Vec<&MetricRow<'_>> = rows.iter().collect();
    let key = |row: &MetricRow<'_>| (metric_name(row), row.benchmark(), row.result.iteration);
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

fn metric_name(row: &MetricRow<'_>) -> String {
    let slug = row.measured.measure.slug.as_str();
    let name: String =
        slug.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    format!("tidemark_{name}")
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
