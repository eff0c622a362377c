//! Reads the files that a run left, without following links out of its sandbox.

use std::{fs::File, io::Read, path::Path};

use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
    io::Errno,
};

use super::{CapturedOutput, open_root};
use crate::error::{Error, Explain, Result};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// Path, relative to the working directory of the command unless absolute.
    pub path: String,
    /// Maximum number of bytes of all files up to this file; `None` to read only the size.
    pub limit: Option<u64>,
}

/// A file that exists.
#[derive(Debug)]
pub struct FoundFile {
    /// Path as requested.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Content, if it was requested.
    pub content: Option<CapturedOutput>,
}

/// Copies the requested files that exist to unnamed files in `store`.
pub(super) fn read(
    root: &Path,
    folder: &str,
    requests: &[FileRequest],
    store: &Path,
) -> Result<Vec<FoundFile>> {
    let root = open_root(root)?;
    let mut found = Vec::new();
    let mut total = 0;
    for request in requests {
        let path = Path::new(folder).join(&request.path);
        // Opening a pipe must not block, and a device must not become the controlling terminal.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let what = || format!("The file `{}` of the job cannot be read", request.path);
        let file = match openat2(&root, path, flags, Mode::empty(), resolve) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            Err(error) => return Err(error).explain(what),
        };
        let stat = fstat(&file).explain(what)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::new(format!("`{}` of the job is not a file.", request.path)));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let content = match request.limit {
            Some(limit) => {
                total += size;
                if total > limit {
                    return Err(Error::new(format!(
                        "The files of the job have {total} bytes up to `{}`; the maximum is {limit}. Write less, or raise \
                         --max-output-size of the runner.",
                        request.path
                    )));
                }
                let mut content = CapturedOutput::create(store)?;
                content.copy(&mut File::from(file).take(size)).explain(what)?;
                Some(content)
            }
            None => None,
        };
        found.push(FoundFile { path: request.path.clone(), size, content });
    }
    Ok(found)
}
