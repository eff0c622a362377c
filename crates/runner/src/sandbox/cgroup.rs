//! Control groups, version 1 and version 2: detects the version, and reads their counters.

use std::{fs, path::Path, time::Duration};

use rustix::fs::{Access, access};

/// Mount point of control groups.
const TREE: &str = "/sys/fs/cgroup";
/// Mount point of version 2 on a hybrid host, in addition to version 1.
pub(super) const UNIFIED: &str = "/sys/fs/cgroup/unified";

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
pub struct Figures {
    /// CPU time of all cores.
    pub cpu: Option<Duration>,
    /// Peak memory, in bytes.
    pub memory: Option<u64>,
    /// Whether the kernel killed a process because memory ran out.
    pub ran_out: bool,
}

impl Cgroups {
    /// Returns the version that this host uses for limits.
    pub fn find() -> Option<Self> {
        let tree = Path::new(TREE);
        if tree.join("cgroup.controllers").exists() {
            Some(Self::V2)
        } else if tree.join("memory").exists() {
            Some(Self::V1)
        } else {
            None
        }
    }

    /// Returns the resource usage of the group of a run.
    pub(super) fn figures(self, id: &str) -> Figures {
        match self {
            Self::V1 => {
                let number = |path: String| read(&path)?.trim().parse::<u64>().ok();
                let ends = read(&format!("memory/{id}/memory.oom_control"));
                Figures {
                    cpu: number(format!("cpuacct/{id}/cpuacct.usage")).map(Duration::from_nanos),
                    memory: number(format!("memory/{id}/memory.max_usage_in_bytes")),
                    ran_out: ends.and_then(|text| field(&text, "oom_kill")).is_some_and(|count| count > 0),
                }
            }
            Self::V2 => {
                let used = read(&format!("{id}/cpu.stat")).and_then(|text| field(&text, "usage_usec"));
                let ends = read(&format!("{id}/memory.events"));
                Figures {
                    cpu: used.map(Duration::from_micros),
                    memory: read(&format!("{id}/memory.peak")).and_then(|text| text.trim().parse().ok()),
                    ran_out: ends.and_then(|text| field(&text, "oom_kill")).is_some_and(|count| count > 0),
                }
            }
        }
    }
}

/// Whether the host has both versions, which crun reports as unsupported.
pub(super) fn is_hybrid() -> bool {
    Cgroups::find() == Some(Cgroups::V1) && Path::new(UNIFIED).join("cgroup.procs").exists()
}

/// Whether this process can create groups.
pub(crate) fn is_writable() -> bool {
    let tree = match Cgroups::find() {
        Some(Cgroups::V1) => "/sys/fs/cgroup/memory",
        _ => TREE,
    };
    access(tree, Access::WRITE_OK).is_ok()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(Path::new(TREE).join(path)).ok()
}

/// Returns the number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_a_name_is_not_that_of_a_longer_one() {
        let events = "low 0\noom 3\noom_kill 2\noom_group_kill 1\n";
        assert_eq!((field(events, "oom"), field(events, "oom_kill")), (Some(3), Some(2)));
        assert_eq!(field(events, "peak"), None);
    }
}
