//! `/v0/run`: a report that finds its project by itself, or makes it.

use std::net::IpAddr;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tidemark_api::{
    GitHash, NameId, NewReport, NewRun, OrganizationPermission, ProjectRole, ProjectUuid, Report, ResourceId,
    ResourceName, RunContext, Slug, Visibility,
};
use tidemark_store::{
    Fresh, Lock, OrganizationId, Tx, member, organization, project, project_member, quota::Scope, report,
};
use uuid::Uuid;

use super::{
    access::{self, Anyone},
    body::Body,
    error::{Error, Result},
    organization::{personal, take_over},
    origin::Origin,
    report::recorded,
};
use crate::{
    App,
    auth::caller::{Caller, SignedIn},
    ingest::{self, Home, Submission},
    limits::{Rule, address_key},
    quota::Quota,
};

/// The branch of a run that does not say, and its testbed.
const BRANCH: &str = "main";
const TESTBED: &str = "localhost";
/// The name of a project made for a run whose context does not say.
const PROJECT: &str = "Project";
/// The longest name of a project, in bytes.
const NAME_MAX: usize = 64;
/// How many letters of it a slug begins with at the most.
const NAME_IN_SLUG: usize = 42;

/// Record a run. A project that is not known yet is made: for a signed-in user in the user's own organization, for
/// anybody else as one that can be claimed later.
#[utoipa::path(post, path = "/v0/run", operation_id = "run_post", tag = "run", request_body = NewRun,
    responses((status = 201, body = Report)), extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    Anyone { caller }: Anyone,
    origin: Origin,
    Body(new): Body<NewRun>,
) -> Result<Response> {
    let id = target(&caller, &new)?;
    let (who, wanted) = (caller.clone(), id.clone());
    let known = app.db.read(move |tx| access::project_for_run(tx, &who, &wanted)).await?;
    if known.is_none() {
        may_make(&caller, &id)?;
    }
    limit(&app, &caller, origin.address, known.map(|found| found.project.uuid)).await?;

    let NewRun { context, spec_reset, .. } = new;
    let known = context.clone().unwrap_or_default();
    let report = NewReport {
        branch: new.branch.map_or_else(|| branch(&known), Ok)?,
        hash: new.hash.or_else(|| known.branch_hash()?.parse::<GitHash>().ok()),
        start_point: new.start_point,
        testbed: new.testbed.map_or_else(|| testbed(&known), Ok)?,
        thresholds: new.thresholds,
        start_time: new.start_time,
        end_time: new.end_time,
        results: new.results,
        settings: new.settings,
        idempotency_key: new.idempotency_key,
    };
    let mut submission = Submission::read_aside(report, caller.user(), spec_reset.unwrap_or(false)).await?;
    submission.watch = app.embedded;
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let origin = Origin { actor: caller.actor(), ..origin };
    let address = origin.address;
    let target = Target { id, context };
    let write = move |tx: &mut Tx<'_>| {
        let found = find_or_make(tx, &fresh, quota, &caller, &origin, &target)?;
        let found = claim(tx, &fresh, &caller, &origin, found)?;
        let claimed = found.project.claimed.is_some();
        let home = Home { project: found.id, organization: found.organization, claimed };
        let report = ingest::record(tx, &fresh, quota, home, &submission)?;
        Ok::<_, Error>(report::summary(tx, &found.project, report)?)
    };
    let found = app.db.write(write).await?;
    Ok((StatusCode::CREATED, recorded(&app, address, found).await?).into_response())
}

/// Counts a run for its caller and, where it is known, for its project.
pub(super) async fn limit(
    app: &App,
    caller: &Caller,
    address: Option<IpAddr>,
    project: Option<ProjectUuid>,
) -> Result<()> {
    let now = app.clock.now();
    match caller {
        Caller::User(by) => app.limits.check(Rule::UserRuns, &by.found.user.uuid.to_string(), now).await?,
        Caller::Project(_) => {}
        Caller::Anonymous | Caller::Unknown | Caller::Locked => {
            let key = address.map_or_else(|| "unknown".into(), address_key);
            app.limits.check(Rule::PublicRuns, &key, now).await?;
        }
    }
    let project = match caller {
        Caller::Project(key) => Some(key.project_uuid),
        _ => project.map(ProjectUuid::uuid),
    };
    if let Some(project) = project {
        app.limits.check(Rule::ProjectRuns, &project.to_string(), now).await?;
    }
    Ok(())
}

/// The project that a run is for.
struct Target {
    id: ResourceId,
    /// What it is named after if it has to be made.
    context: Option<RunContext>,
}

fn target(caller: &Caller, new: &NewRun) -> Result<ResourceId> {
    match (&new.project, caller, &new.context) {
        (Some(id), ..) => Ok(id.clone()),
        (None, Caller::Project(key), _) => Ok(ResourceId::Uuid(key.project_uuid)),
        (None, _, Some(context)) => Ok(ResourceId::Slug(slug(context)?)),
        (None, _, None) => Err(Error::Invalid(
            "The run does not say which project it is for: give `project`, or a `context` to name a new one after."
                .into(),
        )),
    }
}

/// The slug of the project of a repository on a machine.
fn slug(context: &RunContext) -> Result<Slug> {
    let cut = |text: Option<&str>, most| Some(text?.chars().take(most).collect::<String>());
    // Some letters become several; then fewer of them fit.
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
            "The `context` names no repository and no machine to name a project after; give `project` instead.".into(),
        )
    })
}

/// The name of the project of a repository.
fn name(context: &RunContext) -> Result<ResourceName> {
    let mut name = context.repo_name().unwrap_or(PROJECT).to_owned();
    while name.len() > NAME_MAX {
        name.pop();
    }
    name.trim().parse().map_err(|error| {
        Error::Invalid(format!("The name of the repository in `context` is wrong: {error}."))
    })
}

fn branch(context: &RunContext) -> Result<NameId> {
    let name = context
        .branch_name()
        .filter(|name| name.parse::<tidemark_api::BranchName>().is_ok())
        .unwrap_or(BRANCH);
    name.parse().map_err(|error| Error::Invalid(format!("The branch in `context` is wrong: {error}.")))
}

fn testbed(context: &RunContext) -> Result<NameId> {
    let name = context.testbed_os().filter(|name| name.parse::<ResourceName>().is_ok()).unwrap_or(TESTBED);
    name.parse()
        .map_err(|error| Error::Invalid(format!("The operating system in `context` is wrong: {error}.")))
}

/// Finds the project of a run, or makes it. Of many first runs at once one makes it, and the others wait and find it.
fn find_or_make(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    quota: Quota,
    caller: &Caller,
    origin: &Origin,
    target: &Target,
) -> Result<project::Found> {
    if let Some(found) = access::project_for_run(tx, caller, &target.id)? {
        return Ok(found);
    }
    tx.lock(Lock::Projects)?;
    match access::project_for_run(tx, caller, &target.id)? {
        Some(found) => Ok(found),
        None => make(tx, fresh, quota, caller, origin, target),
    }
}

/// The slug of a project that is not there yet, if the caller may make it.
fn may_make<'a>(caller: &Caller, id: &'a ResourceId) -> Result<&'a Slug> {
    // A UUID cannot be chosen: one that is not known is told what a hidden one is.
    let ResourceId::Slug(slug) = id else { return Err(access::hidden_project()) };
    access::may_make(caller)?;
    Ok(slug)
}

/// Makes the project of a run.
fn make(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    quota: Quota,
    caller: &Caller,
    origin: &Origin,
    target: &Target,
) -> Result<project::Found> {
    let slug = may_make(caller, &target.id)?;
    let Some(context) = &target.context else {
        return Err(Error::Invalid(format!(
            "There is no project `{slug}` yet, and without a `context` there is nothing to name it after."
        )));
    };
    let mut name = name(context)?;
    // The organization of a project that nobody owns is made for it alone and shares its id.
    let (organization, uuid) = match caller {
        Caller::User(by) => (own_organization(tx, fresh, origin, by)?, None),
        _ => unclaimed_organization(tx, fresh, slug, &name)?,
    };
    let claimed = matches!(caller, Caller::User(_));
    if claimed {
        name = project::free_name(tx, organization, &name)?;
    }
    quota.check(tx, Scope::Projects(organization), claimed, fresh.now)?;
    let new = project::New {
        organization,
        uuid,
        name: &name,
        slug: Some(slug),
        url: None,
        visibility: Visibility::Public,
    };
    let found = project::create(tx, fresh, &new)?;
    if let Caller::User(by) = caller {
        project_member::add(tx, found.id, by.found.id, ProjectRole::Maintainer, fresh.now)?;
    }
    origin.audit(
        tx,
        fresh,
        "project.create",
        slug.as_str(),
        Some(organization),
        &[("visibility", "public")],
    )?;
    Ok(found)
}

/// The organization that a user got with the account, made again if it is gone.
fn own_organization(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    origin: &Origin,
    by: &SignedIn,
) -> Result<OrganizationId> {
    match organization::find(tx, &ResourceId::Uuid(by.found.user.uuid.uuid())) {
        Ok(found) => {
            let role = member::role(tx, found.id, by.found.id)?;
            if access::allowed(by, role, OrganizationPermission::Create) {
                return Ok(found.id);
            }
            Err(Error::Forbidden(
                "There is no such project yet, and the organization that came with your account is in other hands now; \
                 create the project in another organization first."
                    .into(),
            ))
        }
        Err(tidemark_store::Error::NotFound(_)) => personal(tx, fresh, origin, &by.found),
        Err(error) => Err(error.into()),
    }
}

/// An organization that nobody owns, of the same slug as the project to be; and, if it is new, its id.
fn unclaimed_organization(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    slug: &Slug,
    name: &ResourceName,
) -> Result<(OrganizationId, Option<Uuid>)> {
    match organization::find(tx, &ResourceId::Slug(slug.clone())) {
        Ok(found) if found.organization.claimed.is_none() => Ok((found.id, None)),
        Ok(_) => Err(Error::Unauthorized(format!(
            "The organization `{slug}` belongs to somebody; sign in to make a project, or use another slug."
        ))),
        Err(tidemark_store::Error::NotFound(_)) => {
            let made = organization::create(tx, fresh, None, name, Some(slug))?;
            Ok((made.id, Some(made.organization.uuid.uuid())))
        }
        Err(error) => Err(error.into()),
    }
}

/// A user's run claims the organization of a project that nobody has claimed, once the user's address is confirmed.
fn claim(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    caller: &Caller,
    origin: &Origin,
    mut found: project::Found,
) -> Result<project::Found> {
    let (Caller::User(by), None) = (caller, found.project.claimed) else { return Ok(found) };
    if by.found.confirmed.is_none() {
        return Ok(found);
    }
    if !take_over(tx, fresh, found.organization, by.found.id)? {
        // Somebody else was faster, and from now on it takes a permission.
        let id = ResourceId::Uuid(found.project.uuid.uuid());
        return access::project_for_run(tx, caller, &id)?.ok_or_else(access::hidden_project);
    }
    let slug = found.project.slug.as_str();
    origin.audit(tx, fresh, "organization.claim", slug, Some(found.organization), &[])?;
    found.project.claimed = Some(fresh.now);
    Ok(found)
}
