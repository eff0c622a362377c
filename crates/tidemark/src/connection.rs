//! Connection of a command to a server: address, credential and retries; and error messages about it.

use std::{env, fmt, time::Duration};

use tidemark_api::{Jwt, PlainKey, Url};
use tidemark_client::{
    Authentication, Client, ClientSettings, ConnectionProblem, Credential, Error, Retry, RetryPolicy,
};

use crate::{
    failure::{Exit, Failure, Result},
    local,
    logins::Logins,
    manifest, output, version,
};

/// Heading of these arguments in the help.
const HELP_HEADING: &str = "Server";

/// Arguments of every command that connects to a server.
#[derive(clap::Args)]
pub(crate) struct Connection {
    /// Server address, for example http://localhost:6610 [default: tidemark.toml, the last login, or the results on this machine]
    #[arg(long, help_heading = HELP_HEADING, value_name = "URL", env = "TIDEMARK_HOST")]
    host: Option<Url>,
    /// Use the results on this machine, regardless of any configured server
    #[arg(long, help_heading = HELP_HEADING)]
    local: bool,
    /// User key or project key
    #[arg(
        long,
        help_heading = HELP_HEADING,
        value_name = "KEY",
        env = "TIDEMARK_API_KEY",
        hide_env_values = true,
        conflicts_with = "token"
    )]
    key: Option<String>,
    /// Token, instead of a key
    #[arg(long, help_heading = HELP_HEADING, value_name = "TOKEN", env = "TIDEMARK_API_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Accept any certificate of the server; use it only for tests
    #[arg(long, help_heading = HELP_HEADING)]
    insecure_host: bool,
    /// Time limit of a whole request in seconds
    #[arg(long, help_heading = HELP_HEADING, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=900))]
    timeout: u64,
    /// Maximum number of attempts if the server does not answer or is busy
    #[arg(long, help_heading = HELP_HEADING, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    /// Delay before the second attempt in seconds; it doubles with each further attempt
    #[arg(long, help_heading = HELP_HEADING, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=900))]
    retry_after: u64,
    /// Maximum delay in seconds; if the server requests a longer delay, the command does not retry
    #[arg(long, help_heading = HELP_HEADING, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=900))]
    max_retry_after: u64,
}

/// Selected server and credential, each with its source.
pub(crate) struct ConnectionTarget {
    /// Server; `None` is the database on this machine.
    pub(crate) host: Option<(Url, SettingSource)>,
    /// Key or token.
    pub(crate) credential: Option<(String, SettingSource)>,
}

/// Source of a setting, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingSource {
    Flag,
    Environment,
    Repository,
    Login,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::Repository => manifest::FILE,
            Self::Login => "stored login",
        })
    }
}

impl Connection {
    /// Returns a client of the selected server, or of the database on this machine.
    pub(crate) fn client(&self) -> Result<Client> {
        let target = self.target()?;
        let credential = target.credential.map(|(text, _)| credential(&text)).transpose()?;
        match target.host {
            Some((host, _)) => Ok(self.client_for(host, credential)),
            None => local::client(credential),
        }
    }

    /// Whether the user explicitly selected the results on this machine.
    pub(crate) fn is_explicitly_local(&self) -> bool {
        self.local
    }

    /// Adds to a refusal of the local database that no server was selected, in case the user meant a server.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let is_here = || self.target().is_ok_and(|target| target.host.is_none());
        if self.local || !failure.is(Exit::Refused) || !is_here() {
            return failure;
        }
        failure.and(
            "No server is named, so the command used the results on this machine; name a server with --host \
             or `tidemark login`.",
        )
    }

    /// Returns a client of this server with this credential.
    pub(crate) fn client_for(&self, host: Url, credential: Option<Credential>) -> Client {
        let settings = ClientSettings {
            host,
            credential,
            retry_policy: self.retry_policy(),
            insecure: self.insecure_host,
        };
        Client::new(settings, warn_about_retry).on_version(version::check)
    }

    /// Returns the selected server: from a flag, the environment, the file of the repository or a stored login; and the
    /// credential from the same sources. A stored credential is used only for its own server.
    pub(crate) fn target(&self) -> Result<ConnectionTarget> {
        let manifest = manifest::current()?;
        let given = self.host.clone().filter(|_| !self.local).map(|host| {
            let source = match source_of("TIDEMARK_HOST", host.as_str()) {
                SettingSource::Flag if manifest.host() == Some(&host) => SettingSource::Repository,
                source => source,
            };
            (host, source)
        });
        // Not validated by clap, because its error messages contain the value.
        let wrong = |what: &str, error| Failure::usage(format!("The {what} cannot be used: {error}."));
        let credential = match (&self.key, &self.token) {
            (Some(key), _) => {
                key.parse::<PlainKey>().map_err(|error| wrong("key", error))?;
                Some((key.clone(), source_of("TIDEMARK_API_KEY", key)))
            }
            (None, Some(token)) => {
                token.parse::<Jwt>().map_err(|error| wrong("token", error))?;
                Some((token.clone(), source_of("TIDEMARK_API_TOKEN", token)))
            }
            (None, None) => None,
        };
        // Does not read the file if the host and the credential are given.
        if self.local || (given.is_some() && credential.is_some()) {
            return Ok(ConnectionTarget { host: given, credential });
        }
        let stored = Logins::load()?;
        let host = given.or_else(|| Some((stored.current()?, SettingSource::Login)));
        match (&host, &credential) {
            (None, Some(_)) => Err(Failure::usage(
                "There is a key or token, but no server: give its address with --host or in TIDEMARK_HOST, \
                 or use the results on this machine with --local.",
            )),
            (Some((url, _)), None) => {
                let credential = stored.credential(url).map(|text| (text.to_owned(), SettingSource::Login));
                Ok(ConnectionTarget { host, credential })
            }
            _ => Ok(ConnectionTarget { host, credential }),
        }
    }

    /// Returns the server and the credential from flags and environment, for a login.
    pub(crate) fn given(&self) -> Result<(Url, Option<String>)> {
        match &self.host {
            Some(host) => Ok((host.clone(), self.key.clone().or_else(|| self.token.clone()))),
            None => {
                Err(Failure::usage("No server is named: give its address with --host or in TIDEMARK_HOST."))
            }
        }
    }

    /// Returns the retry policy, which also applies to code hosts.
    pub(crate) fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy {
            timeout: Duration::from_secs(self.timeout),
            attempts: self.attempts,
            min_delay: Duration::from_secs(self.retry_after),
            max_delay: Duration::from_secs(self.max_retry_after),
        }
    }

    /// Whether the key is a project key, so that the project need not be named.
    pub(crate) fn has_project_key(&self) -> bool {
        let target = self.target().ok();
        target.and_then(|target| target.credential).is_some_and(|(text, _)| text.contains("_run_"))
    }
}

/// Validates a key or a token.
pub(crate) fn credential(text: &str) -> Result<Credential> {
    Credential::new(text)
        .ok_or_else(|| Failure::usage("The credential is neither a key nor a token; copy it again."))
}

/// Returns the source of a value: the environment if its variable has the same value, otherwise a flag. A flag takes precedence
/// over a variable.
fn source_of(variable: &str, value: &str) -> SettingSource {
    let is_same = |text: String| match text.parse::<Url>() {
        Ok(url) => url.as_str() == value,
        Err(_) => text == value,
    };
    if env::var(variable).is_ok_and(is_same) { SettingSource::Environment } else { SettingSource::Flag }
}

/// Reports an upcoming retry on standard error.
pub(crate) fn warn_about_retry(retry: &Retry<'_>) {
    message!(
        "warning: The server did not answer ({}); attempt {} of {} follows in {} s.",
        retry.reason.trim_end_matches('.'),
        retry.attempt,
        retry.attempts,
        retry.delay.as_secs()
    );
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error {
            Error::Refused { .. } | Error::InvalidResponse { .. } | Error::IncompleteList { .. } => {
                Exit::Refused
            }
            Error::Unreachable { .. } => Exit::Unreachable,
        };
        if let Some(sentence) = refusal(&error) {
            return Self::with(exit, sentence);
        }
        let text = error.to_string();
        let end = if text.ends_with(['.', ')']) { "" } else { "." };
        // An address keeps its letters.
        let text = if text.starts_with("http") { text } else { output::capitalized(&text) };
        let failure = Self::with(exit, format!("{text}{end}"));
        match &error {
            Error::Unreachable { problem, .. } => failure.and(remedy(*problem)),
            Error::InvalidResponse { .. } => failure.and(CHECK_ADDRESS),
            _ => failure,
        }
    }
}

/// Remedy if another server responds.
const CHECK_ADDRESS: &str = "Check the address of the server: host name, port and path.";

/// Returns the message about a missing or rejected credential, or about the response of another server; `None` if the message
/// of the server is for users of the command, too.
fn refusal(error: &Error) -> Option<String> {
    let Error::Refused { status, request, host, authentication, .. } = error else { return None };
    match (status, host, authentication) {
        (300..=399, ..) | (_, _, Authentication::NotApplicable) => None,
        (401, Some(host), _) if request.is_none() => Some(format!(
            "{host} responded with status 401, but not with an error of this API. {CHECK_ADDRESS} A proxy before the \
             server must not require a login of its own."
        )),
        (401, Some(host), Authentication::Anonymous) => Some(format!(
            "Not logged in to {host}: run `tidemark login --host {host}`, or set TIDEMARK_API_KEY."
        )),
        (401, Some(host), Authentication::Credential) => Some(format!(
            "{host} rejected the key or token: it is unknown, revoked or expired. Create a new key on the page of your \
             account, then run `tidemark login --host {host}`, or set TIDEMARK_API_KEY."
        )),
        (401, None, Authentication::Anonymous) => Some(
            "Not logged in: on the results on this machine, this operation requires the key of an administrator. Pass \
             it with --key."
                .to_owned(),
        ),
        (401, None, Authentication::Credential) => Some(
            "The key or token is not valid for the results on this machine: it is unknown, revoked or expired. Create \
             a new key at `tidemark serve`."
                .to_owned(),
        ),
        (status, Some(host), _) if request.is_none() => Some(format!(
            "{host} is not a server of this API: it responded with status {status}, but not with an error of this API. \
             {CHECK_ADDRESS}"
        )),
        _ => None,
    }
}

/// Returns what to do if there is no connection.
fn remedy(problem: Option<ConnectionProblem>) -> &'static str {
    match problem {
        Some(ConnectionProblem::UnknownHost) => {
            "Check the host name in the address, and the network connection of this machine."
        }
        Some(ConnectionProblem::Refused) => "Check the port in the address, and that the server runs.",
        Some(ConnectionProblem::UnknownIssuer) => {
            "Set SSL_CERT_FILE to a PEM file with the certificate of the CA, or with the self-signed certificate. For a \
             test, --insecure-host accepts any certificate."
        }
        Some(ConnectionProblem::OtherHostName) => "Use a host name of the certificate in the address.",
        Some(ConnectionProblem::ExpiredCertificate) => {
            "Renew the certificate on the server, and check the clock of this machine."
        }
        Some(ConnectionProblem::NoTls) => "Use http:// instead of https:// in the address, or another port.",
        None => "Check its address, and that it runs.",
    }
}
