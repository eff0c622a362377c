//! The configuration: what can be set, what it means, and what is in force. How the layers are read and merged is
//! in `load.rs`; what each setting does is told to the operator by `tidemark.toml`.

mod access;
mod billing;
mod detection;
mod identity;
mod limits;
mod load;
mod notices;
mod registry;
mod retention;
mod runners;
mod secret;

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};
use tidemark_api::{Email, MASK, Secret, Slug, Url};
use tidemark_store::Location;

pub use access::{Access, Claims, Unclaimed};
pub use billing::{Billing, Prices};
pub use detection::Detection;
pub use identity::{Captcha, GitHub, Google, Licenses, OpenId};
pub use limits::{OciBandwidth, ProjectLimits, PublicLimits, RateLimiting, RunnerLimits, UserLimits};
pub use load::{ConfigError, Flags};
pub use notices::Notices;
pub use registry::{AccessPoint, DataStore, Registry, Service};
pub use retention::Retention;
pub use runners::Runners;

/// The configuration in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The folder for everything the server keeps in files.
    pub data_dir: PathBuf,
    /// The web console.
    pub console: Console,
    /// Sessions and credentials.
    pub security: Security,
    /// Who may use the server, and how much anonymous use may store.
    pub access: Access,
    /// The HTTP server.
    pub server: Server,
    /// Logs.
    pub logging: Logging,
    /// The database.
    pub database: Database,
    /// Outgoing mail; without it messages become files.
    pub smtp: Option<Smtp>,
    /// Detection of changes.
    pub detection: Detection,
    /// How long records and files are kept.
    pub retention: Retention,
    /// Optional services.
    pub plus: Plus,
}

impl Config {
    /// Every setting with its default and a comment, as a file.
    pub fn example() -> &'static str {
        include_str!("tidemark.toml")
    }

    /// Merges the defaults, a file, the environment and the flags; later ones win.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: &Flags,
    ) -> Result<Self, ConfigError> {
        load::load(file, environment, flags)
    }

    /// The file that is read when none is named, if it exists.
    pub fn default_file() -> Option<PathBuf> {
        let file = load::folders()?.config_dir().join("tidemark.toml");
        file.is_file().then_some(file)
    }

    /// Makes the data folder and that of the database file, readable for their owner alone.
    pub fn create_folders(&self) -> Result<(), ConfigError> {
        secret::create_folder(&self.data_dir)?;
        match self.database.file.parent() {
            Some(folder) if self.database.url.is_none() => secret::create_folder(folder),
            _ => Ok(()),
        }
    }

    /// The secret that signs sessions: the one configured, or the one kept in the data folder, which is made at the
    /// first start.
    pub fn secret(&self) -> Result<Secret, ConfigError> {
        match &self.security.secret_key {
            Some(secret) => Ok(secret.clone()),
            None => secret::keep(&self.data_dir.join("secret"), self.database.url.is_some()),
        }
    }

    /// Where the data lives.
    pub fn location(&self) -> Location {
        match &self.database.url {
            Some(url) => Location::Postgres {
                url: url.expose().to_owned(),
                connections: usize::try_from(self.database.connections.get()).unwrap_or(usize::MAX),
            },
            None => Location::Sqlite {
                file: self.database.file.clone(),
                busy_timeout: Duration::from_millis(self.database.busy_timeout.into()),
                cache_kib: self.database.cache_size.get(),
            },
        }
    }

    /// The limits in force: those configured, or else only those on attempts to sign in.
    pub fn limits(&self) -> RateLimiting {
        self.plus.rate_limiting.clone().unwrap_or_else(RateLimiting::sign_in_only)
    }

    /// The address under which clients reach the registry.
    pub fn registry_url(&self) -> &Url {
        self.plus.registry.url.as_ref().unwrap_or(&self.console.url)
    }

    /// The folder for the bytes of images, where they are kept in files.
    pub fn registry_folder(&self) -> PathBuf {
        self.data_dir.join("registry")
    }

    /// The configuration as the API shows it, with twelve asterisks for every secret.
    pub fn masked(&self) -> Value {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        // Clients of the contract expect these shapes; there is always a secret, configured or kept.
        shown["security"]["secret_key"] = json!(MASK);
        shown["logging"]["name"] = json!("Tidemark");
        shown["logging"]["log"] = json!({ "stderr_terminal": { "level": self.logging.level } });
        if let Some(tls) = shown["server"]["tls"].as_object_mut() {
            tls.insert("type".to_owned(), json!("as_file"));
        }
        shown
    }
}

/// The web console.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Console {
    /// The address under which people reach this server.
    pub url: Url,
}

/// Sessions and credentials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Security {
    /// Signs sessions; [`Config::secret`] also knows the one kept in the data folder.
    pub secret_key: Option<Secret>,
    /// Names this server in the sessions it signs.
    pub issuer: String,
    /// The first word of new API keys.
    pub key_prefix: String,
}

/// The HTTP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Where to listen.
    pub bind_address: SocketAddr,
    /// The largest request body.
    pub request_body_max_bytes: usize,
    /// The longest time for one request.
    pub request_timeout_seconds: NonZeroU32,
    /// The longest time from a new connection to the end of its first request's headers.
    pub header_timeout_seconds: NonZeroU32,
    /// The longest time from an answer to the end of the next request's headers.
    pub keep_alive_timeout_seconds: NonZeroU32,
    /// The maximum number of connections; without it, half of the files that the process may open.
    pub max_connections: Option<NonZeroU32>,
    /// The maximum number of connections of one address.
    pub max_connections_per_address: NonZeroU32,
    /// Certificate and key for HTTPS.
    pub tls: Option<Tls>,
    /// PeerNoise whose `X-Forwarded-For` is believed.
    #[serde(deserialize_with = "networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// Where to serve the metrics, when not beside everything else.
    pub metrics_address: Option<SocketAddr>,
}

impl Server {
    /// The longest time for one request.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_seconds.get().into())
    }

    /// The longest time from a new connection to the end of its first request's headers.
    pub fn header_timeout(&self) -> Duration {
        Duration::from_secs(self.header_timeout_seconds.get().into())
    }

    /// The longest time from an answer to the end of the next request's headers.
    pub fn keep_alive_timeout(&self) -> Duration {
        Duration::from_secs(self.keep_alive_timeout_seconds.get().into())
    }
}

/// Certificate and key for HTTPS, both PEM files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The certificate and those that signed it.
    pub cert_file: PathBuf,
    /// Its private key.
    pub key_file: PathBuf,
}

/// Logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logging {
    /// The least important messages to show.
    pub level: LogLevel,
    /// How a message looks.
    pub format: LogFormat,
}

/// How important a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// What a developer wants to know.
    Debug,
    /// What an operator wants to know.
    Info,
    /// What an operator should look at.
    Warn,
    /// What failed.
    Error,
}

impl LogLevel {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// How a log message looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Human on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object a line.
    Json,
    /// Text for people.
    Human,
}

/// The database.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Database {
    /// A PostgreSQL database, used instead of the file.
    pub url: Option<DatabaseUrl>,
    /// The SQLite file.
    pub file: PathBuf,
    /// Milliseconds to wait for a lock held by another program.
    pub busy_timeout: u32,
    /// Page cache of the SQLite writer in KiB.
    pub cache_size: NonZeroU32,
    /// The most connections to PostgreSQL.
    pub connections: NonZeroU32,
}

/// The address of a PostgreSQL database; it shows itself without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The address with its password.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, query) = self.0.split_once('?').unwrap_or((&self.0, ""));
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        write!(formatter, "{scheme}://")?;
        match rest.rsplit_once('@') {
            Some((login, host)) => match login.split_once(':') {
                Some((user, _)) => write!(formatter, "{user}:{MASK}@{host}")?,
                None => write!(formatter, "{login}@{host}")?,
            },
            None => formatter.write_str(rest)?,
        }
        for (position, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            let separator = if position == 0 { '?' } else { '&' };
            match pair.split_once('=') {
                Some((name, _)) if name.to_ascii_lowercase().contains("pass") => {
                    write!(formatter, "{separator}{name}={MASK}")?;
                }
                _ => write!(formatter, "{separator}{pair}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DatabaseUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self(text));
        }
        Err(de::Error::custom("it must start with postgres:// (a SQLite file is named by database.file)"))
    }
}

/// Outgoing mail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smtp {
    /// The mail server.
    pub hostname: String,
    /// Its port; [`Smtp::port`] knows the usual one.
    pub port: Option<u16>,
    /// Whether to upgrade by STARTTLS rather than to speak TLS from the start.
    #[serde(default = "yes")]
    pub starttls: bool,
    /// Whether to send without any encryption; wins over `starttls`.
    #[serde(default)]
    pub plain: bool,
    /// Whether to accept a certificate that cannot be verified.
    #[serde(default)]
    pub insecure_host: bool,
    /// Who signs in, if anybody does.
    pub username: Option<String>,
    /// The password.
    pub secret: Option<Secret>,
    /// The name of the sender.
    #[serde(default = "sender")]
    pub from_name: String,
    /// The address of the sender.
    pub from_email: Email,
}

/// How a connection to the mail server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Upgraded by STARTTLS before anything is said.
    StartTls,
    /// TLS from the start.
    Tls,
    /// Not at all.
    Plain,
}

impl Smtp {
    /// How the connection is protected.
    pub fn encryption(&self) -> Encryption {
        match (self.plain, self.starttls) {
            (true, _) => Encryption::Plain,
            (false, true) => Encryption::StartTls,
            (false, false) => Encryption::Tls,
        }
    }

    /// The port: the one configured or the usual one.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(match self.encryption() {
            Encryption::StartTls => 587,
            Encryption::Tls => 465,
            Encryption::Plain => 25,
        })
    }
}

/// Optional services.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plus {
    /// Limits on requests and on what is created.
    pub rate_limiting: Option<RateLimiting>,
    /// The container registry.
    #[serde(default)]
    pub registry: Registry,
    /// Runners and their jobs.
    #[serde(default)]
    pub runners: Runners,
    /// Notices of projects and users.
    #[serde(default)]
    pub notices: Notices,
    /// Signing in at GitHub.
    pub github: Option<GitHub>,
    /// Signing in at Google.
    pub google: Option<Google>,
    /// Signing in at other providers, by a word that stands in their addresses here.
    #[serde(default)]
    pub oidc: BTreeMap<Slug, OpenId>,
    /// Whether those who sign up or in must prove to be human.
    pub captcha: Option<Captcha>,
    /// Who signs licenses of organizations, if anybody does.
    pub license: Option<Licenses>,
    /// Whether plans are paid for.
    pub billing: Option<Billing>,
}

fn yes() -> bool {
    true
}

fn sender() -> String {
    "Tidemark".to_owned()
}

/// Networks, or single addresses, which are networks of one.
fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    Vec::<String>::deserialize(deserializer)?
        .iter()
        .map(|text| {
            let address = || text.parse::<IpAddr>().map(IpNet::from).ok();
            text.parse().ok().or_else(address).ok_or_else(|| {
                de::Error::custom(format_args!(
                    "“{text}” is neither an address nor a network like 10.0.0.0/8"
                ))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
