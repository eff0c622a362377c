//! `tidemark serve`: loads the configuration, runs the server, and shuts it down gracefully.

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
    path::PathBuf,
    process,
    time::Duration,
};

use axum::{Router, extract::connect_info::IntoMakeServiceWithConnectInfo};
use axum_server::{
    Handle, Server,
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use hyper_util::rt::TokioTimer;
use tidemark_api::Accounts;
use tidemark_server::{
    App,
    domain::error::Error,
    infra::config::{Config, ConfigError, Flags, Tls},
    transport::{
        connection::{Connections, Listener, Peer, Tracking},
        router::{metrics_router, router},
    },
};
use tidemark_store::user;
use tokio::{net::TcpListener, runtime, task::JoinHandle};

use crate::{
    failure::{Failure, Result, causes, print},
    logging, restore, settings,
};

/// Time limit for open requests at shutdown.
const GRACE: Duration = Duration::from_secs(30);

/// Time limit of a TLS handshake. A silent client delays the shutdown by as much.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Maximum size of the headers of a request, and of one read of a body, in bytes.
const READ_BUFFER: usize = 64 * 1024;
/// Maximum number of requests at a time on one HTTP/2 connection.
const HTTP2_STREAMS: u32 = 64;

/// Maximum number of connections if the system does not limit open files.
const CONNECTIONS: usize = 65_536;

/// Arguments of `tidemark serve`.
#[derive(clap::Args)]
pub(crate) struct Serve {
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Address and port to listen on [default: 127.0.0.1:6610]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Data folder [default: the data folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database to use instead of SQLite: postgres://user:password@host/name
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Print every setting with its default and exit
    #[arg(long)]
    print_config: bool,
}

impl Serve {
    pub(crate) fn run(self) -> Result {
        if self.print_config {
            return print(Config::example());
        }
        let create_admin = self.create_admin();
        let flags = Flags { bind: self.bind, data_dir: self.data_dir, database: self.database };
        let config = settings::load(self.config, &flags)?;
        logging::start(&config.logging);
        runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("The server cannot start its threads ({error}).")))?
            .block_on(serve(config, &create_admin))
    }

    /// Returns the command that creates the first administrator of this server.
    fn create_admin(&self) -> String {
        let flags = [("--config", &self.config), ("--data-dir", &self.data_dir)];
        let flags = flags.iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
        let mut command = "tidemark admin create --email you@example.org".to_owned();
        for (flag, path) in flags {
            command.push_str(&format!(" {flag} '{}'", path.display()));
        }
        if self.database.is_some() {
            command.push_str(" --database …");
        }
        command
    }
}

async fn serve(config: Config, create_admin: &str) -> Result {
    let mut signals = Signals::listen()?;
    config.create_folders()?;
    // Two servers on one SQLite database would count limits separately and send mail twice; several servers can share a
    // PostgreSQL database.
    let _lock = match config.database.url {
        Some(_) => None,
        None => Some(restore::lock_database(&config.database.file)?),
    };
    let tls = match &config.server.tls {
        Some(tls) => Some(certificate(tls).await?),
        None => None,
    };
    let listener = listen("server.bind_address", config.server.bind_address).await?;
    let metrics_listener = match config.server.metrics_address {
        Some(address) => Some(listen("server.metrics_address", address).await?),
        None => None,
    };
    let address = listener.local_addr().unwrap_or(config.server.bind_address);

    let connections = Connections::new(&config.server, max_connections(&config));
    let database = database(&config);
    let app = App::open(config).await.map_err(|error| cannot_open(&database, &error))?;
    greet(&app, address, create_admin).await;
    let handle = Handle::new();
    let mut servers = vec![start(listener, &connections, tls, router(app.clone()), &handle)?];
    if let Some(listener) = metrics_listener {
        servers.push(start(listener, &connections, None, metrics_router(app.clone()), &handle)?);
    }

    let signal = signals.next().await;
    tracing::info!(signal, "shutting down after the open requests; a second signal stops immediately");
    handle.graceful_shutdown(Some(GRACE));
    tokio::spawn(async move {
        let signal = signals.next().await;
        tracing::warn!(signal, "stopped immediately");
        process::exit(1);
    });
    for server in servers {
        if let Ok(Err(error)) = server.await {
            tracing::error!(%error, "a listener failed");
        }
    }
    app.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Binds a port; an error names the setting.
async fn listen(setting: &str, address: SocketAddr) -> Result<std::net::TcpListener> {
    let bound = async { TcpListener::bind(address).await?.into_std() };
    bound.await.map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::AddrInUse => "another program uses this port".to_owned(),
            io::ErrorKind::AddrNotAvailable => "this machine does not have this address".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied for this account".to_owned(),
            _ => error.to_string(),
        };
        let remedy = if setting == "server.bind_address" {
            "choose another address with --bind"
        } else {
            "choose another address"
        };
        Failure::new(format!("{setting} = {address} cannot be listened on: {reason}; {remedy}."))
    })
}

async fn certificate(tls: &Tls) -> Result<RustlsConfig> {
    // An error only means that the provider is already installed, and there is only one provider.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    RustlsConfig::from_pem_file(&tls.cert_file, &tls.key_file).await.map_err(|error| {
        Failure::new(format!(
            "server.tls with {} and {} cannot be used ({error}); name a PEM file with the certificate chain and one with its key.",
            tls.cert_file.display(),
            tls.key_file.display()
        ))
    })
}

/// Returns the maximum number of connections: the configured number, or half of the files that this process may open, because a
/// request may open files, too.
fn max_connections(config: &Config) -> usize {
    let files = raise_open_files();
    match config.server.max_connections {
        Some(configured) => configured.get().try_into().unwrap_or(usize::MAX),
        None => files.map_or(CONNECTIONS, |files| files / 2),
    }
}

/// Raises the limit of open files as far as permitted, and returns it; `None` if there is no limit.
#[cfg(unix)]
fn raise_open_files() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Limit to request if the system rejects the hard limit: some systems accept no more than this if the hard limit is
    /// unlimited.
    const FALLBACK: u64 = 10_240;
    let before = getrlimit(Resource::Nofile);
    let soft = before.current?;
    let wanted = [before.maximum, Some(FALLBACK)];
    let wanted = wanted.into_iter().filter(|wanted| wanted.is_none_or(|wanted| wanted > soft));
    let raised = wanted
        .map(|current| Rlimit { current, ..before })
        .find(|limit| setrlimit(Resource::Nofile, *limit).is_ok());
    let limit = raised.map_or(Some(soft), |limit| limit.current);
    if let Some(raised) = raised {
        tracing::info!(from = soft, to = raised.current, "raised the limit of open files");
    }
    limit.map(|limit| limit.try_into().unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn raise_open_files() -> Option<usize> {
    None
}

/// Serves a router in the background until the handle stops it.
fn start(
    listener: std::net::TcpListener,
    connections: &Connections,
    tls: Option<RustlsConfig>,
    router: Router,
    handle: &Handle<Peer>,
) -> Result<JoinHandle<io::Result<()>>> {
    let service: IntoMakeServiceWithConnectInfo<Router, SocketAddr> =
        router.into_make_service_with_connect_info();
    let listener = Listener::new(listener, connections.clone())
        .map_err(|error| Failure::new(format!("The server cannot listen ({error}).")))?;
    let mut server: Server<Peer> = Server::from_listener(listener).handle(handle.clone());
    // The connection has timeouts for headers and between requests; they also apply before the first byte.
    server
        .http_builder()
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(READ_BUFFER);
    server
        .http_builder()
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS)
        .keep_alive_interval(Some(Duration::from_secs(30)));
    Ok(match tls {
        Some(tls) => {
            let acceptor = RustlsAcceptor::new(tls).handshake_timeout(HANDSHAKE).acceptor(Tracking);
            tokio::spawn(server.acceptor(acceptor).serve(service))
        }
        None => tokio::spawn(server.acceptor(Tracking).serve(service)),
    })
}

/// Logs the address of the server and the location of its data. On a terminal, prints three lines: the URL, how to sign in, and
/// how to send a first report.
async fn greet(app: &App, address: SocketAddr, create_admin: &str) {
    let config = &app.config;
    let (url, data) = (&config.console.url, config.data_dir.display());
    tracing::info!(%address, console = %url, %data, database = database(config), "listening");
    tracing::info!(access = %config.access, "access settings");
    if !io::stderr().is_terminal() {
        return;
    }
    // A database that does not answer now is an error of the next request.
    let accounts = app.db.read(user::accounts).await.unwrap_or(Accounts::Confirmed);
    message!("\n{}\n", greeting(config, accounts, create_admin));
}

/// Returns the three lines for a terminal.
fn greeting(config: &Config, accounts: Accounts, create_admin: &str) -> String {
    let url = config.console.url.as_ref().trim_end_matches('/');
    let version = env!("CARGO_PKG_VERSION");
    let link = match config.smtp {
        Some(_) => "the server mails the link",
        None => "the link is printed here",
    };
    let sign_in = match accounts {
        Accounts::Confirmed => format!("{url}/auth/login ({link})"),
        _ => {
            format!("{url}/auth/signup (the first account is the administrator; {link}), or: {create_admin}")
        }
    };
    format!(
        "Tidemark {version}:  {url} (manual: {url}/docs)\n\
         Sign in:         {sign_in}\n\
         First report:    TIDEMARK_HOST={url} TIDEMARK_API_KEY=KEY tidemark run \"cargo bench\""
    )
}

/// Returns the database as configured, without its password.
pub(crate) fn database(config: &Config) -> String {
    match &config.database.url {
        Some(url) => url.to_string(),
        None => config.database.file.display().to_string(),
    }
}

fn cannot_open(database: &str, error: &Error) -> Failure {
    match why_not_open(error) {
        Ok(reason) => Failure::new(format!(
            "The server cannot start with {database}: {reason}; check that database, or choose another with --database or --data-dir."
        )),
        Err(failure) => failure,
    }
}

/// Returns why a database cannot be opened, as a clause. Returns an error if a setting is invalid.
pub(crate) fn why_not_open(error: &Error) -> Result<String> {
    match error {
        Error::Internal(source) | Error::StorageFull(source) | Error::Busy(Some(source)) => {
            match source.downcast_ref::<ConfigError>() {
                Some(sentence) => Err(Failure::new(sentence.to_string())),
                None => Ok(causes(source.as_ref())),
            }
        }
        _ => Ok("the database does not answer".to_owned()),
    }
}

/// The two signals that stop the server.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let on = |kind| {
            signal(kind)
                .map_err(|error| Failure::new(format!("The server cannot wait for signals ({error}).")))
        };
        Ok(Self { interrupt: on(SignalKind::interrupt())?, terminate: on(SignalKind::terminate())? })
    }

    /// Waits for the next signal and returns its name.
    #[cfg(unix)]
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }

    #[cfg(not(unix))]
    fn listen() -> Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next signal and returns its name.
    #[cfg(not(unix))]
    async fn next(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_the_url_how_to_sign_in_and_how_to_send_a_report() {
        let flags = Flags { bind: Some("0.0.0.0:7000".to_owned()), ..Flags::default() };
        let config = Config::load(None, [], &flags).unwrap();
        let serve = Serve {
            config: None,
            bind: None,
            data_dir: Some("/srv/tide mark".into()),
            database: None,
            print_config: false,
        };
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            greeting(&config, Accounts::None, &serve.create_admin()),
            format!(
                "Tidemark {version}:  http://localhost:7000 (manual: http://localhost:7000/docs)\n\
                 Sign in:         http://localhost:7000/auth/signup (the first account is the administrator; the link \
                 is printed here), or: tidemark admin create --email you@example.org --data-dir '/srv/tide mark'\n\
                 First report:    TIDEMARK_HOST=http://localhost:7000 TIDEMARK_API_KEY=KEY tidemark run \"cargo bench\""
            )
        );
        let again = greeting(&config, Accounts::Confirmed, "");
        assert!(
            again
                .contains("\nSign in:         http://localhost:7000/auth/login (the link is printed here)\n")
        );
    }
}
