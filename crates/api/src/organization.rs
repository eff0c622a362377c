//! Organizations: who owns projects.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Jwt, OrganizationUuid, OrganizationsSort, ResourceName, Search, Slug, Sso, Timestamp, patch::present,
};

/// An organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOrganization)]
pub struct Organization {
    /// Its identifier.
    pub uuid: OrganizationUuid,
    /// Its name; several organizations can share one.
    pub name: ResourceName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Its license key.
    pub license: Option<Jwt>,
    /// The domains whose users join by themselves; absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sso: Vec<Sso>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When its first member joined; null while nobody has claimed it.
    pub claimed: Option<Timestamp>,
}

/// An organization to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewOrganization)]
pub struct NewOrganization {
    /// Its name.
    pub name: ResourceName,
    /// Its slug; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// What to change of an organization. A field that is not there stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateOrganization)]
#[serde(deny_unknown_fields)]
pub struct OrganizationPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Slug, required = false)]
    pub slug: Option<Slug>,
    /// The new license key; null takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<Jwt>, required = false)]
    pub license: Option<Option<Jwt>>,
}

/// Which organizations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OrganizationFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<OrganizationsSort>,
    /// Also those that you are not a member of; only for administrators of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(json: &str) -> Result<OrganizationPatch, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_license_is_kept_removed_or_set() {
        assert_eq!(patch("{}"), Ok(OrganizationPatch::default()));
        assert_eq!(patch(r#"{"license":null}"#).unwrap().license, Some(None));
        let license = Some(Some("aa.bb.cc".parse().unwrap()));
        assert_eq!(patch(r#"{"license":"aa.bb.cc"}"#).unwrap().license, license);
    }

    #[test]
    fn null_is_no_name_and_unknown_fields_are_refused() {
        for json in [r#"{"name":null}"#, r#"{"slug":null}"#, r#"{"nmae":"x"}"#, r#"{"name":"a","name":"b"}"#]
        {
            assert!(patch(json).is_err(), "{json}");
        }
    }

    #[test]
    fn elsewhere_null_is_absent_and_unknown_fields_do_not_matter() {
        let new: NewOrganization = serde_json::from_str(r#"{"name":"A","slug":null,"x":1}"#).unwrap();
        assert_eq!(new, NewOrganization { name: "A".parse().unwrap(), slug: None });
    }

    #[test]
    fn a_bad_value_says_why() {
        let error = patch(r#"{"slug":"A b"}"#).unwrap_err();
        assert!(error.starts_with("a slug is 1 to 64 lower-case"), "{error}");
    }
}
