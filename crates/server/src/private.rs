//! Folders and files that are for their owner alone, wherever the system knows owners.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::Path,
};

/// Makes a folder and those above it; one that is there already stays as it is.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes a file, or empties the one that is there, and opens it for writing.
pub fn create_file(file: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(file)
}

/// How to open a file so that it is private if it is made.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
