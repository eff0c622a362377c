//! Object storage for the blobs of the registry: objects in a folder or in S3. Each object is written once under a unique name
//! and never renamed or changed.
//!
//! An object is not visible until a row of the database names it. Therefore a crash leaves no partial blob, and a deletion
//! cannot affect an object that another request has just stored. This module does not handle digests, repositories or rights.

mod writer;

use std::{
    error,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use axum::body::Bytes;
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use object_store::{
    GetOptions, GetRange, GetResultPayload, ObjectStore, aws::AmazonS3Builder, local::LocalFileSystem,
    path::Path,
};
use tidemark_api::Timestamp;
use tokio::{sync::Semaphore, task::spawn_blocking};
use uuid::Uuid;

pub(crate) use self::writer::Writer;
use crate::infra::{
    config::{Config, DataStore, Service},
    file_mode,
};

/// Maximum number of parts in memory before they are sent to S3, of all uploads together.
const MAX_PARTS_IN_MEMORY: usize = 8;
/// Number of bytes per read from a file.
const READ_BYTES: u64 = 256 * 1024;
/// The folder of all objects.
const FOLDER: &str = "objects";
/// Marks the name of a file that is not complete.
const UNFINISHED_MARK: char = '#';

/// Result type of the object storage.
pub(crate) type Result<T> = std::result::Result<T, BlobError>;

/// Error of the object storage.
#[derive(Debug, thiserror::Error)]
#[error("the store of the registry failed")]
pub(crate) struct BlobError {
    source: object_store::Error,
    remote: bool,
}

impl BlobError {
    /// Whether the object does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.source, object_store::Error::NotFound { .. })
    }

    /// Whether the objects are in another service.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote
    }

    /// Whether there is no free space left.
    pub(crate) fn is_full(&self) -> bool {
        let mut next: Option<&(dyn error::Error + 'static)> = Some(&self.source);
        while let Some(cause) = next {
            if cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::StorageFull) {
                return true;
            }
            next = cause.source();
        }
        false
    }
}

/// The object storage. Clones share it.
#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// The folder, if the objects are files.
    folder: Option<PathBuf>,
    /// Prefix of every object name.
    prefix: Path,
    /// State for multipart uploads, if the objects are in S3.
    remote: Option<Remote>,
}

/// State for multipart uploads to S3.
#[derive(Clone)]
struct Remote {
    /// Size of every part except the last, in bytes.
    chunk: usize,
    /// The folder for incomplete parts.
    spool: PathBuf,
    /// Semaphore with one permit per part in memory.
    parts: Arc<Semaphore>,
}

impl Blobs {
    /// Opens the configured storage.
    pub(crate) fn open(config: &Config) -> std::result::Result<Self, Box<dyn error::Error + Send + Sync>> {
        let settings = &config.plus.registry.data_store;
        Ok(match settings.service {
            Service::Local => {
                let folder = config.registry_folder();
                file_mode::create_folder(&folder)?;
                let store = Arc::new(LocalFileSystem::new_with_prefix(&folder)?);
                Self { store, folder: Some(folder), prefix: Path::from(FOLDER), remote: None }
            }
            Service::AwsS3 => {
                let base = settings.access_point.as_ref().map_or("", |point| point.folder.as_str());
                let prefix = Path::from_iter(base.split('/').filter(|part| !part.is_empty()).chain([FOLDER]));
                let remote = Remote {
                    chunk: settings.chunk_size,
                    spool: config.data_dir.join("spool"),
                    parts: Arc::new(Semaphore::new(MAX_PARTS_IN_MEMORY)),
                };
                Self { store: Arc::new(s3(settings)?), folder: None, prefix, remote: Some(remote) }
            }
        })
    }

    /// Removes the permissions of other accounts from the files and folders of the registry. Earlier versions or an operator
    /// may have set them.
    pub(crate) fn restrict(config: &Config) {
        let folder = config.registry_folder();
        match file_mode::restrict(&folder) {
            Ok(0) => {}
            Ok(changed) => tracing::warn!(
                folder = %folder.display(),
                changed,
                "other accounts had access to files of the registry; changed their modes to 0600 and 0700"
            ),
            Err(error) => tracing::warn!(
                folder = %folder.display(),
                %error,
                "changing the modes of registry files failed; change them to 0600 and 0700"
            ),
        }
    }

    /// Starts a new object.
    pub(crate) fn write(&self, name: Uuid) -> Writer {
        Writer::new(self, name)
    }

    /// Reads a range of an object.
    pub(crate) async fn read(
        &self,
        name: Uuid,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes>>> {
        if range.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let found =
            self.store.get_opts(&self.path(name), options).await.map_err(|error| self.failed(error))?;
        let remote = self.folder.is_none();
        Ok(match found.payload {
            GetResultPayload::File(file, _) => read_file(file, found.range).boxed(),
            GetResultPayload::Stream(bytes) => {
                bytes.map_err(move |source| BlobError { source, remote }).boxed()
            }
        })
    }

    /// Deletes objects. Missing objects are not an error.
    pub(crate) async fn delete(&self, names: Vec<Uuid>) -> Result<()> {
        let paths: Vec<_> = names.into_iter().map(|name| Ok(self.path(name))).collect();
        let mut deleted = self.store.delete_stream(stream::iter(paths).boxed());
        while let Some(outcome) = deleted.next().await {
            match outcome {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// Deletes an object that no row refers to. If this fails, the search for unused objects deletes it later.
    pub(crate) async fn discard(&self, name: Uuid) {
        if let Err(error) = self.delete(vec![name]).await {
            let error: &dyn error::Error = &error;
            tracing::warn!(error, "deleting an unused object failed; a later search deletes it");
        }
    }

    /// Returns the names of objects that were written before a time, in pages.
    pub(crate) fn list(&self, before: Timestamp, page: usize) -> BoxStream<'_, Result<Vec<Uuid>>> {
        let names = self.store.list(Some(&self.prefix)).try_filter_map(move |object| async move {
            let old = object.last_modified.timestamp_micros() < before.micros();
            Ok(object.location.filename().filter(|_| old).and_then(|name| Uuid::parse_str(name).ok()))
        });
        names.try_chunks(page).map_err(|error| self.failed(error.1)).boxed()
    }

    /// Deletes incomplete files of writers that ended before a time.
    pub(crate) async fn clear_unfinished(&self, before: Timestamp) -> Result<()> {
        // S3 stores incomplete uploads separately; a lifecycle rule of the bucket deletes them.
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let cleared = spawn_blocking(move || clear_unfinished(&folder.join(FOLDER), before)).await;
        cleared.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| self.io(error))
    }

    /// Returns the path of an object. The end of a name is random, its beginning is not.
    fn path(&self, name: Uuid) -> Path {
        let text = name.to_string();
        self.prefix.clone().join(&text[text.len() - 2..]).join(text.as_str())
    }

    fn failed(&self, source: object_store::Error) -> BlobError {
        BlobError { source, remote: self.folder.is_none() }
    }

    fn io(&self, error: io::Error) -> BlobError {
        self.failed(wrap(error))
    }
}

fn wrap(error: io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "file", source: error.into() }
}

pub(crate) fn s3(settings: &DataStore) -> object_store::Result<impl ObjectStore> {
    let mut builder = AmazonS3Builder::from_env();
    if let Some(point) = &settings.access_point {
        // The URL identifies the bucket; the bucket name is not used.
        builder = builder
            .with_bucket_name("access-point")
            .with_endpoint(&point.host)
            .with_region(&point.region)
            .with_virtual_hosted_style_request(true);
    } else if let Some(bucket) = &settings.bucket {
        builder = builder.with_bucket_name(bucket);
    }
    if let Some(endpoint) = &settings.endpoint {
        let endpoint = endpoint.as_str().trim_end_matches('/');
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    if let Some(region) = &settings.region {
        builder = builder.with_region(region);
    }
    if let (Some(id), Some(secret)) = (&settings.access_key_id, &settings.secret_access_key) {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret.expose());
    }
    builder.build()
}

/// Streams the bytes of a file, in chunks that are large enough to justify a blocking thread each.
fn read_file(file: File, range: Range<u64>) -> impl futures_util::Stream<Item = Result<Bytes>> {
    let failed = |error: io::Error| BlobError { source: wrap(error), remote: false };
    stream::try_unfold((file, range), move |(mut file, range)| async move {
        if range.is_empty() {
            return Ok(None);
        }
        let read = spawn_blocking(move || {
            let size = READ_BYTES.min(range.end - range.start);
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
            file.seek(SeekFrom::Start(range.start))?;
            file.by_ref().take(size).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let next = range.start + bytes.len() as u64;
            Ok((Bytes::from(bytes), (file, next..range.end)))
        });
        let (bytes, rest) =
            read.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(failed)?;
        Ok(Some((bytes, rest)))
    })
}

fn clear_unfinished(objects: &FilePath, before: Timestamp) -> io::Result<()> {
    let before = UNIX_EPOCH + Duration::from_micros(u64::try_from(before.micros()).unwrap_or_default());
    if !objects.exists() {
        return Ok(());
    }
    for folder in fs::read_dir(objects)? {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path())? {
            let file = file?;
            if file.file_name().to_string_lossy().contains(UNFINISHED_MARK)
                && file.metadata()?.modified()? < before
            {
                fs::remove_file(file.path())?;
            }
        }
    }
    Ok(())
}
