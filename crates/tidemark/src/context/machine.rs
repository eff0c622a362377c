//! The machine that runs benchmarks, described by the properties that determine its speed: processor, cores and operating system.
//! Only [`host`] distinguishes machines of the same type.

use std::{env::consts, fs, process::Command, thread};

use sha2::{Digest, Sha256};

/// Maximum length of the name of a testbed, in characters.
const NAME_MAX: usize = 64;
/// Parts of a processor name without information.
const NOISE: [&str; 6] = ["(R)", "(r)", "(TM)", "(tm)", " CPU", " Processor"];

/// A type of machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) os: &'static str,
    pub(crate) architecture: &'static str,
    /// Model of the processor, if the system provides it.
    pub(crate) processor: Option<String>,
    /// Number of cores that a program may use.
    pub(crate) cores: usize,
}

impl Machine {
    /// Detects the machine that this program runs on.
    pub(crate) fn detect() -> Self {
        let os = match consts::OS {
            "linux" => "Linux",
            "macos" => "macOS",
            "windows" => "Windows",
            other => other,
        };
        Self {
            os,
            architecture: consts::ARCH,
            processor: processor().map(|name| tidy(&name)).filter(|name| !name.is_empty()),
            cores: thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Returns a name for the testbed, which is the same on machines of the same type.
    pub(crate) fn name(&self) -> String {
        let processor = self.processor.as_deref().unwrap_or(self.architecture);
        let cores = if self.cores == 1 { "1 core".to_owned() } else { format!("{} cores", self.cores) };
        let room = NAME_MAX.saturating_sub(self.os.chars().count() + cores.chars().count() + 4);
        let processor: String = processor.chars().take(room).collect();
        format!("{}, {}, {cores}", self.os, processor.trim())
    }

    /// Returns thirteen letters and digits that are the same on machines of the same type, and almost certainly different on
    /// others.
    pub(crate) fn fingerprint(&self) -> String {
        let Self { os, architecture, processor, cores } = self;
        let processor = processor.as_deref().unwrap_or_default();
        digits(&format!("{os}\n{architecture}\n{processor}\n{cores}"))
    }
}

/// Returns thirteen letters and digits that identify this machine: a hash of the system ID, or of the host name if there is no
/// system ID. Neither can be derived from the hash.
pub(crate) fn host() -> Option<String> {
    let name = || read("/proc/sys/kernel/hostname").or_else(|| printed("hostname", &[]));
    system_id().or_else(name).map(|id| digits(&format!("tidemark host\n{}", id.trim())))
}

/// Returns the ID that the operating system received when it was installed. Containers often have none.
pub(super) fn system_id() -> Option<String> {
    match consts::OS {
        "linux" => read("/etc/machine-id").or_else(|| read("/var/lib/dbus/machine-id")),
        "macos" => printed("ioreg", &["-rd1", "-c", "IOPlatformExpertDevice"])
            .and_then(|output| Some(output.lines().find(|line| line.contains("IOPlatformUUID"))?.to_owned())),
        "windows" => printed("reg", &["query", r"HKLM\SOFTWARE\Microsoft\Cryptography", "/v", "MachineGuid"]),
        _ => None,
    }
}

/// Returns the content of a file, if it is not empty.
fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().filter(|text| !text.trim().is_empty())
}

/// Returns the output of a command, if it is not empty.
fn printed(command: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|text| !text.trim().is_empty())
}

/// Returns thirteen letters and digits of the hash of a text.
fn digits(text: &str) -> String {
    let digest = Sha256::digest(text);
    let mut rest = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let mut digits = String::new();
    for _ in 0..13 {
        digits.extend(char::from_digit((rest % 36) as u32, 36));
        rest /= 36;
    }
    digits
}

/// Returns the processor name that the system reports.
fn processor() -> Option<String> {
    match consts::OS {
        "linux" => model(&fs::read_to_string("/proc/cpuinfo").ok()?),
        "macos" => printed("sysctl", &["-n", "machdep.cpu.brand_string"]),
        "windows" => std::env::var("PROCESSOR_IDENTIFIER").ok(),
        _ => None,
    }
}

/// Returns the model of the first processor in `/proc/cpuinfo`; on ARM, which has no model name, implementer and part.
fn model(list: &str) -> Option<String> {
    let value = |name: &str| {
        let line = list.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim()).filter(|value| !value.is_empty())
    };
    value("model name")
        .map(str::to_owned)
        .or_else(|| Some(format!("ARM {} {}", value("CPU implementer")?, value("CPU part")?)))
}

/// Returns a processor name without trademarks and without the clock rate.
fn tidy(name: &str) -> String {
    let name = name.split(" @ ").next().unwrap_or(name);
    let name = NOISE.iter().fold(name.to_owned(), |name, noise| name.replace(noise, ""));
    name.split_whitespace().filter(|word| !word.chars().any(char::is_control)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_called_by_its_model() {
        for (list, name) in [
            ("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.20GHz\n", "Intel Xeon"),
            ("model name : AMD EPYC 7763 64-Core Processor\nmodel name : other\n", "AMD EPYC 7763 64-Core"),
            ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "ARM 0x41 0xd0c"),
        ] {
            assert_eq!(tidy(&model(list).unwrap()), name);
        }
        assert_eq!(model("processor : 0\n"), None);
    }

    #[test]
    fn a_host_is_identified_by_a_hash() {
        let (host, other) = (host(), super::host());
        assert_eq!(host, other);
        assert!(
            host.is_none_or(|host| host.len() == 13 && host.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        );
    }

    #[test]
    fn machines_of_the_same_type_have_the_same_name() {
        let machine = Machine {
            os: "Linux",
            architecture: "x86_64",
            processor: Some("AMD EPYC 7763 64-Core".into()),
            cores: 4,
        };
        assert_eq!(machine.name(), "Linux, AMD EPYC 7763 64-Core, 4 cores");
        assert_eq!(machine.fingerprint(), machine.clone().fingerprint());
        assert_eq!(machine.fingerprint().len(), 13);
        let single = Machine { cores: 1, processor: Some("x".repeat(100)), ..machine.clone() };
        assert_eq!(single.name().chars().count(), NAME_MAX);
        assert!(single.name().ends_with("x, 1 core"));
        assert_ne!(single.fingerprint(), machine.fingerprint());
        let unknown = Machine { processor: None, ..machine };
        assert_eq!(unknown.name(), "Linux, x86_64, 4 cores");
    }
}
