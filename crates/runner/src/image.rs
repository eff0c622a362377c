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
const IMAGES_MAX: usize = 16;
/// Prefix of the folder of an image that is not complete yet.
const INCOMPLETE_PREFIX: &str = "new-";
/// Maximum depth of nested indexes.
const INDEX_DEPTH_MAX: u32 = 2;
/// Timeout of one response of a registry.
pub(crate) const REGISTRY_TIMEOUT: Duration = Duration::from_secs(900);

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
        fs::create_dir_all(&folder).explain(|| "The folder of the images cannot be created")?;
        for entry in fs::read_dir(&folder).explain(|| "The folder of the images cannot be read")?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(INCOMPLETE_PREFIX) {
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
        if let Some(folder) = self.cached(reference) {
            return self.open_image(&folder);
        }
        let (digest, manifest) = find_manifest(source, reference, INDEX_DEPTH_MAX)?;
        let folder = self.folder.join(hex_digest(&digest));
        let descriptor = manifest.config.as_ref().ok_or_else(|| {
            Error::new("The manifest has no configuration, so it is not a container image.")
        })?;
        if !folder.exists() {
            let new = tempfile::Builder::new().prefix(INCOMPLETE_PREFIX).tempdir_in(&self.folder);
            // The image may hold more than the destructor of a temporary folder can remove.
            let new = new.explain(|| "The folder of the image cannot be created")?.keep();
            let fetched =
                fetch_image(source, descriptor, &manifest.layers, &new, self.quota).and_then(|()| {
                    fs::rename(&new, &folder).explain(|| "The image cannot be moved to its folder")
                });
            if fetched.is_err() {
                // If this fails, the next start removes the folder.
                drop(remove_path(&new));
            }
            fetched?;
        }
        if reference.contains(':') && reference != digest {
            // For the digest of an index, record which of its images was chosen.
            let written = fs::write(self.folder.join(format!("{}.ref", hex_digest(reference))), &digest);
            written.explain(|| "The digest of the image cannot be saved")?;
        }
        self.open_image(&folder)
    }

    /// Returns the folder of the image with this digest, if it is on this machine.
    fn cached(&self, reference: &str) -> Option<PathBuf> {
        let hex = reference.strip_prefix("sha256:").filter(|hex| is_hex(hex))?;
        let folder = self.folder.join(hex);
        if folder.exists() {
            return Some(folder);
        }
        let referenced = fs::read_to_string(self.folder.join(format!("{hex}.ref"))).ok()?;
        Some(self.folder.join(hex_digest(&referenced))).filter(|folder| folder.exists())
    }

    fn open_image(&self, folder: &Path) -> Result<Image> {
        let text = fs::read(folder.join("config.json"));
        let text = text.explain(|| "The image's configuration cannot be read")?;
        self.evict(folder);
        Ok(Image { root: folder.join("root"), config: parse_config(&text)? })
    }

    /// Marks an image as used now, and removes the least recently used images beyond [`IMAGES_MAX`].
    fn evict(&self, used: &Path) {
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
        let excess = images.len().saturating_sub(IMAGES_MAX);
        for (_, image) in images.into_iter().take(excess).filter(|(_, image)| image != used) {
            drop(remove_path(&image));
        }
    }
}

/// Returns the digest and the manifest of the image for this platform.
fn find_manifest(source: &Source, reference: &str, depth: u32) -> Result<(String, Manifest)> {
    let bytes = source.manifest(reference)?;
    let digest = digest(&bytes);
    if reference.contains(':') && reference != digest {
        return Err(Error::new(format!(
            "The source returned an image with the digest {digest} instead of {reference}."
        )));
    }
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|_| Error::new("The manifest of the image cannot be read."))?;
    if manifest.config.is_some() {
        return Ok((digest, manifest));
    }
    let fits = |one: &&Descriptor| {
        one.platform.as_ref().is_some_and(|platform| is_this_platform(&platform.os, &platform.architecture))
    };
    match manifest.manifests.iter().find(fits) {
        Some(one) if depth > 0 => find_manifest(source, &one.digest, depth - 1),
        Some(_) => Err(Error::new(format!(
            "The indexes of the image are nested more than {INDEX_DEPTH_MAX} deep, the limit of a runner."
        ))),
        None => Err(Error::new(format!("The image has no manifest for linux/{}.", architecture()))),
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Returns a digest without its algorithm.
fn hex_digest(digest: &str) -> &str {
    digest.trim_start_matches("sha256:")
}

fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the architecture of this machine by its name in image manifests.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn is_this_platform(os: &str, image_architecture: &str) -> bool {
    os == "linux" && image_architecture == architecture()
}

/// Parses a configuration; fails if this machine cannot run the image.
fn parse_config(text: &[u8]) -> Result<ImageConfig> {
    let file: ConfigFile = serde_json::from_slice(text)
        .map_err(|_| Error::new("The configuration of the image cannot be read."))?;
    if let (Some(os), Some(architecture)) = (&file.os, &file.architecture)
        && !is_this_platform(os, architecture)
    {
        return Err(Error::new(format!(
            "The image is for {os}/{architecture}; this host is linux/{}.",
            self::architecture()
        )));
    }
    Ok(file.config.unwrap_or_default())
}

/// Fetches and verifies a small blob of an image.
fn fetch_document(source: &Source, descriptor: &Descriptor) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limited = Descriptor { size: descriptor.size.min(DOCUMENT_MAX), ..descriptor.clone() };
    fetch(source, &limited, &mut bytes)?;
    Ok(bytes)
}

/// Fetches a blob, and fails if its content does not match its digest.
fn fetch(source: &Source, descriptor: &Descriptor, target: &mut impl Write) -> Result<()> {
    let mut writer = VerifyingWriter { target, hash: Sha256::new(), left: descriptor.size };
    source.blob(&descriptor.digest, &mut writer)?;
    let (found, left) = (format!("sha256:{}", hex::encode(writer.hash.finalize())), writer.left);
    if left > 0 || found != descriptor.digest {
        return Err(Error::new("A blob of the image does not match its digest; push the image again."));
    }
    Ok(())
}

/// A writer that hashes, and rejects more bytes than the manifest states.
struct VerifyingWriter<'a, W> {
    target: &'a mut W,
    hash: Sha256,
    left: u64,
}

impl<W: Write> Write for VerifyingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(std::io::Error::other("it is larger than the manifest states"));
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
fn fetch_image(
    source: &Source,
    config: &Descriptor,
    layers: &[Descriptor],
    folder: &Path,
    mut quota: Quota,
) -> Result<()> {
    let config = fetch_document(source, config)?;
    parse_config(&config)?;
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
    fs::create_dir(&root).explain(|| "The folder of the image cannot be created")?;
    for descriptor in layers {
        let mut file: File =
            tempfile::tempfile_in(folder).explain(|| "The layer of the image cannot be kept")?;
        fetch(source, descriptor, &mut file)?;
        file.rewind().explain(|| "The layer of the image cannot be read")?;
        unpack_layer(file, &root, &mut quota)?;
    }
    Ok(())
}
