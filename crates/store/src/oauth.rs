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
    /// The hash of what the browser holds that began it.
    pub browser: Vec<u8>,
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

const COLUMNS: &str = "uuid, provider, browser, nonce, verifier, invite, claim, plan, expires";

fn read(row: &Row<'_>) -> Result<OAuth> {
    let cells = &mut row.cells();
    Ok(OAuth {
        uuid: cells.take()?,
        provider: cells.take()?,
        browser: cells.take()?,
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
        &format!("insert into oauth ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"),
        &[
            &begun.uuid,
            &begun.provider,
            &begun.browser.as_slice(),
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

/// Takes a sign-in that this browser began out of the table, so that it can be ended once.
pub fn take(tx: &mut Tx<'_>, uuid: Uuid, browser: &[u8], now: Timestamp) -> Result<Option<OAuth>> {
    tx.optional(
        &format!("delete from oauth where uuid = $1 and browser = $2 and expires > $3 returning {COLUMNS}"),
        &[&uuid, &browser, &now],
        read,
    )
}

/// Forgets sign-ins that have run out.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from oauth where expires <= $1", &[&now])
}
