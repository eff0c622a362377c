//! Jobs from end to end: the test pushes an image and creates a job, a runner runs it with a real OCI runtime, and a
//! report exists. Tests that this machine cannot run are skipped with a message.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tidemark_test_support::Stub;

use crate::{
    client::Client,
    process::{Port, Server, create_database, has_containers, isolated, tidemark, wait_until},
    proxy::Proxy,
};

/// Prints a result with the value in the environment of the job.
const SCRIPT: &str = r#"echo "{\"sort\":{\"latency\":{\"value\":$VALUE}}}""#;

/// A server with a project, an image and a spec; and everything that a runner needs.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) token: String,
    key: String,
    pub(crate) address: String,
    _port: Port,
    database: Option<String>,
}

impl Site {
    /// Creates a site; prints a message and returns `None` if this machine cannot run jobs.
    pub(crate) fn open(settings: &str, database: Option<String>) -> Option<(Self, Server)> {
        Self::open_at(Port::reserve(), settings, database)
    }

    /// Creates a site whose server has this port.
    fn open_at(port: Port, settings: &str, database: Option<String>) -> Option<(Self, Server)> {
        let folder = tempfile::tempdir().unwrap();
        if !has_containers(folder.path()) {
            return None;
        }
        let address = port.address.clone();
        let settings = format!("[console]\nurl = \"http://{address}\"\n{settings}");
        fs::write(folder.path().join("server.toml"), &settings).unwrap();
        let mut site =
            Self { folder, token: String::new(), key: String::new(), address, _port: port, database };
        let server = site.serve(&site.address);
        let mut ada = Client::connect(&server);
        ada.sign_up("Ada", &site.data());
        site.token.clone_from(&ada.token);
        let mut create = |path: &str, body: Value| {
            let (status, answer) = ada.post(path, &body).unwrap();
            assert_eq!(status, 201, "{answer}");
            answer
        };
        create("/v0/organizations/ada/projects", json!({ "name": "Lab" }));
        let key = create("/v0/users/ada/keys", json!({ "name": "skopeo" }));
        site.key = key["key"].as_str().unwrap().to_owned();
        let machine = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
        create(
            "/v0/specs",
            json!({ "name": "Metal", "os": "linux", "architecture": machine, "cpu": 1, "memory": 64 << 20,
                "disk": 16 << 20, "network": false, "fallback": true }),
        );
        site.push();
        Some((site, server))
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a server of the site.
    pub(crate) fn serve(&self, address: &str) -> Server {
        let mut command = tidemark(&["serve", "--bind", address, "--data-dir"]);
        command.arg(self.data()).arg("--config").arg(self.folder.path().join("server.toml"));
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
        let mut server = Server::spawn(&mut command);
        server.drain();
        server
    }

    /// Creates an image of one static program and pushes it with skopeo.
    fn push(&self) {
        self.push_as("v1", &[]);
    }

    /// Creates an image with these environment variables and pushes it with this tag.
    pub(crate) fn push_as(&self, tag: &str, env: &[&str]) {
        let layout = self.folder.path().join(format!("layout-{tag}"));
        write_layout(&layout, env);
        let output = isolated("skopeo")
            .args(["--insecure-policy", "copy", "--dest-tls-verify=false", "--dest-creds"])
            .arg(format!("ada@example.org:{}", self.key))
            .arg(format!("oci:{}:v1", layout.display()))
            .arg(format!("docker://{}/lab/bench:{tag}", self.address))
            .output()
            .expect("skopeo is installed; `cargo xtask test` installs it");
        assert!(output.status.success(), "{output:?}");
    }

    /// Creates a runner, and returns its key.
    pub(crate) fn runner(&self, client: &mut Client, name: &str) -> String {
        let (status, answer) = client.post("/v0/runners", &json!({ "name": name })).unwrap();
        assert_eq!(status, 201, "{answer}");
        let path = format!("/v0/runners/{name}/specs");
        let (status, added) = client.post(&path, &json!({ "spec": "metal" })).unwrap();
        assert_eq!(status, 201, "{added}");
        answer["key"].as_str().unwrap().to_owned()
    }

    /// Returns the command of a runner of this server. It does not tune the machine.
    pub(crate) fn up(&self, name: &str, key: &str, address: &str) -> Command {
        let mut command = tidemark(&["runner", "up", "--no-tuning", "--data-dir"]);
        command.arg(self.folder.path().join(name));
        command.env("TIDEMARK_HOST", format!("http://{address}"));
        command.env("TIDEMARK_RUNNER", name).env("TIDEMARK_RUNNER_KEY", key);
        command
    }

    /// Creates a job with the command.
    fn run(&self, arguments: &[&str]) -> Output {
        self.run_image("lab/bench:v1", arguments)
    }

    /// Creates a job of an image with the command.
    pub(crate) fn run_image(&self, image: &str, arguments: &[&str]) -> Output {
        let mut command = tidemark(&["run", "--project", "lab", "--image", image]);
        if !arguments.contains(&"--detach") {
            command.args(["--poll-interval", "1"]);
        }
        command.args(["--branch", "main", "--testbed", "metal", "--adapter", "json"]).args(arguments);
        command.env("TIDEMARK_HOST", format!("http://{}", self.address)).env("TIDEMARK_API_KEY", &self.key);
        command.current_dir(self.folder.path()).env("GIT_CEILING_DIRECTORIES", self.folder.path());
        command.output().unwrap()
    }
}

/// A runner that stops when dropped.
pub(crate) struct Up(pub(crate) Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes an image of a static shell in the OCI image layout.
fn write_layout(folder: &Path, env: &[&str]) {
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let digest = |bytes: &[u8]| {
        let hex = hex::encode(Sha256::digest(bytes));
        format!("sha256:{hex}")
    };
    let add = |kind: &str, bytes: &[u8]| {
        let digest = digest(bytes);
        fs::write(folder.join("blobs").join(digest.replace(':', "/")), bytes).unwrap();
        json!({ "mediaType": format!("application/vnd.oci.image.{kind}"), "digest": digest, "size": bytes.len() })
    };
    let mut layer = tar::Builder::new(Vec::new());
    layer
        .append_path_with_name("/bin/busybox", "bin/sh")
        .expect("busybox-static is installed; `cargo xtask test` installs it");
    let layer = layer.into_inner().unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut gzip, &layer).unwrap();
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let config = json!({ "os": "linux", "architecture": machine, 
        "config": { "Cmd": ["/bin/sh", "-c", SCRIPT], "Env": env },
        "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] } });
    let config = add("config.v1+json", config.to_string().as_bytes());
    let layers = [add("layer.v1.tar+gzip", &gzip.finish().unwrap())];
    let manifest = json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": layers });
    let mut manifest = add("manifest.v1+json", manifest.to_string().as_bytes());
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": "v1" });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
}

#[test]
fn a_job_becomes_a_report_and_an_alert() {
    let Some((site, server)) = Site::open("", None) else { return };
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let mut runner = Up(site.up("one", &key, &site.address).stderr(Stdio::null()).spawn().unwrap());

    let threshold = [
        "--threshold-measure",
        "latency",
        "--threshold-test",
        "static",
        "--threshold-upper-boundary",
        "2000",
        "--thresholds-reset",
        "--json",
    ];
    let output = site.run(&[&["--env", "VALUE=1000", "--iter", "2"], &threshold[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["alerts"], report["results"].as_array().map(Vec::len)),
        (&json!([]), Some(2)),
        "{report}"
    );
    let (_, job) = ada.get(&format!("/v0/projects/lab/jobs/{}", report["job"].as_str().unwrap())).unwrap();
    assert_eq!(job["status"], "processed");
    let runs = job["output"]["results"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["exit_code"]), (2, &json!(0)));
    assert!(runs[0]["noise"]["before"].as_f64().unwrap() > 0.0, "{job}");
    assert!(report["noise"]["before"].as_f64().unwrap() > 0.0, "{report}");

    let output = site.run(&[&["--env", "VALUE=5000", "--error-on-alert"], &threshold[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["alerts"].as_array().map(Vec::len), Some(1), "{report}");

    // A failure in the sandbox is reported to the creator of the job.
    let output = site.run(&["--", "/bin/sh", "-c", "echo no luck >&2; exit 9"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("no luck\n") && stderr.contains("exited with status 9"), "{stderr}");

    // More output than fits into a message, and a file instead of standard output.
    let large = r#"i=0; while [ $i -lt 30 ]; do i=$((i+1)); printf '%0100000d\n' 0; done;
        echo '{"disk":{"latency":{"value":7}}}' > /result.json"#;
    let output = site.run(&["--file", "/result.json", "--json", "--", "/bin/sh", "-c", large]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (_, job) = ada.get(&format!("/v0/projects/lab/jobs/{}", report["job"].as_str().unwrap())).unwrap();
    assert_eq!(job["output"]["results"][0]["stdout"].as_str().map(str::len), Some(30 * 100_001));

    // A runner that is asked to stop ends its job at once and reports it.
    let output = site.run(&["--detach", "--json", "--", "/bin/sh", "-c", "while true; do true; done"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let path = format!("/v0/projects/lab/jobs/{}", report["job"].as_str().unwrap());
    await_status(&mut ada, &path, "running");
    let id = runner.0.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert_eq!(runner.0.wait().unwrap().code(), Some(0));
    let job = await_status(&mut ada, &path, "failed");
    assert_eq!(job["output"]["error"], "The runner was stopped before the job had ended.");

    // A runner whose key is invalid exits instead of retrying.
    assert_eq!(ada.post("/v0/runners/one/key", &json!({})).unwrap().0, 201);
    let wrong = site.up("one", &key, &site.address).output().unwrap();
    assert_eq!(wrong.status.code(), Some(7), "{wrong:?}");
}

#[test]
fn a_canceled_job_is_ended_at_once_and_a_lost_connection_loses_nothing() {
    let Some((site, mut server)) = Site::open("", None) else { return };
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let log = site.folder.path().join("log");
    let stderr = File::create(&log).unwrap();
    let _runner = Up(site.up("one", &key, &site.address).stderr(stderr).spawn().unwrap());
    let detach = |command: &str| {
        let output = site.run(&["--detach", "--json", "--", "/bin/sh", "-c", command]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        format!("/v0/projects/lab/jobs/{}", report["job"].as_str().unwrap())
    };
    let endless = detach("echo begun; while true; do true; done");
    await_job(&mut ada, &endless, |job| job["printed"] == "begun\n");
    let output = tidemark(&["job", "cancel", "lab", endless.rsplit('/').next().unwrap()])
        .env("TIDEMARK_HOST", format!("http://{}", site.address))
        .env("TIDEMARK_API_KEY", &site.key)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    await_status(&mut ada, &endless, "canceled");

    let slow =
        detach(r#"i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo '{"a":{"latency":{"value":1}}}'"#);
    await_status(&mut ada, &slow, "running");
    let warnings = || fs::read_to_string(&log).unwrap().matches("\"level\":\"WARN\"").count();
    let before = warnings();
    server.kill();
    // The runner warns that it lost the connection, then that it cannot connect.
    wait_until("the runner does not miss the server", || warnings() >= before + 2);
    let server = site.serve(&site.address);
    let mut ada = Client::connect_as(&server, &site.token);
    await_status(&mut ada, &slow, "processed");
}

#[test]
fn a_job_with_a_lost_message_runs_once() {
    for database in [None, Some(create_database())] {
        // The maximum: the server must hand out the job again before a silent runner times out.
        let settings = "[plus.runners]\nheartbeat_timeout = 900\n";
        let Some((site, server)) = Site::open(settings, database) else { return };
        let proxy = Proxy::breaking(&site.address, r#""event":"job""#);
        let mut ada = Client::connect_as(&server, &site.token);
        let key = site.runner(&mut ada, "one");
        let log = site.folder.path().join("log");
        let stderr = File::create(&log).unwrap();
        let address = proxy.address.to_string();
        let _runner = Up(site.up("one", &key, &address).stderr(stderr).spawn().unwrap());
        let output = site.run(&["--env", "VALUE=1000", "--json"]);
        assert!(output.status.success(), "{output:?}");
        assert!(proxy.has_broken());
        let log = fs::read_to_string(log).unwrap();
        assert_eq!(log.matches("benchmarks started").count(), 1, "{log}");
    }
}

#[test]
fn a_runner_trusts_the_certificates_of_the_machine() {
    let behind = Port::reserve();
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.pem");
    let proxy = Proxy::tls(&behind.address, &certificate);
    let host = format!("https://localhost:{}", proxy.address.port());
    let settings = format!("[plus.registry]\nurl = \"{host}\"\n");
    let Some((site, server)) = Site::open_at(behind, &settings, None) else { return };
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let up = || {
        let mut command = site.up("one", &key, &site.address);
        command.env("TIDEMARK_HOST", &host);
        command
    };
    // The runner reports the error, and retries.
    let log = folder.path().join("log");
    let stranger = Up(up().stderr(File::create(&log).unwrap()).spawn().unwrap());
    wait_until("the runner does not complain", || fs::read_to_string(&log).unwrap().contains("certificate"));
    drop(stranger);

    let _runner = Up(up().env("SSL_CERT_FILE", &certificate).stderr(Stdio::null()).spawn().unwrap());
    // The channel, the image, and results that are too large for the channel.
    let large = r#"i=0; while [ $i -lt 30 ]; do i=$((i+1)); printf '%0100000d\n' 0 >&2; done;
        echo '{"a":{"latency":{"value":1}}}'"#;
    let output = site.run(&["--json", "--", "/bin/sh", "-c", large]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["noise"]["after"].as_f64().unwrap() > 0.0, "{report}");
}

#[test]
fn a_job_has_the_network_only_if_its_spec_and_its_runner_want_it() {
    let Some((site, server)) = Site::open("", None) else { return };
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let machine = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    let spec = json!({ "name": "Net", "os": "linux", "architecture": machine, "cpu": 1, "memory": 64 << 20,
        "disk": 16 << 20, "network": true });
    assert_eq!(ada.post("/v0/specs", &spec).unwrap().0, 201);
    assert_eq!(ada.post("/v0/runners/one/specs", &json!({ "spec": "net" })).unwrap().0, 201);
    let stub = Stub::start(|_| r#"{"net":{"latency":{"value":1}}}"#);
    let script =
        format!("[ ! -e /etc/resolv.conf ] || cat /etc/resolv.conf >&2; wget -q -O - {}", stub.address);
    let run = |spec: &str| {
        let output = site.run(&["--spec", spec, "--json", "--", "/bin/sh", "-c", &script]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let up = || site.up("one", &key, &site.address);
    let careful = Up(up().stderr(Stdio::null()).spawn().unwrap());
    let (code, stderr) = run("net");
    assert!(code == Some(4) && stderr.contains("--allow-network"), "{code:?} {stderr}");
    drop(careful);

    let _generous = Up(up().arg("--allow-network").stderr(Stdio::null()).spawn().unwrap());
    let (code, stderr) = run("net");
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stderr) = run("metal");
    assert!(code == Some(4) && stderr.contains("exited with status 1"), "{code:?} {stderr}");
}

#[test]
fn a_job_with_too_much_output_fails_and_the_next_job_succeeds() {
    let Some((site, server)) = Site::open("", None) else { return };
    let mut ada = Client::connect_as(&server, &site.token);
    let key = site.runner(&mut ada, "one");
    let mut up = site.up("one", &key, &site.address);
    let _runner = Up(up.args(["--max-job-output-size", "3"]).stderr(Stdio::null()).spawn().unwrap());
    let large = "i=0; while [ $i -lt 12 ]; do i=$((i+1)); printf '%0100000d\\n' 0; done";
    let output = site.run(&["--iter", "10", "--", "/bin/sh", "-c", large]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    let sentence = "The total output of the job exceeds 3 MiB (as JSON), the limit of this runner. Print less, run \
         fewer iterations, or raise --max-job-output-size.";
    assert!(said.contains(sentence), "{}", &said[said.len().saturating_sub(2000)..]);
    // The results of the earlier runs exist, and nothing of the job is left on the runner.
    let (_, jobs) = ada.get("/v0/projects/lab/jobs").unwrap();
    let (_, job) = ada.get(&format!("/v0/projects/lab/jobs/{}", jobs[0]["uuid"].as_str().unwrap())).unwrap();
    assert_eq!(
        (&job["status"], job["output"]["results"].as_array().map(Vec::len)),
        (&json!("failed"), Some(2))
    );
    let output = site.run(&["--env", "VALUE=1000", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let journal = site.folder.path().join("one/journal");
    wait_until("the journal keeps jobs that are done", || fs::read_dir(&journal).unwrap().count() == 0);
}

/// Waits until a job has a status, and returns the job.
fn await_status(client: &mut Client, path: &str, status: &str) -> Value {
    await_job(client, path, |job| job["status"] == status)
}

/// Waits until a condition is true for a job, and returns the job.
fn await_job(client: &mut Client, path: &str, is_true: impl Fn(&Value) -> bool) -> Value {
    let mut job = Value::Null;
    wait_until(&format!("the job at {path} does not get there"), || {
        job = client.get(path).unwrap().1;
        is_true(&job)
    });
    job
}
