//! Unfinished files, which are renamed when they are complete. Their process holds a lock on them, so that other processes can tell
//! whether it was killed.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use crate::infra::file_mode;

/// Suffix of unfinished files. Their names start with a dot.
const SUFFIX: &str = ".partial";

/// An unfinished file. Dropping it deletes the file, unless it was renamed before.
pub(crate) struct PartialFile {
    path: PathBuf,
    _lock: File,
}

impl PartialFile {
    /// Creates an empty file in a folder. The name must be unique.
    pub(crate) fn create(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(format!(".{name}{SUFFIX}"));
        let file = file_mode::create_file(&path)?;
        file.lock()?;
        Ok(Self { path, _lock: file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file, which is durable afterwards.
    pub(crate) fn rename(&self, target: &Path) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        fs::rename(&self.path, target)?;
        file_mode::sync_folder_of(target)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Deletes the unfinished files of killed processes. A folder that does not exist has none.
pub(crate) fn delete_abandoned(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') || !name.ends_with(SUFFIX) {
            continue;
        }
        // Another process may have finished or deleted the file after it was listed.
        let Ok(file) = File::open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            ignore_not_found(fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

fn ignore_not_found(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_killed_processes_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        delete_abandoned(&folder.path().join("missing")).unwrap();
        for name in [".1.partial", "tidemark-1.db", "mine.partial"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let running = PartialFile::create(folder.path(), "2").unwrap();
        let names = || {
            let entries = fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        delete_abandoned(folder.path()).unwrap();
        assert_eq!(names(), [".2.partial", "mine.partial", "tidemark-1.db"]);
        running.rename(&folder.path().join("tidemark-2.db")).unwrap();
        drop(running);
        drop(PartialFile::create(folder.path(), "3").unwrap());
        assert_eq!(names(), ["mine.partial", "tidemark-1.db", "tidemark-2.db"]);
    }
}
