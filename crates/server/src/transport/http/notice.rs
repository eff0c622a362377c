//! `/v0/projects/{project}/notices`, and the code shared with the notices of users.

use axum::{Json, extract::State};
use serde::Deserialize;
use tidemark_api::{
    BranchName, Delivery, Email, NamePattern, NewNotice, Notice, NoticeFilter, NoticeKind, NoticePatch,
    NoticeUuid, NotificationFilter, Page, PlainKey, ResourceId, Slug, Url,
};
use tidemark_store::{
    OrganizationId, ProjectId, Tx, UserId, WriteContext, branch,
    delivery::{self, TestError},
    notice::{self, NoticeSettings},
    project,
};
use utoipa::IntoParams;

use super::{
    access::{Account, Manage, Project, ProjectByUser, found_or_none, hidden_project},
    answer::{Created, Deleted, Paged},
    body::{Body, Path, Query},
    error::{Error, Result},
    origin::Origin,
    project::ProjectPath,
    run,
};
use crate::{
    domain::{app::App, auth::caller::SignedIn, notice::new_secret},
    infra::{limits::Rule, outgoing},
};

/// Path parameters: project and notice.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NoticePath {
    /// The slug or UUID of a project.
    #[serde(rename = "project")]
    #[param(rename = "project")]
    _project: ResourceId,
    /// The UUID of a notice.
    #[param(inline)]
    pub(super) notice: NoticeUuid,
}

/// List the notices of a project.
#[utoipa::path(get, path = "/v0/projects/{project}/notices", operation_id = "proj_notices_get", tag = "notices",
    params(ProjectPath, NoticeFilter, Page), responses((status = 200, body = Vec<Notice>)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn list(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Query(filter): Query<NoticeFilter>,
    Query(page): Query<Page>,
) -> Result<Paged<Notice>> {
    let owner = notice::NoticeOwner::Project(project.id);
    Ok(Paged(app.db.read(move |tx| notice::list(tx, owner, &filter, &page)).await?))
}

/// Create a notice.
///
/// Only this response contains the whole URL and the secret of a webhook.
#[utoipa::path(post, path = "/v0/projects/{project}/notices", operation_id = "proj_notice_post", tag = "notices",
    params(ProjectPath), request_body = NewNotice, responses((status = 201, body = Notice)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn create(
    State(app): State<App>,
    ProjectByUser { project, by }: ProjectByUser<Manage>,
    Body(new): Body<NewNotice>,
) -> Result<Created<Notice>> {
    if new.project.is_some() {
        return Err(Error::Invalid(
            "The notice of a project applies only to this project; leave `project` out.".into(),
        ));
    }
    OwnerNotices::of_project(project).create(&app, &by, new).await
}

/// View a notice.
#[utoipa::path(get, path = "/v0/projects/{project}/notices/{notice}", operation_id = "proj_notice_get",
    tag = "notices", params(NoticePath), responses((status = 200, body = Notice)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn view(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<NoticePath>,
) -> Result<Json<Notice>> {
    let owner = notice::NoticeOwner::Project(project.id);
    Ok(Json(app.db.read(move |tx| notice::find(tx, owner, path.notice)).await?.notice))
}

/// Change a notice.
///
/// Archiving a notice drops its waiting deliveries.
#[utoipa::path(patch, path = "/v0/projects/{project}/notices/{notice}", operation_id = "proj_notice_patch",
    tag = "notices", params(NoticePath), request_body = NoticePatch, responses((status = 200, body = Notice)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn update(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<NoticePath>,
    Body(patch): Body<NoticePatch>,
) -> Result<Json<Notice>> {
    OwnerNotices::of_project(project).update(&app, path.notice, patch).await
}

/// Delete a notice with its waiting deliveries and its delivery log.
#[utoipa::path(delete, path = "/v0/projects/{project}/notices/{notice}", operation_id = "proj_notice_delete",
    tag = "notices", params(NoticePath), responses((status = 204)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn delete(
    State(app): State<App>,
    ProjectByUser { project, .. }: ProjectByUser<Manage>,
    Path(path): Path<NoticePath>,
) -> Result<Deleted> {
    OwnerNotices::of_project(project).delete(&app, path.notice).await
}

/// Send a test to the destination of a notice.
///
/// The server sends it at once, also in quiet hours, and tries once. The delivery shows the result.
#[utoipa::path(post, path = "/v0/projects/{project}/notices/{notice}/test", operation_id = "proj_notice_test_post",
    tag = "notices", params(NoticePath), responses((status = 201, body = Delivery)),
    extensions(("x-right" = json!("project:manage:by_user"))))]
pub(super) async fn test(
    State(app): State<App>,
    ProjectByUser { project, by }: ProjectByUser<Manage>,
    Path(path): Path<NoticePath>,
) -> Result<Created<Delivery>> {
    OwnerNotices::of_project(project).test(&app, &by, path.notice).await
}

/// Creates, changes, tests and deletes the notices of one owner: a project or a user.
pub(super) struct OwnerNotices {
    owner: notice::NoticeOwner,
    /// The organization whose members can be recipients of the project's mails; `None` for notices of users.
    organization: Option<OrganizationId>,
    /// Slug of the owner, for the audit log.
    slug: Slug,
    origin: Origin,
}

impl OwnerNotices {
    fn of_project(project: Project<Manage>) -> Self {
        Self {
            owner: notice::NoticeOwner::Project(project.id),
            organization: Some(project.organization),
            slug: project.project.slug,
            origin: project.origin,
        }
    }

    /// Returns the value for the notices of a user.
    pub(super) fn of_user(account: Account) -> Self {
        Self {
            owner: notice::NoticeOwner::User(account.found.id),
            organization: None,
            slug: account.found.user.slug,
            origin: account.origin,
        }
    }

    /// Creates a notice. Only this response contains the whole URL and the secret of a webhook.
    pub(super) async fn create(self, app: &App, by: &SignedIn, new: NewNotice) -> Result<Created<Notice>> {
        let fresh = app.fresh();
        app.limits.check(Rule::UserCredentials, &by.found.user.uuid.to_string(), fresh.now).await?;
        let allows_private = app.config.plus.notices.private_addresses;
        let secret: Option<PlainKey> =
            (new.kind == NoticeKind::Webhook).then(|| new_secret(&fresh)).transpose()?;
        let write = move |tx: &mut Tx<'_>| {
            self.owner.lock(tx)?;
            self.check(tx, new.kind, new.url.as_ref(), new.email.as_ref(), allows_private)?;
            if notice::count(tx, self.owner)? >= notice::MAX_NOTICES {
                return Err(Error::Conflict(format!(
                    "There are {} notices, which is the maximum; delete one before you create another.",
                    notice::MAX_NOTICES
                )));
            }
            let about = match (self.owner, &new.project) {
                (notice::NoticeOwner::Project(project), _) => Some(project),
                (notice::NoticeOwner::User(_), None) => None,
                (notice::NoticeOwner::User(user), Some(wanted)) => {
                    Some(find_visible_project(tx, wanted, user)?)
                }
            };
            let branch = match (new.branch, about) {
                (Some(branch), _) => branch,
                (None, Some(project)) => default_branch(tx, project)?,
                (None, None) => None,
            };
            let filter = NotificationFilter {
                branch,
                testbed: new.testbed,
                benchmark: new.benchmark,
                direction: new.direction,
                min_change: new.min_change,
            };
            let settings = NoticeSettings {
                name: new.name,
                url: new.url,
                email: new.email,
                filter,
                quiet: new.quiet,
                digest: new.digest,
                archived: None,
            };
            let created =
                notice::create(tx, &fresh, self.owner, about, new.kind, secret.as_ref(), &settings)?.notice;
            self.audit(tx, &fresh, "notice.create", &created)?;
            Ok::<_, Error>(Notice { secret, url: settings.url.map(String::from), ..created })
        };
        Ok(Created(app.db.write(write).await?))
    }

    /// Changes a notice.
    pub(super) async fn update(
        self,
        app: &App,
        notice: NoticeUuid,
        patch: NoticePatch,
    ) -> Result<Json<Notice>> {
        let fresh = app.fresh();
        let allows_private = app.config.plus.notices.private_addresses;
        let write = move |tx: &mut Tx<'_>| {
            self.owner.lock(tx)?;
            let notice::NoticeRow { id, url, notice: before } = notice::find(tx, self.owner, notice)?;
            let filter = before.filter();
            // A notice of a user does not store the address: it belongs to the account.
            let kept = before.email.filter(|_| before.user.is_none());
            let is_moved = patch.url.is_some() || patch.email.is_some();
            let settings = NoticeSettings {
                name: patch.name.unwrap_or(before.name),
                url: patch.url.or(url),
                email: patch.email.or(kept),
                filter: NotificationFilter {
                    branch: patch.branch.unwrap_or(filter.branch),
                    testbed: patch.testbed.unwrap_or(filter.testbed),
                    benchmark: patch.benchmark.unwrap_or(filter.benchmark),
                    direction: patch.direction.unwrap_or(filter.direction),
                    min_change: patch.min_change.unwrap_or(filter.min_change),
                },
                quiet: patch.quiet.unwrap_or(before.quiet),
                digest: patch.digest.unwrap_or(before.digest),
                archived: match patch.archived {
                    Some(true) => before.archived.or(Some(fresh.now)),
                    Some(false) => None,
                    None => before.archived,
                },
            };
            if is_moved {
                let (url, email) = (settings.url.as_ref(), settings.email.as_ref());
                self.check(tx, before.kind, url, email, allows_private)?;
            }
            notice::update(tx, id, &settings, fresh.now)?;
            let changed = notice::find(tx, self.owner, notice)?.notice;
            self.audit(tx, &fresh, "notice.update", &changed)?;
            Ok::<_, Error>(changed)
        };
        Ok(Json(app.db.write(write).await?))
    }

    /// Sends a test to the destination of a notice.
    pub(super) async fn test(
        self,
        app: &App,
        by: &SignedIn,
        notice: NoticeUuid,
    ) -> Result<Created<Delivery>> {
        let fresh = app.fresh();
        // A test sends a message on behalf of the user, like an invitation.
        app.limits.check(Rule::UserInvites, &by.found.user.uuid.to_string(), fresh.now).await?;
        let write = move |tx: &mut Tx<'_>| {
            self.owner.lock(tx)?;
            let notice::NoticeRow { id, notice, .. } = notice::find(tx, self.owner, notice)?;
            let delivery = delivery::enqueue_test(tx, &fresh, id)?.map_err(|reason| {
                Error::Conflict(match reason {
                    TestError::OutOfUse => "The notice is archived; unarchive it first.".into(),
                    TestError::Waiting => "A test of the notice is still pending.".into(),
                    TestError::NoProject => {
                        "Your organizations have no project that a test could name; create a project first."
                            .into()
                    }
                })
            })?;
            self.audit(tx, &fresh, "notice.test", &notice)?;
            Ok::<_, Error>(delivery)
        };
        let delivery = app.db.write(write).await?;
        app.background.wake();
        Ok(Created(delivery))
    }

    /// Deletes a notice.
    pub(super) async fn delete(self, app: &App, notice: NoticeUuid) -> Result<Deleted> {
        let fresh = app.fresh();
        let write = move |tx: &mut Tx<'_>| {
            self.owner.lock(tx)?;
            let notice::NoticeRow { id, notice, .. } = notice::find(tx, self.owner, notice)?;
            notice::delete(tx, id)?;
            self.audit(tx, &fresh, "notice.delete", &notice)?;
            Ok::<_, Error>(Deleted)
        };
        app.db.write(write).await
    }

    fn audit(&self, tx: &mut Tx<'_>, fresh: &WriteContext, action: &str, notice: &Notice) -> Result<()> {
        let noun = match self.owner {
            notice::NoticeOwner::Project(_) => "project",
            notice::NoticeOwner::User(_) => "user",
        };
        let detail = [(noun, self.slug.as_str()), ("name", notice.name.as_str())];
        self.origin.audit(tx, fresh, action, &notice.uuid.to_string(), self.organization, &detail)
    }

    /// Checks that the destination of a notice is valid.
    fn check(
        &self,
        tx: &mut Tx<'_>,
        kind: NoticeKind,
        url: Option<&Url>,
        email: Option<&Email>,
        allows_private: bool,
    ) -> Result<()> {
        match (kind, self.organization, url, email) {
            (NoticeKind::Email, None, None, None) => Ok(()),
            (NoticeKind::Email, None, ..) => Err(Error::Invalid(
                "Your mails go to the address of your account; leave `email` and `url` out.".into(),
            )),
            (NoticeKind::Email, Some(organization), None, Some(email)) => {
                if notice::is_member(tx, organization, email)? {
                    return Ok(());
                }
                Err(Error::Invalid(
                    "`email` is not the address of a member of the organization; invite this address first."
                        .into(),
                ))
            }
            (NoticeKind::Email, Some(_), ..) => Err(Error::Invalid(
                "A notice of the kind `email` requires `email` and does not accept `url`.".into(),
            )),
            (_, _, Some(url), None) => match outgoing::rejection_reason(url.as_str(), allows_private) {
                Some(reason) => Err(Error::Invalid(format!("The notice cannot be delivered: {reason}."))),
                None => Ok(()),
            },
            _ => Err(Error::Invalid(format!(
                "A notice of the kind `{}` requires `url` and does not accept `email`.",
                kind.as_str()
            ))),
        }
    }
}

/// Returns the branch of a new notice about a project. A project without branches gets the branch that runs use by default.
fn default_branch(tx: &mut Tx<'_>, project: ProjectId) -> Result<Option<NamePattern>> {
    let name = branch::default_name(tx, project)?;
    // A name can be longer than a pattern.
    Ok(name.as_ref().map_or(run::BRANCH, BranchName::as_str).parse().ok())
}

/// Returns the project of a new notice of a user, if the user may view it.
fn find_visible_project(tx: &mut Tx<'_>, wanted: &ResourceId, user: UserId) -> Result<ProjectId> {
    let found = found_or_none(project::find(tx, wanted, Some(user)))?;
    match found {
        Some((found, _)) if project::is_visible_to(tx, found.id, user)? => Ok(found.id),
        _ => Err(hidden_project()),
    }
}
