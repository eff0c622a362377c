//! API keys of users, and the types that project keys share with them. The plain key is in the response that creates the key and
//! nowhere else.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Invalid, KeysSort, ResourceName, Search, Timestamp, UserKeyUuid, UserUuid, scalar::text};

text! {
    /// An API key in plain text. Store it securely.
    PlainKey, hidden, |text| {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(text);
        }
        Err(Invalid::new("an API key is made of ASCII letters, digits and underscores"))
    }, |object| object.pattern(Some("^[A-Za-z0-9_]+$"))
}

/// An API key of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUserKey)]
pub struct UserKey {
    /// UUID of the key.
    pub uuid: UserKeyUuid,
    /// UUID of the user that the key authenticates.
    pub user: UserUuid,
    /// Name of the key; not necessarily unique.
    pub name: ResourceName,
    /// Time when the key was created.
    pub creation: Timestamp,
    /// Time when the key expires.
    pub expiration: Timestamp,
    /// Time when the key was revoked; omitted if it is not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// A new API key of a user, with the plain key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUserKeyCreated)]
pub struct UserKeyCreated {
    /// UUID of the key.
    pub uuid: UserKeyUuid,
    /// UUID of the user that the key authenticates.
    pub user: UserUuid,
    /// Name of the key.
    pub name: ResourceName,
    /// The key in plain text. The server shows it only in this response.
    pub key: PlainKey,
    /// Time when the key was created.
    pub creation: Timestamp,
    /// Time when the key expires.
    pub expiration: Timestamp,
}

/// An API key of a user to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewUserKey)]
pub struct NewUserKey {
    /// Name of the key.
    pub name: ResourceName,
    /// Lifetime in seconds; 4,294,967,295 (about 136 years) by default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::number::positive")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub ttl: Option<NonZeroU32>,
}

/// Changes to an API key of a user. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateUserKey)]
pub struct UserKeyPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
}

/// Filter of a list of keys of a user or of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KeyFilter {
    /// Only keys with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only keys whose name or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list revoked keys instead of all others; false by default.
    pub revoked: Option<bool>,
    /// Sort key; `name` by default.
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
    fn a_plain_key_is_masked_in_logs() {
        let key: PlainKey = "svc_user_abc".parse().unwrap();
        assert_eq!(format!("{key:?}"), crate::name::MASK);
        assert_eq!(serde_json::to_string(&key).unwrap(), r#""svc_user_abc""#);
        assert!("svc user".parse::<PlainKey>().is_err());
    }
}
