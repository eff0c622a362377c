//! One job of the channel, in its own thread: fetches the image, waits for the permission to start, then runs the
//! job.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use tidemark_api::channel::JobOrder;

use super::Settings;
use crate::{
    Host,
    error::Error,
    image::{Images, Source},
    measure::{self, End, RunResults, Work},
    sandbox::Watch,
};

/// Interval at which a waiting job checks whether it was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until the server lets the benchmarks start. Returns `false` if the job was stopped instead.
pub(super) fn wait(begins: &Receiver<()>, watch: &Watch) -> bool {
    while !watch.is_stopped() {
        match begins.recv_timeout(LOOK) {
            Ok(()) => return true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    false
}

/// Runs a job: fetches its image, waits for the permission to start, and runs it.
pub(super) fn run(
    settings: &Settings,
    host: &Host,
    images: &Images,
    order: &JobOrder,
    watch: &Watch,
    results: &mut RunResults,
    prepared: impl FnOnce() -> bool,
) -> End {
    let JobOrder { spec, config, oci_token, .. } = order;
    let prepare = || {
        if spec.network && !settings.allows_network {
            return Err(Error::new(
                "The spec of the job has a network, which this runner gives to no job (--allow-network).",
            ));
        }
        let limits = measure::limits(host, spec)?;
        let project = config.project.to_string();
        let repository = config.repository.as_deref().unwrap_or(&project);
        let source = Source::registry(config.registry.as_ref(), repository, Some(oci_token.as_ref()));
        Ok((limits, images.get(&source, &config.digest)?))
    };
    match prepare() {
        Ok(_) if !prepared() => End::Stopped,
        Ok((limits, image)) => {
            let job = Work::of(config);
            measure::run(host, &image, &job, &limits, watch, results, |run| {
                tracing::info!(
                    job = %order.uuid,
                    wall = run.wall.as_secs_f64(),
                    cpu = run.figures.cpu.map(|time| time.as_secs_f64()),
                    memory = run.figures.memory,
                    "a run has ended"
                );
            })
        }
        Err(_) if watch.is_stopped() => End::Stopped,
        Err(error) => End::Failed(error.to_string()),
    }
}
