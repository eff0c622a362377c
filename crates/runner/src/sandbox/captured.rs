//! Bytes of a run, in an unnamed file that is deleted with its last user.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
};

use crate::error::{Explain, Result};

/// Output of a run, up to the limit.
#[derive(Debug)]
pub struct CapturedOutput {
    file: File,
    size: u64,
    /// Number of bytes beyond the limit.
    pub left_out: u64,
}

impl CapturedOutput {
    /// Creates an empty capture in a folder.
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

    /// Appends everything that a reader returns.
    pub(crate) fn copy(&mut self, source: &mut impl Read) -> io::Result<()> {
        self.size += io::copy(source, &mut self.file)?;
        Ok(())
    }

    /// Returns the number of bytes kept.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the run wrote nothing.
    pub fn is_empty(&self) -> bool {
        self.size == 0 && self.left_out == 0
    }

    /// Reads the bytes from the start. Only one reader at a time.
    pub fn reader(&self) -> io::Result<impl Read> {
        let mut file = &self.file;
        file.rewind()?;
        Ok(file)
    }
}
