//! Control groups, of the first version and of the second: which there are, and what they have counted.

use std::{fs, path::Path, time::Duration};

use rustix::fs::{Access, access};

/// Where control groups are.
const TREE: &str = "/sys/fs/cgroup";
/// Where a hybrid host has those of the second version, beside the first.
pub(super) const UNIFIED: &str = "/sys/fs/cgroup/unified";

/// A version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cgroups {
    /// A tree for each resource.
    V1,
    /// One tree for all.
    V2,
}

/// What was counted of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The time that it took of all cores.
    pub cpu: Option<Duration>,
    /// The most memory that it had at once, in bytes.
    pub memory: Option<u64>,
    /// Whether something was killed as there was no memory left.
    pub ran_out: bool,
}

impl Cgroups {
    /// The version that this host limits things with.
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

    /// What was counted of the group of a run.
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

/// Whether both versions are there, of which one runtime says that it is not supported.
pub(super) fn is_hybrid() -> bool {
    Cgroups::find() == Some(Cgroups::V1) && Path::new(UNIFIED).join("cgroup.procs").exists()
}

/// Whether groups can be made here.
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

/// The number after a word at the beginning of a line.
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
