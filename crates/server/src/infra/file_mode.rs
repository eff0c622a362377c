//! Folders and files that only their owner can access, on systems with file owners.

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

/// Creates a folder and its parents. The mode of an existing folder does not change.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates or truncates a file and opens it for writing.
pub fn create_file(file: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(file)
}

/// Syncs the folder of a file: a new name is durable only after that.
pub fn sync_folder_of(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Returns options that create a file with private permissions.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Removes the permissions of other accounts from a folder and its contents. Returns the number of changed entries. Does not
/// follow links.
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
            // Another server may have deleted the file after it was listed.
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

/// On other systems, new files inherit the permissions of their folder.
#[cfg(not(unix))]
pub(crate) fn restrict(_: &Path) -> io::Result<u64> {
    Ok(0)
}
