//! Conversion of values between Rust and SQL: parameters of statements (`Param`) and columns of rows (`Column`).
//! Independent of the engine, so that each type is described once.

use std::borrow::Cow;

use tidemark_api::{
    ActorKind, Adapter, AlertStatus, AlertUuid, AnyUrl, Architecture, AuditUuid, BenchmarkName,
    BenchmarkUuid, Boundary, BoundaryLimit, BranchName, BranchUuid, ChangeCause, ChangeStatus, ChangeUuid,
    Cpu, DeliveryStatus, DeliveryUuid, Digest, Disk, Domain, Email, EventUuid, FalseAlarms, GitHash,
    HeadUuid, InvitationUuid, JobStatus, JobUuid, Jwt, LeaseUuid, MeasureUuid, Memory, ModelTest, ModelUuid,
    NonEmpty, NoticeEvent, NoticeKind, NoticeUuid, Notifies, OperatingSystem, OrganizationRole,
    OrganizationUuid, PlainKey, PlanLevel, PlanStatus, PlotUuid, ProjectKeyUuid, ProjectRole, ProjectUuid,
    ReportUuid, ResourceName, RunnerUuid, SampleSize, Sandbox, ServerUuid, SessionUuid, Slug, SpecUuid,
    SsoUuid, TestbedUuid, ThresholdUuid, TimeOfDay, Timestamp, TokenUuid, Url, UserKeyUuid, UserName,
    UserUuid, VariantUuid, Visibility, Window, XAxis, YAxis,
};
use tidemark_stats::Test;
use uuid::Uuid;

use crate::error::{Error, Result};

/// A value, borrowed from the caller for a parameter and from the row for a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL null.
    Null,
    /// A Boolean; SQLite stores it as 0 or 1.
    Bool(bool),
    /// Any integer, and any time in microseconds.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes.
    Blob(&'a [u8]),
    /// A UUID; SQLite stores it as hyphenated text.
    Uuid(Uuid),
    /// A list of integers, for `in {ints $n}`.
    Ints(&'a [i64]),
    /// A list of UUIDs, for `in {uuids $n}`.
    Uuids(&'a [Uuid]),
    /// A list of texts, for `in {texts $n}`.
    Texts(&'a [&'a str]),
}

/// Type of a column in a bulk insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer or a time.
    Int,
    /// A floating-point number.
    Real,
    /// A Boolean.
    Bool,
    /// Text.
    Text,
    /// A UUID.
    Uuid,
    /// Bytes.
    Blob,
}

/// A type that can be bound to `$n`.
pub trait Param: Sync {
    /// Returns the value to bind.
    fn value(&self) -> Value<'_>;
}

/// A type that can be read from a column.
pub trait Column: Sized {
    /// Reads the value; an error if the column has another type.
    fn read(value: Value<'_>) -> Result<Self>;
}

fn mismatch<T>(wanted: &str, found: &Value<'_>) -> Result<T> {
    Err(Error::engine(format!("a column should hold {wanted} but holds {found:?}")))
}

impl<T: Param + ?Sized> Param for &T {
    fn value(&self) -> Value<'_> {
        (**self).value()
    }
}

impl<T: Param> Param for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Param::value)
    }
}

impl<T: Column> Column for Option<T> {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
}

impl Param for bool {
    fn value(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl Column for bool {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bool(flag) => Ok(flag),
            Value::Int(number) => Ok(number != 0),
            other => mismatch("a truth value", &other),
        }
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Param for $type {
            fn value(&self) -> Value<'_> {
                Value::Int(i64::from(*self))
            }
        }

        impl Column for $type {
            fn read(value: Value<'_>) -> Result<Self> {
                match value {
                    Value::Int(number) => <$type>::try_from(number)
                        .map_err(|_| Error::engine(format!("{number} is out of range"))),
                    other => mismatch("an integer", &other),
                }
            }
        }
    )*};
}
integers!(i64, i32, u32, u16, u8);

impl Column for u64 {
    fn read(value: Value<'_>) -> Result<Self> {
        let number = i64::read(value)?;
        Self::try_from(number).map_err(|_| Error::engine(format!("{number} is out of range")))
    }
}

impl Param for [i64] {
    fn value(&self) -> Value<'_> {
        Value::Ints(self)
    }
}

impl Param for Vec<i64> {
    fn value(&self) -> Value<'_> {
        Value::Ints(self)
    }
}

impl Param for [&str] {
    fn value(&self) -> Value<'_> {
        Value::Texts(self)
    }
}

impl Param for [Uuid] {
    fn value(&self) -> Value<'_> {
        Value::Uuids(self)
    }
}

impl Param for f64 {
    fn value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl Column for f64 {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Real(number) => Ok(number),
            other => mismatch("a number", &other),
        }
    }
}

impl Param for str {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl Param for String {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl Column for String {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text.into_owned()),
            other => mismatch("text", &other),
        }
    }
}

impl Param for [u8] {
    fn value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl Param for Vec<u8> {
    fn value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl Column for Vec<u8> {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Blob(bytes) => Ok(bytes.to_vec()),
            other => mismatch("bytes", &other),
        }
    }
}

impl Param for Uuid {
    fn value(&self) -> Value<'_> {
        Value::Uuid(*self)
    }
}

impl Column for Uuid {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Uuid(uuid) => Ok(uuid),
            Value::Text(text) => Uuid::parse_str(&text).map_err(|error| Error::Engine(error.into())),
            other => mismatch("a UUID", &other),
        }
    }
}

impl Param for Timestamp {
    fn value(&self) -> Value<'_> {
        Value::Int(self.micros())
    }
}

impl Column for Timestamp {
    fn read(value: Value<'_>) -> Result<Self> {
        i64::read(value).map(Timestamp::from_micros)
    }
}

/// Types of the API that are stored as text.
macro_rules! texts {
    ($($type:ty),* $(,)?) => {$(
        impl Param for $type {
            fn value(&self) -> Value<'_> {
                Value::Text(Cow::Borrowed(self.as_str()))
            }
        }

        impl Column for $type {
            fn read(value: Value<'_>) -> Result<Self> {
                match value {
                    Value::Text(text) => text.parse().map_err(|error| {
                        Error::engine(format!("a stored {} is not valid: {error}", stringify!($type)))
                    }),
                    other => mismatch("text", &other),
                }
            }
        }
    )*};
}

/// Identifiers of the API that are stored as UUIDs.
macro_rules! uuids {
    ($($type:ty),* $(,)?) => {$(
        impl Param for $type {
            fn value(&self) -> Value<'_> {
                Value::Uuid(self.uuid())
            }
        }

        impl Column for $type {
            fn read(value: Value<'_>) -> Result<Self> {
                Uuid::read(value).map(Self::from)
            }
        }
    )*};
}

impl Param for Test {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.as_str()))
    }
}

impl Column for ModelTest {
    fn read(value: Value<'_>) -> Result<Self> {
        let text = String::read(value)?;
        text.parse().map(Self).map_err(|_| Error::engine(format!("{text} is no test")))
    }
}

impl Param for Window {
    fn value(&self) -> Value<'_> {
        Value::Int(i64::from(self.get()))
    }
}

/// Numeric types of the API that are stored as numbers.
macro_rules! numbers {
    ($($type:ty: $number:ty),* $(,)?) => {$(
        impl Column for $type {
            fn read(value: Value<'_>) -> Result<Self> {
                <$type>::try_from(<$number>::read(value)?).map_err(|error| Error::Engine(error.into()))
            }
        }
    )*};
}
numbers!(Boundary: f64, Cpu: u32, Disk: u64, FalseAlarms: u32, Memory: u64, SampleSize: u32, Window: u32);

/// Primary keys of this database; one type per table, so that keys of different tables cannot be confused.
macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(i64);

        impl $name {
            /// Returns the number, for lists of keys and for locks.
            pub fn get(self) -> i64 {
                self.0
            }
        }

        impl From<i64> for $name {
            fn from(key: i64) -> Self {
                Self(key)
            }
        }

        impl Param for $name {
            fn value(&self) -> Value<'_> {
                Value::Int(self.0)
            }
        }

        impl Column for $name {
            fn read(value: Value<'_>) -> Result<Self> {
                i64::read(value).map(Self)
            }
        }
    )*};
}

texts! {
    ActorKind, Adapter, AlertStatus, AnyUrl, Architecture, BenchmarkName, BoundaryLimit, BranchName, ChangeCause, ChangeStatus, DeliveryStatus, Digest, Domain, Email, GitHash, JobStatus, Jwt, NonEmpty, NoticeEvent, NoticeKind, Notifies, OperatingSystem,
    OrganizationRole, PlainKey, PlanLevel, PlanStatus, ProjectRole, ResourceName, Sandbox, TimeOfDay, Url, UserName, Visibility, XAxis, YAxis,
}

impl Param for Slug {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.as_str()))
    }
}

impl Column for Slug {
    fn read(value: Value<'_>) -> Result<Self> {
        // Slugs derived from a UUID are stored, too, although requests must not contain them.
        Self::stored(String::read(value)?).map_err(|error| Error::Engine(error.into()))
    }
}

uuids! {
    AlertUuid, AuditUuid, BenchmarkUuid, BranchUuid, ChangeUuid, DeliveryUuid, EventUuid, HeadUuid, InvitationUuid, JobUuid, LeaseUuid, MeasureUuid, ModelUuid, NoticeUuid, OrganizationUuid,
    PlotUuid, ProjectKeyUuid, ProjectUuid, ReportUuid, RunnerUuid, ServerUuid, SessionUuid, SpecUuid, SsoUuid, TestbedUuid, ThresholdUuid, TokenUuid, UserKeyUuid,
    UserUuid, VariantUuid,
}

keys! {
    /// Key of a user.
    UserId,
    /// Key of an organization.
    OrganizationId,
    /// Key of a project.
    ProjectId,
    /// Key of a branch.
    BranchId,
    /// Key of a head.
    HeadId,
    /// Key of a testbed.
    TestbedId,
    /// Key of a spec.
    SpecId,
    /// Key of a benchmark.
    BenchmarkId,
    /// Key of a measure.
    MeasureId,
    /// Key of a threshold.
    ThresholdId,
    /// Key of a model.
    ModelId,
    /// Key of a variant of a benchmark.
    VariantId,
    /// Key of a version.
    VersionId,
    /// Key of a report.
    ReportId,
    /// Key of an alert.
    AlertId,
    /// Key of a notice.
    NoticeId,
    /// Key of a plot.
    PlotId,
    /// Key of a repository.
    RepositoryId,
    /// Key of a blob.
    BlobId,
    /// Key of a manifest.
    ManifestId,
    /// Key of an upload.
    UploadId,
    /// Key of a runner.
    RunnerId,
    /// Key of a job.
    JobId,
}

/// Returns the distinct keys.
pub(crate) fn distinct(keys: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut keys: Vec<i64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
