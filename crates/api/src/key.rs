//! API keys of users, and what those of projects share with them. The plain key is shown once, in the answer that creates it.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Invalid, KeysSort, ResourceName, Search, Timestamp, UserKeyUuid, UserUuid, scalar::text};

text! {
    /// An API key in clear, to be kept safe by whoever receives it.
    PlainKey, hidden, |text| {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(text);
        }
        Err(Invalid::new("an API key is made of ASCII letters, digits and underscores"))
    }, |object| object.pattern(Some("^[A-Za-z0-9_]+$"))
}

/// A key of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUserKey)]
pub struct UserKey {
    /// Its identifier.
    pub uuid: UserKeyUuid,
    /// The user it acts for.
    pub user: UserUuid,
    /// Its name; several keys can share one.
    pub name: ResourceName,
    /// When it was created.
    pub creation: Timestamp,
    /// When it ceases to work.
    pub expiration: Timestamp,
    /// When it was revoked; absent while it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A key of a user that was just created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUserKeyCreated)]
pub struct UserKeyCreated {
    /// Its identifier.
    pub uuid: UserKeyUuid,
    /// The user it acts for.
    pub user: UserUuid,
    /// Its name.
    pub name: ResourceName,
    /// The key itself, which is never shown again.
    pub key: PlainKey,
    /// When it was created.
    pub creation: Timestamp,
    /// When it ceases to work.
    pub expiration: Timestamp,
}

/// A key of a user to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewUserKey)]
pub struct NewUserKey {
    /// Its name.
    pub name: ResourceName,
    /// How many seconds it is to work; as long as possible when not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// What to change of a key of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateUserKey)]
pub struct UserKeyPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
}

/// Which keys to list, of a user or of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KeyFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The revoked ones instead of the others.
    pub revoked: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<KeysSort>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_at_least_a_second() {
        let ttl =
            |json: &str| serde_json::from_str::<NewUserKey>(json).map(|new| new.ttl.map(NonZeroU32::get));
        assert_eq!(ttl(r#"{"name":"ci"}"#).unwrap(), None);
        assert_eq!(ttl(r#"{"name":"ci","ttl":null}"#).unwrap(), None);
        assert_eq!(ttl(r#"{"name":"ci","ttl":4294967295}"#).unwrap(), Some(u32::MAX));
        assert_eq!(ttl(r#"{"name":"ci","ttl":60.0}"#).unwrap(), Some(60));
        for json in
            [r#"{"name":"ci","ttl":0}"#, r#"{"name":"ci","ttl":4294967296}"#, r#"{"name":"ci","ttl":-1}"#]
        {
            assert!(ttl(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_plain_key_does_not_show_in_logs() {
        let key: PlainKey = "svc_user_abc".parse().unwrap();
        assert_eq!(format!("{key:?}"), crate::name::MASK);
        assert_eq!(serde_json::to_string(&key).unwrap(), r#""svc_user_abc""#);
        assert!("svc user".parse::<PlainKey>().is_err());
    }
}
