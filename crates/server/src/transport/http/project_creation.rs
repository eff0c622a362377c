//! Creation of projects by the first run or image that is sent to them: in the personal organization of a signed-in user, or as
//! an unclaimed project for other callers.

use tidemark_api::{OrganizationPermission, ProjectRole, ResourceId, ResourceName, Slug, Visibility};
use tidemark_store::{
    Lock, OrganizationId, Tx, WriteContext, member, organization, project, project_member, quota::QuotaScope,
    unclaimed,
};
use uuid::Uuid;

use super::{
    access,
    error::{Error, Result},
    organization::{claim_for_user, create_personal},
    origin::Origin,
};
use crate::{
    domain::{
        auth::{
            caller::{Caller, SignedIn},
            key::hash,
        },
        jobs::tier,
        quota::Quota,
    },
    infra::config::Claims,
};

/// The caller that sends a run or an image to a project, and the limits.
pub(crate) struct ProjectCreator<'a> {
    /// The caller.
    pub(crate) caller: &'a Caller,
    /// User and address, for the audit log.
    pub(crate) origin: &'a Origin,
    /// Quota of projects.
    pub(crate) quota: Quota,
    /// Requirements for claiming an organization.
    pub(crate) claims: Claims,
}

/// The found or created project.
pub(crate) struct FoundProject {
    /// The project.
    pub(crate) project: project::ProjectRow,
    /// Token that claims the organization, if an anonymous caller has just created it. The server returns it once.
    pub(crate) claim_token: Option<String>,
}

/// Alphabet and length of claim tokens.
const TOKEN_LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TOKEN_LENGTH: usize = 30;

/// Finds the project, or creates it with the name that `name` derives from its slug. A user who may claim an unclaimed project
/// claims it. If several callers send to a new project at the same time, one of them creates it and the others wait and find
/// it.
pub(crate) fn find_or_create(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    creator: &ProjectCreator<'_>,
    id: &ResourceId,
    name: impl FnOnce(&Slug) -> Result<ResourceName>,
) -> Result<FoundProject> {
    let mut found = access::project_for_run(tx, creator.caller, id)?;
    if found.is_none() {
        // The first run of a project can take long; the lock must not delay runs of other projects.
        tx.lock(Lock::ProjectCreation(lock_key(&id.to_string())))?;
        if let Caller::User(by) = creator.caller {
            tx.lock(Lock::ProjectCreation(lock_key(&by.found.user.uuid.to_string())))?;
        }
        found = access::project_for_run(tx, creator.caller, id)?;
    }
    let found_project = match found {
        Some(project) => FoundProject { project, claim_token: None },
        None => create(tx, fresh, creator, id, name)?,
    };
    Ok(FoundProject { project: claim(tx, fresh, creator, found_project.project)?, ..found_project })
}

/// Returns the lock key of a text, the same on every server.
fn lock_key(text: &str) -> i64 {
    let mut key = [0; 8];
    key.copy_from_slice(&hash(text)[..8]);
    i64::from_le_bytes(key)
}

/// Returns the slug of a project that does not exist yet, if the caller may create it.
pub(crate) fn may_create<'a>(caller: &Caller, id: &'a ResourceId) -> Result<&'a Slug> {
    // Callers cannot choose UUIDs, so an unknown UUID gets the same error as a hidden project.
    let ResourceId::Slug(slug) = id else { return Err(access::hidden_project()) };
    access::may_create_unclaimed(caller)?;
    Ok(slug)
}

fn create(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    creator: &ProjectCreator<'_>,
    id: &ResourceId,
    name: impl FnOnce(&Slug) -> Result<ResourceName>,
) -> Result<FoundProject> {
    let ProjectCreator { caller, origin, quota, .. } = *creator;
    let slug = may_create(caller, id)?;
    let mut name = name(slug)?;
    // An unclaimed project gets a separate organization with the same UUID.
    let (organization, uuid, claim_token) = match caller {
        Caller::User(by) => (personal_organization(tx, fresh, origin, by)?, None, None),
        _ => unclaimed_organization(tx, fresh, caller, slug, &name)?,
    };
    let claimed = matches!(caller, Caller::User(_));
    if claimed {
        name = project::unused_name(tx, organization, &name)?;
    }
    quota.check(tx, QuotaScope::Projects(organization), claimed, fresh.now)?;
    let new = project::NewProjectRow {
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
    Ok(FoundProject { project: found, claim_token })
}

/// Returns the personal organization of a user, and creates it again if it was deleted.
fn personal_organization(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
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
                "The project does not exist, and you may no longer create projects in your personal \
                 organization; create the project in another organization first."
                    .into(),
            ))
        }
        Err(tidemark_store::Error::NotFound(_)) => create_personal(tx, fresh, origin, &by.found),
        Err(error) => Err(error.into()),
    }
}

/// Returns an unclaimed organization with the slug of the new project and, if this call created it, its UUID and claim token.
/// If a claimed organization has that slug, the new organization gets another slug: the response must not reveal hidden
/// organizations.
fn unclaimed_organization(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    caller: &Caller,
    slug: &Slug,
    name: &ResourceName,
) -> Result<(OrganizationId, Option<Uuid>, Option<String>)> {
    match access::found_or_none(organization::find(tx, &ResourceId::Slug(slug.clone())))? {
        Some(found) if found.organization.claimed.is_none() => Ok((found.id, None, None)),
        _ => {
            let made = organization::create(tx, fresh, None, name, Some(slug))?;
            let mut token = None;
            // Organizations that the owner of the database creates do not expire.
            if !matches!(caller, Caller::Owner) {
                let made_up = format!("claim_{}", fresh.random_text(TOKEN_LETTERS, TOKEN_LENGTH));
                unclaimed::create(tx, made.id, Some(&hash(&made_up)), fresh.now)?;
                token = Some(made_up);
            }
            Ok((made.id, Some(made.organization.uuid.uuid()), token))
        }
    }
}

/// Claims the organization of an unclaimed project for the user who sends a run or an image, if the user's address is
/// confirmed.
fn claim(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    creator: &ProjectCreator<'_>,
    mut found: project::ProjectRow,
) -> Result<project::ProjectRow> {
    let ProjectCreator { caller, origin, quota, claims } = *creator;
    let (Caller::User(by), None) = (caller, found.project.claimed) else { return Ok(found) };
    if by.found.confirmed.is_none() || claims == Claims::Token {
        return Ok(found);
    }
    tx.lock(Lock::Organization(found.organization.get()))?;
    if !claim_for_user(tx, fresh, found.organization, by.found.id)? {
        // Another user claimed it first, so this user needs a permission in it.
        let id = ResourceId::Uuid(found.project.uuid.uuid());
        return access::project_for_run(tx, caller, &id)?.ok_or_else(access::hidden_project);
    }
    tier::raise_pending(tx, quota, found.organization)?;
    let slug = found.project.slug.as_str();
    origin.audit(tx, fresh, "organization.claim", slug, Some(found.organization), &[])?;
    found.project.claimed = Some(fresh.now);
    Ok(found)
}
