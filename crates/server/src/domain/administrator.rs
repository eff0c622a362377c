//! The first administrator of a server, created by an operator who can open the database. Sign-up over HTTP is in
//! `transport/http/auth.rs`.

use tidemark_api::{
    Actor, ActorKind, Email, KeyFilter, OrganizationRole, OrganizationUuid, Page, PlainKey, ResourceName,
    User, UserName,
};
use tidemark_store::{Lock, Tx, WriteContext, audit, key, member, organization, sign_in, user};
use url::Url;

use super::{
    app::App,
    auth::{
        jwt::Audience,
        key::{KeyKind, generate, hash},
    },
    error::{Error, Result},
};

/// Lifetime of the sign-in link, in seconds.
const LINK_SECONDS: i64 = 30 * 60;

/// The wanted administrator and key.
#[derive(Clone)]
pub struct NewAdministrator {
    /// Address of the account.
    pub email: Email,
    /// Name of the account.
    pub name: UserName,
    /// Name of the key.
    pub key_name: ResourceName,
    /// A key from an earlier call. If it is still valid, no key is created.
    pub known_key: Option<String>,
    /// Whether to revoke an existing key with the same name.
    pub replaces_key: bool,
}

/// The administrator after the call.
pub struct Administrator {
    /// The account.
    pub user: User,
    /// Whether the account was created.
    pub is_new: bool,
    /// The new key; `None` if the known key is valid.
    pub key: Option<PlainKey>,
    /// A link that signs in once, in a browser.
    pub link: Url,
}

/// Creates the first administrator, with a confirmed address, a personal organization and a key. Repeating the call with the
/// same address and the known key changes nothing.
pub async fn create(app: &App, new: NewAdministrator) -> Result<Administrator> {
    let fresh = app.fresh();
    let plain = generate(&fresh, &app.config.security.key_prefix, KeyKind::User);
    let now = fresh.now;
    let expires = now.plus_seconds(LINK_SECONDS);
    let secret = plain.clone();
    let (user, is_new, has_new_key, link) = app
        .db
        .write(move |tx| {
            tx.lock(Lock::Server)?;
            let (found, is_new) = find_or_create(tx, &fresh, &new)?;
            let has_new_key = ensure_key(tx, &fresh, &found, &new, &secret)?;
            let link = sign_in::create(tx, &fresh, found.id, &new.email, None, None, expires)?;
            Ok::<_, Error>((found.user, is_new, has_new_key, link.uuid))
        })
        .await?;
    let token = app.signer.sign(Audience::Auth, link, &user.email, None, now, expires);
    let mut link = app.config.console.url.as_ref().parse::<Url>().map_err(|error| internal(&error))?;
    link.path_segments_mut()
        .map_err(|()| internal(&"console.url has no path"))?
        .pop_if_empty()
        .extend(["auth", "confirm"]);
    link.query_pairs_mut().append_pair("token", token.as_str());
    Ok(Administrator { user, is_new, key: has_new_key.then_some(plain), link })
}

/// Returns the administrator with this address, and whether the account was created.
fn find_or_create(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    new: &NewAdministrator,
) -> Result<(user::UserRow, bool)> {
    if let Some(found) = user::by_email(tx, &new.email)? {
        if !found.user.admin || found.user.locked {
            let state = if found.user.locked { "locked" } else { "not an administrator" };
            return Err(Error::Conflict(format!(
                "The account {} is {state}; an administrator can change this with `tidemark user update {}`.",
                new.email, found.user.slug
            )));
        }
        user::confirm(tx, found.id, fresh.now)?;
        return Ok((found, false));
    }
    let others = user::admins(tx)?;
    if let Some(other) = others.first() {
        return Err(Error::Conflict(format!(
            "The server already has the administrator {}; pass this address, or sign in as this administrator and \
             invite {}.",
            other.email, new.email
        )));
    }
    let found = user::create(tx, fresh, &new.name, None, &new.email)?;
    user::confirm(tx, found.id, fresh.now)?;
    let found = if found.user.admin {
        found
    } else {
        // Accounts exist, but no administrator.
        let change = user::UserUpdate { admin: Some(true), ..user::UserUpdate::default() };
        user::update(tx, found.id, &change, fresh.now)?
    };
    record(tx, fresh, "user.create", found.user.slug.as_str(), &[])?;
    let name = found.user.name.as_str().parse::<ResourceName>().map_err(|error| internal(&error))?;
    let uuid = OrganizationUuid::from(found.user.uuid.uuid());
    let personal = organization::create(tx, fresh, Some(uuid), &name, Some(&found.user.slug))?;
    organization::claim(tx, personal.id, fresh.now)?;
    member::add(tx, personal.id, found.id, OrganizationRole::Leader, fresh.now)?;
    record(tx, fresh, "organization.create", personal.organization.slug.as_str(), &[])?;
    Ok((found, true))
}

/// Stores the new key unless the known key is valid. Returns whether the new key was stored.
fn ensure_key(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    found: &user::UserRow,
    new: &NewAdministrator,
    plain: &PlainKey,
) -> Result<bool> {
    if let Some(known) = &new.known_key
        && let Some((_, owner)) = key::authenticate(tx, &hash(known), fresh.now)?
        && owner.id == found.id
        && !new.replaces_key
    {
        return Ok(false);
    }
    let filter = KeyFilter { name: Some(new.key_name.clone()), ..KeyFilter::default() };
    let (_, existing) = key::list(tx, found.id, None, &filter, &Page::default())?;
    if existing > 0 && !new.replaces_key {
        return Err(Error::Conflict(format!(
            "The account {} already has a key `{}`, and a key is shown only once; pass --replace-key to revoke it and \
             create a new key, or --key-name for another key.",
            new.email, new.key_name
        )));
    }
    if existing > 0 {
        key::revoke_named(tx, found.id, &new.key_name, fresh.now)?;
        let detail = [("user", found.user.slug.as_str())];
        record(tx, fresh, "user_key.revoke", new.key_name.as_str(), &detail)?;
    }
    let expires = fresh.now.plus_seconds(i64::from(u32::MAX));
    let hashed = hash(plain.as_str());
    let row = key::NewKeyRow { name: &new.key_name, hash: &hashed, expires };
    let created = key::create(tx, fresh, found.id, row)?;
    let detail = [("user", found.user.slug.as_str()), ("name", created.name.as_str())];
    record(tx, fresh, "user_key.create", &created.uuid.to_string(), &detail)?;
    Ok(true)
}

/// Writes an entry of the operator to the audit log.
fn record(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    action: &str,
    target: &str,
    detail: &[(&str, &str)],
) -> Result<()> {
    let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
    let entry =
        audit::NewAuditRow { actor: &actor, address: None, action, target, organization: None, detail };
    Ok(audit::add(tx, fresh, &entry)?)
}

fn internal(error: &dyn std::fmt::Display) -> Error {
    Error::Internal(error.to_string().into())
}
