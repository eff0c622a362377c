//! State of the system: clocks, load, other processes and power, with advice on each. Most of it is available only on Linux;
//! unknown values stay unknown.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::Found;

/// Share of a core above which another process is named.
const BUSY: f64 = 0.1;
/// Maximum number of processes that are named.
const NAMED: usize = 3;
/// Context switches per second above which there is advice.
const SWITCHES: f64 = 20_000.0;
/// Ticks per second in `/proc`.
const TICKS: f64 = 100.0;

/// Known state of the system.
#[derive(Default)]
pub(crate) struct Platform {
    /// Clock governor of the processor.
    governor: Option<String>,
    /// Whether turbo is enabled.
    turbo: Option<bool>,
    /// Whether two threads share a core.
    threads_share_cores: Option<bool>,
    /// Load average of the last minute.
    load: Option<f64>,
    cores: usize,
    /// Hypervisor or container that the machine runs in.
    guest_of: Option<String>,
    on_battery: Option<bool>,
    /// Other busy processes, with the share of a core that they use.
    busy: Vec<(String, f64)>,
    /// Context switches per second.
    switches: Option<f64>,
}

/// CPU time of all cores, in ticks.
pub(crate) struct Times {
    all: f64,
    stolen: f64,
}

impl Times {
    /// Returns the share of stolen time since `before`, in percent.
    pub(crate) fn steal_since(&self, before: &Self) -> f64 {
        let all = self.all - before.all;
        if all > 0.0 { (self.stolen - before.stolen) / all * 100.0 } else { 0.0 }
    }
}

/// Returns the CPU time so far, if the system reports it.
pub(crate) fn times() -> Option<Times> {
    times_in(&fs::read_to_string("/proc/stat").ok()?)
}

fn times_in(stat: &str) -> Option<Times> {
    let numbers: Vec<f64> = stat
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))?
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    // Order: user nice system idle iowait irq softirq steal. The time of guests is part of user.
    Some(Times { all: numbers.iter().take(8).sum(), stolen: *numbers.get(7)? })
}

/// Returns the size of the last-level cache, in bytes.
pub(crate) fn cache_size() -> Option<usize> {
    let sizes =
        (0..8).filter_map(|index| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")));
    sizes.filter_map(|size| size.strip_suffix('K')?.parse::<usize>().ok()).max().map(|size| size * 1024)
}

impl Platform {
    /// Observes the system for a period.
    pub(crate) fn watch(time: Duration) -> Self {
        let (started, before, switches) = (Instant::now(), processes(), switches());
        thread::sleep(time);
        let seconds = started.elapsed().as_secs_f64();
        let cpu = |file: &str| read(&format!("/sys/devices/system/cpu/{file}"));
        let boost = cpu("cpufreq/boost").map(|word| word == "1");
        Self {
            governor: cpu("cpu0/cpufreq/scaling_governor"),
            turbo: cpu("intel_pstate/no_turbo").map(|word| word == "0").or(boost),
            threads_share_cores: cpu("smt/active").map(|word| word == "1"),
            load: read("/proc/loadavg").and_then(|line| line.split(' ').next()?.parse().ok()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            guest_of: guest_of(),
            on_battery: on_battery(),
            busy: busy(&before, &processes(), seconds),
            switches: switches.zip(self::switches()).map(|(before, after)| (after - before) / seconds),
        }
    }

    /// Returns the advice that applies.
    pub(crate) fn advice(&self, found: &Found) -> Vec<String> {
        let mut advice = Vec::new();
        if let Some(governor) = self.governor.as_deref().filter(|governor| *governor != "performance") {
            advice.push(format!(
                "The clock governor is `{governor}`; change it with \
                 `sudo cpupower frequency-set --governor performance`."
            ));
        }
        if self.turbo == Some(true) {
            advice.push(
                "Turbo is enabled, so that the clock depends on the temperature; disable it with \
                 `echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo`, or \
                 `echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost`."
                    .to_owned(),
            );
        }
        if self.threads_share_cores == Some(true) {
            advice.push(
                "Two threads share each core; pin benchmarks to one of each pair with `taskset --cpu-list 0`, or \
                 disable the second threads with `echo off | sudo tee /sys/devices/system/cpu/smt/control`."
                    .to_owned(),
            );
        }
        if !self.busy.is_empty() {
            let named: Vec<String> = self
                .busy
                .iter()
                .take(NAMED)
                .map(|(name, share)| {
                    format!("{} ({:.0} % of a core)", crate::output::plain(name), share * 100.0)
                })
                .collect();
            advice.push(format!("Other processes are busy: {}; stop them, or wait.", named.join(", ")));
        }
        if let Some(load) = self.load.filter(|load| *load > self.cores as f64) {
            advice.push(format!(
                "The load average is {load:.1} on {} cores; wait until the machine is idle.",
                self.cores
            ));
        }
        if let Some(rate) = self.switches.filter(|rate| *rate > SWITCHES * self.cores as f64) {
            advice.push(format!(
                "There are {rate:.0} context switches per second; find the processes that cause them with \
                 `pidstat -w 1`."
            ));
        }
        if found.steal.is_some_and(|steal| steal > 0.5) {
            advice.push(
                "The host gives CPU time to other guests; use a dedicated machine, or an instance type with \
                 dedicated cores."
                    .to_owned(),
            );
        }
        if let Some(host) = &self.guest_of {
            advice.push(format!(
                "This machine is a guest ({host}), whose speed depends on other guests; compare commits \
                 with `tidemark run --ab` instead of with earlier results, or count instructions instead of \
                 time."
            ));
        }
        if self.on_battery == Some(true) {
            advice.push("The machine runs on its battery; plug it in.".to_owned());
        }
        if found.disk.is_some_and(|disk| disk > 50.0) {
            advice.push(
                "Disk writes vary a lot; let benchmarks write to memory, for example to a folder in /dev/shm."
                    .to_owned(),
            );
        }
        if advice.is_empty() && found.score() > 40.0 {
            advice.push(
                "No cause was found; repeat benchmarks more often (`--iter`), and compare with \
                 `tidemark run --ab`."
                    .to_owned(),
            );
        }
        advice
    }
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the hypervisor or container that the machine runs in: a vendor, a container, or only that there is a hypervisor.
fn guest_of() -> Option<String> {
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        return Some("in a container".to_owned());
    }
    let flags = read("/proc/cpuinfo")?;
    let has_host = flags
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    has_host.then(|| {
        let maker = read("/sys/class/dmi/id/sys_vendor");
        maker.map_or_else(|| "virtual".to_owned(), |maker| format!("virtual, {maker}"))
    })
}

/// Whether the machine runs on a battery.
fn on_battery() -> Option<bool> {
    let supplies = fs::read_dir("/sys/class/power_supply").ok()?;
    let states: Vec<String> =
        supplies.filter_map(|supply| read(supply.ok()?.path().join("status").to_str()?)).collect();
    (!states.is_empty()).then(|| states.iter().any(|state| state == "Discharging"))
}

/// Returns the number of context switches so far.
fn switches() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()
}

/// Returns the name and the CPU ticks of every process.
fn processes() -> HashMap<u32, (String, f64)> {
    let Ok(folder) = fs::read_dir("/proc") else { return HashMap::new() };
    let ids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| Some((id, process(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?))).collect()
}

/// Returns the name and the ticks from a line such as `7 (name) S 1 …`; a name may contain spaces and brackets.
fn process(stat: &str) -> Option<(String, f64)> {
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((name.to_owned(), ticks()? + ticks()?))
}

/// Returns the processes that used much CPU time in between, the busiest first. This process sleeps meanwhile.
fn busy(
    before: &HashMap<u32, (String, f64)>,
    after: &HashMap<u32, (String, f64)>,
    seconds: f64,
) -> Vec<(String, f64)> {
    let mut busy: Vec<(String, f64)> = after
        .iter()
        .map(|(id, (name, ticks))| {
            let earlier = before.get(id).map_or(0.0, |(_, ticks)| *ticks);
            (name.clone(), (ticks - earlier) / TICKS / seconds)
        })
        .filter(|(_, share)| *share > BUSY)
        .collect();
    busy.sort_by(|left, right| right.1.total_cmp(&left.1));
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steal: f64, platform: Platform) -> Found {
        Found { compute: 1.0, cache: 1.0, disk: Some(1.0), steal: Some(steal), platform }
    }

    #[test]
    fn advice_covers_only_detected_problems() {
        let fine = Platform {
            governor: Some("performance".into()),
            turbo: Some(false),
            load: Some(0.5),
            cores: 4,
            ..Platform::default()
        };
        assert!(fine.advice(&found(0.0, Platform::default())).is_empty());
        let bad = Platform {
            governor: Some("powersave".into()),
            turbo: Some(true),
            threads_share_cores: Some(true),
            load: Some(9.0),
            cores: 4,
            guest_of: Some("virtual, QEMU".into()),
            on_battery: Some(true),
            busy: vec![("cargo".into(), 1.5)],
            switches: Some(1e6),
        };
        let advice = bad.advice(&found(3.0, Platform::default()));
        let expected = [
            "`powersave`",
            "Turbo is enabled",
            "share each core",
            "cargo (150 % of a core)",
            "load average is 9.0 on 4 cores",
            "1000000 context switches per second",
            "CPU time to other guests",
            "a guest (virtual, QEMU)",
            "battery",
        ];
        assert_eq!(advice.len(), expected.len());
        for (line, part) in advice.iter().zip(expected) {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn the_files_of_linux_are_read() {
        let before = times_in("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 2 3\n").unwrap();
        let after = times_in("cpu  20 0 20 150 0 0 0 10 0 0\n").unwrap();
        assert_eq!(after.steal_since(&before), 10.0);
        assert_eq!(after.steal_since(&after), 0.0);
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0";
        assert_eq!(process(line), Some(("a (b) c".to_owned(), 42.0)));
    }

    #[test]
    fn busy_processes_are_named() {
        let at = |ticks| HashMap::from([(1, ("init".to_owned(), 5.0)), (2, ("cargo".to_owned(), ticks))]);
        assert_eq!(busy(&at(100.0), &at(300.0), 2.0), [("cargo".to_owned(), 1.0)]);
    }
}
