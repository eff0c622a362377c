//! Where a run is made: branch, commit and pull request from git and from CI, and the machine. `tidemark context` shows
//! it; a run sends it.

mod ci;
mod environment;
mod git;
mod machine;

use std::{fs, path::Path};

use serde_json::json;
use tidemark_api::{BranchName, GitHash, RunContext};

pub(crate) use self::environment::Environment;
use self::{git::Repository, machine::Machine};
use crate::{
    failure::{Result, print},
    output::{self, Column, Table},
};

/// What is known.
pub(crate) struct Context {
    /// The CI system that we run on.
    pub(crate) system: Option<&'static str>,
    /// The branch that is measured.
    pub(crate) branch: Option<BranchName>,
    /// The branch that a pull request goes to.
    pub(crate) base: Option<BranchName>,
    /// The commit that is measured.
    pub(crate) hash: Option<GitHash>,
    /// The number of the pull request.
    pub(crate) pull_request: Option<u64>,
    /// Whether the pull request comes from another repository.
    pub(crate) fork: bool,
    /// What a pull request comes from, as CI says it.
    pub(crate) head: Option<Head>,
    repository: Option<Repository>,
    machine: Machine,
}

/// The branch that a pull request comes from.
pub(crate) struct Head {
    /// The repository that it is in, with its owner.
    pub(crate) repository: Option<String>,
    pub(crate) branch: String,
}

impl Context {
    /// Finds out what there is to know of a folder. What CI says of branch and commit comes before git, which there
    /// has often only a commit without a branch.
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
            repository,
            machine: Machine::detect(),
        }
    }

    /// Adds the pull request, when it is known from elsewhere than CI.
    pub(crate) fn set_pull_request(&mut self, number: u64, base: Option<String>) {
        self.pull_request = Some(number);
        self.base = base.and_then(|name| name.parse().ok()).or_else(|| self.base.take());
        if let Some(head) = self.head.as_ref().filter(|_| self.fork) {
            self.branch = ci::name_of_fork(&head.branch, number).parse().ok();
        }
    }

    /// A name for the testbed: machines of the same kind share it.
    pub(crate) fn testbed(&self) -> String {
        self.machine.name()
    }

    /// What the server is told. The first commit takes time to find and only serves to name a project.
    pub(crate) fn facts(&self, names_project: bool, binary: Option<String>) -> RunContext {
        let repository = self.repository.as_ref();
        let facts = [
            ("repo/name", repository.and_then(|repository| repository.name.clone())),
            ("repo/hash", repository.filter(|_| names_project).and_then(Repository::root).map(String::from)),
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

/// The name of the repository of a folder, or else of the folder.
pub(crate) fn repository_name(folder: &Path) -> Option<String> {
    let of_folder = || folder.file_name()?.to_str().map(str::to_owned);
    Repository::find(folder).and_then(|repository| repository.name).or_else(of_folder)
}

/// The arguments of `tidemark context`.
#[derive(clap::Args)]
pub(crate) struct Show {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(&self) -> Result {
        let context = Context::detect(&Environment::of_process(), Path::new("."));
        if self.json {
            let Context { system, branch, base, hash, pull_request, fork, .. } = &context;
            let document = json!({
                "ci": system, "branch": branch, "base": base, "hash": hash, "pull_request": pull_request,
                "fork": fork, "testbed": context.testbed(), "context": context.facts(true, None),
            });
            return print(&format!("{document:#}\n"));
        }
        let unknown = || "unknown".to_owned();
        let shown = |text: Option<&str>| text.map_or_else(unknown, output::plain);
        let mut rows = vec![
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
        let mut table = Table::new([Column::Left("What"), Column::Left("Is")]);
        for (name, value) in rows {
            table.push([name.to_owned(), value]);
        }
        print(&table.to_string())
    }
}
