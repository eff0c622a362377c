//! The `config.json` of a bundle: what an OCI runtime is told of a run.

use std::path::Path;

use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use super::{Sandbox, Task, user};
use crate::error::{Error, Result};

/// How many processes and threads a run may have at once.
pub const PROCESSES: u32 = 2048;
/// How many files a process may have open.
const OPEN_FILES: u64 = 65_536;
/// How much a run may keep in shared memory, in bytes.
const SHARED_MEMORY: u64 = 64 << 20;
/// Where programs are looked for if nobody says.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What of the system is not to be seen.
const MASKED: [&str; 9] = [
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
/// What of it is not to be changed.
const READ_ONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// System calls that a benchmark has no use for and that have opened doors before. The rest is left to namespaces and to
/// the lack of capabilities, so that as many tools as possible work.
const REFUSED: &[&str] = &[
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
/// The flag of `clone` that makes a user namespace.
const CLONE_NEWUSER: u64 = 0x1000_0000;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The variables that it finds, as `NAME=VALUE`.
    pub variables: Vec<String>,
    /// The folder that it starts in.
    pub folder: String,
    /// Whom it runs as: `user`, `user:group`, by name or number, or nothing for root.
    pub user: String,
}

/// The configuration of a run.
pub(super) fn write(sandbox: &Sandbox, task: &Task<'_>, root: &Path, id: &str) -> Result<Value> {
    let (uid, gid) = user::find(root, &task.command.user)?;
    if !sandbox.is_root && (uid, gid) != (0, 0) {
        return Err(Error::new(
            "The image wants to run as a user of its own, which only a runner that is root can do.",
        ));
    }
    let mut variables = task.command.variables.clone();
    if !variables.iter().any(|variable| variable.starts_with("PATH=")) {
        variables.push(PATH.to_owned());
    }
    let open_files = getrlimit(Resource::Nofile).maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    let mut linux = json!({
        "namespaces": namespaces(task.limits.network),
        "maskedPaths": MASKED,
        "readonlyPaths": READ_ONLY,
    });
    if sandbox.cgroups.is_some() {
        linux["cgroupsPath"] = json!(format!("/{id}"));
        linux["resources"] = resources(sandbox, task);
    }
    if sandbox.seccomp {
        linux["seccomp"] = seccomp();
    }
    let limit = |name: &str, most: u64| json!({ "type": name, "hard": most, "soft": most });
    let mut limits = vec![limit("RLIMIT_NOFILE", open_files), limit("RLIMIT_CORE", 0)];
    if sandbox.cgroups.is_none() {
        // Not as good as a group: one counts all processes of the user, the other each process for itself. Addresses
        // are not limited, as many programs reserve more of them than they use.
        limits.push(limit("RLIMIT_NPROC", PROCESSES.into()));
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
            // If memory runs out, the benchmark goes and not the runner.
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
        "pids": { "limit": PROCESSES },
        "devices": [{ "allow": false, "access": "rwm" }],
    });
    if sandbox.limits_swap {
        // Memory and swap together: no swap is left.
        resources["memory"]["swap"] = json!(memory);
    }
    if !task.limits.cores.is_empty() {
        let cores: Vec<String> = task.limits.cores.iter().map(ToString::to_string).collect();
        resources["cpu"] = json!({ "cpus": cores.join(",") });
    }
    resources
}

fn mounts(sandbox: &Sandbox, task: &Task<'_>) -> Vec<Value> {
    let mount = |kind: &str, place: &str, options: &[&str]| json!({ "type": kind, "source": kind, "destination": place, "options": options });
    let shared = format!("size={SHARED_MEMORY}");
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
    // The kernel shows devices only to whom the network belongs.
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
    const NOT_PERMITTED: u32 = 1;
    const NOT_THERE: u32 = 38;
    json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": architectures,
        "syscalls": [
            { "names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_PERMITTED },
            // Its flags cannot be seen; libraries go back to `clone` when it is not there.
            { "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_THERE },
            { "names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_PERMITTED, "args": [
                { "index": 0, "value": CLONE_NEWUSER, "valueTwo": CLONE_NEWUSER, "op": "SCMP_CMP_MASKED_EQ" },
            ] },
        ],
    })
}
