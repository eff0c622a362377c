//! Limits of an image on a runner. A job whose image exceeds a limit fails with an error that states the limit.

use crate::error::Error;

/// Maximum size in bytes of an image: of its layers as fetched, and of all layers decompressed.
pub const IMAGE_MAX: u64 = 32 << 30;
/// Maximum number of files, folders and links of an image.
pub const ENTRIES_MAX: u64 = 1_000_000;
/// Maximum number of layers of an image.
pub const LAYERS_MAX: usize = 512;
/// Maximum depth of folders of an image.
pub const DEPTH_MAX: usize = 128;
/// Maximum length in bytes of a path of an image, and of the target of a link.
pub const PATH_MAX: usize = 4096;
/// Maximum size in bytes of the extensions of one file: long names and links, extended headers.
pub const EXTENSION_MAX: u64 = 1 << 20;

/// What an image may still use.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Decompressed bytes.
    pub bytes: u64,
    /// Files, folders and links.
    pub entries: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { bytes: IMAGE_MAX, entries: ENTRIES_MAX }
    }
}

impl Quota {
    /// Returns the error for an image that has too many bytes.
    pub(super) fn too_large() -> Error {
        Error::new(format!(
            "The image is too large: its layers have more than {} GiB, the limit of a runner.",
            IMAGE_MAX >> 30
        ))
    }

    /// Counts a file, a folder or a link.
    pub(super) fn count_entry(&mut self) -> Result<(), Error> {
        self.entries = self.entries.checked_sub(1).ok_or_else(|| {
            Error::new(format!(
                "The image has more than {ENTRIES_MAX} files, folders and links, the limit of a runner."
            ))
        })?;
        Ok(())
    }
}
