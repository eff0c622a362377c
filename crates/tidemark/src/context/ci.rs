//! Detection of CI systems and their builds from environment variables. A system is a row of [`SYSTEMS`] and a function that
//! reads its variables.

use serde_json::Value;

use super::environment::Environment;

/// A CI system.
pub(crate) struct System {
    pub(crate) name: &'static str,
    /// Variable that identifies the system.
    variable: &'static str,
    read: fn(&Environment, &Value) -> Build,
}

/// All systems. A system that also sets the variables of another system comes before it.
const SYSTEMS: &[System] = &[
    System { name: "Forgejo Actions", variable: "FORGEJO_ACTIONS", read: actions },
    System { name: "Gitea Actions", variable: "GITEA_ACTIONS", read: actions },
    System { name: "GitHub Actions", variable: "GITHUB_ACTIONS", read: actions },
    System { name: "GitLab CI", variable: "GITLAB_CI", read: gitlab },
    System { name: "Bitbucket Pipelines", variable: "BITBUCKET_BUILD_NUMBER", read: bitbucket },
    System { name: "CircleCI", variable: "CIRCLECI", read: circle },
    System { name: "Buildkite", variable: "BUILDKITE", read: buildkite },
    System { name: "Azure Pipelines", variable: "TF_BUILD", read: azure },
    System { name: "Jenkins", variable: "JENKINS_URL", read: jenkins },
];

/// A CI build.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// Branch; for a pull request, the source branch. `None` for a tag.
    pub(crate) branch: Option<String>,
    /// Target branch of a pull request.
    pub(crate) base: Option<String>,
    /// Commit; for a pull request, its own commit and not the merge commit that the system creates.
    pub(crate) hash: Option<String>,
    /// Number of the pull request.
    pub(crate) pull_request: Option<u64>,
    /// Whether the pull request comes from another repository.
    pub(crate) fork: bool,
    /// Source repository of a pull request, with its owner, if known.
    pub(crate) head: Option<String>,
}

/// Detects the CI system and its build. `event` reads the event file of GitHub Actions.
pub(crate) fn detect(
    environment: &Environment,
    event: impl FnOnce(&str) -> Option<Value>,
) -> Option<(&'static System, Build)> {
    let system = SYSTEMS.iter().find(|system| environment.is_set(system.variable))?;
    let event = environment.get("GITHUB_EVENT_PATH").and_then(event).unwrap_or_default();
    Some((system, (system.read)(environment, &event)))
}

impl Build {
    /// Returns the name of the branch in the project. A branch of a fork may have the name of a branch of the repository, so its
    /// name contains the number of the pull request.
    pub(crate) fn branch_name(&self) -> Option<String> {
        let branch = self.branch.as_deref()?;
        match (self.pull_request, &self.head) {
            _ if !self.fork => Some(branch.to_owned()),
            (Some(number), _) => Some(name_of_fork(branch, number)),
            // A `workflow_run` event may lack the number of the pull request.
            (None, Some(head)) => {
                Some(format!("fork/{}/{branch}", head.split('/').next().unwrap_or_default()))
            }
            (None, None) => Some(format!("fork/{branch}")),
        }
    }
}

/// Returns the name of a branch of a fork, with the number of its pull request.
pub(crate) fn name_of_fork(branch: &str, number: u64) -> String {
    format!("pull/{number}/{branch}")
}

fn actions(environment: &Environment, event: &Value) -> Build {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let repository = || text("/repository/full_name").or_else(|| get("GITHUB_REPOSITORY"));
    // A `workflow_run` workflow runs on the default branch, but reports on the build of the other workflow.
    if environment.get("GITHUB_EVENT_NAME") == Some("workflow_run") {
        let number = event.pointer("/workflow_run/pull_requests/0/number").and_then(Value::as_u64);
        let head = text("/workflow_run/head_repository/full_name");
        return Build {
            branch: text("/workflow_run/head_branch"),
            base: text("/workflow_run/pull_requests/0/base/ref"),
            hash: text("/workflow_run/head_sha"),
            pull_request: number,
            fork: head.is_some() && head != repository(),
            head,
        };
    }
    if let Some(branch) = get("GITHUB_HEAD_REF") {
        let head = text("/pull_request/head/repo/full_name");
        let number = event.pointer("/pull_request/number").and_then(Value::as_u64);
        let merge = environment.get("GITHUB_REF").and_then(|name| name.strip_prefix("refs/pull/"));
        return Build {
            branch: Some(branch),
            base: get("GITHUB_BASE_REF"),
            hash: text("/pull_request/head/sha").or_else(|| get("GITHUB_SHA")),
            pull_request: number.or_else(|| merge?.split('/').next()?.parse().ok()),
            fork: head.is_some() && head != repository(),
            head,
        };
    }
    let branch = environment.get("GITHUB_REF").and_then(|name| name.strip_prefix("refs/heads/"));
    Build { branch: branch.map(str::to_owned), hash: get("GITHUB_SHA"), ..Build::default() }
}

fn gitlab(environment: &Environment, _: &Value) -> Build {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let source = get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID");
    Build {
        branch: get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME").or_else(|| get("CI_COMMIT_BRANCH")),
        base: get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
        hash: get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| get("CI_COMMIT_SHA")),
        pull_request: environment.get("CI_MERGE_REQUEST_IID").and_then(|number| number.parse().ok()),
        fork: source.is_some() && source != get("CI_MERGE_REQUEST_PROJECT_ID"),
        head: None,
    }
}

fn bitbucket(environment: &Environment, _: &Value) -> Build {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    Build {
        branch: get("BITBUCKET_BRANCH"),
        base: get("BITBUCKET_PR_DESTINATION_BRANCH"),
        hash: get("BITBUCKET_COMMIT"),
        pull_request: environment.get("BITBUCKET_PR_ID").and_then(|number| number.parse().ok()),
        // Bitbucket pipelines do not run for forks.
        fork: false,
        head: None,
    }
}

fn circle(environment: &Environment, _: &Value) -> Build {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let address = environment.get("CIRCLE_PULL_REQUEST").and_then(|address| address.rsplit('/').next());
    let number = environment.get("CIRCLE_PR_NUMBER").or(address).and_then(|number| number.parse().ok());
    // The branch of a fork already has the number in its name.
    let branch = environment.get("CIRCLE_BRANCH").map(|name| match number {
        Some(number) if name == format!("pull/{number}") => "head".to_owned(),
        _ => name.to_owned(),
    });
    Build {
        branch,
        base: None,
        hash: get("CIRCLE_SHA1"),
        pull_request: number,
        fork: environment.get("CIRCLE_PR_USERNAME").is_some(),
        head: None,
    }
}

fn buildkite(environment: &Environment, _: &Value) -> Build {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let number = environment.get("BUILDKITE_PULL_REQUEST").and_then(|number| number.parse().ok());
    let fork = match (environment.get("BUILDKITE_PULL_REQUEST_REPO"), environment.get("BUILDKITE_REPO")) {
        (Some(head), Some(own)) => number.is_some() && full_name(head) != full_name(own),
        _ => false,
    };
    Build {
        // The branch of a fork may have its owner as a prefix: `ada:fix`. For a tag, the variable contains the tag.
        branch: get("BUILDKITE_BRANCH")
            .filter(|branch| environment.get("BUILDKITE_TAG") != Some(branch.as_str()))
            .map(|branch| branch.rsplit(':').next().unwrap_or_default().to_owned()),
        base: get("BUILDKITE_PULL_REQUEST_BASE_BRANCH").filter(|_| number.is_some()),
        hash: get("BUILDKITE_COMMIT"),
        pull_request: number,
        fork,
        head: None,
    }
}

fn azure(environment: &Environment, _: &Value) -> Build {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let number = ["SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "SYSTEM_PULLREQUEST_PULLREQUESTID"];
    let short = |name: &str| {
        environment.get(name).map(|name| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
    };
    let pushed = environment.get("BUILD_SOURCEBRANCH").and_then(|name| name.strip_prefix("refs/heads/"));
    Build {
        branch: short("SYSTEM_PULLREQUEST_SOURCEBRANCH").or_else(|| pushed.map(str::to_owned)),
        base: short("SYSTEM_PULLREQUEST_TARGETBRANCH"),
        hash: get("SYSTEM_PULLREQUEST_SOURCECOMMITID").or_else(|| get("BUILD_SOURCEVERSION")),
        pull_request: number
            .iter()
            .find_map(|name| environment.get(name))
            .and_then(|number| number.parse().ok()),
        fork: environment.is_set("SYSTEM_PULLREQUEST_ISFORK"),
        head: None,
    }
}

fn jenkins(environment: &Environment, _: &Value) -> Build {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let pull_request = environment.get("CHANGE_ID").and_then(|number| number.parse().ok());
    let own = ["BRANCH_NAME", "GIT_BRANCH"]
        .iter()
        .find_map(|name| environment.get(name))
        .filter(|branch| environment.get("TAG_NAME") != Some(branch) && *branch != "detached")
        .map(|branch| branch.strip_prefix("origin/").unwrap_or(branch).to_owned());
    Build {
        // Without the name of the source branch, only the pull request is known.
        branch: get("CHANGE_BRANCH").or(own),
        base: get("CHANGE_TARGET"),
        hash: get("GIT_COMMIT"),
        pull_request,
        fork: environment.get("CHANGE_FORK").is_some(),
        head: None,
    }
}

/// Returns owner and name of a repository, from an address in any form.
fn full_name(address: &str) -> String {
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix(".git").unwrap_or(address);
    let mut parts: Vec<&str> = address.rsplit(['/', ':']).take(2).collect();
    parts.reverse();
    parts.join("/").to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the detected build as one line: system, branch, base, hash, number, fork.
    fn found(variables: &[(&str, &str)], event: &Value) -> Option<String> {
        let environment: Environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (system, build) = detect(&environment, |_| Some(event.clone()))?;
        let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        Some(format!(
            "{}: {} -> {} at {} #{}{}",
            system.name,
            text(build.branch_name()),
            text(build.base.clone()),
            text(build.hash.clone()),
            text(build.pull_request.map(|number| number.to_string())),
            if build.fork { " fork" } else { "" }
        ))
    }

    #[test]
    fn each_system_is_read() {
        for (variables, expected) in [
            (
                &[
                    ("GITHUB_ACTIONS", "true"),
                    ("GITHUB_REF", "refs/heads/main"),
                    ("GITHUB_SHA", "abc"),
                    ("GITHUB_HEAD_REF", ""),
                ] as &[(&str, &str)],
                "GitHub Actions: main -> - at abc #-",
            ),
            (
                &[("GITHUB_ACTIONS", "true"), ("GITHUB_REF", "refs/tags/v1"), ("GITHUB_SHA", "abc")],
                "GitHub Actions: - -> - at abc #-",
            ),
            (
                &[
                    ("GITHUB_ACTIONS", "true"),
                    ("GITEA_ACTIONS", "true"),
                    ("GITHUB_REF", "refs/pull/7/head"),
                    ("GITHUB_HEAD_REF", "fix"),
                    ("GITHUB_BASE_REF", "main"),
                    ("GITHUB_SHA", "abc"),
                ],
                "Gitea Actions: fix -> main at abc #7",
            ),
            (
                &[("GITHUB_ACTIONS", "true"), ("FORGEJO_ACTIONS", "true"), ("GITHUB_REF", "refs/heads/a/b")],
                "Forgejo Actions: a/b -> - at - #-",
            ),
            (
                &[("GITLAB_CI", "true"), ("CI_COMMIT_BRANCH", "main"), ("CI_COMMIT_SHA", "abc")],
                "GitLab CI: main -> - at abc #-",
            ),
            (
                &[("GITLAB_CI", "true"), ("CI_COMMIT_TAG", "v1"), ("CI_COMMIT_SHA", "abc")],
                "GitLab CI: - -> - at abc #-",
            ),
            (
                &[
                    ("GITLAB_CI", "true"),
                    ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "fix"),
                    ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
                    ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
                    ("CI_COMMIT_SHA", "abc"),
                    ("CI_MERGE_REQUEST_IID", "7"),
                    ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"),
                    ("CI_MERGE_REQUEST_PROJECT_ID", "1"),
                ],
                "GitLab CI: pull/7/fix -> main at abc #7 fork",
            ),
            (
                &[
                    ("BITBUCKET_BUILD_NUMBER", "5"),
                    ("BITBUCKET_BRANCH", "fix"),
                    ("BITBUCKET_COMMIT", "abc"),
                    ("BITBUCKET_PR_ID", "7"),
                    ("BITBUCKET_PR_DESTINATION_BRANCH", "main"),
                ],
                "Bitbucket Pipelines: fix -> main at abc #7",
            ),
            (
                &[
                    ("JENKINS_URL", "http://ci"),
                    ("BRANCH_NAME", "PR-7"),
                    ("CHANGE_BRANCH", "fix"),
                    ("CHANGE_TARGET", "main"),
                    ("CHANGE_ID", "7"),
                    ("CHANGE_FORK", "ada"),
                    ("GIT_COMMIT", "abc"),
                ],
                "Jenkins: pull/7/fix -> main at abc #7 fork",
            ),
            (&[("JENKINS_URL", "http://ci"), ("GIT_BRANCH", "origin/main")], "Jenkins: main -> - at - #-"),
            (
                &[("JENKINS_URL", "http://ci"), ("BRANCH_NAME", "v1"), ("TAG_NAME", "v1")],
                "Jenkins: - -> - at - #-",
            ),
            (
                &[
                    ("CIRCLECI", "true"),
                    ("CIRCLE_BRANCH", "fix"),
                    ("CIRCLE_SHA1", "abc"),
                    ("CIRCLE_PULL_REQUEST", "https://example.org/acme/widget/pull/7"),
                ],
                "CircleCI: fix -> - at abc #7",
            ),
            (
                &[
                    ("CIRCLECI", "true"),
                    ("CIRCLE_BRANCH", "pull/7"),
                    ("CIRCLE_PR_NUMBER", "7"),
                    ("CIRCLE_PR_USERNAME", "ada"),
                ],
                "CircleCI: pull/7/head -> - at - #7 fork",
            ),
            (
                &[
                    ("BUILDKITE", "true"),
                    ("BUILDKITE_BRANCH", "main"),
                    ("BUILDKITE_PULL_REQUEST", "false"),
                    ("BUILDKITE_COMMIT", "abc"),
                ],
                "Buildkite: main -> - at abc #-",
            ),
            (
                &[
                    ("BUILDKITE", "true"),
                    ("BUILDKITE_BRANCH", "ada:fix"),
                    ("BUILDKITE_PULL_REQUEST", "7"),
                    ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "main"),
                    ("BUILDKITE_REPO", "git@example.org:acme/widget.git"),
                    ("BUILDKITE_PULL_REQUEST_REPO", "git://example.org/ada/widget.git"),
                ],
                "Buildkite: pull/7/fix -> main at - #7 fork",
            ),
            (
                &[
                    ("BUILDKITE", "true"),
                    ("BUILDKITE_BRANCH", "fix"),
                    ("BUILDKITE_PULL_REQUEST", "7"),
                    ("BUILDKITE_REPO", "git@example.org:acme/widget.git"),
                    ("BUILDKITE_PULL_REQUEST_REPO", "https://example.org/Acme/widget"),
                ],
                "Buildkite: fix -> - at - #7",
            ),
            (
                &[
                    ("TF_BUILD", "True"),
                    ("BUILD_SOURCEBRANCH", "refs/heads/main"),
                    ("BUILD_SOURCEVERSION", "abc"),
                ],
                "Azure Pipelines: main -> - at abc #-",
            ),
            (
                &[
                    ("TF_BUILD", "True"),
                    ("BUILD_SOURCEBRANCH", "refs/pull/7/merge"),
                    ("BUILD_SOURCEVERSION", "merged"),
                    ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "refs/heads/fix"),
                    ("SYSTEM_PULLREQUEST_TARGETBRANCH", "main"),
                    ("SYSTEM_PULLREQUEST_SOURCECOMMITID", "abc"),
                    ("SYSTEM_PULLREQUEST_PULLREQUESTID", "99"),
                    ("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "7"),
                    ("SYSTEM_PULLREQUEST_ISFORK", "False"),
                ],
                "Azure Pipelines: fix -> main at abc #7",
            ),
        ] {
            assert_eq!(found(variables, &Value::Null).as_deref(), Some(expected), "{variables:?}");
        }
        for variables in
            [&[] as &[(&str, &str)], &[("CI", "true")], &[("GITHUB_ACTIONS", "")], &[("GITLAB_CI", "false")]]
        {
            assert_eq!(found(variables, &Value::Null), None, "{variables:?}");
        }
    }

    #[test]
    fn the_event_of_actions_completes_the_context() {
        let variables = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_REF", "refs/pull/7/merge"),
            ("GITHUB_HEAD_REF", "main"),
            ("GITHUB_BASE_REF", "main"),
            ("GITHUB_SHA", "merged"),
        ];
        let event = |repository: &str| {
            json!({
                "repository": { "full_name": "acme/widget" },
                "pull_request": { "number": 7, "head": { "sha": "abc", "repo": { "full_name": repository } } },
            })
        };
        assert_eq!(
            found(&variables, &event("acme/widget")).unwrap(),
            "GitHub Actions: main -> main at abc #7"
        );
        assert_eq!(
            found(&variables, &event("ada/widget")).unwrap(),
            "GitHub Actions: pull/7/main -> main at abc #7 fork"
        );

        let variables = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_EVENT_NAME", "workflow_run"),
            ("GITHUB_REF", "refs/heads/main"),
        ];
        let event = json!({
            "repository": { "full_name": "acme/widget" },
            "workflow_run": {
                "head_branch": "fix", "head_sha": "abc", "head_repository": { "full_name": "acme/widget" },
                "pull_requests": [{ "number": 7, "base": { "ref": "main" } }],
            },
        });
        assert_eq!(found(&variables, &event).unwrap(), "GitHub Actions: fix -> main at abc #7");
    }
}
