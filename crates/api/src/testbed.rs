//! Testbeds: environments in which benchmarks run.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    ProjTestbedsSort, ProjectUuid, ResourceId, ResourceName, Search, Slug, Spec, SpecUuid, TestbedUuid,
    Timestamp, patch::present,
};

/// An environment in which benchmarks run, usually a type of machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonTestbed)]
pub struct Testbed {
    /// UUID of the testbed.
    pub uuid: TestbedUuid,
    /// UUID of the project that the testbed belongs to.
    pub project: ProjectUuid,
    /// Name of the testbed.
    pub name: ResourceName,
    /// Slug of the testbed.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Requested spec, or the current spec of the testbed by default; null if there is none.
    pub spec: Option<Spec>,
    /// Time when the testbed was created.
    pub created: Timestamp,
    /// Time when the testbed was last modified.
    pub modified: Timestamp,
    /// Time when the testbed was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

/// A testbed to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewTestbed)]
pub struct NewTestbed {
    /// Name of the testbed; unique within the project.
    pub name: ResourceName,
    /// Slug of the testbed; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// UUID or slug of the spec; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ResourceId>,
}

/// Changes to a testbed. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateTestbed)]
#[serde(deny_unknown_fields)]
pub struct TestbedPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Slug, required = false)]
    pub slug: Option<Slug>,
    /// UUID or slug of the new spec; null removes the spec.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<ResourceId>, required = false)]
    pub spec: Option<Option<ResourceId>>,
    /// Whether to archive the testbed (`true`) or to restore it (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub archived: Option<bool>,
}

/// Filter of a list of testbeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TestbedFilter {
    /// Only testbeds with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only testbeds whose name or slug contains this text, or whose UUID starts with it (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list archived testbeds instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<ProjTestbedsSort>,
}

/// Spec of a testbed to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpecQuery {
    /// UUID of a spec; the spec of the testbed by default.
    #[param(inline)]
    pub spec: Option<SpecUuid>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_keeps_removes_or_sets_the_spec() {
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
