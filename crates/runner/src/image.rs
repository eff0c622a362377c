//! Images: fetched from a registry or a folder, verified by digest, unpacked once and kept by digest. `sandbox.rs`
//! runs them.

mod archive;
mod layer;
pub mod limit;
mod source;

use std::{
    fs::{self, File},
    io::{Seek, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use self::limit::{IMAGE_MAX, LAYERS_MAX, Quota};
pub use self::{layer::unpack_layer, source::Source};
use crate::{
    error::{Error, Explain, Result},
    remove::remove_path,
};

/// Maximum size in bytes of a manifest and of a configuration.
const DOCUMENT_MAX: u64 = 4 << 20;
/// Maximum number of images kept.
const KEPT: usize = 16;
/// Prefix of the folder of an image that is not complete yet.
const UNFINISHED: &str = "new-";
/// Maximum depth of nested indexes.
const INDEX_DEPTH: u32 = 2;
/// Timeout of one response of a registry.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// An unpacked image.
#[derive(Debug)]
pub struct Image {
    /// Folder with its files.
    pub root: PathBuf,
    /// Its run configuration.
    pub config: ImageConfig,
}

/// Run configuration of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ImageConfig {
    /// Program to start.
    pub entrypoint: Option<Vec<String>>,
    /// Arguments of the entry point, or the program to start if there is no entry point.
    pub cmd: Option<Vec<String>>,
    /// Environment variables, as `NAME=VALUE`.
    pub env: Option<Vec<String>>,
    /// Working directory.
    pub working_dir: Option<String>,
    /// User to run as.
    pub user: Option<String>,
}

/// Reference to a blob of an image.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    digest: String,
    size: u64,
    platform: Option<Platform>,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Platform {
    os: String,
    architecture: String,
}

/// Manifest of an image, or index of images for several platforms.
#[derive(Deserialize)]
struct Manifest {
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// Configuration of an image, as stored in the registry.
#[derive(Deserialize)]
struct ConfigFile {
    os: Option<String>,
    architecture: Option<String>,
    #[serde(default)]
    config: Option<ImageConfig>,
}

/// The images kept on this machine.
#[derive(Debug)]
pub struct Images {
    folder: PathBuf,
    quota: Quota,
}

impl Images {
    /// Opens the folder of images and removes incomplete images. Only one runner may use the folder at a time.
    pub fn open(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder).explain(|| "The folder of the images cannot be made")?;
        for entry in fs::read_dir(&folder).explain(|| "The folder of the images cannot be read")?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                // An incomplete image only takes space.
                drop(remove_path(&entry.path()));
            }
        }
        Ok(Self { folder, quota: Quota::default() })
    }

    /// Sets another quota per image.
    #[must_use]
    pub fn with_quota(self, quota: Quota) -> Self {
        Self { quota, ..self }
    }

    /// Returns the image with a digest or a tag. Fetches and unpacks it if it is not on this machine.
    pub fn get(&self, source: &Source, reference: &str) -> Result<Image> {
        // The content of a digest never changes, so no request is needed.
        if let Some(folder) = self.known(reference) {
            return self.open_image(&folder);
        }
        let (digest, manifest) = find(source, reference, INDEX_DEPTH)?;
        let folder = self.folder.join(plain(&digest));
        let described = manifest.config.as_ref().ok_or_else(|| Error::new("This is not an image to run."))?;
        if !folder.exists() {
            let new = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder);
            // The image may hold more than the destructor of a temporary folder can remove.
            let new = new.explain(|| "The folder of the image cannot be made")?.keep();
            let kept = keep(source, described, &manifest.layers, &new, self.quota)
                .and_then(|()| fs::rename(&new, &folder).explain(|| "The image cannot be put in its place"));
            if kept.is_err() {
                // If this fails, the next start removes the folder.
                drop(remove_path(&new));
            }
            kept?;
        }
        if reference.contains(':') && reference != digest {
            // For the digest of an index, record which of its images was chosen.
            let written = fs::write(self.folder.join(format!("{}.ref", plain(reference))), &digest);
            written.explain(|| "It cannot be written down which image is meant")?;
        }
        self.open_image(&folder)
    }

    /// Returns the folder of the image with this digest, if it is on this machine.
    fn known(&self, reference: &str) -> Option<PathBuf> {
        let hex = reference.strip_prefix("sha256:").filter(|hex| is_hex(hex))?;
        let folder = self.folder.join(hex);
        if folder.exists() {
            return Some(folder);
        }
        let meant = fs::read_to_string(self.folder.join(format!("{hex}.ref"))).ok()?;
        Some(self.folder.join(plain(&meant))).filter(|folder| folder.exists())
    }

    fn open_image(&self, folder: &Path) -> Result<Image> {
        let text = fs::read(folder.join("config.json"));
        let text = text.explain(|| "The image's configuration cannot be read")?;
        self.forget_others(folder);
        Ok(Image { root: folder.join("root"), config: check_machine(&text)? })
    }

    /// Marks an image as used now, and removes the least recently used images beyond [`KEPT`].
    fn forget_others(&self, used: &Path) {
        // Errors do not matter: the next call removes what this call could not.
        drop(fs::write(used.join("used"), ""));
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut images: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                Some((fs::metadata(entry.path().join("used")).ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        images.sort();
        let many = images.len().saturating_sub(KEPT);
        for (_, image) in images.into_iter().take(many).filter(|(_, image)| image != used) {
            drop(remove_path(&image));
        }
    }
}

/// Returns the digest and the manifest of the image for this platform.
fn find(source: &Source, reference: &str, depth: u32) -> Result<(String, Manifest)> {
    let bytes = source.manifest(reference)?;
    let digest = digest(&bytes);
    if reference.contains(':') && reference != digest {
        return Err(Error::new("The registry answered with another image than was asked for."));
    }
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|_| Error::new("The manifest of the image cannot be read."))?;
    if manifest.config.is_some() {
        return Ok((digest, manifest));
    }
    let fits = |one: &&Descriptor| {
        one.platform.as_ref().is_some_and(|platform| is_this_machine(&platform.os, &platform.architecture))
    };
    match manifest.manifests.iter().find(fits) {
        Some(one) if depth > 0 => find(source, &one.digest, depth - 1),
        Some(_) => Err(Error::new("The index of the image points at an index that points at an index.")),
        None => Err(Error::new(format!("The image is not made for linux on {}.", machine()))),
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Returns a digest without its algorithm.
fn plain(digest: &str) -> &str {
    digest.trim_start_matches("sha256:")
}

fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the architecture of this machine by its name in image manifests.
fn machine() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn is_this_machine(os: &str, architecture: &str) -> bool {
    os == "linux" && architecture == machine()
}

/// Parses a configuration; fails if this machine cannot run the image.
fn check_machine(text: &[u8]) -> Result<ImageConfig> {
    let file: ConfigFile = serde_json::from_slice(text)
        .map_err(|_| Error::new("The configuration of the image cannot be read."))?;
    if let (Some(os), Some(architecture)) = (&file.os, &file.architecture)
        && !is_this_machine(os, architecture)
    {
        return Err(Error::new(format!(
            "The image is made for {os} on {architecture}, not for this machine."
        )));
    }
    Ok(file.config.unwrap_or_default())
}

/// Fetches and verifies a small blob of an image.
fn document(source: &Source, described: &Descriptor) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limited = Descriptor { size: described.size.min(DOCUMENT_MAX), ..described.clone() };
    fetch(source, &limited, &mut bytes)?;
    Ok(bytes)
}

/// Fetches a blob, and fails if its content does not match its digest.
fn fetch(source: &Source, described: &Descriptor, target: &mut impl Write) -> Result<()> {
    let mut checked = Checked { target, hash: Sha256::new(), left: described.size };
    source.blob(&described.digest, &mut checked)?;
    let (found, left) = (format!("sha256:{}", hex::encode(checked.hash.finalize())), checked.left);
    if left > 0 || found != described.digest {
        return Err(Error::new("A piece of the image is not what its digest says; push the image again."));
    }
    Ok(())
}

/// A writer that hashes, and rejects more bytes than the manifest states.
struct Checked<'a, W> {
    target: &'a mut W,
    hash: Sha256,
    left: u64,
}

impl<W: Write> Write for Checked<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(std::io::Error::other("it is larger than its manifest says"));
        }
        self.target.write_all(bytes)?;
        self.hash.update(bytes);
        self.left -= bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.target.flush()
    }
}

/// Fetches an image into a folder: its configuration and its layers, which share a quota.
fn keep(
    source: &Source,
    config: &Descriptor,
    layers: &[Descriptor],
    folder: &Path,
    mut quota: Quota,
) -> Result<()> {
    let config = document(source, config)?;
    check_machine(&config)?;
    fs::write(folder.join("config.json"), &config).explain(|| "The image's configuration cannot be kept")?;
    if layers.len() > LAYERS_MAX {
        let count = layers.len();
        return Err(Error::new(format!("The image has {count} layers; the maximum is {LAYERS_MAX}.")));
    }
    let fetched = layers.iter().try_fold(0_u64, |sum, layer| sum.checked_add(layer.size));
    if fetched.is_none_or(|size| size > IMAGE_MAX) {
        return Err(Quota::too_large());
    }
    let root = folder.join("root");
    fs::create_dir(&root).explain(|| "The folder of the image cannot be made")?;
    for described in layers {
        let mut file: File =
            tempfile::tempfile_in(folder).explain(|| "The layer of the image cannot be kept")?;
        fetch(source, described, &mut file)?;
        file.rewind().explain(|| "The layer of the image cannot be read")?;
        unpack_layer(file, &root, &mut quota)?;
    }
    Ok(())
}
