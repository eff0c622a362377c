//! The archive: the binary, the licenses of Tidemark and its libraries, the completion scripts and the manual pages in a folder. Also
//! the functions with which other packages write archives that do not depend on the machine.

use std::{fs, io::Write, path::Path};

use flate2::{Compression, write::GzEncoder};
use tar::{Builder, EntryType, Header};

use super::{Dist, failed, notices, write};
use crate::{Result, tools};

/// Licenses and documents of the archive.
pub(super) const DOCUMENTS: [&str; 5] =
    ["LICENSE-APACHE", "LICENSE-MIT", "crates/server/assets/Inter-LICENSE.txt", "README.md", "CHANGELOG.md"];

/// Writes the archive.
pub(super) fn build(dist: &Dist) -> Result {
    let (root, name) = (tools::root()?, dist.platform.archive());
    let mut tar = Tar::new(dist.time);
    tar.folder(&name, 0o755, 0)?;
    tar.file(&format!("{name}/tidemark"), 0o755, &read(&dist.binary)?)?;
    for document in DOCUMENTS {
        let file = document.rsplit('/').next().unwrap_or(document);
        tar.file(&format!("{name}/{file}"), 0o644, &read(&root.join(document))?)?;
    }
    tar.file(&format!("{name}/{}", notices::NAME), 0o644, &read(&dist.notices())?)?;
    for (folder, source) in [("completions", dist.completions()), ("man", dist.manual_pages())] {
        tar.folder(&format!("{name}/{folder}"), 0o755, 0)?;
        for (file, _) in super::artifacts(&source)? {
            tar.file(&format!("{name}/{folder}/{file}"), 0o644, &read(&source.join(&file))?)?;
        }
    }
    write(&dist.folder.join(format!("{name}.tar.gz")), &compress(&tar.finish()?)?)
}

/// An archive in memory, whose entries have a fixed time and owner.
pub(super) struct Tar {
    builder: Builder<Vec<u8>>,
    time: u64,
}

impl Tar {
    pub(super) fn new(time: u64) -> Self {
        Self { builder: Builder::new(Vec::new()), time }
    }

    /// Adds a file of root.
    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result {
        self.add(EntryType::Regular, path, mode, 0, content)
    }

    /// Adds a folder of a user.
    pub(super) fn folder(&mut self, path: &str, mode: u32, user: u64) -> Result {
        self.add(EntryType::Directory, &format!("{path}/"), mode, user, &[])
    }

    fn add(&mut self, kind: EntryType, path: &str, mode: u32, user: u64, content: &[u8]) -> Result {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(user);
        header.set_gid(user);
        header.set_mtime(self.time);
        header.set_size(content.len() as u64);
        self.builder
            .append_data(&mut header, path, content)
            .map_err(|error| format!("{path} could not be added to an archive: {error}"))
    }

    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.builder.into_inner().map_err(|error| format!("an archive could not be completed: {error}"))
    }
}

/// Compresses with gzip, without a time.
pub(super) fn compress(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(content)
        .and_then(|()| encoder.finish())
        .map_err(|error| format!("an archive could not be compressed: {error}"))
}

/// Reads a file.
pub(super) fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(|error| failed("read", file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_archives_of_the_same_files_are_equal() {
        let archive = || {
            let mut tar = Tar::new(1);
            tar.folder("a", 0o755, 0).unwrap();
            tar.file("a/b", 0o644, b"content").unwrap();
            compress(&tar.finish().unwrap()).unwrap()
        };
        assert_eq!(archive(), archive());
    }
}
