//! Bytes of a run, kept in a file that has no name and goes with its last user.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
};

use crate::error::{Explain, Result};

/// What a run wrote, as far as it is kept.
#[derive(Debug)]
pub struct Captured {
    file: File,
    size: u64,
    /// How many bytes more there were.
    pub left_out: u64,
}

impl Captured {
    /// Makes an empty one in a folder.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).explain(|| "The output of the job cannot be kept")?;
        Ok(Self { file, size: 0, left_out: 0 })
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).explain(|| "The output of the job cannot be kept")?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Appends all that a reader has.
    pub(crate) fn copy(&mut self, source: &mut impl Read) -> io::Result<()> {
        self.size += io::copy(source, &mut self.file)?;
        Ok(())
    }

    /// How many bytes are kept.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the run wrote nothing.
    pub fn is_empty(&self) -> bool {
        self.size == 0 && self.left_out == 0
    }

    /// Reads the bytes from the beginning. One reader at a time.
    pub fn reader(&self) -> io::Result<impl Read> {
        let mut file = &self.file;
        file.rewind()?;
        Ok(file)
    }
}
