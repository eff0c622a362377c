//! One job of the channel, in its own thread: fetches the image, waits for the permission to start, then runs the
//! job.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use tidemark_api::channel::JobOrder;

use super::ChannelSettings;
use crate::{
    Host,
    error::Error,
    image::{Images, Source},
    measure::{self, JobEnd, JobPlan, RunResults},
    sandbox::RunControl,
};

/// Interval at which a waiting job checks whether it was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until the server lets the benchmarks start. Returns `false` if the job was stopped instead.
pub(super) fn wait(started: &Receiver<()>, control: &RunControl) -> bool {
    while !control.is_stopped() {
        match started.recv_timeout(STOP_CHECK_INTERVAL) {
            Ok(()) => return true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    false
}

/// Runs a job: fetches its image, waits for the permission to start, and runs it.
pub(super) fn run(
    settings: &ChannelSettings,
    host: &Host,
    images: &Images,
    order: &JobOrder,
    control: &RunControl,
    results: &mut RunResults,
    on_prepared: impl FnOnce() -> bool,
) -> JobEnd {
    let JobOrder { spec, config, oci_token, .. } = order;
    let prepare = || {
        if spec.network && !settings.allows_network {
            return Err(Error::new(
                "The spec of the job has a network, which this runner does not allow. Start the runner with --allow-network.",
            ));
        }
        let limits = measure::limits(host, spec)?;
        let project = config.project.to_string();
        let repository = config.repository.as_deref().unwrap_or(&project);
        let source = Source::registry(config.registry.as_ref(), repository, Some(oci_token.as_ref()));
        Ok((limits, images.get(&source, &config.digest)?))
    };
    match prepare() {
        Ok(_) if !on_prepared() => JobEnd::Stopped,
        Ok((limits, image)) => {
            let plan = JobPlan::new(config);
            measure::run(host, &image, &plan, &limits, control, results, |run| {
                tracing::info!(
                    job = %order.uuid,
                    wall = run.wall.as_secs_f64(),
                    cpu = run.usage.cpu.map(|time| time.as_secs_f64()),
                    memory = run.usage.memory,
                    "run ended"
                );
            })
        }
        Err(_) if control.is_stopped() => JobEnd::Stopped,
        Err(error) => JobEnd::Failed(error.to_string()),
    }
}
