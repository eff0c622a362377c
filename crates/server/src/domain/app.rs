//! The shared state of all requests: the database, the clock, the keys, the limits and the background work.

use std::{num::NonZero, ops::Deref, sync::Arc, thread::available_parallelism};

use tidemark_api::{
    CONTRACT_VERSION, Email, InvitationUuid, Jwt, OrganizationRole, OrganizationUuid, Server, Timestamp,
};
use tidemark_store::{Db, Entropy, WriteContext, server};
use uuid::Uuid;

use crate::{
    domain::{
        auth::jwt::{Audience, Membership, Signer},
        background::{Background, Worker},
        backup::{self, schedule::BackupSchedule},
        billing::Billing,
        changes::Changes,
        code_host::CommandRunner,
        error::{Error, Result},
        housekeeping::Housekeeper,
        jobs::{Jobs, callback::CallbackSender, job_request::JobSettings},
        notice::Notifier,
        quota::Quota,
        retention::Retention,
    },
    infra::{
        blobs::Blobs,
        clock::{Clock, FreshSource, SystemEntropy},
        config::{Config, Unclaimed},
        limits::{ConcurrencyLimit, Limits},
        mail::{Mailer, TokenSigner, Transport},
        metrics::Metrics,
    },
};

/// A handle of the running server. Clones share the state.
#[derive(Clone)]
pub struct App(Arc<AppState>);

/// The parts of the server.
pub struct AppState {
    /// The effective configuration.
    pub config: Config,
    /// The database.
    pub db: Db,
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Signs and verifies tokens.
    pub signer: Arc<Signer>,
    /// Rate limits.
    pub limits: Limits,
    /// Jobs.
    pub jobs: Arc<Jobs>,
    /// Plans, on a server with billing.
    pub(crate) billing: Option<Billing>,
    /// Change detection.
    pub changes: Changes,
    /// Limits the number of concurrent analyses of long histories.
    pub analyses: Arc<ConcurrencyLimit>,
    /// Limits the number of pictures that are drawn concurrently.
    pub pictures: ConcurrencyLimit,
    /// The objects of the registry.
    pub blobs: Blobs,
    /// The background worker.
    pub background: Background,
    /// Metrics for Prometheus.
    pub metrics: Metrics,
    /// Limits the number of responses that hold a database connection while their clients read.
    pub(crate) streams: ConcurrencyLimit,
    /// Limits the bytes of request bodies in memory.
    pub(crate) bodies: ConcurrencyLimit,
    /// Limits uploads to the registry.
    pub(crate) uploads: ConcurrencyLimit,
    /// The identity of this server.
    pub server: Server,
    /// Whether the server is embedded in the program that uses it, see [`App::embed`].
    pub embedded: bool,
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl App {
    /// Opens the database and starts the background work.
    pub async fn open(config: Config) -> Result<Self> {
        Self::open_with(config, Clock::System, Arc::new(SystemEntropy)).await
    }

    /// Opens the server with the given clock and randomness.
    pub async fn open_with(config: Config, clock: Clock, entropy: Arc<dyn Entropy>) -> Result<Self> {
        let db = Db::open(&config.location()).await?;
        Self::open_on(db, config, clock, entropy).await
    }

    /// Opens the server on an open database, with the given clock and randomness.
    pub async fn open_on(db: Db, config: Config, clock: Clock, entropy: Arc<dyn Entropy>) -> Result<Self> {
        backup::clear(&config.data_dir).map_err(internal)?;
        Blobs::restrict(&config);
        Self::assemble(db, config, clock, entropy, false).await
    }

    /// Opens the database for the program that contains this server, possibly while another server uses it.
    ///
    /// There are no limits and quotas, no mail is sent, and expired data is not deleted. A process that can open the database has
    /// all rights: a request without a credential has the rights of the first administrator, if one exists. There is no
    /// background worker, so a request for a verdict runs change detection first.
    pub async fn embed(mut config: Config) -> Result<Self> {
        config.server.request_body_max_bytes = usize::MAX;
        config.plus.rate_limiting = None;
        config.plus.billing = None;
        config.access.unclaimed = Unclaimed::NONE;
        config.access.anonymous_runs = true;
        let db = Db::open(&config.location()).await?;
        Self::assemble(db, config, Clock::System, Arc::new(SystemEntropy), true).await
    }

    async fn assemble(
        db: Db,
        config: Config,
        clock: Clock,
        entropy: Arc<dyn Entropy>,
        embedded: bool,
    ) -> Result<Self> {
        let source: FreshSource = {
            let (clock, entropy) = (clock.clone(), Arc::clone(&entropy));
            Arc::new(move || WriteContext::new(clock.now(), Arc::clone(&entropy)))
        };
        let fresh = source();
        let mut server = db.write(move |tx| server::identity(tx, &fresh)).await?;
        server.version = Some(CONTRACT_VERSION.into());
        server.tidemark_version = Some(env!("CARGO_PKG_VERSION").into());
        let secret = config.secret().map_err(internal)?;
        let signer = Arc::new(Signer::new(secret.expose().as_bytes(), config.security.issuer.clone()));
        let limits = Limits::new(config.limits(), &db);
        let blobs = Blobs::open(&config).map_err(Error::Internal)?;
        let billing = Billing::new(&config, db.clone(), Arc::clone(&source))?;
        let jobs = Arc::new(Jobs::default());
        let background = if embedded {
            Background::idle()
        } else {
            let transport = match &config.smtp {
                Some(smtp) => Transport::smtp(smtp).map_err(internal)?,
                None => Transport::files(&config.data_dir).map_err(internal)?,
            };
            let console = config.console.url.as_ref().parse().map_err(internal)?;
            let mailer = Mailer::new(transport, console, Arc::clone(&signer) as Arc<dyn TokenSigner>);
            let housekeeper = Housekeeper {
                db: db.clone(),
                blobs: blobs.clone(),
                timeout: config.plus.registry.timeout_seconds(),
            };
            let callback_sender = CallbackSender {
                db: db.clone(),
                console: config.console.url.clone(),
                allows_private: config.plus.runners.private_callbacks,
            };
            let command_runner = CommandRunner {
                db: db.clone(),
                jobs: Arc::clone(&jobs),
                settings: JobSettings::of(&config),
                quota: Quota::new(&config),
            };
            let notifier = Notifier {
                db: db.clone(),
                console: config.console.url.clone(),
                allows_private: config.plus.notices.private_addresses,
            };
            let retention =
                Retention { settings: config.retention.clone(), data_dir: config.data_dir.clone() };
            let backups = BackupSchedule::new(&config);
            let (db, billing) = (db.clone(), billing.clone());
            let idle_days = config.access.unclaimed.idle_days;
            Background::start(Worker {
                db,
                mailer,
                callback_sender,
                command_runner,
                notifier,
                billing,
                housekeeper,
                retention,
                backups,
                idle_days,
                fresh: source,
            })
        };
        let metrics = Metrics::default();
        let streams = ConcurrencyLimit::for_streams(db.load().connections);
        let cores = available_parallelism().map_or(1, NonZero::get);
        let registry = &config.plus.registry;
        let uploads =
            ConcurrencyLimit::for_uploads(registry.max_uploads.get(), registry.max_uploads_per_address.get());
        let bodies = ConcurrencyLimit::for_bodies(config.server.request_body_max_bytes);
        let changes = Changes::new(config.detection.memory_bytes);
        let app = Self(Arc::new(AppState {
            config,
            db,
            clock,
            entropy,
            signer,
            limits,
            jobs,
            billing,
            changes,
            analyses: Arc::new(ConcurrencyLimit::for_analyses()),
            pictures: ConcurrencyLimit::for_pictures(cores),
            blobs,
            background,
            metrics,
            streams,
            bodies,
            uploads,
            server,
            embedded,
        }));
        if !embedded {
            Jobs::start(&app);
            Changes::start(&app);
        }
        Ok(app)
    }

    /// Returns the time and randomness for one operation.
    pub fn fresh(&self) -> WriteContext {
        WriteContext::new(self.clock.now(), Arc::clone(&self.entropy))
    }

    /// Stops the background work and closes the database.
    pub async fn close(&self) {
        self.jobs.stop();
        self.changes.stop();
        self.background.stop().await;
        self.db.close().await;
    }
}

fn internal(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Internal(error.into())
}

impl TokenSigner for Signer {
    fn sign_in(&self, uuid: Uuid, email: &Email, created: Timestamp, expires: Timestamp) -> Jwt {
        self.sign(Audience::Auth, uuid, email, None, created, expires)
    }

    fn invitation(
        &self,
        uuid: InvitationUuid,
        email: &Email,
        organization: OrganizationUuid,
        role: OrganizationRole,
        created: Timestamp,
        expires: Timestamp,
    ) -> Jwt {
        let membership = Membership { uuid: organization, role };
        self.sign(Audience::Invite, uuid.uuid(), email, Some(membership), created, expires)
    }
}
