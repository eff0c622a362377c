//! Identity of a project that no flag, variable or `tidemark.toml` names: the slug and the name, derived from the repository or the
//! folder. Every command uses this rule, so that the same repository is the same project everywhere.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tidemark_api::Slug;

use super::{
    git::{self, Repository, last_segment},
    machine,
};
use crate::failure::{Failure, Result};

/// Name of a project whose repository or folder has none.
const UNNAMED: &str = "project";
/// Maximum number of characters of the name in the slug.
const NAME_IN_SLUG: usize = 42;
/// Length of the hash in the slug, in bytes; it has twice as many digits.
const HASH_LENGTH: usize = 4;

/// Identity of the project of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectIdentity {
    /// Slug: the name and a hash of the origin.
    pub(crate) slug: Slug,
    /// Name of a new project.
    pub(crate) name: String,
}

/// Origin of a repository or a folder. Two folders with the same origin belong to the same project.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// Host and path of a remote, regardless of protocol, user, port and letter case.
    Remote(String),
    /// Folder on this machine.
    Folder(PathBuf),
}

impl ProjectIdentity {
    /// Returns the identity of a folder:
    ///
    /// 1. In a repository with a remote, the host and the path of the remote identify the project, on every machine.
    /// 2. In a repository without a remote, the folder of the repository identifies it. This folder is also the remote of its
    ///    clones on this machine.
    /// 3. Outside of a repository, the folder itself identifies the project.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        Self::new(folder, Repository::find(folder).as_ref())
    }

    /// Returns the identity of a folder in this repository, or of a folder without a repository.
    pub(super) fn new(folder: &Path, repository: Option<&Repository>) -> Result<Self> {
        let remote = repository.and_then(Repository::remote);
        let origin = match (repository, &remote) {
            (Some(repository), Some(remote)) => Origin::of_remote(remote, &repository.root()),
            (Some(repository), None) => Origin::of_folder(&repository.root()),
            (None, _) => match git::refusal(folder) {
                None => Origin::of_folder(folder),
                Some(reason) => {
                    return Err(Failure::usage(format!(
                        "git cannot read the repository of this folder, which identifies the project ({reason}). \
                         Correct this, or name the project with `--project` or TIDEMARK_PROJECT."
                    )));
                }
            },
        };
        let name = match (&origin, &remote) {
            (Origin::Remote(_), Some(remote)) => last_segment(remote),
            (Origin::Folder(folder), _) => folder.file_name().and_then(OsStr::to_str).and_then(last_segment),
            (Origin::Remote(_), None) => None,
        };
        let name = name.unwrap_or(UNNAMED).to_owned();
        let hash = origin.hash();
        let short: String = name.chars().take(NAME_IN_SLUG).collect();
        let slug = [short.as_str(), UNNAMED].iter().find_map(|name| Slug::derive(&format!("{name} {hash}")));
        let slug = slug.ok_or_else(|| Failure::usage("The folder gives no slug; name the project."))?;
        Ok(Self { slug, name })
    }
}

impl Origin {
    /// Returns the origin that the URL of a remote identifies. A relative path starts at the root of the repository.
    fn of_remote(url: &str, root: &Path) -> Self {
        let url = url.trim();
        let (host, path) = match url.split_once("://") {
            Some(("file", path)) => return Self::of_folder(Path::new(path)),
            Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
            // `user@host:path`; one letter before the colon is a drive.
            None => match url.split_once(':') {
                Some((host, path)) if host.len() > 1 && !host.contains(['/', '\\']) => (host, path),
                _ => return Self::of_folder(&root.join(url)),
            },
        };
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        Self::Remote(format!("{host}/{path}").to_lowercase())
    }

    fn of_folder(folder: &Path) -> Self {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        match folder.parent() {
            // The remote of a clone can be the folder of git instead of the work tree.
            Some(root) if folder.ends_with(".git") => Self::Folder(root.to_owned()),
            _ => Self::Folder(folder),
        }
    }

    /// Returns hexadecimal digits that identify the origin. The same path on another machine is another folder.
    fn hash(&self) -> String {
        let mut digest = Sha256::new();
        match self {
            Self::Remote(address) => digest.update(format!("remote\n{address}")),
            Self::Folder(folder) => {
                digest.update(format!("folder\n{}\n", machine::system_id().unwrap_or_default()));
                digest.update(folder.as_os_str().as_encoded_bytes());
            }
        }
        hex::encode(&digest.finalize()[..HASH_LENGTH])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_url_of_a_remote_is_the_same_origin() {
        for url in [
            "https://example.org/acme/widget",
            "https://example.org/acme/widget.git",
            "https://ada:secret@Example.org:8443/acme/Widget.git/",
            "ssh://git@example.org:2222/acme/widget.git",
            "git@example.org:acme/widget.git",
            "example.org:/acme/widget",
        ] {
            let origin = Origin::of_remote(url.trim_end_matches('/'), Path::new("/"));
            assert_eq!(origin, Origin::Remote("example.org/acme/widget".to_owned()), "{url}");
        }
        let [other, fork] = ["git@example.com:acme/widget", "git@example.org:ada/widget"]
            .map(|url| Origin::of_remote(url, Path::new("/")).hash());
        assert_ne!(other, fork);
    }

    #[test]
    fn a_path_as_remote_is_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("widget/.git")).unwrap();
        fs::create_dir(root.join("clone")).unwrap();
        let widget = root.join("widget");
        let path = widget.to_str().unwrap();
        for url in [path, &format!("file://{path}"), "../widget", &format!("{path}/.git")] {
            let origin = Origin::of_remote(url, &root.join("clone"));
            assert_eq!(origin, Origin::Folder(widget.clone()), "{url}");
        }
        assert_eq!(
            Origin::of_remote("C:\\code\\widget", &root),
            Origin::Folder(root.join("C:\\code\\widget"))
        );
    }

    #[test]
    fn a_name_without_letters_has_a_slug() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            ProjectIdentity::new(&path, None).unwrap()
        };
        let symbols = named("!?");
        assert!(
            symbols.slug.as_str().starts_with("project-") || symbols.slug.as_str().len() == 8,
            "{symbols:?}"
        );
        let long = named(&"x".repeat(200));
        assert_eq!(long.slug.as_str().len(), NAME_IN_SLUG + 1 + 2 * HASH_LENGTH, "{long:?}");
        assert_ne!(named("a b").slug, named("a-b").slug);
    }
}
