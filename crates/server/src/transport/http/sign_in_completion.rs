//! Completion of a sign-in after the user has proven ownership of the address, by a mailed link or at an identity provider:
//! confirms the account, applies pending requests and creates the session.

use tidemark_api::{
    Accounts, Email, InvitationUuid, Jwt, OrganizationRole, OrganizationUuid, ResourceId, SignUp, Slug,
    Timestamp, UserName,
};
use tidemark_store::{Lock, Tx, UserId, WriteContext, invitation, member, organization, session, sso, user};
use uuid::Uuid;

use super::{
    access::found_or_none,
    error::{Error, Result},
    organization::create_personal,
    origin::Origin,
};
use crate::{
    domain::{
        app::App,
        auth::{
            caller::{AuthMethod, SignedIn},
            jwt::Audience,
        },
    },
    infra::{
        config::Access,
        mail::{self, Message},
    },
};

/// Optional requests of a sign-in, in addition to the session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SignInOptions {
    /// The invitation to accept.
    pub(super) invitation: Option<InvitationUuid>,
    /// The organization to claim.
    pub(super) claim: Option<OrganizationUuid>,
}

/// Rejects a new address with a quoted local part: mail programs and providers interpret it differently. Existing accounts keep
/// these addresses and can sign in with them.
pub(super) fn check_new_address(email: &Email) -> Result<()> {
    if !email.as_str().contains('"') {
        return Ok(());
    }
    Err(Error::Invalid(
        "The body is invalid at `email`: an e-mail address looks like name@example.org, without quotation \
         marks."
            .into(),
    ))
}

/// Creates an account, and its personal organization unless it is created for an invitation. Does not confirm the address.
pub(super) fn register(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    name: &UserName,
    slug: Option<&Slug>,
    email: &Email,
    invited: bool,
) -> Result<user::UserRow> {
    let found = user::create(tx, fresh, name, slug, email)?;
    origin.audit(tx, fresh, "user.create", found.user.slug.as_str(), None, &[])?;
    if !invited {
        create_personal(tx, fresh, origin, &found)?;
    }
    Ok(found)
}

/// Confirms the address, applies all requests that required this, and returns the new session.
pub(super) fn complete(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    user: UserId,
    email: &Email,
    options: SignInOptions,
    expires: Timestamp,
) -> Result<Uuid> {
    tx.lock(Lock::User(user.get()))?;
    let found = user::by_id(tx, user)?;
    if found.user.locked {
        return Err(Error::Forbidden(
            "This account is locked; an administrator of the server can unlock it.".into(),
        ));
    }
    // The proof of the address identifies the caller.
    let by = SignedIn { found: found.clone(), via: AuthMethod::Session };
    let origin = &Origin { actor: by.actor(), ..origin.clone() };
    let slug = found.user.slug.as_str();
    if *email != found.user.email {
        // A concurrent sign-up with that address waits for the lock and then finds the account.
        tx.lock(Lock::Server)?;
        user::set_email(tx, found.id, email, fresh.now)?;
        let notice = Message::EmailChanged { name: found.user.name.clone(), email: email.clone() };
        mail::enqueue(tx, fresh.now, &found.user.email, &notice)?;
        let (from, to) = (found.user.email.masked(), email.masked());
        origin.audit(tx, fresh, "user.email", slug, None, &[("from", &from), ("to", &to)])?;
    }
    user::confirm(tx, found.id, fresh.now)?;
    if found.confirmed.is_none() && !found.user.admin {
        // Not before the confirmation: until then, the name and address are unverified.
        let (name, invited) = (found.user.name.clone(), options.invitation.is_some());
        let notice = Message::NewUser { name, email: email.clone(), invited };
        let admins = user::admins(tx)?;
        mail::enqueue_to_all(tx, fresh.now, admins.iter().map(|admin| &admin.email), &notice)?;
    }
    if let Some(invited) = options.invitation {
        // A user with two invitations, or whose invitation was revoked in the meantime, can still sign in.
        match accept_invitation(tx, fresh, origin, &found, invited) {
            Ok(()) | Err(Error::Unauthorized(_) | Error::Conflict(_) | Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(claim) = options.claim
        && let Some(claimed) = found_or_none(organization::find(tx, &ResourceId::Uuid(claim.uuid())))?
        && member::role(tx, claimed.id, found.id)?.is_none()
        // If another user has claimed the organization in the meantime, the sign-in still succeeds.
        && organization::claim(tx, claimed.id, fresh.now)?
    {
        member::add(tx, claimed.id, found.id, OrganizationRole::Leader, fresh.now)?;
        let target = claimed.organization.slug.as_str();
        origin.audit(tx, fresh, "organization.claim", target, Some(claimed.id), &[])?;
    }
    join_domain(tx, fresh, origin, &found, email)?;
    if !member::has_any(tx, found.id)? {
        create_personal(tx, fresh, origin, &found)?;
    }
    let address = origin.address.map(|address| address.to_string());
    let place = session::SessionOrigin { address: address.as_deref(), agent: origin.agent.as_deref() };
    let session = session::open(tx, fresh, found.id, place, expires)?;
    origin.audit(tx, fresh, "session.open", slug, None, &[])?;
    Ok(session)
}

/// Makes a user a member of the organization that the domain of the confirmed address belongs to.
fn join_domain(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
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

/// Accepts an invitation: works once, before it expires, for a user who is not yet a member.
pub(super) fn accept_invitation(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    origin: &Origin,
    found: &user::UserRow,
    invited: InvitationUuid,
) -> Result<()> {
    let offered = find_pending_invitation(tx, invited, fresh.now)?;
    tx.lock(Lock::Organization(offered.organization.get()))?;
    if member::role(tx, offered.organization, found.id)?.is_some() {
        return Err(Error::Conflict("You are already a member of the organization.".into()));
    }
    if !invitation::accept(tx, invited, fresh.now)? {
        return Err(invalid_invitation());
    }
    let role = offered.invitation.role;
    if role == OrganizationRole::Leader {
        // The first leader of an unclaimed organization claims it.
        organization::claim(tx, offered.organization, fresh.now)?;
    }
    member::add(tx, offered.organization, found.id, role, fresh.now)?;
    let slug = found.user.slug.as_str();
    origin.audit(tx, fresh, "member.add", slug, Some(offered.organization), &[("role", role.as_str())])
}

pub(super) fn invalid_invitation() -> Error {
    Error::Unauthorized(
        "The invitation is not valid: it was already used, was revoked, has expired or is for another \
         address; ask for a new invitation."
            .into(),
    )
}

/// Returns the invitation of a token, if it is for this address.
pub(super) fn verify_invitation(
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
        .ok_or_else(invalid_invitation)
}

/// Returns the invitation, if it can still be accepted.
pub(super) fn find_pending_invitation(
    tx: &mut Tx<'_>,
    invited: InvitationUuid,
    now: Timestamp,
) -> Result<invitation::InvitationRow> {
    match invitation::find(tx, invited, now) {
        Ok(found) if found.invitation.status == tidemark_api::InvitationStatus::Pending => Ok(found),
        Ok(_) | Err(tidemark_store::Error::NotFound(_)) => Err(invalid_invitation()),
        Err(error) => Err(error.into()),
    }
}

/// Rejects a sign-up with an invitation that is not pending, or without an invitation if the server requires one. The first
/// account of a server is always allowed.
pub(super) fn may_sign_up(
    tx: &mut Tx<'_>,
    access: &Access,
    invitation: Option<InvitationUuid>,
    now: Timestamp,
) -> Result<()> {
    if let Some(invitation) = invitation {
        return find_pending_invitation(tx, invitation, now).map(drop);
    }
    if access.sign_up == SignUp::Open || user::accounts(tx)? == Accounts::None {
        return Ok(());
    }
    Err(Error::Forbidden(
        "Sign-up on this server is by invitation only; ask a leader of an organization to invite you.".into(),
    ))
}

/// Rejects the first sign-in to an account that could not be created now, for example because its invitation was revoked in the
/// meantime.
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

/// Returns the error for a claim at sign-up if claims require a token.
pub(super) fn claim_needs_token() -> Error {
    Error::Forbidden(
        "A claim on this server requires the claim token that the first run returned; sign up without \
         `claim`, then POST the token to /v0/organizations/{organization}/claim."
            .into(),
    )
}
