//! Loads the layers of the configuration: defaults, file, environment, flags.
//!
//! The example file is the only list of settings: parsed unchanged, it gives the defaults; parsed with its optional lines, it
//! gives every known name, the type of its value and an example value for error messages.

use std::{
    fs, io,
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use directories::ProjectDirs;
use serde::{Deserialize, Deserializer, de};
use tidemark_api::{MASK, Secret, Url};
use toml::{Table, Value};

use super::{
    Access, BackupSettings, Config, Console, Database, DatabaseUrl, Detection, Logging, Plus, Retention,
    Security, Server, Smtp, secret,
};

/// Minimum similarity, from 0 to 1, at which an unknown name is reported as a misspelling of a known name.
const MIN_SIMILARITY: f64 = 0.8;
const PREFIX: &str = "TIDEMARK_";

/// Settings from the command line.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Address and port to listen on.
    pub bind: Option<String>,
    /// The data folder.
    pub data_dir: Option<PathBuf>,
    /// URL of a PostgreSQL database.
    pub database: Option<String>,
}

/// Error of the configuration: one sentence with the setting, its value and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    pub(super) fn new(message: String) -> Self {
        Self(message)
    }
}

/// Returns the standard folders of the platform, or `None` if the home folder is unknown.
pub(super) fn folders() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "tidemark")
}

pub(super) fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &Flags,
) -> Result<Config, ConfigError> {
    let mut layers = Layers { known: known(), given: Vec::new() };
    if let Some(file) = file {
        layers.add(Origin::File(file.to_owned()), read(file)?)?;
    }
    let table = layers.environment(environment);
    layers.add(Origin::Environment, table)?;
    layers.add(Origin::Flag, given(flags))?;

    let mut merged: Table = Config::example().parse().expect("the embedded example is tested");
    for (_, table) in &layers.given {
        merge(&mut merged, table);
    }
    let draft: Draft = serde_path_to_error::deserialize(Value::Table(merged)).map_err(|error| {
        let path: Vec<_> = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                serde_path_to_error::Segment::Map { key } => Some(key.as_str()),
                _ => None,
            })
            .collect();
        layers.invalid_value(&path.join("."), error.inner().message())
    })?;
    draft.settle(flags, &layers)
}

/// The settings as written, without the defaults that depend on other settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    data_dir: Option<PathBuf>,
    console: ConsoleDraft,
    security: SecurityDraft,
    access: Access,
    server: Server,
    logging: Logging,
    database: DatabaseDraft,
    smtp: Option<Smtp>,
    detection: Detection,
    retention: Retention,
    backup: BackupSettings,
    #[serde(default)]
    plus: Plus,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsoleDraft {
    url: Option<Url>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecurityDraft {
    #[serde(default, deserialize_with = "signing_secret")]
    secret_key: Option<Secret>,
    issuer: Option<String>,
    #[serde(deserialize_with = "key_prefix")]
    key_prefix: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatabaseDraft {
    url: Option<DatabaseUrl>,
    file: Option<PathBuf>,
    busy_timeout: u32,
    cache_size: NonZeroU32,
    connections: NonZeroU32,
}

impl Draft {
    fn settle(self, flags: &Flags, layers: &Layers) -> Result<Config, ConfigError> {
        let data_dir = flags
            .data_dir
            .clone()
            .or(self.data_dir)
            .or_else(|| folders().map(|folders| folders.data_dir().to_owned()))
            .ok_or_else(|| {
                ConfigError::new(
                    "data_dir is not set and this account has no home folder; name a folder with --data-dir."
                        .to_owned(),
                )
            })?;
        if let Some(smtp) = &self.smtp
            && smtp.username.is_some() != smtp.secret.is_some()
        {
            let missing = if smtp.secret.is_none() { "smtp.secret" } else { "smtp.username" };
            return Err(layers.missing(missing));
        }
        if let Some(missing) = self.plus.registry.data_store.missing() {
            return Err(layers.missing(&format!("plus.registry.data_store.{missing}")));
        }
        if let Some(missing) = self.backup.data_store.missing() {
            return Err(layers.missing(&format!("backup.data_store.{missing}")));
        }
        if let Some(secret) = &self.security.secret_key
            && find(&layers.known, &["security", "secret_key"]).and_then(Value::as_str)
                == Some(secret.expose())
        {
            return Err(
                layers.invalid_value("security.secret_key", "everybody can read this one in the example")
            );
        }
        let url = match self.console.url {
            Some(url) => url,
            None => local_url(self.server.bind_address, self.server.tls.is_some())?,
        };
        let issuer = self
            .security
            .issuer
            .unwrap_or_else(|| if url.as_str().ends_with('/') { url.to_string() } else { format!("{url}/") });
        let DatabaseDraft { url: database, file, busy_timeout, cache_size, connections } = self.database;
        Ok(Config {
            database: Database {
                url: database,
                file: file.unwrap_or_else(|| data_dir.join("tidemark.db")),
                busy_timeout,
                cache_size,
                connections,
            },
            data_dir,
            console: Console { url },
            security: Security {
                secret_key: self.security.secret_key,
                issuer,
                key_prefix: self.security.key_prefix,
            },
            access: self.access,
            server: self.server,
            logging: self.logging,
            smtp: self.smtp,
            detection: self.detection,
            retention: self.retention,
            backup: self.backup,
            plus: self.plus,
        })
    }
}

/// Returns the default URL of the server, for clients on this machine or at the bound address.
fn local_url(bind: SocketAddr, tls: bool) -> Result<Url, ConfigError> {
    let scheme = if tls { "https" } else { "http" };
    let port = bind.port();
    let url = match bind {
        _ if bind.ip().is_unspecified() || bind.ip().is_loopback() => format!("{scheme}://localhost:{port}"),
        _ => format!("{scheme}://{bind}"),
    };
    Url::try_from(url).map_err(|error| {
        ConfigError::new(format!("console.url cannot be worked out from {bind} ({error}); set it."))
    })
}

/// Prefix of the sections whose names the operator chooses, and the name of that section in the example.
const NAMED_SECTION_PREFIX: &str = "plus.oidc.";
const EXAMPLE: &str = "example";

/// The layers as given, so that error messages can name the source of a value.
struct Layers {
    known: Table,
    given: Vec<(Origin, Table)>,
}

enum Origin {
    File(PathBuf),
    Environment,
    Flag,
}

impl Layers {
    fn add(&mut self, origin: Origin, table: Table) -> Result<(), ConfigError> {
        self.given.push((origin, table));
        let (origin, table) = &self.given[self.given.len() - 1];
        self.check(table, &self.known, &mut Vec::new(), origin)
    }

    /// Rejects unknown names and values of the wrong type.
    fn check(
        &self,
        table: &Table,
        known: &Table,
        path: &mut Vec<String>,
        origin: &Origin,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            path.push(name.clone());
            let dotted = path.join(".");
            // The operator chooses these names.
            let chosen = dotted.strip_prefix(NAMED_SECTION_PREFIX).is_some_and(|name| !name.contains('.'));
            match (known.get(if chosen { EXAMPLE } else { name }), value) {
                (None, _) => return Err(self.unknown(&dotted, known, origin)),
                (Some(Value::Table(known)), Value::Table(table)) => self.check(table, known, path, origin)?,
                (Some(known), value) if known.same_type(value) => {}
                (Some(known), _) => {
                    return Err(self.invalid_value(&dotted, &format!("it must be {}", kind(known))));
                }
            }
            path.pop();
        }
        Ok(())
    }

    /// Reads the environment variables that name settings. A variable without two underscores counts only if a top-level
    /// setting has its name, because the command line has other variables.
    fn environment(&self, variables: impl IntoIterator<Item = (String, String)>) -> Table {
        let mut table = Table::new();
        for (variable, text) in variables {
            let Some(name) = variable.strip_prefix(PREFIX).filter(|_| !text.is_empty()) else { continue };
            let name = name.to_ascii_lowercase();
            let path: Vec<&str> = name.split("__").collect();
            let top = self.known.get(path[0]).is_some_and(|value| !value.is_table());
            if path.len() < 2 && !top {
                continue;
            }
            let value = match find(&self.known, &path) {
                Some(Value::Boolean(_)) => text.parse().map(Value::Boolean).ok(),
                Some(Value::Integer(_)) => text.parse().map(Value::Integer).ok(),
                Some(Value::Array(_)) => {
                    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                    Some(Value::Array(items.map(Value::from).collect()))
                }
                _ => None,
            };
            // A value that does not parse stays a string and is rejected with the message for the wrong type.
            insert(&mut table, &path, value.unwrap_or(Value::String(text)));
        }
        table
    }

    fn unknown(&self, path: &str, siblings: &Table, origin: &Origin) -> ConfigError {
        let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
        let mut everywhere = Vec::new();
        names(&self.known, "", &mut everywhere);
        let beside = siblings
            .keys()
            .map(|known| (strsim::jaro_winkler(name, known), join(section, known)))
            .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, known)| known);
        let nearest =
            beside.or_else(|| everywhere.into_iter().find(|known| known.rsplit('.').next() == Some(name)));
        let remedy = match nearest {
            Some(known) => format!("did you mean {known}?"),
            None => "remove it, or see all settings with tidemark serve --print-config".to_owned(),
        };
        let place = place(path, origin);
        let end = if remedy.ends_with('?') { "" } else { "." };
        ConfigError::new(format!("There is no setting {path} ({place}); {remedy}{end}"))
    }

    fn missing(&self, path: &str) -> ConfigError {
        let example = self.example(path);
        ConfigError::new(format!("{path} is missing; set it to a value such as {example}."))
    }

    /// Returns an error with the setting, its value and source, the reason, and an example of a valid value.
    fn invalid_value(&self, path: &str, reason: &str) -> ConfigError {
        if let Some(name) = reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
            return self.missing(&join(path, name));
        }
        let segments: Vec<&str> = path.split('.').collect();
        let given = self.given.iter().rev();
        let found = given.filter_map(|(origin, table)| Some((origin, find(table, &segments)?))).next();
        let example = self.example(path);
        ConfigError::new(match found {
            Some((origin, value)) => format!(
                "{path} = {} ({}) cannot be used: {reason}; use a value such as {example}.",
                shown(path, value),
                place(path, origin)
            ),
            None => format!("{path} cannot be used: {reason}; use a value such as {example}."),
        })
    }

    fn example(&self, path: &str) -> String {
        let segments: Vec<&str> = path.split('.').collect();
        match find(&self.known, &segments) {
            _ if path == "security.secret_key" => "the output of openssl rand -base64 32".to_owned(),
            Some(Value::Array(_)) => "[\"10.0.0.0/8\"]".to_owned(),
            Some(Value::Table(_)) | None => format!("[{path}]"),
            Some(value) => value.to_string(),
        }
    }
}

/// Returns all settings, including the optional settings.
fn known() -> Table {
    uncommented().parse().expect("the embedded example is tested")
}

/// Returns the example with its optional lines: lines that start with `#` and no space.
pub(super) fn uncommented() -> String {
    let lines = Config::example().lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn read(file: &Path) -> Result<Table, ConfigError> {
    let text = fs::read_to_string(file).map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        ConfigError::new(format!(
            "The configuration file {} cannot be read ({reason}); name another with --config.",
            file.display()
        ))
    })?;
    text.parse().map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        ConfigError::new(format!(
            "The configuration file {} is not valid TOML at line {line}: {}; correct that line.",
            file.display(),
            error.message()
        ))
    })
}

/// Returns the named settings that the flags set. The data folder is handled separately because it may not be UTF-8.
fn given(flags: &Flags) -> Table {
    let mut table = Table::new();
    for (path, value) in [("server.bind_address", &flags.bind), ("database.url", &flags.database)] {
        if let Some(value) = value {
            insert(&mut table, &path.split('.').collect::<Vec<_>>(), Value::from(value.as_str()));
        }
    }
    table
}

fn merge(into: &mut Table, from: &Table) {
    for (name, value) in from {
        match (into.get_mut(name), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

fn find<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_table()?, rest) }
}

fn insert(table: &mut Table, path: &[&str], value: Value) {
    match path {
        [] => {}
        [name] => {
            table.insert((*name).to_owned(), value);
        }
        [name, rest @ ..] => {
            let inner = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

fn names(table: &Table, path: &str, into: &mut Vec<String>) {
    for (name, value) in table {
        let path = join(path, name);
        match value {
            Value::Table(table) => names(table, &path, into),
            _ => into.push(path),
        }
    }
}

fn join(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

fn place(path: &str, origin: &Origin) -> String {
    match (origin, path) {
        (Origin::File(file), _) => format!("in {}", file.display()),
        (Origin::Environment, _) => {
            format!("from {PREFIX}{}", path.replace('.', "__").to_ascii_uppercase())
        }
        (Origin::Flag, "database.url") => "from --database".to_owned(),
        (Origin::Flag, _) => "from --bind".to_owned(),
    }
}

fn shown(path: &str, value: &Value) -> String {
    match value {
        _ if matches!(
            path,
            "security.secret_key" | "smtp.secret" | "plus.registry.data_store.secret_access_key"
        ) =>
        {
            MASK.to_owned()
        }
        Value::String(text) if path == "database.url" && text.contains("://") => {
            DatabaseUrl(text.clone()).to_string()
        }
        _ if path == "database.url" => MASK.to_owned(),
        Value::Table(_) => "{…}".to_owned(),
        value => value.to_string(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) | Value::Datetime(_) => "text",
        Value::Integer(_) | Value::Float(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}

fn signing_secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
    let secret = Secret::deserialize(deserializer)?;
    if secret.expose().len() < secret::MIN_SECRET_LENGTH {
        return Err(de::Error::custom(format_args!(
            "it must have at least {} characters",
            secret::MIN_SECRET_LENGTH
        )));
    }
    Ok(Some(secret))
}

fn key_prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if (1..=16).contains(&text.len()) && text.bytes().all(allowed) {
        return Ok(text);
    }
    Err(de::Error::custom("it must be 1 to 16 lower-case letters and digits"))
}
