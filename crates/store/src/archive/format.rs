//! Encoding of archives: a sequence of frames with a checksum at the end.
//!
//! An archive starts with [`MAGIC`]. A frame consists of its kind (1 byte), the length of its contents (4 bytes, little-endian) and
//! its contents. Header, table and end contain JSON, a row contains its values. After the frame of the end, 32 bytes are the SHA-256
//! checksum of everything before them. A value is a tag and its bytes; numbers are little-endian, and texts and blobs start with
//! their length (4 bytes).

use std::{
    borrow::Cow,
    io::{Read, Write},
};

use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    value::Value,
};

/// First bytes of an archive. The number is the version of the encoding.
pub const MAGIC: &[u8] = b"tidemark archive 1\n";

/// Maximum number of bytes of a frame. A compressed file of a few kilobytes can contain a frame of 4 GiB.
const MAX_FRAME: u32 = 256 << 20;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Header,
    Table,
    Row,
    End,
}

const FRAMES: [(Frame, u8); 4] =
    [(Frame::Header, b'H'), (Frame::Table, b'T'), (Frame::Row, b'R'), (Frame::End, b'E')];

/// Writes frames and computes their checksum.
pub(super) struct FrameWriter<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn start(out: W) -> Result<Self> {
        let mut this = Self { out, hash: Sha256::new() };
        this.bytes(MAGIC)?;
        Ok(this)
    }

    pub(super) fn frame(&mut self, frame: Frame, contents: &[u8]) -> Result<()> {
        let tag = FRAMES.iter().find(|(known, _)| *known == frame).map_or(0, |(_, tag)| *tag);
        let mut start = [tag, 0, 0, 0, 0];
        let length = length(contents.len())?;
        if length > MAX_FRAME {
            return Err(too_long());
        }
        start[1..].copy_from_slice(&length.to_le_bytes());
        self.bytes(&start)?;
        self.bytes(contents)
    }

    pub(super) fn json(&mut self, frame: Frame, contents: &impl Serialize) -> Result<()> {
        let contents = serde_json::to_vec(contents).map_err(|error| Error::Engine(error.into()))?;
        self.frame(frame, &contents)
    }

    pub(super) fn end(mut self, contents: &impl Serialize) -> Result<()> {
        self.json(Frame::End, contents)?;
        let hash = self.hash.finalize();
        self.out.write_all(&hash)?;
        Ok(self.out.flush()?)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        Ok(self.out.write_all(bytes)?)
    }
}

/// Reads frames and verifies their checksum.
pub(super) struct FrameReader<R> {
    input: R,
    hash: Sha256,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn start(input: R) -> Result<Self> {
        let mut this = Self { input, hash: Sha256::new() };
        let mut magic = [0; MAGIC.len()];
        if this.fill(&mut magic).is_err() || magic != *MAGIC {
            return Err(Error::engine("it is not an archive of this or an older release of Tidemark"));
        }
        Ok(this)
    }

    pub(super) fn next(&mut self) -> Result<(Frame, Vec<u8>)> {
        let mut start = [0; 5];
        self.fill(&mut start)?;
        let [tag, length @ ..] = start;
        let frame = FRAMES.iter().find(|(_, known)| *known == tag).map(|(frame, _)| *frame);
        let frame = frame.ok_or_else(damaged)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_FRAME {
            return Err(too_long());
        }
        // A damaged length does not allocate memory: the buffer grows with the input.
        let mut contents = Vec::new();
        self.input.by_ref().take(length.into()).read_to_end(&mut contents)?;
        if contents.len() as u64 != u64::from(length) {
            return Err(truncated());
        }
        self.hash.update(&contents);
        Ok((frame, contents))
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self, wanted: Frame) -> Result<T> {
        let (frame, contents) = self.next()?;
        if frame == wanted { parse(&contents) } else { Err(damaged()) }
    }

    /// Verifies the checksum after the last frame, and that nothing follows.
    pub(super) fn verify_end(&mut self) -> Result<()> {
        let hash = self.hash.clone().finalize();
        let mut expected = [0; 32];
        self.fill(&mut expected)?;
        if hash.as_slice() != expected {
            return Err(Error::engine("the archive is damaged: its checksum differs"));
        }
        let mut rest = [0; 1];
        if self.input.read(&mut rest)? > 0 {
            return Err(Error::engine("the archive is damaged: data follows after its end"));
        }
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => truncated(),
            _ => error.into(),
        })?;
        self.hash.update(&*bytes);
        Ok(())
    }
}

pub(super) fn parse<T: DeserializeOwned>(contents: &[u8]) -> Result<T> {
    serde_json::from_slice(contents)
        .map_err(|error| Error::engine(format!("the archive is damaged: {error}")))
}

/// Appends a value to a row.
pub(super) fn encode(out: &mut Vec<u8>, value: &Value<'_>) -> Result<()> {
    let mut bytes = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Null => bytes(b'n', &[]),
        Value::Bool(flag) => bytes(b'b', &[u8::from(*flag)]),
        Value::Int(number) => bytes(b'i', &number.to_le_bytes()),
        Value::Real(number) => bytes(b'r', &number.to_le_bytes()),
        Value::Uuid(uuid) => bytes(b'u', uuid.as_bytes()),
        Value::Text(text) => {
            bytes(b't', &length(text.len())?.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        Value::Blob(blob) => {
            bytes(b'x', &length(blob.len())?.to_le_bytes());
            out.extend_from_slice(blob);
        }
        Value::Ints(_) | Value::Uuids(_) | Value::Texts(_) => {
            return Err(Error::engine("a column cannot hold a list"));
        }
    }
    Ok(())
}

/// Reads the values of a row.
pub(super) fn decode(mut record: &[u8], columns: usize) -> Result<Vec<Value<'_>>> {
    let mut values = Vec::with_capacity(columns);
    while let Some((tag, rest)) = record.split_first() {
        record = rest;
        values.push(match tag {
            b'n' => Value::Null,
            b'b' => Value::Bool(array::<1>(&mut record)? != [0]),
            b'i' => Value::Int(i64::from_le_bytes(array(&mut record)?)),
            b'r' => Value::Real(f64::from_le_bytes(array(&mut record)?)),
            b'u' => Value::Uuid(Uuid::from_bytes(array(&mut record)?)),
            b't' => {
                Value::Text(Cow::Borrowed(std::str::from_utf8(slice(&mut record)?).map_err(|_| damaged())?))
            }
            b'x' => Value::Blob(slice(&mut record)?),
            _ => return Err(damaged()),
        });
    }
    if values.len() == columns { Ok(values) } else { Err(damaged()) }
}

fn array<const LENGTH: usize>(record: &mut &[u8]) -> Result<[u8; LENGTH]> {
    let (bytes, rest) = record.split_first_chunk().ok_or_else(damaged)?;
    *record = rest;
    Ok(*bytes)
}

fn slice<'a>(record: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = u32::from_le_bytes(array(record)?);
    let length = usize::try_from(length).map_err(|_| damaged())?;
    let (bytes, rest) = record.split_at_checked(length).ok_or_else(damaged)?;
    *record = rest;
    Ok(bytes)
}

fn length(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::engine("a value of more than 4 GiB cannot be archived"))
}

fn too_long() -> Error {
    Error::engine(format!("an archive contains rows of at most {} MiB", MAX_FRAME >> 20))
}

fn damaged() -> Error {
    Error::engine("the archive is damaged")
}

fn truncated() -> Error {
    Error::engine("the archive is incomplete")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = FrameWriter::start(&mut out).unwrap();
        writer.frame(Frame::Row, b"abc").unwrap();
        writer.end(&()).unwrap();
        out
    }

    fn read(bytes: &[u8]) -> Result<()> {
        let mut reader = FrameReader::start(bytes)?;
        assert_eq!(reader.next()?, (Frame::Row, b"abc".to_vec()));
        reader.json::<()>(Frame::End)?;
        reader.verify_end()
    }

    #[test]
    fn damage_is_detected() {
        let whole = archive();
        read(&whole).unwrap();
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "cut after {end} bytes");
        }
        let mut changed = whole.clone();
        changed[whole.len() - 1] ^= 1;
        assert!(read(&changed).is_err());
        let mut longer = whole;
        longer.push(0);
        assert!(read(&longer).is_err());
    }

    #[test]
    fn a_long_frame_is_rejected_before_it_is_read() {
        let frame = [MAGIC, b"R", &(MAX_FRAME + 1).to_le_bytes()].concat();
        let mut input = std::io::Cursor::new(frame).chain(std::io::repeat(0));
        let error = FrameReader::start(&mut input).unwrap().next().unwrap_err();
        assert!(format!("{error:?}").contains("at most 256 MiB"), "{error:?}");
        // Nothing of its contents was read.
        let mut rest = [1; 1];
        input.read_exact(&mut rest).unwrap();
        assert_eq!((rest, input.into_inner().0.position()), ([0], MAGIC.len() as u64 + 5));
    }

    #[test]
    fn values_survive() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Real(0.1),
            Value::Text("é\u{0}".into()),
            Value::Blob(&[0, 255]),
            Value::Uuid(Uuid::from_u128(7)),
        ];
        let mut record = Vec::new();
        values.iter().for_each(|value| encode(&mut record, value).unwrap());
        assert_eq!(decode(&record, values.len()).unwrap(), values);
        assert!(decode(&record, values.len() - 1).is_err());
        assert!(decode(&record[..record.len() - 1], values.len()).is_err());
    }
}
