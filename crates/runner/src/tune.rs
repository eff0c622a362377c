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
const STATE_FOLDER: &str = "/run/tidemark-runner";

/// A kernel setting and the value to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the setting.
    pub name: &'static str,
    /// Files of the setting, as patterns in which a star matches a number or a name.
    files: Vec<&'static str>,
    /// Value to write into the files.
    value: String,
    /// Whether another entry of the table has the same name, so that a missing file is not reported.
    is_alternative: bool,
}

/// Result of changing a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedSetting {
    /// Name of the setting.
    pub name: &'static str,
    /// Whether it has the wanted value now.
    pub is_done: bool,
    /// Old and new value, or why it was not changed.
    pub detail: String,
}

/// Options of the operator that differ from the defaults.
#[derive(Clone, Debug)]
pub struct TuningOptions {
    /// Names of the settings to skip.
    pub skipped: Vec<&'static str>,
    /// CPU frequency governor.
    pub governor: String,
    /// Swappiness, from 0 to 200.
    pub swappiness: u32,
    /// Who may count performance events, from -1 (all users) to 4.
    pub perf_event_paranoid: i32,
    /// Mode of transparent huge pages.
    pub huge_pages: String,
}

impl Default for TuningOptions {
    fn default() -> Self {
        Self {
            skipped: Vec::new(),
            governor: "performance".to_owned(),
            swappiness: 10,
            perf_event_paranoid: -1,
            huge_pages: "never".to_owned(),
        }
    }
}

/// Returns the table of settings.
pub fn settings(options: &TuningOptions, cores: &Cores) -> Vec<Setting> {
    let setting = |name, file, value: &str| Setting {
        name,
        files: vec![file],
        value: value.to_owned(),
        is_alternative: false,
    };
    let list: Vec<String> = cores.host.iter().map(ToString::to_string).collect();
    let mask = cores.host.iter().filter(|core| **core < 64).fold(0_u64, |mask, core| mask | 1 << core);
    let turbo = |file, value: &str| Setting { is_alternative: true, ..setting("turbo", file, value) };
    let mut settings = vec![
        setting("aslr", "proc/sys/kernel/randomize_va_space", "0"),
        setting("nmi-watchdog", "proc/sys/kernel/nmi_watchdog", "0"),
        setting("soft-watchdog", "proc/sys/kernel/soft_watchdog", "0"),
        setting("smt", "sys/devices/system/cpu/smt/control", "off"),
        turbo("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        turbo("sys/devices/system/cpu/cpufreq/boost", "0"),
        setting("governor", "sys/devices/system/cpu/*/cpufreq/scaling_governor", &options.governor),
        setting("swappiness", "proc/sys/vm/swappiness", &options.swappiness.to_string()),
        setting(
            "perf-event-paranoid",
            "proc/sys/kernel/perf_event_paranoid",
            &options.perf_event_paranoid.to_string(),
        ),
        setting("numa-balancing", "proc/sys/kernel/numa_balancing", "0"),
        setting("timer-migration", "proc/sys/kernel/timer_migration", "0"),
        setting("ksm", "sys/kernel/mm/ksm/run", "0"),
        setting("thp", "sys/kernel/mm/transparent_hugepage/enabled", &options.huge_pages),
    ];
    if !cores.host.is_empty() {
        settings.push(setting("irq", "proc/irq/*/smp_affinity_list", &list.join(",")));
        settings.push(setting("irq", "sys/devices/virtual/workqueue/cpumask", &format!("{mask:x}")));
    }
    settings.retain(|setting| !options.skipped.contains(&setting.name));
    settings
}

/// A tuned host. Restores the settings when dropped.
#[derive(Debug)]
pub struct Tuning {
    root: PathBuf,
    state: PathBuf,
    /// Original contents of the files, by path.
    before: BTreeMap<PathBuf, String>,
    /// While this file is open, cores do not enter deep sleep states.
    _latency_request: Option<File>,
    _lock: File,
}

impl Tuning {
    /// Changes the settings of this host. Requires root, and only one runner per host.
    pub fn apply(settings: &[Setting], limits_cstates: bool) -> Result<(Self, Vec<AppliedSetting>)> {
        let (mut tuning, mut applied) = Self::apply_in(Path::new("/"), Path::new(STATE_FOLDER), settings)?;
        if limits_cstates {
            let opened = File::options().write(true).open("/dev/cpu_dma_latency").and_then(|mut file| {
                file.write_all(&0_u32.to_ne_bytes())?;
                Ok(file)
            });
            applied.push(match &opened {
                Ok(_) => AppliedSetting {
                    name: "cstates",
                    is_done: true,
                    detail: "only shallow C-states".to_owned(),
                },
                Err(error) => AppliedSetting { name: "cstates", is_done: false, detail: error.to_string() },
            });
            tuning._latency_request = opened.ok();
        }
        Ok((tuning, applied))
    }

    fn apply_in(root: &Path, state: &Path, settings: &[Setting]) -> Result<(Self, Vec<AppliedSetting>)> {
        let what = || "The original settings of the host cannot be saved, so the host is not tuned";
        fs::create_dir_all(state).explain(what)?;
        let lock = File::create(state.join("lock")).explain(what)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Error::new("Another runner tunes this host; this runner changes no settings."));
        }
        let file = state.join("before.json");
        let before =
            fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let mut tuning =
            Self { root: root.to_owned(), state: file, before, _latency_request: None, _lock: lock };
        // Restore what a killed runner left; otherwise its values would be recorded as the original values.
        tuning.restore();
        let mut applied = Vec::new();
        for setting in settings {
            tuning.apply_setting(setting, &mut applied)?;
        }
        Ok((tuning, applied))
    }

    /// Restores all settings, and returns the errors.
    pub fn restore(&mut self) -> Vec<String> {
        let mut failed = Vec::new();
        for (path, value) in std::mem::take(&mut self.before) {
            if let Err(error) = fs::write(&path, &value) {
                failed.push(format!("{} cannot be restored to `{value}` ({error}).", path.display()));
            }
        }
        // The file is missing only if it was never written.
        drop(fs::remove_file(&self.state));
        failed
    }

    fn apply_setting(&mut self, setting: &Setting, applied: &mut Vec<AppliedSetting>) -> Result<()> {
        let name = setting.name;
        let files: Vec<PathBuf> =
            setting.files.iter().flat_map(|pattern| expand(&self.root, pattern)).collect();
        if files.is_empty() {
            let is_known = applied.iter().any(|other| other.name == name);
            if !is_known && !setting.is_alternative {
                applied.push(AppliedSetting {
                    name,
                    is_done: false,
                    detail: "not available on this host".to_owned(),
                });
            }
            return Ok(());
        }
        let (mut done, mut original, mut failed) = (0, None, None);
        for file in &files {
            let Ok(text) = fs::read_to_string(file) else { continue };
            let value = chosen(&text).to_owned();
            if value != setting.value {
                // Record the original value before changing it.
                self.before.insert(file.clone(), value.clone());
                self.save_original_values()?;
                if let Err(error) = fs::write(file, &setting.value) {
                    self.before.remove(file);
                    failed = Some(error);
                    continue;
                }
            }
            original.get_or_insert(value);
            done += 1;
        }
        let detail = match (&original, &failed) {
            (Some(original), None) if *original == setting.value => format!("already {original}"),
            (Some(original), _) => format!("{original} → {} ({done} of {})", setting.value, files.len()),
            (None, Some(error)) => error.to_string(),
            (None, None) => "cannot be read".to_owned(),
        };
        // Some interrupts cannot be moved; this is not an error.
        applied.push(AppliedSetting { name, is_done: done > 0, detail });
        Ok(())
    }

    /// Writes the original values to the file.
    fn save_original_values(&self) -> Result<()> {
        let write = || {
            let new = self.state.with_extension("new");
            fs::write(&new, serde_json::to_vec(&self.before)?)?;
            fs::rename(new, &self.state)
        };
        write().explain(|| "The original settings of the host cannot be saved")
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
    fn settings_are_applied_reported_and_restored() {
        let (root, cores) = (host(), Cores { host: vec![0], jobs: vec![1] });
        let options = TuningOptions { skipped: vec!["irq", "ksm"], ..TuningOptions::default() };
        let state = root.path().join("run");
        let (tuning, applied) = Tuning::apply_in(root.path(), &state, &settings(&options, &cores)).unwrap();
        let reported = |name: &str| {
            let one = applied.iter().find(|one| one.name == name).unwrap();
            (one.is_done, one.detail.as_str())
        };
        assert_eq!(reported("aslr"), (true, "2 → 0 (1 of 1)"));
        assert_eq!(reported("swappiness"), (true, "already 10"));
        assert_eq!(reported("governor"), (true, "powersave → performance (2 of 2)"));
        assert_eq!(reported("turbo"), (true, "1 → 0 (1 of 1)"));
        assert_eq!(reported("thp"), (true, "madvise → never (1 of 1)"));
        assert_eq!(reported("numa-balancing"), (false, "not available on this host"));
        assert!(!applied.iter().any(|one| one.name == "ksm"));
        assert_eq!((read(&root, ASLR), read(&root, GOVERNOR)), ("0".into(), "performance".into()));

        let error = Tuning::apply_in(root.path(), &state, &settings(&options, &cores)).unwrap_err();
        assert!(error.to_string().contains("Another runner"), "{error}");
        drop(tuning);
        assert_eq!((read(&root, ASLR), read(&root, GOVERNOR)), ("2".into(), "powersave".into()));
        assert_eq!(read(&root, PAGES), "madvise");
        assert!(!state.join("before.json").exists());
    }

    #[test]
    fn the_settings_of_a_killed_runner_are_restored() {
        let (root, cores) = (host(), Cores { host: vec![], jobs: vec![0] });
        let (options, state) = (TuningOptions::default(), root.path().join("run"));
        let (tuning, _) = Tuning::apply_in(root.path(), &state, &settings(&options, &cores)).unwrap();
        let kept = fs::read(state.join("before.json")).unwrap();
        drop(tuning);
        // The state after a crash: the settings were not restored.
        fs::write(state.join("before.json"), kept).unwrap();
        fs::write(root.path().join(ASLR), "0").unwrap();
        let (tuning, applied) = Tuning::apply_in(root.path(), &state, &settings(&options, &cores)).unwrap();
        assert!(
            applied.iter().any(|one| one.name == "aslr" && one.detail.starts_with("2 → 0")),
            "{applied:?}"
        );
        drop(tuning);
        assert_eq!(read(&root, ASLR), "2");
    }
}
