//! The container registry with real clients, on files and on S3, and after a crash.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{
    client::Client,
    process::{Port, Server, isolated, tidemark, wait_until},
};

pub(crate) const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A server with a project `lab`, and its owner.
struct Registry {
    server: Server,
    address: String,
    _port: Port,
    data: TempDir,
    settings: String,
    key: String,
}

impl Registry {
    /// Starts a server with these settings; the server sends clients its address, which must be known before.
    fn start(settings: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let port = Port::reserve();
        let address = port.address.clone();
        let settings = format!("[console]\nurl = \"http://{address}\"\n{settings}");
        let server = serve(data.path(), &address, &settings);
        let mut ada = Client::connect(&server);
        ada.sign_up("Ada", data.path());
        let (status, answer) = ada.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
        assert_eq!(status, 201, "{answer}");
        let (status, answer) = ada.post("/v0/users/ada/keys", &json!({ "name": "skopeo" })).unwrap();
        assert_eq!(status, 201, "{answer}");
        let key = answer["key"].as_str().unwrap().to_owned();
        Self { server, address, _port: port, data, settings, key }
    }

    /// Kills the server, and starts another on the same data.
    fn crash(&mut self) {
        self.server.kill();
        self.server = serve(self.data.path(), &self.address, &self.settings);
    }

    fn token(&self) -> String {
        let form = format!(
            "grant_type=password&username=ada%40example.org&password={}&scope=repository:lab:pull,push",
            self.key
        );
        let (status, body) = self.send("POST", "/v0/auth/oci/token", "", form.as_bytes()).unwrap();
        assert_eq!(status, 200);
        serde_json::from_slice::<Value>(&body).unwrap()["token"].as_str().unwrap().to_owned()
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        send(&self.address, method, path, token, body)
    }

    /// Runs skopeo and returns its output.
    fn skopeo(&self, arguments: &[&str]) -> Result<String, String> {
        let output = isolated("skopeo").arg("--insecure-policy").args(arguments).output();
        let output = output.expect("skopeo is installed; `cargo xtask test` installs it");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn image(&self, name: &str) -> String {
        format!("docker://{}/{name}", self.address)
    }

    /// Runs all supported operations of skopeo.
    fn walk(&self) {
        let work = tempfile::tempdir().unwrap();
        let path = |name: &str| work.path().join(name).display().to_string();
        let layout = Layout::make(&work.path().join("source"));
        let creds = format!("ada@example.org:{}", self.key);
        let source = |tag: &str| format!("oci:{}:{tag}", path("source"));
        let push = |tag: &str, to: &str, more: &[&str]| {
            let mut arguments = vec!["copy", "--dest-tls-verify=false", "--dest-creds", &creds];
            arguments.extend(more);
            let (from, to) = (source(tag), self.image(to));
            arguments.extend([from.as_str(), to.as_str()]);
            self.skopeo(&arguments)
        };
        push("amd64", "lab/app:v1", &[]).unwrap();
        push("all", "lab/app:all", &["--all"]).unwrap();
        let inspect = ["inspect", "--tls-verify=false", "--creds", &creds];
        let inspected = self.skopeo(&[&inspect[..], &[&self.image("lab/app:v1")]].concat()).unwrap();
        let inspected: Value = serde_json::from_str(&inspected).unwrap();
        assert_eq!(inspected["Digest"], layout.digests["amd64"]);
        assert_eq!(inspected["RepoTags"], json!(["all", "v1"]));

        // An anonymous client can pull a public image by digest, with all architectures.
        let by_digest = self.image(&format!("lab/app@{}", layout.digests["all"]));
        let copy = ["copy", "--src-tls-verify=false", "--all"];
        self.skopeo(&[&copy[..], &[&by_digest, &format!("oci:{}:all", path("target"))]].concat()).unwrap();
        let blobs = |folder: &str| {
            let entries = fs::read_dir(work.path().join(folder).join("blobs/sha256")).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(blobs("source"), blobs("target"));
        let synced = path("synced");
        let from = format!("{}/lab/app", self.address);
        let sync = ["sync", "--all", "--src", "docker", "--src-tls-verify=false", "--dest", "dir"];
        self.skopeo(&[&sync[..], &[&from, &synced]].concat()).unwrap();
        assert_eq!(fs::read_dir(&synced).unwrap().count(), 2);

        // From one repository to another, which only copies the manifest.
        let both = ["copy", "--src-tls-verify=false", "--dest-tls-verify=false", "--dest-creds", &creds];
        let (from, to) = (self.image("lab/app:v1"), self.image("lab/copy:v1"));
        self.skopeo(&[&both[..], &[&from, &to]].concat()).unwrap();

        let delete = ["delete", "--tls-verify=false", "--creds", &creds];
        self.skopeo(&[&delete[..], &[&self.image("lab/copy:v1")]].concat()).unwrap();
        let refused = self.skopeo(&[&inspect[..], &[&self.image("lab/copy:v1")]].concat()).unwrap_err();
        assert!(refused.contains("does not have this manifest"), "{refused}");

        let authfile = path("auth.json");
        let login = ["login", "--tls-verify=false", "--authfile", &authfile, "-u", "ada@example.org", "-p"];
        self.skopeo(&[&login[..], &[self.key.as_str(), &self.address]].concat()).unwrap();
        self.skopeo(&[&login[..], &["wrong", &self.address]].concat()).unwrap_err();

        // Without a login, an unclaimed project accepts images, and a claimed project does not.
        let open = ["copy", "--dest-tls-verify=false"];
        self.skopeo(&[&open[..], &[&source("amd64"), &self.image("open/app:v1")]].concat()).unwrap();
        let refused = self.skopeo(&[&open[..], &[&source("amd64"), &self.image("lab/app:v2")]].concat());
        assert!(refused.unwrap_err().contains("unauthorized"));
    }
}

/// Sends one request on its own connection.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    token: &str,
    body: &[u8],
) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-length: {}\r\n\r\n",
        address,
        body.len()
    )?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok((status, answer.split_off(end + 4)))
}

fn serve(data: &Path, address: &str, settings: &str) -> Server {
    let file = data.join("tidemark.toml");
    fs::write(&file, settings).unwrap();
    let mut command = tidemark(&["serve", "--bind", address, "--data-dir"]);
    let mut server = Server::spawn(command.arg(data).arg("--config").arg(&file));
    server.drain();
    server
}

/// Images of two architectures and their index, as files.
struct Layout {
    folder: PathBuf,
    digests: BTreeMap<&'static str, String>,
}

impl Layout {
    fn make(folder: &Path) -> Self {
        fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
        fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        let mut layout = Self { folder: folder.to_owned(), digests: BTreeMap::new() };
        let shared: Vec<u8> =
            (0..6_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut images = Vec::new();
        for architecture in ["amd64", "arm64"] {
            let layers = [shared.as_slice(), architecture.as_bytes()];
            let diffs: Vec<_> = layers.iter().map(|layer| digest(layer)).collect();
            let config = json!({ "architecture": architecture, "os": "linux", "config": {},
                "rootfs": { "type": "layers", "diff_ids": diffs } });
            let config = layout.add(CONFIG, config.to_string().as_bytes());
            let layers: Vec<_> = layers.iter().map(|layer| layout.add(LAYER, &zipped(layer))).collect();
            let manifest =
                json!({ "schemaVersion": 2, "mediaType": IMAGE, "config": config, "layers": layers });
            let mut image = layout.add(IMAGE, manifest.to_string().as_bytes());
            image["platform"] = json!({ "architecture": architecture, "os": "linux" });
            layout.digests.insert(architecture, image["digest"].as_str().unwrap().to_owned());
            images.push(image);
        }
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": images });
        let mut all = layout.add(INDEX, index.to_string().as_bytes());
        layout.digests.insert("all", all["digest"].as_str().unwrap().to_owned());
        let mut first = images.swap_remove(0);
        first["annotations"] = json!({ "org.opencontainers.image.ref.name": "amd64" });
        all["annotations"] = json!({ "org.opencontainers.image.ref.name": "all" });
        let index = json!({ "schemaVersion": 2, "manifests": [first, all] });
        fs::write(folder.join("index.json"), index.to_string()).unwrap();
        layout
    }

    /// Writes a blob and returns its descriptor.
    fn add(&self, kind: &str, bytes: &[u8]) -> Value {
        let digest = digest(bytes);
        fs::write(self.folder.join("blobs").join(digest.replace(':', "/")), bytes).unwrap();
        json!({ "mediaType": kind, "digest": digest, "size": bytes.len() })
    }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digits = hex::encode(Sha256::digest(bytes));
    format!("sha256:{digits}")
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn skopeo_on_files() {
    Registry::start("").walk();
}

/// Creates a bucket and returns the settings of a data store for it.
pub(crate) fn create_bucket() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let endpoint = env::var("TIDEMARK_TEST_S3")
        .expect("TIDEMARK_TEST_S3 names a server that speaks S3; `cargo xtask test` starts one");
    let bucket = format!("bucket-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let host = endpoint.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "PUT /{bucket} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    format!(
        "service = \"aws_s3\"\nbucket = \"{bucket}\"\nendpoint = \"{endpoint}\"\n\
         region = \"us-east-1\"\naccess_key_id = \"test\"\nsecret_access_key = \"test\"\n"
    )
}

#[test]
fn skopeo_on_s3() {
    let registry = Registry::start(&format!("[plus.registry.data_store]\n{}", create_bucket()));
    registry.walk();
    assert!(!registry.data.path().join("registry").exists(), "something was written to files");
}

#[test]
fn a_crash_leaves_a_registry_that_works() {
    const CLIENTS: usize = 8;
    let mut registry = Registry::start("");
    let token = registry.token();
    let acknowledged = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (address, token, acknowledged) = (&registry.address, &token, &acknowledged);
            scope.spawn(move || {
                for number in 0.. {
                    // Some blobs are larger than a part of the store, and one in four is a duplicate.
                    let size = if number % 3 == 0 { 6_000_000 } else { 20_000 };
                    let seed = if number % 4 == 0 { number } else { number * CLIENTS + client + 1_000_000 };
                    let blob: Vec<u8> = seed.to_le_bytes().into_iter().cycle().take(size).collect();
                    let known = digest(&blob);
                    let path = format!("/v2/lab/blobs/uploads/?digest={known}");
                    match send(address, "POST", &path, token, &blob) {
                        Ok((201, _)) => acknowledged.lock().unwrap().push(known),
                        Ok((status, body)) => panic!("{status} {}", String::from_utf8_lossy(&body)),
                        Err(_) => return,
                    }
                }
            });
        }
        wait_until("too few pushes are acknowledged", || acknowledged.lock().unwrap().len() >= 60);
        registry.server.signal("KILL");
    });
    registry.crash();
    let token = registry.token();
    for known in acknowledged.into_inner().unwrap() {
        let (status, body) = registry.send("GET", &format!("/v2/lab/blobs/{known}"), &token, b"").unwrap();
        assert_eq!((status, digest(&body)), (200, known));
    }
    registry.walk();
}

/// Other clients can log in, if they are installed.
#[test]
fn other_clients_log_in() {
    let registry = Registry::start("");
    for program in ["podman", "buildah"] {
        let found =
            Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
        if !found {
            continue;
        }
        let work = tempfile::tempdir().unwrap();
        let authfile = work.path().join("auth.json");
        let status = isolated(program)
            .args(["login", "--tls-verify=false", "-u", "ada@example.org", "-p", &registry.key, "--authfile"])
            .arg(&authfile)
            .arg(&registry.address)
            .status()
            .unwrap();
        assert!(status.success(), "{program}");
    }
}
