//! The parsers of the registry: paths, names, digests, references and ranges. Compiles only these files, because a
//! target that needs the whole server builds for minutes.

#[path = "../../crates/server/src/transport/oci/digest.rs"]
mod digest;
#[path = "../../crates/server/src/transport/oci/range.rs"]
mod range;
#[path = "../../crates/server/src/transport/oci/route.rs"]
mod route;

/// Errors of the parsers, without their conversion to responses of the server.
mod error {
    pub(super) type Result<T, E = Error> = std::result::Result<T, E>;

    /// Why a text is rejected.
    #[derive(Debug)]
    pub(super) enum Error {
        NoRoute,
        DigestInvalid(String),
        NameInvalid(String),
        TagInvalid,
    }

    impl Error {
        /// Returns the message for the client, if the parser writes one.
        pub(super) fn message(&self) -> &str {
            match self {
                Self::NoRoute | Self::TagInvalid => "",
                Self::DigestInvalid(message) | Self::NameInvalid(message) => message,
            }
        }
    }
}

use digest::{Algorithm, Digest};
use range::{parse_content_range, parse_range};
use route::{Name, Reference, Target};

/// Parses a path and two headers, one per line. No text may cause a panic, and every accepted value must be
/// consistent.
pub fn read(text: &str) {
    let mut lines = text.splitn(3, '\n');
    let (path, header, size) = (lines.next(), lines.next(), lines.next());
    let path = path.unwrap_or_default();
    for path in [path.to_owned(), format!("/v2/{path}")] {
        match Target::parse(&path) {
            Ok(target) => check(&target),
            Err(error) => assert!(error.message().len() < 512),
        }
    }
    let header = header.unwrap_or_default();
    let size = size.and_then(|size| size.parse().ok()).unwrap_or(10);
    if let Ok(Some(range)) = parse_range(header, size) {
        assert!(range.start < range.end && range.end <= size, "{header:?} of {size}: {range:?}");
    }
    if let Some((first, length)) = parse_content_range(header) {
        assert!(length > 0 && first.checked_add(length - 1).is_some(), "{header:?}: {first} {length}");
    }
}

fn check(target: &Target) {
    match target {
        Target::Base => {}
        Target::Blob(name, digest) | Target::Referrers(name, digest) => {
            check_name(name);
            check_digest(digest);
        }
        Target::Uploads(name) | Target::Upload(name, _) | Target::Tags(name) => check_name(name),
        Target::Manifest(name, reference) => {
            check_name(name);
            match Reference::parse(reference) {
                Ok(Reference::Digest(digest)) => check_digest(&digest),
                Ok(Reference::Tag(tag)) => assert_eq!(tag, *reference),
                Err(error) => assert!(error.message().len() < 512),
            }
        }
    }
}

/// Checks that a name survives parsing again, and cannot leave its folder.
fn check_name(name: &Name) {
    assert_eq!(name.as_str().parse::<Name>().ok().as_ref(), Some(name));
    assert!(name.as_str().len() <= 255 && !name.as_str().contains(".."));
    // A UUID may be written without hyphens.
    let project = name.as_str().split('/').next().and_then(|project| project.parse().ok());
    assert_eq!(project.as_ref(), Some(name.project()));
    assert!(name.as_str().ends_with(name.path()));
}

fn check_digest(digest: &Digest) {
    assert_eq!(digest.as_str().parse().as_ref(), Ok(digest));
    let other = Digest::of(digest.algorithm(), digest.as_str().as_bytes());
    assert_eq!(other.as_str().len(), digest.as_str().len());
    assert!(matches!(digest.algorithm(), Algorithm::Sha256 | Algorithm::Sha512));
}
