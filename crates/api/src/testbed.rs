//! Testbeds: where benchmarks run.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    ProjTestbedsSort, ProjectUuid, ResourceId, ResourceName, Search, Slug, Spec, SpecUuid, TestbedUuid,
    Timestamp, patch::present,
};

/// A testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTestbed)]
pub struct Testbed {
    /// Its identifier.
    pub uuid: TestbedUuid,
    /// The project it belongs to.
    pub project: ProjectUuid,
    /// Its name.
    pub name: ResourceName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The specification of its machine, if there is one: the current one, unless another was asked for.
    pub spec: Option<Spec>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it was archived; null while it is in use.
    pub archived: Option<Timestamp>,
}

/// A testbed to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewTestbed)]
pub struct NewTestbed {
    /// Its name, which no other testbed of the project can have.
    pub name: ResourceName,
    /// Its slug; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// The slug or UUID of the specification of its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ResourceId>,
}

/// What to change of a testbed. A field that is not there stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateTestbed)]
#[serde(deny_unknown_fields)]
pub struct TestbedPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Slug, required = false)]
    pub slug: Option<Slug>,
    /// The slug or UUID of the new specification of its machine; null takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<ResourceId>, required = false)]
    pub spec: Option<Option<ResourceId>>,
    /// Whether the testbed is to be archived.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub archived: Option<bool>,
}

/// Which testbeds to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TestbedFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The archived ones instead of the others.
    pub archived: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjTestbedsSort>,
}

/// Which specification to show a testbed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpecQuery {
    /// A specification; that of the testbed when not given.
    #[param(inline)]
    pub spec: Option<SpecUuid>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_is_kept_removed_or_set() {
        let patch = |json: &str| serde_json::from_str::<TestbedPatch>(json);
        assert_eq!(patch("{}").unwrap(), TestbedPatch::default());
        assert_eq!(patch(r#"{"spec":null}"#).unwrap().spec, Some(None));
        assert_eq!(patch(r#"{"spec":"metal"}"#).unwrap().spec, Some(Some("metal".parse().unwrap())));
        for json in
            [r#"{"name":null}"#, r#"{"slug":null}"#, r#"{"archived":null}"#, r#"{"arch":1}"#, r#"{"spec":7}"#]
        {
            assert!(patch(json).is_err(), "{json}");
        }
    }
}
