//! Context of a run: branch, commit and pull request from git and CI, and the machine. `tidemark context` shows it; a run sends
//! it.

mod ci;
mod environment;
mod git;
mod identity;
mod machine;

use std::{
    cell::OnceCell,
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use tidemark_api::{BranchName, GitHash, ResourceId, RunContext};

pub(crate) use self::{environment::Environment, identity::ProjectIdentity};
use self::{git::Repository, machine::Machine};
use crate::{
    failure::{Result, print},
    output, project,
    table::Table,
};

/// Detected context.
pub(crate) struct Context {
    /// Name of the CI system.
    pub(crate) system: Option<&'static str>,
    /// Measured branch.
    pub(crate) branch: Option<BranchName>,
    /// Target branch of a pull request.
    pub(crate) base: Option<BranchName>,
    /// Measured commit.
    pub(crate) hash: Option<GitHash>,
    /// Number of the pull request.
    pub(crate) pull_request: Option<u64>,
    /// Whether the pull request comes from another repository.
    pub(crate) fork: bool,
    /// Source of a pull request, if CI provides it.
    pub(crate) head: Option<Head>,
    folder: PathBuf,
    identity: OnceCell<Result<ProjectIdentity>>,
    repository: Option<Repository>,
    machine: Machine,
}

/// Source branch of a pull request.
pub(crate) struct Head {
    /// Repository of the branch, with its owner.
    pub(crate) repository: Option<String>,
    pub(crate) branch: String,
}

impl Context {
    /// Detects the context of a folder. Branch and commit from CI take precedence over git, because CI often checks out a commit
    /// without a branch.
    pub(crate) fn detect(environment: &Environment, folder: &Path) -> Self {
        let event = |path: &str| serde_json::from_slice(&fs::read(path).ok()?).ok();
        let (system, build) = ci::detect(environment, event).unzip();
        let build = build.unwrap_or_default();
        let repository = Repository::find(folder);
        let known = repository.as_ref();
        let branch = build.branch_name().or_else(|| known?.branch.clone());
        let head = build.branch.map(|branch| Head { repository: build.head, branch });
        Self {
            system: system.map(|system| system.name),
            branch: branch.and_then(|name| name.parse().ok()),
            base: build.base.and_then(|name| name.parse().ok()),
            hash: build.hash.and_then(|hash| hash.parse().ok()).or_else(|| known?.hash.clone()),
            pull_request: build.pull_request,
            fork: build.fork,
            head,
            folder: folder.to_owned(),
            identity: OnceCell::new(),
            repository,
            machine: Machine::detect(),
        }
    }

    /// Sets the pull request, if its source is not CI.
    pub(crate) fn set_pull_request(&mut self, number: u64, base: Option<String>) {
        self.pull_request = Some(number);
        self.base = base.and_then(|name| name.parse().ok()).or_else(|| self.base.take());
        if let Some(head) = self.head.as_ref().filter(|_| self.fork) {
            self.branch = ci::name_of_fork(&head.branch, number).parse().ok();
        }
    }

    /// Returns the commit that a pull request started from: the newest commit that the measured one and its base branch have in
    /// common. Returns `None` if the clone does not have it, for example a shallow one.
    pub(crate) fn merge_base(&self, measured: Option<&GitHash>) -> Option<GitHash> {
        let measured = measured.or(self.hash.as_ref())?;
        self.repository.as_ref()?.merge_base(self.base.as_ref()?.as_str(), measured.as_str())
    }

    /// Returns a name for the testbed, which is the same on machines of the same type.
    pub(crate) fn testbed(&self) -> String {
        self.machine.name()
    }

    /// Returns the identity of the project, if no project is named.
    pub(crate) fn identity(&self) -> Result<&ProjectIdentity> {
        let derive = || ProjectIdentity::new(&self.folder, self.repository.as_ref());
        self.identity.get_or_init(derive).as_ref().map_err(Clone::clone)
    }

    /// Returns the data for the server.
    pub(crate) fn facts(&self, binary: Option<String>) -> RunContext {
        let facts = [
            ("repo/name", self.identity().ok().map(|identity| identity.name.clone())),
            ("branch/ref/name", self.branch.clone().map(String::from)),
            ("branch/hash", self.hash.clone().map(String::from)),
            ("binary/hash", binary),
            ("testbed/os", Some(self.machine.os.to_owned())),
            ("testbed/fingerprint", Some(self.machine.fingerprint())),
            ("testbed/host", machine::host()),
        ];
        facts.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Arguments of `tidemark context`.
#[derive(clap::Args)]
pub(crate) struct Show {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(&self) -> Result {
        let environment = Environment::of_process();
        let context = Context::detect(&environment, Path::new("."));
        let project = match project::configured(&environment)? {
            Some(project) => project,
            None => ResourceId::Slug(context.identity()?.slug.clone()),
        };
        if self.json {
            let Context { system, branch, base, hash, pull_request, fork, .. } = &context;
            let document = json!({
                "ci": system, "branch": branch, "base": base, "hash": hash, "pull_request": pull_request,
                "fork": fork, "project": project, "testbed": context.testbed(), "context": context.facts(None),
            });
            return print(&format!("{document:#}\n"));
        }
        let unknown = || "unknown".to_owned();
        let shown = |text: Option<&str>| text.map_or_else(unknown, output::plain);
        let mut rows = vec![
            ("Project", project.to_string()),
            ("Branch", shown(context.branch.as_ref().map(BranchName::as_str))),
            ("Commit", shown(context.hash.as_ref().map(GitHash::as_str))),
            ("Testbed", context.testbed()),
            ("CI", context.system.unwrap_or("none").to_owned()),
        ];
        if let Some(number) = context.pull_request {
            let from = if context.fork { ", from a fork" } else { "" };
            let base = shown(context.base.as_ref().map(BranchName::as_str));
            rows.push(("Pull request", format!("{number} to {base}{from}")));
        }
        let mut table = Table::record();
        for (name, value) in rows {
            table.push([name.to_owned(), value]);
        }
        print(&table.show())
    }
}
