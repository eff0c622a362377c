//! Core sets of a duet: two disjoint sets of the cores that this process may use, and threads that are pinned to them. The runner
//! has its own cores for jobs.

use std::fmt;

use crate::failure::{Failure, Result};

/// Cores of one side, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoreSet(Vec<usize>);

impl CoreSet {
    /// Divides the cores that this process may use into two sets of the same size. Threads of one core are in the same set, because
    /// they slow each other down; on a machine with a single core of several threads, each set has half of its threads.
    pub(crate) fn pair() -> Result<[Self; 2]> {
        let cores = platform::usable()?;
        let all: Vec<usize> = cores.iter().flatten().copied().collect();
        divide(&cores).ok_or_else(|| {
            Failure::usage(format!(
                "--duet requires two cores; this process may use only {}. Omit --duet to run the sides alternately.",
                match all.as_slice() {
                    [core] => format!("core {core}"),
                    _ => "one core".to_owned(),
                }
            ))
        })
    }

    /// Pins this thread, and the threads and processes that it starts, to these cores.
    pub(crate) fn pin(&self) -> Result {
        platform::pin(&self.0)
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.0.len() == 1 { "core" } else { "cores" };
        let numbers: Vec<String> = self.0.iter().map(usize::to_string).collect();
        write!(formatter, "{noun} {}", numbers.join(","))
    }
}

/// Divides cores, each with the numbers of its threads. An odd core stays unused, so that both sets have the same size.
fn divide(cores: &[Vec<usize>]) -> Option<[CoreSet; 2]> {
    let set = |cores: &[Vec<usize>]| {
        let mut numbers: Vec<usize> = cores.iter().flatten().copied().collect();
        numbers.sort_unstable();
        CoreSet(numbers)
    };
    match cores {
        [threads] if threads.len() > 1 => {
            let half = threads.len() / 2;
            Some([CoreSet(threads[..half].to_vec()), CoreSet(threads[half..2 * half].to_vec())])
        }
        [] | [_] => None,
        _ => {
            let half = cores.len() / 2;
            Some([set(&cores[..half]), set(&cores[half..2 * half])])
        }
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::{collections::BTreeMap, fs};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use crate::failure::{Failure, Result};

    /// Returns the cores that this process may use, each with the numbers of its threads.
    pub(super) fn usable() -> Result<Vec<Vec<usize>>> {
        let set = sched_getaffinity(None)
            .map_err(|error| Failure::new(format!("The cores of this process are unknown ({error}).")))?;
        let mut cores = BTreeMap::<String, Vec<usize>>::new();
        for number in (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)) {
            let file = format!("/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list");
            // Without this file, each thread counts as a core.
            let siblings = fs::read_to_string(file).unwrap_or_else(|_| format!("cpu{number}"));
            cores.entry(siblings).or_default().push(number);
        }
        let mut cores: Vec<Vec<usize>> = cores.into_values().collect();
        cores.sort();
        Ok(cores)
    }

    pub(super) fn pin(cores: &[usize]) -> Result {
        let mut set = CpuSet::new();
        cores.iter().for_each(|core| set.set(*core));
        sched_setaffinity(None, &set).map_err(|error| {
            Failure::new(format!("A process cannot be pinned to the cores {cores:?} ({error})."))
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use crate::failure::{Failure, Result};

    pub(super) fn usable() -> Result<Vec<Vec<usize>>> {
        Err(Failure::usage(
            "--duet requires Linux: this system cannot pin processes to cores. Omit --duet to run the sides alternately.",
        ))
    }

    pub(super) fn pin(_: &[usize]) -> Result {
        usable().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_core_stay_together() {
        let shown =
            |cores: &[Vec<usize>]| divide(cores).map(|sets| sets.map(|set| set.to_string()).join(" and "));
        assert_eq!(shown(&[vec![0], vec![1]]).unwrap(), "core 0 and core 1");
        assert_eq!(
            shown(&[vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]).unwrap(),
            "cores 0,1,4,5 and cores 2,3,6,7"
        );
        // The third core stays unused.
        assert_eq!(shown(&[vec![0], vec![1], vec![2]]).unwrap(), "core 0 and core 1");
        assert_eq!(shown(&[vec![0, 1]]).unwrap(), "core 0 and core 1");
        assert_eq!(shown(&[vec![0]]), None);
        assert_eq!(shown(&[]), None);
    }
}
