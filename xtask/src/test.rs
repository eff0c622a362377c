//! `cargo xtask test`: runs all tests of the repository, with the servers that they need.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek},
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::{
    Result, agents, artifacts, conformance, console, in_process, postgres, s3, service,
    timing::Timing,
    tools::{self, say},
    workflow,
};

/// Environment variable with the URL of the PostgreSQL server for the Rust tests. If it is set beforehand, no private
/// server is started.
pub(crate) const POSTGRES: &str = "TIDEMARK_TEST_POSTGRES";

/// Environment variable with the URL of the S3 server; works the same.
const S3: &str = "TIDEMARK_TEST_S3";
/// Environment variable that names a Python with a payment provider for tests.
pub(crate) const LOCALSTRIPE: &str = "TIDEMARK_TEST_LOCALSTRIPE";
/// Version of the payment provider that the tests were written with.
const LOCALSTRIPE_VERSION: &str = "1.15.10";

/// Environment variable that skips the full-disk tests, for machines that cannot mount file systems.
const SKIP_FULL_DISK: &str = "TIDEMARK_TEST_SKIP_FULL_DISK";

/// Environment variable that makes container tests fail if the machine cannot run containers; without it, they are
/// skipped.
const CONTAINERS: &str = "TIDEMARK_TEST_CONTAINERS";
/// Environment variable that skips container tests, for machines that cannot run containers.
const SKIP_CONTAINERS: &str = "TIDEMARK_TEST_SKIP_CONTAINERS";

/// Programs that the Rust tests call, and their Debian packages: Python runs the mail server for tests, skopeo is a
/// client of the registry, crun runs jobs, and busybox is in their images.
const PROGRAMS: [(&str, &str); 4] =
    [("python3", "python3"), ("skopeo", "skopeo"), ("crun", "crun"), ("busybox", "busybox-static")];

/// Checks of a live server, with the arguments of `cargo xtask` that run each.
const LIVE: [(&str, &[&str]); 3] =
    [("conformance", &["conformance"]), ("agents", &["agents"]), ("browser", &["console", "browse"])];

/// Crates whose tests need no servers and no other programs. As filters, these names select all tests of the crates.
const CRATES: [&str; 4] = ["adapters", "api", "render", "stats"];

/// Runs all tests, or with filters only the Rust tests whose name contains one of them, or the tests of some [`CRATES`]. `full` also
/// tests the artifacts.
pub(crate) fn all(filters: &[String], full: bool) -> Result {
    let mut timing = Timing::start();
    let mut outcome =
        if filters.is_empty() { everything(&mut timing) } else { selected(&mut timing, filters) };
    if full && outcome.is_ok() {
        outcome =
            timing.phase("workflows", workflow::check).and_then(|()| artifacts::check(&mut timing, true));
    }
    timing.print();
    outcome?;
    say("Every test passed.");
    Ok(())
}

fn selected(timing: &mut Timing, filters: &[String]) -> Result {
    if filters.iter().all(|filter| CRATES.contains(&filter.as_str())) {
        return crates(timing, filters);
    }
    timing.phase("install", install_for_rust)?;
    timing.phase("build", tools::build)?;
    rust(timing, filters)
}

/// Runs all tests of crates that need no servers.
fn crates(timing: &mut Timing, names: &[String]) -> Result {
    let with_nextest = tools::succeeds(&mut tools::cargo(&["nextest", "--version"])?);
    let mut tests = tools::cargo(if with_nextest { &["nextest", "run"] } else { &["test"] })?;
    for name in names {
        tests.args(["--package", &format!("tidemark-{name}")]);
    }
    timing.phase("Rust tests", || tools::run(&mut tests))
}

fn everything(timing: &mut Timing) -> Result {
    thread::scope(|scope| {
        // The installation waits for the network and the disk; the compiler does not.
        let install = scope.spawn(|| {
            install_for_rust()?;
            console::chromium()?;
            conformance::install()?;
            agents::install()
        });
        // Before the build, because the server embeds the console.
        timing.phase("console", console::check)?;
        timing.phase("build", tools::build)?;
        timing.phase("rest of installation", || {
            install.join().unwrap_or_else(|_| Err("the installation panicked".to_owned()))
        })
    })?;
    rust(timing, &[])?;
    live(timing)
}

/// Installs the programs that the Rust tests need.
fn install_for_rust() -> Result {
    let missing: Vec<_> = PROGRAMS
        .iter()
        .filter(|(name, _)| tools::find(name).is_none())
        .map(|(_, package)| *package)
        .collect();
    if !missing.is_empty() {
        tools::install(&missing)?;
    }
    if env::var_os(POSTGRES).is_none() {
        postgres::install()?;
    }
    if env::var_os(S3).is_none() {
        s3::install()?;
    }
    localstripe().map(drop)
}

/// Runs the Rust tests on both engines.
fn rust(timing: &mut Timing, filters: &[String]) -> Result {
    if env::var_os(SKIP_FULL_DISK).is_some() {
        say(&format!(
            "The tests in full_disk.rs are skipped if they cannot be run, since {SKIP_FULL_DISK} is set."
        ));
    }
    let mut variables: Vec<(&str, OsString)> = Vec::new();
    if env::var_os(SKIP_CONTAINERS).is_some() {
        say(&format!(
            "The tests that run a container are skipped where none can be run, since {SKIP_CONTAINERS} is set."
        ));
    } else {
        variables.push((CONTAINERS, "required".into()));
    }

    let _s3 = match env::var_os(S3) {
        Some(_) => None,
        None => {
            say("Starting a private S3 server.");
            let s3 = s3::start().map_err(|reason| format!("{reason} (or name a server in {S3})"))?;
            variables.push((S3, s3.url.clone().into()));
            Some(s3)
        }
    };
    variables.push((LOCALSTRIPE, localstripe()?));
    let _postgres = match env::var_os(POSTGRES) {
        Some(_) => {
            say(&format!("Running the tests with the PostgreSQL server that {POSTGRES} names."));
            None
        }
        None => {
            say("Starting a private PostgreSQL server.");
            let postgres =
                postgres::start().map_err(|reason| format!("{reason} (or name a server in {POSTGRES})"))?;
            variables.push((POSTGRES, postgres.url.clone().into()));
            Some(postgres)
        }
    };
    let files = Scratch::create()?;
    variables.push(("TMPDIR", files.0.clone().into()));
    say("Running the Rust tests.");
    let start = Instant::now();
    let outcome = if tools::succeeds(&mut tools::cargo(&["nextest", "--version"])?) {
        with_nextest(timing, filters, &variables)
    } else {
        say(
            "cargo-nextest is not installed: cargo runs the tests, without test groups and without their times.",
        );
        let mut tests = tools::cargo(&["test", "--workspace", "--all-targets", "--"])?;
        tools::run(tests.args(filters).envs(variables))
    };
    timing.add_phase("Rust tests", start.elapsed());
    outcome
}

/// Runs the tests of the server in one process, and beside it all others in a process each.
fn with_nextest(timing: &mut Timing, filters: &[String], variables: &[(&str, OsString)]) -> Result {
    let junit = tools::target()?.join("nextest/default/junit.xml");
    // From an earlier run.
    let _ = fs::remove_file(&junit);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    // A third of the duration of a test is waiting: for PostgreSQL, a process or a file.
    let in_one_process = in_process::Run::new(2 * cores, filters, variables)?;
    let mut others = tools::cargo(&["nextest", "run", "--workspace", "--no-tests", "pass"])?;
    others
        .args(["--test-threads", &cores.to_string(), "--filterset", &in_process::rest()])
        .args(filters)
        .envs(variables.iter().map(|(name, value)| (name, value)));
    let (others, in_one_process) = thread::scope(|scope| {
        let in_one_process = scope.spawn(|| in_one_process.execute());
        (tools::run(&mut others), in_one_process.join())
    });
    timing.add_junit(&junit);
    let (tests, outcome) =
        in_one_process.map_err(|_| "the run of the tests of the server panicked".to_owned())?;
    timing.add_tests(in_process::BINARY, tests);
    others.and(outcome)?;
    if timing.has_tests() {
        Ok(())
    } else {
        Err(format!("no Rust test has {} in its name", filters.join(" or ")))
    }
}

/// The folder of the files that tests write, in memory if there is enough: a test waits for every write to the database.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> Result<Self> {
        service::folder("tests").map(Self)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the checks of a live server in parallel. Each has its own server and mostly waits for its client.
fn live(timing: &mut Timing) -> Result {
    let folder = tools::target()?;
    let junit = folder.join("browser-junit.xml");
    // From an earlier run.
    let _ = fs::remove_file(&junit);
    say(&format!(
        "Running {}; the output of each follows when it ends.",
        LIVE.map(|(name, _)| name).join(", ")
    ));
    let ended = thread::scope(|scope| {
        let started = LIVE.map(|(name, arguments)| {
            let (folder, junit) = (&folder, &junit);
            scope.spawn(move || check(folder, name, arguments, junit))
        });
        started.map(thread::ScopedJoinHandle::join)
    });
    timing.add_junit(&junit);
    let mut failed = Vec::new();
    for ((name, _), ended) in LIVE.into_iter().zip(ended) {
        let (duration, outcome) = ended.map_err(|_| format!("the check {name} panicked"))?;
        timing.add_phase(name, duration);
        failed.extend(outcome.err());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Runs a check with its output in a file, and prints the output when the check ends.
fn check(folder: &Path, name: &str, arguments: &[&str], junit: &Path) -> (Duration, Result) {
    let start = Instant::now();
    let log = folder.join(format!("{name}.log"));
    // Not the file of this process: the build has replaced it.
    let program = folder.join("debug/xtask");
    let run = || -> io::Result<(bool, String)> {
        let mut output = File::options().create(true).truncate(true).read(true).write(true).open(&log)?;
        let status = Command::new(&program)
            .args(arguments)
            .env(console::JUNIT, junit)
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .status()?;
        let mut text = String::new();
        output.rewind()?;
        output.read_to_string(&mut text)?;
        Ok((status.success(), text))
    };
    let outcome = match run() {
        Ok((success, text)) => {
            eprint!("\nxtask: {name} ended after {:.0} s:\n{text}", start.elapsed().as_secs_f64());
            if success { Ok(()) } else { Err(format!("the check {name} failed")) }
        }
        Err(error) => Err(format!("the check {name} could not be run: {error}")),
    };
    (start.elapsed(), outcome)
}

/// Returns a Python with a payment provider: the one in the environment variable, or our own.
pub(crate) fn localstripe() -> Result<OsString> {
    if let Some(python) = env::var_os(LOCALSTRIPE) {
        return Ok(python);
    }
    let package = format!("localstripe=={LOCALSTRIPE_VERSION}");
    let name = format!("localstripe-{LOCALSTRIPE_VERSION}");
    Ok(tools::python(&name, &[package], "import localstripe.server")?.join("python").into())
}
