//! The session cookie of a browser, and the check that a request with the cookie comes from the console.
//!
//! A browser sends the cookie with every request to this server, regardless of the page that caused it. `SameSite=Strict`
//! withholds the cookie from requests of other sites. Links in mail still work, because the page that they open sends its own
//! requests. A request that changes something also needs a header that other origins cannot send: the browser would ask for it in
//! a preflight request, and the server does not allow it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts, uri::Authority};
use tidemark_api::Jwt;

use crate::infra::config::Config;

/// Header that the console sends with every request.
pub const X_TIDEMARK_CONSOLE: HeaderName = HeaderName::from_static("x-tidemark-console");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const NAME: &str = "tidemark";
/// Name of the cookie of a pending sign-in at an identity provider.
const SIGN_IN: &str = "tidemark-sign-in";
/// Cookie name prefix with which a browser accepts the cookie only over HTTPS and only from this host.
const SECURE_PREFIX: &str = "__Host-";

/// Returns the token in the cookie, unless the request changes something and may come from another origin.
pub fn read<'a>(parts: &'a Parts, config: &Config) -> Option<&'a str> {
    let token = find(parts, &name(NAME, config))?;
    (parts.method.is_safe() || is_from_console(parts, config)).then_some(token)
}

/// Returns the secret of a pending sign-in at an identity provider.
pub fn read_sign_in<'a>(parts: &'a Parts, config: &Config) -> Option<&'a str> {
    find(parts, &name(SIGN_IN, config))
}

fn find<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts
        .headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Whether the console sent the request, as far as the headers of a browser can prove it.
pub fn is_from_console(parts: &Parts, config: &Config) -> bool {
    let headers = &parts.headers;
    headers.get(X_TIDEMARK_CONSOLE).is_some_and(|value| value == "1")
        && match (headers.get(SEC_FETCH_SITE), headers.get(header::ORIGIN)) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => is_own(origin, parts, config),
            // Not a browser, or one that is too old to send these headers.
            (None, None) => true,
        }
}

/// Whether an origin is this server, by the host of the request or by the configured URL.
fn is_own(origin: &HeaderValue, parts: &Parts, config: &Config) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let host = parts.uri.authority().map(Authority::as_str).or_else(|| host(&parts.headers));
    let called = origin.split_once("://").is_some_and(|(_, named)| host == Some(named));
    let given = url::Url::parse(config.console.url.as_str())
        .is_ok_and(|url| url.origin().ascii_serialization() == origin);
    called || given
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// Returns the header that sets the session cookie for a number of seconds.
pub fn set_session(token: &Jwt, seconds: i64, config: &Config) -> HeaderValue {
    set(NAME, token.as_ref(), seconds, config)
}

/// Returns the header that deletes the session cookie.
pub fn clear_session(config: &Config) -> HeaderValue {
    set(NAME, "", 0, config)
}

/// Returns the header that sets the secret of a pending sign-in for a number of seconds.
pub fn set_sign_in(secret: &str, seconds: i64, config: &Config) -> HeaderValue {
    set(SIGN_IN, secret, seconds, config)
}

fn set(name: &str, value: &str, seconds: i64, config: &Config) -> HeaderValue {
    let (name, secure) = (self::name(name, config), if is_secure(config) { "; Secure" } else { "" });
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&cookie).expect("a token is plain ASCII")
}

/// Returns the name of the cookie, with the port if it is not the default: cookies do not distinguish ports, so two servers on
/// one host would overwrite each other's sessions.
fn name(name: &str, config: &Config) -> String {
    let prefix = if is_secure(config) { SECURE_PREFIX } else { "" };
    let port = url::Url::parse(config.console.url.as_str()).ok().and_then(|url| url.port());
    port.map_or_else(|| format!("{prefix}{name}"), |port| format!("{prefix}{name}-{port}"))
}

/// Whether users reach this server over HTTPS, possibly through a proxy.
fn is_secure(config: &Config) -> bool {
    config.console.url.as_str().starts_with("https://")
}
