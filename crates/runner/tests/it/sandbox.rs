//! What a run can do, and what the sandbox prevents.

use std::{
    env, fs,
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidemark_api::{Adapter, JobBase, JobIteration, JobSide};
use tidemark_runner::{
    Host,
    image::{Image, Images, Source},
    measure::{self, JobEnd, JobPlan, OutputLimits, PairJob, PairLimits, RunResults},
    sandbox::{Limits, RunControl},
};

use crate::layout;

/// Timeout of jobs that end by themselves. It only stops a job that hangs; no test depends on the speed of the
/// machine.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A host and an image to run on it.
struct TestHost {
    host: Host,
    image: Image,
    limits: Limits,
    folder: TempDir,
}

/// Results and end of a job.
#[derive(Debug)]
struct JobResult {
    results: Vec<JobIteration>,
    end: JobEnd,
}

impl TestHost {
    /// Prints a message and returns `None` if no runtime works on this machine.
    fn new(config: &Value) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let host = match Host::prepare(&folder.path().join("runner")) {
            Ok(host) => host,
            Err(error) => {
                skip(&format!("this machine cannot run containers: {error}"));
                return None;
            }
        };
        eprintln!("note: {} {}", host.sandbox.runtime.name, host.sandbox.runtime.version);
        host.restrictions.iter().for_each(|restriction| eprintln!("note: {restriction}"));
        layout::busybox(&folder.path().join("layout"), config);
        let images = Images::open(folder.path().join("images")).unwrap();
        let (source, tag) = Source::parse(folder.path().join("layout").to_str().unwrap(), None).unwrap();
        let image = images.get(&source, &tag).unwrap();
        let limits =
            Limits { cores: host.cores.choose(1).unwrap(), memory: 64 << 20, disk: 16 << 20, network: false };
        Some(Self { host, image, limits, folder })
    }

    fn measure(&self, plan: &JobPlan) -> JobResult {
        let bounds = OutputLimits { output: 1 << 20, ..OutputLimits::default() };
        self.measure_within(plan, bounds, &RunControl::default())
    }

    fn measure_within(&self, plan: &JobPlan, bounds: OutputLimits, control: &RunControl) -> JobResult {
        let mut results = RunResults::create(&self.folder.path().join("results"), bounds).unwrap();
        let end = measure::run(&self.host, &self.image, plan, &self.limits, control, &mut results, |_| ());
        JobResult { results: results.read().unwrap(), end }
    }

    /// Runs a script once, and returns its result and the end of the job.
    fn script(&self, script: &str) -> (JobIteration, JobEnd) {
        let mut job = self.measure(&shell(script));
        assert_eq!(job.results.len(), 1, "{job:?}");
        (job.results.remove(0), job.end)
    }

    /// Returns the output of a script that succeeds.
    fn output(&self, script: &str) -> String {
        let (result, end) = self.script(script);
        assert_eq!(end, JobEnd::Completed, "{result:?}");
        result.stdout.unwrap_or_default()
    }

    /// Whether control groups enforce limits on this machine; otherwise skips the test.
    fn has_cgroups(&self, what: &str) -> bool {
        let has = self.host.sandbox.cgroups.is_some();
        if !has {
            skip(&format!("{what}: control groups cannot be created on this machine"));
        }
        has
    }
}

/// Skips a part of a test that this machine cannot run. With `cargo xtask test`, which installs the runtime, it fails
/// instead.
fn skip(reason: &str) {
    assert!(
        env::var_os("TIDEMARK_TEST_CONTAINERS").is_none(),
        "{reason}: set TIDEMARK_TEST_SKIP_CONTAINERS=1 to skip the tests that run a container"
    );
    eprintln!("SKIPPED: {reason}");
}

fn shell(script: &str) -> JobPlan {
    JobPlan {
        entrypoint: Some(vec!["sh".into(), "-c".into(), script.into()]),
        timeout: TIMEOUT,
        iterations: 1,
        ..JobPlan::default()
    }
}

#[test]
fn a_command_runs_with_the_configuration_of_its_image() {
    let config = json!({ "Cmd": ["sh", "-c", "id; echo $NAME; ls"], "User": "ben", "Env": ["NAME=world"],
        "WorkingDir": "/etc" });
    let Some(test) = TestHost::new(&config) else { return };
    let job = test.measure(&JobPlan { timeout: TIMEOUT, iterations: 2, ..JobPlan::default() });
    assert_eq!((&job.end, job.results.len()), (&JobEnd::Completed, 2), "{job:?}");
    let result = &job.results[1];
    assert_eq!(result.stdout.as_deref(), Some("uid=1234(ben) gid=1235\nworld\npasswd\n"));
    assert!(result.noise.is_some_and(|noise| noise.before > 0.0 && noise.after > 0.0));
}

#[test]
fn exit_status_output_and_files_are_returned() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    let script = "echo out; echo err >&2; echo '{}' > /tmp/result.json; exit 3";
    let plan = JobPlan { files: vec!["tmp/result.json".into(), "missing".into()], ..shell(script) };
    let job = test.measure(&plan);
    assert_eq!(job.end, JobEnd::Failed("The command exited with status 3.".to_owned()));
    let result = &job.results[0];
    assert_eq!((result.exit_code, result.stdout.as_deref()), (3, Some("out\n")));
    assert_eq!(result.stderr.as_deref(), Some("err\n"));
    assert_eq!(json!(result.output), json!({ "tmp/result.json": "{}\n" }));

    // A run does not see what an earlier run wrote, and the image stays unchanged.
    let again = JobPlan { iterations: 2, allow_failure: true, ..shell("ls /mark; echo x > /mark") };
    let job = test.measure(&again);
    assert_eq!((&job.end, job.results.len()), (&JobEnd::Completed, 2));
    assert!(job.results.iter().all(|run| run.stdout.is_none()), "{job:?}");
    assert!(!test.image.root.join("mark").exists());

    let sizes = JobPlan { files: vec!["/bin/busybox".into()], file_size: true, ..shell("true") };
    let size = fs::metadata("/bin/busybox").unwrap().len();
    let output = test.measure(&sizes).results.remove(0).output.unwrap();
    let found: Value = serde_json::from_str(output.values().next().unwrap()).unwrap();
    assert_eq!(found, json!({ "busybox": { "file-size": { "value": size } } }));
    let timed = JobPlan { build_time: true, ..shell("sleep 0.3") };
    let began = Instant::now();
    let output = test.measure(&timed).results.remove(0).output.unwrap();
    let found: Value = serde_json::from_str(output.values().next().unwrap()).unwrap();
    let seconds = found["sh -c sleep 0.3"]["build-time"]["value"].as_f64().unwrap();
    // In seconds: at most the duration of the whole job.
    assert!((0.3..began.elapsed().as_secs_f64()).contains(&seconds), "{found}");

    let missing = JobPlan { entrypoint: Some(vec!["/no/such/program".into()]), ..shell("") };
    let job = test.measure(&missing);
    let JobEnd::Failed(reason) = job.end else { panic!("{job:?}") };
    assert!(reason.contains("could not run the command"), "{reason}");
}

#[test]
fn a_job_is_isolated_from_the_host() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    let secret = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    fs::write(secret.path(), "secret").unwrap();
    let path = secret.path().display();
    let (result, _) = test.script(&format!("cat {path} /proc/1/root{path} /../../..{path}"));
    assert!(result.exit_code != 0 && result.stdout.is_none(), "{result:?}");

    // A link to a path of the host is resolved inside the sandbox, where the path does not exist.
    let plan = JobPlan { files: vec!["/leak".into()], ..shell(&format!("ln -s {path} /leak")) };
    let job = test.measure(&plan);
    assert_eq!((&job.end, &job.results[0].output), (&JobEnd::Completed, &None), "{job:?}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (result, _) = test.script(&format!("wget -T 2 -O - http://127.0.0.1:{port}/"));
    assert!(result.exit_code != 0, "{result:?}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the host was reached");
    assert_eq!(test.output("ls /sys/class/net"), "lo\n");

    // The job sees only its own processes, has no capabilities, and cannot change the system.
    let first = test.output("cat /proc/1/cmdline");
    assert!(first.contains("/proc/1/cmdline"), "{first:?}");
    let status = test.output("cat /proc/self/status");
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{status}");
    }
    let (result, _) = test.script("echo 1 > /proc/sys/kernel/printk");
    assert!(result.exit_code != 0, "{result:?}");
    let (result, _) = test.script("echo b > /proc/sysrq-trigger");
    assert!(result.exit_code != 0, "{result:?}");
    let devices = test.output("ls /dev");
    assert!(!devices.contains("sda") && !devices.contains("vda") && !devices.contains("mem"), "{devices}");
}

#[test]
fn an_endless_loop_and_its_children_are_killed_at_the_timeout() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    let run = |seconds| {
        let plan = JobPlan {
            timeout: Duration::from_secs(seconds),
            iterations: 100,
            ..shell("(while true; do true; done) & echo begun; while true; do true; done")
        };
        let job = test.measure(&plan);
        assert_eq!(job.end, JobEnd::Failed(format!("The job exceeded its timeout of {seconds} s.")));
        // The timeout applies to all hundred runs together, not to each.
        assert_eq!(job.results.len(), 1, "{job:?}");
        job.results[0].stdout.clone()
    };
    // A busy machine may need more than 3 s to start the command.
    let printed = [3, 30, 300].into_iter().find_map(run);
    assert_eq!(printed.as_deref(), Some("begun\n"));
    assert_eq!(test.output("echo alive"), "alive\n");
}

#[test]
fn a_job_is_stopped_on_request() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    let control = RunControl::default();
    let job = std::thread::scope(|scope| {
        scope.spawn(|| {
            while control.take_output_tail().is_none() {
                std::thread::sleep(Duration::from_millis(10));
            }
            control.stop();
        });
        test.measure_within(&shell("echo begun; sleep 6000"), OutputLimits::default(), &control)
    });
    assert_eq!(job.end, JobEnd::Stopped);
    assert_eq!(job.results[0].stdout.as_deref(), Some("begun\n"));
}

#[test]
fn ten_gigabytes_of_output_use_no_memory() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    let plan = shell("dd if=/dev/zero bs=1M count=10240 2>&1");
    let job = test.measure(&plan);
    let result = &job.results[0];
    let stdout = result.stdout.as_deref().unwrap();
    assert!(stdout.len() < (1 << 20) + 100, "{}", stdout.len());
    assert!(stdout.ends_with(" more bytes are left out]\n"), "{:?}", job.end);
    assert!(matches!(&job.end, JobEnd::Completed), "{:?}", job.end);
}

#[test]
fn a_job_is_limited_to_its_disk() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    if !test.host.sandbox.overlay {
        skip("the disk limit: no overlay file system");
        return;
    }
    let (result, _) = test.script("dd if=/dev/zero of=/fill bs=1M count=1000");
    assert!(result.stderr.unwrap().contains("No space left on device"));
    assert_ne!(result.exit_code, 0);
}

#[test]
fn a_fork_bomb_is_contained() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    if !test.has_cgroups("a fork bomb") {
        return;
    }
    let plan = JobPlan {
        timeout: Duration::from_secs(3),
        allow_failure: true,
        ..shell("bomb() { bomb | bomb & }; bomb; while true; do bomb; done")
    };
    let job = test.measure(&plan);
    assert_eq!(job.results.len(), 1, "{job:?}");
    assert_eq!(test.output("echo alive"), "alive\n");
}

#[test]
fn a_job_is_limited_to_its_memory() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    if !test.has_cgroups("the limit of memory") {
        return;
    }
    let (result, end) = test.script("x=0123456789abcdef; while true; do x=$x$x; done");
    let JobEnd::Failed(reason) = end else { panic!("{result:?}") };
    assert!(reason.contains("exceeded its memory limit of 64 MiB"), "{reason} {result:?}");
    assert_eq!(test.output("echo alive"), "alive\n");
}

#[test]
fn the_total_output_of_a_job_is_limited_and_uses_no_memory() {
    let Some(test) = TestHost::new(&json!({})) else { return };
    // Each run has 12 MiB as JSON, so the 22nd exceeds the limit of 255 MiB.
    let plan = JobPlan { iterations: 60, ..shell("yes | head -c 8388608") };
    let path = test.folder.path().join("results");
    let mut results = RunResults::create(&path, OutputLimits::default()).unwrap();
    let mut runs = 0;
    let on_run = |_: &_| runs += 1;
    let control = RunControl::default();
    let end = measure::run(&test.host, &test.image, &plan, &test.limits, &control, &mut results, on_run);
    let JobEnd::Failed(reason) = end else { panic!("{end:?}") };
    assert!(reason.starts_with("The total output of the job exceeds 255 MiB"), "{reason}");
    assert_eq!(runs, 22);
    let size = fs::metadata(path).unwrap().len();
    assert!((240 << 20..255 << 20).contains(&size), "{size}");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    assert!(peak.parse::<u64>().unwrap() < 128 << 10, "{peak} kB");
}

#[test]
fn two_images_are_measured_in_pairs_until_the_verdict_is_known() {
    let Some(test) = TestHost::new(&json!({ "Env": ["VALUE=10"] })) else { return };
    let layout = test.folder.path().join("new");
    layout::busybox(&layout, &json!({ "Env": ["VALUE=12"] }));
    let images = Images::open(test.folder.path().join("new-images")).unwrap();
    let (source, tag) = Source::parse(layout.to_str().unwrap(), None).unwrap();
    let new_image = images.get(&source, &tag).unwrap();
    // Prints the cores, too.
    let plan = shell(
        r#"echo "{\"a\":{\"latency\":{\"value\":$VALUE}}}"; grep Cpus_allowed_list /proc/self/status >&2"#,
    );
    let base = JobBase {
        repository: None,
        digest: String::new(),
        image: None,
        adapter: Adapter::Json,
        duet: false,
        rounds: 20,
        benchmarks: Vec::new(),
        min_change: 0.01,
        same_within: 0.05,
    };
    let alone = PairLimits::Interleaved(test.limits.clone());
    // Without a second core, both sides run on the same one.
    let mut cores = test.host.cores.choose(2).unwrap_or_else(|_| test.limits.cores.repeat(2));
    let second = Limits { cores: cores.split_off(1), ..test.limits.clone() };
    let has_two_cores = cores != second.cores;
    let duet = PairLimits::Duet([Limits { cores, ..test.limits.clone() }, second]);
    for (limits, runs_per_round) in [(&alone, 2), (&duet, 4)] {
        let job = PairJob {
            base_image: &test.image,
            new_image: &new_image,
            plan: &plan,
            base: &base,
            average: None,
            limits,
        };
        let path = test.folder.path().join("results");
        let mut results = RunResults::create(&path, OutputLimits::default()).unwrap();
        let mut runs = 0;
        let end = job.run(&test.host, &RunControl::default(), &mut results, |_| runs += 1);
        assert_eq!(end, JobEnd::Completed);
        let results = results.read().unwrap();
        // Values without noise that differ need nine pairs.
        assert_eq!((runs, results.len()), (9 * runs_per_round, 9 * runs_per_round));
        for (index, result) in results.iter().enumerate() {
            let (side, value) = if index % 2 == 0 { (JobSide::Base, "10") } else { (JobSide::New, "12") };
            assert_eq!(
                (result.side, result.round),
                (Some(side), u32::try_from(index / runs_per_round + 1).ok())
            );
            assert!(result.stdout.as_ref().unwrap().contains(value), "{result:?}");
        }
        // In each round of a duet, both sides run on both sets of cores.
        for round in results.chunks(4).filter(|_| runs_per_round == 4 && has_two_cores) {
            let cores: Vec<&str> = round.iter().map(|run| run.stderr.as_deref().unwrap()).collect();
            assert_eq!((cores[0], cores[1]), (cores[3], cores[2]));
            assert_ne!(cores[0], cores[1]);
        }
    }
    // A failed side fails the job, unless failures are allowed.
    let failing = JobPlan { allow_failure: false, ..shell("exit $VALUE") };
    let job = PairJob {
        base_image: &test.image,
        new_image: &new_image,
        plan: &failing,
        base: &base,
        average: None,
        limits: &alone,
    };
    let mut results =
        RunResults::create(&test.folder.path().join("failed"), OutputLimits::default()).unwrap();
    let end = job.run(&test.host, &RunControl::default(), &mut results, |_| ());
    assert_eq!(end, JobEnd::Failed("The command exited with status 10.".into()));
}
