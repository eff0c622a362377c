//! Identity providers: start and end of a sign-in. Accounts and sessions are handled elsewhere.

mod github;
mod openid;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tidemark_api::{Email, Provider as Wire, Secret, UserName};
use tokio::task::spawn_blocking;
use ureq::{Agent, Body, http::Response};

use crate::{
    domain::error::{Error, Result},
    infra::{
        config::{Config, GitHub, OpenId, Plus},
        outgoing,
    },
};

/// Maximum number of bytes that are read from a response.
const MAX_RESPONSE_BYTES: u64 = 1 << 20;

/// A configured identity provider.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    /// The path after `/v0/auth/` of the API and after `/auth/` of the console. It also identifies the provider in the database.
    pub(crate) path: String,
    /// The display name.
    pub(crate) name: String,
    /// The redirect URL.
    redirect: String,
    kind: ProviderKind,
}

#[derive(Clone, Debug)]
enum ProviderKind {
    GitHub(GitHub),
    OpenId(OpenId),
}

/// The secrets of a sign-in, which prevent others from completing it.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    /// The provider returns it with the redirect.
    pub(crate) state: String,
    /// The provider includes it in the token that it signs.
    pub(crate) nonce: String,
    /// PKCE verifier: sent at the end of the sign-in, its hash at the start.
    pub(crate) verifier: String,
}

/// An account at a provider. The provider has verified the address.
#[derive(Clone, Debug)]
pub(crate) struct ExternalAccount {
    /// The permanent identifier.
    pub(crate) subject: String,
    /// The verified address.
    pub(crate) email: Email,
    /// The display name.
    pub(crate) name: UserName,
}

impl Provider {
    /// Returns all configured providers.
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let Plus { github, google, oidc, .. } = &config.plus;
        let console = config.console.url.as_str().trim_end_matches('/');
        let make = |path: String, name: &str, kind: ProviderKind| Self {
            redirect: format!("{console}/auth/{path}"),
            path,
            name: name.to_owned(),
            kind,
        };
        let github =
            github.iter().map(|github| make("github".into(), "GitHub", ProviderKind::GitHub(github.clone())));
        let google = google.iter().map(|google| {
            let openid = OpenId {
                name: "Google".into(),
                issuer: google.issuer.clone(),
                client_id: google.client_id.clone(),
                client_secret: google.client_secret.clone(),
            };
            make("google".into(), "Google", ProviderKind::OpenId(openid))
        });
        let others = oidc.iter().map(|(word, openid)| {
            make(format!("oidc/{word}"), &openid.name, ProviderKind::OpenId(openid.clone()))
        });
        github.chain(google).chain(others).collect()
    }

    /// Returns the provider with this path.
    pub(crate) fn find(config: &Config, path: &str) -> Result<Self> {
        let missing = || {
            Error::NotFound(
                "This identity provider is not configured on this server; sign in with a mailed link, or ask \
                 the operator to configure the provider."
                    .into(),
            )
        };
        Self::all(config).into_iter().find(|provider| provider.path == path).ok_or_else(missing)
    }

    /// Returns the representation in the API.
    pub(crate) fn to_api(&self) -> Wire {
        Wire { name: self.name.clone(), path: format!("/v0/auth/{}", self.path) }
    }

    /// Returns the URL of the provider for the sign-in.
    pub(crate) async fn authorization_url(self, secrets: Secrets) -> Result<String> {
        self.run_blocking(move |provider, agent| match &provider.kind {
            ProviderKind::GitHub(github) => {
                Ok(github::authorization_url(github, &provider.redirect, &secrets))
            }
            ProviderKind::OpenId(openid) => {
                openid::authorization_url(openid, &provider.redirect, agent, &secrets)
            }
        })
        .await
    }

    /// Exchanges the code for the account of the user.
    pub(crate) async fn exchange_code(self, code: Secret, secrets: Secrets) -> Result<ExternalAccount> {
        self.run_blocking(move |provider, agent| match &provider.kind {
            ProviderKind::GitHub(github) => {
                github::exchange_code(github, &provider.redirect, agent, &code, &secrets)
            }
            ProviderKind::OpenId(openid) => {
                openid::exchange_code(openid, &provider.redirect, agent, &code, &secrets)
            }
        })
        .await
    }

    async fn run_blocking<T: Send + 'static>(
        self,
        request: impl FnOnce(&Self, &Agent) -> Result<T, SignInError> + Send + 'static,
    ) -> Result<T> {
        let name = self.name.clone();
        let result = spawn_blocking(move || {
            // The operator configured the provider, so it may have a private address.
            let base = match &self.kind {
                ProviderKind::GitHub(github) => github.url.as_str(),
                ProviderKind::OpenId(openid) => openid.issuer.as_str(),
            };
            request(&self, &outgoing::agent(base, true))
        });
        let error = match result.await.map_err(|error| Error::Internal(error.into()))? {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        Err(match error {
            SignInError::Unavailable(reason) => {
                tracing::warn!(provider = name, reason, "request to an identity provider failed");
                Error::Upstream(format!("{name} does not respond; try again, or sign in with a mailed link."))
            }
            SignInError::Rejected(reason) => {
                tracing::info!(provider = name, reason, "identity provider rejected a sign-in");
                Error::Unauthorized(format!("{name} rejected the sign-in; start again."))
            }
            SignInError::UnverifiedEmail => Error::Unauthorized(format!(
                "{name} has no verified e-mail address for your account; verify one there, or sign in with a \
                 mailed link."
            )),
        })
    }
}

/// Why a sign-in failed.
#[derive(Debug)]
enum SignInError {
    /// The provider is unreachable, or its response is invalid.
    Unavailable(String),
    /// The provider rejected the code, or its token is invalid.
    Rejected(String),
    /// The provider has no verified address of the user.
    UnverifiedEmail,
}

/// Requests a resource of the user from a provider.
fn get<T: DeserializeOwned>(agent: &Agent, url: &str, accept: &str, token: &str) -> Result<T, SignInError> {
    read(agent.get(url).header("accept", accept).header("authorization", format!("Bearer {token}")).call())
}

/// Reads the JSON of a response.
fn read<T: DeserializeOwned>(answer: Result<Response<Body>, ureq::Error>) -> Result<T, SignInError> {
    let mut answer = answer.map_err(|error| SignInError::Unavailable(error.to_string()))?;
    let status = answer.status();
    if status.is_client_error() {
        return Err(SignInError::Rejected(format!("it answered {status}")));
    }
    let unavailable = |reason: &dyn ToString| {
        SignInError::Unavailable(format!("it answered {status}: {}", reason.to_string()))
    };
    let text =
        outgoing::read_body(answer.body_mut(), MAX_RESPONSE_BYTES).map_err(|error| unavailable(&error))?;
    serde_json::from_slice(&text).map_err(|error| unavailable(&error))
}

/// Returns the PKCE challenge of a verifier.
fn pkce_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// Returns the first usable name, without characters that are not allowed in names.
fn user_name<'a>(names: impl IntoIterator<Item = &'a str>) -> UserName {
    let fits = |name: &str| {
        let plain: String =
            name.chars().map(|character| if UserName::allows(character) { character } else { ' ' }).collect();
        let words: Vec<&str> = plain.split_whitespace().collect();
        let short: String = words.join(" ").chars().take(64).collect();
        short.trim().parse().ok()
    };
    names.into_iter().find_map(fits).unwrap_or_else(|| "Somebody".parse().expect("the name is a good one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_one_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(pkce_challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn everybody_gets_a_name() {
        for (names, expected) in [
            (vec!["Ada Lovelace", "ada"], "Ada Lovelace"),
            (vec!["", "ada_l"], "ada l"),
            (vec!["<b>", "x"], "b"),
            (vec!["👩‍💻", "✨"], "Somebody"),
            (vec![], "Somebody"),
        ] {
            assert_eq!(user_name(names.clone()).as_str(), expected, "{names:?}");
        }
        assert_eq!(user_name([&*"x ".repeat(64)]).as_str().chars().count(), 63);
    }
}
