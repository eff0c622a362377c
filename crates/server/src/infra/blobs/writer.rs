//! Writes one object. Memory use does not depend on its size: bytes go directly to a file, and a part for S3 is spooled in a
//! file until it is complete.

use std::{
    error,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::body::Bytes;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{JoinSet, spawn_blocking},
};
use uuid::Uuid;

use super::{Blobs, FOLDER, Remote, Result, UNFINISHED_MARK};
use crate::infra::file_mode;

/// Maximum number of bytes in memory before they are written to a file.
const BUFFER_BYTES: usize = 16 * 1024;
/// Maximum number of concurrent part uploads to S3 per object.
const MAX_PARTS_PER_UPLOAD: usize = 2;

/// An object that is being written. If the writer is dropped before `finish`, the object is discarded.
pub(crate) struct Writer {
    blobs: Blobs,
    name: Uuid,
    buffer: Vec<u8>,
    target: Target,
}

enum Target {
    File(Option<Unfinished>),
    Remote(MultipartWriter),
}

impl Writer {
    pub(super) fn new(blobs: &Blobs, name: Uuid) -> Self {
        let target = match &blobs.remote {
            None => Target::File(None),
            Some(remote) => Target::Remote(MultipartWriter {
                remote: remote.clone(),
                spool: None,
                spooled: 0,
                upload: None,
                running: JoinSet::new(),
            }),
        };
        Self { blobs: blobs.clone(), name, buffer: Vec::new(), target }
    }

    /// Appends bytes. Waits until the bytes are in the buffer, in a file or being sent to S3.
    pub(crate) async fn write(&mut self, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            // All parts except the last have the same size, because some S3 implementations require this.
            let room = match &self.target {
                Target::File(_) => usize::MAX,
                Target::Remote(parts) => parts.remote.chunk - parts.spooled - self.buffer.len(),
            };
            let piece = bytes.split_to(bytes.len().min(room));
            if piece.len() < room && self.buffer.len() + piece.len() < BUFFER_BYTES {
                // Copied, because a small slice can keep a large buffer of the connection alive.
                self.buffer.extend_from_slice(&piece);
            } else {
                self.store(piece).await?;
            }
        }
        Ok(())
    }

    /// Completes and persists the object.
    pub(crate) async fn finish(mut self) -> Result<()> {
        self.store(Bytes::new()).await?;
        match &mut self.target {
            Target::File(None) => Ok(()),
            Target::File(Some(unfinished)) => {
                let (file, from) = (unfinished.file.take(), unfinished.path.clone());
                let to = path(&self.blobs, self.name);
                blocking(move || complete(file, &from, &to)).await.map_err(|error| self.blobs.io(error))
            }
            Target::Remote(parts) => parts.finish(&self.blobs, self.name).await,
        }
    }

    /// Writes the buffer and a chunk to a file.
    async fn store(&mut self, piece: Bytes) -> Result<()> {
        let buffer = mem::take(&mut self.buffer);
        match &mut self.target {
            Target::File(unfinished) => {
                let (open, path) = (unfinished.take(), path(&self.blobs, self.name));
                let written = blocking(move || {
                    let mut open = match open {
                        Some(open) => open,
                        None => Unfinished::create(&path)?,
                    };
                    if let Some(file) = &mut open.file {
                        file.write_all(&buffer)?;
                        file.write_all(&piece)?;
                    }
                    Ok(open)
                });
                *unfinished = Some(written.await.map_err(|error| self.blobs.io(error))?);
            }
            Target::Remote(parts) => {
                parts.add(&self.blobs, self.name, buffer, piece).await?;
                if parts.spooled == parts.remote.chunk {
                    parts.send(&self.blobs, self.name).await?;
                }
            }
        }
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Returns the path of an object in the folder of the registry.
fn path(blobs: &Blobs, name: Uuid) -> PathBuf {
    let text = name.to_string();
    let folder = blobs.folder.clone().unwrap_or_default().join(FOLDER);
    folder.join(&text[text.len() - 2..]).join(text)
}

/// A file that is renamed when it is complete.
struct Unfinished {
    file: Option<File>,
    path: PathBuf,
}

impl Unfinished {
    fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent()
            && !folder.exists()
        {
            file_mode::create_folder(folder)?;
            folder.parent().map_or(Ok(()), sync_folder)?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{UNFINISHED_MARK}1"));
        let path = PathBuf::from(name);
        let file = file_mode::options().write(true).create_new(true).open(&path)?;
        Ok(Self { file: Some(file), path })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A complete file has another name. If this fails, the daily search for unfinished files deletes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Syncs a file and renames it. Acknowledged data must be on disk, as in the database.
fn complete(file: Option<File>, from: &Path, to: &Path) -> io::Result<()> {
    if let Some(file) = file {
        file.sync_all()?;
    }
    fs::rename(from, to)?;
    to.parent().map_or(Ok(()), sync_folder)
}

/// Syncs a folder, on systems that store the names separately from the files.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The parts of an object in S3.
struct MultipartWriter {
    remote: Remote,
    /// The incomplete part.
    spool: Option<File>,
    spooled: usize,
    upload: Option<Box<dyn MultipartUpload>>,
    running: JoinSet<object_store::Result<()>>,
}

impl MultipartWriter {
    /// Adds bytes to the spool file.
    async fn add(&mut self, blobs: &Blobs, name: Uuid, buffer: Vec<u8>, piece: Bytes) -> Result<()> {
        if buffer.is_empty() && piece.is_empty() {
            return Ok(());
        }
        let (spool, folder) = (self.spool.take(), self.remote.spool.clone());
        self.spooled += buffer.len() + piece.len();
        let written = blocking(move || {
            let mut file = match spool {
                Some(file) => file,
                None => create_spool(&folder, name)?,
            };
            file.write_all(&buffer)?;
            file.write_all(&piece)?;
            Ok(file)
        });
        self.spool = Some(written.await.map_err(|error| blobs.io(error))?);
        Ok(())
    }

    /// Reads the spooled part into memory, after acquiring a permit.
    async fn load(&mut self, blobs: &Blobs) -> Result<(PutPayload, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.remote.parts).acquire_owned().await;
        let permit = permit.map_err(|error| blobs.io(io::Error::other(error)))?;
        let (spool, size) = (self.spool.take(), mem::take(&mut self.spooled));
        let read = blocking(move || {
            let mut bytes = Vec::with_capacity(size);
            let Some(mut file) = spool else { return Ok((bytes, None)) };
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes)?;
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            Ok((bytes, Some(file)))
        });
        let (bytes, file) = read.await.map_err(|error| blobs.io(error))?;
        self.spool = file;
        Ok((PutPayload::from(bytes), permit))
    }

    /// Sends the spooled part.
    async fn send(&mut self, blobs: &Blobs, name: Uuid) -> Result<()> {
        while self.running.len() >= MAX_PARTS_PER_UPLOAD {
            self.wait(blobs).await?;
        }
        let (payload, permit) = self.load(blobs).await?;
        let upload = match &mut self.upload {
            Some(upload) => upload,
            None => {
                let begun = blobs.store.put_multipart(&blobs.path(name)).await;
                self.upload.insert(begun.map_err(|error| blobs.failed(error))?)
            }
        };
        let part = upload.put_part(payload);
        self.running.spawn(async move {
            let stored = part.await;
            drop(permit);
            stored
        });
        Ok(())
    }

    async fn finish(&mut self, blobs: &Blobs, name: Uuid) -> Result<()> {
        if self.upload.is_none() {
            let (payload, _permit) = self.load(blobs).await?;
            blobs.store.put(&blobs.path(name), payload).await.map_err(|error| blobs.failed(error))?;
            return Ok(());
        }
        if self.spooled > 0 {
            self.send(blobs, name).await?;
        }
        while self.wait(blobs).await? {}
        if let Some(upload) = &mut self.upload {
            upload.complete().await.map_err(|error| blobs.failed(error))?;
        }
        self.upload = None;
        Ok(())
    }

    /// Waits for one part. Returns `false` if no part is being sent.
    async fn wait(&mut self, blobs: &Blobs) -> Result<bool> {
        match self.running.join_next().await {
            None => Ok(false),
            Some(Ok(stored)) => stored.map(|()| true).map_err(|error| blobs.failed(error)),
            Some(Err(error)) => Err(blobs.io(io::Error::other(error))),
        }
    }
}

impl Drop for MultipartWriter {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        let mut running = mem::take(&mut self.running);
        tokio::spawn(async move {
            running.shutdown().await;
            if let Err(error) = upload.abort().await {
                let error: &dyn error::Error = &error;
                tracing::warn!(
                    error,
                    "aborting the multipart upload failed; a lifecycle rule of the bucket can delete it"
                );
            }
        });
    }
}

/// Creates a file that other accounts cannot read. On Unix it is unlinked, so that it is deleted when the process ends.
fn create_spool(folder: &Path, name: Uuid) -> io::Result<File> {
    file_mode::create_folder(folder)?;
    let path = folder.join(name.to_string());
    let file = file_mode::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    if cfg!(unix) {
        fs::remove_file(&path)?;
    }
    Ok(file)
}
