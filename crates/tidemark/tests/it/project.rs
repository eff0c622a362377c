//! Project of a command: the same repository is the same project in every command, and a misspelled name creates no project.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    client::Client,
    context::git,
    local::{Machine, printed, report},
    run::{Lab, latency, text},
};

const LINE: &str = "echo 'test sort ... bench: 900 ns/iter (+/- 3)'";

/// Returns a command in a folder.
fn command(machine: &Machine, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = machine.command(arguments);
    command.current_dir(folder).env("GIT_CEILING_DIRECTORIES", machine.widget().parent().unwrap());
    command
}

/// Returns the slug that `tidemark context` shows.
fn shown(machine: &Machine, folder: &Path) -> String {
    let context = report(command(machine, folder, &["context", "--json"]).output().unwrap());
    let table = printed(command(machine, folder, &["context"]).output().unwrap());
    let slug = context["project"].as_str().unwrap();
    assert!(table.contains(&format!("{slug}\n")), "{table}");
    slug.to_owned()
}

/// Returns the slug of the project that a run records.
fn measured(machine: &Machine, folder: &Path) -> String {
    let run = command(machine, folder, &["run", "--quiet", "--json", "--branch", "main", LINE]);
    let report = report({ run }.output().unwrap());
    report["project"]["slug"].as_str().unwrap().to_owned()
}

fn refused(output: &Output, sentence: &str) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(sentence), "{output:?}");
}

#[test]
fn a_repository_is_the_same_project_in_every_command() {
    let machine = Machine::new();
    let root = machine.widget();
    git(&root, &["remote", "add", "origin", "git@example.org:acme/Widget.git"]);
    let below = root.join("crates/core");
    fs::create_dir_all(&below).unwrap();
    let slug = measured(&machine, &root);
    assert!(slug.starts_with("widget-"), "{slug}");
    assert_eq!(
        [measured(&machine, &below), shown(&machine, &root), shown(&machine, &below)],
        [(); 3].map(|()| slug.clone())
    );

    // Another clone, with another protocol and a shallow history.
    let clone = root.parent().unwrap().join("other name");
    let source = format!("file://{}", root.display());
    git(root.parent().unwrap(), &["clone", "--quiet", "--depth", "1", &source, clone.to_str().unwrap()]);
    git(&clone, &["remote", "set-url", "origin", "https://ada@example.org/acme/Widget"]);
    assert_eq!(measured(&machine, &clone), slug);
    let listed = report(command(&machine, &clone, &["report", "list", "--json"]).output().unwrap());
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let changes = report(command(&machine, &below, &["change", "list", "--json"]).output().unwrap());
    assert_eq!(changes, json!([]));
    let viewed = report(command(&machine, &below, &["project", "view", "--json"]).output().unwrap());
    assert_eq!((&viewed["slug"], &viewed["name"]), (&json!(slug), &json!("Widget")));

    // `init` names the same project, which continues if the remote moves.
    printed(command(&machine, &below, &["init", "--yes"]).output().unwrap());
    let file = fs::read_to_string(root.join("tidemark.toml")).unwrap();
    assert!(file.contains(&format!("project = \"{slug}\"\n")), "{file}");
    git(&root, &["remote", "set-url", "origin", "https://example.com/moved.git"]);
    assert_eq!([measured(&machine, &root), shown(&machine, &below)], [slug.clone(), slug]);
}

#[test]
fn a_server_and_this_machine_use_the_same_project() {
    let lab = Lab::open();
    let machine = Machine::new();
    let slug = measured(&machine, &machine.widget());
    let there = |arguments: &[&str]| {
        let mut command = machine.command(arguments);
        command.env("TIDEMARK_HOST", format!("http://{}", lab.server.address));
        command.env("TIDEMARK_API_TOKEN", &lab.token).output().unwrap()
    };
    let missing = there(&["change", "list"]);
    refused(&missing, &format!("Project `{slug}` not found. It is the project of this repository or folder"));
    let pushed = printed(there(&["push", "--quiet"]));
    assert!(pushed.starts_with(&format!("{slug}: 1 of 1 reports sent to ")), "{pushed}");
    let sent = report(there(&["run", "--quiet", "--json", LINE]));
    assert_eq!((&sent["project"]["slug"], &sent["project"]["name"]), (&json!(slug), &json!("widget")));
    assert_eq!(report(there(&["report", "list", "--json"])).as_array().unwrap().len(), 2);

    // A project key has its own project.
    let mut client = Client::connect_as(&lab.server, &lab.token);
    let (status, key) = client.post("/v0/projects/lab/keys", &json!({ "name": "ci" })).unwrap();
    assert_eq!(status, 201, "{key}");
    let by_key = |arguments: &[&str]| {
        let mut command = machine.command(arguments);
        command.env("TIDEMARK_HOST", format!("http://{}", lab.server.address));
        report(command.env("TIDEMARK_API_KEY", key["key"].as_str().unwrap()).output().unwrap())
    };
    assert_eq!(by_key(&["run", "--quiet", "--json", LINE])["project"]["slug"], "lab");
    assert_eq!(by_key(&["project", "view", "--json"])["slug"], "lab");
}

#[test]
fn a_repository_without_a_remote_is_the_project_of_its_clones() {
    let machine = Machine::new();
    let root = machine.widget();
    let home = root.parent().unwrap();
    let slug = shown(&machine, &root);
    git(home, &["clone", "--quiet", root.to_str().unwrap(), "clone"]);
    git(&root, &["worktree", "add", "--quiet", "--detach", "../tree"]);
    let link = home.join("link");
    std::os::unix::fs::symlink(&root, &link).unwrap();
    for folder in ["clone", "tree", "link"] {
        assert_eq!(shown(&machine, &home.join(folder)), slug, "{folder}");
    }
}

#[test]
fn a_folder_without_a_repository_is_a_project() {
    let machine = Machine::new();
    let home = machine.widget().parent().unwrap().to_owned();
    let folder = |path: &str| {
        let folder = home.join(path);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (one, two) = (folder("one/bench"), folder("two/bench"));
    let slugs = [measured(&machine, &one), measured(&machine, &two)];
    assert!(slugs.iter().all(|slug| slug.starts_with("bench-")), "{slugs:?}");
    assert_ne!(slugs[0], slugs[1]);
    assert_eq!(slugs, [measured(&machine, &one), shown(&machine, &two)]);
    // A first commit and a branch do not change the project.
    git(&one, &["init", "--quiet"]);
    assert_eq!(shown(&machine, &one), slugs[0]);
    git(&one, &["commit", "--quiet", "--allow-empty", "--message", "first"]);
    git(&one, &["checkout", "--quiet", "--orphan", "pages"]);
    assert_eq!(shown(&machine, &one), slugs[0]);

    // If git cannot read the repository, its folder is not mistaken for a folder without one.
    let broken = folder("broken");
    fs::write(broken.join(".git"), "gitdir: nowhere").unwrap();
    let path = broken.join("no-git");
    fs::create_dir(&path).unwrap();
    let output = command(&machine, &broken, &["change", "list"]).env("PATH", &path).output().unwrap();
    refused(&output, "git cannot read the repository of this folder");
}

#[test]
fn an_unknown_project_is_refused_before_the_benchmarks_run() {
    let lab = Lab::open();
    let run = |project: &str, arguments: &[&str]| {
        lab.command(arguments).env("TIDEMARK_PROJECT", project).output().unwrap()
    };
    let measuring = ["--quiet", "--branch", "main", "echo ran > ran"];
    refused(
        &run("lba", &measuring),
        "error: Project `lba` not found. Did you mean `lab`? Pass `--create` to create it.\n",
    );
    let flag = lab.run(&[&["--project", "elsewhere"], &measuring[..]].concat());
    refused(&flag, "error: Project `elsewhere` not found. Pass `--create` to create it.\n");
    let uuid = "00000000-0000-4000-8000-000000000000";
    refused(&run(uuid, &measuring), &format!("error: Project `{uuid}` not found.\n"));
    assert!(!lab.work().join("ran").exists());
    let mut anonymous = lab.command(&measuring);
    let anonymous =
        anonymous.env_remove("TIDEMARK_API_TOKEN").env("TIDEMARK_PROJECT", "secret").output().unwrap();
    refused(&anonymous, "If the project is private, run `tidemark login` or set TIDEMARK_API_KEY.");

    let results = latency(1.0);
    let report: Value = serde_json::from_slice(
        &run("elsewhere", &["--json", "--quiet", "--branch", "main", "--create", &results]).stdout,
    )
    .unwrap();
    assert_eq!(report["project"]["slug"], "elsewhere");
    // The flag has no effect on an existing project, so that CI can always pass it.
    for arguments in [&["--create", &results][..], &[&results]] {
        let again = run("elsewhere", &[&["--branch", "main", "--quiet"], arguments].concat());
        assert_eq!(again.status.code(), Some(0), "{again:?}");
    }

    // A name in tidemark.toml is reviewed and the same for all users.
    fs::write(lab.work().join("tidemark.toml"), "project = \"reviewed\"\n").unwrap();
    let mut reviewed = lab.command(&["--json", "--quiet", "--branch", "main", &results]);
    assert_eq!(lab.report(reviewed.env_remove("TIDEMARK_PROJECT"))["project"]["slug"], "reviewed");

    // Resource commands suggest a project, too.
    let mut list = crate::context::in_folder(&lab.work());
    list.env("TIDEMARK_HOST", format!("http://{}", lab.server.address)).env("TIDEMARK_API_TOKEN", &lab.token);
    let list = list.args(["change", "list", "elsewhree"]).output().unwrap();
    refused(&list, "error: Project `elsewhree` not found. Did you mean `elsewhere`?\n");
}
