//! Control groups, version 1 and version 2: detects the version, and reads their counters.

use std::{fs, path::Path, time::Duration};

use rustix::fs::{Access, access};

/// Mount point of control groups.
const MOUNT_POINT: &str = "/sys/fs/cgroup";
/// Mount point of version 2 on a hybrid host, in addition to version 1.
pub(super) const UNIFIED_MOUNT_POINT: &str = "/sys/fs/cgroup/unified";

/// Version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cgroups {
    /// One tree per resource.
    V1,
    /// One tree for all resources.
    V2,
}

/// Resource usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// CPU time of all cores.
    pub cpu: Option<Duration>,
    /// Peak memory, in bytes.
    pub memory: Option<u64>,
    /// Whether the kernel killed a process because memory ran out.
    pub is_out_of_memory: bool,
}

impl Cgroups {
    /// Returns the version that this host uses for limits.
    pub fn detect() -> Option<Self> {
        let mount_point = Path::new(MOUNT_POINT);
        if mount_point.join("cgroup.controllers").exists() {
            Some(Self::V2)
        } else if mount_point.join("memory").exists() {
            Some(Self::V1)
        } else {
            None
        }
    }

    /// Returns the resource usage of the group of a run.
    pub(super) fn resource_usage(self, id: &str) -> ResourceUsage {
        match self {
            Self::V1 => {
                let number = |path: String| read(&path)?.trim().parse::<u64>().ok();
                let events = read(&format!("memory/{id}/memory.oom_control"));
                ResourceUsage {
                    cpu: number(format!("cpuacct/{id}/cpuacct.usage")).map(Duration::from_nanos),
                    memory: number(format!("memory/{id}/memory.max_usage_in_bytes")),
                    is_out_of_memory: events
                        .and_then(|text| field(&text, "oom_kill"))
                        .is_some_and(|count| count > 0),
                }
            }
            Self::V2 => {
                let used = read(&format!("{id}/cpu.stat")).and_then(|text| field(&text, "usage_usec"));
                let events = read(&format!("{id}/memory.events"));
                ResourceUsage {
                    cpu: used.map(Duration::from_micros),
                    memory: read(&format!("{id}/memory.peak")).and_then(|text| text.trim().parse().ok()),
                    is_out_of_memory: events
                        .and_then(|text| field(&text, "oom_kill"))
                        .is_some_and(|count| count > 0),
                }
            }
        }
    }
}

/// Whether the host has both versions, which crun reports as unsupported.
pub(super) fn is_hybrid() -> bool {
    Cgroups::detect() == Some(Cgroups::V1) && Path::new(UNIFIED_MOUNT_POINT).join("cgroup.procs").exists()
}

/// Whether this process can create groups.
pub(crate) fn is_writable() -> bool {
    let mount_point = match Cgroups::detect() {
        Some(Cgroups::V1) => "/sys/fs/cgroup/memory",
        _ => MOUNT_POINT,
    };
    access(mount_point, Access::WRITE_OK).is_ok()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(Path::new(MOUNT_POINT).join(path)).ok()
}

/// Returns the number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_matched_by_its_whole_name() {
        let events = "low 0\noom 3\noom_kill 2\noom_group_kill 1\n";
        assert_eq!((field(events, "oom"), field(events, "oom_kill")), (Some(3), Some(2)));
        assert_eq!(field(events, "peak"), None);
    }
}
