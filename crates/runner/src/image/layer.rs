//! Unpacks a layer of an image over the lower layers. No entry can leave the folder: the kernel resolves every path,
//! including links, with the folder as its root.

use std::{
    collections::{HashSet, hash_map::RandomState},
    fs::File,
    hash::BuildHasher,
    io::{self, BufRead, BufReader, Read},
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;
use rustix::{
    fs::{
        AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, chownat, fchmod,
        futimens, linkat, mkdirat, openat, openat2, readlink, symlinkat,
    },
    io::Errno,
};
use tar::EntryType;

use super::{
    archive::{Archive, Entry},
    limit::{DEPTH_MAX, PATH_MAX, Quota},
};
use crate::{
    error::{Error, Explain, Result},
    remove::{self, children, remove},
};

/// Prefix of a file that hides a file of a lower layer.
const WHITEOUT: &[u8] = b".wh.";
/// Name of a file that hides everything that lower layers have in its folder.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Mode bits that are kept. Setuid and setgid have no effect in a sandbox, and must not have an effect outside.
const MODE_MASK: u32 = 0o1777;

/// Unpacks a layer, compressed or not, into a folder, within the quota. Writes nowhere else.
pub fn unpack_layer(layer: impl Read, root: &Path, quota: &mut Quota) -> Result<()> {
    let mut layer = BufReader::new(layer);
    let magic = layer.fill_buf().explain(|| "The layer of the image cannot be read")?;
    let stream: Box<dyn Read + '_> = match magic {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(layer)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Box::new(zstd::Decoder::with_buffer(layer).explain(|| "The layer of the image cannot be read")?)
        }
        _ => Box::new(layer),
    };
    let root = openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .explain(|| "The folder of the image cannot be opened")?;
    let depth = depth(&root).explain(|| "The folder of the image cannot be found")?;
    let mut layer = Layer {
        root,
        depth,
        own_paths: HashSet::new(),
        hasher: RandomState::new(),
        archive: Archive::new(stream, quota),
    };
    while let Some(entry) = layer.archive.next()? {
        layer.unpack(&entry)?;
    }
    Ok(())
}

/// A layer that is being unpacked.
struct Layer<'a, R> {
    root: OwnedFd,
    /// Depth of the root in the file system.
    depth: usize,
    /// Hashes of the paths of this layer, which its own whiteouts do not hide. The paths themselves would use much
    /// memory.
    own_paths: HashSet<u64>,
    hasher: RandomState,
    archive: Archive<'a, R>,
}

/// Why an entry cannot be unpacked.
enum EntryError {
    /// A system call failed.
    System(io::Error),
    /// The image exceeds a limit.
    Limit(Error),
}

impl From<io::Error> for EntryError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for EntryError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

impl From<Error> for EntryError {
    fn from(error: Error) -> Self {
        Self::Limit(error)
    }
}

impl<R: Read> Layer<'_, R> {
    fn unpack(&mut self, entry: &Entry) -> Result<()> {
        let path = normalize(&entry.path)?;
        let Some((folder, name)) = split(&path) else { return Ok(()) };
        self.archive.quota().count_entry()?;
        let unpacked = self.unpack_at(entry, folder, name);
        unpacked.map_err(|error| match error {
            EntryError::Limit(error) => error,
            EntryError::System(error) => Error::new(format!(
                "`{}` of the image cannot be unpacked ({error}).",
                String::from_utf8_lossy(&path)
            )),
        })
    }

    fn unpack_at(&mut self, entry: &Entry, folder: &[u8], name: &[u8]) -> Result<(), EntryError> {
        let parent = self.open_or_create_folder(folder)?;
        if name == OPAQUE {
            return Ok(self.clear(parent, folder)?);
        }
        if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            if hidden.is_empty() || hidden == b"." || hidden == b".." {
                return Err(Error::new("The image has an invalid whiteout file.").into());
            }
            return Ok(remove(&parent, hidden)?);
        }
        self.create_entry(entry, &parent, name)?;
        let path = if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() };
        self.own_paths.insert(self.hasher.hash_one(path));
        Ok(())
    }

    /// Creates one file, folder or link.
    fn create_entry(&mut self, entry: &Entry, parent: &OwnedFd, name: &[u8]) -> Result<(), EntryError> {
        let mode = Mode::from_raw_mode(entry.mode & MODE_MASK);
        match entry.kind {
            EntryType::Directory => {
                let existing = match remove::open(parent, name) {
                    Ok(existing) => existing,
                    Err(_) => {
                        remove(parent, name)?;
                        self.create_folder(parent, name)?;
                        remove::open(parent, name)?
                    }
                };
                set_owner(parent, name, entry.owner)?;
                fchmod(existing, mode)?;
            }
            EntryType::Regular | EntryType::Continuous => {
                remove(parent, name)?;
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(openat(parent, name, flags, Mode::from_raw_mode(0o600))?);
                io::copy(&mut self.archive, &mut file)?;
                set_owner(parent, name, entry.owner)?;
                fchmod(&file, mode)?;
                // Some programs compare modification times to decide whether a derived file is up to date.
                let time = Timespec { tv_sec: i64::try_from(entry.time).unwrap_or(0), tv_nsec: 0 };
                futimens(&file, &Timestamps { last_access: time, last_modification: time })?;
            }
            EntryType::Symlink => {
                let target = entry.link.as_deref().ok_or(Errno::INVAL)?;
                check_length(target)?;
                remove(parent, name)?;
                symlinkat(target, parent, name)?;
                set_owner(parent, name, entry.owner)?;
            }
            EntryType::Link => {
                let target = normalize(entry.link.as_deref().ok_or(Errno::INVAL)?)?;
                let (folder, target) = split(&target).ok_or(Errno::INVAL)?;
                let folder = self.open_or_create_folder(folder)?;
                remove(parent, name)?;
                linkat(folder, target, parent, name, AtFlags::empty())?;
            }
            // The sandbox creates devices and pipes itself, and the other types only describe other entries.
            _ => {}
        }
        Ok(())
    }

    /// Creates a folder, unless it exceeds the maximum depth. Checks the resolved parent folder, because a path
    /// through links can be deeper than it is long.
    fn create_folder(&self, parent: &OwnedFd, name: &[u8]) -> Result<(), EntryError> {
        let depth = match depth(parent) {
            Err(Errno::NAMETOOLONG) => usize::MAX,
            depth => depth?,
        };
        if depth.saturating_sub(self.depth) >= DEPTH_MAX {
            return Err(Error::new(format!(
                "The image has folders nested more than {DEPTH_MAX} deep, the limit of a runner."
            ))
            .into());
        }
        Ok(mkdirat(parent, name, Mode::from_raw_mode(0o755))?)
    }

    /// Opens a folder of the image, and creates missing folders of the path.
    fn open_or_create_folder(&mut self, path: &[u8]) -> Result<OwnedFd, EntryError> {
        let mut missing = Vec::new();
        let mut existing = path;
        let mut folder = loop {
            match (self.open(existing), split(existing)) {
                (Err(Errno::NOENT), Some((above, name))) => {
                    missing.push(name);
                    existing = above;
                }
                (folder, _) => break folder?,
            }
        };
        for name in missing.into_iter().rev() {
            self.archive.quota().count_entry()?;
            self.create_folder(&folder, name)?;
            folder = remove::open(&folder, name)?;
        }
        Ok(folder)
    }

    fn open(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let path = if path.is_empty() { b"." } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(&self.root, path, flags, Mode::empty(), resolve)
    }

    /// Removes what lower layers have in a folder.
    fn clear(&self, folder: OwnedFd, path: &[u8]) -> rustix::io::Result<()> {
        let mut folders = vec![path.to_vec()];
        let mut first = Some(folder);
        while let Some(path) = folders.pop() {
            let folder = first.take().map_or_else(|| self.open(&path), Ok)?;
            for (name, kind) in children(&folder)? {
                let path =
                    if path.is_empty() { name.clone() } else { [&path, b"/".as_slice(), &name].concat() };
                if !self.own_paths.contains(&self.hasher.hash_one(&path)) {
                    remove(&folder, &name)?;
                } else if kind == FileType::Directory {
                    folders.push(path);
                }
            }
        }
        Ok(())
    }
}

/// Returns the depth of a folder in the file system.
fn depth(folder: &OwnedFd) -> rustix::io::Result<usize> {
    let path = readlink(format!("/proc/self/fd/{}", folder.as_raw_fd()), Vec::new())?;
    Ok(path.to_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()).count())
}

/// Sets the owner of a file to the owner in the image. Without the permission to do so, the runner stays the owner.
fn set_owner(parent: &OwnedFd, name: &[u8], (user, group): (u64, u64)) -> rustix::io::Result<()> {
    let id = |id: u64| u32::try_from(id).ok().filter(|id| *id != u32::MAX);
    let (Some(user), Some(group)) = (id(user), id(group)) else { return Err(Errno::INVAL) };
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    match chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::PERM | Errno::INVAL) => Ok(()),
        other => other,
    }
}

/// Normalizes a path. Rejects a path with `..`: no tool writes one.
fn normalize(path: &[u8]) -> Result<Vec<u8>> {
    check_length(path)?;
    let parts: Vec<&[u8]> =
        path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.contains(&b"..".as_slice()) {
        return Err(Error::new("The image has a path with `..`, which a runner does not unpack."));
    }
    Ok(parts.join(&b'/'))
}

/// Rejects a path or the target of a link that is too long.
fn check_length(path: &[u8]) -> Result<()> {
    if path.len() > PATH_MAX {
        let length = path.len();
        return Err(Error::new(format!(
            "The image has a path or link of {length} bytes; the maximum is {PATH_MAX}."
        )));
    }
    Ok(())
}

/// Splits a normalized path into folder and name; `None` for the root.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path.is_empty() {
        return None;
    }
    Some(match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, os::unix::fs::symlink};

    use flate2::{Compression, write::GzEncoder};
    use tar::{Builder, Header};

    use super::*;

    /// Writes entries without normalizing their paths, as a hostile archive does.
    fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (kind, path, content) in entries {
            let mut header = Header::new_gnu();
            let raw = header.as_gnu_mut().unwrap();
            raw.name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o6755);
            header.set_mtime(7);
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            if is_link {
                let raw = header.as_gnu_mut().unwrap();
                raw.linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            let content = if is_link { "" } else { content };
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpack_bytes(bytes: &[u8], root: &Path, limit: u64) -> Result<()> {
        unpack_layer(bytes, root, &mut Quota { bytes: limit, entries: 200 })
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn upper_layers_replace_files_of_lower_layers() {
        let root = tempfile::tempdir().unwrap();
        let lower = archive(&[
            (EntryType::Directory, "./usr/", ""),
            (FILE, "./usr/a", "one"),
            (FILE, "usr/b", "two"),
            (FILE, "etc/deep/c", "three"),
            (EntryType::Symlink, "bin", "usr"),
        ]);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&lower).unwrap();
        unpack_bytes(&gzip.finish().unwrap(), root.path(), 100_000).unwrap();
        let upper = archive(&[
            (FILE, "usr/.wh.a", ""),
            // The path leads through a link of the layer below, which stays.
            (FILE, "bin/tool", "four"),
            (FILE, "etc/new", "five"),
            (FILE, "etc/.wh..wh..opq", ""),
            (EntryType::Link, "hard", "usr/b"),
        ]);
        unpack_bytes(&zstd::encode_all(upper.as_slice(), 1).unwrap(), root.path(), 100_000).unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join(path)).ok();
        assert_eq!(read("usr/a"), None);
        assert_eq!(read("usr/tool").as_deref(), Some("four"));
        assert_eq!((read("etc/new").as_deref(), read("etc/deep/c")), (Some("five"), None));
        assert_eq!(read("hard").as_deref(), Some("two"));
        let kept = fs::metadata(root.path().join("usr/b")).unwrap();
        use std::os::unix::fs::MetadataExt;
        assert_eq!((kept.mode() & 0o7777, kept.mtime()), (0o755, 7), "setuid and setgid are removed");
    }

    #[test]
    fn no_entry_is_unpacked_outside_the_folder() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("precious"), "safe").unwrap();
        let away = outside.path().to_str().unwrap();
        let long = format!("{away}/precious");
        for entries in [
            vec![(FILE, "../precious", "broken")],
            vec![(FILE, "a/../../precious", "broken")],
            vec![(EntryType::Link, "hard", "../../precious")],
            vec![(EntryType::Link, "hard", long.as_str())],
            vec![(FILE, ".wh...", "")],
        ] {
            let root = tempfile::tempdir_in(outside.path()).unwrap();
            assert!(unpack_bytes(&archive(&entries), root.path(), 100_000).is_err(), "{entries:?}");
        }
        // Links are followed with the folder as the root; a folder or file with the path of a link replaces it.
        let root = tempfile::tempdir().unwrap();
        let entries = [
            (EntryType::Symlink, "out", away),
            (FILE, "out/precious", "inside"),
            (EntryType::Symlink, "up", "../../../../.."),
            (FILE, "up/top", "inside"),
            (EntryType::Symlink, "file", long.as_str()),
            (FILE, "file", "mine"),
            (FILE, "/absolute", "inside"),
        ];
        // Inside the root, the target of the link does not exist.
        assert!(unpack_bytes(&archive(&entries[..2]), root.path(), 100_000).is_err());
        unpack_bytes(&archive(&entries[2..]), root.path(), 100_000).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("top")).unwrap(), "inside");
        assert_eq!(fs::read_to_string(root.path().join("file")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(root.path().join("absolute")).unwrap(), "inside");
        symlink(away, root.path().join("folder")).unwrap();
        unpack_bytes(&archive(&[(FILE, ".wh.folder", "")]), root.path(), 100_000).unwrap();
        assert_eq!(fs::read_to_string(outside.path().join("precious")).unwrap(), "safe");
    }

    /// Returns the error for an archive that exceeds a limit.
    fn unpack_error(bytes: &[u8], limit: u64) -> String {
        let root = tempfile::tempdir().unwrap();
        unpack_bytes(bytes, root.path(), limit).unwrap_err().to_string()
    }

    /// Returns an archive with one file and an extension entry of type `kind`.
    fn extended(kind: EntryType, extension: &[u8]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(extension.len() as u64);
        header.set_cksum();
        builder.append(&header, extension).unwrap();
        let mut bytes = builder.into_inner().unwrap();
        bytes.truncate(bytes.len() - 1024);
        [bytes, archive(&[(FILE, "a", "content")])].concat()
    }

    #[test]
    fn images_over_the_quota_are_rejected() {
        let bytes = archive(&[(FILE, "a", "0123456789"), (FILE, "b", "0123456789")]);
        assert!(bytes.len() > 2048);
        let expected = "The image is too large: its layers have more than 32 GiB, the limit of a runner.";
        assert!(unpack_error(&bytes, 1500).contains(expected), "{}", unpack_error(&bytes, 1500));
        // The decompressed size counts, whether or not the entry becomes a file.
        let zeros = archive(&[(EntryType::Fifo, "a", &"0".repeat(100_000))]);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&zeros).unwrap();
        let gzip = gzip.finish().unwrap();
        assert!(
            gzip.len() < 5_000 && unpack_error(&gzip, 50_000).contains(expected),
            "{}",
            unpack_error(&gzip, 50_000)
        );
        let many: Vec<String> = (0..201).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(|name| (EntryType::Symlink, name.as_str(), "x")).collect();
        assert_eq!(
            unpack_error(&archive(&many), 1_000_000),
            "The image has more than 1000000 files, folders and links, the limit of a runner."
        );
        // Folders that occur only in the paths of other entries count.
        let deep = archive(&[(FILE, "a/b/c/d", "")]);
        let root = tempfile::tempdir().unwrap();
        let mut quota = Quota { bytes: 10_000, entries: 3 };
        unpack_layer(deep.as_slice(), root.path(), &mut quota).unwrap_err();
    }

    #[test]
    fn names_and_extended_headers_are_limited() {
        let long = |kind, length| unpack_error(&extended(kind, &vec![b'a'; length]), 100 << 20);
        let expected = "The names, links and extended headers of one file of the image have more than 1048576 bytes, \
             the limit of a runner.";
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
            assert_eq!(long(kind, 2 << 20), expected);
        }
        assert_eq!(
            long(EntryType::GNULongName, 5_000),
            "The image has a path or link of 5000 bytes; the maximum is 4096."
        );
        let root = tempfile::tempdir().unwrap();
        let name = ["n".repeat(200), "m".repeat(200)].join("/");
        unpack_bytes(&extended(EntryType::GNULongName, name.as_bytes()), root.path(), 100_000).unwrap();
        assert_eq!(fs::read_to_string(root.path().join(&name)).unwrap(), "content");
        unpack_bytes(&extended(EntryType::XHeader, b"14 path=other\n"), root.path(), 100_000).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("other")).unwrap(), "content");
    }

    #[test]
    fn the_depth_of_folders_is_limited() {
        let expected = "The image has folders nested more than 128 deep, the limit of a runner.";
        let path = |levels: usize| ["a"; 128][..levels].join("/");
        let long = |path: &str| extended(EntryType::GNULongName, path.as_bytes());
        let root = tempfile::tempdir().unwrap();
        unpack_bytes(&long(&format!("{}/file", path(128))), root.path(), 100_000).unwrap();
        assert_eq!(unpack_error(&long(&format!("{}/a/file", path(128))), 100_000), expected);
        // A link leads to the deepest folder, and the path behind it is short.
        symlink(path(127), root.path().join("link")).unwrap();
        unpack_bytes(&archive(&[(EntryType::Directory, "link/b", "")]), root.path(), 100_000).unwrap();
        let deeper = archive(&[(EntryType::Directory, "link/b/c", "")]);
        assert_eq!(unpack_bytes(&deeper, root.path(), 100_000).unwrap_err().to_string(), expected);
        remove::remove_path(root.path()).unwrap();
    }
}
