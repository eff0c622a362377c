//! Hash of the measured binary: runs of the same content differ only by noise.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// Flags for the measured binary.
#[derive(clap::Args)]
pub(super) struct BinaryFlags {
    /// Measured binary; runs of the same content differ only by noise; repeat the flag for several files
    #[arg(long, value_name = "PATH", conflicts_with = "image")]
    pub(super) binary: Vec<PathBuf>,
}

impl BinaryFlags {
    /// Returns a hash of the content, after the build. A failure is a warning: without a hash, the run is only harder to judge.
    pub(super) fn hash(&self) -> Option<String> {
        hash(&self.binary).unwrap_or_else(|reason| {
            message!("warning: --binary {reason}; the run is sent without its hash.");
            None
        })
    }
}

/// Returns a hash of the content of files; `None` if there is no file. The error names the file.
pub(crate) fn hash(files: &[PathBuf]) -> Result<Option<String>, String> {
    let mut hash = Sha256::new();
    for path in files {
        read(path, &mut hash).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    }
    Ok((!files.is_empty()).then(|| hex::encode(hash.finalize())))
}

fn read(path: &Path, hash: &mut Sha256) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    loop {
        let part = file.fill_buf()?;
        if part.is_empty() {
            return Ok(());
        }
        hash.update(part);
        let length = part.len();
        file.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let hash = |binary: &[&PathBuf]| {
            BinaryFlags { binary: binary.iter().map(|path| (*path).clone()).collect() }.hash()
        };
        let (one, same, other) = (write("one", "abc"), write("same", "abc"), write("other", "abd"));
        assert_eq!(
            hash(&[&one]).as_deref(),
            Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        assert_eq!(hash(&[&one]), hash(&[&same]));
        assert_ne!(hash(&[&one]), hash(&[&other]));
        assert_ne!(hash(&[&one, &other]), hash(&[&one]));
        assert_eq!(hash(&[]), None);
        assert_eq!(hash(&[&folder.path().join("nothing")]), None);
    }
}
