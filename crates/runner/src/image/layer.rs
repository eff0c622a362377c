//! A layer of an image, unpacked over those below it. Nothing in it can reach out of the folder: the kernel resolves
//! every path with the folder as its root, links included.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufReader, Read, Seek},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, chownat,
        fchmod, futimens, linkat, mkdirat, openat, openat2, symlinkat, unlinkat,
    },
    io::Errno,
};
use tar::{Archive, Entry, EntryType};

use crate::error::{Error, Explain, Result};

/// What the name of a file begins with that takes one of a lower layer away.
const WHITEOUT: &[u8] = b".wh.";
/// The name of a file that takes away all that lower layers have in its folder.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// The longest path.
const PATH_MAX: usize = 4096;
/// The bits of a mode that are kept. Programs that run as their owner have no such power in a sandbox, and must not have
/// it outside.
const MODE: u32 = 0o1777;

/// What an image may still take.
pub(super) struct Quota {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

/// What is said of an image that takes too much.
pub(super) fn too_large() -> Error {
    Error::new("The image is too large to be unpacked.")
}

/// Unpacks a layer, compressed or not.
pub(super) fn unpack(mut file: File, root: &Path, quota: &mut Quota) -> Result<()> {
    let mut magic = [0; 4];
    let read = file.read(&mut magic).explain(|| "The layer of the image cannot be read")?;
    file.rewind().explain(|| "The layer of the image cannot be read")?;
    let file = BufReader::new(file);
    let stream: Box<dyn Read> = match &magic[..read] {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Box::new(zstd::Decoder::with_buffer(file).explain(|| "The layer of the image cannot be read")?)
        }
        _ => Box::new(file),
    };
    let root = openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .explain(|| "The folder of the image cannot be opened")?;
    let mut layer = Layer { root, own: HashSet::new(), quota };
    let mut archive = Archive::new(stream);
    let unreadable = || "The layer of the image cannot be unpacked";
    for entry in archive.entries().explain(unreadable)? {
        layer.take(entry.explain(unreadable)?)?;
    }
    Ok(())
}

/// A layer that is being unpacked.
struct Layer<'a> {
    root: OwnedFd,
    /// The paths that it has itself, which its whiteouts do not mean.
    own: HashSet<Vec<u8>>,
    quota: &'a mut Quota,
}

impl Layer<'_> {
    fn take<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<()> {
        let path = tidy(&entry.path_bytes())?;
        let Some((folder, name)) = split(&path) else { return Ok(()) };
        self.quota.files = self.quota.files.checked_sub(1).ok_or_else(too_large)?;
        let refused = |error: io::Error| {
            Error::new(format!(
                "`{}` of the image cannot be unpacked ({error}).",
                String::from_utf8_lossy(&path)
            ))
        };
        let parent = self.folder(folder).map_err(|error| refused(error.into()))?;
        if name == OPAQUE {
            return self.clear(&parent, folder).map_err(|error| refused(error.into()));
        }
        if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            if hidden.is_empty() || hidden == b"." || hidden == b".." {
                return Err(Error::new("The image hides a file that cannot be."));
            }
            return remove(&parent, hidden).map_err(|error| refused(error.into()));
        }
        self.put(&mut entry, &parent, name).map_err(refused)?;
        self.own.insert(path);
        Ok(())
    }

    /// Puts one file, folder or link in its place.
    fn put<R: Read>(&mut self, entry: &mut Entry<'_, R>, parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
        let header = entry.header();
        let mode = Mode::from_raw_mode(header.mode()? & MODE);
        // Some tools leave it out for root.
        let owner = (header.uid().unwrap_or(0), header.gid().unwrap_or(0));
        match header.entry_type() {
            EntryType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let there = match openat(parent, name, flags, Mode::empty()) {
                    Ok(there) => there,
                    Err(_) => {
                        remove(parent, name)?;
                        mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
                        openat(parent, name, flags, Mode::empty())?
                    }
                };
                own(parent, name, owner)?;
                fchmod(there, mode)?;
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                remove(parent, name)?;
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let time = header.mtime()?;
                let mut file = File::from(openat(parent, name, flags, Mode::from_raw_mode(0o600))?);
                let written = io::copy(&mut entry.take(self.quota.bytes.saturating_add(1)), &mut file)?;
                self.quota.bytes = self
                    .quota
                    .bytes
                    .checked_sub(written)
                    .ok_or_else(|| io::Error::other("the image is too large"))?;
                own(parent, name, owner)?;
                fchmod(&file, mode)?;
                // Some programs tell by it whether what they made of a file is still good.
                let time = Timespec { tv_sec: i64::try_from(time).unwrap_or(0), tv_nsec: 0 };
                futimens(&file, &Timestamps { last_access: time, last_modification: time })?;
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().ok_or(Errno::INVAL)?;
                remove(parent, name)?;
                symlinkat(target.as_ref(), parent, name)?;
                own(parent, name, owner)?;
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().ok_or(Errno::INVAL)?;
                let target = tidy(&target).map_err(|error| io::Error::other(error.to_string()))?;
                let (folder, target) = split(&target).ok_or(Errno::INVAL)?;
                let folder = self.folder(folder)?;
                remove(parent, name)?;
                linkat(folder, target, parent, name, AtFlags::empty())?;
            }
            // Devices and pipes are the sandbox's to make, and the rest says something about other entries.
            _ => {}
        }
        Ok(())
    }

    /// Opens a folder of the image, which is made if it is not there.
    fn folder(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let open = |path: &[u8]| {
            let path = if path.is_empty() { b"." } else { path };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat2(&self.root, path, flags, Mode::empty(), resolve)
        };
        match open(path) {
            Err(Errno::NOENT) => {
                let Some((above, name)) = split(path) else { return Err(Errno::NOENT) };
                let above = self.folder(above)?;
                mkdirat(&above, name, Mode::from_raw_mode(0o755))?;
                open(path)
            }
            other => other,
        }
    }

    /// Takes away what lower layers have in a folder.
    fn clear(&self, folder: &OwnedFd, path: &[u8]) -> rustix::io::Result<()> {
        for (name, kind) in children(folder)? {
            let path = if path.is_empty() { name.clone() } else { [path, b"/", &name].concat() };
            if !self.own.contains(&path) {
                remove(folder, &name)?;
            } else if kind == FileType::Directory {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                self.clear(&openat(folder, name.as_slice(), flags, Mode::empty())?, &path)?;
            }
        }
        Ok(())
    }
}

/// Gives a file to whom the image gives it. Without the power to do so, it stays ours.
fn own(parent: &OwnedFd, name: &[u8], (user, group): (u64, u64)) -> rustix::io::Result<()> {
    let id = |id: u64| u32::try_from(id).ok().filter(|id| *id != u32::MAX);
    let (Some(user), Some(group)) = (id(user), id(group)) else { return Err(Errno::INVAL) };
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    match chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::PERM | Errno::INVAL) => Ok(()),
        other => other,
    }
}

/// Takes a file or a whole folder away, if it is there.
fn remove(parent: impl AsFd, name: &[u8]) -> rustix::io::Result<()> {
    match unlinkat(&parent, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = openat(&parent, name, flags, Mode::empty())?;
            for (child, _) in children(&folder)? {
                remove(&folder, &child)?;
            }
            unlinkat(&parent, name, AtFlags::REMOVEDIR)
        }
        other => other,
    }
}

fn children(folder: &OwnedFd) -> rustix::io::Result<Vec<(Vec<u8>, FileType)>> {
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

/// A path without what says nothing. One that goes up is refused: no tool writes such.
fn tidy(path: &[u8]) -> Result<Vec<u8>> {
    let parts: Vec<&[u8]> =
        path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if path.len() > PATH_MAX || parts.contains(&b"..".as_slice()) {
        return Err(Error::new("The image has a path that leads out of it, and is not unpacked."));
    }
    Ok(parts.join(&b'/'))
}

/// The folder and the name of a tidy path; nothing for the root.
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

    /// Writes entries as they are: a hostile archive does not tidy its paths.
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
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        unpack(file, root, &mut Quota { bytes: limit, files: 100 })
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn layers_lie_over_each_other() {
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
        unpack_bytes(&gzip.finish().unwrap(), root.path(), 1000).unwrap();
        let upper = archive(&[
            (FILE, "usr/.wh.a", ""),
            // It is through a link of the layer below, which stays.
            (FILE, "bin/tool", "four"),
            (FILE, "etc/new", "five"),
            (FILE, "etc/.wh..wh..opq", ""),
            (EntryType::Link, "hard", "usr/b"),
        ]);
        unpack_bytes(&zstd::encode_all(upper.as_slice(), 1).unwrap(), root.path(), 1000).unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join(path)).ok();
        assert_eq!(read("usr/a"), None);
        assert_eq!(read("usr/tool").as_deref(), Some("four"));
        assert_eq!((read("etc/new").as_deref(), read("etc/deep/c")), (Some("five"), None));
        assert_eq!(read("hard").as_deref(), Some("two"));
        let kept = fs::metadata(root.path().join("usr/b")).unwrap();
        use std::os::unix::fs::MetadataExt;
        assert_eq!((kept.mode() & 0o7777, kept.mtime()), (0o755, 7), "without the power of its owner");
    }

    #[test]
    fn nothing_leads_out() {
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
            assert!(unpack_bytes(&archive(&entries), root.path(), 1000).is_err(), "{entries:?}");
        }
        // Links are followed, but with the folder as the root; a folder or file in the place of one takes it away.
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
        // The link points at what is not there, seen from inside.
        assert!(unpack_bytes(&archive(&entries[..2]), root.path(), 1000).is_err());
        unpack_bytes(&archive(&entries[2..]), root.path(), 1000).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("top")).unwrap(), "inside");
        assert_eq!(fs::read_to_string(root.path().join("file")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(root.path().join("absolute")).unwrap(), "inside");
        symlink(away, root.path().join("folder")).unwrap();
        unpack_bytes(&archive(&[(FILE, ".wh.folder", "")]), root.path(), 1000).unwrap();
        assert_eq!(fs::read_to_string(outside.path().join("precious")).unwrap(), "safe");
    }

    #[test]
    fn what_is_too_large_is_not_unpacked() {
        let root = tempfile::tempdir().unwrap();
        let bytes = archive(&[(FILE, "a", "0123456789"), (FILE, "b", "0123456789")]);
        let error = unpack_bytes(&bytes, root.path(), 15).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
        unpack_bytes(&bytes, root.path(), 20).unwrap();
    }
}
