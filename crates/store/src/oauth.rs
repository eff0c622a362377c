//! Sign-ins at identity providers that have begun, single use.

use tidemark_api::{PlanLevel, id::OrganizationUuid, name::Jwt, time::Timestamp};
use uuid::Uuid;

use crate::{Result, Row, Tx};

/// A sign-in that has begun.
#[derive(Clone, Debug)]
pub struct OAuth {
    /// The id inside the state that the provider hands back.
    pub uuid: Uuid,
    /// The provider.
    pub provider: String,
    /// The hash of the secret in the cookie of the browser that began it, or of the verifier that the client keeps.
    pub browser: Vec<u8>,
    /// Whether it is a verifier of the client.
    pub has_challenge: bool,
    /// What the provider must repeat in the token it signs.
    pub nonce: String,
    /// What proves to the provider that the one who began is the one who ends.
    pub verifier: String,
    /// The invitation to take up.
    pub invite: Option<Jwt>,
    /// The organization to claim.
    pub claim: Option<OrganizationUuid>,
    /// The plan the person has in mind.
    pub plan: Option<PlanLevel>,
    /// When it runs out.
    pub expires: Timestamp,
}

const COLUMNS: &str = "uuid, provider, browser, has_challenge, nonce, verifier, invite, claim, plan, expires";

fn read(row: &Row<'_>) -> Result<OAuth> {
    let cells = &mut row.cells();
    Ok(OAuth {
        uuid: cells.take()?,
        provider: cells.take()?,
        browser: cells.take()?,
        has_challenge: cells.take()?,
        nonce: cells.take()?,
        verifier: cells.take()?,
        invite: cells.take()?,
        claim: cells.take()?,
        plan: cells.take()?,
        expires: cells.take()?,
    })
}

/// Remembers that a sign-in has begun.
pub fn create(tx: &mut Tx<'_>, begun: &OAuth) -> Result<()> {
    tx.execute(
        &format!("insert into oauth ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
        &[
            &begun.uuid,
            &begun.provider,
            &begun.browser.as_slice(),
            &begun.has_challenge,
            &begun.nonce,
            &begun.verifier,
            &begun.invite,
            &begun.claim,
            &begun.plan,
            &begun.expires,
        ],
    )?;
    Ok(())
}

/// Who completes a sign-in.
#[derive(Clone, Debug)]
pub enum Proof {
    /// The browser that began it, by the hash of the secret in its cookie.
    Cookie(Vec<u8>),
    /// The client that began it, by the hash of its verifier.
    Verifier(Vec<u8>),
    /// A client without proof; it completes only a sign-in that began without a challenge.
    None,
}

/// Takes a sign-in out of the table for the client that began it, so that it can be ended once.
pub fn take(tx: &mut Tx<'_>, uuid: Uuid, proof: &Proof, now: Timestamp) -> Result<Option<OAuth>> {
    let (has_challenge, hash) = match proof {
        Proof::Cookie(hash) => (false, Some(hash.as_slice())),
        Proof::Verifier(hash) => (true, Some(hash.as_slice())),
        Proof::None => (false, None),
    };
    tx.optional(
        &format!(
            "delete from oauth where uuid = $1 and has_challenge = $2 and browser = coalesce($3, browser)
             and expires > $4 returning {COLUMNS}"
        ),
        &[&uuid, &has_challenge, &hash, &now],
        read,
    )
}

/// Forgets sign-ins that have run out.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from oauth where expires <= $1", &[&now])
}
