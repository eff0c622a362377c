//! Projects and their visibility.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    AnyUrl, OrganizationUuid, ProjectUuid, ProjectsSort, ResourceName, Search, Slug, Timestamp,
    patch::present, scalar::fixed_string,
};

/// The container of branches, testbeds, benchmarks, measures, reports and thresholds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProject)]
pub struct Project {
    /// UUID of the project.
    pub uuid: ProjectUuid,
    /// UUID of the organization that owns the project.
    pub organization: OrganizationUuid,
    /// Name of the project.
    pub name: ResourceName,
    /// Slug of the project.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// URL of the measured software; null if there is none. The console links only to `http` and `https`.
    pub url: Option<AnyUrl>,
    /// Visibility of the project.
    pub visibility: Visibility,
    /// Time when the project was created.
    pub created: Timestamp,
    /// Time when the project was last modified.
    pub modified: Timestamp,
    /// Time when the organization was claimed; null if it is unclaimed.
    pub claimed: Option<Timestamp>,
}

fixed_string! {
    /// Visibility of a project.
    #[derive(Default)]
    Visibility {
        /// Visible to everyone.
        #[default]
        Public = "public",
        /// Visible to users with a role in the project or in its organization.
        Private = "private",
    }
}

/// A project to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewProject)]
pub struct NewProject {
    /// Name of the project; unique within the organization.
    pub name: ResourceName,
    /// Slug of the project; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// URL of the measured software. The console links only to `http` and `https`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<AnyUrl>,
    /// Visibility of the project; `public` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

/// Changes to a project. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateProject)]
#[serde(deny_unknown_fields)]
pub struct ProjectPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Slug, required = false)]
    pub slug: Option<Slug>,
    /// New URL of the measured software; null removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<AnyUrl>, required = false)]
    pub url: Option<Option<AnyUrl>>,
    /// New visibility.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Visibility, required = false)]
    pub visibility: Option<Visibility>,
}

/// Filter of a list of projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectFilter {
    /// Only projects with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only projects whose name, slug or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<ProjectsSort>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(json: &str) -> Result<ProjectPatch, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_patch_keeps_removes_or_sets_the_url() {
        assert_eq!(patch("{}"), Ok(ProjectPatch::default()));
        assert_eq!(patch(r#"{"url":null}"#).unwrap().url, Some(None));
        let url = Some(Some("https://example.org/".parse().unwrap()));
        assert_eq!(patch(r#"{"url":"https://example.org"}"#).unwrap().url, url);
    }

    #[test]
    fn null_for_other_fields_and_unknown_fields_are_rejected() {
        for json in [
            r#"{"name":null}"#,
            r#"{"slug":null}"#,
            r#"{"visibility":null}"#,
            r#"{"organization":"x"}"#,
            r#"{"url":"example.org"}"#,
            r#"{"visibility":"secret"}"#,
        ] {
            assert!(patch(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_new_project_requires_only_a_name() {
        let new: NewProject =
            serde_json::from_str(r#"{"name":"A","slug":null,"url":null,"visibility":null,"x":1}"#).unwrap();
        let expected = NewProject { name: "A".parse().unwrap(), slug: None, url: None, visibility: None };
        assert_eq!(new, expected);
    }
}
