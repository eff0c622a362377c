//! The cookie that holds a browser's session, and the proof that a request with it comes from our own page.
//!
//! A browser sends the cookie with every request to this server, whoever made it do so. `SameSite=Strict` keeps it at
//! home when other sites ask; links in mail still work, because the page they open asks by itself. A request that
//! changes something counts only with a header that no other origin may send: it would have to be allowed in a
//! preflight, and the frame does not allow it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts, uri::Authority};
use tidemark_api::Jwt;

use crate::infra::config::Config;

/// Sent by the console with everything it asks.
pub const X_TIDEMARK_CONSOLE: HeaderName = HeaderName::from_static("x-tidemark-console");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const NAME: &str = "tidemark";
/// The cookie of a sign-in at an identity provider that has begun.
const SIGN_IN: &str = "tidemark-sign-in";
/// With this before its name, a browser takes the cookie over HTTPS only, and from no other host of the domain.
const SECURE_PREFIX: &str = "__Host-";

/// The token in the cookie, unless the request changes something and may come from elsewhere.
pub fn read<'a>(parts: &'a Parts, config: &Config) -> Option<&'a str> {
    let token = find(parts, &name(NAME, config))?;
    (parts.method.is_safe() || is_from_console(parts, config)).then_some(token)
}

/// What this browser keeps while somebody signs in at an identity provider.
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

/// Whether our own page sent the request, as far as a browser can be made to lie.
pub fn is_from_console(parts: &Parts, config: &Config) -> bool {
    let headers = &parts.headers;
    headers.get(X_TIDEMARK_CONSOLE).is_some_and(|value| value == "1")
        && match (headers.get(SEC_FETCH_SITE), headers.get(header::ORIGIN)) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => is_own(origin, parts, config),
            // No browser, or one that is too old to say.
            (None, None) => true,
        }
}

/// Whether an origin is this server, by the name it was called by or by the one it was given.
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

/// The header that keeps a session for so many seconds.
pub fn keep(token: &Jwt, seconds: i64, config: &Config) -> HeaderValue {
    set(NAME, token.as_ref(), seconds, config)
}

/// The header that makes a browser forget its session.
pub fn forget(config: &Config) -> HeaderValue {
    set(NAME, "", 0, config)
}

/// The header that keeps the secret of a sign-in that has begun for so many seconds.
pub fn keep_sign_in(secret: &str, seconds: i64, config: &Config) -> HeaderValue {
    set(SIGN_IN, secret, seconds, config)
}

fn set(name: &str, value: &str, seconds: i64, config: &Config) -> HeaderValue {
    let (name, secure) = (self::name(name, config), if is_secure(config) { "; Secure" } else { "" });
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&cookie).expect("a token is plain ASCII")
}

/// The name of the cookie, with the port if it is not the usual one: cookies know no ports, and two servers on one host
/// would sign each other's people out.
fn name(name: &str, config: &Config) -> String {
    let prefix = if is_secure(config) { SECURE_PREFIX } else { "" };
    let port = url::Url::parse(config.console.url.as_str()).ok().and_then(|url| url.port());
    port.map_or_else(|| format!("{prefix}{name}"), |port| format!("{prefix}{name}-{port}"))
}

/// Whether people reach this server by HTTPS, be it through a proxy.
fn is_secure(config: &Config) -> bool {
    config.console.url.as_str().starts_with("https://")
}
