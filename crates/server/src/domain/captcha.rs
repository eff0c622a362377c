//! CAPTCHA: verifies tokens with the configured service.

use std::net::IpAddr;

use serde::Deserialize;
use tidemark_api::{CaptchaSite, NonEmpty};
use tokio::task::spawn_blocking;

use crate::{
    domain::error::{Error, Result},
    infra::{
        config::{Captcha, Config},
        outgoing,
    },
};

/// Maximum number of bytes that are read from a response.
const MAX_RESPONSE_BYTES: u64 = 64 << 10;

/// The action that a CAPTCHA protects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    SignUp,
    LogIn,
}

impl Action {
    /// Returns the name of the action in the CAPTCHA of the page.
    const fn as_str(self) -> &'static str {
        match self {
            Self::SignUp => "signup",
            Self::LogIn => "login",
        }
    }
}

#[derive(Deserialize)]
struct Verdict {
    success: bool,
    /// Not every service returns a score.
    score: Option<f64>,
    action: Option<String>,
}

/// Returns the settings of the CAPTCHA for pages.
pub(crate) fn site(config: &Config) -> Option<CaptchaSite> {
    config.plus.captcha.as_ref().map(|captcha| CaptchaSite {
        script: captcha.script.as_str().to_owned(),
        site_key: captcha.site_key.clone(),
    })
}

/// Rejects a request without a valid proof, if the server requires one.
pub(crate) async fn check(
    config: &Config,
    proof: Option<&NonEmpty>,
    action: Action,
    address: Option<IpAddr>,
) -> Result<()> {
    let Some(captcha) = config.plus.captcha.clone() else { return Ok(()) };
    let refused = || Error::Forbidden("The CAPTCHA check failed; reload the page and try again.".into());
    let proof = proof.ok_or_else(refused)?.as_str().to_owned();
    let address = address.map(|address| address.to_string());
    let asked = spawn_blocking(move || {
        let verdict = verify(&captcha, &proof, address.as_deref())?;
        let same = verdict.action.is_none_or(|given| given.is_empty() || given == action.as_str());
        let sure = verdict.score.is_none_or(|score| score >= captcha.min_score);
        Ok(verdict.success && same && sure)
    });
    let asked: Result<bool, ureq::Error> = asked.await.map_err(|error| Error::Internal(error.into()))?;
    match asked {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused()),
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "request to the CAPTCHA service failed");
            Err(Error::Upstream("The CAPTCHA service is unavailable; try again.".into()))
        }
    }
}

fn verify(captcha: &Captcha, proof: &str, address: Option<&str>) -> Result<Verdict, ureq::Error> {
    let mut form = vec![("secret", captcha.secret.expose()), ("response", proof)];
    form.extend(address.map(|address| ("remoteip", address)));
    // The operator configured the service, so it may have a private address.
    let mut answer =
        outgoing::agent(captcha.url.as_str(), true).post(captcha.url.as_str()).send_form(form)?;
    let text = outgoing::read_body(answer.body_mut(), MAX_RESPONSE_BYTES)?;
    serde_json::from_slice(&text).map_err(|error| ureq::Error::Other(error.into()))
}
