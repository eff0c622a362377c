//! Reduces the noise of a host while jobs run: a table of kernel settings, each changed, reported, and restored at
//! the end. The original values are first written to a file that exists until the host reboots, so that a crash loses
//! nothing.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    error::{Error, Explain, Result},
    host::Cores,
};

/// Folder of the original values. A reboot deletes it, and resets the settings.
const MEMORY: &str = "/run/tidemark-runner";

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Name of the setting.
    pub name: &'static str,
    /// Files of the setting, as patterns in which a star matches a number or a name.
    files: Vec<&'static str>,
    /// Value to write into the files.
    value: String,
    /// Whether only the first file that exists counts.
    any: bool,
}

/// Outcome of a changed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    /// Name of the setting.
    pub name: &'static str,
    /// Whether it has the wanted value now.
    pub is_done: bool,
    /// Old and new value, or why it was not changed.
    pub detail: String,
}

/// Options of the operator that differ from the defaults.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Names of the settings to leave unchanged.
    pub left: Vec<&'static str>,
    /// CPU frequency governor.
    pub governor: String,
    /// Swappiness, from 0 to 200.
    pub swappiness: u32,
    /// Who may count performance events, from -1 (all users) to 4.
    pub perf_event_paranoid: i32,
    /// Mode of transparent huge pages.
    pub huge_pages: String,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            left: Vec::new(),
            governor: "performance".to_owned(),
            swappiness: 10,
            perf_event_paranoid: -1,
            huge_pages: "never".to_owned(),
        }
    }
}

/// Returns the table of settings.
pub fn knobs(wishes: &Wishes, cores: &Cores) -> Vec<Knob> {
    let knob =
        |name, file, value: &str| Knob { name, files: vec![file], value: value.to_owned(), any: false };
    let list: Vec<String> = cores.host.iter().map(ToString::to_string).collect();
    let mask = cores.host.iter().filter(|core| **core < 64).fold(0_u64, |mask, core| mask | 1 << core);
    let turbo = |file, value: &str| Knob { any: true, ..knob("turbo", file, value) };
    let mut knobs = vec![
        knob("aslr", "proc/sys/kernel/randomize_va_space", "0"),
        knob("nmi-watchdog", "proc/sys/kernel/nmi_watchdog", "0"),
        knob("soft-watchdog", "proc/sys/kernel/soft_watchdog", "0"),
        knob("smt", "sys/devices/system/cpu/smt/control", "off"),
        turbo("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        turbo("sys/devices/system/cpu/cpufreq/boost", "0"),
        knob("governor", "sys/devices/system/cpu/*/cpufreq/scaling_governor", &wishes.governor),
        knob("swappiness", "proc/sys/vm/swappiness", &wishes.swappiness.to_string()),
        knob(
            "perf-event-paranoid",
            "proc/sys/kernel/perf_event_paranoid",
            &wishes.perf_event_paranoid.to_string(),
        ),
        knob("numa-balancing", "proc/sys/kernel/numa_balancing", "0"),
        knob("timer-migration", "proc/sys/kernel/timer_migration", "0"),
        knob("ksm", "sys/kernel/mm/ksm/run", "0"),
        knob("thp", "sys/kernel/mm/transparent_hugepage/enabled", &wishes.huge_pages),
    ];
    if !cores.host.is_empty() {
        knobs.push(knob("irq", "proc/irq/*/smp_affinity_list", &list.join(",")));
        knobs.push(knob("irq", "sys/devices/virtual/workqueue/cpumask", &format!("{mask:x}")));
    }
    knobs.retain(|knob| !wishes.left.contains(&knob.name));
    knobs
}

/// A tuned host. Restores the settings when dropped.
#[derive(Debug)]
pub struct Tuning {
    root: PathBuf,
    memory: PathBuf,
    /// Original contents of the files, by path.
    before: BTreeMap<PathBuf, String>,
    /// While this file is open, cores do not enter deep sleep states.
    _awake: Option<File>,
    _lock: File,
}

impl Tuning {
    /// Changes the settings of this host. Requires root, and only one runner per host.
    pub fn apply(knobs: &[Knob], keeps_awake: bool) -> Result<(Self, Vec<Turned>)> {
        let (mut tuning, mut turned) = Self::apply_in(Path::new("/"), Path::new(MEMORY), knobs)?;
        if keeps_awake {
            let opened = File::options().write(true).open("/dev/cpu_dma_latency").and_then(|mut file| {
                file.write_all(&0_u32.to_ne_bytes())?;
                Ok(file)
            });
            turned.push(match &opened {
                Ok(_) => Turned { name: "cstates", is_done: true, detail: "shallow ones only".to_owned() },
                Err(error) => Turned { name: "cstates", is_done: false, detail: error.to_string() },
            });
            tuning._awake = opened.ok();
        }
        Ok((tuning, turned))
    }

    fn apply_in(root: &Path, memory: &Path, knobs: &[Knob]) -> Result<(Self, Vec<Turned>)> {
        let what = || "It cannot be written down what the host was like, so that it is not tuned";
        fs::create_dir_all(memory).explain(what)?;
        let lock = File::create(memory.join("lock")).explain(what)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Error::new("Another runner tunes this host, so that this one does not."));
        }
        let file = memory.join("before.json");
        let before =
            fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let mut tuning = Self { root: root.to_owned(), memory: file, before, _awake: None, _lock: lock };
        // Restore what a killed runner left; otherwise its values would be recorded as the original values.
        tuning.restore();
        let mut turned = Vec::new();
        for knob in knobs {
            tuning.turn(knob, &mut turned)?;
        }
        Ok((tuning, turned))
    }

    /// Restores all settings, and returns the errors.
    pub fn restore(&mut self) -> Vec<String> {
        let mut failed = Vec::new();
        for (path, value) in std::mem::take(&mut self.before) {
            if let Err(error) = fs::write(&path, &value) {
                failed.push(format!("{} cannot be set to `{value}` again ({error}).", path.display()));
            }
        }
        // The file is missing only if it was never written.
        drop(fs::remove_file(&self.memory));
        failed
    }

    fn turn(&mut self, knob: &Knob, turned: &mut Vec<Turned>) -> Result<()> {
        let name = knob.name;
        let files: Vec<PathBuf> = knob.files.iter().flat_map(|pattern| expand(&self.root, pattern)).collect();
        if files.is_empty() {
            let is_known = turned.iter().any(|other| other.name == name);
            if !is_known && !knob.any {
                turned.push(Turned { name, is_done: false, detail: "this host does not have it".to_owned() });
            }
            return Ok(());
        }
        let (mut done, mut was, mut refused) = (0, None, None);
        for file in &files {
            let Ok(text) = fs::read_to_string(file) else { continue };
            let value = chosen(&text).to_owned();
            if value != knob.value {
                // Record the original value before changing it.
                self.before.insert(file.clone(), value.clone());
                self.remember()?;
                if let Err(error) = fs::write(file, &knob.value) {
                    self.before.remove(file);
                    refused = Some(error);
                    continue;
                }
            }
            was.get_or_insert(value);
            done += 1;
        }
        let detail = match (&was, &refused) {
            (Some(was), None) if *was == knob.value => format!("{was} already"),
            (Some(was), _) => format!("{was} → {} ({done} of {})", knob.value, files.len()),
            (None, Some(error)) => error.to_string(),
            (None, None) => "it cannot be read".to_owned(),
        };
        // Some interrupts cannot be moved; this is not an error.
        turned.push(Turned { name, is_done: done > 0, detail });
        Ok(())
    }

    /// Writes the original values to the file.
    fn remember(&self) -> Result<()> {
        let write = || {
            let new = self.memory.with_extension("new");
            fs::write(&new, serde_json::to_vec(&self.before)?)?;
            fs::rename(new, &self.memory)
        };
        write().explain(|| "It cannot be written down what the host was like")
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        for sentence in self.restore() {
            tracing::error!("{sentence}");
        }
    }
}

/// Returns the value in a file. A file may list all choices with the current one in brackets: `always [madvise]
/// never`.
fn chosen(text: &str) -> &str {
    let between = |text: &'_ str| Some((text.find('[')? + 1, text.find(']')?));
    match between(text) {
        Some((start, end)) if start < end => &text[start..end],
        _ => text.trim(),
    }
}

/// Returns the files that match a pattern.
fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some((folder, rest)) = pattern.split_once("/*/") else {
        return Some(root.join(pattern)).filter(|path| path.exists()).into_iter().collect();
    };
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path().join(rest)).filter(|path| path.exists()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, value) in [
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("proc/sys/vm/swappiness", "10\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ] {
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), value).unwrap();
        }
        root
    }

    fn read(root: &tempfile::TempDir, path: &str) -> String {
        fs::read_to_string(root.path().join(path)).unwrap().trim().to_owned()
    }

    const ASLR: &str = "proc/sys/kernel/randomize_va_space";
    const GOVERNOR: &str = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    const PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";

    #[test]
    fn knobs_are_turned_told_and_turned_back() {
        let (root, cores) = (host(), Cores { host: vec![0], jobs: vec![1] });
        let wishes = Wishes { left: vec!["irq", "ksm"], ..Wishes::default() };
        let memory = root.path().join("run");
        let (tuning, turned) = Tuning::apply_in(root.path(), &memory, &knobs(&wishes, &cores)).unwrap();
        let reported = |name: &str| {
            let one = turned.iter().find(|one| one.name == name).unwrap();
            (one.is_done, one.detail.as_str())
        };
        assert_eq!(reported("aslr"), (true, "2 → 0 (1 of 1)"));
        assert_eq!(reported("swappiness"), (true, "10 already"));
        assert_eq!(reported("governor"), (true, "powersave → performance (2 of 2)"));
        assert_eq!(reported("turbo"), (true, "1 → 0 (1 of 1)"));
        assert_eq!(reported("thp"), (true, "madvise → never (1 of 1)"));
        assert_eq!(reported("numa-balancing"), (false, "this host does not have it"));
        assert!(!turned.iter().any(|one| one.name == "ksm"));
        assert_eq!((read(&root, ASLR), read(&root, GOVERNOR)), ("0".into(), "performance".into()));

        let second = Tuning::apply_in(root.path(), &memory, &knobs(&wishes, &cores)).unwrap_err();
        assert!(second.to_string().contains("Another runner"), "{second}");
        drop(tuning);
        assert_eq!((read(&root, ASLR), read(&root, GOVERNOR)), ("2".into(), "powersave".into()));
        assert_eq!(read(&root, PAGES), "madvise");
        assert!(!memory.join("before.json").exists());
    }

    #[test]
    fn a_runner_that_was_killed_leaves_what_the_host_was_like() {
        let (root, cores) = (host(), Cores { host: vec![], jobs: vec![0] });
        let (wishes, memory) = (Wishes::default(), root.path().join("run"));
        let (tuning, _) = Tuning::apply_in(root.path(), &memory, &knobs(&wishes, &cores)).unwrap();
        let kept = fs::read(memory.join("before.json")).unwrap();
        drop(tuning);
        // The state after a crash: the settings were not restored.
        fs::write(memory.join("before.json"), kept).unwrap();
        fs::write(root.path().join(ASLR), "0").unwrap();
        let (tuning, turned) = Tuning::apply_in(root.path(), &memory, &knobs(&wishes, &cores)).unwrap();
        assert!(turned.iter().any(|one| one.name == "aslr" && one.detail.starts_with("2 → 0")), "{turned:?}");
        drop(tuning);
        assert_eq!(read(&root, ASLR), "2");
    }
}
