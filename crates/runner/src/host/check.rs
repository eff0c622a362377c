//! Tests which limits a sandbox enforces: a program inside tries to exceed each limit. `host.rs` chooses the sandbox,
//! and `probe.rs` is the program.

use std::{
    fs,
    io::Read,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{Ability, Cores, Host, NO_GROUPS, NO_OVERLAY, NO_SECCOMP, Probe, good, missing, poor};
use crate::{
    error::{Error, Explain, Result},
    probe,
    sandbox::{Command, Exit, Limits, Outcome, PROCESSES, Task, Watch},
};

/// Timeout of a probe. It only stops a probe that hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Memory limit of the probe that exceeds it, in bytes.
const MEMORY: u64 = 64 << 20;
/// Memory limit of the probes that exceed another limit, in bytes.
const ENOUGH_MEMORY: u64 = 512 << 20;
/// Disk limit of a probe, in bytes.
const DISK: u64 = 16 << 20;
/// Multiple of its limit that a probe tries to use.
const TIMES: u64 = 2;
/// Maximum number of bytes of a probe's output.
const OUTPUT: u64 = 4096;

/// Names of the tested limits.
const TESTED: [&str; 6] = ["memory limit", "process limit", "disk", "system calls", "network", "cores"];

/// Returns the capabilities for a host that cannot run containers.
pub(super) fn untested() -> Vec<Ability> {
    TESTED
        .map(|name| missing(name, "not tested: no container can be run on this machine, see runtime"))
        .into()
}

/// Tests each limit with a probe, which is the program at this path.
pub(super) fn test(host: &Host, program: &Path) -> Vec<Ability> {
    let [memory, processes, disk, calls, network, cores] = TESTED;
    let tests = match Tests::prepare(host, program) {
        Ok(tests) => tests,
        Err(error) => return TESTED.map(|name| missing(name, format!("not tested: {error}"))).into(),
    };
    let judge = |name, judged: Result<Ability>| {
        judged.unwrap_or_else(|error| missing(name, format!("not tested: {error}")))
    };
    vec![
        judge(memory, tests.memory(memory)),
        judge(processes, tests.processes(processes)),
        judge(disk, tests.disk(disk)),
        judge(calls, tests.calls(calls)),
        judge(network, tests.network(network)),
        judge(cores, tests.cores(cores)),
    ]
}

/// A sandbox that contains the probe.
struct Tests<'a> {
    host: &'a Host,
    root: PathBuf,
    binds: Vec<PathBuf>,
}

impl<'a> Tests<'a> {
    fn prepare(host: &'a Host, program: &Path) -> Result<Self> {
        let (root, binds) = Probe { folder: host.sandbox.folder.clone() }.root()?;
        let place = root.join(probe::NAME);
        // A hard link costs nothing, but does not work across file systems.
        let placed = fs::hard_link(program, &place).or_else(|_| fs::copy(program, &place).map(drop));
        placed.explain(|| "The program of the test cannot be put into the sandbox")?;
        Ok(Self { host, root, binds })
    }

    fn limits(&self) -> Limits {
        Limits { cores: self.host.cores.jobs.clone(), memory: ENOUGH_MEMORY, disk: DISK, network: false }
    }

    /// Runs a probe and returns its output.
    fn run(&self, what: &str, number: u64, limits: &Limits) -> Result<(Outcome, String)> {
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
            deadline: Instant::now() + PATIENCE,
            output: OUTPUT,
            files: &[],
            watch: &Watch::default(),
            binds: &self.binds,
        })?;
        let mut printed = String::new();
        let read = outcome.stdout.reader().and_then(|mut reader| reader.read_to_string(&mut printed));
        read.explain(|| "The output of the test cannot be read")?;
        Ok((outcome, printed.trim().to_owned()))
    }

    /// Runs a probe that must exit with status 0, and returns its output.
    fn answer(&self, what: &str, number: u64, limits: &Limits) -> Result<String> {
        let (outcome, printed) = self.run(what, number, limits)?;
        match outcome.exit {
            Exit::Code(0) => Ok(printed),
            exit => Err(Error::new(format!("The test ended with {exit:?}."))),
        }
    }

    /// Runs a probe that must exit with status 0 and print a number.
    fn count(&self, what: &str, number: u64, limits: &Limits) -> Result<u64> {
        let printed = self.answer(what, number, limits)?;
        printed.parse().map_err(|_| Error::new("The test printed no number."))
    }

    fn memory(&self, name: &'static str) -> Result<Ability> {
        let limits = Limits { memory: MEMORY, ..self.limits() };
        let (outcome, printed) = self.run("memory", TIMES * MEMORY, &limits)?;
        let taken = printed.parse().unwrap_or(0);
        Ok(match (outcome.exit, self.host.sandbox.cgroups) {
            (Exit::TimedOut | Exit::Stopped, _) => return Err(Error::new("The test did not end.")),
            (Exit::Code(0), _) if taken >= TIMES * MEMORY => missing(
                name,
                format!(
                    "a job with {} MiB took {} MiB: enable the memory controller of control groups, and switch swap off",
                    MEMORY >> 20,
                    taken >> 20
                ),
            ),
            (_, Some(_)) => good(name, format!("a job with {} MiB did not get more", MEMORY >> 20)),
            (_, None) => poor(name, format!("each process has it by itself; control groups: {NO_GROUPS}")),
        })
    }

    fn processes(&self, name: &'static str) -> Result<Ability> {
        let most = u64::from(PROCESSES);
        let count = self.count("processes", TIMES * most, &self.limits())?;
        Ok(match self.host.sandbox.cgroups {
            _ if count > most => missing(
                name,
                format!(
                    "a job started {count} threads, not {most}: enable the pids controller of control groups"
                ),
            ),
            Some(_) => good(name, format!("a job started {count} threads, and no more")),
            None => poor(name, format!("all processes of the user count; control groups: {NO_GROUPS}")),
        })
    }

    fn disk(&self, name: &'static str) -> Result<Ability> {
        if !self.host.sandbox.overlay {
            return Ok(poor(name, NO_OVERLAY));
        }
        let written = self.count("disk", TIMES * DISK, &self.limits())?;
        Ok(if written > DISK {
            missing(name, format!("a job with {} MiB wrote {} MiB", DISK >> 20, written >> 20))
        } else {
            good(name, format!("a job with {} MiB wrote {} MiB, to memory", DISK >> 20, written >> 20))
        })
    }

    fn calls(&self, name: &'static str) -> Result<Ability> {
        if !self.host.sandbox.seccomp {
            return Ok(poor(name, NO_SECCOMP));
        }
        let allowed = self.answer("system-calls", 0, &self.limits())?;
        Ok(if allowed.is_empty() {
            good(name, "dangerous ones were refused")
        } else {
            missing(
                name,
                format!(
                    "not refused: {allowed}; install a runtime with seccomp, and a kernel with CONFIG_SECCOMP_FILTER"
                ),
            )
        })
    }

    fn network(&self, name: &'static str) -> Result<Ability> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).explain(|| "No port can be opened")?;
        let port = listener.local_addr().explain(|| "No port can be opened")?.port();
        let without = self.answer("network", port.into(), &self.limits())?;
        if without != "apart lo" {
            let what = format!(
                "a job without a network had one ({without}): the runtime makes no network namespace"
            );
            return Ok(missing(name, what));
        }
        let with = self.answer("network", port.into(), &Limits { network: true, ..self.limits() });
        Ok(match with {
            Ok(with) if with.starts_with("reached ") => good(
                name,
                "off for jobs; a spec with a network and --allow-network give that of this machine",
            ),
            Ok(_) => poor(name, "off for jobs; that of this machine cannot be reached from a sandbox either"),
            Err(error) => poor(name, format!("off for jobs; that of this machine cannot be given: {error}")),
        })
    }

    fn cores(&self, name: &'static str) -> Result<Ability> {
        let Cores { host, jobs } = &self.host.cores;
        let wanted: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        let found = self.answer("cores", 0, &self.limits())?;
        Ok(if found != wanted.join(",") {
            missing(
                name,
                format!("a job ran on {found} instead of {}: enable the cpuset controller", wanted.join(",")),
            )
        } else if host.is_empty() {
            poor(name, "there is only one, which jobs share with the host")
        } else {
            good(name, format!("{} for jobs, {} for the host", jobs.len(), host.len()))
        })
    }
}
