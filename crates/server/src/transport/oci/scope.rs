//! Scopes that clients request, and the claims of registry tokens.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use tidemark_api::{JobUuid, ResourceId, RunnerUuid, Timestamp};
use tidemark_store::project;
use uuid::Uuid;

use super::route::Name;

/// Maximum number of scopes per token.
const MAX_SCOPES: usize = 32;
/// Lifetime of the token of a runner, in seconds.
const RUNNER_SECONDS: i64 = 600;

/// Action in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    /// Read.
    Pull,
    /// Write.
    Push,
    /// Delete.
    Delete,
}

impl Action {
    pub(super) const ALL: [Self; 3] = [Self::Pull, Self::Push, Self::Delete];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "push",
            Self::Delete => "delete",
        }
    }
}

/// A requested scope: actions in a repository.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scope {
    /// The repository.
    pub(super) name: Name,
    /// The requested actions.
    pub(super) actions: Vec<Action>,
}

impl Scope {
    /// Parses the requested scopes. Ignores scopes that this registry does not have, like other registries: the token does not
    /// include them.
    pub(super) fn parse_all<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Self> {
        texts.flat_map(|text| text.split(' ')).filter_map(Self::parse).take(MAX_SCOPES).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        let (name, actions) = rest.rsplit_once(':')?;
        let kind = kind.split_once('(').map_or(kind, |(kind, _)| kind);
        let name = name.parse().ok().filter(|_| kind == "repository")?;
        let asked: Vec<&str> = actions.split(',').collect();
        let actions = Action::ALL
            .into_iter()
            .filter(|action| asked.iter().any(|asked| [action.as_str(), "*"].contains(asked)))
            .collect();
        Some(Self { name, actions })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let actions: Vec<_> = self.actions.iter().map(|action| action.as_str()).collect();
        write!(formatter, "repository:{}:{}", self.name.as_str(), actions.join(","))
    }
}

/// Type of the holder of a registry token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Audience {
    /// Anonymous.
    #[serde(rename = "oci_public")]
    Public,
    /// A user.
    #[serde(rename = "oci_auth")]
    User,
    /// A project key.
    #[serde(rename = "oci_project")]
    Project,
    /// A runner, during a job.
    #[serde(rename = "oci_runner")]
    Runner,
}

/// Claims of a registry token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    /// Type of the holder.
    pub(super) aud: Audience,
    /// When the token expires, in seconds since 1970.
    pub(super) exp: i64,
    /// When the token was issued, in seconds since 1970.
    pub(super) iat: i64,
    /// Issuer of the token.
    pub(super) iss: String,
    /// Address of the user, or UUID of the project or runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sub: Option<String>,
    /// The key that the token was requested with, or the job of the token. The key or job must still be valid when the token is
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) jti: Option<Uuid>,
    /// The first repository, as the contract defines it.
    pub(super) oci: Grant,
    /// All repositories.
    pub(super) access: Vec<Access>,
}

/// The actions in the first repository of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) repository: Option<String>,
    pub(super) actions: Vec<Action>,
}

/// The actions in one repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Access {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    actions: Vec<Action>,
}

impl From<&Scope> for Access {
    fn from(scope: &Scope) -> Self {
        Self { kind: "repository".into(), name: scope.name.as_str().into(), actions: scope.actions.clone() }
    }
}

impl Claims {
    /// Returns the claims for a runner that pulls the images of its job.
    pub(super) fn of_runner(
        iss: &str,
        runner: RunnerUuid,
        job: JobUuid,
        repositories: &[&str],
        now: Timestamp,
    ) -> Self {
        let actions = vec![Action::Pull];
        let access = |name: &&str| Access {
            kind: "repository".into(),
            name: (*name).to_owned(),
            actions: vec![Action::Pull],
        };
        Self {
            aud: Audience::Runner,
            exp: now.plus_seconds(RUNNER_SECONDS).seconds(),
            iat: now.seconds(),
            iss: iss.to_owned(),
            sub: Some(runner.to_string()),
            jti: Some(job.uuid()),
            oci: Grant { repository: repositories.first().map(|name| (*name).to_owned()), actions },
            access: repositories.iter().map(access).collect(),
        }
    }

    /// Whether the token has not expired.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.exp >= now.seconds()
    }

    /// Whether the token grants the action. The slug and the UUID of a project are equivalent.
    pub(super) fn grants(&self, name: &Name, project: Option<&project::ProjectRow>, action: Action) -> bool {
        let is_project = |id: &ResourceId| match (id, project) {
            (ResourceId::Uuid(uuid), Some(found)) => *uuid == found.project.uuid.uuid(),
            (ResourceId::Slug(slug), Some(found)) => *slug == found.project.slug,
            (id, None) => id == name.project(),
        };
        self.access.iter().filter(|access| access.actions.contains(&action)).any(|access| {
            Name::from_str(&access.name)
                .is_ok_and(|granted| granted.path() == name.path() && is_project(granted.project()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_strange_ones_passed_over() {
        let read = |text: &str| {
            let scopes = Scope::parse_all([text].into_iter());
            scopes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(read("repository:lab:push,pull"), "repository:lab:pull,push");
        assert_eq!(
            read("repository:lab/a:* repository(plugin):b:pull"),
            "repository:lab/a:pull,push,delete repository:b:pull"
        );
        assert_eq!(read("registry:catalog:* repository:LAB:pull repository:lab:paint"), "repository:lab:");
        assert_eq!(read("repository repository:lab :: nonsense"), "");
    }
}
