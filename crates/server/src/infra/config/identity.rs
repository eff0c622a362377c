//! What an operator can set about identity providers, proofs of being human and licenses.

use serde::{Deserialize, Deserializer, Serialize, de};
use tidemark_api::{Secret, Url};

/// GitHub, or a GitHub Enterprise server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitHub {
    /// The id of the OAuth app there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Secret,
    /// Where people sign in.
    #[serde(default = "github_url")]
    pub url: Url,
    /// Where its API is.
    #[serde(default = "github_api")]
    pub api_url: Url,
}

/// Google.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Google {
    /// The id of the client there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Secret,
    /// Who signs the tokens.
    #[serde(default = "google_issuer", deserialize_with = "as_written")]
    pub issuer: String,
}

/// Any provider that speaks OpenID Connect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenId {
    /// What the button says.
    pub name: String,
    /// Who signs the tokens; its configuration is found under it.
    #[serde(deserialize_with = "as_written")]
    pub issuer: String,
    /// The id of the client there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Secret,
}

/// A service that tells people from machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Captcha {
    /// Where proofs are checked.
    pub url: Url,
    /// The script that pages load to get a proof.
    pub script: Url,
    /// What else the page may load from for it.
    #[serde(default)]
    pub hosts: Vec<Url>,
    /// What tells the service which site asks.
    pub site_key: String,
    /// What proves to the service that it is this server who checks.
    pub secret: Secret,
    /// The least score of a service that gives one, from 0 to 1.
    #[serde(default = "half", deserialize_with = "score")]
    pub min_score: f64,
}

impl Captcha {
    /// Where the page may load from for it, as a content policy has it.
    pub fn sources(&self) -> String {
        let origin = |url: &Url| Some(url::Url::parse(url.as_str()).ok()?.origin().ascii_serialization());
        let origins: Vec<String> = [&self.script].into_iter().chain(&self.hosts).filter_map(origin).collect();
        origins.join(" ")
    }
}

/// Who signs licenses of organizations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Licenses {
    /// The public key, for ES256, as PEM.
    #[serde(deserialize_with = "public_key")]
    pub public_key: String,
    /// The private key that belongs to it, as PEM: with it, licenses that are paid for here are signed here.
    pub private_key: Option<Secret>,
    /// Who must have signed them, as they say.
    pub issuer: Option<String>,
    /// Whom they must be for, as they say.
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

/// An address, letter by letter as it was given: a provider names itself so in what it signs.
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
