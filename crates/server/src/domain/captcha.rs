//! Proofs of being human, checked by whatever service the operator has chosen.

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

/// The most bytes of an answer that are read.
const ANSWER_MAX: u64 = 64 << 10;

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    SignUp,
    LogIn,
}

impl Action {
    /// The word that the page gave for it.
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
    /// Not every service gives one.
    score: Option<f64>,
    action: Option<String>,
}

/// What pages need to know to get a proof.
pub(crate) fn site(config: &Config) -> Option<CaptchaSite> {
    config.plus.captcha.as_ref().map(|captcha| CaptchaSite {
        script: captcha.script.as_str().to_owned(),
        site_key: captcha.site_key.clone(),
    })
}

/// Refuses whoever has no good proof, where the server asks for one.
pub(crate) async fn check(
    config: &Config,
    proof: Option<&NonEmpty>,
    action: Action,
    address: Option<IpAddr>,
) -> Result<()> {
    let Some(captcha) = config.plus.captcha.clone() else { return Ok(()) };
    let refused = || {
        Error::Forbidden(
            "This server could not tell that you are human; load the page again and try once more.".into(),
        )
    };
    let proof = proof.ok_or_else(refused)?.as_str().to_owned();
    let address = address.map(|address| address.to_string());
    let asked = spawn_blocking(move || {
        let verdict = verdict(&captcha, &proof, address.as_deref())?;
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
            tracing::warn!(error, "the service that tells people from machines does not answer as it should");
            Err(Error::Elsewhere(
                "The service that tells people from machines does not answer; try again.".into(),
            ))
        }
    }
}

fn verdict(captcha: &Captcha, proof: &str, address: Option<&str>) -> Result<Verdict, ureq::Error> {
    let mut form = vec![("secret", captcha.secret.expose()), ("response", proof)];
    form.extend(address.map(|address| ("remoteip", address)));
    // The operator has named the service, which may well be a neighbor.
    let mut answer =
        outgoing::agent(captcha.url.as_str(), true).post(captcha.url.as_str()).send_form(form)?;
    let text = outgoing::read_body(answer.body_mut(), ANSWER_MAX)?;
    serde_json::from_slice(&text).map_err(|error| ureq::Error::Other(error.into()))
}
