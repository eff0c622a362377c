//! Output files that appear complete or not at all: a temporary file beside the target, which replaces the target at the end.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{
    failure::{Exit, Failure, Result},
    interrupt::{Guard, on_interrupt},
};

/// An output file. Without `finish`, dropping it leaves the target unchanged.
pub(crate) struct OutputFile {
    target: PathBuf,
    sink: Sink,
}

enum Sink {
    /// A temporary file, which is also removed when the program is interrupted.
    Draft { file: NamedTempFile, _guard: Guard },
    /// A device or a pipe, which cannot be replaced.
    Direct(File),
}

impl OutputFile {
    /// Opens an output file. An existing file stays unchanged until `finish`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        // A link stays a link to the new content.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let failed = |error: io::Error| cannot_write(path, &error);
        if fs::metadata(&target).is_ok_and(|known| !known.is_file()) {
            let file = File::options().write(true).open(&target).map_err(failed)?;
            return Ok(Self { target, sink: Sink::Direct(file) });
        }
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tidemark-").suffix(".part");
        // As every new file, restricted by the umask.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(failed)?;
        let draft = file.path().to_owned();
        let guard = on_interrupt(move || drop(fs::remove_file(draft)))?;
        Ok(Self { target, sink: Sink::Draft { file, _guard: guard } })
    }

    /// Replaces the target by the written content.
    pub(crate) fn finish(self) -> Result {
        let Self { target, sink } = self;
        let finished = match sink {
            Sink::Direct(mut file) => file.flush(),
            Sink::Draft { file, _guard: _ } => file
                .as_file()
                .sync_all()
                .and_then(|()| file.persist(&target).map(drop).map_err(|error| error.error)),
        };
        finished.map_err(|error| cannot_write(&target, &error))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Draft { file, .. } => file.write(bytes),
            Sink::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Draft { file, .. } => file.flush(),
            Sink::Direct(file) => file.flush(),
        }
    }
}

/// Returns the failure of a write to a file.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::with(Exit::Output, format!("{} cannot be written ({error}).", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"complete").unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"complete".to_vec(), vec!["a.csv".to_owned()])
        );

        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"partial").unwrap();
        drop(file);
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"complete".to_vec(), vec!["a.csv".to_owned()])
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let mut file = OutputFile::create(Path::new("/dev/null")).unwrap();
        file.write_all(b"nothing").unwrap();
        file.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
