//! A process that the tests need, and its folder: both are removed when the task ends, even if it is killed.

use std::{
    env, fs,
    os::unix::{fs::DirBuilderExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{self, Child, ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{Result, tools};

/// Timeout of the start of a service; it only stops a service that hangs.
const START: Duration = Duration::from_secs(600);

/// Free memory in KiB that the data of services needs.
const MEMORY_KIB: u64 = 2 << 20;

/// Waits for the end of its standard input, which only this process holds open, and which therefore closes even if
/// this process is killed. Then stops process `$1`, with SIGKILL after ten seconds, and removes folder `$2`.
const WATCHDOG: &str = "
    read -r _
    kill -INT \"$1\" 2>/dev/null
    tries=0
    while kill -0 \"$1\" 2>/dev/null; do
        tries=$((tries + 1))
        test $tries -eq 100 && kill -KILL \"$1\"
        sleep 0.1
    done
    rm -rf -- \"$2\"
";

/// A running process with its own folder.
pub(crate) struct Service {
    process: Child,
    watchdog: Child,
    /// Closing this pipe triggers the watchdog.
    leash: Option<ChildStdin>,
}

/// Creates an empty folder for a service that only the current user can read.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    let folder = parent().join(format!("tidemark-{name}-{}", process::id()));
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(|error| format!("{} could not be made: {error}", folder.display()))?;
    Ok(folder)
}

/// Returns the parent folder for the data of services: in memory if there is enough. A disk that stalls for seconds
/// must not fail a test, and file systems on disks are slow at creating and deleting hundreds of databases.
fn parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = tools::read_quietly(Command::new("df").arg("-Pk").arg(memory));
    let free =
        free.ok().and_then(|table| table.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok());
    if free.is_some_and(|kibibytes| kibibytes > MEMORY_KIB) { memory.to_path_buf() } else { env::temp_dir() }
}

impl Service {
    /// Starts a process, which must exit on SIGINT. Dropping the service removes the folder.
    pub(crate) fn start(command: &mut Command, folder: PathBuf) -> Result<Self> {
        // Each process has its own process group: Ctrl-C reaches only the tests, and the watchdog stops the rest.
        let process = command.stdin(Stdio::null()).process_group(0).spawn().map_err(|error| {
            format!("{} could not be started: {error}", command.get_program().to_string_lossy())
        })?;
        let mut watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "sh", &process.id().to_string()])
            .arg(folder)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("sh could not be started: {error}"))?;
        let leash = watchdog.stdin.take();
        Ok(Self { process, watchdog, leash })
    }

    /// Waits until `ready` returns true.
    pub(crate) fn wait(&mut self, mut ready: impl FnMut() -> bool) -> Result {
        let start = Instant::now();
        while !ready() {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(format!("it stopped at once ({status})"));
            }
            if start.elapsed() > START {
                return Err(format!("it did not answer within {} seconds", START.as_secs()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.leash.take());
        // Wait for the process first: the watchdog sees it as alive until it is reaped here.
        let _ = self.process.wait();
        let _ = self.watchdog.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_dropped_service() {
        let folder = folder("test").unwrap();
        fs::write(folder.join("file"), "content").unwrap();
        // Dropping the service waits for the process, which would outlive the test run.
        let service = Service::start(Command::new("sleep").arg("86400"), folder.clone()).unwrap();
        drop(service);
        assert!(!folder.exists());
    }

    #[test]
    fn a_service_that_stops_at_once_is_not_waited_for() {
        let folder = folder("stopped").unwrap();
        let mut service = Service::start(&mut Command::new("true"), folder).unwrap();
        let error = service.wait(|| false).unwrap_err();
        assert_eq!(error, "it stopped at once (exit status: 0)");
    }
}
