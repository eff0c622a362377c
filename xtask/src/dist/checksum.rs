//! `SHA256SUMS`: the checksums of all artifacts, in the format of sha256sum.

use std::{fs::File, io, path::Path};

use sha2::{Digest, Sha256};

use super::{artifacts, failed, write as write_file};
use crate::Result;

/// Name of the file.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// Writes the checksums of all files in a folder.
pub(crate) fn write(folder: &Path) -> Result {
    let mut text = String::new();
    for (name, _) in artifacts(folder)? {
        if name != SUMS {
            text.push_str(&format!("{}  {name}\n", of_file(&folder.join(&name))?));
        }
    }
    write_file(&folder.join(SUMS), text.as_bytes())
}

/// Fails if a file of a folder differs from its checksum, or has none.
pub(crate) fn verify(folder: &Path) -> Result {
    let file = folder.join(SUMS);
    let sums = std::fs::read_to_string(&file).map_err(|error| failed("read", &file, &error))?;
    for (name, _) in artifacts(folder)? {
        let expected = sums.lines().find_map(|line| line.strip_suffix(&name)?.strip_suffix("  "));
        if name != SUMS && expected != Some(of_file(&folder.join(&name))?.as_str()) {
            return Err(format!("the checksum of {name} is not in {SUMS}"));
        }
    }
    Ok(())
}

/// Returns the checksum of a file.
pub(super) fn of_file(file: &Path) -> Result<String> {
    let mut hash = Hasher(Sha256::new());
    File::open(file)
        .and_then(|mut content| io::copy(&mut content, &mut hash))
        .map_err(|error| failed("read", file, &error))?;
    Ok(hex::encode(hash.0.finalize()))
}

/// Returns the checksum of bytes.
pub(super) fn of(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::service;

    #[test]
    fn a_changed_file_and_a_file_without_checksum_are_found() {
        let folder = service::folder("checksums").unwrap();
        fs::write(folder.join("one"), "1").unwrap();
        write(&folder).unwrap();
        assert_eq!(verify(&folder), Ok(()));
        let sums = fs::read_to_string(folder.join(SUMS)).unwrap();
        assert_eq!(sums, format!("{}  one\n", of(b"1")));
        fs::write(folder.join("two"), "2").unwrap();
        assert_eq!(verify(&folder), Err("the checksum of two is not in SHA256SUMS".to_owned()));
        fs::remove_file(folder.join("two")).unwrap();
        fs::write(folder.join("one"), "3").unwrap();
        assert_eq!(verify(&folder), Err("the checksum of one is not in SHA256SUMS".to_owned()));
        fs::remove_dir_all(folder).unwrap();
    }
}
