//! Reader of the tar archive of a layer, entry by entry. Unlike a reader for trusted archives, it uses at most
//! [`EXTENSION_MAX`] bytes of memory per entry, and the quota limits the bytes of the whole archive after
//! decompression.

use std::{
    io::{self, Read},
    mem,
};

use tar::{EntryType, Header, PaxExtensions};

use super::limit::{EXTENSION_MAX, Quota};
use crate::error::{Error, Explain, Result};

/// Size in bytes of a block of an archive.
const BLOCK: usize = 512;

/// An archive that is being read.
pub(super) struct Archive<'a, R> {
    stream: R,
    quota: &'a mut Quota,
    /// Unread bytes of the data of the current entry.
    data: u64,
    /// Bytes that fill the last block of the data.
    padding: u64,
}

/// A file, folder or link of an archive.
pub(super) struct Entry {
    pub(super) kind: EntryType,
    pub(super) path: Vec<u8>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) mode: u32,
    pub(super) owner: (u64, u64),
    pub(super) time: u64,
}

/// Names, links and extended headers in the entries before an entry.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    pax: Vec<u8>,
}

fn invalid_archive() -> Error {
    Error::new("A layer of the image is not a tar archive; build and push the image again.")
}

impl<'a, R: Read> Archive<'a, R> {
    pub(super) fn new(stream: R, quota: &'a mut Quota) -> Self {
        Self { stream, quota, data: 0, padding: 0 }
    }

    /// Returns the remaining quota.
    pub(super) fn quota(&mut self) -> &mut Quota {
        self.quota
    }

    /// Returns the next entry, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>> {
        let mut extensions = Extensions::default();
        // All extensions of an entry share one limit, so that many extensions use no more memory than one.
        let mut left = EXTENSION_MAX;
        loop {
            self.skip()?;
            let Some(header) = self.header()? else { return Ok(None) };
            self.set_data(header.entry_size().map_err(|_| invalid_archive())?)?;
            let kind = header.entry_type();
            let target = match kind {
                EntryType::GNULongName => extensions.name.insert(Vec::new()),
                EntryType::GNULongLink => extensions.link.insert(Vec::new()),
                EntryType::XHeader => {
                    extensions.pax.clear();
                    &mut extensions.pax
                }
                EntryType::XGlobalHeader => {
                    left = left.checked_sub(BLOCK as u64).ok_or_else(extensions_too_large)?;
                    continue;
                }
                EntryType::GNUSparse => return Err(sparse_file()),
                _ => return self.entry(&header, extensions).map(Some),
            };
            left = left.checked_sub(self.data).ok_or_else(extensions_too_large)?;
            let mut bytes = Vec::new();
            self.read_to_end(&mut bytes).explain(|| "A layer of the image cannot be read")?;
            *target = bytes;
        }
    }

    /// Returns the next header, or `None` at the end.
    fn header(&mut self) -> Result<Option<Header>> {
        let mut header = Header::new_old();
        let mut read = 0;
        while read < BLOCK {
            match self.read_counted(&mut header.as_mut_bytes()[read..])? {
                0 if read == 0 => return Ok(None),
                0 => return Err(invalid_archive()),
                more => read += more,
            }
        }
        let bytes = header.as_bytes();
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        // The checksum counts its own field as spaces.
        let sum: u32 =
            bytes[..148].iter().chain(&[b' '; 8]).chain(&bytes[156..]).map(|byte| u32::from(*byte)).sum();
        if header.cksum().ok() != Some(sum) {
            return Err(invalid_archive());
        }
        Ok(Some(header))
    }

    fn entry(&mut self, header: &Header, extensions: Extensions) -> Result<Entry> {
        let Extensions { mut name, mut link, pax } = extensions;
        // Some tools omit the owner for root.
        let mut owner = (header.uid().unwrap_or(0), header.gid().unwrap_or(0));
        let mut size = None;
        for extension in PaxExtensions::new(&pax) {
            let extension = extension.map_err(|_| invalid_archive())?;
            let value = extension.value_bytes();
            let number = || std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            match extension.key_bytes() {
                b"path" => name = name.or_else(|| Some(value.to_vec())),
                b"linkpath" => link = link.or_else(|| Some(value.to_vec())),
                b"uid" => owner.0 = number().ok_or_else(invalid_archive)?,
                b"gid" => owner.1 = number().ok_or_else(invalid_archive)?,
                b"size" => size = Some(number().ok_or_else(invalid_archive)?),
                key if key.starts_with(b"GNU.sparse.") => return Err(sparse_file()),
                _ => {}
            }
        }
        if let Some(size) = size {
            self.set_data(size)?;
        }
        let without_nul = |mut bytes: Vec<u8>| {
            if bytes.last() == Some(&0) {
                bytes.pop();
            }
            bytes
        };
        Ok(Entry {
            kind: header.entry_type(),
            path: name.map_or_else(|| header.path_bytes().into_owned(), without_nul),
            link: link.map(without_nul).or_else(|| Some(header.link_name_bytes()?.into_owned())),
            mode: header.mode().map_err(|_| invalid_archive())?,
            owner,
            time: header.mtime().unwrap_or(0),
        })
    }

    fn set_data(&mut self, size: u64) -> Result<()> {
        if size > self.quota.bytes {
            return Err(Quota::too_large());
        }
        self.data = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        Ok(())
    }

    /// Skips the rest of an entry.
    fn skip(&mut self) -> Result<()> {
        let what = || "A layer of the image cannot be read";
        io::copy(self, &mut io::sink()).explain(what)?;
        self.data = mem::take(&mut self.padding);
        io::copy(self, &mut io::sink()).explain(what)?;
        Ok(())
    }

    /// Reads bytes of the stream and counts them against the quota.
    fn read_counted(&mut self, into: &mut [u8]) -> Result<usize> {
        let read = self.stream.read(into).explain(|| "A layer of the image cannot be read")?;
        self.quota.bytes = self.quota.bytes.checked_sub(read as u64).ok_or_else(Quota::too_large)?;
        Ok(read)
    }
}

/// Reads the data of the current entry.
impl<R: Read> Read for Archive<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(usize::try_from(self.data).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(0);
        }
        match self.read_counted(&mut into[..length]) {
            Ok(0) => Err(io::Error::other("unexpected end of the archive")),
            Ok(read) => {
                self.data -= read as u64;
                Ok(read)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

fn extensions_too_large() -> Error {
    Error::new(format!(
        "The names, links and extended headers of one file of the image have more than {EXTENSION_MAX} bytes, the limit \
         of a runner."
    ))
}

fn sparse_file() -> Error {
    Error::new(
        "The image has a sparse file, which a runner does not unpack; build the layer without `tar --sparse`.",
    )
}
