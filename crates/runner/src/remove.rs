//! Removes files and folders of images. Removing a folder of any depth needs two open files and no recursion.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, renameat, unlinkat},
    io::{Errno, Result},
};

/// Removes a file or a folder with its content, if it exists.
pub(crate) fn remove_path(path: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    Ok(remove(CWD, path.as_os_str().as_bytes())?)
}

/// Removes a file or a folder with its content, if it exists. Does not follow links.
pub(crate) fn remove(parent: impl AsFd, name: &[u8]) -> Result<()> {
    match unlinkat(&parent, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        // Some file systems return the second error for a folder.
        Err(Errno::ISDIR | Errno::PERM) => {
            remove_content(&open(&parent, name)?)?;
            unlinkat(&parent, name, AtFlags::REMOVEDIR)
        }
        other => other,
    }
}

/// Removes the content of a folder. Empties its subfolders one after the other, and moves their subfolders up to
/// empty them later.
fn remove_content(top: &OwnedFd) -> Result<()> {
    let mut number = 0_u64;
    loop {
        let folders = remove_files(top)?;
        if folders.is_empty() {
            return Ok(());
        }
        for name in folders {
            let folder = open(top, &name)?;
            for inner in remove_files(&folder)? {
                move_up(&folder, &inner, top, &mut number)?;
            }
            unlinkat(top, name.as_slice(), AtFlags::REMOVEDIR)?;
        }
    }
}

/// Moves a folder to an unused name in `top`.
fn move_up(from: &OwnedFd, name: &[u8], top: &OwnedFd, number: &mut u64) -> Result<()> {
    loop {
        *number += 1;
        match renameat(from, name, top, format!(".tidemark-{number}")) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            other => return other,
        }
    }
}

/// Removes the files of a folder, and returns the names of its subfolders.
fn remove_files(folder: &OwnedFd) -> Result<Vec<Vec<u8>>> {
    let mut folders = Vec::new();
    for (name, kind) in children(folder)? {
        let is_folder = match kind {
            FileType::Directory => true,
            // Not every file system returns the type.
            FileType::Unknown => unlinkat(folder, name.as_slice(), AtFlags::empty()).is_err(),
            _ => {
                unlinkat(folder, name.as_slice(), AtFlags::empty())?;
                false
            }
        };
        if is_folder {
            folders.push(name);
        }
    }
    Ok(folders)
}

/// Returns the names in a folder and their types.
pub(crate) fn children(folder: &OwnedFd) -> Result<Vec<(Vec<u8>, FileType)>> {
    let mut children = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            children.push((name.to_vec(), entry.file_type()));
        }
    }
    Ok(children)
}

/// Opens a subfolder. Does not follow links.
pub(crate) fn open(parent: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(&parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::{
        fs::mkdirat,
        process::{Resource, Rlimit, getrlimit, setrlimit},
    };

    use super::*;

    #[test]
    fn ten_thousand_nested_folders_are_removed_with_few_open_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kept"), "").unwrap();
        let mut inner = open(CWD, folder.path().to_str().unwrap().as_bytes()).unwrap();
        for level in 0..10_000 {
            let name = if level == 0 { "deep" } else { ".tidemark-1" };
            mkdirat(&inner, name, Mode::from_raw_mode(0o755)).unwrap();
            inner = open(&inner, name.as_bytes()).unwrap();
        }
        symlink(folder.path().join("kept"), folder.path().join("deep/link")).unwrap();
        fs::write(folder.path().join("deep/.tidemark-2"), "").unwrap();
        drop(inner);
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
        let removed = std::thread::Builder::new().stack_size(64 << 10).spawn({
            let deep = folder.path().join("deep");
            move || remove_path(&deep).and_then(|()| remove_path(&deep))
        });
        removed.unwrap().join().unwrap().unwrap();
        setrlimit(Resource::Nofile, before).unwrap();
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"]);
    }
}
