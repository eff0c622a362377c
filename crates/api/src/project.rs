//! Projects: what is measured, and who can see it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    AnyUrl, OrganizationUuid, ProjectUuid, ProjectsSort, ResourceName, Search, Slug, Timestamp,
    patch::present, scalar::word,
};

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonProject)]
pub struct Project {
    /// Its identifier.
    pub uuid: ProjectUuid,
    /// The organization that owns it.
    pub organization: OrganizationUuid,
    /// Its name.
    pub name: ResourceName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// The address of what is measured; the console links to `http` and `https` only.
    pub url: Option<AnyUrl>,
    /// Who can see it.
    pub visibility: Visibility,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When its organization was claimed; null while nobody has.
    pub claimed: Option<Timestamp>,
}

word! {
    /// Who can see a project.
    #[derive(Default)]
    Visibility {
        /// Everyone.
        #[default]
        Public = "public",
        /// Those with a role in it or in its organization.
        Private = "private",
    }
}

/// A project to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewProject)]
pub struct NewProject {
    /// Its name, which no other project of the organization can have.
    pub name: ResourceName,
    /// Its slug; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// The address of what is measured; the console links to `http` and `https` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<AnyUrl>,
    /// Who can see it; everyone when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

/// What to change of a project. A field that is not there stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateProject)]
#[serde(deny_unknown_fields)]
pub struct ProjectPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = ResourceName, required = false)]
    pub name: Option<ResourceName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Slug, required = false)]
    pub slug: Option<Slug>,
    /// The new address of what is measured; null takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<AnyUrl>, required = false)]
    pub url: Option<Option<AnyUrl>>,
    /// Who can see it from now on.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Visibility, required = false)]
    pub visibility: Option<Visibility>,
}

/// Which projects to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// What to order by.
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
    fn an_address_is_kept_removed_or_set() {
        assert_eq!(patch("{}"), Ok(ProjectPatch::default()));
        assert_eq!(patch(r#"{"url":null}"#).unwrap().url, Some(None));
        let url = Some(Some("https://example.org/".parse().unwrap()));
        assert_eq!(patch(r#"{"url":"https://example.org"}"#).unwrap().url, url);
    }

    #[test]
    fn null_clears_nothing_else_and_unknown_fields_are_refused() {
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
    fn a_new_project_needs_only_a_name() {
        let new: NewProject =
            serde_json::from_str(r#"{"name":"A","slug":null,"url":null,"visibility":null,"x":1}"#).unwrap();
        let expected = NewProject { name: "A".parse().unwrap(), slug: None, url: None, visibility: None };
        assert_eq!(new, expected);
    }
}
