//! What a run can do, and what the sandbox prevents.

use std::{
    env, fs,
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidemark_api::JobIteration;
use tidemark_runner::{
    Host,
    image::{Image, Images, Source},
    measure::{self, Bounds, End, RunResults, Work},
    sandbox::{Limits, Watch},
};

use crate::layout;

/// Timeout of jobs that end by themselves. It only stops a job that hangs; no test depends on the speed of the
/// machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A host and an image to run on it.
struct Lab {
    host: Host,
    image: Image,
    limits: Limits,
    folder: TempDir,
}

/// Results and end of a job.
#[derive(Debug)]
struct Measured {
    results: Vec<JobIteration>,
    end: End,
}

impl Lab {
    /// Prints a message and returns `None` if no runtime works on this machine.
    fn open(config: &Value) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let host = match Host::prepare(&folder.path().join("runner")) {
            Ok(host) => host,
            Err(error) => {
                skip(&format!("this machine cannot run containers: {error}"));
                return None;
            }
        };
        eprintln!("note: {} {}", host.sandbox.runtime.name, host.sandbox.runtime.version);
        host.gaps.iter().for_each(|gap| eprintln!("note: {gap}"));
        layout::busybox(&folder.path().join("layout"), config);
        let images = Images::open(folder.path().join("images")).unwrap();
        let (source, tag) = Source::parse(folder.path().join("layout").to_str().unwrap(), None).unwrap();
        let image = images.get(&source, &tag).unwrap();
        let limits =
            Limits { cores: host.cores.choose(1).unwrap(), memory: 64 << 20, disk: 16 << 20, network: false };
        Some(Self { host, image, limits, folder })
    }

    fn measure(&self, work: &Work) -> Measured {
        let bounds = Bounds { output: 1 << 20, ..Bounds::default() };
        self.measure_within(work, bounds, &Watch::default())
    }

    fn measure_within(&self, work: &Work, bounds: Bounds, watch: &Watch) -> Measured {
        let mut results = RunResults::create(&self.folder.path().join("results"), bounds).unwrap();
        let end = measure::run(&self.host, &self.image, work, &self.limits, watch, &mut results, |_| ());
        Measured { results: results.read().unwrap(), end }
    }

    /// Runs a script once, and returns its result and the end of the job.
    fn script(&self, script: &str) -> (JobIteration, End) {
        let mut measured = self.measure(&shell(script));
        assert_eq!(measured.results.len(), 1, "{measured:?}");
        (measured.results.remove(0), measured.end)
    }

    /// Returns the output of a script that succeeds.
    fn output(&self, script: &str) -> String {
        let (result, end) = self.script(script);
        assert_eq!(end, End::Completed, "{result:?}");
        result.stdout.unwrap_or_default()
    }

    /// Whether control groups enforce limits on this machine; otherwise skips the test.
    fn has_groups(&self, what: &str) -> bool {
        let has = self.host.sandbox.cgroups.is_some();
        if !has {
            skip(&format!("{what}: this machine does not let us make control groups"));
        }
        has
    }
}

/// Skips a part of a test that this machine cannot run. With `cargo xtask test`, which installs the runtime, it fails
/// instead.
fn skip(reason: &str) {
    assert!(
        env::var_os("TIDEMARK_TEST_CONTAINERS").is_none(),
        "{reason}: set TIDEMARK_TEST_SKIP_CONTAINERS=1 to go without the tests that run a container"
    );
    eprintln!("SKIPPED: {reason}");
}

fn shell(script: &str) -> Work {
    Work {
        entrypoint: Some(vec!["sh".into(), "-c".into(), script.into()]),
        timeout: PATIENCE,
        iterations: 1,
        ..Work::default()
    }
}

#[test]
fn a_command_runs_as_its_image_says() {
    let config = json!({ "Cmd": ["sh", "-c", "id; echo $NAME; ls"], "User": "ben", "Env": ["NAME=world"],
        "WorkingDir": "/etc" });
    let Some(lab) = Lab::open(&config) else { return };
    let measured = lab.measure(&Work { timeout: PATIENCE, iterations: 2, ..Work::default() });
    assert_eq!((&measured.end, measured.results.len()), (&End::Completed, 2), "{measured:?}");
    let result = &measured.results[1];
    assert_eq!(result.stdout.as_deref(), Some("uid=1234(ben) gid=1235\nworld\npasswd\n"));
    assert!(result.noise.is_some_and(|noise| noise.before > 0.0 && noise.after > 0.0));
}

#[test]
fn codes_outputs_and_files_come_back() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    let script = "echo out; echo err >&2; echo '{}' > /tmp/result.json; exit 3";
    let work = Work { files: vec!["tmp/result.json".into(), "missing".into()], ..shell(script) };
    let measured = lab.measure(&work);
    assert_eq!(measured.end, End::Failed("The command ended with 3.".to_owned()));
    let result = &measured.results[0];
    assert_eq!((result.exit_code, result.stdout.as_deref()), (3, Some("out\n")));
    assert_eq!(result.stderr.as_deref(), Some("err\n"));
    assert_eq!(json!(result.output), json!({ "tmp/result.json": "{}\n" }));

    // A run does not see what an earlier run wrote, and the image stays unchanged.
    let again = Work { iterations: 2, allow_failure: true, ..shell("ls /mark; echo x > /mark") };
    let measured = lab.measure(&again);
    assert_eq!((&measured.end, measured.results.len()), (&End::Completed, 2));
    assert!(measured.results.iter().all(|run| run.stdout.is_none()), "{measured:?}");
    assert!(!lab.image.root.join("mark").exists());

    let sizes = Work { files: vec!["/bin/busybox".into()], file_size: true, ..shell("true") };
    let size = fs::metadata("/bin/busybox").unwrap().len();
    let output = lab.measure(&sizes).results.remove(0).output.unwrap();
    let found: Value = serde_json::from_str(output.values().next().unwrap()).unwrap();
    assert_eq!(found, json!({ "busybox": { "file-size": { "value": size } } }));
    let timed = Work { build_time: true, ..shell("sleep 0.3") };
    let began = Instant::now();
    let output = lab.measure(&timed).results.remove(0).output.unwrap();
    let found: Value = serde_json::from_str(output.values().next().unwrap()).unwrap();
    let seconds = found["sh -c sleep 0.3"]["build-time"]["value"].as_f64().unwrap();
    // In seconds: at most the duration of the whole job.
    assert!((0.3..began.elapsed().as_secs_f64()).contains(&seconds), "{found}");

    let missing = Work { entrypoint: Some(vec!["/no/such/program".into()]), ..shell("") };
    let measured = lab.measure(&missing);
    let End::Failed(reason) = measured.end else { panic!("{measured:?}") };
    assert!(reason.contains("could not run the command"), "{reason}");
}

#[test]
fn a_job_sees_nothing_of_the_host() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    let secret = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    fs::write(secret.path(), "secret").unwrap();
    let path = secret.path().display();
    let (result, _) = lab.script(&format!("cat {path} /proc/1/root{path} /../../..{path}"));
    assert!(result.exit_code != 0 && result.stdout.is_none(), "{result:?}");

    // A link to a path of the host is resolved inside the sandbox, where the path does not exist.
    let work = Work { files: vec!["/leak".into()], ..shell(&format!("ln -s {path} /leak")) };
    let measured = lab.measure(&work);
    assert_eq!((&measured.end, &measured.results[0].output), (&End::Completed, &None), "{measured:?}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (result, _) = lab.script(&format!("wget -T 2 -O - http://127.0.0.1:{port}/"));
    assert!(result.exit_code != 0, "{result:?}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the host was reached");
    assert_eq!(lab.output("ls /sys/class/net"), "lo\n");

    // The job sees only its own processes, has no capabilities, and cannot change the system.
    let first = lab.output("cat /proc/1/cmdline");
    assert!(first.contains("/proc/1/cmdline"), "{first:?}");
    let status = lab.output("cat /proc/self/status");
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{status}");
    }
    let (result, _) = lab.script("echo 1 > /proc/sys/kernel/printk");
    assert!(result.exit_code != 0, "{result:?}");
    let (result, _) = lab.script("echo b > /proc/sysrq-trigger");
    assert!(result.exit_code != 0, "{result:?}");
    let devices = lab.output("ls /dev");
    assert!(!devices.contains("sda") && !devices.contains("vda") && !devices.contains("mem"), "{devices}");
}

#[test]
fn an_endless_loop_is_ended_with_all_that_it_started() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    let run = |seconds| {
        let work = Work {
            timeout: Duration::from_secs(seconds),
            iterations: 100,
            ..shell("(while true; do true; done) & echo begun; while true; do true; done")
        };
        let measured = lab.measure(&work);
        assert_eq!(measured.end, End::Failed(format!("The job took longer than its {seconds} s.")));
        // The timeout applies to all hundred runs together, not to each.
        assert_eq!(measured.results.len(), 1, "{measured:?}");
        measured.results[0].stdout.clone()
    };
    // A busy machine may need more than 3 s to start the command.
    let printed = [3, 30, 300].into_iter().find_map(run);
    assert_eq!(printed.as_deref(), Some("begun\n"));
    assert_eq!(lab.output("echo alive"), "alive\n");
}

#[test]
fn a_job_is_stopped_when_that_is_wanted() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    let watch = Watch::default();
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| {
            while watch.printed().is_none() {
                std::thread::sleep(Duration::from_millis(10));
            }
            watch.stop();
        });
        lab.measure_within(&shell("echo begun; sleep 6000"), Bounds::default(), &watch)
    });
    assert_eq!(measured.end, End::Stopped);
    assert_eq!(measured.results[0].stdout.as_deref(), Some("begun\n"));
}

#[test]
fn ten_gigabytes_of_output_take_no_memory() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    let work = shell("dd if=/dev/zero bs=1M count=10240 2>&1");
    let measured = lab.measure(&work);
    let result = &measured.results[0];
    let stdout = result.stdout.as_deref().unwrap();
    assert!(stdout.len() < (1 << 20) + 100, "{}", stdout.len());
    assert!(stdout.ends_with(" more bytes are left out]\n"), "{:?}", measured.end);
    assert!(matches!(&measured.end, End::Completed), "{:?}", measured.end);
}

#[test]
fn a_full_disk_is_its_own() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    if !lab.host.sandbox.overlay {
        skip("a full disk: nothing can be written here at all");
        return;
    }
    let (result, _) = lab.script("dd if=/dev/zero of=/fill bs=1M count=1000");
    assert!(result.stderr.unwrap().contains("No space left on device"));
    assert_ne!(result.exit_code, 0);
}

#[test]
fn a_fork_bomb_does_not_get_out() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    if !lab.has_groups("a fork bomb") {
        return;
    }
    let work = Work {
        timeout: Duration::from_secs(3),
        allow_failure: true,
        ..shell("bomb() { bomb | bomb & }; bomb; while true; do bomb; done")
    };
    let measured = lab.measure(&work);
    assert_eq!(measured.results.len(), 1, "{measured:?}");
    assert_eq!(lab.output("echo alive"), "alive\n");
}

#[test]
fn memory_ends_where_its_limit_is() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    if !lab.has_groups("the limit of memory") {
        return;
    }
    let (result, end) = lab.script("x=0123456789abcdef; while true; do x=$x$x; done");
    let End::Failed(reason) = end else { panic!("{result:?}") };
    assert!(reason.contains("more memory than the 64 MiB"), "{reason} {result:?}");
    assert_eq!(lab.output("echo alive"), "alive\n");
}

#[test]
fn the_outputs_of_many_runs_take_no_memory_and_are_limited_together() {
    let Some(lab) = Lab::open(&json!({})) else { return };
    // Each run has 12 MiB as JSON, so the 22nd exceeds the limit of 255 MiB.
    let work = Work { iterations: 60, ..shell("yes | head -c 8388608") };
    let path = lab.folder.path().join("results");
    let mut results = RunResults::create(&path, Bounds::default()).unwrap();
    let mut runs = 0;
    let on_run = |_: &_| runs += 1;
    let watch = Watch::default();
    let end = measure::run(&lab.host, &lab.image, &work, &lab.limits, &watch, &mut results, on_run);
    let End::Failed(reason) = end else { panic!("{end:?}") };
    assert!(reason.starts_with("The runs of the job have more than 255 MiB of output in all"), "{reason}");
    assert_eq!(runs, 22);
    let size = fs::metadata(path).unwrap().len();
    assert!((240 << 20..255 << 20).contains(&size), "{size}");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    assert!(peak.parse::<u64>().unwrap() < 128 << 10, "{peak} kB");
}
