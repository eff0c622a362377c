//! Two servers on one database and two runners, all killed repeatedly while they process two hundred jobs: every job
//! ends, no job runs twice, and no result is lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    client::Client,
    process::{PATIENCE, Port, Server, create_database},
    up::Site,
};

const JOBS: usize = 200;
/// Number of remaining jobs at which the kills stop, so that lost jobs are found.
const QUIET: usize = 20;
/// Longer than a runner is silent on a busy machine, and short enough to wait for a runner that does not return.
const SETTINGS: &str = "[plus.runners]\nheartbeat_timeout = 60\n";
/// Final statuses of a job.
const ENDS: [&str; 4] = ["processed", "failed", "canceled", "unknown"];

/// A runner that is restarted each time it is killed.
struct Phoenix<'a> {
    site: &'a Site,
    name: &'static str,
    key: String,
    address: String,
    process: Child,
}

impl<'a> Phoenix<'a> {
    fn rise(site: &'a Site, name: &'static str, key: String, address: &str) -> Self {
        let process = Self::start(site, name, &key, address);
        Self { site, name, key, address: address.to_owned(), process }
    }

    fn start(site: &Site, name: &str, key: &str, address: &str) -> Child {
        let log = File::options().create(true).append(true).open(log(site, name)).unwrap();
        site.up(name, key, address).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    fn die(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn rise_again(&mut self) {
        self.process = Self::start(self.site, self.name, &self.key, &self.address);
    }
}

impl Drop for Phoenix<'_> {
    fn drop(&mut self) {
        self.die();
    }
}

fn log(site: &Site, name: &str) -> PathBuf {
    site.folder.path().join(format!("{name}.log"))
}

#[test]
fn jobs_survive_the_death_of_runners_and_servers() {
    let Some((site, first)) = Site::open(SETTINGS, Some(create_database())) else { return };
    let second_port = Port::reserve();
    let second_address = second_port.address.clone();
    let second = site.serve(&second_address);
    let mut ada = Client::connect_as(&first, &site.token);
    let keys = ["one", "two"].map(|name| site.runner(&mut ada, name));
    let numbers: BTreeMap<String, usize> = (0..JOBS).map(|number| (ask(&mut ada, number), number)).collect();

    let addresses = [site.address.clone(), second_address];
    let [one, two] = keys;
    let runners =
        [Phoenix::rise(&site, "one", one, &addresses[0]), Phoenix::rise(&site, "two", two, &addresses[1])];
    let (is_quiet, ended) = (AtomicBool::new(false), AtomicUsize::new(0));
    let jobs = thread::scope(|scope| {
        let chaos = scope.spawn(|| havoc(&site, &addresses, [first, second], runners, &is_quiet, &ended));
        let began = Instant::now();
        let jobs = loop {
            thread::sleep(Duration::from_millis(200));
            let jobs = list(&addresses, &site.token);
            let open = jobs.iter().filter(|job| !ENDS.contains(&job["status"].as_str().unwrap())).count();
            ended.fetch_max(jobs.len() - open, Ordering::AcqRel);
            if !jobs.is_empty() && open <= QUIET {
                is_quiet.store(true, Ordering::Release);
            }
            if !jobs.is_empty() && open == 0 {
                break jobs;
            }
            if began.elapsed() > PATIENCE {
                is_quiet.store(true, Ordering::Release);
                panic!("{open} jobs have not ended: {:?}", count(&jobs));
            }
        };
        eprintln!("{:?} after {:?}", count(&jobs), began.elapsed());
        drop(chaos.join().unwrap());
        jobs
    });
    assert_eq!(jobs.len(), JOBS);

    // What the runners did, according to their logs.
    let (mut begun, mut completed) = (BTreeMap::new(), BTreeSet::new());
    for name in ["one", "two"] {
        for line in fs::read_to_string(log(&site, name)).unwrap().lines() {
            // A killed runner leaves a partial line.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let job = line["job"].as_str().unwrap_or_default().to_owned();
            match line["message"].as_str() {
                Some("benchmarks started") => *begun.entry(job).or_insert(0) += 1,
                Some("job ended") if line["end"] == "completed" => {
                    completed.insert(job);
                }
                _ => {}
            }
        }
    }
    let twice: Vec<_> = begun.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(completed.len() > JOBS / 2, "{} only", completed.len());

    let server = site.serve("127.0.0.1:0");
    let mut ada = Client::connect_as(&server, &site.token);
    for (job, number) in &numbers {
        let (_, found) = ada.get(&format!("/v0/projects/lab/jobs/{job}")).unwrap();
        let status = found["status"].as_str().unwrap();
        assert!(status == "processed" || !completed.contains(job), "a result was lost: {found}");
        let (_, report) =
            ada.get(&format!("/v0/projects/lab/reports/{}", found["report"].as_str().unwrap())).unwrap();
        if status == "processed" {
            let printed = found["output"]["results"][0]["stdout"].as_str().unwrap();
            assert!(printed.contains(&format!("\"value\":{number}}}")), "{printed} of {number}");
            assert_eq!(report["results"].as_array().map(Vec::len), Some(1), "{report}");
        } else {
            assert_eq!(report["results"], json!([]), "{found}");
            assert!(found["error"].is_string(), "{found}");
        }
    }
}

/// Creates a job that prints its number.
fn ask(client: &mut Client, number: usize) -> String {
    let now = "2026-01-01T00:00:00Z";
    let run = json!({
        "project": "lab", "branch": "main", "testbed": "metal", "start_time": now, "end_time": now, "results": [],
        "settings": { "adapter": "json" },
        "job": { "image": "lab/bench:v1", "env": { "VALUE": number.to_string() }, "timeout": 600 },
    });
    let (status, answer) = client.post("/v0/run", &run).unwrap();
    assert_eq!(status, 201, "{answer}");
    answer["job"].as_str().unwrap().to_owned()
}

/// Kills and restarts a server or a runner from time to time, until `is_quiet`. Returns the remaining processes.
fn havoc<'a>(
    site: &'a Site,
    addresses: &[String; 2],
    mut servers: [Server; 2],
    mut runners: [Phoenix<'a>; 2],
    is_quiet: &AtomicBool,
    ended: &AtomicUsize,
) -> ([Server; 2], [Phoenix<'a>; 2]) {
    let mut dice = u64::from(std::process::id());
    eprintln!("the dice begin with {dice}");
    let mut roll = |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    let mut next = 0;
    while !is_quiet.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(roll(500)));
        // Triggered by finished jobs and not by the clock; otherwise a slow machine would make no progress.
        if ended.load(Ordering::Acquire) < next {
            continue;
        }
        next = ended.load(Ordering::Acquire) + 3 + roll(8) as usize;
        let (victim, rest) = (roll(2) as usize, Duration::from_millis(roll(500)));
        if roll(2) == 0 {
            runners[victim].die();
            thread::sleep(rest);
            runners[victim].rise_again();
        } else {
            servers[victim].kill();
            thread::sleep(rest);
            servers[victim] = site.serve(&addresses[victim]);
        }
    }
    (servers, runners)
}

/// Returns all jobs from a server that is alive; empty if none is.
fn list(addresses: &[String; 2], token: &str) -> Vec<Value> {
    let ask = |address: &String| {
        let stream = TcpStream::connect(address).ok()?;
        let mut client = Client::over(stream, token);
        let (status, list) = client.get("/v0/projects/lab/jobs?per_page=255").ok()?;
        if status == 200 { list.as_array().cloned() } else { None }
    };
    addresses.iter().find_map(ask).unwrap_or_default()
}

fn count(jobs: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for job in jobs {
        *counts.entry(job["status"].as_str().unwrap()).or_insert(0) += 1;
    }
    counts
}
