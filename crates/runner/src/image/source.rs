//! Sources of images: a registry, or a folder in the OCI image layout.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use tidemark_client::{agent, http};
use ureq::Agent;

use super::{DOCUMENT_MAX, Descriptor, Manifest, REGISTRY_TIMEOUT, is_hex};
use crate::error::{Error, Explain, Result};

/// Media types that are accepted for a manifest.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";
/// Delays before the retries of a failed request to a registry.
const RETRY_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// Annotation with the name of an image in an index.
const NAME_ANNOTATION: &str = "org.opencontainers.image.ref.name";

/// Source of an image.
pub enum Source {
    /// A folder in the OCI image layout.
    Layout(PathBuf),
    /// A registry.
    Registry(Registry),
}

/// A repository of a registry, and its token.
pub struct Registry {
    agent: Agent,
    base: String,
    token: Option<String>,
}

impl Source {
    /// Returns the source for a repository of the registry at an address, for example `https://registry.example.org`.
    pub fn registry(address: &str, repository: &str, token: Option<&str>) -> Self {
        let address = address.trim_end_matches('/');
        let base = format!("{address}/v2/{repository}");
        Self::Registry(Registry {
            agent: agent(address, REGISTRY_TIMEOUT, false),
            base,
            token: token.map(str::to_owned),
        })
    }

    /// Parses a source and the reference of an image: a folder, a folder and a tag, or `host/name:tag`.
    pub fn parse(text: &str, token: Option<&str>) -> Result<(Self, String)> {
        let path = Path::new(text);
        if path.join("index.json").is_file() {
            return Ok((Self::Layout(path.to_owned()), String::new()));
        }
        if let Some((folder, tag)) = text.rsplit_once(':')
            && Path::new(folder).join("index.json").is_file()
        {
            return Ok((Self::Layout(folder.into()), tag.to_owned()));
        }
        let (name, reference) = match text.split_once('@') {
            Some(parts) => parts,
            None => match text.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
                Some(parts) => parts,
                None => (text, "latest"),
            },
        };
        let Some((host, repository)) = name.split_once('/') else {
            return Err(Error::new(format!(
                "`{text}` is neither a folder in the OCI image layout nor of the form host/name:tag."
            )));
        };
        let host_name = host.split(':').next().unwrap_or(host);
        let scheme = if matches!(host_name, "localhost" | "127.0.0.1") { "http" } else { "https" };
        Ok((Self::registry(&format!("{scheme}://{host}"), repository, token), reference.to_owned()))
    }

    /// Returns the bytes of a manifest, by digest or tag.
    pub(super) fn manifest(&self, reference: &str) -> Result<Vec<u8>> {
        match self {
            Self::Layout(folder) if reference.contains(':') => {
                let mut bytes = Vec::new();
                let file = fs::File::open(blob_path(folder, reference)?);
                let file = file.explain(|| "The manifest of the image cannot be read")?;
                file.take(DOCUMENT_MAX)
                    .read_to_end(&mut bytes)
                    .explain(|| "The manifest of the image cannot be read")?;
                Ok(bytes)
            }
            Self::Layout(folder) => {
                let index = fs::read(folder.join("index.json"));
                let index = index.explain(|| "The index of the images cannot be read")?;
                let index: Manifest = serde_json::from_slice(&index)
                    .map_err(|_| Error::new("The index of the images cannot be read."))?;
                self.manifest(&find_image(&index.manifests, reference)?.digest)
            }
            Self::Registry(registry) => {
                let mut bytes = Vec::new();
                registry.get(&format!("manifests/{reference}"), DOCUMENT_MAX, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Writes the bytes of a blob to `target`.
    pub(super) fn blob(&self, digest: &str, target: &mut impl Write) -> Result<()> {
        match self {
            Self::Layout(folder) => {
                let mut file = fs::File::open(blob_path(folder, digest)?)
                    .explain(|| "A blob of the image cannot be read")?;
                io::copy(&mut file, target).explain(|| "A blob of the image cannot be copied")?;
                Ok(())
            }
            Self::Registry(registry) => registry.get(&format!("blobs/{digest}"), u64::MAX, target),
        }
    }
}

impl Registry {
    fn get(&self, path: &str, limit: u64, target: &mut impl Write) -> Result<()> {
        let mut delays = RETRY_DELAYS.into_iter();
        let answer = loop {
            let reason = match self.request(path) {
                Ok(answer) if answer.status().as_u16() == 429 || answer.status().is_server_error() => {
                    format!("it responded with status {}", answer.status().as_u16())
                }
                Ok(answer) => break answer,
                Err(error) => error.to_string(),
            };
            match delays.next() {
                Some(delay) => thread::sleep(delay),
                None => return Err(Error::new(format!("The registry cannot be reached ({reason})."))),
            }
        };
        match answer.status().as_u16() {
            200 => {}
            401 | 403 => return Err(Error::new("The registry denied this runner access to the image.")),
            404 => return Err(Error::new("The registry does not have the image; push it again.")),
            status => {
                return Err(Error::new(format!(
                    "The registry responded with status {status} to the request for the image."
                )));
            }
        }
        let mut body = answer.into_body().into_reader().take(limit);
        io::copy(&mut body, target).explain(|| "The image cannot be fetched from the registry")?;
        Ok(())
    }

    fn request(&self, path: &str) -> Result<http::Response<ureq::Body>, ureq::Error> {
        let mut request =
            self.agent.get(format!("{}/{path}", self.base)).header(http::header::ACCEPT, MANIFEST_TYPES);
        if let Some(token) = &self.token {
            request = request.header(http::header::AUTHORIZATION, format!("Bearer {token}"));
        }
        request.call()
    }
}

/// Returns the image of a folder with this name, or its only image.
fn find_image<'a>(manifests: &'a [Descriptor], name: &str) -> Result<&'a Descriptor> {
    match manifests {
        [only] if name.is_empty() => Ok(only),
        [] => Err(Error::new("The folder contains no image.")),
        _ if name.is_empty() => {
            Err(Error::new("The folder contains several images; select one with `FOLDER:TAG`."))
        }
        _ => manifests
            .iter()
            .find(|one| one.annotations.get(NAME_ANNOTATION).is_some_and(|found| found == name))
            .ok_or_else(|| Error::new(format!("The folder contains no image with the tag `{name}`."))),
    }
}

/// Returns the path of a blob. Only SHA-256 digests, which are verified, become paths.
fn blob_path(folder: &Path, digest: &str) -> Result<PathBuf> {
    match digest.strip_prefix("sha256:") {
        Some(hex) if is_hex(hex) => Ok(folder.join("blobs/sha256").join(hex)),
        _ => Err(Error::new("The image has a digest that is not SHA-256.")),
    }
}
