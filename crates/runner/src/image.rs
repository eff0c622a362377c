//! Images: found in a registry or in a folder, checked by their digests, unpacked once and kept by digest. How they are
//! run is in `sandbox.rs`.

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

/// The most bytes of a manifest and of a configuration.
const DOCUMENT_MAX: u64 = 4 << 20;
/// How many images are kept.
const KEPT: usize = 16;
/// What the folder of an image that is not whole yet begins with.
const UNFINISHED: &str = "new-";
/// How deep an index may point at another.
const INDEX_DEPTH: u32 = 2;
/// How long a registry may take for one answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// An image that is unpacked.
#[derive(Debug)]
pub struct Image {
    /// Its files.
    pub root: PathBuf,
    /// What it says about how to run it.
    pub config: ImageConfig,
}

/// What an image says about how to run it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ImageConfig {
    /// What is started.
    pub entrypoint: Option<Vec<String>>,
    /// Its arguments, or what is started if there is no entry point.
    pub cmd: Option<Vec<String>>,
    /// Variables, as `NAME=VALUE`.
    pub env: Option<Vec<String>>,
    /// The folder that it is started in.
    pub working_dir: Option<String>,
    /// Whom it runs as.
    pub user: Option<String>,
}

/// A reference to a piece of an image.
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

/// A manifest: of an image, or of several for different machines.
#[derive(Deserialize)]
struct Manifest {
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// The configuration of an image as it is in the registry.
#[derive(Deserialize)]
struct ConfigFile {
    os: Option<String>,
    architecture: Option<String>,
    #[serde(default)]
    config: Option<ImageConfig>,
}

/// The images that are kept on this machine.
#[derive(Debug)]
pub struct Images {
    folder: PathBuf,
    quota: Quota,
}

impl Images {
    /// Keeps images in a folder, and throws away what is not whole in it. Only one runner may use it at a time.
    pub fn open(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder).explain(|| "The folder of the images cannot be made")?;
        for entry in fs::read_dir(&folder).explain(|| "The folder of the images cannot be read")?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                // It only takes room.
                drop(remove_path(&entry.path()));
            }
        }
        Ok(Self { folder, quota: Quota::default() })
    }

    /// The same with another quota for each image.
    #[must_use]
    pub fn with_quota(self, quota: Quota) -> Self {
        Self { quota, ..self }
    }

    /// The image that a digest or a tag names, fetched and unpacked if it is not here yet.
    pub fn get(&self, source: &Source, reference: &str) -> Result<Image> {
        // What a digest names never changes, so that nobody has to be asked.
        if let Some(folder) = self.known(reference) {
            return self.open_image(&folder);
        }
        let (digest, manifest) = find(source, reference, INDEX_DEPTH)?;
        let folder = self.folder.join(plain(&digest));
        let described = manifest.config.as_ref().ok_or_else(|| Error::new("This is not an image to run."))?;
        if !folder.exists() {
            let new = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder);
            // It may hold more than a temporary folder can remove by itself.
            let new = new.explain(|| "The folder of the image cannot be made")?.keep();
            let kept = keep(source, described, &manifest.layers, &new, self.quota)
                .and_then(|()| fs::rename(&new, &folder).explain(|| "The image cannot be put in its place"));
            if kept.is_err() {
                // What cannot be removed now is removed at the next start.
                drop(remove_path(&new));
            }
            kept?;
        }
        if reference.contains(':') && reference != digest {
            // Of an index, which of its images is meant.
            let written = fs::write(self.folder.join(format!("{}.ref", plain(reference))), &digest);
            written.explain(|| "It cannot be written down which image is meant")?;
        }
        self.open_image(&folder)
    }

    /// The folder of the image that a digest names, if it is here.
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

    /// Marks an image as used now, and throws away those that were not for the longest time.
    fn forget_others(&self, used: &Path) {
        // Nobody depends on it: what cannot be removed now is removed another time.
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

/// The manifest of the image for this machine, and its digest.
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
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// A digest without its kind.
fn plain(digest: &str) -> &str {
    digest.trim_start_matches("sha256:")
}

fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// This machine's instruction set as images call it.
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

/// Reads a configuration, if it is of an image that this machine can run.
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

/// A small piece of an image, checked.
fn document(source: &Source, described: &Descriptor) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limited = Descriptor { size: described.size.min(DOCUMENT_MAX), ..described.clone() };
    fetch(source, &limited, &mut bytes)?;
    Ok(bytes)
}

/// Brings the bytes of a piece, which must be exactly those that its digest names.
fn fetch(source: &Source, described: &Descriptor, target: &mut impl Write) -> Result<()> {
    let mut checked = Checked { target, hash: Sha256::new(), left: described.size };
    source.blob(&described.digest, &mut checked)?;
    let (found, left) = (format!("sha256:{}", hex(&checked.hash.finalize())), checked.left);
    if left > 0 || found != described.digest {
        return Err(Error::new("A piece of the image is not what its digest says; push the image again."));
    }
    Ok(())
}

/// A writer that counts and hashes, and takes no more than was announced.
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

/// Fetches an image into a folder: its configuration, and its layers over each other, which share a quota.
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
