//! `tidemark runner run` and `tidemark runner check`: run an image, and check this machine, without a server.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

use serde_json::json;
use tidemark_api::job::JobSecret;
use tidemark_runner::{
    Host,
    host::{self, Capability, CapabilityState},
    image::{Images, Source},
    measure::{self, JobEnd, JobPlan, OutputLimits, RESULTS_MAX, RunResults},
    sandbox::{Limits, RunControl, RunOutcome},
};

use crate::{
    failure::{Exit, Failure, Result, check_written, print_before},
    interrupt::on_interrupt,
    output,
    table::{Column, Table},
};

/// Subfolder that is separate from the folder of a running runner.
const SUBFOLDER: &str = "local";

/// Flag of the data folder of a runner.
#[derive(clap::Args)]
pub(crate) struct DataFolderFlag {
    /// Data folder for images and results [default: /var/lib/tidemark-runner for root, otherwise a folder of the user]
    #[arg(long, value_name = "FOLDER", env = "TIDEMARK_RUNNER_DATA_DIR")]
    data_dir: Option<PathBuf>,
}

/// Limits on the output of a run, regardless of its spec.
#[derive(clap::Args)]
pub(crate) struct OutputLimitFlags {
    /// Maximum size of each output, and of all files, of a run in MiB
    #[arg(long, value_name = "MIB", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_output_size: u32,
    /// Maximum size of the outputs and files of all runs of a job together, as JSON, in MiB; a larger job fails
    #[arg(long, value_name = "MIB", default_value_t = RESULTS_MAX >> 20, value_parser = clap::value_parser!(u64).range(1..=RESULTS_MAX >> 20))]
    max_job_output_size: u64,
    /// Maximum number of files per run
    #[arg(long, value_name = "COUNT", default_value_t = 255, value_parser = clap::value_parser!(u32).range(0..=255))]
    max_file_count: u32,
}

impl OutputLimitFlags {
    pub(crate) fn bounds(&self) -> OutputLimits {
        OutputLimits {
            output: u64::from(self.max_output_size) << 20,
            files: self.max_file_count as usize,
            total: self.max_job_output_size << 20,
        }
    }
}

/// Arguments of `tidemark runner run`.
#[derive(clap::Args)]
pub(crate) struct RunImage {
    /// Image: a folder in the OCI image layout, or host/name:tag
    #[arg(long, value_name = "REFERENCE")]
    image: String,
    /// Token for the registry of the image
    #[arg(long, value_name = "TOKEN", env = "TIDEMARK_REGISTRY_TOKEN", hide_env_values = true)]
    registry_token: Option<String>,
    /// Program to start instead of the entrypoint of the image
    #[arg(long, value_name = "PROGRAM", allow_hyphen_values = true)]
    entrypoint: Option<String>,
    /// Environment variable, as NAME=VALUE; repeat the flag for several
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    env: Vec<String>,
    /// Number of cores
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    cpu: u32,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..))]
    memory: u64,
    /// Disk space in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    disk: u64,
    /// Allow access to the network of this machine
    #[arg(long)]
    network: bool,
    /// Time limit of all runs together in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    job_timeout: u64,
    /// Number of runs
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    iter: u32,
    /// Continue after a failed run
    #[arg(long)]
    allow_failure: bool,
    /// File of the image to copy to the folder of --into; repeat the flag for several
    #[arg(long, value_name = "PATH", requires = "into")]
    file: Vec<String>,
    /// Folder for the files, with one subfolder per run
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    #[command(flatten)]
    folder: DataFolderFlag,
    #[command(flatten)]
    output_limits: OutputLimitFlags,
    /// Command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Arguments of `tidemark runner check`.
#[derive(clap::Args)]
pub(crate) struct Check {
    #[command(flatten)]
    folder: DataFolderFlag,
}

impl From<tidemark_runner::Error> for Failure {
    fn from(error: tidemark_runner::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl DataFolderFlag {
    /// Opens the folder, accessible only to its owner.
    pub(crate) fn open(&self) -> Result<PathBuf> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = match &self.data_dir {
            Some(folder) => folder.clone(),
            None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib/tidemark-runner"),
            None => directories::ProjectDirs::from("", "", "tidemark-runner")
                .map(|folders| folders.data_dir().to_owned())
                .ok_or_else(|| Failure::usage("You have no home folder; name a folder with --data-dir."))?,
        };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let made = made.and_then(|()| folder.canonicalize());
        made.map_err(|error| {
            Failure::new(format!("The folder {} cannot be used ({error}).", folder.display()))
        })
    }
}

impl Check {
    pub(crate) fn run(&self, json: bool) -> Result {
        let folder = self.folder.open()?.join(SUBFOLDER);
        let found = host::become_root().and_then(|()| Host::prepare(&folder));
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format!("The path of this program is unknown ({error}).")))?;
        let capabilities = Host::capabilities(&found, &program);
        let is_missing = capabilities.iter().any(|capability| capability.state == CapabilityState::Missing);
        let text = if json {
            output::json("The result of the check", &json!({ "abilities": capabilities }))?
        } else {
            let mut table =
                Table::new([Column::Left("Check"), Column::Left("State"), Column::Left("Detail")], &[]);
            for Capability { name, state, detail } in capabilities {
                let word = match state {
                    CapabilityState::Good => "good",
                    CapabilityState::Poor => "poor",
                    CapabilityState::Missing => "missing",
                };
                table.push([name.to_owned(), word.to_owned(), output::plain(&detail)]);
            }
            table.show()
        };
        let verdict = match found {
            Err(_) => Err(Failure::new("This machine cannot run jobs; see above.")),
            Ok(_) if is_missing => {
                Err(Failure::new("A limit of jobs cannot be enforced on this machine; see above."))
            }
            Ok(_) => Ok(()),
        };
        print_before(verdict, &text)
    }
}

impl RunImage {
    pub(crate) fn run(&self, json: bool) -> Result {
        let folder = self.folder.open()?.join(SUBFOLDER);
        host::become_root()?;
        let bounds = self.output_limits.bounds();
        let plan = self.plan()?;
        let (source, reference) = Source::parse(&self.image, self.registry_token.as_deref())?;
        let host = Host::prepare(&folder)?;
        host.restrictions.iter().for_each(|restriction| message!("note: {restriction}"));
        let limits = Limits {
            cores: host.cores.choose(self.cpu)?,
            memory: self.memory << 20,
            disk: self.disk << 20,
            network: self.network,
        };
        let image = Images::open(folder.join("images"))?.get(&source, &reference)?;
        let control = RunControl::default();
        let on_stop = control.clone();
        let _guard = on_interrupt(move || {
            on_stop.stop();
            // Meanwhile, the sandbox is removed.
            std::thread::sleep(Duration::from_secs(1));
        })?;
        let (mut runs, mut written) = (Vec::new(), Ok(()));
        let tell = |outcome: &RunOutcome| {
            if !json {
                let copied = outcome.stdout.reader().and_then(|mut from| {
                    io::copy(&mut from, &mut io::stdout()).and_then(|_| io::stdout().flush())
                });
                if written.is_ok() {
                    written = check_written(copied);
                }
                let _ = outcome.stderr.reader().and_then(|mut from| io::copy(&mut from, &mut io::stderr()));
                message!("{}", sentence(outcome));
            }
            runs.push(json!({
                "wall_seconds": outcome.wall.as_secs_f64(),
                "cpu_seconds": outcome.usage.cpu.map(|time| time.as_secs_f64()),
                "memory_peak_bytes": outcome.usage.memory,
            }));
        };
        let path = folder.join("results");
        let mut results = RunResults::create(&path, bounds)?;
        // The open file suffices, and deleting it leaves nothing behind. A file that cannot be deleted is overwritten next time.
        drop(fs::remove_file(path));
        let end = measure::run(&host, &image, &plan, &limits, &control, &mut results, tell);
        let results = results.read()?;
        self.keep_files(&results)?;
        let verdict = match end {
            JobEnd::Completed => written,
            JobEnd::Failed(reason) => Err(Failure::with(Exit::Benchmark, reason)),
            JobEnd::Stopped => Err(Failure::new("The run was stopped.")),
        };
        if json {
            let document = json!({ "results": results, "runs": runs });
            return print_before(verdict, &output::json("The results", &document)?);
        }
        verdict
    }

    fn plan(&self) -> Result<JobPlan> {
        let mut variables = BTreeMap::new();
        for given in &self.env {
            let Some((name, value)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(Failure::usage("A variable of --env is not of the form NAME=VALUE."));
            };
            variables.insert(name.to_owned(), JobSecret(value.to_owned()));
        }
        Ok(JobPlan {
            entrypoint: self.entrypoint.clone().map(|program| vec![program]),
            cmd: Some(self.command.clone()).filter(|command| !command.is_empty()),
            variables,
            timeout: Duration::from_secs(self.job_timeout),
            files: self.file.clone(),
            iterations: self.iter,
            allow_failure: self.allow_failure,
            ..JobPlan::default()
        })
    }

    /// Writes the files of all runs to the folder of the user.
    fn keep_files(&self, results: &[tidemark_api::JobIteration]) -> Result {
        let Some(into) = &self.into else { return Ok(()) };
        for (number, result) in results.iter().enumerate() {
            let folder = into.join((number + 1).to_string());
            let write = |path: &str, text: &str| {
                // Keeps only the names of a path, so that it cannot leave the folder.
                let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
                let place = parts.fold(folder.clone(), |place, part| place.join(part));
                fs::create_dir_all(place.parent().unwrap_or(&folder))?;
                fs::write(place, text)
            };
            for (path, text) in result.output.iter().flatten() {
                write(path, text).map_err(|error| {
                    Failure::new(format!("The file `{}` cannot be written ({error}).", output::plain(path)))
                })?;
            }
        }
        Ok(())
    }
}

/// Returns a sentence with the resources that a run used.
fn sentence(outcome: &RunOutcome) -> String {
    let mut text = format!("It took {:.3} s", outcome.wall.as_secs_f64());
    if let Some(cpu) = outcome.usage.cpu {
        text.push_str(&format!(", {:.3} s of all cores", cpu.as_secs_f64()));
    }
    if let Some(memory) = outcome.usage.memory {
        text.push_str(&format!(" and {:.1} MiB of memory", memory as f64 / f64::from(1 << 20)));
    }
    text.push('.');
    text
}
