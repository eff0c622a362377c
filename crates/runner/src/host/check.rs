//! Tests which limits a sandbox enforces: a program inside tries to exceed each limit. `host.rs` chooses the sandbox,
//! and `probe.rs` is the program.

use std::{
    fs,
    io::Read,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Capability, Cores, Host, NO_CGROUPS, NO_OVERLAY, NO_SECCOMP, SandboxSearch, good, missing, poor,
};
use crate::{
    error::{Error, Explain, Result},
    probe,
    sandbox::{Command, Exit, Limits, PROCESSES_MAX, RunControl, RunOutcome, Task},
};

/// Timeout of a probe. It only stops a probe that hangs.
const PROBE_TIMEOUT: Duration = Duration::from_secs(120);
/// Memory limit of the probe that exceeds it, in bytes.
const MEMORY_LIMIT: u64 = 64 << 20;
/// Memory limit of the probes that exceed another limit, in bytes.
const AMPLE_MEMORY: u64 = 512 << 20;
/// Disk limit of a probe, in bytes.
const DISK_LIMIT: u64 = 16 << 20;
/// Multiple of its limit that a probe tries to use.
const EXCESS_FACTOR: u64 = 2;
/// Maximum number of bytes of a probe's output.
const OUTPUT_MAX: u64 = 4096;

/// Names of the tested limits.
const TESTED: [&str; 6] = ["memory limit", "process limit", "disk", "system calls", "network", "cores"];

/// Returns the capabilities for a host that cannot run containers.
pub(super) fn untested() -> Vec<Capability> {
    TESTED.map(|name| missing(name, "not tested: this host cannot run containers, see runtime")).into()
}

/// Tests each limit with a probe, which is the program at this path.
pub(super) fn test(host: &Host, program: &Path) -> Vec<Capability> {
    let [memory, processes, disk, calls, network, cores] = TESTED;
    let tests = match LimitTests::prepare(host, program) {
        Ok(tests) => tests,
        Err(error) => return TESTED.map(|name| missing(name, format!("not tested: {error}"))).into(),
    };
    let or_untested = |name, tested: Result<Capability>| {
        tested.unwrap_or_else(|error| missing(name, format!("not tested: {error}")))
    };
    vec![
        or_untested(memory, tests.memory(memory)),
        or_untested(processes, tests.processes(processes)),
        or_untested(disk, tests.disk(disk)),
        or_untested(calls, tests.calls(calls)),
        or_untested(network, tests.network(network)),
        or_untested(cores, tests.cores(cores)),
    ]
}

/// A sandbox that contains the probe.
struct LimitTests<'a> {
    host: &'a Host,
    root: PathBuf,
    binds: Vec<PathBuf>,
}

impl<'a> LimitTests<'a> {
    fn prepare(host: &'a Host, program: &Path) -> Result<Self> {
        let (root, binds) = SandboxSearch { folder: host.sandbox.folder.clone() }.root()?;
        let target = root.join(probe::NAME);
        // A hard link costs nothing, but does not work across file systems.
        let copied = fs::hard_link(program, &target).or_else(|_| fs::copy(program, &target).map(drop));
        copied.explain(|| "The program of the test cannot be put into the sandbox")?;
        Ok(Self { host, root, binds })
    }

    fn limits(&self) -> Limits {
        Limits { cores: self.host.cores.jobs.clone(), memory: AMPLE_MEMORY, disk: DISK_LIMIT, network: false }
    }

    /// Runs a probe and returns its output.
    fn run(&self, what: &str, number: u64, limits: &Limits) -> Result<(RunOutcome, String)> {
        let command = Command {
            words: vec![format!("/{}", probe::NAME), what.to_owned(), number.to_string()],
            variables: Vec::new(),
            folder: "/".to_owned(),
            user: String::new(),
        };
        let outcome = self.host.sandbox.run(&Task {
            root: &self.root,
            command: &command,
            limits,
            deadline: Instant::now() + PROBE_TIMEOUT,
            output: OUTPUT_MAX,
            files: &[],
            control: &RunControl::default(),
            binds: &self.binds,
        })?;
        let mut printed = String::new();
        let read = outcome.stdout.reader().and_then(|mut reader| reader.read_to_string(&mut printed));
        read.explain(|| "The output of the test cannot be read")?;
        Ok((outcome, printed.trim().to_owned()))
    }

    /// Runs a probe that must exit with status 0, and returns its output.
    fn run_successfully(&self, what: &str, number: u64, limits: &Limits) -> Result<String> {
        let (outcome, printed) = self.run(what, number, limits)?;
        match outcome.exit {
            Exit::Code(0) => Ok(printed),
            exit => Err(Error::new(format!("The test ended with {exit:?}."))),
        }
    }

    /// Runs a probe that must exit with status 0 and print a number.
    fn count(&self, what: &str, number: u64, limits: &Limits) -> Result<u64> {
        let printed = self.run_successfully(what, number, limits)?;
        printed.parse().map_err(|_| Error::new("The test printed no number."))
    }

    fn memory(&self, name: &'static str) -> Result<Capability> {
        let limits = Limits { memory: MEMORY_LIMIT, ..self.limits() };
        let (outcome, printed) = self.run("memory", EXCESS_FACTOR * MEMORY_LIMIT, &limits)?;
        let taken = printed.parse().unwrap_or(0);
        Ok(match (outcome.exit, self.host.sandbox.cgroups) {
            (Exit::TimedOut | Exit::Stopped, _) => return Err(Error::new("The test did not end.")),
            (Exit::Code(0), _) if taken >= EXCESS_FACTOR * MEMORY_LIMIT => missing(
                name,
                format!(
                    "a job with {} MiB took {} MiB: enable the memory controller of control groups, and disable swap",
                    MEMORY_LIMIT >> 20,
                    taken >> 20
                ),
            ),
            (_, Some(_)) => good(name, format!("a job with {} MiB did not get more", MEMORY_LIMIT >> 20)),
            (_, None) => poor(
                name,
                format!("the limit applies to each process separately; control groups: {NO_CGROUPS}"),
            ),
        })
    }

    fn processes(&self, name: &'static str) -> Result<Capability> {
        let limit = u64::from(PROCESSES_MAX);
        let count = self.count("processes", EXCESS_FACTOR * limit, &self.limits())?;
        Ok(match self.host.sandbox.cgroups {
            _ if count > limit => missing(
                name,
                format!(
                    "a job started {count} threads, not {limit}: enable the pids controller of control groups"
                ),
            ),
            Some(_) => good(name, format!("a job started {count} threads, and no more")),
            None => poor(name, format!("all processes of the user count; control groups: {NO_CGROUPS}")),
        })
    }

    fn disk(&self, name: &'static str) -> Result<Capability> {
        if !self.host.sandbox.overlay {
            return Ok(poor(name, NO_OVERLAY));
        }
        let written = self.count("disk", EXCESS_FACTOR * DISK_LIMIT, &self.limits())?;
        Ok(if written > DISK_LIMIT {
            missing(name, format!("a job with {} MiB wrote {} MiB", DISK_LIMIT >> 20, written >> 20))
        } else {
            good(name, format!("a job with {} MiB wrote {} MiB, to memory", DISK_LIMIT >> 20, written >> 20))
        })
    }

    fn calls(&self, name: &'static str) -> Result<Capability> {
        if !self.host.sandbox.seccomp {
            return Ok(poor(name, NO_SECCOMP));
        }
        let allowed = self.run_successfully("system-calls", 0, &self.limits())?;
        Ok(if allowed.is_empty() {
            good(name, "dangerous system calls are denied")
        } else {
            missing(
                name,
                format!(
                    "not denied: {allowed}; install a runtime with seccomp, and a kernel with CONFIG_SECCOMP_FILTER"
                ),
            )
        })
    }

    fn network(&self, name: &'static str) -> Result<Capability> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).explain(|| "No port can be opened")?;
        let port = listener.local_addr().explain(|| "No port can be opened")?.port();
        let without = self.run_successfully("network", port.into(), &self.limits())?;
        if without != "isolated lo" {
            let what = format!(
                "a job without a network had one ({without}): the runtime creates no network namespace"
            );
            return Ok(missing(name, what));
        }
        let with = self.run_successfully("network", port.into(), &Limits { network: true, ..self.limits() });
        Ok(match with {
            Ok(with) if with.starts_with("reached ") => good(
                name,
                "off for jobs; a spec with a network and --allow-network enable the network of this host",
            ),
            Ok(_) => poor(name, "off for jobs; a sandbox cannot reach the network of this host"),
            Err(error) => {
                poor(name, format!("off for jobs; a sandbox cannot use the network of this host: {error}"))
            }
        })
    }

    fn cores(&self, name: &'static str) -> Result<Capability> {
        let Cores { host, jobs } = &self.host.cores;
        let wanted: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        let found = self.run_successfully("cores", 0, &self.limits())?;
        Ok(if found != wanted.join(",") {
            missing(
                name,
                format!("a job ran on {found} instead of {}: enable the cpuset controller", wanted.join(",")),
            )
        } else if host.is_empty() {
            poor(name, "this host has one core, which jobs share with it")
        } else {
            good(name, format!("{} for jobs, {} for the host", jobs.len(), host.len()))
        })
    }
}
