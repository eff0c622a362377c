//! The files that a run left, read without following them out of its sandbox.

use std::{fs::File, io::Read, path::Path};

use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
    io::Errno,
};

use super::{Captured, open_root};
use crate::error::{Error, Explain, Result};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its path, from the folder of the command if it is not absolute.
    pub path: String,
    /// The most bytes that all files up to this one may have; without it, only its size is wanted.
    pub limit: Option<u64>,
}

/// A file that was there.
#[derive(Debug)]
pub struct Found {
    /// Its path as it was wanted.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// The bytes, if they were wanted.
    pub content: Option<Captured>,
}

/// Copies the files that are there to files without names in `store`.
pub(super) fn read(root: &Path, folder: &str, wanted: &[Wanted], store: &Path) -> Result<Vec<Found>> {
    let root = open_root(root)?;
    let mut found = Vec::new();
    let mut total = 0;
    for one in wanted {
        let place = Path::new(folder).join(&one.path);
        // A pipe must not hold us up, and a device must not be touched.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let what = || format!("The file `{}` of the job cannot be read", one.path);
        let file = match openat2(&root, place, flags, Mode::empty(), resolve) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            Err(error) => return Err(error).explain(what),
        };
        let about = fstat(&file).explain(what)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(Error::new(format!("`{}` of the job is not a file.", one.path)));
        }
        let size = u64::try_from(about.st_size).unwrap_or(0);
        let content = match one.limit {
            Some(limit) => {
                total += size;
                if total > limit {
                    return Err(Error::new(format!(
                        "The files of the job have {total} bytes up to `{}`, which is more than the {limit} that a \
                         runner takes (--max-output-size).",
                        one.path
                    )));
                }
                let mut content = Captured::create(store)?;
                content.copy(&mut File::from(file).take(size)).explain(what)?;
                Some(content)
            }
            None => None,
        };
        found.push(Found { path: one.path.clone(), size, content });
    }
    Ok(found)
}
