//! Pending sign-ins at identity providers, single-use.

use tidemark_api::{PlanLevel, id::OrganizationUuid, name::Jwt, time::Timestamp};
use uuid::Uuid;

use crate::{Result, Tx, columns::columns};

columns!(
    /// A pending sign-in.
    #[derive(Clone, Debug)]
    pub struct PendingSignIn {
        /// UUID in the state that the provider returns.
        pub uuid: Uuid = "uuid",
        /// Provider.
        pub provider: String = "provider",
        /// Hash of the secret in the cookie of the browser that started the sign-in, or of the verifier of the client.
        pub browser: Vec<u8> = "browser",
        /// Whether the hash is that of a verifier of the client.
        pub has_challenge: bool = "has_challenge",
        /// Nonce that the provider must include in the ID token.
        pub nonce: String = "nonce",
        /// PKCE verifier, which proves to the provider that the same client started and completes the sign-in.
        pub verifier: String = "verifier",
        /// Invitation to accept.
        pub invite: Option<Jwt> = "invite",
        /// Organization to claim.
        pub claim: Option<OrganizationUuid> = "claim",
        /// Plan that the user has chosen.
        pub plan: Option<PlanLevel> = "plan",
        /// Expiry time.
        pub expires: Timestamp = "expires",
    }
);

/// Inserts a pending sign-in.
pub fn create(tx: &mut Tx<'_>, begun: &PendingSignIn) -> Result<()> {
    tx.execute(
        "insert into oauth (uuid, provider, browser, has_challenge, nonce, verifier, invite, claim, plan,
                            expires)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
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

/// Proof of the client that completes a sign-in.
#[derive(Clone, Debug)]
pub enum SignInProof {
    /// Hash of the secret in the cookie of the browser that started the sign-in.
    Cookie(Vec<u8>),
    /// Hash of the verifier of the client that started the sign-in.
    Verifier(Vec<u8>),
    /// No proof; completes only a sign-in that was started without a challenge.
    None,
}

/// Deletes and returns a sign-in for the client that started it, so that it can be completed only once.
pub fn consume(
    tx: &mut Tx<'_>,
    uuid: Uuid,
    proof: &SignInProof,
    now: Timestamp,
) -> Result<Option<PendingSignIn>> {
    let (has_challenge, hash) = match proof {
        SignInProof::Cookie(hash) => (false, Some(hash.as_slice())),
        SignInProof::Verifier(hash) => (true, Some(hash.as_slice())),
        SignInProof::None => (false, None),
    };
    tx.fetch_optional(
        "delete from oauth where uuid = $1 and has_challenge = $2 and browser = coalesce($3, browser)
         and expires > $4 returning {columns}",
        &[&uuid, &has_challenge, &hash, &now],
    )
}

/// Deletes expired sign-ins.
pub fn purge(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute("delete from oauth where expires <= $1", &[&now])
}
