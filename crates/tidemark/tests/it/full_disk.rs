//! A full disk: the server rejects reports with an error, nothing breaks, reads continue, and writes work again once
//! there is space.
//!
//! The small disk is mounted only for the server, in its own mount namespace, and disappears with it. The test
//! accesses the files through `/proc`.
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
/// Size of the disk, its free space as a file system, and the size of a file that is removed to free space.
const DISK: u64 = 16 << 20;
const MEMORY: u64 = 13 << 20;
const BALLAST: usize = 8 << 20;
/// Number of consecutive rejections after which a client considers the disk full.
const REFUSALS: usize = 5;
const KIND: Reports = Reports { shared: 8 };
/// Environment variable that skips these tests, for machines that cannot mount file systems.
const SKIP: &str = "TIDEMARK_TEST_SKIP_FULL_DISK";

#[test]
fn a_full_disk_loses_no_data() {
    fill("");
}

/// With a cache this small, the disk fills in the middle of a report, not only at its end.
#[test]
fn a_disk_that_fills_during_a_report_loses_no_data() {
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

    let codes = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = Client::connect_as(&server, &token);
            let codes = &codes;
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
                    codes.lock().unwrap().insert(answer["error_code"].as_str().unwrap().to_owned());
                }
            });
        }
    });
    // A report in the same transaction as a report that hit the full disk only gets the error to try again.
    let codes = codes.into_inner().unwrap();
    assert!(
        codes.contains("disk_full") && codes.iter().all(|code| code == "disk_full" || code == "busy"),
        "{codes:?}"
    );

    let before = sorted(&acknowledged.lock().unwrap());

    assert!(before.len() > 20, "the disk was full after {} reports", before.len());
    // The server has closed the idle connection.
    let mut ada = Client::connect_as(&server, &token);
    assert!(KIND.check(&mut ada).keys().eq(&before), "what was acknowledged is there, and nothing else");
    for path in ["/readyz", "/v0/projects/lab", "/v0/projects/lab/benchmarks?search=own"] {
        // A new connection each, so that the server must open files as well.
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

    // The files at this moment are what a crash would leave.
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

/// Copies the files of a folder, without its subfolders.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        // The first process that opens the log rebuilds its index.
        let index = entry.file_name().to_string_lossy().ends_with("-shm");
        if entry.file_type().unwrap().is_file() && !index {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// A small file system, and how a process accesses it.
struct Disk {
    folder: PathBuf,
    namespace: &'static [&'static str],
    mount: String,
}

impl Disk {
    /// Creates a file with a file system for root, or a tmpfs for other users. Without permission for either, the
    /// test fails, unless it is to be skipped.
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

    /// Returns a command that sees the disk.
    fn command(&self, program: &str) -> Command {
        let mut command = isolated("unshare");
        command.args(self.namespace).args(["sh", "-c"]);
        command.arg(format!("{} {} && exec \"$@\"", self.mount, self.folder.display()));
        command.args(["sh", program]);
        command
    }
}
