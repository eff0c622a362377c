//! The effective configuration and its types. `load.rs` reads and merges the layers; `tidemark.toml` documents each setting for
//! operators.

mod access;
mod backup;
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
pub use backup::BackupSettings;
pub use billing::{Billing, Prices};
pub use detection::Detection;
pub use identity::{Captcha, GitHub, Google, Licenses, OpenId};
pub use limits::{OciBandwidth, ProjectLimits, PublicLimits, Rate, RateLimiting, RunnerLimits, UserLimits};
pub use load::{ConfigError, Flags};
pub use notices::Notices;
pub use registry::{AccessPoint, DataStore, Registry, Service};
pub use retention::Retention;
pub use runners::Runners;

/// The effective configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The data folder: database, secret, backups and unsent mail.
    pub data_dir: PathBuf,
    /// The web console.
    pub console: Console,
    /// Sessions and credentials.
    pub security: Security,
    /// Access rules and quotas of anonymous use.
    pub access: Access,
    /// The HTTP server.
    pub server: Server,
    /// Logs.
    pub logging: Logging,
    /// The database.
    pub database: Database,
    /// Outgoing mail. Without it, the server writes messages to files.
    pub smtp: Option<Smtp>,
    /// Detection of changes.
    pub detection: Detection,
    /// Retention of records and files.
    pub retention: Retention,
    /// Scheduled backups.
    pub backup: BackupSettings,
    /// Optional services.
    pub plus: Plus,
}

impl Config {
    /// Returns the example file: all settings with defaults and comments.
    pub fn example() -> &'static str {
        include_str!("tidemark.toml")
    }

    /// Merges the defaults, a file, the environment and the flags. Later layers take precedence.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: &Flags,
    ) -> Result<Self, ConfigError> {
        load::load(file, environment, flags)
    }

    /// Returns the default configuration file, if it exists.
    pub fn default_file() -> Option<PathBuf> {
        let file = load::folders()?.config_dir().join("tidemark.toml");
        file.is_file().then_some(file)
    }

    /// Creates the data folder and the folder of the database file, accessible to their owner only.
    pub fn create_folders(&self) -> Result<(), ConfigError> {
        secret::create_folder(&self.data_dir)?;
        match self.database.file.parent() {
            Some(folder) if self.database.url.is_none() => secret::create_folder(folder),
            _ => Ok(()),
        }
    }

    /// Returns the secret that signs sessions: the configured secret, or the secret in the data folder, which the first start
    /// creates.
    pub fn secret(&self) -> Result<Secret, ConfigError> {
        match &self.security.secret_key {
            Some(secret) => Ok(secret.clone()),
            None => secret::load_or_create(&self.data_dir.join("secret"), self.database.url.is_some()),
        }
    }

    /// Returns the location of the database.
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

    /// Returns the effective rate limits: the configured limits, or only the limits on sign-in attempts.
    pub fn limits(&self) -> RateLimiting {
        self.plus.rate_limiting.clone().unwrap_or_else(RateLimiting::sign_in_only)
    }

    /// Returns the public URL of the registry.
    pub fn registry_url(&self) -> &Url {
        self.plus.registry.url.as_ref().unwrap_or(&self.console.url)
    }

    /// Returns the folder for blobs, used if they are stored in files.
    pub fn registry_folder(&self) -> PathBuf {
        self.data_dir.join("registry")
    }

    /// Returns the configuration as in the API, with twelve asterisks instead of each secret.
    pub fn masked(&self) -> Value {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        // Clients of the contract expect these shapes. A secret always exists, configured or generated.
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
    /// The public URL of this server.
    pub url: Url,
}

/// Sessions and credentials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Security {
    /// Signs sessions. [`Config::secret`] also returns the generated secret in the data folder.
    pub secret_key: Option<Secret>,
    /// Issuer of the sessions that this server signs.
    pub issuer: String,
    /// Prefix of new API keys.
    pub key_prefix: String,
}

/// The HTTP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port to listen on.
    pub bind_address: SocketAddr,
    /// Maximum size of a request body, in bytes.
    pub request_body_max_bytes: usize,
    /// Maximum duration of a request, in seconds.
    pub request_timeout_seconds: NonZeroU32,
    /// Maximum time from a new connection to the end of the headers of its first request, in seconds.
    pub header_timeout_seconds: NonZeroU32,
    /// Maximum time from a response to the end of the headers of the next request, in seconds.
    pub keep_alive_timeout_seconds: NonZeroU32,
    /// Maximum number of connections; default: half of the limit of open files.
    pub max_connections: Option<NonZeroU32>,
    /// Maximum number of connections per address.
    pub max_connections_per_address: NonZeroU32,
    /// Certificate and key for HTTPS.
    pub tls: Option<Tls>,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    #[serde(deserialize_with = "networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// Separate listen address for the metrics; default: the metrics are on `bind_address`.
    pub metrics_address: Option<SocketAddr>,
}

impl Server {
    /// Returns the maximum duration of a request.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_seconds.get().into())
    }

    /// Returns the maximum time from a new connection to the end of the headers of its first request.
    pub fn header_timeout(&self) -> Duration {
        Duration::from_secs(self.header_timeout_seconds.get().into())
    }

    /// Returns the maximum time from a response to the end of the headers of the next request.
    pub fn keep_alive_timeout(&self) -> Duration {
        Duration::from_secs(self.keep_alive_timeout_seconds.get().into())
    }
}

/// Certificate and key for HTTPS, both PEM files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain.
    pub cert_file: PathBuf,
    /// Private key of the certificate.
    pub key_file: PathBuf,
}

/// Logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logging {
    /// Minimum level of messages.
    pub level: LogLevel,
    /// Format of messages.
    pub format: LogFormat,
}

/// Log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// Information for developers.
    Debug,
    /// Information for operators.
    Info,
    /// Problems that operators should check.
    Warn,
    /// Failures.
    Error,
}

impl LogLevel {
    /// Returns the name of the level.
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

/// Log format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Human-readable on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object per line.
    Json,
    /// Human-readable text.
    Human,
}

/// The database.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Database {
    /// A PostgreSQL database, used instead of the file.
    pub url: Option<DatabaseUrl>,
    /// The SQLite file.
    pub file: PathBuf,
    /// Maximum time to wait for a lock of another process, in milliseconds (SQLite).
    pub busy_timeout: u32,
    /// Page cache of the SQLite writer, in KiB.
    pub cache_size: NonZeroU32,
    /// Maximum number of connections to PostgreSQL.
    pub connections: NonZeroU32,
}

/// URL of a PostgreSQL database. `Debug` and `Display` omit the password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Returns the URL with the password.
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
    /// Hostname of the mail server.
    pub hostname: String,
    /// Port of the mail server. [`Smtp::port`] returns the default if it is not set.
    pub port: Option<u16>,
    /// Whether to upgrade the connection with STARTTLS instead of TLS from the start.
    #[serde(default = "yes")]
    pub starttls: bool,
    /// Whether to send without encryption. Overrides `starttls`.
    #[serde(default)]
    pub plain: bool,
    /// Whether to accept a certificate that cannot be verified.
    #[serde(default)]
    pub insecure_host: bool,
    /// User name for the mail server; `None` to send without authentication.
    pub username: Option<String>,
    /// The password.
    pub secret: Option<Secret>,
    /// The name of the sender.
    #[serde(default = "sender")]
    pub from_name: String,
    /// The address of the sender.
    pub from_email: Email,
}

/// Encryption of the connection to the mail server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Upgraded with STARTTLS before anything else is sent.
    StartTls,
    /// TLS from the start.
    Tls,
    /// No encryption.
    Plain,
}

impl Smtp {
    /// Returns the encryption of the connection.
    pub fn encryption(&self) -> Encryption {
        match (self.plain, self.starttls) {
            (true, _) => Encryption::Plain,
            (false, true) => Encryption::StartTls,
            (false, false) => Encryption::Tls,
        }
    }

    /// Returns the configured port, or the default port of the encryption.
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
    /// Rate limits and limits on created resources.
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
    /// Sign-in with GitHub.
    pub github: Option<GitHub>,
    /// Sign-in with Google.
    pub google: Option<Google>,
    /// Sign-in with OpenID Connect providers, by the name in their URLs.
    #[serde(default)]
    pub oidc: BTreeMap<Slug, OpenId>,
    /// Captcha for sign-up and sign-in.
    pub captcha: Option<Captcha>,
    /// Verification and signing of licenses of organizations.
    pub license: Option<Licenses>,
    /// Paid plans.
    pub billing: Option<Billing>,
}

fn yes() -> bool {
    true
}

fn sender() -> String {
    "Tidemark".to_owned()
}

/// Deserializes networks. A single address is a network of one address.
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
