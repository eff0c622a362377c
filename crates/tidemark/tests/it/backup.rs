//! `tidemark backup` and `tidemark restore`: under load, between engines, and scheduled, to a folder and to S3.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    client::Client,
    process::{Server, create_database, tidemark, wait_until},
    registry::create_bucket,
    report::{PATH, Reports},
};

const KIND: Reports = Reports { shared: 4 };
const CLIENTS: usize = 2;

/// A database and its data folder.
struct Place {
    data: PathBuf,
    database: Option<String>,
}

impl Place {
    fn sqlite(folder: &TempDir, name: &str) -> Self {
        Self { data: folder.path().join(name), database: None }
    }

    fn postgres(folder: &TempDir, name: &str) -> Self {
        Self { database: Some(create_database()), ..Self::sqlite(folder, name) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = tidemark(arguments);
        command.arg("--data-dir").arg(&self.data);
        if let Some(url) = &self.database {
            command.args(["--database", url]);
        }
        command
    }

    fn serve(&self) -> Server {
        let mut server = Server::spawn(&mut self.command(&["serve", "--bind", "127.0.0.1:0"]));
        server.drain();
        server
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn a_backup_under_load_can_be_restored(source: &Place, targets: &[Place]) {
    let server = source.serve();
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", &source.data);
    Reports::found_project(&mut ada);
    let backup = source.data.join("load.archive.zst");
    let clients = (0..CLIENTS).map(|_| Client::connect_as(&server, &ada.token));
    let (before, _) = KIND.send_during(clients, |acknowledged| {
        wait_until("there are ten reports", || acknowledged.lock().unwrap().len() >= 10);
        let before = acknowledged.lock().unwrap().clone();
        source.run(&["backup", backup.to_str().unwrap()]);
        before
    });
    let original = KIND.check(&mut ada);
    for target in targets {
        // Sessions are signed with the secret, which is not in the database.
        fs::create_dir_all(&target.data).unwrap();
        fs::copy(source.data.join("secret"), target.data.join("secret")).unwrap();
        target.run(&["restore", backup.to_str().unwrap()]);
        let server = target.serve();
        let restored = KIND.check(&mut Client::connect_as(&server, &ada.token));
        assert!(
            before.iter().all(|number| restored.contains_key(number)),
            "an acknowledged report is missing"
        );
        for (number, report) in &restored {
            assert_eq!(report["uuid"], original[number]["uuid"]);
            assert_eq!(report["results"], original[number]["results"]);
        }
        // The restored server accepts new data.
        let mut client = Client::connect_as(&server, &ada.token);
        let (status, answer) = client.post(PATH, &KIND.body(1_000_000)).unwrap();
        assert_eq!(status, 201, "{answer}");
        server.signal("TERM");
        server.wait();
        let again = target.command(&["restore", backup.to_str().unwrap()]).output().unwrap();
        assert_eq!(again.status.code(), Some(1), "an existing database is not replaced: {again:?}");
    }
}

#[test]
fn a_backup_of_sqlite_under_load_can_be_restored_on_both_engines() {
    let folder = tempfile::tempdir().unwrap();
    let targets = [Place::sqlite(&folder, "sqlite"), Place::postgres(&folder, "postgres")];
    a_backup_under_load_can_be_restored(&Place::sqlite(&folder, "source"), &targets);
}

#[test]
fn a_backup_of_postgres_under_load_can_be_restored_on_both_engines() {
    let folder = tempfile::tempdir().unwrap();
    let targets = [Place::sqlite(&folder, "sqlite"), Place::postgres(&folder, "postgres")];
    a_backup_under_load_can_be_restored(&Place::postgres(&folder, "source"), &targets);
}

#[test]
fn a_copy_of_a_sqlite_file_can_be_restored_to_postgres() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (Place::sqlite(&folder, "source"), Place::postgres(&folder, "target"));
    let server = source.serve();
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", &source.data);
    Reports::found_project(&mut ada);
    let (status, answer) = ada.post("/v0/server/backup", &json!({ "compression": "gzip" })).unwrap();
    assert_eq!(status, 201, "{answer}");
    let mut files = fs::read_dir(source.data.join("backups")).unwrap();
    let backup = files.next().unwrap().unwrap().path();
    fs::create_dir_all(&target.data).unwrap();
    fs::copy(source.data.join("secret"), target.data.join("secret")).unwrap();
    target.run(&["restore", backup.to_str().unwrap()]);
    let server = target.serve();
    let (status, answer) = Client::connect_as(&server, &ada.token).get("/v0/projects/lab").unwrap();
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn a_project_moves_from_sqlite_to_postgres_while_the_servers_run() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (Place::sqlite(&folder, "source"), Place::postgres(&folder, "target"));
    let (old, new) = (source.serve(), target.serve());
    let mut ada = Client::connect(&old);
    ada.sign_up("Ada", &source.data);
    Reports::found_project(&mut ada);
    let (status, answer) = ada.post(PATH, &KIND.body(0)).unwrap();
    assert_eq!(status, 201, "{answer}");
    let mut eve = Client::connect(&new);
    eve.sign_up("Eve", &target.data);

    let file = folder.path().join("lab.archive");
    let name = file.to_str().unwrap();
    let missing = source.command(&["project", "export", "missing", name]).output().unwrap();
    assert!(missing.status.code() == Some(1) && !file.exists(), "{missing:?}");
    let said = source.run(&["project", "export", "lab", name]);
    assert!(said.starts_with("Exported lab to ") && said.ends_with(" (runs: 1).\n"), "{said}");
    let said = target.run(&["project", "import", name, "--organization", "eve"]);
    assert_eq!(said, "Imported lab into eve (runs: 1).\n");
    let (before, after) = (KIND.check(&mut ada), KIND.check(&mut eve));
    assert_eq!(before[&0]["results"], after[&0]["results"]);
    let (status, answer) = eve.post(PATH, &KIND.body(1)).unwrap();
    assert_eq!(status, 201, "{answer}");
}

/// Starts a server with scheduled backups, and restores the newest one.
fn scheduled_backups_can_be_restored(settings: &str) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tidemark.toml");
    fs::write(&config, format!("[backup]\ninterval_hours = 24\nkeep = 2\n{settings}")).unwrap();
    let config = ["--config", config.to_str().unwrap()];
    let (source, target) = (Place::sqlite(&folder, "source"), Place::postgres(&folder, "target"));
    let mut serve = source.command(&["serve", "--bind", "127.0.0.1:0"]);
    let mut server = Server::spawn(serve.args(config));
    server.drain();
    let run = |place: &Place, arguments: &[&str]| place.run(&[arguments, &config].concat());
    let names = || -> Vec<String> {
        let listed = run(&source, &["backup", "--list"]);
        listed
            .lines()
            .filter_map(|line| line.split(' ').find(|word| word.ends_with(".archive.zst")))
            .map(str::to_owned)
            .collect()
    };
    wait_until("the first start creates a backup", || names().len() == 1);
    let first = names().remove(0);
    let mut ada = Client::connect(&server);
    ada.sign_up("Ada", &source.data);
    run(&source, &["backup"]);
    assert_eq!(names().len(), 2);
    let said = run(&source, &["backup"]);
    assert!(said.contains(&format!("Deleted {first}")), "{said}");
    assert!(names().len() == 2 && !names().contains(&first));

    fs::create_dir_all(&target.data).unwrap();
    fs::copy(source.data.join("secret"), target.data.join("secret")).unwrap();
    run(&target, &["restore", "--stored"]);
    let server = target.serve();
    let (status, answer) = Client::connect_as(&server, &ada.token).get("/v0/users/ada").unwrap();
    assert_eq!(status, 200, "{answer}");
    assert!(!leftovers(&source.data.join("backups")) && !leftovers(&target.data));
}

/// Whether a folder has temporary files.
fn leftovers(folder: &Path) -> bool {
    let Ok(mut files) = fs::read_dir(folder) else { return false };
    files.any(|file| file.unwrap().file_name().to_str().unwrap().starts_with('.'))
}

#[test]
fn scheduled_backups_in_a_folder_can_be_restored() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    // A process was killed while it wrote a backup.
    fs::write(there.join(".killed.partial"), "").unwrap();
    scheduled_backups_can_be_restored(&format!("directory = {there:?}\n"));
    assert!(!leftovers(&there));
    assert_eq!(fs::read_dir(there).unwrap().count(), 2);
}

#[test]
fn scheduled_backups_in_s3_can_be_restored() {
    scheduled_backups_can_be_restored(&format!("[backup.data_store]\n{}", create_bucket()));
}
