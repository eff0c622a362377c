//! A full disk: the server rejects reports with an error, nothing breaks, reads continue, and writes work again once
//! there is space.
//!
//! The small disk is mounted only for the server, in its own mount namespace, and disappears with it. The test
//! accesses the files through `/proc`.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;

use crate::{
    client::Client,
    database,
    process::{BINARY, Server, isolated, tidemark},
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

/// A restore and an import that do not fit change nothing, name the reason, and succeed once there is space.
#[test]
fn a_restore_or_an_import_on_a_full_disk_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::make(folder.path()) else { return };
    let [source, empty] = ["source", "empty"].map(|name| folder.path().join(name));
    let server = Server::start(&source);
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", &source);
    Reports::found_project(&mut ada);
    for number in 0..20 {
        let (status, answer) = ada.post(PATH, &KIND.body(number)).unwrap();
        assert_eq!(status, 201, "{answer}");
    }
    let original = KIND.check(&mut ada);
    let (status, answer) = ada.post("/v0/server/backup", &json!({ "compression": "gzip" })).unwrap();
    assert_eq!(status, 201, "{answer}");
    let [archive, copy, project] =
        ["lab.archive.zst", "lab.db.gz", "lab.project"].map(|name| folder.path().join(name));
    fs::rename(fs::read_dir(source.join("backups")).unwrap().next().unwrap().unwrap().path(), &copy).unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success());
    run(tidemark(&["backup", "--data-dir"]).args([&source, &archive]));
    run(tidemark(&["project", "export", "lab", "--data-dir"]).args([&source, &project]));
    let other = Server::start(&empty);
    let mut eve = Client::connect(&other);
    eve.sign_up("Eve", &empty);
    other.signal("TERM");
    other.wait();

    let nothing = folder.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    fs::copy(source.join("secret"), nothing.join("secret")).unwrap();
    let restore = |backup: &Path| vec!["restore".into(), backup.as_os_str().to_owned()];
    let import = ["project", "import", "--organization", "eve"].map(OsString::from).into_iter();
    let import = import.chain([project.clone().into_os_string()]).collect();
    for (name, start, arguments, token) in [
        ("archive", &nothing, restore(&archive), &ada.token),
        ("copy", &nothing, restore(&copy), &ada.token),
        ("project", &empty, import, &eve.token),
    ] {
        let target = folder.path().join(name);
        // Fills the disk, runs the command, frees the disk and runs the command again, in one mount namespace.
        let script = r#"
            start=$1 disk=$2 target=$3; shift 3
            cp -r "$start" "$disk/data"
            dd if=/dev/zero of="$disk/ballast" bs=64k 2>/dev/null
            truncate -s -128K "$disk/ballast"
            ls -A "$disk/data"
            "$@" --data-dir "$disk/data" && exit 9
            ls -A "$disk/data"
            rm "$disk/ballast"
            "$@" --data-dir "$disk/data" && cp -r "$disk/data" "$target"
        "#;
        let mut command = disk.command("sh");
        command.args(["-c", script, "sh"]).args([start, &disk.folder, &target]).arg(BINARY).args(&arguments);
        let output = command.output().unwrap();
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(folder.path().to_str().unwrap(), "FOLDER");
        assert!(output.status.success(), "{output:?}");
        let seen = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
        insta::assert_snapshot!(format!("full_disk_{name}"), seen);
        let server = Server::start(&target);
        let found = KIND.check(&mut Client::connect_as(&server, token));
        assert_eq!(found.len(), original.len());
        assert!(found.iter().all(|(number, report)| report["results"] == original[number]["results"]));
    }
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
