//! Settings of identity providers, captchas and licenses.

use serde::{Deserialize, Deserializer, Serialize, de};
use tidemark_api::{Secret, Url};

/// GitHub, or a GitHub Enterprise server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitHub {
    /// Client ID of the OAuth app.
    pub client_id: String,
    /// Client secret of the OAuth app.
    pub client_secret: Secret,
    /// Base URL of the sign-in pages.
    #[serde(default = "github_url")]
    pub url: Url,
    /// Base URL of the API.
    #[serde(default = "github_api")]
    pub api_url: Url,
}

/// Google.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Google {
    /// Client ID.
    pub client_id: String,
    /// Client secret.
    pub client_secret: Secret,
    /// Issuer of the ID tokens.
    #[serde(default = "google_issuer", deserialize_with = "as_written")]
    pub issuer: String,
}

/// An OpenID Connect provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenId {
    /// Label of the sign-in button.
    pub name: String,
    /// Issuer of the ID tokens, and base URL of the discovery document.
    #[serde(deserialize_with = "as_written")]
    pub issuer: String,
    /// Client ID.
    pub client_id: String,
    /// Client secret.
    pub client_secret: Secret,
}

/// A captcha service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Captcha {
    /// URL that verifies captcha tokens.
    pub url: Url,
    /// Script that the pages load.
    pub script: Url,
    /// Further origins that the page may load from.
    #[serde(default)]
    pub hosts: Vec<Url>,
    /// Public site key.
    pub site_key: String,
    /// Secret key that authenticates this server at the service.
    pub secret: Secret,
    /// Minimum score from 0 to 1, for services that return a score.
    #[serde(default = "half", deserialize_with = "score")]
    pub min_score: f64,
}

impl Captcha {
    /// Returns the origins that the page may load from, in the format of a content security policy.
    pub fn sources(&self) -> String {
        let origin = |url: &Url| Some(url::Url::parse(url.as_str()).ok()?.origin().ascii_serialization());
        let origins: Vec<String> = [&self.script].into_iter().chain(&self.hosts).filter_map(origin).collect();
        origins.join(" ")
    }
}

/// Verification and signing of licenses of organizations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Licenses {
    /// Public key for ES256, as PEM.
    #[serde(deserialize_with = "public_key")]
    pub public_key: String,
    /// Private key, as PEM. With it, this server signs the licenses that are paid for here.
    pub private_key: Option<Secret>,
    /// Required issuer of licenses.
    pub issuer: Option<String>,
    /// Required audience of licenses.
    pub audience: Option<String>,
}

fn public_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match jsonwebtoken::DecodingKey::from_ec_pem(text.as_bytes()) {
        Ok(_) => Ok(text),
        Err(_) => Err(de::Error::custom("it is no public key of an elliptic curve, as PEM")),
    }
}

fn github_url() -> Url {
    fixed("https://github.com")
}

fn github_api() -> Url {
    fixed("https://api.github.com")
}

fn google_issuer() -> String {
    "https://accounts.google.com".to_owned()
}

/// Deserializes a URL and keeps its exact text: the provider signs with the same text as issuer.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse::<Url>().map_err(de::Error::custom)?;
    Ok(text)
}

fn fixed(url: &str) -> Url {
    url.parse().expect("the address is a good one")
}

fn half() -> f64 {
    0.5
}

fn score<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let score = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&score) { Ok(score) } else { Err(de::Error::custom("it must be from 0 to 1")) }
}
