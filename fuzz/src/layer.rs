//! Layers of images. Each layer is unpacked into a folder in memory, next to a file that must stay unchanged.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use tempfile::TempDir;
use tidemark_runner::image::{
    limit::{DEPTH_MAX, Quota},
    unpack_layer,
};

/// Size in bytes of a block of an archive.
const BLOCK: usize = 512;
/// Quota of a layer: small, so that many layers reach the limits.
const QUOTA: Quota = Quota { bytes: 64 << 10, entries: 64 };
/// Name and content of the file that must stay unchanged.
const PRECIOUS: &str = "precious";

/// Folder of this process, in memory if the machine has a file system in memory.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a temporary folder");
    let precious = folder.path().join(PRECIOUS);
    fs::write(&precious, PRECIOUS).expect("a file");
    fs::set_permissions(precious, fs::Permissions::from_mode(0o644)).expect("a file");
    folder
});

/// Unpacks a layer, and checks that nothing outside its folder changes and that it stays within the limits. The first
/// byte decides whether the checksums of the headers are corrected first; without this, most layers would fail early.
pub fn unpack(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let repaired;
    let bytes = if first % 8 == 0 {
        bytes
    } else {
        repaired = repair(bytes.to_vec());
        &repaired
    };
    let root = FOLDER.path().join("root");
    fs::create_dir(&root).expect("an empty folder");
    let mut quota = QUOTA;
    // An error is a valid outcome.
    let _ = unpack_layer(bytes, &root, &mut quota).map_err(|error| error.to_string());
    check(&root);
    fs::remove_dir_all(&root).expect("the folder can be removed");
}

/// Sets the checksum of each header, and skips its data.
fn repair(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..at + BLOCK) {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        let size = std::str::from_utf8(&header[124..135]).unwrap_or_default();
        let size = usize::from_str_radix(size.trim_matches([' ', '\0']), 8).unwrap_or(0);
        at = at.saturating_add(BLOCK).saturating_add(size.min(1 << 20).next_multiple_of(BLOCK));
    }
    bytes
}

/// Checks that nothing outside the folder has changed, and that its content is within the limits.
fn check(root: &Path) {
    let outside = FOLDER.path();
    let mut names: Vec<_> = fs::read_dir(outside)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, [PRECIOUS, "root"]);
    let precious = outside.join(PRECIOUS);
    assert_eq!(fs::read_to_string(&precious).expect("the file"), PRECIOUS);
    let about = fs::metadata(&precious).expect("the file");
    assert_eq!((about.nlink(), about.mode() & 0o7777), (1, 0o644), "it was linked or changed");
    let (mut entries, mut bytes) = (0, 0);
    let mut folders: Vec<(PathBuf, usize)> = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        assert!(depth <= DEPTH_MAX, "{depth}");
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let about = fs::symlink_metadata(entry.path()).expect("an entry");
            entries += 1;
            if about.is_dir() {
                folders.push((entry.path(), depth + 1));
            } else if about.is_file() {
                bytes += about.len() / about.nlink();
                assert_eq!(about.mode() & 0o6000, 0, "it runs as its owner");
            }
        }
    }
    assert!(entries <= QUOTA.entries && bytes <= QUOTA.bytes, "{entries} {bytes}");
}
