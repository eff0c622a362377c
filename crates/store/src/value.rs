//! Conversion of values between Rust and SQL: parameters of statements (`Param`) and columns of rows (`FromRow`).
//! Independent of the engine, so that each type is described once.

use std::borrow::Cow;

use tidemark_api::{
    ActorKind, Adapter, AlertStatus, AlertUuid, AnyUrl, Architecture, AuditUuid, Average, BenchmarkName,
    BenchmarkUuid, Boundary, BoundaryLimit, BranchName, BranchUuid, ChangeCause, ChangeUuid,
    CodeHostProvider, CodeHostRepository, CodeHostSecret, ConfirmMode, ConfirmationState, Cpu,
    DeliveryStatus, DeliveryUuid, Digest, Disk, Domain, Email, EventStatus, EventUuid, FalseAlarms, GitHash,
    HeadUuid, InvitationUuid, JobStatus, JobUuid, Jwt, LeaseUuid, MeasureDirection, MeasureUuid, Memory,
    MinChange, ModelTest, ModelUuid, MuteUuid, NamePattern, NonEmpty, NoticeDirection, NoticeKind,
    NoticeUuid, NotificationUuid, Notifies, OperatingSystem, OrganizationRole, OrganizationUuid, PlainKey,
    PlanLevel, PlanStatus, PlotUuid, ProjectKeyUuid, ProjectRole, ProjectUuid, ReportUuid, ResourceName,
    RunnerUuid, SampleSize, Sandbox, ServerUuid, SessionUuid, Slug, SpecUuid, SsoUuid, TestbedUuid,
    ThresholdUuid, TimeOfDay, Timestamp, TokenUuid, Url, UserKeyUuid, UserName, UserUuid, VariantUuid,
    Visibility, Window, XAxis, YAxis,
};
use tidemark_stats::Test;
use uuid::Uuid;

use crate::{
    columns::{FromRow, SqlType},
    error::{Error, Result},
    row::Cells,
};

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

impl Param for bool {
    fn value(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl SqlType for bool {
    const KIND: Kind = Kind::Bool;
}

impl FromRow for bool {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        match cells.value()? {
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

        impl SqlType for $type {
            const KIND: Kind = Kind::Int;
        }

        impl FromRow for $type {
            fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
                match cells.value()? {
                    Value::Int(number) => <$type>::try_from(number)
                        .map_err(|_| Error::engine(format!("{number} is out of range"))),
                    other => mismatch("an integer", &other),
                }
            }
        }
    )*};
}
integers!(i64, i32, u32, u16, u8);

impl FromRow for u64 {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let number = i64::from_row(cells)?;
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

impl SqlType for f64 {
    const KIND: Kind = Kind::Real;
}

impl FromRow for f64 {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        match cells.value()? {
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

impl SqlType for str {
    const KIND: Kind = Kind::Text;
}

impl SqlType for String {
    const KIND: Kind = Kind::Text;
}

impl Param for String {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl FromRow for String {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        match cells.value()? {
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

impl SqlType for [u8] {
    const KIND: Kind = Kind::Blob;
}

impl SqlType for Vec<u8> {
    const KIND: Kind = Kind::Blob;
}

impl Param for Vec<u8> {
    fn value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl FromRow for Vec<u8> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        match cells.value()? {
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

impl SqlType for Uuid {
    const KIND: Kind = Kind::Uuid;
}

impl FromRow for Uuid {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        match cells.value()? {
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

impl SqlType for Timestamp {
    const KIND: Kind = Kind::Int;
}

impl FromRow for Timestamp {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        i64::from_row(cells).map(Timestamp::from_micros)
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

        impl SqlType for $type {
            const KIND: Kind = Kind::Text;
        }

        impl FromRow for $type {
            fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
                match cells.value()? {
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

        impl SqlType for $type {
            const KIND: Kind = Kind::Uuid;
        }

        impl FromRow for $type {
            fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
                Uuid::from_row(cells).map(Self::from)
            }
        }
    )*};
}

impl Param for Test {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.as_str()))
    }
}

impl SqlType for Test {
    const KIND: Kind = Kind::Text;
}

impl FromRow for ModelTest {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let text = String::from_row(cells)?;
        text.parse().map(Self).map_err(|_| Error::engine(format!("{text} is no test")))
    }
}

impl Param for Window {
    fn value(&self) -> Value<'_> {
        Value::Int(i64::from(self.get()))
    }
}

impl SqlType for Window {
    const KIND: Kind = Kind::Int;
}

/// Numeric types of the API that are stored as numbers.
macro_rules! numbers {
    ($($type:ty: $number:ty),* $(,)?) => {$(
        impl FromRow for $type {
            fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
                <$type>::try_from(<$number>::from_row(cells)?).map_err(|error| Error::Engine(error.into()))
            }
        }
    )*};
}
numbers!(Boundary: f64, Cpu: u32, Disk: u64, FalseAlarms: u32, Memory: u64, MinChange: f64, SampleSize: u32, Window: u32);

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

        impl From<$name> for i64 {
            fn from(key: $name) -> Self {
                key.0
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

        impl SqlType for $name {
            const KIND: Kind = Kind::Int;
        }

        impl FromRow for $name {
            fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
                i64::from_row(cells).map(Self)
            }
        }
    )*};
}

texts! {
    ActorKind, Adapter, AlertStatus, AnyUrl, Architecture, Average, BenchmarkName, BoundaryLimit, BranchName, ChangeCause, CodeHostProvider, CodeHostRepository, CodeHostSecret, ConfirmMode, ConfirmationState, DeliveryStatus, Digest, Domain, Email, EventStatus, GitHash, JobStatus, Jwt, MeasureDirection, NamePattern, NonEmpty, NoticeDirection, NoticeKind, Notifies, OperatingSystem,
    OrganizationRole, PlainKey, PlanLevel, PlanStatus, ProjectRole, ResourceName, Sandbox, TimeOfDay, Url, UserName, Visibility, XAxis, YAxis,
}

impl Param for Slug {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.as_str()))
    }
}

impl SqlType for Slug {
    const KIND: Kind = Kind::Text;
}

impl FromRow for Slug {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        // Slugs derived from a UUID are stored, too, although requests must not contain them.
        Self::stored(String::from_row(cells)?).map_err(|error| Error::Engine(error.into()))
    }
}

uuids! {
    AlertUuid, AuditUuid, BenchmarkUuid, BranchUuid, ChangeUuid, DeliveryUuid, EventUuid, HeadUuid, InvitationUuid, JobUuid, LeaseUuid, MeasureUuid, ModelUuid, MuteUuid, NoticeUuid, NotificationUuid, OrganizationUuid,
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
    /// Key of an event.
    EventId,
    /// Key of a mute.
    MuteId,
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
