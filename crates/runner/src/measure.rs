//! Runs a job: a number of runs one after the other, each with its output, its files and the noise of the machine
//! before and after it. `sandbox.rs` isolates each run.

mod pairs;
mod results;

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tidemark_api::{JobConfig, JobIteration, JobNoise, Spec, job::JobSecret};

use self::results::LongText;
pub(crate) use self::results::{parse, write_all};
pub use self::{
    pairs::{PairJob, PairLimits},
    results::{RESULTS_MAX, RunResults},
};
use crate::{
    Host,
    error::{Error, Result},
    image::{Image, ImageConfig},
    noise,
    sandbox::{Command, Exit, FileRequest, FoundFile, Limits, RunControl, RunOutcome, Task, pin},
};

/// Duration of one measurement of noise.
const NOISE_DURATION: Duration = Duration::from_millis(50);
/// Marks the name of a result that is not a file of the job.
const SYNTHETIC_MARK: char = '\0';

/// Command of a job, and its number of runs.
#[derive(Clone, Debug, Default)]
pub struct JobPlan {
    /// Replaces the entry point of the image.
    pub entrypoint: Option<Vec<String>>,
    /// Arguments, or the command if there is no entry point.
    pub cmd: Option<Vec<String>>,
    /// Environment variables.
    pub variables: BTreeMap<String, JobSecret>,
    /// Timeout of all runs together.
    pub timeout: Duration,
    /// Files to read the results from.
    pub files: Vec<String>,
    /// Whether the duration of a run is the result.
    pub build_time: bool,
    /// Whether the sizes of the files are the result.
    pub file_size: bool,
    /// Number of runs.
    pub iterations: u32,
    /// Whether the job continues after failed runs.
    pub allow_failure: bool,
    /// Name of a result without a name.
    pub name: String,
}

/// Limits of a run on this host, in addition to the limits of its spec.
#[derive(Clone, Copy, Debug)]
pub struct OutputLimits {
    /// Maximum number of bytes that are kept of each output stream, and of all files together.
    pub output: u64,
    /// Maximum number of files that are read.
    pub files: usize,
    /// Maximum number of bytes of the results of all runs of a job, as JSON.
    pub total: u64,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { output: 25 << 20, files: 255, total: RESULTS_MAX }
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// All runs were made.
    Completed,
    /// A run failed.
    Failed(String),
    /// The job was stopped.
    Stopped,
}

impl JobPlan {
    /// Creates the plan for the configuration of a job.
    pub fn new(config: &JobConfig) -> Self {
        Self {
            entrypoint: config.entrypoint.clone(),
            cmd: config.cmd.clone(),
            variables: config.env.clone().unwrap_or_default(),
            timeout: Duration::from_secs(config.timeout.into()),
            files: config.file_paths.clone().unwrap_or_default(),
            build_time: config.build_time == Some(true),
            file_size: config.file_size == Some(true),
            iterations: config.iter.unwrap_or(1),
            allow_failure: config.allow_failure == Some(true),
            name: config.image.clone().unwrap_or_else(|| format!("{}@{}", config.project, config.digest)),
        }
    }

    /// Returns the command to run: the entry point and arguments of the image, unless the job replaces them. If the
    /// job replaces the entry point, the arguments of the image are dropped.
    fn command(&self, image: &ImageConfig) -> Result<Command> {
        let cmd = match (&self.cmd, &self.entrypoint) {
            (Some(cmd), _) => cmd.clone(),
            (None, Some(_)) => Vec::new(),
            (None, None) => image.cmd.clone().unwrap_or_default(),
        };
        let mut words = self.entrypoint.clone().or_else(|| image.entrypoint.clone()).unwrap_or_default();
        words.extend(cmd);
        if words.is_empty() {
            return Err(Error::new(
                "The image has no command. Set the command or the entry point of the job.",
            ));
        }
        let is_replaced = |variable: &&String| {
            variable.split_once('=').is_none_or(|(name, _)| !self.variables.contains_key(name))
        };
        let from_image = image.env.iter().flatten().filter(is_replaced).cloned();
        let from_job = self.variables.iter().map(|(name, JobSecret(value))| format!("{name}={value}"));
        let folder = image.working_dir.clone().filter(|folder| folder.starts_with('/'));
        Ok(Command {
            words,
            variables: from_image.chain(from_job).collect(),
            folder: folder.unwrap_or_else(|| "/".to_owned()),
            user: image.user.clone().unwrap_or_default(),
        })
    }

    /// Returns the files to read after each run.
    fn file_requests(&self, bounds: OutputLimits) -> Vec<FileRequest> {
        let limit = (!self.file_size).then_some(bounds.output);
        let files = self.files.iter().take(bounds.files);
        files.map(|path| FileRequest { path: path.clone(), limit }).collect()
    }
}

/// Returns the limits that a spec sets on this host.
pub fn limits(host: &Host, spec: &Spec) -> Result<Limits> {
    Ok(Limits {
        cores: host.cores.choose(spec.cpu.get())?,
        memory: spec.memory.get(),
        disk: spec.disk.get(),
        network: spec.network,
    })
}

/// Makes all runs of a job and appends the result of each to `results`. Calls `on_run` after each run.
pub fn run(
    host: &Host,
    image: &Image,
    plan: &JobPlan,
    limits: &Limits,
    control: &RunControl,
    results: &mut RunResults,
    mut on_run: impl FnMut(&RunOutcome),
) -> JobEnd {
    let deadline = Instant::now() + plan.timeout;
    let mut run_all = || -> Result<JobEnd> {
        let command = plan.command(&image.config)?;
        let requests = plan.file_requests(results.bounds);
        let mut before = measure_noise(limits);
        for _ in 0..plan.iterations {
            let task = Task {
                root: &image.root,
                command: &command,
                limits,
                deadline,
                output: results.bounds.output.min(results.remaining()),
                files: &requests,
                control,
                binds: &[],
            };
            let outcome = host.sandbox.run(&task)?;
            on_run(&outcome);
            let after = measure_noise(limits);
            let noise = JobNoise { before, after };
            before = after;
            let failure = failure(&outcome, plan, limits);
            let is_stopped = outcome.exit == Exit::Stopped;
            let is_last = !matches!(outcome.exit, Exit::Code(_));
            plan.append_result(&command, outcome, noise, results)?;
            match failure {
                _ if is_stopped => return Ok(JobEnd::Stopped),
                Some(reason) if is_last || !plan.allow_failure => return Ok(JobEnd::Failed(reason)),
                _ => {}
            }
        }
        Ok(JobEnd::Completed)
    };
    run_all().unwrap_or_else(|error| JobEnd::Failed(error.to_string()))
}

/// Measures the noise on the cores of a job.
fn measure_noise(limits: &Limits) -> f64 {
    std::thread::scope(|scope| {
        let measure = || {
            // If pinning fails, the noise of other cores is still useful.
            drop(pin(&limits.cores));
            noise::processor_noise(NOISE_DURATION)
        };
        scope.spawn(measure).join().unwrap_or(0.0)
    })
}

/// Returns why a run failed, if it failed.
fn failure(outcome: &RunOutcome, plan: &JobPlan, limits: &Limits) -> Option<String> {
    match outcome.exit {
        Exit::Code(0) => None,
        Exit::Code(_) if outcome.usage.is_out_of_memory => {
            Some(format!("The command exceeded its memory limit of {} MiB.", limits.memory >> 20))
        }
        Exit::Code(code) => Some(format!("The command exited with status {code}.")),
        Exit::TimedOut => Some(format!("The job exceeded its timeout of {} s.", plan.timeout.as_secs())),
        Exit::Stopped => Some("The job was stopped.".to_owned()),
    }
}

impl JobPlan {
    /// Appends the result of one run.
    fn append_result(
        &self,
        command: &Command,
        mut run: RunOutcome,
        noise: JobNoise,
        results: &mut RunResults,
    ) -> Result<()> {
        let texts = self.result_texts(command, &mut run);
        results.push(&Self::short_result(&run, noise), &run.stdout, &run.stderr, &texts)
    }

    /// Takes the texts that the results are read from, by path; empty if standard output has the results.
    fn result_texts(&self, command: &Command, run: &mut RunOutcome) -> Vec<(String, LongText)> {
        if self.build_time {
            let name = if command.words.is_empty() { self.name.clone() } else { command.words.join(" ") };
            let seconds = (run.wall.as_secs_f64() * 100.0).round() / 100.0;
            let metric = json!({ name: { "build-time": { "value": seconds } } });
            vec![(format!("build{SYNTHETIC_MARK}time"), LongText::Memory(metric.to_string()))]
        } else if self.file_size {
            run.files.iter().map(size_result).collect()
        } else {
            let content = |file: FoundFile| Some((file.path, LongText::File(file.content?)));
            std::mem::take(&mut run.files).into_iter().filter_map(content).collect()
        }
    }

    /// Returns the result of a run without its texts.
    fn short_result(run: &RunOutcome, noise: JobNoise) -> JobIteration {
        let exit_code = match run.exit {
            Exit::Code(code) => code,
            // The exit status of a shell for a killed process.
            Exit::TimedOut | Exit::Stopped => 137,
        };
        JobIteration {
            exit_code,
            noise: Some(noise),
            cpu_time: run.usage.cpu.map(|time| time.as_secs_f64()),
            peak_memory: run.usage.memory,
            ..JobIteration::default()
        }
    }
}

/// Returns the size of a file as a result.
fn size_result(file: &FoundFile) -> (String, LongText) {
    let name = Path::new(&file.path).file_name().map_or_else(|| file.path.clone().into(), ToOwned::to_owned);
    let metric = json!({ name.to_string_lossy(): { "file-size": { "value": file.size } } });
    (format!("size{SYNTHETIC_MARK}{}", file.path), LongText::Memory(metric.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Vec<String>> {
        Some(text.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn the_job_overrides_the_command_of_the_image() {
        let image =
            ImageConfig { entrypoint: words("/bench"), cmd: words("--all"), ..ImageConfig::default() };
        for (entrypoint, cmd, expected) in [
            (None, None, "/bench --all"),
            (None, words("--quick"), "/bench --quick"),
            (words("/other"), None, "/other"),
            (words("/other"), words("x"), "/other x"),
        ] {
            let plan = JobPlan { entrypoint, cmd, ..JobPlan::default() };
            assert_eq!(plan.command(&image).unwrap().words.join(" "), expected);
        }
        assert!(JobPlan::default().command(&ImageConfig::default()).is_err());
    }

    #[test]
    fn variables_of_the_job_replace_those_of_the_image() {
        let env = Some(vec!["A=1".to_owned(), "B=2".to_owned()]);
        let image = ImageConfig { cmd: words("x"), env, ..ImageConfig::default() };
        let variables = BTreeMap::from([("B".to_owned(), JobSecret("3".to_owned()))]);
        let command = JobPlan { variables, ..JobPlan::default() }.command(&image).unwrap();
        assert_eq!(command.variables, ["A=1", "B=3"]);
    }
}
