//! Licenses of organizations, verified if the operator has configured the key that signs them. No feature requires a license: it
//! documents what was agreed, and until when.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, errors::ErrorKind};
use serde::{Deserialize, Serialize};
use tidemark_api::{Entitlements, Jwt, License, OrganizationUuid, PlanLevel, Timestamp};

use crate::{
    domain::error::{Error, Result},
    infra::config::{Config, Licenses},
};

/// The claims of a license.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    sub: OrganizationUuid,
    lvl: PlanLevel,
    ent: Entitlements,
}

/// The claims of a license that this server signs.
#[derive(Serialize)]
struct Signed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    #[serde(flatten)]
    claims: Claims,
}

/// Returns the license in a token that was signed for this organization. It may have expired. `None` if no key is configured.
pub(crate) fn read(config: &Config, key: &Jwt, organization: OrganizationUuid) -> Result<Option<License>> {
    let Some(settings) = &config.plus.license else { return Ok(None) };
    let wrong = |reason: &str| Error::Invalid(format!("The license cannot be used: {reason}."));
    let signer = DecodingKey::from_ec_pem(settings.public_key.as_bytes())
        .map_err(|error| Error::Internal(error.into()))?;
    let mut validation = Validation::new(Algorithm::ES256);
    // The caller compares the expiration with the clock of the server. It does not matter for display.
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
            ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => {
                "its issuer or audience is not the configured one"
            }
            ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => {
                "its signature does not match the configured public key"
            }
            _ => "its claims are not those of a license",
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

/// Rejects an invalid or expired license.
pub(crate) fn check(
    config: &Config,
    key: &Jwt,
    organization: OrganizationUuid,
    now: Timestamp,
) -> Result<()> {
    match read(config, key, organization)? {
        None => Err(Error::Invalid(
            "This server has no license key configured and requires no license: all features work without a \
             license."
                .into(),
        )),
        Some(license) if license.expiration <= now => {
            Err(Error::Invalid(format!("The license cannot be used: it expired on {}.", license.expiration)))
        }
        Some(_) => Ok(()),
    }
}

/// Rejects a key that cannot sign.
pub(crate) fn check_key(settings: &Licenses) -> Result<()> {
    let key = settings.private_key.as_ref();
    match key.map(|key| EncodingKey::from_ec_pem(key.expose().as_bytes())) {
        Some(Err(_)) => Err(Error::Internal(
            "plus.license.private_key is not an elliptic-curve private key in PEM format (PKCS #8)".into(),
        )),
        _ => Ok(()),
    }
}

/// Signs a license for an organization, if the operator has configured the private key.
pub(crate) fn sign(
    settings: &Licenses,
    organization: OrganizationUuid,
    level: PlanLevel,
    entitlements: Entitlements,
    issued_at: Timestamp,
    expiration: Timestamp,
) -> Result<License> {
    let internal = |error: jsonwebtoken::errors::Error| Error::Internal(error.into());
    let key = settings
        .private_key
        .as_ref()
        .ok_or_else(|| Error::Internal("plus.license.private_key is not configured".into()))?;
    let signer = EncodingKey::from_ec_pem(key.expose().as_bytes()).map_err(internal)?;
    let claims = Claims {
        iat: issued_at.seconds(),
        exp: expiration.seconds(),
        sub: organization,
        lvl: level,
        ent: entitlements,
    };
    let claims = Signed { iss: settings.issuer.as_deref(), aud: settings.audience.as_deref(), claims };
    let signed = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &signer).map_err(internal)?;
    let key =
        signed.parse().map_err(|error| Error::Internal(format!("a license is no token: {error}").into()))?;
    Ok(License { key, organization, level, entitlements, issued_at, expiration })
}
