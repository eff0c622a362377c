//! What happens once somebody has proven to own an address, be it by a mailed link or at an identity provider: the account
//! is confirmed, what waited for that happens, and a session begins.

use tidemark_api::{
    Accounts, Email, InvitationUuid, Jwt, OrganizationRole, OrganizationUuid, ResourceId, SignUp, Slug,
    Timestamp, UserName,
};
use tidemark_store::{Fresh, Lock, Tx, UserId, invitation, member, organization, session, sso, user};
use uuid::Uuid;

use super::{
    access::found_or_none,
    error::{Error, Result},
    organization::personal,
    origin::Origin,
};
use crate::{
    domain::{
        app::App,
        auth::{
            caller::{SignedIn, Via},
            jwt::Audience,
        },
    },
    infra::{
        config::Access,
        mail::{self, Message},
    },
};

/// What somebody wants besides a session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    /// The invitation to take up.
    pub(super) invitation: Option<InvitationUuid>,
    /// The organization to claim.
    pub(super) claim: Option<OrganizationUuid>,
}

/// Refuses a new address whose local part is quoted: mail programs and providers disagree on what it means. An account
/// that has one keeps it and signs in with it.
pub(super) fn check_new_address(email: &Email) -> Result<()> {
    if !email.as_str().contains('"') {
        return Ok(());
    }
    Err(Error::Invalid(
        "The body is wrong at `email`: an e-mail address looks like name@example.org, without quotation marks.".into(),
    ))
}

/// Makes an account, and the organization that its owner starts with unless an invitation leads into another. The address
/// is not proven by that.
pub(super) fn register(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    origin: &Origin,
    name: &UserName,
    slug: Option<&Slug>,
    email: &Email,
    invited: bool,
) -> Result<user::UserRow> {
    let found = user::create(tx, fresh, name, slug, email)?;
    origin.audit(tx, fresh, "user.create", found.user.slug.as_str(), None, &[])?;
    if !invited {
        personal(tx, fresh, origin, &found)?;
    }
    Ok(found)
}

/// Everything that waited for the proof of the address happens now. Answers the new session.
pub(super) fn enter(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    origin: &Origin,
    user: UserId,
    email: &Email,
    wishes: Wishes,
    expires: Timestamp,
) -> Result<Uuid> {
    tx.lock(Lock::User(user.get()))?;
    let found = user::by_id(tx, user)?;
    if found.user.locked {
        return Err(Error::Forbidden(
            "This account is locked; an administrator of the server can unlock it.".into(),
        ));
    }
    // The proof says who is calling.
    let by = SignedIn { found: found.clone(), via: Via::Session };
    let origin = &Origin { actor: by.actor(), ..origin.clone() };
    let slug = found.user.slug.as_str();
    if *email != found.user.email {
        // Whoever signs up with that address right now waits, and then finds the account.
        tx.lock(Lock::Server)?;
        user::set_email(tx, found.id, email, fresh.now)?;
        let notice = Message::EmailChanged { name: found.user.name.clone(), email: email.clone() };
        mail::enqueue(tx, fresh.now, &found.user.email, &notice)?;
        let (from, to) = (found.user.email.masked(), email.masked());
        origin.audit(tx, fresh, "user.email", slug, None, &[("from", &from), ("to", &to)])?;
    }
    user::confirm(tx, found.id, fresh.now)?;
    if found.confirmed.is_none() && !found.user.admin {
        // Not before: anybody can sign up with any name and address.
        let (name, invited) = (found.user.name.clone(), wishes.invitation.is_some());
        let notice = Message::NewUser { name, email: email.clone(), invited };
        let admins = user::admins(tx)?;
        mail::enqueue_to_all(tx, fresh.now, admins.iter().map(|admin| &admin.email), &notice)?;
    }
    if let Some(invited) = wishes.invitation {
        // Somebody who was invited twice, or whose invitation was revoked meanwhile, still signs in.
        match join(tx, fresh, origin, &found, invited) {
            Ok(()) | Err(Error::Unauthorized(_) | Error::Conflict(_) | Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(claim) = wishes.claim
        && let Some(claimed) = found_or_none(organization::find(tx, &ResourceId::Uuid(claim.uuid())))?
        && member::role(tx, claimed.id, found.id)?.is_none()
        // Somebody else may have been faster; that does not stand in the way of signing in.
        && organization::claim(tx, claimed.id, fresh.now)?
    {
        member::add(tx, claimed.id, found.id, OrganizationRole::Leader, fresh.now)?;
        let target = claimed.organization.slug.as_str();
        origin.audit(tx, fresh, "organization.claim", target, Some(claimed.id), &[])?;
    }
    join_domain(tx, fresh, origin, &found, email)?;
    if !member::has_any(tx, found.id)? {
        personal(tx, fresh, origin, &found)?;
    }
    let address = origin.address.map(|address| address.to_string());
    let place = session::SessionOrigin { address: address.as_deref(), agent: origin.agent.as_deref() };
    let session = session::open(tx, fresh, found.id, place, expires)?;
    origin.audit(tx, fresh, "session.open", slug, None, &[])?;
    Ok(session)
}

/// Makes somebody a member of the organization that the domain of the proven address belongs to.
fn join_domain(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    origin: &Origin,
    found: &user::UserRow,
    email: &Email,
) -> Result<()> {
    let Some(organization) = sso::organization(tx, email.domain())? else { return Ok(()) };
    tx.lock(Lock::Organization(organization.get()))?;
    if member::role(tx, organization, found.id)?.is_none() {
        let role = OrganizationRole::Member;
        member::add(tx, organization, found.id, role, fresh.now)?;
        let detail = [("role", role.as_str()), ("domain", email.domain())];
        origin.audit(tx, fresh, "member.add", found.user.slug.as_str(), Some(organization), &detail)?;
    }
    Ok(())
}

/// Takes up an invitation: once, while it is good, for a user who is not a member yet.
pub(super) fn join(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    origin: &Origin,
    found: &user::UserRow,
    invited: InvitationUuid,
) -> Result<()> {
    let offered = pending(tx, invited, fresh.now)?;
    tx.lock(Lock::Organization(offered.organization.get()))?;
    if member::role(tx, offered.organization, found.id)?.is_some() {
        return Err(Error::Conflict("You are a member of the organization already.".into()));
    }
    if !invitation::accept(tx, invited, fresh.now)? {
        return Err(bad_invitation());
    }
    let role = offered.invitation.role;
    if role == OrganizationRole::Leader {
        // An organization that nobody owns is owned from its first leader on.
        organization::claim(tx, offered.organization, fresh.now)?;
    }
    member::add(tx, offered.organization, found.id, role, fresh.now)?;
    let slug = found.user.slug.as_str();
    origin.audit(tx, fresh, "member.add", slug, Some(offered.organization), &[("role", role.as_str())])
}

pub(super) fn bad_invitation() -> Error {
    Error::Unauthorized(
        "The invitation is not valid: it was used, revoked, has run out or is for another address; ask for another."
            .into(),
    )
}

/// The invitation in a token, if it is for this address.
pub(super) fn invited(
    app: &App,
    invite: Option<&Jwt>,
    email: &Email,
    now: Timestamp,
) -> Result<Option<InvitationUuid>> {
    let Some(invite) = invite else { return Ok(None) };
    app.signer
        .verify(invite.as_ref(), &[Audience::Invite], now)
        .filter(|claims| claims.sub == *email)
        .and_then(|claims| claims.jti)
        .map(|jti| Some(jti.into()))
        .ok_or_else(bad_invitation)
}

/// The invitation, if it can still be taken up.
pub(super) fn pending(
    tx: &mut Tx<'_>,
    invited: InvitationUuid,
    now: Timestamp,
) -> Result<invitation::InvitationRow> {
    match invitation::find(tx, invited, now) {
        Ok(found) if found.invitation.status == tidemark_api::InvitationStatus::Pending => Ok(found),
        Ok(_) | Err(tidemark_store::Error::NotFound(_)) => Err(bad_invitation()),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to make an account with an invitation that is not pending, or without one where the operator wants one. The
/// first account of a server is always possible.
pub(super) fn may_sign_up(
    tx: &mut Tx<'_>,
    access: &Access,
    invitation: Option<InvitationUuid>,
    now: Timestamp,
) -> Result<()> {
    if let Some(invitation) = invitation {
        return pending(tx, invitation, now).map(drop);
    }
    if access.sign_up == SignUp::Open || user::accounts(tx)? == Accounts::None {
        return Ok(());
    }
    Err(Error::Forbidden(
        "Sign-up on this server is by invitation only; ask a leader of an organization to invite you.".into(),
    ))
}

/// Refuses the first sign-in to an account that could not be made now: an invitation may have been revoked since.
pub(super) fn may_sign_in(
    tx: &mut Tx<'_>,
    access: &Access,
    user: UserId,
    invitation: Option<InvitationUuid>,
    now: Timestamp,
) -> Result<()> {
    let found = user::by_id(tx, user)?;
    if access.sign_up == SignUp::Open || found.confirmed.is_some() || found.user.admin {
        return Ok(());
    }
    may_sign_up(tx, access, invitation, now)
}

/// The refusal of a claim at sign-up where claims need a token.
pub(super) fn claim_needs_token() -> Error {
    Error::Forbidden(
        "Claims on this server need the claim token that the first run was given; sign up without `claim`, then POST the \
         token to /v0/organizations/{organization}/claim."
            .into(),
    )
}
