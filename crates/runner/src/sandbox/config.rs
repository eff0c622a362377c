//! Writes the `config.json` of a bundle: the configuration of a run for an OCI runtime.

use std::path::Path;

use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use super::{Sandbox, Task, user};
use crate::error::{Error, Result};

/// Maximum number of processes and threads of a run.
pub const PROCESSES_MAX: u32 = 2048;
/// Maximum number of open files per process.
const OPEN_FILES_MAX: u64 = 65_536;
/// Maximum size in bytes of the shared memory of a run.
const SHARED_MEMORY_MAX: u64 = 64 << 20;
/// Default search path of programs.
const DEFAULT_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Paths of the system that are hidden.
const MASKED_PATHS: [&str; 9] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
];
/// Paths of the system that are read-only.
const READ_ONLY_PATHS: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// System calls that benchmarks do not need and that were used to escape sandboxes before. Namespaces and missing
/// capabilities cover the rest, so that as many tools as possible work.
const DENIED_SYSTEM_CALLS: &[&str] = &[
    "acct",
    "add_key",
    "bpf",
    "delete_module",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mount",
    "mount_setattr",
    "move_mount",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "process_madvise",
    "process_vm_writev",
    "quotactl",
    "reboot",
    "request_key",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
];
/// Flag of `clone` that creates a user namespace.
const CLONE_NEWUSER: u64 = 0x1000_0000;

/// Command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Program and its arguments.
    pub words: Vec<String>,
    /// Environment variables, as `NAME=VALUE`.
    pub variables: Vec<String>,
    /// Working directory.
    pub folder: String,
    /// User to run as: `user` or `user:group`, by name or number; empty for root.
    pub user: String,
}

/// Returns the configuration of a run.
pub(super) fn bundle_config(sandbox: &Sandbox, task: &Task<'_>, root: &Path, id: &str) -> Result<Value> {
    let (uid, gid) = user::resolve(root, &task.command.user)?;
    if !sandbox.is_root && (uid, gid) != (0, 0) {
        return Err(Error::new(format!(
            "The image runs as the user `{}`, which requires root. Run the runner as root.",
            task.command.user
        )));
    }
    let mut variables = task.command.variables.clone();
    if !variables.iter().any(|variable| variable.starts_with("PATH=")) {
        variables.push(DEFAULT_PATH.to_owned());
    }
    let open_files =
        getrlimit(Resource::Nofile).maximum.map_or(OPEN_FILES_MAX, |limit| limit.min(OPEN_FILES_MAX));
    let mut linux = json!({
        "namespaces": namespaces(task.limits.network),
        "maskedPaths": MASKED_PATHS,
        "readonlyPaths": READ_ONLY_PATHS,
    });
    if sandbox.cgroups.is_some() {
        linux["cgroupsPath"] = json!(format!("/{id}"));
        linux["resources"] = resources(sandbox, task);
    }
    if sandbox.seccomp {
        linux["seccomp"] = seccomp();
    }
    let limit = |name: &str, value: u64| json!({ "type": name, "hard": value, "soft": value });
    let mut limits = vec![limit("RLIMIT_NOFILE", open_files), limit("RLIMIT_CORE", 0)];
    if sandbox.cgroups.is_none() {
        // Weaker than a control group: RLIMIT_NPROC counts all processes of the user, and RLIMIT_DATA applies per
        // process. Address space is not limited, because many programs reserve more than they use.
        limits.push(limit("RLIMIT_NPROC", PROCESSES_MAX.into()));
        limits.push(limit("RLIMIT_DATA", task.limits.memory));
    }
    Ok(json!({
        "ociVersion": "1.0.0",
        "hostname": "runner",
        "root": { "path": root, "readonly": !sandbox.overlay },
        "process": {
            "terminal": false,
            "user": { "uid": uid, "gid": gid },
            "args": task.command.words,
            "env": variables,
            "cwd": task.command.folder,
            "capabilities": { "bounding": [], "effective": [], "inheritable": [], "permitted": [], "ambient": [] },
            "rlimits": limits,
            "noNewPrivileges": true,
            // If memory runs out, the kernel kills the benchmark and not the runner.
            "oomScoreAdj": 500,
        },
        "mounts": mounts(sandbox, task),
        "linux": linux,
    }))
}

fn namespaces(network: bool) -> Vec<Value> {
    let mut kinds = vec!["pid", "ipc", "uts", "mount"];
    if !network {
        kinds.push("network");
    }
    kinds.into_iter().map(|kind| json!({ "type": kind })).collect()
}

fn resources(sandbox: &Sandbox, task: &Task<'_>) -> Value {
    let memory = task.limits.memory;
    let mut resources = json!({
        "memory": { "limit": memory },
        "pids": { "limit": PROCESSES_MAX },
        "devices": [{ "allow": false, "access": "rwm" }],
    });
    if sandbox.limits_swap {
        // Limit of memory plus swap: an equal value leaves no swap.
        resources["memory"]["swap"] = json!(memory);
    }
    if !task.limits.cores.is_empty() {
        let cores: Vec<String> = task.limits.cores.iter().map(ToString::to_string).collect();
        resources["cpu"] = json!({ "cpus": cores.join(",") });
    }
    resources
}

fn mounts(sandbox: &Sandbox, task: &Task<'_>) -> Vec<Value> {
    let mount = |kind: &str, path: &str, options: &[&str]| json!({ "type": kind, "source": kind, "destination": path, "options": options });
    let shared = format!("size={SHARED_MEMORY_MAX}");
    let terminals: &[&str] = if sandbox.is_root {
        &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]
    } else {
        &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]
    };
    let mut mounts = vec![
        mount("proc", "/proc", &["nosuid", "noexec", "nodev"]),
        mount("tmpfs", "/dev", &["nosuid", "strictatime", "mode=755", "size=65536k"]),
        mount("devpts", "/dev/pts", terminals),
        mount("tmpfs", "/dev/shm", &["nosuid", "noexec", "nodev", "mode=1777", &shared]),
        mount("mqueue", "/dev/mqueue", &["nosuid", "noexec", "nodev"]),
    ];
    // The kernel allows mounting sysfs only to the owner of the network namespace.
    if sandbox.is_root || !task.limits.network {
        mounts.push(mount("sysfs", "/sys", &["nosuid", "noexec", "nodev", "ro"]));
    }
    let bind = |path: &Path| json!({ "type": "bind", "source": path, "destination": path, "options": ["rbind", "ro", "nosuid", "nodev"] });
    mounts.extend(task.binds.iter().map(|path| bind(path)));
    if task.limits.network {
        mounts.push(bind(Path::new("/etc/resolv.conf")));
    }
    mounts
}

fn seccomp() -> Value {
    let architectures = match std::env::consts::ARCH {
        "aarch64" => json!(["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]),
        _ => json!(["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]),
    };
    const EPERM: u32 = 1;
    const ENOSYS: u32 = 38;
    json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": architectures,
        "syscalls": [
            { "names": DENIED_SYSTEM_CALLS, "action": "SCMP_ACT_ERRNO", "errnoRet": EPERM },
            // The flags of `clone3` cannot be filtered; libraries fall back to `clone` if it does not exist.
            { "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS },
            { "names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": EPERM, "args": [
                { "index": 0, "value": CLONE_NEWUSER, "valueTwo": CLONE_NEWUSER, "op": "SCMP_CMP_MASKED_EQ" },
            ] },
        ],
    })
}
