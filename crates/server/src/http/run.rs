//! `/v0/run`: a report that finds its project by itself, or makes it.

use std::net::IpAddr;

use axum::extract::State;
use tidemark_api::{
    GitHash, NameId, NewRun, OrganizationRole, ProjectRole, ProjectUuid, Report, ResourceId, ResourceName,
    RunContext, Slug, Visibility,
};
use tidemark_store::{
    Fresh, Lock, Tx, member, organization, project, project_member, quota::Scope, report, user,
};
use tokio::task::spawn_blocking;

use super::{
    access::{self, Anyone},
    answer::Created,
    body::Body,
    error::{Error, Result},
    organization::take_over,
    origin::Origin,
    quota::Quota,
};
use crate::{
    App,
    auth::caller::Caller,
    ingest,
    limits::{Rule, address_key},
};

/// The branch of a run that does not say, and its testbed.
const BRANCH: &str = "main";
const TESTBED: &str = "localhost";
/// The name of a project made for a run whose context does not say.
const PROJECT: &str = "Project";
/// The longest name of a project, in bytes.
const NAME_MAX: usize = 64;

/// Record a run. A project that is not known yet is made: for a signed-in user in the user's own organization, for
/// anybody else as one that can be claimed later.
#[utoipa::path(post, path = "/v0/run", operation_id = "run_post", tag = "run", request_body = NewRun,
    responses((status = 201, body = Report)), extensions(("x-right" = json!("project:create"))))]
pub(super) async fn create(
    State(app): State<App>,
    Anyone { caller }: Anyone,
    origin: Origin,
    Body(new): Body<NewRun>,
) -> Result<Created<Report>> {
    limit(&app, &caller, origin.address, None).await?;
    let target = target(&caller, &new)?;
    let context = new.context.unwrap_or_default();
    let (branch, testbed) = (
        new.branch.map_or_else(|| branch(&context), Ok)?,
        new.testbed.map_or_else(|| testbed(&context), Ok)?,
    );
    let settings = new.settings.unwrap_or_default();
    let texts = new.results;
    let results = spawn_blocking(move || ingest::read(&texts, settings))
        .await
        .map_err(|error| Error::Internal(error.into()))??;
    let submission = ingest::Submission {
        user: match &caller {
            Caller::User(by) => Some(by.found.id),
            _ => None,
        },
        branch,
        hash: new.hash.or_else(|| context.branch_hash()?.parse::<GitHash>().ok()),
        start_point: new.start_point,
        testbed,
        spec_reset: new.spec_reset.unwrap_or(false),
        thresholds: new.thresholds,
        start_time: new.start_time,
        end_time: new.end_time,
        adapter: settings.adapter.unwrap_or_default(),
        results,
        idempotency_key: new.idempotency_key.map(|key| key.0),
    };
    let (fresh, quota) = (app.fresh(), Quota::new(&app.config));
    let origin = Origin { actor: caller.actor(), ..origin };
    let write = move |tx: &mut Tx<'_>| {
        let found = find_or_make(tx, &fresh, &quota, &caller, &origin, &target)?;
        let found = claim(tx, &fresh, &caller, &origin, found)?;
        let claimed = found.project.claimed.is_some();
        quota.check(tx, Scope::Reports(found.id), claimed, fresh.now)?;
        quota.check_metrics(tx, found.organization, claimed, fresh.now)?;
        let report = ingest::record(tx, &fresh, found.id, &submission)?;
        Ok::<_, Error>((found.project, report))
    };
    let (project, report) = app.db.write(write).await?;
    Ok(Created(app.db.read(move |tx| report::view(tx, &project, report)).await?))
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
    /// What it is called if it has to be made; none if there is nothing to name it after.
    name: Option<ResourceName>,
}

fn target(caller: &Caller, new: &NewRun) -> Result<Target> {
    let id = match (&new.project, caller, &new.context) {
        (Some(id), ..) => id.clone(),
        (None, Caller::Project(key), _) => ResourceId::Uuid(key.project_uuid),
        (None, _, Some(context)) => ResourceId::Slug(slug(context)?),
        (None, _, None) => {
            return Err(Error::Invalid(
                "The run does not say which project it is for: give `project`, or a `context` to name a new one after."
                    .into(),
            ));
        }
    };
    let name = new.context.as_ref().map(name).transpose()?;
    Ok(Target { id, name })
}

/// The slug of the project of a repository on a machine.
fn slug(context: &RunContext) -> Result<Slug> {
    let parts = [(context.repo_name(), 42), (context.repo_hash(), 7), (context.testbed_fingerprint(), 13)];
    let parts =
        parts.into_iter().filter_map(|(text, most)| Some(text?.chars().take(most).collect::<String>()));
    let text = parts.collect::<Vec<_>>().join(" ");
    Slug::derive(&text).ok_or_else(|| {
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
    quota: &Quota,
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

/// Makes the project of a run.
fn make(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    quota: &Quota,
    caller: &Caller,
    origin: &Origin,
    target: &Target,
) -> Result<project::Found> {
    // A UUID cannot be chosen: one that is not known is told what a hidden one is.
    let ResourceId::Slug(slug) = &target.id else { return Err(access::hidden_project()) };
    access::may_make(caller)?;
    let Some(name) = &target.name else {
        return Err(Error::Invalid(format!(
            "There is no project `{slug}` yet, and without a `context` there is nothing to name it after."
        )));
    };
    let (organization, claimed, name) = match caller {
        Caller::User(by) => {
            let own = own_organization(tx, fresh, &by.found)?;
            let name = project::free_name(tx, own, name)?;
            (own, true, name)
        }
        _ => (unclaimed_organization(tx, fresh, slug, name)?, false, name.clone()),
    };
    quota.check(tx, Scope::Projects(organization), claimed, fresh.now)?;
    let found = project::create(tx, fresh, organization, &name, Some(slug), None, Visibility::Public)?;
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
    user: &user::Found,
) -> Result<tidemark_store::OrganizationId> {
    let uuid = user.user.uuid.uuid();
    match organization::find(tx, &ResourceId::Uuid(uuid)) {
        Ok(found) => Ok(found.id),
        Err(tidemark_store::Error::NotFound(_)) => {
            organization::release(tx, fresh, uuid.into())?;
            let name = user
                .user
                .name
                .as_str()
                .parse()
                .map_err(|error: tidemark_api::Invalid| Error::Internal(error.into()))?;
            let own = organization::create(tx, fresh, Some(uuid.into()), &name, None)?.id;
            organization::claim(tx, own, fresh.now)?;
            member::add(tx, own, user.id, OrganizationRole::Leader, fresh.now)?;
            Ok(own)
        }
        Err(error) => Err(error.into()),
    }
}

/// An organization that nobody owns, of the same slug as the project to be.
fn unclaimed_organization(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    slug: &Slug,
    name: &ResourceName,
) -> Result<tidemark_store::OrganizationId> {
    match organization::find(tx, &ResourceId::Slug(slug.clone())) {
        Ok(found) if found.organization.claimed.is_none() => Ok(found.id),
        Ok(_) => Err(Error::Unauthorized(format!(
            "The organization `{slug}` belongs to somebody; sign in to make a project, or use another slug."
        ))),
        Err(tidemark_store::Error::NotFound(_)) => {
            Ok(organization::create(tx, fresh, None, name, Some(slug))?.id)
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
