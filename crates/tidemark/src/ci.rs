//! Reports about a run to code hosts: to which hosts, with which content, and when. The file of each host has its API calls; the
//! crate `tidemark-render`, which servers use, too, has the texts.

mod github;
mod gitlab;
mod host;

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::ArgAction;
use tidemark_api::{GitHash, JobCallback, Report, Url, Verdict};
use tidemark_client::{Client, RetryPolicy, server};
use tidemark_render::{
    code_host::{CommentConditions, Conclusion},
    comment::{self, Comment},
    links::Links,
    markup::{self, Block, Dialect, Span},
    metric::MetricRow,
};

use self::{github::GitHub, gitlab::GitLab};
use crate::{
    context::{Context, Environment},
    failure::{Failure, Result, write_message},
    interrupt::{Guard, on_interrupt},
};

/// Flags of reports to code hosts.
#[derive(clap::Args)]
pub(crate) struct CiFlags {
    /// On GitHub Actions: create a check on the commit, a comment on the pull request and a summary of the job, with this token
    #[arg(long, value_name = "TOKEN", env = "TIDEMARK_GITHUB_TOKEN", hide_env_values = true)]
    github_actions: Option<String>,
    /// On GitLab CI: create a note on the merge request, with this token
    #[arg(long, value_name = "TOKEN", env = "TIDEMARK_GITLAB_TOKEN", hide_env_values = true)]
    gitlab: Option<String>,
    /// Write the regressions to this file as a code quality report for GitLab
    #[arg(long, value_name = "FILE")]
    gitlab_code_quality: Option<PathBuf>,
    /// Write the metrics to this file as a metrics report for GitLab, in the format of OpenMetrics
    #[arg(long, value_name = "FILE")]
    gitlab_metrics: Option<PathBuf>,
    /// Write the report to this file as Markdown, for other CI systems
    #[arg(long, value_name = "FILE")]
    ci_markdown: Option<PathBuf>,
    /// Comment only if there is a threshold, and omit measures without a threshold; `=false` overrides tidemark.toml
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value_t = false,
        hide_default_value = true,
        hide_possible_values = true
    )]
    ci_only_thresholds: bool,
    /// Create a comment only if a benchmark regressed or improved; `=false` overrides tidemark.toml
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value_t = false,
        hide_default_value = true,
        hide_possible_values = true
    )]
    ci_only_on_alert: bool,
    /// Link to the public pages, also for a private project; `=false` overrides tidemark.toml
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value_t = false,
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) ci_public_links: bool,
    /// ID of the comment and the check, to distinguish several runs of a project [default: derived from branch, testbed and
    /// adapter]
    #[arg(long, value_name = "ID")]
    ci_id: Option<String>,
    /// Number of the pull request [default: detected from CI]
    #[arg(long, value_name = "NUMBER")]
    ci_number: Option<u64>,
    /// With --detach: token with which the server posts the result of the job to the code host
    #[arg(long, value_name = "TOKEN", env = "TIDEMARK_CALLBACK_TOKEN", hide_env_values = true)]
    callback_token: Option<String>,
    /// With --detach: URL to which the server posts the job and its report as JSON, with the token of --callback-token, instead
    /// of a code host
    #[arg(long, value_name = "URL", requires = "callback_token")]
    callback_url: Option<Url>,
    #[arg(long, hide = true)]
    ci_i_am_vulnerable_to_pwn_requests: bool,
}

/// Properties of a run that decide which reports are possible.
#[derive(Clone, Copy)]
pub(crate) struct RunKind {
    /// Whether the run executes a command on this machine.
    pub(crate) runs_command: bool,
    /// Whether the run does not wait for its job.
    pub(crate) is_detached: bool,
}

/// What distinguishes one run of a pull request from another.
pub(crate) struct RunIdentity<'a> {
    /// Whether the user chose the testbed; otherwise it was detected.
    pub(crate) names_testbed: bool,
    /// What is measured in addition to the output of tools, for example `-build_time`.
    pub(crate) suffix: &'a str,
}

/// Reports a run to code hosts: its start, its failure or its result.
pub(crate) struct CiReporter<'a> {
    flags: &'a CiFlags,
    github: Option<Arc<GitHub>>,
    has_checks: bool,
    gitlab: Option<GitLab>,
    summary: Option<PathBuf>,
    _guard: Option<Guard>,
}

impl CiFlags {
    /// Rejects flags that cannot work or are not safe, before the run starts.
    pub(crate) fn check(&self, environment: &Environment, context: &Context, kind: RunKind) -> Result {
        let tokens = [
            ("--github-actions", &self.github_actions),
            ("--gitlab", &self.gitlab),
            ("--callback-token", &self.callback_token),
        ];
        for (flag, token) in tokens {
            let Some(token) = token else { continue };
            if token.trim().is_empty() {
                return Err(Failure::usage(format!(
                    "The token of {flag} is empty; set it, or omit the flag. Secrets are empty in the pull \
                     requests of forks."
                )));
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(Failure::usage(format!("The token of {flag} contains invalid characters.")));
            }
        }
        let posts = self.github_actions.is_some() || self.gitlab.is_some();
        if posts && kind.is_detached && self.callback_token.is_none() {
            return Err(Failure::usage(
                "With --detach, the token of this workflow expires before the job ends; give the server \
                 another token with --callback-token, or omit --detach.",
            ));
        }
        if self.github_actions.is_some() && !self.ci_i_am_vulnerable_to_pwn_requests {
            github::guard(environment, context, kind.runs_command)?;
        }
        Ok(())
    }

    /// Completes the pull request of the context: from the flag, or, for a fork, with a request to the code host.
    pub(crate) fn complete(
        &self,
        environment: &Environment,
        context: &mut Context,
        retry_policy: RetryPolicy,
    ) {
        if let Some(number) = self.ci_number {
            context.set_pull_request(number, None);
        } else if let Some(token) = &self.github_actions
            && let Some((number, base)) =
                github::pull_request_of_fork(environment, token, retry_policy, context)
        {
            context.set_pull_request(number, base);
        }
    }

    /// Returns the conditions for a comment.
    fn comment_conditions(&self) -> CommentConditions {
        CommentConditions { only_thresholds: self.ci_only_thresholds, only_on_alert: self.ci_only_on_alert }
    }

    /// Whether the name of the project is required before the run.
    pub(crate) fn opens_check(&self) -> bool {
        self.github_actions.is_some()
    }

    /// Reports that a run starts.
    pub(crate) fn open(
        &self,
        environment: &Environment,
        context: &Context,
        hash: Option<&GitHash>,
        project: Option<&str>,
        retry_policy: RetryPolicy,
    ) -> CiReporter<'_> {
        let mut reporter = CiReporter {
            flags: self,
            github: None,
            has_checks: false,
            gitlab: None,
            summary: None,
            _guard: None,
        };
        if let Some(token) = &self.github_actions {
            let commit = hash.or(context.hash.as_ref()).filter(|_| environment.is_set("GITHUB_ACTIONS"));
            let github = commit
                .and_then(|commit| GitHub::find(environment, token, retry_policy, commit.as_str(), context));
            if github.is_none() {
                message!(
                    "warning: --github-actions is given, but this is not GitHub Actions; nothing is posted."
                );
            }
            reporter.has_checks = context.system == Some("GitHub Actions");
            reporter.summary =
                environment.get("GITHUB_STEP_SUMMARY").map(PathBuf::from).filter(|_| github.is_some());
            reporter.github = github.map(Arc::new);
        }
        if let Some(token) = &self.gitlab {
            reporter.gitlab = GitLab::find(environment, token, retry_policy, context.pull_request);
            if reporter.gitlab.is_none() && !environment.is_set("GITLAB_CI") {
                message!("warning: --gitlab is given, but this is not GitLab CI; nothing is posted.");
            }
        }
        if let Some(github) = reporter.github.as_ref().filter(|_| reporter.has_checks) {
            github.open_check(self.ci_id.as_deref().or(project));
            reporter._guard = complete_check_on_interrupt(github);
        }
        reporter
    }
}

impl CiReporter<'_> {
    /// Returns the callback with which the server reports the end of a detached job.
    pub(crate) fn callback(&self) -> Option<JobCallback> {
        let token = self.flags.callback_token.as_ref()?;
        if let Some(url) = &self.flags.callback_url {
            return Some(JobCallback::webhook(url.clone(), token));
        }
        let github = self.github.as_ref().and_then(|github| github.callback(token));
        let host = github.or_else(|| self.gitlab.as_ref()?.callback(token))?;
        Some(JobCallback {
            id: self.flags.ci_id.clone(),
            only_thresholds: self.flags.ci_only_thresholds,
            only_on_alert: self.flags.ci_only_on_alert,
            public_links: self.flags.ci_public_links,
            ..host
        })
    }

    /// Reports that a run failed.
    pub(crate) fn fail(&self, failure: &Failure) {
        if let Some(github) = &self.github {
            let sentence = Block::Paragraph(vec![Span::text(crate::output::plain(&failure.to_string()))]);
            let sentence = markup::write(&[sentence], Dialect::Folding);
            github.fail_check(Conclusion::Failure, "The run failed", &sentence);
        }
    }

    /// Reports the result of a run. Returns one sentence for each report that could not be sent.
    pub(crate) fn finish(
        &self,
        report: &Report,
        rows: &[MetricRow<'_>],
        verdict: Option<&Verdict>,
        links: &Links,
        identity: &RunIdentity<'_>,
    ) -> Vec<String> {
        let comment = Comment { report, rows, verdict, links };
        let id = self.flags.ci_id.clone().unwrap_or_else(|| default_id(report, identity));
        let (is_silent, may_create) = (
            self.flags.comment_conditions().skips_comment(rows),
            self.flags.comment_conditions().may_create(rows),
        );
        let mut failures = Vec::new();

        if let Some(github) = &self.github {
            write_message(github::annotations(rows).as_bytes());
            if let Some(path) = &self.summary {
                let before = fs::metadata(path).map_or(0, |file| file.len());
                let text = github::summary(&comment, before);
                failures.extend(write(path, OpenOptions::new().append(true).create(true), &text).err());
            }
            if self.has_checks {
                let name = self.flags.ci_id.as_deref().unwrap_or(report.project.name.as_str());
                github.report_check(name, &comment);
            }
            if !is_silent {
                failures.extend(github.comment(&id, &comment, may_create).err());
            }
        }
        if let Some(gitlab) = self.gitlab.as_ref().filter(|_| !is_silent) {
            failures.extend(gitlab.comment(&id, &comment, may_create).err());
        }
        let files: [(&Option<PathBuf>, &dyn Fn() -> String); 3] = [
            (&self.flags.ci_markdown, &|| comment.render(Dialect::Markdown)),
            (&self.flags.gitlab_code_quality, &|| gitlab::code_quality(report, rows)),
            (&self.flags.gitlab_metrics, &|| gitlab::metrics(rows)),
        ];
        for (path, text) in files {
            if let Some(path) = path {
                failures.extend(
                    write(path, File::options().write(true).create(true).truncate(true), &text()).err(),
                );
            }
        }
        failures
    }
}

/// Returns the default ID of a run. The name of a detected testbed may differ between runs, so the ID uses its operating system
/// instead.
fn default_id(report: &Report, identity: &RunIdentity<'_>) -> String {
    let testbed = if identity.names_testbed { report.testbed.slug.as_str() } else { env::consts::OS };
    comment::default_id(report, testbed, identity.suffix)
}

/// Returns the links of a report; requests the address of the console from the server.
pub(crate) fn links(client: &Client, host: Option<&Url>, report: &Report, public: bool) -> Links {
    let Some(host) = host else { return Links::none() };
    let console = client.send(&server::console()).ok().map(|console| console.url);
    Links::new(host, console.as_ref(), report, public)
}

fn write(path: &Path, options: &OpenOptions, text: &str) -> std::result::Result<(), String> {
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("{} could not be written ({error}).", path.display()))
}

/// Completes the check when the run is interrupted: GitHub Actions interrupts a run to cancel it.
fn complete_check_on_interrupt(github: &Arc<GitHub>) -> Option<Guard> {
    let github = Arc::clone(github);
    let guard = on_interrupt(move || {
        let sentence = "The run was interrupted before there were results.\n";
        github.fail_check(Conclusion::Cancelled, "The run was interrupted", sentence);
    });
    guard.ok()
}
