//! The tokens that this server signs: HS256, with the claims of the contract and an additional id (`jti`), so that each token can
//! be used once or revoked.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tidemark_api::{Email, Jwt, OrganizationRole, OrganizationUuid, Timestamp};
use uuid::Uuid;

/// The purpose of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// A mailed sign-in link.
    Auth,
    /// A session.
    Client,
    /// A deprecated API token. It is accepted, but not issued.
    ApiKey,
    /// An invitation to an organization.
    Invite,
}

/// The claims of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    /// The purpose.
    pub aud: Audience,
    /// Expiration time, in seconds since the epoch.
    pub exp: i64,
    /// Time of signing, in seconds since the epoch.
    pub iat: i64,
    /// The server that signed the token.
    pub iss: String,
    /// The e-mail address of the user.
    pub sub: Email,
    /// The organization of an invitation.
    #[serde(default)]
    pub org: Option<Membership>,
    /// Always null here; other tokens of the contract use it.
    #[serde(default)]
    pub state: Option<()>,
    /// Always null here; tokens of the registry have their own claims.
    #[serde(default)]
    pub oci: Option<()>,
    /// The id of the row of this token. Tokens of older servers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<Uuid>,
}

/// The membership that an invitation offers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Membership {
    /// The organization.
    pub uuid: OrganizationUuid,
    /// The role in the organization.
    pub role: OrganizationRole,
}

/// Signs and verifies tokens.
pub struct Signer {
    encoding: EncodingKey,
    decoding: DecodingKey,
    issuer: String,
}

impl Signer {
    /// Creates a signer with the secret of the server.
    pub fn new(secret: &[u8], issuer: String) -> Self {
        Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
            issuer,
        }
    }

    /// Signs the token of a row. The same row always results in the same token.
    pub fn sign(
        &self,
        aud: Audience,
        jti: Uuid,
        sub: &Email,
        org: Option<Membership>,
        created: Timestamp,
        expires: Timestamp,
    ) -> Jwt {
        let claims = Claims {
            aud,
            exp: expires.seconds(),
            iat: created.seconds(),
            iss: self.issuer.clone(),
            sub: sub.clone(),
            org,
            state: None,
            oci: None,
            jti: Some(jti),
        };
        self.sign_claims(&claims)
    }

    /// Signs other claims, which include their own issuer and audience.
    pub fn sign_claims(&self, claims: &impl Serialize) -> Jwt {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.encoding)
            .expect("plain claims serialize and HMAC cannot fail")
            .parse()
            .expect("a signed token has the form of one")
    }

    /// Returns the claims of a token if this server signed it for one of these audiences and it has not expired.
    pub fn verify(&self, token: &str, audiences: &[Audience], now: Timestamp) -> Option<Claims> {
        let claims: Claims = self.verify_claims(token)?;
        (audiences.contains(&claims.aud) && claims.exp >= now.seconds()).then_some(claims)
    }

    /// Returns the claims of a token if this server signed it. The caller checks the expiration, with the clock of the server,
    /// and the audience, with the type of the claims.
    pub fn verify_claims<C: DeserializeOwned + Clone>(&self, token: &str) -> Option<C> {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_aud = false;
        validation.validate_exp = false;
        validation.set_issuer(&[&self.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        Some(jsonwebtoken::decode::<C>(token, &self.decoding, &validation).ok()?.claims)
    }

    /// Returns the issuer name of this server.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_purpose_until_it_runs_out() {
        let signer = Signer::new(b"a secret of some length", "http://localhost/".into());
        let now = Timestamp::from_micros(1_790_000_000_000_000);
        let email: Email = "ada@example.org".parse().unwrap();
        let token = signer.sign(Audience::Auth, Uuid::nil(), &email, None, now, now.plus_seconds(60));
        let verify = |audience, at| signer.verify(token.as_ref(), &[audience], at);
        assert_eq!(verify(Audience::Auth, now).unwrap().sub, email);
        assert!(verify(Audience::Client, now).is_none());
        assert!(verify(Audience::Auth, now.plus_seconds(61)).is_none());
        let other = Signer::new(b"another secret altogether", "http://localhost/".into());
        assert!(other.verify(token.as_ref(), &[Audience::Auth], now).is_none());
    }
}
