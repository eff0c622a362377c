//! Tests of the configuration.

use std::{fs, path::Path};

use serde_json::Value;

use super::{load::uncommented, *};

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn from_environment(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let flags = Flags { data_dir: Some("data".into()), ..Flags::default() };
    Config::load(None, variables(pairs), &flags)
}

fn from_file(text: &str) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidemark.toml");
    fs::write(&file, text).unwrap();
    let flags = Flags { data_dir: Some("data".into()), ..Flags::default() };
    Config::load(Some(&file), [], &flags)
        .map_err(|error| error.to_string().replace(&file.display().to_string(), "FILE"))
}

#[test]
fn nothing_configured_gives_a_working_server() {
    let config = from_environment(&[]).unwrap();
    assert_eq!(config.server.bind_address.to_string(), "127.0.0.1:6610");
    assert_eq!(config.console.url.as_str(), "http://localhost:6610/");
    assert_eq!(config.security.issuer, "http://localhost:6610/");
    assert_eq!(config.security.key_prefix, "svc");
    assert_eq!(config.database.file, Path::new("data/tidemark.db"));
    assert!(matches!(config.location(), Location::Sqlite { cache_kib: 65_536, .. }));
    assert_eq!((config.smtp, config.plus), (None, Plus::default()));
}

#[test]
fn later_layers_win() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidemark.toml");
    fs::write(
        &file,
        "[server]\nbind_address = '1.1.1.1:1'\nrequest_body_max_bytes = 1\nrequest_timeout_seconds = 1",
    )
    .unwrap();
    let environment = variables(&[
        ("TIDEMARK_SERVER__BIND_ADDRESS", "2.2.2.2:2"),
        ("TIDEMARK_SERVER__REQUEST_BODY_MAX_BYTES", "2"),
    ]);
    let flags = Flags {
        bind: Some("3.3.3.3:3".to_owned()),
        data_dir: Some(folder.path().to_owned()),
        database: Some("postgres://localhost/x".to_owned()),
    };
    let config = Config::load(Some(&file), environment, &flags).unwrap();
    assert_eq!(config.server.bind_address.to_string(), "3.3.3.3:3");
    assert_eq!(config.server.request_body_max_bytes, 2);
    assert_eq!(config.server.request_timeout_seconds.get(), 1);
    assert_eq!(config.console.url.as_str(), "http://3.3.3.3:3/");
    assert!(matches!(config.location(), Location::Postgres { connections: 16, .. }));
}

#[test]
fn variables_take_the_kind_of_their_setting() {
    let config = from_environment(&[
        ("TIDEMARK_SECURITY__SECRET_KEY", "12345678901234567890"),
        ("TIDEMARK_SERVER__TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
        ("TIDEMARK_PLUS__RATE_LIMITING__USER__INVITES__DAY", "3"),
        ("TIDEMARK_DATABASE__CACHE_SIZE", ""),
        ("TIDEMARK_HOST", "https://example.com"),
        ("TIDEMARK_API_KEY", "svc_user_x"),
        ("PATH", "/bin"),
    ])
    .unwrap();
    assert_eq!(config.secret().unwrap().expose(), "12345678901234567890");
    assert_eq!(config.server.trusted_proxies, ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
    let limits = config.limits();
    assert_eq!(limits.user.invites, Rate { day: Some(3), ..Rate::default() });
    assert_eq!(limits.user.requests, UserLimits::default().requests);
    assert_eq!(from_environment(&[]).unwrap().limits().user.requests, Rate::default());

    let config =
        Config::load(None, variables(&[("TIDEMARK_DATA_DIR", "elsewhere")]), &Flags::default()).unwrap();
    assert_eq!(config.data_dir, Path::new("elsewhere"));
}

#[test]
fn an_error_names_setting_value_and_remedy() {
    let sentences = [
        from_environment(&[("TIDEMARK_SERVER__BIND_ADDRESS", "localhost")]).unwrap_err().to_string(),
        from_environment(&[("TIDEMARK_SERVER__BIND", "0.0.0.0:1")]).unwrap_err().to_string(),
        from_environment(&[("TIDEMARK_DATABASE__CACHE_SIZE", "much")]).unwrap_err().to_string(),
        from_environment(&[("TIDEMARK_DATABASE__CACHE_SIZE", "0")]).unwrap_err().to_string(),
        from_environment(&[("TIDEMARK_DETECTION__MEMORY_BYTES", "64")]).unwrap_err().to_string(),
        from_environment(&[("TIDEMARK_SECURITY__SECRET_KEY", "hunter2")]).unwrap_err().to_string(),
        from_environment(&[("TIDEMARK_DATABASE__URL", "mysql://me:hunter2@host/x")]).unwrap_err().to_string(),
        from_file("bind_address = '0.0.0.0:1'").unwrap_err(),
        from_file("[server]\ntls = true").unwrap_err(),
        from_file("[logging]\nlevel = 'loud'").unwrap_err(),
        from_file("[server]\ntrusted_proxies = ['proxy']").unwrap_err(),
        from_file("[smtp]\nhostname = 'mail'").unwrap_err(),
        from_file("[smtp]\nhostname = 'mail'\nfrom_email = 'a@b.c'\nusername = 'me'").unwrap_err(),
        from_file("[nonsense]\nx = 1").unwrap_err(),
        from_file("[server]\nbind_address = 'x").unwrap_err(),
    ];
    insta::assert_snapshot!(sentences.join("\n"), @r#"
server.bind_address = "localhost" (from TIDEMARK_SERVER__BIND_ADDRESS) cannot be used: invalid socket address syntax; use a value such as "127.0.0.1:6610".
There is no setting server.bind (from TIDEMARK_SERVER__BIND); did you mean server.bind_address?
database.cache_size = "much" (from TIDEMARK_DATABASE__CACHE_SIZE) cannot be used: it must be a whole number; use a value such as 65536.
database.cache_size = 0 (from TIDEMARK_DATABASE__CACHE_SIZE) cannot be used: invalid value: integer `0`, expected a nonzero u32; use a value such as 65536.
detection.memory_bytes = 64 (from TIDEMARK_DETECTION__MEMORY_BYTES) cannot be used: it must be at least 16777216 (16 MiB); use a value such as 134217728.
security.secret_key = ************ (from TIDEMARK_SECURITY__SECRET_KEY) cannot be used: it must have at least 16 characters; use a value such as the output of openssl rand -base64 32.
database.url = mysql://me:************@host/x (from TIDEMARK_DATABASE__URL) cannot be used: it must start with postgres:// (a SQLite file is named by database.file); use a value such as "postgres://tidemark:password@localhost/tidemark".
There is no setting bind_address (in FILE); did you mean server.bind_address?
server.tls = true (in FILE) cannot be used: it must be a section; use a value such as [server.tls].
logging.level = "loud" (in FILE) cannot be used: unknown variant `loud`, expected one of `trace`, `debug`, `info`, `warn`, `error`; use a value such as "info".
server.trusted_proxies = ["proxy"] (in FILE) cannot be used: “proxy” is neither an address nor a network like 10.0.0.0/8; use a value such as ["10.0.0.0/8"].
smtp.from_email is missing; set it to a value such as "tidemark@example.com".
smtp.secret is missing; set it to a value such as "the-password-of-the-mail-account".
There is no setting nonsense (in FILE); remove it, or see all settings with tidemark serve --print-config.
The configuration file FILE is not valid TOML at line 2: invalid literal string, expected `'`; correct that line.
"#);
}

#[test]
fn secrets_do_not_show() {
    let config = from_environment(&[
        ("TIDEMARK_SECURITY__SECRET_KEY", "hunter2-hunter2-hunter2"),
        ("TIDEMARK_DATABASE__URL", "postgres://me:hunter2@host/x?sslmode=require&password=hunter2"),
        ("TIDEMARK_SMTP__HOSTNAME", "mail"),
        ("TIDEMARK_SMTP__FROM_EMAIL", "tidemark@example.com"),
        ("TIDEMARK_SMTP__USERNAME", "me"),
        ("TIDEMARK_SMTP__SECRET", "hunter2"),
    ])
    .unwrap();
    let masked = config.masked();
    assert_eq!(masked["security"]["secret_key"], "************");
    assert_eq!(masked["smtp"]["secret"], "************");
    assert_eq!(
        masked["database"]["url"],
        "postgres://me:************@host/x?sslmode=require&password=************"
    );
    assert!(!masked.to_string().contains("hunter2"));
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn the_example_is_the_list_of_settings() {
    assert!(from_file(&uncommented()).unwrap_err().starts_with("security.secret_key = ************"));
    let everything = from_file(&uncommented().replace("replace-me", "replaced")).unwrap();
    assert_eq!(everything.plus.rate_limiting, Some(RateLimiting::default()));
    assert_eq!(from_file(Config::example()).unwrap(), from_environment(&[]).unwrap());

    let known: toml::Table = uncommented().parse().unwrap();
    let known = paths(&serde_json::to_value(known).unwrap(), "");
    assert_eq!(paths(&serde_json::to_value(&everything).unwrap(), ""), known);
}

/// Returns the names of all values, sorted.
fn paths(value: &Value, path: &str) -> Vec<String> {
    let Value::Object(object) = value else { return vec![path.to_owned()] };
    let mut all: Vec<_> =
        object.iter().flat_map(|(name, value)| paths(value, &format!("{path}.{name}"))).collect();
    all.sort();
    all
}

#[test]
fn a_secret_is_made_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let flags = Flags { data_dir: Some(folder.path().join("new")), ..Flags::default() };
    let config = Config::load(None, [], &flags).unwrap();
    let secret = config.secret().unwrap();
    assert_eq!(secret.expose().len(), 64);
    assert_eq!(config.secret().unwrap(), secret);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&config.data_dir), 0o700);
        assert_eq!(mode(&config.data_dir.join("secret")), 0o600);
    }
    fs::write(config.data_dir.join("secret"), "short").unwrap();
    assert!(config.secret().unwrap_err().to_string().contains("shorter than 16"));
}
