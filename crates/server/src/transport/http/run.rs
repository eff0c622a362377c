//! `/v0/run`: records a report, and finds or creates its project.

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use tidemark_api::{GitHash, NameId, NewReport, NewRun, Report, ResourceId, ResourceName, RunContext, Slug};
use tidemark_store::{Tx, report};

use super::{
    access::{self, AnyCaller},
    body::Body,
    error::{Error, Result},
    origin::Origin,
    project_creation::{self, FoundProject, ProjectCreator},
    report::recorded_report,
};
use crate::domain::{
    app::App,
    auth::caller::Caller,
    ingest::{self, RecordedReport, Submission, TargetProject},
    jobs::{
        Signal,
        job_request::{JobCheck, JobRequest},
    },
    quota::Quota,
};

/// Contains the token that claims the organization that an anonymous run has just created.
const X_CLAIM_TOKEN: HeaderName = HeaderName::from_static("x-claim-token");

/// Default branch and testbed of a run.
pub(super) const BRANCH: &str = "main";
const TESTBED: &str = "localhost";
/// Default name of a project that is created for a run.
const PROJECT: &str = "Project";
/// Maximum length of the name of a project, in bytes.
const NAME_MAX: usize = 64;
/// Maximum number of characters of the name in a derived slug.
const NAME_IN_SLUG: usize = 42;

/// Record a run.
///
/// If the project does not exist, the server creates it: in the personal organization of a signed-in user, or as an unclaimed
/// project for other callers.
#[utoipa::path(post, path = "/v0/run", operation_id = "run_post", tag = "run", request_body = NewRun,
    responses((status = 201, body = Report)), extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    AnyCaller { caller }: AnyCaller,
    origin: Origin,
    Body(new): Body<NewRun>,
) -> Result<Response> {
    if matches!(caller, Caller::Anonymous) && !app.config.access.anonymous_runs {
        return Err(Error::Unauthorized(
            "This server accepts no anonymous runs: send the header Authorization: Bearer with a key.".into(),
        ));
    }
    let NewRun { context, spec_reset, job, .. } = new.clone();
    let has_callback = job.as_ref().is_some_and(|job| job.callback.is_some());
    if has_callback && !matches!(caller, Caller::User(_) | Caller::Project(_)) {
        return Err(Error::Unauthorized(
            "An anonymous job cannot have a callback; send a key, or leave `job.callback` out.".into(),
        ));
    }
    let request = match job {
        Some(job) => Some(JobRequest::read(&app, job, new.settings, new.testbed.clone(), origin.address)?),
        None => None,
    };
    let id = target(&caller, &new, request.as_ref())?;
    let (who, wanted) = (caller.clone(), id.clone());
    let known = app.db.read(move |tx| access::project_for_run(tx, &who, &wanted)).await?;
    if known.is_none() {
        project_creation::may_create(&caller, &id)?;
    }
    access::count_run(&app, &caller, origin.address, known.map(|found| found.project.uuid)).await?;

    let known = context.clone().unwrap_or_default();
    let report = NewReport {
        branch: new.branch.map_or_else(|| branch(&known), Ok)?,
        hash: new.hash.or_else(|| known.branch_hash()?.parse::<GitHash>().ok()),
        start_point: new.start_point,
        testbed: new.testbed.map_or_else(|| testbed(&known), Ok)?,
        thresholds: new.thresholds,
        start_time: new.start_time,
        end_time: new.end_time,
        // The results of a job come from its runner.
        results: if request.is_some() { Vec::new() } else { new.results },
        settings: new.settings,
        idempotency_key: new.idempotency_key,
    };
    let is_job = request.is_some();
    let mut submission =
        Submission::read_on_blocking_thread(report, caller.user(), spec_reset.unwrap_or(false)).await?;
    submission.binary_hash = known.binary_hash().map(str::to_owned);
    // The context describes the client; a job runs on another host.
    submission.host = known.host().filter(|_| !is_job).map(str::to_owned);
    let (fresh, quota, claims) = (app.fresh(), Quota::new(&app.config), app.config.access.claims);
    let origin = Origin { actor: caller.actor(), ..origin };
    let address = origin.address;
    let write = move |tx: &mut Tx<'_>| {
        let creator = ProjectCreator { caller: &caller, origin: &origin, quota, claims };
        let FoundProject { project: found, claim_token } =
            project_creation::find_or_create(tx, &fresh, &creator, &id, |_| match &context {
                Some(context) => name(context),
                // Without a context there is no name for a new project. The error must not reveal whether a hidden project
                // exists.
                None => Err(access::hidden_project()),
            })?;
        let target_project = TargetProject::of(&found);
        let Some(request) = request else {
            let RecordedReport { report, is_enqueued, warnings } =
                ingest::record(tx, &fresh, quota, target_project, &submission)?;
            let mut summary = report::summary(tx, &found.project, report)?;
            summary.report.warnings = warnings;
            return Ok::<_, Error>((summary, is_enqueued, claim_token));
        };
        let validated = match request.check(tx, &found, &mut submission, quota, fresh.now)? {
            JobCheck::Existing(report) => {
                return Ok((report::summary(tx, &found.project, report)?, false, claim_token));
            }
            JobCheck::Validated(validated) => validated,
        };
        let RecordedReport { report, is_enqueued, .. } =
            ingest::record(tx, &fresh, quota, target_project, &submission)?;
        validated.enqueue(tx, &fresh, &found, report)?;
        Signal::Queued.announce(tx)?;
        Ok((report::summary(tx, &found.project, report)?, is_enqueued, claim_token))
    };
    let (found, is_enqueued, claim_token) = app.db.write(write).await?;
    if is_enqueued {
        app.background.wake();
        app.jobs.wake();
    }
    if is_job {
        app.jobs.signal(Signal::Queued);
    }
    let mut response = (StatusCode::CREATED, recorded_report(&app, address, found).await?).into_response();
    if let Some(token) = claim_token.and_then(|token| HeaderValue::try_from(token).ok()) {
        response.headers_mut().insert(X_CLAIM_TOKEN, token);
    }
    Ok(response)
}

/// Returns the project of a run.
fn target(caller: &Caller, new: &NewRun, request: Option<&JobRequest>) -> Result<ResourceId> {
    if let (None, Some(request), Caller::Anonymous | Caller::User(_)) = (&new.project, request, caller) {
        return Ok(request.project());
    }
    match (&new.project, caller, &new.context) {
        (Some(id), ..) => Ok(id.clone()),
        (None, Caller::Project(key), _) => Ok(ResourceId::Uuid(key.project_uuid)),
        (None, _, Some(context)) => Ok(ResourceId::Slug(slug(context)?)),
        (None, _, None) => Err(Error::Invalid(
            "The run names no project; send `project`, or a `context` that a project name can be derived from."
                .into(),
        )),
    }
}

/// Returns the derived slug of the project, from the repository and the machine.
fn slug(context: &RunContext) -> Result<Slug> {
    let cut = |text: Option<&str>, most| Some(text?.chars().take(most).collect::<String>());
    // In a slug, some letters become several letters, so fewer letters of the name fit.
    let slug = (0..=NAME_IN_SLUG).rev().find_map(|most| {
        let parts = [
            cut(context.repo_name(), most),
            cut(context.repo_hash(), 7),
            cut(context.testbed_fingerprint(), 13),
        ];
        Slug::derive(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    });
    slug.ok_or_else(|| {
        Error::Invalid(
            "The `context` names no repository and no machine that a project name can be derived from; send \
             `project` instead."
                .into(),
        )
    })
}

/// Returns the derived name of the project, from the repository.
fn name(context: &RunContext) -> Result<ResourceName> {
    let mut name = context.repo_name().unwrap_or(PROJECT).to_owned();
    while name.len() > NAME_MAX {
        name.pop();
    }
    name.trim().parse().map_err(|error| {
        Error::Invalid(format!("The name of the repository in `context` is invalid: {error}."))
    })
}

fn branch(context: &RunContext) -> Result<NameId> {
    let name = context
        .branch_name()
        .filter(|name| name.parse::<tidemark_api::BranchName>().is_ok())
        .unwrap_or(BRANCH);
    name.parse().map_err(|error| Error::Invalid(format!("The branch in `context` is invalid: {error}.")))
}

fn testbed(context: &RunContext) -> Result<NameId> {
    let name = context.testbed_os().filter(|name| name.parse::<ResourceName>().is_ok()).unwrap_or(TESTBED);
    name.parse()
        .map_err(|error| Error::Invalid(format!("The operating system in `context` is invalid: {error}.")))
}
