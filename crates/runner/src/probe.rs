//! The program that `tidemark runner check` runs inside a sandbox: it tries to exceed a limit and prints how much it
//! got. The runner starts its own program under another name for this; `host/check.rs` interprets the output.

use std::{
    env,
    fs::File,
    io::Write,
    net::{Ipv4Addr, TcpStream},
    path::Path,
    process::ExitCode,
    thread,
    time::Duration,
};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    fs::CWD,
    io::Errno,
    mount::{OpenTreeFlags, open_tree},
    thread::{CpuSet, sched_getaffinity},
};

/// Program name that makes the process a probe.
pub(crate) const NAME: &str = "tidemark-probe";
/// Number of bytes that are allocated or written at a time.
const CHUNK: usize = 1 << 20;
/// Timeout of a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Stack size in bytes of a thread that only waits.
const STACK_SIZE: usize = 64 << 10;

/// Runs as a probe if the program was started under the name of a probe, and returns the exit status.
pub fn run() -> Option<ExitCode> {
    let mut words = env::args();
    let program = words.next()?;
    if Path::new(&program).file_name()? != NAME {
        return None;
    }
    let probe = words.next().unwrap_or_default();
    let number = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let found = match probe.as_str() {
        "memory" => allocate_memory(number),
        "processes" => start_threads(number),
        "disk" => write_file(number),
        "system-calls" => try_system_calls(),
        "network" => connect(number),
        "cores" => cores(),
        _ => return Some(ExitCode::FAILURE),
    };
    println!("{found}");
    // Waiting threads end with the process.
    Some(ExitCode::SUCCESS)
}

/// Allocates memory, and returns how many bytes it got.
fn allocate_memory(bytes: usize) -> String {
    let mut allocated: Vec<Vec<u8>> = Vec::new();
    while allocated.len() * CHUNK < bytes {
        let mut chunk = Vec::new();
        if chunk.try_reserve_exact(CHUNK).is_err() {
            break;
        }
        // Memory counts only after it was written to.
        chunk.resize(CHUNK, 1);
        allocated.push(chunk);
    }
    (allocated.len() * CHUNK).to_string()
}

/// Starts threads, and returns their number, including the main thread.
fn start_threads(count: usize) -> String {
    let wait = || {
        thread::Builder::new().stack_size(STACK_SIZE).spawn(|| {
            loop {
                thread::park();
            }
        })
    };
    (1 + (1..count).map_while(|_| wait().ok()).count()).to_string()
}

/// Writes a file, and returns how many bytes it wrote.
fn write_file(bytes: usize) -> String {
    let mut written = 0;
    if let Ok(mut file) = File::create("/probe") {
        let chunk = vec![1; CHUNK];
        while written < bytes && file.write_all(&chunk).is_ok() {
            written += CHUNK;
        }
    }
    written.to_string()
}

/// Makes system calls that need no privileges and that a sandbox denies, and returns the calls that were not denied.
fn try_system_calls() -> String {
    let calls = [
        ("unshare", unshare(CloneFlags::empty()).err().map(|error| Errno::from_raw_os_error(error as i32))),
        ("open_tree", open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC).err()),
    ];
    let allowed = calls.into_iter().filter(|(_, error)| *error != Some(Errno::PERM));
    allowed.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// Returns the network devices, and whether a port of the host was reached.
fn connect(port: usize) -> String {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let devices: Vec<&str> =
        devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    let port = u16::try_from(port).unwrap_or(0);
    let is_reached = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), CONNECT_TIMEOUT).is_ok();
    format!("{} {}", if is_reached { "reached" } else { "isolated" }, devices.join(" "))
}

/// Returns the cores that the process may run on.
fn cores() -> String {
    let set = sched_getaffinity(None).unwrap_or_default();
    let cores = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
    cores.map(|core| core.to_string()).collect::<Vec<_>>().join(",")
}
