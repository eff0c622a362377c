//! `/v0/auth/oci/token`: issues registry tokens with a lifetime of a few minutes, for a credential or anonymously, with the
//! scopes that the caller has a right to.

use axum::{
    Json,
    extract::{Request, State},
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use tidemark_api::{Email, Jwt, ResourceId, Timestamp};
use tidemark_store::{Tx, project};
use utoipa::ToSchema;

use super::{
    access::{self, Challenge, TokenError},
    error::{Error, Result},
    scope::{Access, Audience, Claims, Grant, Scope},
};
use crate::{
    domain::{
        app::App,
        auth::{
            caller::{AuthMethod, Caller, Credential},
            jwt,
            key::{hash, kind},
        },
        error::Error as DomainError,
    },
    transport::http::access::authenticate_with,
};

/// Lifetime of a token, in seconds. Clients request a new token when it has expired.
const SECONDS: i64 = 300;

/// A registry token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegistryToken)]
pub(crate) struct Token {
    /// The token.
    token: Jwt,
    /// The same token, with its name in OAuth 2.
    access_token: Jwt,
    /// Lifetime of the token, in seconds.
    expires_in: i64,
    /// When the token was issued.
    issued_at: Timestamp,
    /// Scopes of the token, separated by spaces.
    scope: String,
}

/// A token request of OAuth 2.
#[derive(ToSchema)]
#[schema(as = RegistryLogin)]
pub(crate) struct TokenRequest {
    /// Grant type; must be `password`.
    #[schema(pattern = "^password$")]
    grant_type: String,
    /// The address of a user, or the slug or UUID of a project.
    #[schema(min_length = 1)]
    username: String,
    /// The key or API token of the user, or the key of the project.
    #[schema(min_length = 1)]
    password: String,
    /// Requested scopes, separated by spaces.
    scope: Option<String>,
}

impl TokenRequest {
    fn read(form: &[u8]) -> Self {
        let field = |name: &str| form_values(form, name).into_iter().next();
        Self {
            grant_type: field("grant_type").unwrap_or_default(),
            username: field("username").unwrap_or_default(),
            password: field("password").unwrap_or_default(),
            scope: field("scope"),
        }
    }
}

/// Get a registry token.
///
/// Requires the address of a user with a user key or API token, or a project with its key. Without a credential, the token is
/// anonymous.
#[utoipa::path(get, path = "/v0/auth/oci/token", operation_id = "auth_oci_token_get", tag = "auth",
    params(
        ("service" = Option<String>, Query, description = "The name of the registry; there is only one."),
        ("scope" = Option<Vec<String>>, Query,
            description = "The requested scope, as `repository:NAME:pull,push`; can be repeated."),
    ),
    responses((status = 200, body = Token)), extensions(("x-right" = json!("public"))))]
pub(crate) async fn get(State(app): State<App>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let issued = async {
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let scopes = Scope::parse_all(form_values(query.as_bytes(), "scope").iter().map(String::as_str));
        let login = basic(&app, &parts, &scopes)?;
        issue(&app, &parts, login, scopes).await
    };
    issued.await.map(Json).into_response()
}

/// Get a registry token with the password grant of OAuth 2.
///
/// Takes the same credentials in a form.
#[utoipa::path(post, path = "/v0/auth/oci/token", operation_id = "auth_oci_token_post", tag = "auth",
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, body = Token)), extensions(("x-right" = json!("public"))))]
pub(crate) async fn post(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let limit = app.config.server.request_body_max_bytes;
    let issued = async {
        let form = axum::body::to_bytes(body, limit).await.map_err(|_| DomainError::TooLarge)?;
        let form = TokenRequest::read(&form);
        match form.grant_type.as_str() {
            "password" => {}
            "" => return Err(invalid("The form must contain grant_type=password.")),
            _ => return Err(Error::GrantType),
        }
        let scopes = Scope::parse_all(form.scope.iter().map(String::as_str));
        let login = if form.username.is_empty() || form.password.is_empty() {
            basic(&app, &parts, &scopes)?
        } else {
            Some(Login { name: form.username, password: form.password })
        };
        let login = login.ok_or_else(|| {
            invalid("The form must contain `username` and `password`; use GET for an anonymous token.")
        })?;
        issue(&app, &parts, Some(login), scopes).await
    };
    issued.await.map(Json).into_response()
}

fn invalid(message: &str) -> Error {
    Error::Other(DomainError::Invalid(message.into()))
}

/// Returns the values of a field in a form or a query.
pub(super) fn form_values(form: &[u8], name: &str) -> Vec<String> {
    url::form_urlencoded::parse(form)
        .filter(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
        .collect()
}

/// A user name and a password.
struct Login {
    name: String,
    password: String,
}

fn invalid_credential(app: &App, scopes: &[Scope]) -> Error {
    let scope = scopes.first().map(ToString::to_string);
    Error::Unauthorized(Challenge::new(&app.config, scope, Some(TokenError::Invalid)))
}

/// Returns the credentials of the `Authorization` header, or `None` if it does not use basic authentication.
fn basic(app: &App, parts: &Parts, scopes: &[Scope]) -> Result<Option<Login>> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let Some((scheme, coded)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
        return Ok(None);
    };
    if !scheme.eq_ignore_ascii_case("basic") {
        return Ok(None);
    }
    let login = STANDARD.decode(coded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let login = login.as_deref().and_then(|login| login.split_once(':'));
    let (name, password) = login.ok_or_else(|| invalid_credential(app, scopes))?;
    Ok(Some(Login { name: name.into(), password: password.into() }))
}

/// Issues a token for the caller, with the requested scopes that the caller has a right to.
async fn issue(app: &App, parts: &Parts, login: Option<Login>, scopes: Vec<Scope>) -> Result<Token> {
    let now = app.clock.now();
    let credential = login.as_ref().map_or(Credential::None, |login| credential(app, &login.password, now));
    let server = app.clone();
    let (asked, name) = (scopes.clone(), login.map(|login| login.name));
    let (caller, (named, granted)) = authenticate_with(parts, app, credential, move |tx, caller| {
        let named = match &name {
            Some(name) => is_user_name_of(tx, caller, name)?,
            None => true,
        };
        let is_push_disabled = access::is_push_disabled(&server, caller);
        let granted: Result<Vec<_>, DomainError> =
            asked.iter().map(|scope| access::grant(tx, caller, scope, is_push_disabled)).collect();
        Ok((named, granted?))
    })
    .await?;
    let (aud, sub, jti) = match &caller {
        Caller::Anonymous | Caller::Owner => (Audience::Public, None, None),
        Caller::User(by) if named => {
            let key = match by.via {
                AuthMethod::Key(key) => Some(key.uuid()),
                AuthMethod::Session | AuthMethod::Token => None,
            };
            (Audience::User, Some(by.found.user.email.to_string()), key)
        }
        Caller::Project(key) if named => {
            (Audience::Project, Some(key.project_uuid.to_string()), Some(key.uuid.uuid()))
        }
        _ => return Err(invalid_credential(app, &scopes)),
    };
    let claims = Claims {
        aud,
        exp: now.plus_seconds(SECONDS).seconds(),
        iat: now.seconds(),
        iss: app.signer.issuer().to_owned(),
        sub,
        jti,
        oci: Grant {
            repository: granted.first().map(|scope| scope.name.as_str().to_owned()),
            actions: granted.first().map_or_else(Vec::new, |scope| scope.actions.clone()),
        },
        access: granted.iter().map(Access::from).collect(),
    };
    let token = app.signer.sign_claims(&claims);
    let scope = granted.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    Ok(Token { access_token: token.clone(), token, expires_in: SECONDS, issued_at: now, scope })
}

/// Returns the credential in a password. Sessions are not accepted.
fn credential(app: &App, password: &str, now: Timestamp) -> Credential {
    if let Some(kind) = kind(&app.config.security.key_prefix, password) {
        return Credential::Key(kind, hash(password));
    }
    match app.signer.verify(password, &[jwt::Audience::ApiKey], now) {
        Some(claims) => Credential::Token(claims, hash(password)),
        None => Credential::Invalid,
    }
}

/// Whether the user name belongs to the owner of the credential.
fn is_user_name_of(tx: &mut Tx<'_>, caller: &Caller, name: &str) -> Result<bool, DomainError> {
    Ok(match caller {
        Caller::User(by) => name.parse::<Email>().is_ok_and(|email| email == by.found.user.email),
        Caller::Project(key) => match name.parse() {
            Ok(ResourceId::Uuid(uuid)) => uuid == key.project_uuid,
            Ok(ResourceId::Slug(slug)) => slug == project::by_id(tx, key.project)?.project.slug,
            Err(_) => false,
        },
        Caller::Anonymous | Caller::Owner | Caller::Unknown | Caller::Locked => false,
    })
}
