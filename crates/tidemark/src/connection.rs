//! Which server a command talks to, as whom and how patiently; and its failures as the person who typed it sees them.

use std::time::Duration;

use tidemark_api::{Jwt, PlainKey, Url};
use tidemark_client::{Client, Credential, Error, Settings};

use crate::{
    ci::Patience,
    failure::{Exit, Failure, Result},
};

/// The arguments of every command that talks to a server.
#[derive(clap::Args)]
pub(crate) struct Connection {
    /// The address of the server, such as http://localhost:6610
    #[arg(long, value_name = "URL", env = "TIDEMARK_HOST")]
    pub(crate) host: Option<Url>,
    /// A key of a user or a project
    #[arg(
        long,
        value_name = "KEY",
        env = "TIDEMARK_API_KEY",
        hide_env_values = true,
        conflicts_with = "token"
    )]
    key: Option<String>,
    /// A token instead of a key
    #[arg(long, value_name = "TOKEN", env = "TIDEMARK_API_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Accept any certificate of the server
    #[arg(long)]
    insecure_host: bool,
    /// How many seconds one request may take in all
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=900))]
    timeout: u64,
    /// How often a request is tried while the server does not answer or is busy
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    /// How many seconds to wait before the second attempt; each further wait is twice as long
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=900))]
    retry_after: u64,
    /// The longest wait in seconds; a server that asks for more is not tried again
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=900))]
    max_retry_after: u64,
}

impl Connection {
    /// A client of the server that is named.
    pub(crate) fn client(&self) -> Result<Client> {
        let Some(host) = self.host.clone() else {
            return Err(Failure::with(
                Exit::Usage,
                "No server is named: give its address with --host or in TIDEMARK_HOST; `tidemark serve` starts one on \
                 http://localhost:6610, and --dry-run needs none.",
            ));
        };
        let settings = Settings {
            host,
            credential: self.credential()?,
            timeout: Duration::from_secs(self.timeout),
            attempts: self.attempts,
            first_wait: Duration::from_secs(self.retry_after),
            longest_wait: Duration::from_secs(self.max_retry_after),
            insecure: self.insecure_host,
        };
        Ok(Client::new(settings, |retry| {
            eprintln!(
                "warning: The server did not answer ({}); attempt {} of {} follows in {} s.",
                retry.reason.trim_end_matches('.'),
                retry.attempt,
                retry.attempts,
                retry.wait.as_secs()
            );
        }))
    }

    /// The credential, if there is one. It is read here and not with the flags, as what is wrong with a flag is said
    /// with its value.
    fn credential(&self) -> Result<Option<Credential>> {
        let wrong =
            |what: &str, error| Failure::with(Exit::Usage, format!("The {what} cannot be used: {error}."));
        let text: String = match (&self.key, &self.token) {
            (Some(key), _) => key.parse::<PlainKey>().map_err(|error| wrong("key", error))?.into(),
            (None, Some(token)) => token.parse::<Jwt>().map_err(|error| wrong("token", error))?.into(),
            (None, None) => return Ok(None),
        };
        Ok(Credential::new(text))
    }

    /// How patient it is, with others than the server as well.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            timeout: Duration::from_secs(self.timeout),
            attempts: self.attempts,
            first_wait: Duration::from_secs(self.retry_after),
            longest_wait: Duration::from_secs(self.max_retry_after),
        }
    }

    /// Whether the key belongs to a project, which then needs not be named.
    pub(crate) fn is_of_project(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.contains("_run_"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error {
            Error::Refused { .. } | Error::Strange { .. } => Exit::Refused,
            Error::Unreachable { .. } => Exit::Unreachable,
        };
        let text = error.to_string();
        let mut letters = text.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        let end = if text.ends_with(['.', ')']) { "" } else { "." };
        Self::with(exit, format!("{}{}{end}", first.unwrap_or_default(), letters.as_str()))
    }
}
