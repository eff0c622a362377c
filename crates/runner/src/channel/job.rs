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
    measure::{self, JobEnd, JobPlan, PairJob, PairLimits, RunResults},
    sandbox::{RunControl, RunOutcome},
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

/// Runs a job: fetches its images, waits for the permission to start, and runs it.
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
        let project = config.project.to_string();
        let get = |repository: Option<&str>, digest: &str| {
            let repository = repository.unwrap_or(&project);
            let source = Source::registry(config.registry.as_ref(), repository, Some(oci_token.as_ref()));
            images.get(&source, digest)
        };
        let is_duet = config.base.as_ref().is_some_and(|base| base.duet);
        let limits = PairLimits::new(host, spec, is_duet)?;
        let image = get(config.repository.as_deref(), &config.digest)?;
        let base = match &config.base {
            Some(base) => Some((base, get(base.repository.as_deref(), &base.digest)?)),
            None => None,
        };
        Ok((limits, image, base))
    };
    let on_run = |run: &RunOutcome| {
        tracing::info!(
            job = %order.uuid,
            wall = run.wall.as_secs_f64(),
            cpu = run.usage.cpu.map(|time| time.as_secs_f64()),
            memory = run.usage.memory,
            "run ended"
        );
    };
    let plan = JobPlan::new(config);
    match prepare() {
        Ok(_) if !on_prepared() => JobEnd::Stopped,
        Ok((limits, image, Some((base, base_image)))) => {
            let (average, plan) = (config.average, &plan);
            let job =
                PairJob { base_image: &base_image, new_image: &image, plan, base, average, limits: &limits };
            job.run(host, control, results, on_run)
        }
        Ok((limits, image, None)) => {
            measure::run(host, &image, &plan, limits.first(), control, results, on_run)
        }
        Err(_) if control.is_stopped() => JobEnd::Stopped,
        Err(error) => JobEnd::Failed(error.to_string()),
    }
}
