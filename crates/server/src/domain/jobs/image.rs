//! The image of a job: parses its name and resolves it to a digest in the registry of this server.

use tidemark_api::{ProjectUuid, ResourceId, Url};
use tidemark_store::{Tx, manifest, project, repository};

use crate::domain::error::{Error, Result};

/// Maximum length of a tag.
const TAG_MAX: usize = 128;
/// Host that is equivalent to no host.
const DEFAULT_HOST: &str = "docker.io";
const DEFAULT_TAG: &str = "latest";

/// The name of an image: `[HOST/]PROJECT[/PATH][:TAG|@DIGEST]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    /// The project.
    pub(crate) project: ResourceId,
    /// The part of the repository name after the project.
    pub(crate) path: String,
    reference: Reference,
}

#[derive(Clone, Debug, PartialEq)]
enum Reference {
    Tag(String),
    Digest(String),
}

impl Image {
    /// Parses the name of an image, which must be in this registry.
    pub(crate) fn parse(text: &str, registry: &Url) -> Result<Self> {
        let (name, reference) = match text.split_once('@') {
            Some((name, digest)) if is_digest(digest) => {
                // A tag next to a digest is ignored.
                (untagged(name).0, Reference::Digest(digest.to_owned()))
            }
            Some(_) => {
                return Err(wrong(
                    "its digest is not a SHA-256 or SHA-512 digest with lower-case hexadecimal digits",
                ));
            }
            None => match untagged(text) {
                (name, None) => (name, Reference::Tag(DEFAULT_TAG.to_owned())),
                (name, Some(tag)) if is_tag(tag) => (name, Reference::Tag(tag.to_owned())),
                _ => return Err(wrong("its tag contains characters that are not allowed in tags")),
            },
        };
        let name = match name.split_once('/') {
            Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => {
                if !is_host(host, registry) {
                    return Err(wrong(
                        "it is in another registry; push it to the registry of this server first",
                    ));
                }
                rest
            }
            _ => name,
        };
        let (project, path) = name.split_once('/').unwrap_or((name, ""));
        let project = project
            .parse()
            .map_err(|_| wrong("its name does not start with the slug or UUID of a project"))?;
        Ok(Self { project, path: path.to_owned(), reference })
    }

    /// Returns the full name of the repository.
    pub(crate) fn repository(&self, project: ProjectUuid) -> String {
        if self.path.is_empty() { project.to_string() } else { format!("{project}/{}", self.path) }
    }

    /// Returns the digest of the image, which must exist and belong to this project.
    pub(crate) fn resolve(&self, tx: &mut Tx<'_>, found: &project::ProjectRow) -> Result<String> {
        self.find(tx, found)?.ok_or_else(|| wrong("the image does not exist; push it first"))
    }

    /// Returns the digest of the image, if it exists. It must belong to this project.
    pub(crate) fn find(&self, tx: &mut Tx<'_>, found: &project::ProjectRow) -> Result<Option<String>> {
        let is_ours = match &self.project {
            ResourceId::Uuid(uuid) => *uuid == found.project.uuid.uuid(),
            ResourceId::Slug(slug) => *slug == found.project.slug,
        };
        if !is_ours {
            return Err(Error::Invalid(format!(
                "`job.image` belongs to another project; use `{}` or `{0}/…`.",
                found.project.slug
            )));
        }
        let repository = repository::find(tx, found.id, &self.path)?;
        let manifest = match (repository, &self.reference) {
            (None, _) => None,
            (Some(repository), Reference::Tag(tag)) => manifest::by_tag(tx, repository, tag)?,
            (Some(repository), Reference::Digest(digest)) => manifest::by_digest(tx, repository, digest)?,
        };
        Ok(manifest.map(|manifest| manifest.digest))
    }
}

fn wrong(reason: &str) -> Error {
    Error::Invalid(format!("`job.image` cannot be used: {reason}."))
}

/// Splits off the tag. Text after a colon and before a slash is a port.
fn untagged(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (text, None),
    }
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_MAX
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let length = match text.split_once(':') {
        Some(("sha256", hex)) => (hex, 64),
        Some(("sha512", hex)) => (hex, 128),
        _ => return false,
    };
    let (hex, length) = length;
    hex.len() == length && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_host(host: &str, registry: &Url) -> bool {
    let Ok(url) = url::Url::parse(registry.as_str()) else { return false };
    let Some(ours) = url.host_str() else { return false };
    let with_port = url.port_or_known_default().map(|port| format!("{ours}:{port}"));
    host == DEFAULT_HOST || host == ours || Some(host) == with_port.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Image> {
        Image::parse(text, &"http://localhost:6610".parse().unwrap())
    }

    #[test]
    fn images_of_this_registry_are_read() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let tagged = |project: &str, path: &str, tag: &str| Image {
            project: project.parse().unwrap(),
            path: path.into(),
            reference: Reference::Tag(tag.into()),
        };
        assert_eq!(parse("lab").unwrap(), tagged("lab", "", "latest"));
        assert_eq!(parse("lab:v1").unwrap(), tagged("lab", "", "v1"));
        assert_eq!(parse("lab/a/b:v1").unwrap(), tagged("lab", "a/b", "v1"));
        for host in ["localhost:6610", "localhost", "docker.io"] {
            assert_eq!(parse(&format!("{host}/lab:v1")).unwrap(), tagged("lab", "", "v1"), "{host}");
        }
        let by_digest = parse(&format!("lab:v1@{digest}")).unwrap();
        assert_eq!(by_digest.reference, Reference::Digest(digest));
    }

    #[test]
    fn other_names_are_refused() {
        for text in [
            "",
            "LAB",
            "lab:",
            "lab:-x",
            "lab@sha256:00",
            "lab@md5:00",
            "example.org/lab",
            "localhost:1/lab",
            "la b",
        ] {
            assert!(matches!(parse(text), Err(Error::Invalid(_))), "{text}");
        }
    }
}
