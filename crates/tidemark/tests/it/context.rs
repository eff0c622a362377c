//! `tidemark context`: what it detects from git and CI.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::process::{BINARY, isolated};

/// Every variable that identifies a CI system: the tests may run on one.
const SYSTEMS: [&str; 9] = [
    "FORGEJO_ACTIONS",
    "GITEA_ACTIONS",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BITBUCKET_BUILD_NUMBER",
    "JENKINS_URL",
    "CIRCLECI",
    "BUILDKITE",
    "TF_BUILD",
];

/// Returns our command in a folder, without CI variables.
pub(crate) fn in_folder(folder: &Path) -> Command {
    let mut command = isolated(BINARY);
    for name in SYSTEMS {
        command.env_remove(name);
    }
    command.env_remove("CI").current_dir(folder);
    command
}

/// Runs git, which must succeed.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = isolated("git");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(folder);
    command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Creates a repository with two commits on a branch.
pub(crate) fn repository(folder: &Path) -> (String, String) {
    git(folder, &["init", "--quiet", "--initial-branch", "trunk"]);
    let commit = |message| {
        git(folder, &["commit", "--quiet", "--allow-empty", "--message", message]);
        git(folder, &["rev-parse", "HEAD"])
    };
    (commit("first"), commit("second"))
}

fn context(command: &mut Command) -> Value {
    let output = command.args(["context", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn branch_and_commit_come_from_git() {
    let folder = tempfile::tempdir().unwrap();
    let (_, second) = repository(folder.path());
    git(folder.path(), &["remote", "add", "origin", "git@example.org:acme/widget.git"]);
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let found = context(&mut in_folder(&inside));
    assert_eq!(found["branch"], "trunk");
    assert_eq!(found["hash"], second.as_str());
    assert_eq!(
        (&found["ci"], &found["pull_request"], &found["fork"]),
        (&json!(null), &json!(null), &json!(false))
    );
    let value = |key: &str| found["context"][format!("tidemark.dev/v0/{key}")].clone();
    assert_eq!(value("repo/name"), "widget");
    assert_eq!(value("branch/ref/name"), "trunk");
    assert_eq!(value("branch/hash"), second.as_str());
    assert_eq!(value("testbed/fingerprint").as_str().unwrap().len(), 13);
    let host = value("testbed/host");
    assert!(host.is_null() || host.as_str().unwrap().len() == 13, "{host}");
    assert_eq!(host, context(&mut in_folder(&inside))["context"]["tidemark.dev/v0/testbed/host"]);
    assert_eq!(found["testbed"], context(&mut in_folder(&inside))["testbed"]);

    git(folder.path(), &["checkout", "--quiet", "--detach"]);
    assert_eq!(context(&mut in_folder(folder.path()))["branch"], json!(null));
    let table = in_folder(folder.path()).arg("context").output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("Branch   unknown\n") && table.contains(&second), "{table}");
}

#[test]
fn without_a_repository_only_the_machine_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let found =
        context(in_folder(folder.path()).env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap()));
    assert_eq!((&found["branch"], &found["hash"]), (&json!(null), &json!(null)));
    assert!(found["testbed"].as_str().unwrap().contains("core"), "{found}");
}

#[test]
fn ci_comes_before_git() {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path());
    let event = folder.path().join("event.json");
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let document = json!({
        "repository": { "full_name": "acme/widget" },
        "pull_request": { "number": 7, "head": { "sha": hash, "repo": { "full_name": "ada/widget" } } },
    });
    fs::write(&event, document.to_string()).unwrap();
    let mut command = in_folder(folder.path());
    command.envs([("GITHUB_ACTIONS", "true"), ("GITLAB_CI", ""), ("GITHUB_HEAD_REF", "main")]);
    command.env("GITHUB_BASE_REF", "main").env("GITHUB_EVENT_PATH", &event);
    let found = context(&mut command);
    assert_eq!(found["ci"], "GitHub Actions");
    assert_eq!((&found["branch"], &found["base"]), (&json!("pull/7/main"), &json!("main")));
    assert_eq!((&found["pull_request"], &found["fork"]), (&json!(7), &json!(true)));
    assert_eq!(found["hash"], hash);
}
