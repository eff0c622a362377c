//! Parses paths below `/v2`. Names of repositories contain slashes, so paths are parsed from the right.

use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tidemark_api::ResourceId;
use uuid::Uuid;

use super::{
    digest::Digest,
    error::{Error, Result},
};

/// Maximum length of the name of a repository.
const NAME_MAX: usize = 255;
/// Maximum length of a tag.
const TAG_MAX: usize = 128;

/// Resource of a path.
#[derive(Debug, PartialEq)]
pub(super) enum Target {
    /// The base path.
    Base,
    /// A blob.
    Blob(Name, Digest),
    /// The uploads of a repository.
    Uploads(Name),
    /// One upload; `None` if its ID is not a UUID.
    Upload(Name, Option<Uuid>),
    /// A manifest, with its tag or digest.
    Manifest(Name, String),
    /// The tags of a repository.
    Tags(Name),
    /// The manifests that refer to another manifest.
    Referrers(Name, Digest),
}

impl Target {
    /// Parses a path that begins with `/v2`.
    pub(super) fn parse(path: &str) -> Result<Self> {
        let rest = path.strip_prefix("/v2").unwrap_or(path);
        let segments: Vec<String> = rest
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let name = |segments: &[&str]| segments.join("/").parse();
        match segments.as_slice() {
            [] => Ok(Self::Base),
            [repository @ .., "blobs", "uploads"] if !repository.is_empty() => {
                Ok(Self::Uploads(name(repository)?))
            }
            [repository @ .., "blobs", "uploads", id] if !repository.is_empty() => {
                Ok(Self::Upload(name(repository)?, Uuid::parse_str(id).ok()))
            }
            [repository @ .., "blobs", digest] if !repository.is_empty() => {
                Ok(Self::Blob(name(repository)?, parse_digest(digest)?))
            }
            [repository @ .., "manifests", reference] if !repository.is_empty() => {
                Ok(Self::Manifest(name(repository)?, (*reference).to_owned()))
            }
            [repository @ .., "tags", "list"] if !repository.is_empty() => Ok(Self::Tags(name(repository)?)),
            [repository @ .., "referrers", digest] if !repository.is_empty() => {
                Ok(Self::Referrers(name(repository)?, parse_digest(digest)?))
            }
            _ => Err(Error::NoRoute),
        }
    }
}

/// Parses a digest from a path or a query.
pub(super) fn parse_digest(text: &str) -> Result<Digest> {
    text.parse().map_err(|reason| Error::DigestInvalid(format!("The digest is invalid: {reason}.")))
}

/// The name of a repository: slug or UUID of a project, and an optional path below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name {
    text: String,
    project: ResourceId,
}

impl Name {
    /// Returns the name as in the request.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the project.
    pub(super) fn project(&self) -> &ResourceId {
        &self.project
    }

    /// Returns the path below the project; can be empty.
    pub(super) fn path(&self) -> &str {
        self.text.split_once('/').map_or("", |(_, path)| path)
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            |reason: &str| Error::NameInvalid(format!("The name of the repository is invalid: {reason}."));
        if text.len() > NAME_MAX {
            return Err(wrong("it has more than 255 characters"));
        }
        if !text.split('/').all(is_component) {
            return Err(wrong(
                "its parts are lower-case letters and digits, joined by dashes, a dot, or one or two underscores",
            ));
        }
        let first = text.split('/').next().unwrap_or_default();
        let project =
            first.parse().map_err(|_| wrong("its first part must be the slug or the UUID of a project"))?;
        Ok(Self { text: text.to_owned(), project })
    }
}

/// Whether the text is a valid component of a name.
fn is_component(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separator = String::new();
    let mut letters = 0;
    for byte in text.bytes() {
        if plain(byte) {
            let fits = separator.is_empty()
                || matches!(separator.as_str(), "." | "_" | "__")
                || separator.bytes().all(|byte| byte == b'-');
            if !fits || (letters == 0 && !separator.is_empty()) {
                return false;
            }
            separator.clear();
            letters += 1;
        } else {
            separator.push(char::from(byte));
        }
    }
    letters > 0 && separator.is_empty()
}

/// Reference to a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reference {
    /// A digest.
    Digest(Digest),
    /// A tag.
    Tag(String),
}

impl Reference {
    /// Parses a reference from a path.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.contains(':') {
            return parse_digest(text).map(Self::Digest);
        }
        parse_tag(text).map(|tag| Self::Tag(tag.to_owned()))
    }
}

/// Parses a tag.
pub(super) fn parse_tag(text: &str) -> Result<&str> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(word);
    if first && text.len() <= TAG_MAX && bytes.all(|byte| word(byte) || matches!(byte, b'.' | b'-')) {
        return Ok(text);
    }
    Err(Error::TagInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_right() {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let digest = format!("sha256:{}", "a".repeat(64));
        let parsed = |path: &str| Target::parse(path).unwrap();
        assert_eq!(parsed("/v2"), Target::Base);
        assert_eq!(parsed("/v2/lab/tags/list"), Target::Tags(name("lab")));
        assert_eq!(parsed("/v2/lab/tags/list/tags/list"), Target::Tags(name("lab/tags/list")));
        assert_eq!(parsed("/v2/lab/blobs/uploads"), Target::Uploads(name("lab")));
        assert_eq!(parsed("/v2/lab/blobs/uploads/x"), Target::Upload(name("lab"), None));
        assert_eq!(
            parsed("/v2/lab/blobs/uploads/manifests/latest"),
            Target::Manifest(name("lab/blobs/uploads"), "latest".into())
        );
        assert_eq!(
            parsed(&format!("/v2/lab/a/b/blobs/{digest}")),
            Target::Blob(name("lab/a/b"), digest.parse().unwrap())
        );
        for path in ["/v2/lab", "/v2/_catalog", "/v2/tags/list", "/v2/blobs/uploads"] {
            assert!(matches!(Target::parse(path), Err(Error::NoRoute)), "{path}");
        }
        assert!(matches!(Target::parse("/v2/lab/blobs/x"), Err(Error::DigestInvalid(_))));
        assert!(matches!(Target::parse("/v2/Lab/tags/list"), Err(Error::NameInvalid(_))));
    }

    #[test]
    fn names_are_those_of_the_specification() {
        for name in ["a", "lab/a.b", "lab/a__b", "lab/a---b", "lab/0/1"] {
            assert!(name.parse::<Name>().is_ok(), "{name}");
        }
        for name in [
            "",
            "/",
            "lab/",
            "lab//a",
            "lab/-a",
            "lab/a-",
            "lab/a..b",
            "lab/a___b",
            "lab/a._b",
            "a_b",
            "lab/Ä",
        ] {
            assert!(name.parse::<Name>().is_err(), "{name}");
        }
        assert_eq!("lab/a/b".parse::<Name>().unwrap().path(), "a/b");
    }
}
