//! The container image, assembled without a base image and without a container tool: the binary, the C library and the CA
//! certificates of this machine.
//!
//! The file is an OCI image layout in a tar archive, and also has the manifest of `docker save`. `podman load`, `docker load`
//! and `skopeo copy oci-archive:…` read it.

use std::{path::Path, path::PathBuf};

use serde_json::{Value, json};

use super::{
    Dist,
    archive::{DOCUMENTS, Tar, compress, read},
    binary, checksum, notices, write,
};
use crate::{Result, tools};

/// Name of the image in the registry.
pub(crate) const NAME: &str = "ghcr.io/tidemark-dev/tidemark";

/// User of the server.
const USER: u64 = 65532;

/// Port of the server.
const PORT: u16 = 6610;

/// CA certificates, with which the server verifies webhooks, mail servers and identity providers.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// License of the C library.
const LIBC_LICENSE: &str = "/usr/share/doc/libc6/copyright";

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Writes the image.
pub(super) fn build(dist: &Dist) -> Result {
    let architecture = dist.platform.debian.unwrap_or_default();
    let layers = [Layer::new(&system(dist)?)?, Layer::new(&program(dist)?)?];
    let created = tools::read_quietly(&mut tools::git(&["log", "-1", "--format=%cI"])?).unwrap_or_default();
    let revision = tools::read_quietly(&mut tools::git(&["rev-parse", "HEAD"])?).unwrap_or_default();
    let labels = json!({
        "org.opencontainers.image.title": "Tidemark",
        "org.opencontainers.image.description": "Continuous benchmarking server",
        "org.opencontainers.image.source": "https://github.com/tidemark-dev/tidemark",
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
        "org.opencontainers.image.version": dist.version,
        "org.opencontainers.image.revision": revision.trim(),
    });
    let config = Blob::new(CONFIG, config(architecture, created.trim(), &labels, &layers));
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor(),
        "layers": layers.iter().map(|layer| layer.blob.descriptor()).collect::<Vec<_>>(),
        "annotations": labels,
    });
    let manifest = Blob::new(MANIFEST, manifest.to_string().into_bytes());
    let tag = format!("{NAME}:{}", dist.version);
    let mut entry = manifest.descriptor();
    entry["platform"] = json!({ "architecture": architecture, "os": "linux" });
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": dist.version,
        "io.containerd.image.name": tag,
    });
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [entry] });
    let saved = json!([{
        "Config": config.path(),
        "RepoTags": [tag],
        "Layers": layers.iter().map(|layer| layer.blob.path()).collect::<Vec<_>>(),
    }]);

    let mut tar = Tar::new(dist.time);
    tar.file("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    tar.file("index.json", 0o644, index.to_string().as_bytes())?;
    tar.file("manifest.json", 0o644, saved.to_string().as_bytes())?;
    tar.folder("blobs", 0o755, 0)?;
    tar.folder("blobs/sha256", 0o755, 0)?;
    for blob in layers.iter().map(|layer| &layer.blob).chain([&config, &manifest]) {
        tar.file(&blob.path(), 0o644, &blob.content)?;
    }
    write(&dist.folder.join(format!("tidemark-image-{architecture}.tar")), &tar.finish()?)
}

/// Returns the configuration: how a container is run.
fn config(architecture: &str, created: &str, labels: &Value, layers: &[Layer]) -> Vec<u8> {
    let second = 1_000_000_000_u64;
    let host = format!("http://127.0.0.1:{PORT}");
    let config = json!({
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/usr/bin/tidemark"],
            "Cmd": ["serve"],
            "Env": [
                "PATH=/usr/bin",
                "HOME=/data",
                "TIDEMARK_DATA_DIR=/data",
                format!("TIDEMARK_SERVER__BIND_ADDRESS=0.0.0.0:{PORT}"),
            ],
            "ExposedPorts": { format!("{PORT}/tcp"): {} },
            "Volumes": { "/data": {} },
            "WorkingDir": "/data",
            "StopSignal": "SIGTERM",
            "Labels": labels,
            // Docker reads this member; Kubernetes and podman use their own probes.
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/tidemark", "server", "version", "--host", host, "--attempts", "1"],
                "Interval": 10 * second,
                "Timeout": 5 * second,
                "StartPeriod": 30 * second,
                "Retries": 3,
            },
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": layers.iter().map(|layer| format!("sha256:{}", layer.content)).collect::<Vec<_>>(),
        },
        "history": [
            { "created": created, "created_by": "cargo xtask dist: C library and CA certificates" },
            { "created": created, "created_by": "cargo xtask dist: tidemark" },
        ],
    });
    config.to_string().into_bytes()
}

/// Returns the layer with the files that the binary needs. It only changes with the build machine.
fn system(dist: &Dist) -> Result<Vec<u8>> {
    let user = format!("tidemark:x:{USER}:{USER}:Tidemark server:/data:/sbin/nologin\n");
    let mut files: Vec<(String, u32, Vec<u8>)> = vec![
        ("etc/passwd".into(), 0o644, format!("root:x:0:0:root:/root:/sbin/nologin\n{user}").into()),
        ("etc/group".into(), 0o644, format!("root:x:0:\ntidemark:x:{USER}:\n").into()),
        ("etc/nsswitch.conf".into(), 0o644, b"hosts: files dns\n".to_vec()),
        (CERTIFICATES[1..].into(), 0o644, read(Path::new(CERTIFICATES))?),
        (LIBC_LICENSE[1..].into(), 0o644, read(Path::new(LIBC_LICENSE))?),
    ];
    let libraries = binary::libraries(&dist.binary)?.into_iter().filter_map(|(_, path)| path);
    for path in libraries {
        files.push((in_image(&path), 0o755, read(&path)?));
    }
    files.sort();
    let mut tar = Tar::new(0);
    for folder in folders(files.iter().map(|(path, ..)| path.as_str())) {
        tar.folder(&folder, 0o755, 0)?;
    }
    for (path, mode, content) in &files {
        tar.file(path, *mode, content)?;
    }
    tar.folder("data", 0o750, USER)?;
    tar.folder("tmp", 0o1777, 0)?;
    tar.finish()
}

/// Returns the layer with the binary and its licenses.
fn program(dist: &Dist) -> Result<Vec<u8>> {
    let root = tools::root()?;
    let mut tar = Tar::new(dist.time);
    let documents = "usr/share/doc/tidemark";
    let program = "usr/bin/tidemark";
    for folder in folders([program, "usr/share/doc/tidemark/LICENSE"].into_iter()) {
        tar.folder(&folder, 0o755, 0)?;
    }
    tar.file(program, 0o755, &read(&dist.binary)?)?;
    for document in DOCUMENTS.iter().filter(|document| document.contains("LICENSE")) {
        let name = document.rsplit('/').next().unwrap_or(document);
        tar.file(&format!("{documents}/{name}"), 0o644, &read(&root.join(document))?)?;
    }
    tar.file(&format!("{documents}/{}", notices::NAME), 0o644, &read(&dist.notices())?)?;
    tar.finish()
}

/// Returns the path of a library in the image: `/lib` of the build machine may be a link to `/usr/lib`, which the image does
/// not have.
fn in_image(library: &Path) -> String {
    let path = library.to_string_lossy();
    path.trim_start_matches('/').to_owned()
}

/// Returns the folders of paths, each after its parent.
fn folders<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut folders: Vec<String> = paths
        .flat_map(|path| {
            let parents: Vec<PathBuf> = Path::new(path).ancestors().skip(1).map(Path::to_path_buf).collect();
            parents.into_iter().map(|parent| parent.to_string_lossy().into_owned())
        })
        .filter(|folder| !folder.is_empty())
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

/// A compressed layer, with the checksum of its content.
struct Layer {
    blob: Blob,
    content: String,
}

impl Layer {
    fn new(tar: &[u8]) -> Result<Self> {
        Ok(Self { blob: Blob::new(LAYER, compress(tar)?), content: checksum::of(tar) })
    }
}

/// A file of the image, named by its checksum.
struct Blob {
    media_type: &'static str,
    digest: String,
    content: Vec<u8>,
}

impl Blob {
    fn new(media_type: &'static str, content: Vec<u8>) -> Self {
        Self { media_type, digest: checksum::of(&content), content }
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    fn descriptor(&self) -> Value {
        json!({
            "mediaType": self.media_type,
            "digest": format!("sha256:{}", self.digest),
            "size": self.content.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_after_their_parents() {
        let paths = ["usr/bin/tidemark", "etc/passwd", "usr/share/x"].into_iter();
        assert_eq!(folders(paths), ["etc", "usr", "usr/bin", "usr/share"]);
    }
}
