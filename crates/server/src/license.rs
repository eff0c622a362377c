//! Licenses of organizations, checked where an operator has configured the key that signs them. Nothing here needs one:
//! a license says what was agreed on, and until when.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, errors::ErrorKind};
use serde::Deserialize;
use tidemark_api::{Jwt, License, OrganizationUuid, PlanLevel, Timestamp};

use crate::{
    config::Config,
    http::error::{Error, Result},
};

/// What a license says.
#[derive(Clone, Debug, Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    sub: OrganizationUuid,
    lvl: PlanLevel,
    ent: u32,
}

/// The license in a token, if it was signed for this organization; whether it has run out is told by its times. `None`
/// where no key is configured.
pub(crate) fn read(config: &Config, key: &Jwt, organization: OrganizationUuid) -> Result<Option<License>> {
    let Some(settings) = &config.plus.license else { return Ok(None) };
    let wrong = |reason: &str| Error::Invalid(format!("The license cannot be used: {reason}."));
    let signer = DecodingKey::from_ec_pem(settings.public_key.as_bytes())
        .map_err(|error| Error::Internal(error.into()))?;
    let mut validation = Validation::new(Algorithm::ES256);
    // By the clock of the server, and not at all for one that is only shown.
    validation.validate_exp = false;
    validation.validate_aud = settings.audience.is_some();
    if let Some(audience) = &settings.audience {
        validation.set_audience(&[audience]);
    }
    if let Some(issuer) = &settings.issuer {
        validation.set_issuer(&[issuer]);
    }
    let claims = jsonwebtoken::decode::<Claims>(key.as_str(), &signer, &validation).map_err(|error| {
        wrong(match error.kind() {
            ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => "it was signed by or for somebody else",
            ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => {
                "it was not signed with the key that this server trusts"
            }
            _ => "it does not say what a license says",
        })
    })?;
    let claims = claims.claims;
    if claims.sub != organization {
        return Err(wrong("it is for another organization"));
    }
    Ok(Some(License {
        key: key.clone(),
        organization,
        level: claims.lvl,
        entitlements: claims.ent,
        issued_at: Timestamp::from_micros(claims.iat.saturating_mul(1_000_000)),
        expiration: Timestamp::from_micros(claims.exp.saturating_mul(1_000_000)),
    }))
}

/// Refuses a license that cannot be kept: one that is not good, or has run out.
pub(crate) fn check(
    config: &Config,
    key: &Jwt,
    organization: OrganizationUuid,
    now: Timestamp,
) -> Result<()> {
    match read(config, key, organization)? {
        None => Err(Error::Invalid(
            "This server has no license key configured and needs no license: every feature works without one.".into(),
        )),
        Some(license) if license.expiration <= now => Err(Error::Invalid(format!(
            "The license cannot be used: it ran out on {}.",
            license.expiration
        ))),
        Some(_) => Ok(()),
    }
}
