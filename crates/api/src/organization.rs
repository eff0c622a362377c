//! Organizations: owners of projects.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Jwt, OrganizationUuid, OrganizationsSort, ResourceName, Search, Slug, Sso, Timestamp, patch::present,
};

/// An owner of projects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonOrganization)]
pub struct Organization {
    /// UUID of the organization.
    pub uuid: OrganizationUuid,
    /// Name of the organization; not necessarily unique.
    pub name: ResourceName,
    /// Slug of the organization.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// License key; null if there is none.
    pub license: Option<Jwt>,
    /// E-mail domains whose users join the organization automatically; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sso: Vec<Sso>,
    /// Time when the organization was created.
    pub created: Timestamp,
    /// Time when the organization was last modified.
    pub modified: Timestamp,
    /// Time when the first member joined; null if the organization is unclaimed.
    pub claimed: Option<Timestamp>,
}

/// An organization to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewOrganization)]
pub struct NewOrganization {
    /// Name of the organization.
    pub name: ResourceName,
    /// Slug of the organization; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

/// Changes to an organization. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateOrganization)]
#[serde(deny_unknown_fields)]
pub struct OrganizationPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Slug, required = false)]
    pub slug: Option<Slug>,
    /// New license key; null removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<Jwt>, required = false)]
    pub license: Option<Option<Jwt>>,
}

/// Filter of a list of organizations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OrganizationFilter {
    /// Only organizations with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only organizations whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<OrganizationsSort>,
    /// Whether to list organizations that the caller is not a member of, too; false by default. Only for administrators of the
    /// server.
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
    fn a_patch_keeps_removes_or_sets_the_license() {
        assert_eq!(patch("{}"), Ok(OrganizationPatch::default()));
        assert_eq!(patch(r#"{"license":null}"#).unwrap().license, Some(None));
        let license = Some(Some("aa.bb.cc".parse().unwrap()));
        assert_eq!(patch(r#"{"license":"aa.bb.cc"}"#).unwrap().license, license);
    }

    #[test]
    fn null_for_other_fields_and_unknown_fields_are_rejected() {
        for json in [r#"{"name":null}"#, r#"{"slug":null}"#, r#"{"nmae":"x"}"#, r#"{"name":"a","name":"b"}"#]
        {
            assert!(patch(json).is_err(), "{json}");
        }
    }

    #[test]
    fn in_a_creation_null_is_absent_and_unknown_fields_are_ignored() {
        let new: NewOrganization = serde_json::from_str(r#"{"name":"A","slug":null,"x":1}"#).unwrap();
        assert_eq!(new, NewOrganization { name: "A".parse().unwrap(), slug: None });
    }

    #[test]
    fn the_error_states_the_violated_rule() {
        let error = patch(r#"{"slug":"A b"}"#).unwrap_err();
        assert!(error.starts_with("a slug is 1 to 64 lower-case"), "{error}");
    }
}
