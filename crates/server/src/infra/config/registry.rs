//! The settings of the container registry: its address, its limits, and where it keeps the bytes.

use std::{num::NonZeroU32, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tidemark_api::{Secret, Url};

use crate::infra::limits::ConcurrencyLimit;

/// The smallest part that S3 takes.
const CHUNK_DEFAULT: usize = 5 * 1024 * 1024;
/// The largest part that S3 takes.
const CHUNK_MAX: usize = 5 * 1024 * 1024 * 1024;

/// The container registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registry {
    /// The address under which clients reach it, when it is not that of the console.
    pub url: Option<Url>,
    /// Where the bytes of images are kept.
    pub data_store: DataStore,
    /// After how many seconds what nobody uses is removed.
    pub upload_timeout: NonZeroU32,
    /// The most bytes of one blob.
    pub max_body_size: u64,
    /// The most bytes of all images of an organization.
    pub max_organization_size: Option<u64>,
    /// The maximum number of uploads at once.
    pub max_uploads: NonZeroU32,
    /// The maximum number of uploads at once of one address.
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
    /// After how many seconds what nobody uses is removed.
    pub fn timeout_seconds(&self) -> i64 {
        self.upload_timeout.get().into()
    }

    /// The limit on concurrent uploads.
    pub(crate) fn upload_limit(&self) -> ConcurrencyLimit {
        let count = |limit: NonZeroU32| usize::try_from(limit.get()).unwrap_or(usize::MAX);
        ConcurrencyLimit::for_uploads(count(self.max_uploads), count(self.max_uploads_per_address))
    }
}

/// Where the bytes of images are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataStore {
    /// What keeps them.
    pub service: Service,
    /// The bucket.
    pub bucket: Option<String>,
    /// An access point to a bucket, instead of the bucket.
    pub access_point: Option<AccessPoint>,
    /// Where the bucket is, if it is not at Amazon's.
    pub endpoint: Option<Url>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// Who signs the requests; without it, the role of the machine does.
    pub access_key_id: Option<String>,
    /// The secret to sign with.
    pub secret_access_key: Option<Secret>,
    /// How many bytes are written at once.
    #[serde(default = "chunk_default", deserialize_with = "chunk")]
    pub chunk_size: usize,
}

/// What keeps the bytes of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// The folder `registry` of the data folder.
    Local,
    /// S3, or what speaks its protocol; the other settings of the store are for it.
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
    /// The setting that is missing for this store to work, if one is.
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

/// An access point to a bucket: `arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME`, maybe with a folder behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPoint {
    text: String,
    /// The region that it is in.
    pub region: String,
    /// The address that stands for its bucket.
    pub host: String,
    /// The folder that everything goes into; maybe empty.
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
