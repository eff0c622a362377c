//! Connection of a project to a code host: the server receives commands in comments of pull requests and answers them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Invalid, Timestamp, Url,
    job::JobCallbackKind,
    scalar::{fixed_string, text},
};

/// Maximum length of a token or a webhook secret, in bytes.
const SECRET_MAX: usize = 512;
/// Maximum length of the name of a repository, in bytes.
const REPOSITORY_MAX: usize = 255;

text! {
    /// Token of a code host, or secret of a webhook: 1 to 512 visible ASCII characters.
    CodeHostSecret, hidden, |text| {
        if (1..=SECRET_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(text);
        }
        Err(Invalid::new("a token or secret is 1 to 512 visible ASCII characters without spaces"))
    }, |object| object.min_length(Some(1)).max_length(Some(SECRET_MAX)).pattern(Some("^[!-~]+$"))
}

text! {
    /// Repository at a code host: `OWNER/NAME`, or the path of a project at GitLab, for example `GROUP/SUBGROUP/NAME`.
    CodeHostRepository, shown, |text| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_segment =
            |segment: &str| !segment.is_empty() && !segment.starts_with('.') && segment.bytes().all(is_plain);
        if text.len() <= REPOSITORY_MAX && text.contains('/') && text.split('/').all(is_segment) {
            return Ok(text);
        }
        Err(Invalid::new(
            "a repository is OWNER/NAME with letters, digits and -._~, and at most 255 characters",
        ))
    }, |object| object.max_length(Some(REPOSITORY_MAX)).pattern(Some(
        r"^[-_~A-Za-z0-9][-._~A-Za-z0-9]*(/[-_~A-Za-z0-9][-._~A-Za-z0-9]*)+$",
    ))
}

fixed_string! {
    /// Kind of code host.
    #[schema(as = JsonCodeHostProvider)]
    CodeHostProvider {
        /// GitHub.
        GitHub = "github",
        /// GitLab.
        GitLab = "gitlab",
        /// Forgejo or Gitea.
        Forgejo = "forgejo",
    }
}

impl CodeHostProvider {
    /// Returns the URL of the API of the public instance.
    pub const fn default_url(self) -> &'static str {
        match self {
            Self::GitHub => "https://api.github.com",
            Self::GitLab => "https://gitlab.com/api/v4",
            Self::Forgejo => "https://codeberg.org/api/v1",
        }
    }

    /// Returns the kind of callback that answers on a pull request of this code host.
    pub const fn callback_kind(self) -> JobCallbackKind {
        match self {
            Self::GitHub => JobCallbackKind::GitHub,
            Self::GitLab => JobCallbackKind::GitLab,
            Self::Forgejo => JobCallbackKind::Forgejo,
        }
    }
}

/// Connection of a project to a repository at a code host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCodeHost)]
pub struct CodeHost {
    /// Kind of code host.
    pub provider: CodeHostProvider,
    /// URL of the API of the code host.
    pub url: Url,
    /// Repository whose pull requests accept commands.
    pub repository: CodeHostRepository,
    /// Whether the server runs the commands of comments.
    pub commands: bool,
    /// URL to enter in the settings of the webhook at the code host.
    pub webhook_url: Url,
    /// Secret of the webhook. Only the response to the request for which the server created the secret contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<CodeHostSecret>,
    /// Time when the connection was created.
    pub created: Timestamp,
    /// Time when the connection was last changed.
    pub modified: Timestamp,
}

/// Connection to set. It replaces the existing connection of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewCodeHost)]
#[serde(deny_unknown_fields)]
pub struct NewCodeHost {
    /// Kind of code host.
    pub provider: CodeHostProvider,
    /// URL of the API of the code host; by default that of github.com, gitlab.com or codeberg.org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Url>,
    /// Repository whose pull requests accept commands.
    pub repository: CodeHostRepository,
    /// Token that reads the repository and the permissions of its users, and writes comments. If omitted, the server keeps the
    /// stored token; required for a new connection, and if `provider`, `url` or `repository` changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<CodeHostSecret>,
    /// Secret of the webhook. If omitted, the server keeps the stored secret, or creates one for a new connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<CodeHostSecret>,
    /// Whether the server runs the commands of comments; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<bool>,
}

/// Response to an event of a code host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonCodeHostReceipt)]
pub struct CodeHostReceipt {
    /// Whether the event contains a command that the server runs.
    pub accepted: bool,
    /// What the server does, or the reason why it ignores the event.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::check;

    #[test]
    fn repositories_and_secrets() {
        check::<CodeHostRepository>(
            &["acme/app", "group/sub/app.rs", "a-b/c_d~1"],
            &[
                "",
                "app",
                "acme/",
                "/app",
                "acme//app",
                "acme/../app",
                "acme/.",
                "a b/c",
                "acme/app?x",
                "acme/é",
                "a%2Fb/c",
            ],
        );
        check::<CodeHostSecret>(&["ghp_x", "a!~"], &["", "a b", "a\n", "é", &"x".repeat(513)]);
        assert_eq!(format!("{:?}", "ghp_x".parse::<CodeHostSecret>().unwrap()), crate::name::MASK);
    }

    #[test]
    fn default_urls_are_urls() {
        for provider in CodeHostProvider::ALL {
            provider.default_url().parse::<Url>().unwrap();
        }
    }
}
