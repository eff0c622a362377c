//! Database on this machine: the whole server in this process, without a port, on the database of `tidemark serve`. Several
//! processes and a server can use it at the same time.

use std::{rc::Rc, time::Duration};

use axum::{Router, body::Body};
use directories::BaseDirs;
use http_body_util::BodyExt;
use tidemark_client::{
    Client, ClientSettings, Credential, RetryPolicy,
    http::{Request, Response, StatusCode},
};
use tidemark_server::{
    App,
    domain::error::Error,
    infra::config::{Config, Flags, LogFormat, LogLevel, Logging},
    transport::router::router,
};
use tidemark_store::restore::{self, SharedLock};
use tokio::runtime::{self, Runtime};
use tower::ServiceExt;

use crate::{
    cmd::serve,
    connection,
    failure::{Failure, Result},
    logging, settings,
};

/// Placeholder for the address of the server.
const HOST: &str = "http://localhost";

/// Maximum attempts while other processes write to the database; each attempt also waits for several seconds.
const ATTEMPTS: u32 = 6;

/// Server in this process.
struct LocalServer {
    runtime: Runtime,
    app: App,
    router: Router,
    _lock: Option<SharedLock>,
}

/// Returns a client of the database on this machine. Creates the database if it does not exist.
pub(crate) fn client(credential: Option<Credential>) -> Result<Client> {
    let local = LocalServer::open(config()?)?;
    let settings = ClientSettings {
        host: HOST
            .parse()
            .map_err(|error| Failure::new(format!("{HOST} is not a valid address ({error}).")))?,
        credential,
        retry_policy: RetryPolicy {
            timeout: Duration::from_secs(60),
            attempts: ATTEMPTS,
            min_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
        },
        insecure: false,
    };
    Ok(Client::in_process(
        Rc::new(move |request| local.handle(request)),
        settings,
        connection::warn_about_retry,
    ))
}

/// Returns the location of the database, for messages.
pub(crate) fn database_path() -> Result<String> {
    let path = serve::database(&config()?);
    let home = BaseDirs::new().map(|folders| folders.home_dir().join("").display().to_string());
    Ok(match home.and_then(|home| path.strip_prefix(&home).map(str::to_owned)) {
        Some(below) if cfg!(unix) => format!("~/{below}"),
        _ => path,
    })
}

/// Loads the configuration of `tidemark serve`, so that both use the same data.
fn config() -> Result<Config> {
    settings::load(settings::named_file(), &Flags::default())
}

impl LocalServer {
    fn open(config: Config) -> Result<Self> {
        // Errors only, because there is no log file.
        logging::start(&Logging { level: LogLevel::Error, format: LogFormat::Human });
        let path = serve::database(&config);
        config.create_folders().map_err(|_| {
            Failure::new(format!(
                "The folder of {path} cannot be created; set TIDEMARK_DATA_DIR to a writable folder, or \
                 name a server with --host."
            ))
        })?;
        let lock = match config.database.url {
            Some(_) => None,
            None => Some(restore::lock_shared(&config.database.file).map_err(|error| {
                Failure::new(format!(
                    "The database {path} cannot be locked ({error}); set TIDEMARK_DATA_DIR to another folder, or name \
                     a server with --host."
                ))
            })?),
        };
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("The store cannot start its threads ({error}).")))?;
        let app = runtime.block_on(App::embed(config)).map_err(|error| cannot_open(&path, &error))?;
        let router = router(app.clone());
        Ok(Self { runtime, app, router, _lock: lock })
    }

    /// Processes a request.
    fn handle(&self, request: Request<Vec<u8>>) -> Response<Vec<u8>> {
        self.runtime.block_on(async {
            let Ok(answer) = self.router.clone().oneshot(request.map(Body::from)).await;
            let (head, body) = answer.into_parts();
            match body.collect().await {
                Ok(body) => Response::from_parts(head, body.to_bytes().into()),
                // The response body failed; the error is on standard error.
                Err(_) => {
                    let mut broken = Response::new(Vec::new());
                    *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                    broken
                }
            }
        })
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.runtime.block_on(self.app.close());
    }
}

fn cannot_open(path: &str, error: &Error) -> Failure {
    match serve::why_not_open(error) {
        Ok(reason) => Failure::new(format!(
            "The results on this machine cannot be opened in {path}: {reason}; set TIDEMARK_DATA_DIR to another folder, \
             or name a server with --host."
        )),
        Err(failure) => failure,
    }
}
