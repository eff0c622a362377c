//! Destination of backups: a folder or S3. The names of backups start with their time, so that they sort by it.

use std::{
    error,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::body::Bytes;
use futures_util::TryStreamExt;
use object_store::{
    ObjectStore, ObjectStoreExt, WriteMultipart, local::LocalFileSystem, path::Path as ObjectPath,
};
use tokio::{io::AsyncWriteExt, task::spawn_blocking};

use crate::infra::{
    blobs::s3,
    config::{Config, Service},
    file_mode,
};

/// Folder of the backups in the bucket.
const PREFIX: &str = "backups";
/// Maximum number of parts that are sent to S3 at the same time.
const CONCURRENT_PARTS: usize = 4;
/// Maximum number of parts of an object in S3.
const MAX_PARTS: u64 = 10_000;

/// Error of the destination.
pub type BackupStoreError = Box<dyn error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, BackupStoreError>;

/// The destination of backups.
#[derive(Clone)]
pub struct BackupStore {
    store: Arc<dyn ObjectStore>,
    /// The folder, if the backups are files.
    folder: Option<PathBuf>,
    prefix: ObjectPath,
    place: String,
    part_bytes: usize,
}

/// A backup at the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBackup {
    /// Name.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
}

impl BackupStore {
    /// Opens the configured destination. An error names the setting.
    pub fn open(config: &Config) -> Result<Self> {
        let settings = &config.backup;
        let part_bytes = settings.data_store.chunk_size;
        Ok(match settings.data_store.service {
            Service::Local => {
                let folder = folder(config);
                let unusable = |error: &dyn error::Error| {
                    format!("the folder {} (`backup.directory`) cannot be used: {error}", folder.display())
                };
                file_mode::create_folder(&folder).map_err(|error| unusable(&error))?;
                let store = LocalFileSystem::new_with_prefix(&folder).map_err(|error| unusable(&error))?;
                let store = Arc::new(store);
                let place = folder.display().to_string();
                Self { store, folder: Some(folder), prefix: ObjectPath::default(), place, part_bytes }
            }
            Service::AwsS3 => {
                let store = &settings.data_store;
                let base = store.access_point.as_ref().map_or("", |point| point.folder.as_str());
                let parts = base.split('/').filter(|part| !part.is_empty()).chain([PREFIX]);
                let bucket = store.bucket.as_deref().unwrap_or("the access point");
                let place = format!("{bucket}/{PREFIX} in S3");
                let prefix = ObjectPath::from_iter(parts);
                Self { store: Arc::new(s3(store)?), folder: None, prefix, place, part_bytes }
            }
        })
    }

    /// Returns a description of the destination, for messages.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the folder, if the backups are files.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Copies a file to the destination. The backup appears when it is complete.
    pub async fn upload(&self, file: &Path, name: &str) -> Result<()> {
        let source = File::open(file)?;
        let part_bytes = part_bytes(self.part_bytes, source.metadata()?.len());
        let upload = self.store.put_multipart(&self.path(name)).await?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, part_bytes);
        if let Err(error) = send(&mut upload, source, part_bytes).await {
            // S3 keeps the parts of an unfinished upload, and charges for them.
            upload.abort().await?;
            return Err(error);
        }
        upload.finish().await?;
        Ok(())
    }

    /// Returns the backups at the destination, the oldest first.
    pub async fn list(&self) -> Result<Vec<StoredBackup>> {
        // Without subfolders.
        let listed = self.store.list_with_delimiter(Some(&self.prefix)).await?;
        let mut backups: Vec<_> = listed
            .objects
            .into_iter()
            .filter_map(|object| {
                let name = object.location.filename()?.to_owned();
                is_archive(&name).then_some(StoredBackup { name, bytes: object.size })
            })
            .collect();
        backups.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(backups)
    }

    /// Deletes a backup. Another server may have deleted it first.
    pub async fn delete(&self, name: &str) -> Result<()> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies a backup from the destination to a file.
    pub async fn fetch(&self, name: &str, target: &Path) -> Result<()> {
        let mut stream = self.store.get(&self.path(name)).await?.into_stream();
        let mut file = tokio::fs::File::from_std(file_mode::create_file(target)?);
        while let Some(bytes) = stream.try_next().await? {
            file.write_all(&bytes).await?;
        }
        file.flush().await?;
        Ok(file.sync_all().await?)
    }

    fn path(&self, name: &str) -> ObjectPath {
        self.prefix.clone().join(name)
    }
}

async fn send(upload: &mut WriteMultipart, mut source: File, part_bytes: usize) -> Result<()> {
    loop {
        let bytes;
        (source, bytes) = read_part(source, part_bytes).await?;
        if bytes.is_empty() {
            return Ok(());
        }
        upload.wait_for_capacity(CONCURRENT_PARTS).await?;
        upload.put(bytes);
    }
}

/// Returns the size of the parts of a file: the configured size, or more if the file would have too many parts.
fn part_bytes(configured: usize, file_bytes: u64) -> usize {
    configured.max(usize::try_from(file_bytes.div_ceil(MAX_PARTS)).unwrap_or(usize::MAX))
}

/// Whether a name is the name of an archive.
fn is_archive(name: &str) -> bool {
    name.starts_with("tidemark-") && name.ends_with(".archive.zst")
}

fn folder(config: &Config) -> PathBuf {
    config.backup.directory.clone().unwrap_or_else(|| config.data_dir.join("backups").join("scheduled"))
}

async fn read_part(mut file: File, bytes: usize) -> io::Result<(File, Bytes)> {
    let read = move || {
        let mut part = Vec::new();
        file.by_ref().take(bytes as u64).read_to_end(&mut part)?;
        Ok((file, Bytes::from(part)))
    };
    spawn_blocking(read).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_has_at_most_the_maximum_number_of_parts() {
        let (mib, tib) = (1 << 20, 1_u64 << 40);
        assert_eq!(part_bytes(5 * mib, 7), 5 * mib);
        assert!(tib.div_ceil(part_bytes(5 * mib, tib) as u64) <= MAX_PARTS);
    }
}
