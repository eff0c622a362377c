//! Folders and files that are for their owner alone, wherever the system knows owners.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::Path,
};

#[cfg(unix)]
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
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

/// Takes the permissions of other accounts from a folder and everything in it; returns how many it changed. Links are
/// not followed.
#[cfg(unix)]
pub(crate) fn restrict(folder: &Path) -> io::Result<u64> {
    let mut changed = 0;
    let mut pending = match fs::canonicalize(folder) {
        Ok(folder) => vec![folder],
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    while let Some(path) = pending.pop() {
        let metadata = match fs::symlink_metadata(&path) {
            // Another server may have deleted it since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_symlink() {
            continue;
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            let mode = if metadata.is_dir() { 0o700 } else { 0o600 };
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
            changed += 1;
        }
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    Ok(changed)
}

/// Other systems give new files the permissions of their folder.
#[cfg(not(unix))]
pub(crate) fn restrict(_: &Path) -> io::Result<u64> {
    Ok(0)
}
