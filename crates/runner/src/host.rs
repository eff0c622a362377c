//! Capabilities of this host: which runtime works with which limits, found by running it; the cores; and what makes
//! the host noisy. `tune.rs` reduces the noise.

mod check;

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use nix::sched::CloneFlags;
use rustix::{
    fs::{FlockOperation, flock},
    process::{getegid, geteuid, getpid, set_child_subreaper},
    system::sysinfo,
    thread::sched_getaffinity,
};
use serde::Serialize;

use crate::{
    error::{Error, Explain, Result},
    sandbox::{
        Cgroups, Command, Exit, Limits, RunControl, Runtime, Sandbox, Task, cgroup, mount_overlay, runtime,
        unshare_mounts,
    },
};

/// Timeout of a test of the runtime.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// Memory limit of a test of the runtime, in bytes.
const PROBE_MEMORY: u64 = 64 << 20;
/// Number of cores from which the host keeps two cores instead of one.
const MANY_CORES: usize = 8;
/// Folders of the host that contain the program of the test.
const PROGRAM_FOLDERS: [&str; 5] = ["/usr", "/bin", "/lib", "/lib64", "/nix"];

/// A host that can run jobs.
#[derive(Clone, Debug)]
pub struct Host {
    /// Sandbox that jobs run in.
    pub sandbox: Sandbox,
    /// Cores of the host.
    pub cores: Cores,
    /// What this host cannot do, one sentence each.
    pub restrictions: Vec<String>,
    /// Locks the folder against other runners.
    _lock: Arc<File>,
}

/// Cores of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Cores for the host's own work.
    pub host: Vec<usize>,
    /// Cores for jobs.
    pub jobs: Vec<usize>,
}

/// A capability of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// Name of the capability.
    pub name: &'static str,
    /// State of the capability.
    pub state: CapabilityState,
    /// Description of the state, and what to do if it is not good.
    pub detail: String,
}

/// State of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityState {
    /// Works as required.
    Good,
    /// Works with restrictions.
    Poor,
    /// Does not work.
    Missing,
}

impl Cores {
    /// Divides the cores that this process may use between host and jobs.
    pub fn find() -> Self {
        let set = sched_getaffinity(None).ok();
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        let all: Vec<usize> = all.filter(|core| set.as_ref().is_some_and(|set| set.is_set(*core))).collect();
        Self::divide(&all)
    }

    fn divide(all: &[usize]) -> Self {
        let host = match all.len() {
            0 | 1 => 0,
            few if few < MANY_CORES => 1,
            _ => 2,
        };
        let (host, jobs) = all.split_at(host);
        Self { host: host.to_vec(), jobs: jobs.to_vec() }
    }

    /// Returns `count` cores for a job: first the cores for jobs, then the cores of the host if the job needs more.
    pub fn choose(&self, count: u32) -> Result<Vec<usize>> {
        let all = self.jobs.len() + self.host.len();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > all {
            return Err(Error::new(format!("The job requires {count} cores; this host has {all}.")));
        }
        Ok(self.jobs.iter().chain(&self.host).take(count).copied().collect())
    }
}

/// Makes this process root of a new user namespace if it is not root. It can then mount and create containers, but
/// cannot give files to other users. The process must have one thread only.
pub fn become_root() -> Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER).explain(|| {
        "The runner is not root, and a user namespace cannot be created; run it as root, or allow user namespaces"
    })?;
    let write = |file: &str, text: String| {
        fs::write(Path::new("/proc/self").join(file), text).explain(|| "The user namespace cannot be set up")
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("0 {user} 1"))?;
    write("gid_map", format!("0 {group} 1"))
}

/// Locks a folder for this runner.
fn lock(folder: &Path) -> Result<File> {
    let made = fs::create_dir_all(folder).and_then(|()| File::create(folder.join("lock")));
    let file = made.explain(|| "The folder of the runner cannot be used")?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(Error::new("Another runner uses the same folder; set another with --data-dir.")),
    }
}

/// Whether this process is root of the host, and not only of a user namespace.
fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    geteuid().is_root() && map.split_whitespace().eq(["0", "0", "4294967295"])
}

impl Host {
    /// Finds a sandbox that works on this host, and stops the jobs that an earlier runner left in the folder.
    pub fn prepare(folder: &Path) -> Result<Self> {
        let lock = lock(folder)?;
        let folder = folder.join("sandbox");
        fs::create_dir_all(&folder).explain(|| "The folder of the runner cannot be created")?;
        // The runtime exits, and its containers become children of this process.
        set_child_subreaper(Some(getpid()))
            .explain(|| "The runner cannot become the parent of its containers")?;
        let (sandbox, mut restrictions) = SandboxSearch { folder }.sandbox()?;
        sandbox.remove_leftovers()?;
        restrictions.extend(missing_features(&sandbox));
        Ok(Self { sandbox, cores: Cores::find(), restrictions, _lock: Arc::new(lock) })
    }

    /// Returns the capabilities of the host, from what jobs require to what reduces noise. Tests the limits of jobs
    /// with `program`, which must call [`crate::probe::run`] first.
    pub fn capabilities(found: &Result<Self>, program: &Path) -> Vec<Capability> {
        let mut capabilities = Vec::new();
        match found {
            Ok(host) => {
                capabilities.extend(host.sandbox_capabilities());
                capabilities.extend(check::test(host, program));
            }
            Err(error) => {
                capabilities.push(missing("runtime", error.to_string()));
                capabilities.extend(check::untested());
            }
        }
        capabilities.extend(noise_capabilities());
        capabilities
    }

    fn sandbox_capabilities(&self) -> Vec<Capability> {
        let Sandbox { runtime, cgroups, limits_swap, is_root, .. } = &self.sandbox;
        let good_or_poor = |is_good: bool, name, detail: &str, otherwise: &str| {
            if is_good { good(name, detail) } else { poor(name, otherwise) }
        };
        vec![
            good("runtime", format!("{} {}", runtime.name, runtime.version)),
            good_or_poor(
                *is_root,
                "root",
                "the runner is root",
                "the runner is root only of a user namespace: images run as one user, and the host is not tuned",
            ),
            match cgroups {
                Some(Cgroups::V1) => good("control groups", "version 1"),
                Some(Cgroups::V2) => good("control groups", "version 2"),
                None => poor("control groups", NO_CGROUPS),
            },
            good_or_poor(*limits_swap || !has_swap(), "no swap", "jobs cannot use swap", NO_SWAP_LIMIT),
        ]
    }
}

const NO_CGROUPS: &str =
    "not available: memory, processes and cores are limited only per process; run the runner as root";
const NO_SWAP_LIMIT: &str = "jobs can use swap: disable swap with `swapoff -a`";
const NO_OVERLAY: &str = "overlayfs is not available: jobs cannot write; use a kernel with overlayfs";
const NO_SECCOMP: &str =
    "the runtime does not filter system calls: install a runtime with seccomp, for example `crun`";

/// Returns what a sandbox lacks, one sentence each.
fn missing_features(sandbox: &Sandbox) -> Vec<String> {
    let Sandbox { cgroups, limits_swap, overlay, seccomp, .. } = sandbox;
    [
        (cgroups.is_none(), format!("Control groups: {NO_CGROUPS}.")),
        (!limits_swap && has_swap(), format!("Swap: {NO_SWAP_LIMIT}.")),
        (!overlay, format!("Disk: {NO_OVERLAY}.")),
        (!seccomp, format!("System calls: {NO_SECCOMP}.")),
    ]
    .into_iter()
    .filter_map(|(is_missing, sentence)| is_missing.then_some(sentence))
    .collect()
}

/// Searches for a sandbox that works.
struct SandboxSearch {
    folder: PathBuf,
}

impl SandboxSearch {
    /// Returns the best sandbox that works on this host, and why better sandboxes do not work.
    fn sandbox(&self) -> Result<(Sandbox, Vec<String>)> {
        let (root, binds) = self.root()?;
        let mut reasons = Vec::new();
        let overlay = self.test_overlay().map_err(|error| reasons.push(error.to_string())).is_ok();
        for name in runtime::NAMES {
            let Some(runtime) = Runtime::find(name, &self.folder) else { continue };
            for mut sandbox in self.candidates(&runtime, overlay) {
                sandbox.runtime.creates_cgroups = sandbox.cgroups.is_some();
                match test_sandbox(&sandbox, &root, &binds) {
                    Ok(()) => {
                        reasons.dedup();
                        return Ok((sandbox, reasons));
                    }
                    Err(error) => reasons.push(error.to_string()),
                }
            }
        }
        Err(match reasons.last() {
            Some(reason) => Error::new(format!("No OCI runtime works here. {reason}")),
            None => Error::new("No OCI runtime is installed; install `crun` or `runc`."),
        })
    }

    /// Returns the sandboxes to try with a runtime, the best first.
    fn candidates(&self, runtime: &Runtime, overlay: bool) -> Vec<Sandbox> {
        let cgroups = Cgroups::detect().filter(|_| cgroup::is_writable());
        let mut limits = vec![(None, false)];
        if cgroups.is_some() {
            limits.splice(0..0, [(cgroups, true), (cgroups, false)]);
        }
        let make = |cgroups, limits_swap, seccomp| Sandbox {
            runtime: runtime.clone(),
            cgroups,
            limits_swap,
            overlay,
            seccomp,
            is_root: is_root(),
            folder: self.folder.clone(),
            reader_cores: Cores::find().host,
        };
        let with = |(cgroups, swap)| [true, false].map(|seccomp| make(cgroups, swap, seccomp));
        limits.into_iter().flat_map(with).collect()
    }

    /// Creates an empty image with bind mounts of the host's programs.
    fn root(&self) -> Result<(PathBuf, Vec<PathBuf>)> {
        let root = self.folder.join("probe");
        // An earlier image prevents the creation.
        drop(fs::remove_dir_all(&root));
        let what = || "The folder of the runner cannot be created";
        fs::create_dir(&root).explain(what)?;
        let mut binds = Vec::new();
        for path in PROGRAM_FOLDERS.map(Path::new).into_iter().filter(|path| path.exists()) {
            let target = root.join(path.strip_prefix("/").unwrap_or(path));
            match fs::read_link(path) {
                Ok(link) => symlink(link, target).explain(what)?,
                Err(_) => {
                    fs::create_dir(target).explain(what)?;
                    binds.push(path.to_owned());
                }
            }
        }
        Ok((root, binds))
    }

    fn test_overlay(&self) -> Result<()> {
        let folder =
            tempfile::tempdir_in(&self.folder).explain(|| "The folder of the runner cannot be created")?;
        let below = folder.path().join("below");
        fs::create_dir(&below).explain(|| "The folder of the runner cannot be created")?;
        let test = || {
            unshare_mounts(false)?;
            let root = folder.path().join("root");
            mount_overlay(&below, &folder.path().join("scratch"), &root, PROBE_MEMORY)?;
            fs::write(root.join("written"), "").explain(|| "The overlay over an image cannot be written")
        };
        std::thread::scope(|scope| scope.spawn(test).join())
            .unwrap_or_else(|_| Err(Error::new("The test of the mounts has failed.")))
    }
}

/// Runs `true` of the host in the sandbox.
fn test_sandbox(sandbox: &Sandbox, root: &Path, binds: &[PathBuf]) -> Result<()> {
    let command = Command {
        words: vec!["true".to_owned()],
        variables: Vec::new(),
        folder: "/".to_owned(),
        user: String::new(),
    };
    let cores = Cores::find();
    let limits = Limits { cores: cores.jobs, memory: PROBE_MEMORY, disk: PROBE_MEMORY, network: false };
    let outcome = sandbox.run(&Task {
        root,
        command: &command,
        limits: &limits,
        deadline: Instant::now() + PROBE_TIMEOUT,
        output: 4096,
        files: &[],
        control: &RunControl::default(),
        binds,
    })?;
    match outcome.exit {
        Exit::Code(0) => Ok(()),
        _ => Err(Error::new(format!("`{}` cannot run `true` in a container.", sandbox.runtime.name))),
    }
}

fn good(name: &'static str, detail: impl Into<String>) -> Capability {
    Capability { name, state: CapabilityState::Good, detail: detail.into() }
}

fn poor(name: &'static str, detail: impl Into<String>) -> Capability {
    Capability { name, state: CapabilityState::Poor, detail: detail.into() }
}

fn missing(name: &'static str, detail: impl Into<String>) -> Capability {
    Capability { name, state: CapabilityState::Missing, detail: detail.into() }
}

fn has_swap() -> bool {
    sysinfo().totalswap > 0
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the settings that make the host noisy or quiet.
fn noise_capabilities() -> Vec<Capability> {
    let cpu = |file: &str| read(&format!("/sys/devices/system/cpu/{file}"));
    let mut capabilities = Vec::new();
    let mut report = |name, found: Option<(bool, String)>| {
        capabilities.push(match found {
            Some((true, detail)) => good(name, detail),
            Some((false, detail)) => poor(name, detail),
            None => good(name, "unknown"),
        });
    };
    report("governor", cpu("cpu0/cpufreq/scaling_governor").map(|word| (word == "performance", word)));
    let turbo = cpu("intel_pstate/no_turbo").map(|word| word == "0");
    let turbo = turbo.or_else(|| cpu("cpufreq/boost").map(|word| word == "1"));
    let on_off = |is_on: bool| (!is_on, if is_on { "on".to_owned() } else { "off".to_owned() });
    report("turbo", turbo.map(on_off));
    report("SMT", cpu("smt/active").map(|word| on_off(word == "1")));
    report("ASLR", read("/proc/sys/kernel/randomize_va_space").map(|word| on_off(word != "0")));
    report("swap", Some(on_off(has_swap())));
    let guest = read("/proc/cpuinfo").map(|text| {
        let is_guest = text.lines().any(|line| {
            line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
        });
        (
            !is_guest,
            if is_guest {
                "yes: other guests of the same host add noise".to_owned()
            } else {
                "no".to_owned()
            },
        )
    });
    report("virtual", guest);
    let isolated = cpu("isolated");
    report("isolated cores", Some((isolated.is_some(), isolated.unwrap_or_else(|| "none".to_owned()))));
    capabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_divided_between_host_and_jobs() {
        let divided = |count: usize| Cores::divide(&(0..count).collect::<Vec<_>>());
        assert_eq!(divided(1), Cores { host: vec![], jobs: vec![0] });
        assert_eq!(divided(4), Cores { host: vec![0], jobs: vec![1, 2, 3] });
        assert_eq!(divided(8).host, [0, 1]);
        assert_eq!(divided(4).choose(2).unwrap(), [1, 2]);
        assert_eq!(divided(4).choose(4).unwrap(), [1, 2, 3, 0]);
        let error = divided(4).choose(5).unwrap_err();
        assert_eq!(error.to_string(), "The job requires 5 cores; this host has 4.");
    }
}
