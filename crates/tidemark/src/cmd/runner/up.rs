//! `tidemark runner up`: runs jobs on this machine until the process is stopped.

use std::thread;

use rustix::process::geteuid;
use tidemark_api::{PlainKey, ResourceId, channel::PollTimeout};
use tidemark_client::Client;
use tidemark_runner::{
    Host,
    channel::{self, ChannelSettings, StopReason},
    host,
    tune::{self, Tuning, TuningOptions},
};
use tidemark_server::infra::config::{LogFormat, LogLevel, Logging};
use tokio::sync::watch;

use super::local::{DataFolderFlag, OutputLimitFlags};
use crate::{
    connection::Connection,
    failure::{Exit, Failure, Result},
    logging, version,
};

/// Heading of the tuning flags in the help.
const TUNING: &str = "Tuning";

/// Arguments of `tidemark runner up`.
#[derive(clap::Args)]
pub(crate) struct Up {
    /// Runner UUID or slug
    #[arg(long, env = "TIDEMARK_RUNNER")]
    runner: ResourceId,
    /// Runner key
    #[arg(long, value_name = "KEY", env = "TIDEMARK_RUNNER_KEY", hide_env_values = true)]
    runner_key: String,
    /// Time limit of one request for a job in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 55, value_parser = clap::value_parser!(u32).range(1..=900))]
    poll_timeout: u32,
    /// Allow jobs access to the network of this machine, if their spec has a network
    #[arg(long)]
    allow_network: bool,
    #[command(flatten)]
    folder: DataFolderFlag,
    #[command(flatten)]
    output_limits: OutputLimitFlags,
    #[command(flatten)]
    tuning: TuningFlags,
}

/// Tuning of the host while the runner is running.
#[derive(clap::Args)]
struct TuningFlags {
    /// Do not tune the machine
    #[arg(long, help_heading = TUNING)]
    no_tuning: bool,
    /// Keep address space layout randomization (ASLR) enabled
    #[arg(long, help_heading = TUNING)]
    aslr: bool,
    /// Keep the NMI watchdog enabled
    #[arg(long, help_heading = TUNING)]
    nmi_watchdog: bool,
    /// Keep the soft lockup watchdog of the kernel enabled
    #[arg(long, help_heading = TUNING)]
    soft_watchdog: bool,
    /// Keep simultaneous multithreading (SMT) enabled
    #[arg(long, help_heading = TUNING)]
    smt: bool,
    /// Keep turbo enabled
    #[arg(long, help_heading = TUNING)]
    turbo: bool,
    /// Clock governor
    #[arg(long, help_heading = TUNING, default_value = "performance")]
    governor: String,
    /// Swappiness of the kernel
    #[arg(long, help_heading = TUNING, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=200))]
    swappiness: u32,
    /// perf_event_paranoid of the kernel, from -1 to 4
    #[arg(long, help_heading = TUNING, default_value_t = -1, allow_hyphen_values = true,
        value_parser = clap::value_parser!(i32).range(-1..=4))]
    perf_event_paranoid: i32,
    /// Keep NUMA balancing enabled
    #[arg(long, help_heading = TUNING)]
    numa_balancing: bool,
    /// Keep timer migration enabled
    #[arg(long, help_heading = TUNING)]
    timer_migration: bool,
    /// Keep kernel same-page merging (KSM) enabled
    #[arg(long, help_heading = TUNING)]
    ksm: bool,
    /// Keep deep C-states enabled
    #[arg(long, help_heading = TUNING)]
    cstates: bool,
    /// Keep interrupts on all cores
    #[arg(long, help_heading = TUNING)]
    no_irq_steering: bool,
    /// Transparent huge pages (THP)
    #[arg(long, help_heading = TUNING, default_value = "never", value_parser = ["never", "madvise", "always", "leave"])]
    thp: String,
}

impl TuningFlags {
    fn options(&self) -> TuningOptions {
        let skipped = [
            (self.aslr, "aslr"),
            (self.nmi_watchdog, "nmi-watchdog"),
            (self.soft_watchdog, "soft-watchdog"),
            (self.smt, "smt"),
            (self.turbo, "turbo"),
            (self.numa_balancing, "numa-balancing"),
            (self.timer_migration, "timer-migration"),
            (self.ksm, "ksm"),
            (self.no_irq_steering, "irq"),
            (self.thp == "leave", "thp"),
        ];
        TuningOptions {
            skipped: skipped
                .into_iter()
                .filter_map(|(is_skipped, name)| is_skipped.then_some(name))
                .collect(),
            governor: self.governor.clone(),
            swappiness: self.swappiness,
            perf_event_paranoid: self.perf_event_paranoid,
            huge_pages: self.thp.clone(),
        }
    }

    /// Tunes the host as far as permitted, and logs the result of each setting.
    fn apply(&self, is_root: bool) -> Option<Tuning> {
        if self.no_tuning {
            return None;
        }
        if !is_root {
            tracing::warn!("host not tuned; tuning requires root");
            return None;
        }
        let settings = tune::settings(&self.options(), &host::Cores::find());
        match Tuning::apply(&settings, !self.cstates) {
            Ok((tuning, applied)) => {
                for setting in applied {
                    tracing::info!(
                        setting = setting.name,
                        done = setting.is_done,
                        "tuned: {}",
                        setting.detail
                    );
                }
                Some(tuning)
            }
            Err(error) => {
                tracing::warn!("{error}");
                None
            }
        }
    }
}

impl Up {
    pub(crate) fn run(&self, connection: &Connection) -> Result {
        let Some((server, _)) = connection.target()?.host else {
            return Err(Failure::usage("No server is named; name it with --host or TIDEMARK_HOST."));
        };
        self.runner_key
            .parse::<PlainKey>()
            .map_err(|error| Failure::usage(format!("The key of the runner cannot be used: {error}.")))?;
        let folder = self.folder.open()?;
        let is_root = geteuid().is_root();
        host::become_root()?;
        logging::start(&Logging { level: LogLevel::Info, format: LogFormat::Auto });
        // Tune before the cores are counted, because tuning can disable cores.
        let _tuning = self.tuning.apply(is_root);
        let found = Host::prepare(&folder)?;
        tracing::info!(
            runtime = found.sandbox.runtime.name,
            version = found.sandbox.runtime.version,
            cores = found.cores.jobs.len(),
            "runner started"
        );
        for restriction in &found.restrictions {
            tracing::warn!("{restriction}");
        }
        let (base, retry_policy) = (server.clone(), connection.retry_policy());
        let on_version = move |server_version: Option<&str>| {
            let (host, version) = (base.clone(), server_version.map(str::to_owned));
            let log = move || {
                let settings =
                    tidemark_client::ClientSettings { host, credential: None, retry_policy, insecure: false };
                version::log(&Client::new(settings, |_| ()), version.as_deref());
            };
            // A server without the header needs an additional request, which must not block the channel.
            if server_version.is_some() { log() } else { drop(thread::spawn(log)) }
        };
        let settings = ChannelSettings {
            host: server,
            runner: self.runner.clone(),
            key: self.runner_key.clone(),
            poll: PollTimeout::try_from(self.poll_timeout)
                .map_err(|error| Failure::usage(format!("--poll-timeout: {error}.")))?,
            folder,
            bounds: self.output_limits.bounds(),
            allows_network: self.allow_network,
            on_version: Box::new(on_version),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("The runner cannot start ({error}).")))?;
        runtime.block_on(async {
            let (stop, stopping) = watch::channel(false);
            tokio::spawn(async move {
                wait_for_shutdown().await;
                tracing::info!("stop requested");
                stop.send_replace(true);
                // If this end is dropped, the other end also treats it as a request to stop.
                std::future::pending::<()>().await;
            });
            match channel::run(settings, found, stopping).await? {
                StopReason::Requested => Ok(()),
                StopReason::Rejected(reason) => Err(Failure::with(Exit::Refused, reason)),
            }
        })
    }
}

/// Waits for a signal to stop.
async fn wait_for_shutdown() {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).ok();
    match (listen(SignalKind::interrupt()), listen(SignalKind::terminate())) {
        (Some(mut interrupt), Some(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}
