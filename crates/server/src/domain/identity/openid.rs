//! OpenID Connect Core 1.0, authorization code flow: discovery, exchange of the code, validation of the ID token, and user info.
//! Supports every provider that signs with a public key.

use base64::{Engine as _, engine::general_purpose::STANDARD, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    jwk::{Jwk, JwkSet, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256, Sha384, Sha512};
use tidemark_api::Secret;
use ureq::Agent;

use super::{ExternalAccount, Secrets, SignInError, get, pkce_challenge, read, user_name};
use crate::infra::config::OpenId;

/// `openid` requests an ID token, the others the name and the address.
const SCOPES: &str = "openid profile email";

/// Public-key signature algorithms. HMAC is excluded: its key is the client secret, and if a provider published an HMAC key by
/// mistake, anyone could sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The configuration of the provider, as defined by OpenID Connect Discovery 1.0.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    id_token: Option<String>,
}

/// The claims of an ID token, except the ones that [`Validation`] checks.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    aud: Value,
    nonce: Option<String>,
    at_hash: Option<String>,
}

#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
    name: Option<String>,
    given_name: Option<String>,
    preferred_username: Option<String>,
}

pub(super) fn authorization_url(
    openid: &OpenId,
    redirect: &str,
    agent: &Agent,
    secrets: &Secrets,
) -> Result<String, SignInError> {
    let metadata = discover(openid, agent)?;
    let mut url = url::Url::parse(&metadata.authorization_endpoint).map_err(|error| {
        SignInError::Unavailable(format!("its authorization endpoint is not a URL: {error}"))
    })?;
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &openid.client_id)
        .append_pair("redirect_uri", redirect)
        .append_pair("scope", SCOPES)
        .append_pair("state", &secrets.state)
        .append_pair("nonce", &secrets.nonce)
        .append_pair("code_challenge", &pkce_challenge(&secrets.verifier))
        .append_pair("code_challenge_method", "S256");
    Ok(url.into())
}

pub(super) fn exchange_code(
    openid: &OpenId,
    redirect: &str,
    agent: &Agent,
    code: &Secret,
    secrets: &Secrets,
) -> Result<ExternalAccount, SignInError> {
    let metadata = discover(openid, agent)?;
    let tokens = exchange(openid, &metadata, redirect, agent, code, secrets)?;
    let id_token = tokens.id_token.ok_or_else(|| SignInError::Rejected("it sent no ID token".into()))?;
    let keys: JwkSet = read(agent.get(&metadata.jwks_uri).call())?;
    let claims = verify(openid, &keys, &id_token, &tokens.access_token, &secrets.nonce)?;
    // Some providers include the address only in the user info.
    let info: UserInfo = get(agent, &metadata.userinfo_endpoint, "application/json", &tokens.access_token)?;
    if info.sub != claims.sub {
        return Err(SignInError::Rejected("its user info is about another subject than its ID token".into()));
    }
    // OpenID Connect Core, section 2: at most 255 ASCII characters.
    if !(1..=255).contains(&claims.sub.len()) || !claims.sub.bytes().all(|byte| (b' '..=b'~').contains(&byte))
    {
        return Err(SignInError::Rejected("its subject is not 1 to 255 ASCII characters".into()));
    }
    let verified = info.email.as_deref().filter(|_| info.email_verified);
    let email = verified.and_then(|email| email.parse().ok()).ok_or(SignInError::UnverifiedEmail)?;
    let name = user_name(
        [
            info.name.as_deref(),
            info.given_name.as_deref(),
            info.preferred_username.as_deref(),
            verified.and_then(|email| email.split('@').next()),
        ]
        .into_iter()
        .flatten(),
    );
    Ok(ExternalAccount { subject: claims.sub, email, name })
}

/// Reads the configuration of the provider. It is not cached, because endpoints and keys change.
fn discover(openid: &OpenId, agent: &Agent) -> Result<Metadata, SignInError> {
    let url = format!("{}/.well-known/openid-configuration", openid.issuer.trim_end_matches('/'));
    let metadata: Metadata = match read(agent.get(&url).call()) {
        // A client error here means that the configuration does not exist at this address, not that a sign-in was rejected.
        Err(SignInError::Rejected(reason)) => return Err(SignInError::Unavailable(reason)),
        outcome => outcome?,
    };
    if metadata.issuer != openid.issuer {
        let reason = format!("its issuer is {} and not {}", metadata.issuer, openid.issuer);
        return Err(SignInError::Unavailable(reason));
    }
    Ok(metadata)
}

/// Exchanges the code for tokens. The client authenticates in the header, unless the provider supports only the body.
fn exchange(
    openid: &OpenId,
    metadata: &Metadata,
    redirect: &str,
    agent: &Agent,
    code: &Secret,
    secrets: &Secrets,
) -> Result<Tokens, SignInError> {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code.expose()),
        ("redirect_uri", redirect),
        ("code_verifier", &secrets.verifier),
    ];
    let request = agent.post(&metadata.token_endpoint).header("accept", "application/json");
    let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
    let in_header =
        methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
    let request = if in_header {
        // RFC 6749, section 2.3.1: both are form-encoded before they are joined.
        let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encode(&openid.client_id), encode(openid.client_secret.expose()));
        request.header("authorization", format!("Basic {}", STANDARD.encode(pair)))
    } else {
        form.push(("client_id", &openid.client_id));
        form.push(("client_secret", openid.client_secret.expose()));
        request
    };
    read(request.send_form(form))
}

/// Validates an ID token as required by OpenID Connect Core 1.0, section 3.1.3.7, and returns its claims.
fn verify(
    openid: &OpenId,
    keys: &JwkSet,
    id_token: &str,
    access_token: &str,
    nonce: &str,
) -> Result<Claims, SignInError> {
    let rejected = |reason: &str| SignInError::Rejected(format!("its ID token is not valid: {reason}"));
    let header = jsonwebtoken::decode_header(id_token).map_err(|error| rejected(&error.to_string()))?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(rejected("it is not signed with a public key"));
    }
    let mut candidates = keys.keys.iter().filter(|key| can_sign(key, header.kid.as_deref(), header.alg));
    let (Some(key), None) = (candidates.next(), candidates.next()) else {
        return Err(rejected("the provider does not publish exactly one key for it"));
    };
    let key = DecodingKey::from_jwk(key).map_err(|error| rejected(&error.to_string()))?;
    let mut validation = Validation::new(header.alg);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_issuer(&[&openid.issuer]);
    validation.set_audience(&[&openid.client_id]);
    let claims: Claims = jsonwebtoken::decode(id_token, &key, &validation)
        .map_err(|error| rejected(&error.to_string()))?
        .claims;
    // A token for several audiences may have been issued to another one.
    let for_us = |audience: &Value| audience.as_str() == Some(&openid.client_id);
    if !claims.aud.as_array().map_or_else(|| for_us(&claims.aud), |all| all.iter().all(for_us)) {
        return Err(rejected("it has another audience"));
    }
    if claims.nonce.as_deref() != Some(nonce) {
        return Err(rejected("it belongs to another sign-in"));
    }
    if claims.at_hash.as_ref().is_some_and(|hash| *hash != access_token_hash(header.alg, access_token)) {
        return Err(rejected("it belongs to another access token"));
    }
    Ok(claims)
}

/// Whether a published key may have signed the token.
fn can_sign(key: &Jwk, id: Option<&str>, algorithm: Algorithm) -> bool {
    let common = &key.common;
    let fits_id = id.is_none_or(|id| common.key_id.as_deref() == Some(id));
    let fits_use = common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
    let fits_algorithm = match common.key_algorithm {
        Some(named) => named.to_string() == format!("{algorithm:?}"),
        // Without an algorithm, the type of the key decides.
        None => DecodingKey::from_jwk(key).is_ok_and(|key| key.family() == algorithm.family()),
    };
    fits_id && fits_use && fits_algorithm
}

/// Returns the left half of the hash of an access token, with the hash function of the signature.
fn access_token_hash(algorithm: Algorithm, token: &str) -> String {
    let hash: Vec<u8> = match algorithm {
        Algorithm::RS384 | Algorithm::PS384 | Algorithm::ES384 => Sha384::digest(token).to_vec(),
        Algorithm::RS512 | Algorithm::PS512 | Algorithm::EdDSA => Sha512::digest(token).to_vec(),
        _ => Sha256::digest(token).to_vec(),
    };
    URL_SAFE_NO_PAD.encode(&hash[..hash.len() / 2])
}
