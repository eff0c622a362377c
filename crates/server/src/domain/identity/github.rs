//! GitHub: OAuth without OpenID Connect. The address comes from the GitHub API.

use serde::Deserialize;
use tidemark_api::Secret;
use ureq::Agent;

use super::{ExternalAccount, Secrets, SignInError, get, pkce_challenge, read, user_name};
use crate::infra::config::GitHub;

#[derive(Deserialize)]
#[serde(untagged)]
enum Exchanged {
    Token { access_token: String },
    Refused { error: String },
}

#[derive(Deserialize)]
struct User {
    id: u64,
    login: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Address {
    email: String,
    primary: bool,
    verified: bool,
}

/// Media type of the GitHub API.
const MEDIA_TYPE: &str = "application/vnd.github+json";

pub(super) fn authorization_url(github: &GitHub, redirect: &str, secrets: &Secrets) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", &github.client_id)
        .append_pair("redirect_uri", redirect)
        .append_pair("scope", "user:email")
        .append_pair("state", &secrets.state)
        .append_pair("code_challenge", &pkce_challenge(&secrets.verifier))
        .append_pair("code_challenge_method", "S256")
        .finish();
    format!("{}/login/oauth/authorize?{query}", without_trailing_slash(github.url.as_str()))
}

pub(super) fn exchange_code(
    github: &GitHub,
    redirect: &str,
    agent: &Agent,
    code: &Secret,
    secrets: &Secrets,
) -> Result<ExternalAccount, SignInError> {
    let form = [
        ("client_id", github.client_id.as_str()),
        ("client_secret", github.client_secret.expose()),
        ("code", code.expose()),
        ("redirect_uri", redirect),
        ("code_verifier", secrets.verifier.as_str()),
    ];
    let url = format!("{}/login/oauth/access_token", without_trailing_slash(github.url.as_str()));
    let answer = agent.post(&url).header("accept", "application/json").send_form(form);
    let token = match read(answer)? {
        Exchanged::Token { access_token } => access_token,
        Exchanged::Refused { error } => return Err(SignInError::Rejected(error)),
    };
    let api = without_trailing_slash(github.api_url.as_str());
    let user: User = get(agent, &format!("{api}/user"), MEDIA_TYPE, &token)?;
    let addresses: Vec<Address> = get(agent, &format!("{api}/user/emails"), MEDIA_TYPE, &token)?;
    let email = addresses
        .into_iter()
        .find(|address| address.primary && address.verified)
        .and_then(|address| address.email.parse().ok())
        .ok_or(SignInError::UnverifiedEmail)?;
    let name = user_name([user.name.as_deref().unwrap_or_default(), &user.login]);
    Ok(ExternalAccount { subject: user.id.to_string(), email, name })
}

fn without_trailing_slash(url: &str) -> &str {
    url.trim_end_matches('/')
}
