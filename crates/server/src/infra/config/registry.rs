//! Settings of the container registry: URL, limits and storage.

use std::{num::NonZeroU32, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tidemark_api::{Secret, Url};

/// Default part size: the minimum of S3.
const CHUNK_DEFAULT: usize = 5 * 1024 * 1024;
/// Maximum part size of S3.
const CHUNK_MAX: usize = 5 * 1024 * 1024 * 1024;

/// The container registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registry {
    /// Public URL of the registry; default: the URL of the console.
    pub url: Option<Url>,
    /// Storage of blobs.
    pub data_store: DataStore,
    /// Seconds after which idle uploads and unused blobs are deleted.
    pub upload_timeout: NonZeroU32,
    /// Maximum size of a blob, in bytes.
    pub max_body_size: u64,
    /// Maximum size of all images of an organization, in bytes.
    pub max_organization_size: Option<u64>,
    /// Maximum number of concurrent uploads.
    pub max_uploads: NonZeroU32,
    /// Maximum number of concurrent uploads per address.
    pub max_uploads_per_address: NonZeroU32,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            url: None,
            data_store: DataStore::default(),
            upload_timeout: NonZeroU32::new(3600).expect("not zero"),
            max_body_size: 1024 * 1024 * 1024,
            max_organization_size: None,
            max_uploads: NonZeroU32::new(256).expect("not zero"),
            max_uploads_per_address: NonZeroU32::new(32).expect("not zero"),
        }
    }
}

impl Registry {
    /// Returns the number of seconds after which idle uploads and unused blobs are deleted.
    pub fn timeout_seconds(&self) -> i64 {
        self.upload_timeout.get().into()
    }
}

/// Storage of blobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataStore {
    /// Type of storage.
    pub service: Service,
    /// Name of the bucket.
    pub bucket: Option<String>,
    /// Access point of a bucket, instead of the bucket name.
    pub access_point: Option<AccessPoint>,
    /// URL of the S3 service; default: AWS.
    pub endpoint: Option<Url>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// Access key that signs the requests; default: the role of the machine.
    pub access_key_id: Option<String>,
    /// Secret of the access key.
    pub secret_access_key: Option<Secret>,
    /// Size of the parts of a multipart upload, in bytes.
    #[serde(default = "chunk_default", deserialize_with = "chunk")]
    pub chunk_size: usize,
}

/// Type of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// The folder `registry` of the data folder.
    Local,
    /// S3 or a compatible service. The other settings of the storage apply to it.
    AwsS3,
}

impl Default for DataStore {
    fn default() -> Self {
        Self {
            service: Service::Local,
            bucket: None,
            access_point: None,
            endpoint: None,
            region: None,
            access_key_id: None,
            secret_access_key: None,
            chunk_size: CHUNK_DEFAULT,
        }
    }
}

impl DataStore {
    /// Returns the name of a required setting that is missing, if any.
    pub(super) fn missing(&self) -> Option<&'static str> {
        match self {
            Self { service: Service::Local, .. } => None,
            Self { bucket: None, access_point: None, .. } => Some("bucket"),
            Self { access_key_id: Some(_), secret_access_key: None, .. } => Some("secret_access_key"),
            Self { access_key_id: None, secret_access_key: Some(_), .. } => Some("access_key_id"),
            Self { .. } => None,
        }
    }
}

/// An access point of a bucket: `arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME`, with an optional folder after it.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPoint {
    text: String,
    /// Region of the access point.
    pub region: String,
    /// Hostname of the access point.
    pub host: String,
    /// Folder for all objects; can be empty.
    pub folder: String,
}

impl FromStr for AccessPoint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "it must have the form arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME";
        let parts: Vec<&str> = text.split(':').collect();
        let ["arn", partition, "s3", region, account, resource] = parts[..] else { return Err(FORM) };
        let name = resource.strip_prefix("accesspoint/").ok_or(FORM)?;
        let (name, folder) = name.split_once('/').unwrap_or((name, ""));
        let plain = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if ![partition, region, account, name].into_iter().all(plain) {
            return Err(FORM);
        }
        let domain = if partition == "aws-cn" { "amazonaws.com.cn" } else { "amazonaws.com" };
        Ok(Self {
            text: text.to_owned(),
            region: region.to_owned(),
            host: format!("https://{name}-{account}.s3-accesspoint.{region}.{domain}"),
            folder: folder.trim_matches('/').to_owned(),
        })
    }
}

impl Serialize for AccessPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for AccessPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

fn chunk_default() -> usize {
    CHUNK_DEFAULT
}

fn chunk<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let bytes = usize::deserialize(deserializer)?;
    if (CHUNK_DEFAULT..=CHUNK_MAX).contains(&bytes) {
        return Ok(bytes);
    }
    Err(de::Error::custom("it must be 5242880 (5 MiB) to 5368709120 (5 GiB) bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_point_names_a_host_and_a_folder() {
        let point: AccessPoint = "arn:aws:s3:eu-west-1:123456789012:accesspoint/images/a/b".parse().unwrap();
        assert_eq!(point.host, "https://images-123456789012.s3-accesspoint.eu-west-1.amazonaws.com");
        assert_eq!((point.region.as_str(), point.folder.as_str()), ("eu-west-1", "a/b"));
        for wrong in ["images", "arn:aws:s3:eu-west-1:1:bucket/images", "arn:aws:s3::1:accesspoint/x"] {
            assert!(wrong.parse::<AccessPoint>().is_err(), "{wrong}");
        }
    }
}
