//! Tests of the three ways to install a release from its download page: `install.sh`, the GitHub Action and the GitLab
//! template. Each runs against a fake release on 127.0.0.1.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
    thread,
};

use flate2::{Compression, write::GzEncoder};

use crate::{dist, service};

/// Version of the fake release.
const VERSION: &str = "1.2.3";
/// The fake binary.
const BINARY: &str = "#!/bin/sh\necho tidemark 1.2.3\n";

/// A fake release in a file server, and a folder for the installation.
struct Release {
    folder: PathBuf,
    url: String,
}

impl Drop for Release {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

impl Release {
    /// Starts the server. `tamper` changes the files after their checksums were written.
    fn start(name: &str, tamper: impl FnOnce(&Path)) -> Self {
        Self::of(name, BINARY, tamper)
    }

    fn of(name: &str, binary: &str, tamper: impl FnOnce(&Path)) -> Self {
        let folder = service::folder(name).unwrap();
        let files = folder.join("files");
        fs::create_dir(&files).unwrap();
        fs::copy(root().join("install.sh"), files.join("install.sh")).unwrap();
        for platform in &dist::PLATFORMS {
            let name = platform.archive();
            let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
            let mut header = tar::Header::new_gnu();
            header.set_size(binary.len() as u64);
            header.set_mode(0o755);
            tar.append_data(&mut header, format!("{name}/tidemark"), binary.as_bytes()).unwrap();
            let content = tar.into_inner().unwrap().finish().unwrap();
            fs::write(files.join(format!("{name}.tar.gz")), content).unwrap();
        }
        dist::write_checksums(&files).unwrap();
        tamper(&files);
        Self { url: serve(&files), folder }
    }

    /// Runs a script with an environment that a user or a CI system sets.
    fn run(&self, program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.folder);
        command.envs(variables.iter().copied()).output().unwrap()
    }

    fn install(&self, variables: &[(&str, &str)]) -> Output {
        let releases = format!("{}/tidemark-dev/tidemark/releases", self.url);
        let folder = self.folder.join("bin").display().to_string();
        let defaults = [("TIDEMARK_RELEASES", releases.as_str()), ("TIDEMARK_INSTALL_DIR", folder.as_str())];
        let script = root().join("install.sh").display().to_string();
        self.run("sh", &[&script], &[&defaults[..], variables].concat())
    }

    fn action(&self, variables: &[(&str, &str)]) -> Output {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let script = root().join(".ci/action").display().to_string();
        let defaults = [
            ("GITHUB_SERVER_URL", self.url.clone()),
            ("ACTION_REPOSITORY", "tidemark-dev/tidemark".to_owned()),
            ("RUNNER_OS", "Linux".to_owned()),
            ("RUNNER_TEMP", path("temporary")),
            ("GITHUB_PATH", path("path")),
            ("GITHUB_OUTPUT", path("output")),
        ];
        let defaults: Vec<_> = defaults.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.run("bash", &[&script, "install"], &[&defaults[..], variables].concat())
    }

    fn gitlab(&self, variables: &[(&str, &str)]) -> Output {
        let template = fs::read_to_string(root().join("packaging/gitlab.yml")).unwrap();
        let script = before_script(&template);
        let releases = format!("{}/tidemark-dev/tidemark/releases", self.url);
        let builds = self.folder.join("builds").display().to_string();
        let defaults = [("TIDEMARK_RELEASES", releases.as_str()), ("CI_BUILDS_DIR", builds.as_str())];
        let script = format!("set -e\n{script}\ncommand -v tidemark");
        self.run("sh", &["-c", &script], &[&defaults[..], variables].concat())
    }
}

/// Returns the script in the member `before_script` of the template.
fn before_script(template: &str) -> String {
    let (_, rest) = template.split_once("  before_script:\n    - |\n").unwrap();
    let lines = rest.lines().map_while(|line| line.strip_prefix("      "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Serves the files of a folder as a release does, until the test process ends, and returns the URL.
fn serve(files: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut content = HashMap::new();
    for (name, _) in dist::artifacts(files).unwrap() {
        let bytes = fs::read(files.join(&name)).unwrap();
        for release in ["latest/download".to_owned(), format!("download/v{VERSION}")] {
            content.insert(format!("/tidemark-dev/tidemark/releases/{release}/{name}"), bytes.clone());
        }
    }
    let content = Arc::new(content);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, content) = (stream.unwrap(), Arc::clone(&content));
            thread::spawn(move || {
                let mut request = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = request.next().unwrap().unwrap();
                let path = first.split(' ').nth(1).unwrap();
                request.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
                let (status, body) = match content.get(path) {
                    Some(body) => ("200 OK", body.as_slice()),
                    None => ("404 Not Found", &[][..]),
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all(body);
            });
        }
    });
    url
}

fn change_archives(files: &Path) {
    for platform in &dist::PLATFORMS {
        fs::write(files.join(format!("{}.tar.gz", platform.archive())), "another file").unwrap();
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_release_is_installed_in_three_ways() {
    let release = Release::start("installed-release", |_| ());
    for version in ["latest", VERSION, "v1.2.3"] {
        let installed = release.install(&[("TIDEMARK_VERSION", version)]);
        assert!(installed.status.success() && text(&installed).contains("tidemark 1.2.3"), "{installed:?}");
        let action = release.action(&[("INPUT_VERSION", version)]);
        assert!(action.status.success(), "{action:?}");
        let gitlab = release.gitlab(&[("TIDEMARK_VERSION", version)]);
        assert!(gitlab.status.success(), "{gitlab:?}");
        assert!(text(&gitlab).ends_with("builds/.tidemark/tidemark\n"), "{gitlab:?}");
    }
    assert_eq!(fs::read_to_string(release.folder.join("bin/tidemark")).unwrap(), BINARY);
    let binary = release.folder.join("temporary/tidemark/tidemark");
    let output = fs::read_to_string(release.folder.join("output")).unwrap();
    assert_eq!(output, format!("path={}\n", binary.display()).repeat(3));
}

#[test]
fn an_archive_with_another_checksum_is_not_installed() {
    let release = Release::start("changed-release", change_archives);
    let latest = ("TIDEMARK_VERSION", "latest");
    for output in [release.install(&[]), release.action(&[]), release.gitlab(&[latest])] {
        assert!(!output.status.success(), "{output:?}");
        assert!(text(&output).contains("Nothing was installed."), "{output:?}");
    }
    for file in ["bin/tidemark", "temporary/tidemark/tidemark", "builds/.tidemark/tidemark", "path"] {
        assert!(!release.folder.join(file).exists(), "{file}");
    }
}

#[test]
fn a_binary_that_does_not_start_replaces_nothing() {
    let release = Release::of("broken-release", "#!/bin/sh\necho GLIBC_2.99 not found >&2\nexit 1\n", |_| ());
    let folder = release.folder.join("bin");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tidemark"), "the old binary").unwrap();
    let output = release.install(&[]);
    assert!(!output.status.success(), "{output:?}");
    assert!(text(&output).contains("glibc 2.35 or newer"), "{output:?}");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["tidemark"]);
    assert_eq!(fs::read_to_string(folder.join("tidemark")).unwrap(), "the old binary");
}

#[test]
fn a_release_without_the_platform_and_a_missing_release_are_named() {
    let release = Release::start("empty-release", |files| fs::write(files.join(dist::SUMS), "").unwrap());
    let output = release.install(&[]);
    assert!(
        !output.status.success() && text(&output).contains("The release has no file tidemark-"),
        "{output:?}"
    );
    let output = release.install(&[("TIDEMARK_VERSION", "9.9.9")]);
    assert!(!output.status.success() && text(&output).contains("could not be downloaded"), "{output:?}");
}

#[test]
fn wget_is_used_if_there_is_no_curl() {
    let release = Release::start("wget-release", |_| ());
    let programs = release.folder.join("programs");
    fs::create_dir(&programs).unwrap();
    let words = "sh uname id mktemp rm awk sha256sum shasum cut tar gzip mkdir cp chmod mv wget";
    for program in words.split(' ') {
        let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        if let Some(found) = found.iter().find(|path| path.exists()) {
            std::os::unix::fs::symlink(found, programs.join(program)).unwrap();
        }
    }
    let output = release.install(&[("PATH", programs.to_str().unwrap())]);
    if programs.join("wget").exists() {
        assert!(output.status.success(), "{output:?}");
    } else {
        assert!(text(&output).contains("Install curl or wget."), "{output:?}");
    }
}

/// Returns whether the file with all settings of the server has a setting, such as `server.bind_address`.
fn is_setting(name: &str) -> bool {
    let all = fs::read_to_string(root().join("crates/server/src/infra/tidemark.toml")).unwrap();
    let mut section = String::new();
    all.lines().any(|line| {
        let line = line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
        if let Some(title) = line.strip_prefix('[') {
            section = format!("{}.", title.trim_end_matches(']'));
        }
        line.split_once(" = ").is_some_and(|(setting, _)| format!("{section}{setting}") == name)
    })
}

#[test]
fn compose_and_the_debian_configuration_use_settings_that_exist() {
    let compose = fs::read_to_string(root().join("packaging/compose.yaml")).unwrap();
    let variables = compose.lines().filter_map(|line| line.strip_prefix("      TIDEMARK_")?.split_once(": "));
    let mut names: Vec<String> = variables.map(|(name, _)| name.to_lowercase().replace("__", ".")).collect();
    assert!(names.contains(&"plus.registry.data_store.endpoint".to_owned()), "{names:?}");
    let debian = fs::read_to_string(root().join("packaging/debian/tidemark.toml")).unwrap();
    let mut section = String::new();
    for line in debian.lines().map(|line| line.strip_prefix('#').unwrap_or(line)) {
        if let Some(title) = line.strip_prefix('[') {
            section = format!("{}.", title.trim_end_matches(']'));
        } else if let Some((name, _)) = line.split_once(" = ") {
            names.push(format!("{section}{name}"));
        }
    }
    let unknown: Vec<&String> = names.iter().filter(|name| !is_setting(name)).collect();
    assert_eq!(unknown, Vec::<&String>::new());
}
