//! Identifiers: one UUID type per resource, and references to resources in paths and bodies.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type},
};
use uuid::Uuid;

use crate::{
    Slug,
    scalar::{Invalid, text},
};

const UUID_RULE: Invalid = Invalid::new("a UUID is 32 hexadecimal digits, usually in the form 8-4-4-4-12");

macro_rules! uuids {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// Returns the UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Uuid::parse_str(text).map(Self).map_err(|_| UUID_RULE)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
                    .description(Some(crate::scalar::description(concat!($($doc, "\n"),+))))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )+};
}

uuids! {
    /// UUID of an alert.
    AlertUuid,
    /// UUID of an entry of the audit log.
    AuditUuid,
    /// UUID of a benchmark.
    BenchmarkUuid,
    /// UUID of a branch.
    BranchUuid,
    /// UUID of a change.
    ChangeUuid,
    /// UUID of a delivery of a notice.
    DeliveryUuid,
    /// UUID of an event: changes with a common start.
    EventUuid,
    /// UUID of a head of a branch.
    HeadUuid,
    /// UUID of an invitation.
    InvitationUuid,
    /// UUID of a job.
    JobUuid,
    /// Identifier of a runner's request for a job, and of the job that the runner received for it.
    LeaseUuid,
    /// UUID of a measure.
    MeasureUuid,
    /// UUID of a metric.
    MetricUuid,
    /// UUID of a model of a threshold.
    ModelUuid,
    /// UUID of a mute.
    MuteUuid,
    /// UUID of a notice.
    NoticeUuid,
    /// UUID of a notification for its receiver; the same for each attempt.
    NotificationUuid,
    /// UUID of an organization.
    OrganizationUuid,
    /// UUID of a plot.
    PlotUuid,
    /// UUID of a project.
    ProjectUuid,
    /// UUID of a key of a project.
    ProjectKeyUuid,
    /// UUID of a report.
    ReportUuid,
    /// UUID of a runner.
    RunnerUuid,
    /// UUID of an installation of the server.
    ServerUuid,
    /// UUID of a session of a user.
    SessionUuid,
    /// UUID of a spec.
    SpecUuid,
    /// UUID of a single sign-on domain of an organization.
    SsoUuid,
    /// UUID of a testbed.
    TestbedUuid,
    /// UUID of a threshold.
    ThresholdUuid,
    /// UUID of a legacy API token.
    TokenUuid,
    /// UUID of a user.
    UserUuid,
    /// UUID of a key of a user.
    UserKeyUuid,
    /// UUID of a variant of a benchmark.
    VariantUuid,
}

/// UUID or slug of a resource.
///
/// Text that parses as a UUID is a UUID. A slug never has the form of a UUID, except a slug that is the resource's own UUID.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceId {
    /// UUID of the resource.
    Uuid(Uuid),
    /// Slug of the resource.
    Slug(Slug),
}

impl FromStr for ResourceId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Ok(uuid) = Uuid::parse_str(text) {
            return Ok(Self::Uuid(uuid));
        }
        text.parse().map(Self::Slug).map_err(|_| {
            Invalid::new(
                "expected a UUID or a slug (1 to 64 lower-case letters and digits, joined by single dashes)",
            )
        })
    }
}

impl TryFrom<String> for ResourceId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.fmt(formatter),
            Self::Slug(slug) => slug.fmt(formatter),
        }
    }
}

impl Serialize for ResourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ResourceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl PartialSchema for ResourceId {
    fn schema() -> RefOr<Schema> {
        // A UUID in its usual form matches the slug pattern.
        ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(64))
            .pattern(Some(crate::slug::PATTERN))
            .description(Some("The UUID or the slug of a resource."))
            .into()
    }
}

impl ToSchema for ResourceId {
    fn name() -> std::borrow::Cow<'static, str> {
        "ResourceId".into()
    }
}

text! {
    /// UUID, slug or name of a resource, resolved in this order.
    NameId, shown, |text| {
        if text.is_empty() || text.contains('\0') {
            return Err(Invalid::new("expected a UUID, a slug or a name; it cannot be empty"));
        }
        Ok(text)
    }, |object| object.min_length(Some(1)).pattern(Some(r"^[^\u0000]+$"))
}

impl NameId {
    /// Returns the reference as a UUID, if it is a UUID.
    pub fn uuid(&self) -> Option<Uuid> {
        Uuid::parse_str(self.as_str()).ok()
    }

    /// Returns the reference as a slug, if it is a slug.
    pub fn slug(&self) -> Option<Slug> {
        self.as_str().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "67e5504410b1426f9247bb680e5fe0c8";

    #[test]
    fn every_form_of_a_uuid_is_parsed_and_one_is_formatted() {
        let hyphenated = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        for text in [
            hyphenated,
            PLAIN,
            "67E5504410B1426F9247BB680E5FE0C8",
            "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
            "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
        ] {
            let uuid: UserUuid = text.parse().unwrap();
            assert_eq!(uuid.to_string(), hyphenated);
            assert_eq!(serde_json::to_string(&uuid).unwrap(), format!("\"{hyphenated}\""));
        }
        assert_eq!("67e5".parse::<UserUuid>(), Err(UUID_RULE));
    }

    #[test]
    fn a_resource_id_is_a_uuid_before_it_is_a_slug() {
        assert!(matches!(PLAIN.parse(), Ok(ResourceId::Uuid(_))));
        assert!(matches!("my-project".parse(), Ok(ResourceId::Slug(_))));
        for text in ["", "My Project", "a--b", "-a"] {
            assert!(text.parse::<ResourceId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_id_is_a_uuid_a_slug_or_a_name() {
        let uuid: NameId = PLAIN.parse().unwrap();
        assert!(uuid.uuid().is_some() && uuid.slug().is_none());
        let slug: NameId = "main".parse().unwrap();
        assert!(slug.uuid().is_none() && slug.slug().is_some());
        let name: NameId = "feature/x y".parse().unwrap();
        assert!(name.uuid().is_none() && name.slug().is_none());
        assert!("".parse::<NameId>().is_err());
        assert!("a\0".parse::<NameId>().is_err());
    }
}
