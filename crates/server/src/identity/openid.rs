//! Any provider that speaks OpenID Connect, with the code flow.

use openidconnect::{
    AccessTokenHash, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeVerifier,
    RedirectUrl, RequestTokenError, Scope, TokenResponse as _,
    core::{CoreAuthenticationFlow, CoreClient, CoreProviderMetadata, CoreUserInfoClaims},
    http,
};
use tidemark_api::Secret;
use ureq::Agent;

use super::{ANSWER_MAX, Person, Refused, Secrets, call, challenge};
use crate::config::OpenId;

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// What a provider is asked for besides who somebody is.
const SCOPES: [&str; 2] = ["profile", "email"];

pub(super) fn start(
    openid: &OpenId,
    redirect: &str,
    agent: &Agent,
    secrets: &Secrets,
) -> Result<String, Refused> {
    let client = client(openid, redirect, agent)?;
    let (state, nonce) = (secrets.state.clone(), secrets.nonce.clone());
    let begun = client.authorize_url(
        CoreAuthenticationFlow::AuthorizationCode,
        || CsrfToken::new(state),
        || Nonce::new(nonce),
    );
    let begun = begun.add_scopes(SCOPES.map(|scope| Scope::new(scope.to_owned())));
    let begun = begun
        .add_extra_param("code_challenge", challenge(&secrets.verifier))
        .add_extra_param("code_challenge_method", "S256");
    Ok(begun.url().0.into())
}

pub(super) fn end(
    openid: &OpenId,
    redirect: &str,
    agent: &Agent,
    code: &Secret,
    secrets: &Secrets,
) -> Result<Person, Refused> {
    let client = client(openid, redirect, agent)?;
    let send = |request| send(agent, request);
    let token = client
        .exchange_code(AuthorizationCode::new(code.expose().to_owned()))
        .map_err(|error| Refused::Silent(error.to_string()))?
        .set_pkce_verifier(PkceCodeVerifier::new(secrets.verifier.clone()))
        .request(&send)
        .map_err(|error| match error {
            RequestTokenError::ServerResponse(refused) => Refused::Code(refused.to_string()),
            error => Refused::Silent(error.to_string()),
        })?;
    let refused = |reason: &dyn ToString| Refused::Code(reason.to_string());
    let id_token = token.id_token().ok_or_else(|| refused(&"it signed no token"))?;
    let verifier = client.id_token_verifier();
    let nonce = Nonce::new(secrets.nonce.clone());
    let claims = id_token.claims(&verifier, &nonce).map_err(|error| refused(&error))?;
    if let Some(expected) = claims.access_token_hash() {
        let algorithm = id_token.signing_alg().map_err(|error| refused(&error))?;
        let key = id_token.signing_key(&verifier).map_err(|error| refused(&error))?;
        let actual = AccessTokenHash::from_token(token.access_token(), algorithm, key)
            .map_err(|error| refused(&error))?;
        if actual != *expected {
            return Err(refused(&"the access token is not the one it signed for"));
        }
    }
    // Some tell the address only there.
    let info: CoreUserInfoClaims = client
        .user_info(token.access_token().clone(), Some(claims.subject().clone()))
        .map_err(|error| Refused::Silent(error.to_string()))?
        .request(&send)
        .map_err(|error| Refused::Silent(error.to_string()))?;
    let verified = info.email().filter(|_| info.email_verified() == Some(true));
    let email = verified.and_then(|email| email.parse().ok()).ok_or(Refused::Unverified)?;
    let texts = [
        info.name().and_then(|name| name.get(None)).map(|name| name.as_str()),
        info.given_name().and_then(|name| name.get(None)).map(|name| name.as_str()),
        info.preferred_username().map(|name| name.as_str()),
        verified.and_then(|email| email.split('@').next()),
    ];
    let name = call(texts.into_iter().flatten());
    Ok(Person { subject: claims.subject().to_string(), email, name })
}

/// What speaks to the provider. What it says of itself is read every time: its keys change.
fn client(openid: &OpenId, redirect: &str, agent: &Agent) -> Result<Client, Refused> {
    let silent = |reason: &dyn ToString| Refused::Silent(reason.to_string());
    let issuer = IssuerUrl::new(openid.issuer.clone()).map_err(|error| silent(&error))?;
    let metadata = CoreProviderMetadata::discover(&issuer, &|request| send(agent, request))
        .map_err(|error| silent(&error))?;
    let redirect = RedirectUrl::new(redirect.to_owned()).map_err(|error| silent(&error))?;
    let secret = ClientSecret::new(openid.client_secret.expose().to_owned());
    Ok(CoreClient::from_provider_metadata(metadata, ClientId::new(openid.client_id.clone()), Some(secret))
        .set_redirect_uri(redirect))
}

fn send(agent: &Agent, request: HttpRequest) -> Result<HttpResponse, ureq::Error> {
    let answer = agent.run(request)?;
    let (parts, mut body) = answer.into_parts();
    let body = body.with_config().limit(ANSWER_MAX).read_to_vec()?;
    Ok(http::Response::from_parts(parts, body))
}
