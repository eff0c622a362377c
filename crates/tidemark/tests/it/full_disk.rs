//! A disk without room: reports are refused in words, nothing breaks, reading goes on, and so does writing once there
//! is room again.
//!
//! The small disk is mounted for the server alone, in a mount namespace of its own, and is gone with it. The test
//! reaches the files by way of `/proc`.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    client::Client,
    database,
    process::{BINARY, Server, isolated},
    report::{PATH, Reports},
};

const CLIENTS: usize = 4;
/// The size of the disk, what is left of it once it is a file system, and a file on it that is removed to make room.
const DISK: u64 = 16 << 20;
const MEMORY: u64 = 13 << 20;
const BALLAST: usize = 8 << 20;
/// How often in a row a client is refused before it takes the disk for full.
const REFUSALS: usize = 5;
const KIND: Reports = Reports { shared: 8 };
/// Set where no file system can be mounted, to go without these tests.
const SKIP: &str = "TIDEMARK_TEST_SKIP_FULL_DISK";

#[test]
fn a_full_disk_costs_nothing_but_time() {
    fill("");
}

/// With so small a cache the disk is found full in the middle of a report, not only at its end.
#[test]
fn a_disk_that_fills_within_a_report_costs_nothing_but_time() {
    fill("[database]\ncache_size = 64\n");
}

fn fill(settings: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::make(folder.path()) else { return };
    let file = folder.path().join("tidemark.toml");
    fs::write(&file, settings).unwrap();
    let mut command = disk.command(BINARY);
    command.args(["serve", "--bind", "127.0.0.1:0", "--data-dir"]).arg(&disk.folder);
    command.arg("--config").arg(&file);
    let mut server = Server::spawn(&mut command);
    server.drain();
    let data = server.seen_by(&disk.folder);
    let ballast = data.join("ballast");
    fs::write(&ballast, vec![1; BALLAST]).unwrap();

    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", &data);
    let token = ada.token.clone();
    Reports::found_project(&mut ada);
    let (next, acknowledged) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let send = |client: &mut Client| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let (status, answer) = client.post(PATH, &KIND.body(number)).unwrap();
        if status == 201 {
            acknowledged.lock().unwrap().push(number);
        }
        (status, answer)
    };

    let told = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = Client::connect_as(&server, &token);
            let told = &told;
            scope.spawn(move || {
                let mut refusals = 0;
                while refusals < REFUSALS {
                    let (status, answer) = send(&mut client);
                    if status == 201 {
                        refusals = 0;
                        continue;
                    }
                    refusals += 1;
                    assert_eq!(status, 503, "{answer}");
                    assert!(client.retry_after.is_some_and(|seconds| seconds > 0));
                    assert!(answer["request_id"].is_string() && answer["message"].is_string(), "{answer}");
                    told.lock().unwrap().insert(answer["error_code"].as_str().unwrap().to_owned());
                }
            });
        }
    });
    // Whoever shared a transaction with a report that found the disk full is only told to try again.
    let told = told.into_inner().unwrap();
    assert!(
        told.contains("disk_full") && told.iter().all(|code| code == "disk_full" || code == "busy"),
        "{told:?}"
    );

    let before = sorted(&acknowledged.lock().unwrap());

    assert!(before.len() > 20, "the disk was full after {} reports", before.len());
    // The server has closed a connection that was idle for so long.
    let mut ada = Client::connect_as(&server, &token);
    assert!(KIND.check(&mut ada).keys().eq(&before), "what was acknowledged is there, and nothing else");
    for path in ["/readyz", "/v0/projects/lab", "/v0/projects/lab/benchmarks?search=own"] {
        // A connection for each, so that the server needs new ones, too.
        let (status, answer) = Client::connect_as(&server, &token).get(path).unwrap();
        assert_eq!(status, 200, "{path} {answer}");
    }

    fs::remove_file(ballast).unwrap();
    for _ in 0..10 {
        let (status, answer) = send(&mut ada);
        assert_eq!(status, 201, "{answer}");
    }
    let acknowledged = sorted(&acknowledged.lock().unwrap());
    assert!(KIND.check(&mut ada).keys().eq(&acknowledged));

    // The files as they are at this instant are what a crash would leave.
    server.signal("STOP");
    let copy = folder.path().join("copy");
    copy_files(&data, &copy);
    drop(server);
    database::check(&copy, None);
    let server = Server::start(&copy);
    assert!(KIND.check(&mut Client::connect_as(&server, &token)).keys().eq(&acknowledged));
}

fn sorted(numbers: &[usize]) -> Vec<usize> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers
}

/// Copies what is in a folder, but not what is in the folders there.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        // The index of the log is rebuilt by whoever opens it first.
        let index = entry.file_name().to_string_lossy().ends_with("-shm");
        if entry.file_type().unwrap().is_file() && !index {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// A small file system, and how a program gets to see it.
struct Disk {
    folder: PathBuf,
    namespace: &'static [&'static str],
    mount: String,
}

impl Disk {
    /// A file with a file system in it, for root; a part of the memory, for all others. Without a right to either
    /// the test fails, unless it is to be skipped.
    fn make(folder: &Path) -> Option<Self> {
        let (image, mounted) = (folder.join("image"), folder.join("disk"));
        fs::File::create(&image).unwrap().set_len(DISK).unwrap();
        fs::create_dir(&mounted).unwrap();
        let file = format!("mkfs.ext4 -q -F {0} && mount -o loop {0}", image.display());
        let memory = format!("mount -t tmpfs -o size={MEMORY} tmpfs");
        let root: &[&str] = &["--mount"];
        let anybody: &[&str] = &["--mount", "--map-root-user"];
        for (namespace, mount) in [(root, &file), (root, &memory), (anybody, &memory)] {
            let disk = Self { folder: mounted.clone(), namespace, mount: mount.clone() };
            let tried = disk.command("true").stderr(Stdio::null()).status();
            if tried.is_ok_and(|status| status.success()) {
                return Some(disk);
            }
        }
        let name = thread::current().name().unwrap_or_default().to_owned();
        assert!(
            env::var_os(SKIP).is_some(),
            "{name} needs a right to mount a file system: run it as root, or set {SKIP}=1 to go without it"
        );
        eprintln!("SKIPPED {name}: no file system can be mounted here");
        None
    }

    /// A program that sees the disk.
    fn command(&self, program: &str) -> Command {
        let mut command = isolated("unshare");
        command.args(self.namespace).args(["sh", "-c"]);
        command.arg(format!("{} {} && exec \"$@\"", self.mount, self.folder.display()));
        command.args(["sh", program]);
        command
    }
}
