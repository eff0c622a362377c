//! Many concurrent clients and a server that is killed: acknowledged changes exist afterwards.

use std::{collections::BTreeSet, fs, path::Path, sync::Mutex, thread};

use serde_json::json;

use crate::{
    client::Client,
    process::{Server, create_database, tidemark, wait_until},
};

const CLIENTS: usize = 64;
/// Number of acknowledged changes before the server is killed.
const CHANGES: usize = 400;
/// All clients share one address, and one of them creates all organizations.
const SETTINGS: &str = "
    [plus.rate_limiting.public]
    attempts = {}
    [plus.rate_limiting.user]
    attempts = {}
    organizations = {}
    requests = {}
";

#[test]
fn nothing_acknowledged_is_lost_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    storm(folder.path(), None);
    tidemark_store::restore::check(&folder.path().join("tidemark.db")).unwrap();
}

#[test]
fn nothing_acknowledged_is_lost_on_postgres() {
    let folder = tempfile::tempdir().unwrap();
    storm(folder.path(), Some(&create_database()));
}

fn storm(data: &Path, database: Option<&str>) {
    let settings = data.join("tidemark.toml");
    fs::write(&settings, SETTINGS).unwrap();
    let start = || {
        let mut command = tidemark(&["serve", "--bind", "127.0.0.1:0", "--data-dir"]);
        command.arg(data).arg("--config").arg(&settings);
        if let Some(database) = database {
            command.args(["--database", database]);
        }
        let mut server = Server::spawn(&mut command);
        server.drain();
        server
    };
    let server = start();
    let mut admin = Client::connect(&server);
    admin.sign_up("Ada", data);
    let token = admin.token.clone();

    let acknowledged = Acknowledged::default();
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = Client::connect(&server);
            client.token.clone_from(&token);
            let acknowledged = &acknowledged;
            scope.spawn(move || write_until_the_end(client, number, acknowledged));
        }
        wait_until("there are too few changes", || acknowledged.count() >= CHANGES);
        server.signal("KILL");
        server.wait();
    });

    let server = start();
    let mut admin = Client::connect(&server);
    admin.token = token;
    let users = all(&mut admin, "/v0/users?", "email");
    let organizations = all(&mut admin, "/v0/organizations?all=true&", "name");
    let Acknowledged { emails, names } = &acknowledged;
    for email in emails.lock().unwrap().iter() {
        assert!(users.contains(email), "{email} signed up and is gone");
        let (name, _) = email.split_once('@').unwrap();
        assert!(organizations.contains(&name.replace('.', " ")), "{email} has lost an organization");
    }
    for name in names.lock().unwrap().iter() {
        assert!(organizations.contains(name), "{name} was created and is gone");
    }
    // Unacknowledged changes may exist as well, but complete: one organization per user, including the administrator.
    let founded = organizations.iter().filter(|name| name.starts_with("Storm")).count();
    assert_eq!(users.len() + founded, organizations.len());
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
}

/// The changes that the server acknowledged.
#[derive(Default)]
struct Acknowledged {
    emails: Mutex<Vec<String>>,
    names: Mutex<Vec<String>>,
}

impl Acknowledged {
    fn count(&self) -> usize {
        self.emails.lock().unwrap().len() + self.names.lock().unwrap().len()
    }
}

fn write_until_the_end(mut client: Client, number: usize, acknowledged: &Acknowledged) {
    for count in 0.. {
        let email = format!("person.{number}.{count}@example.org");
        let signup = json!({ "name": format!("person {number} {count}"), "email": email, "i_agree": true });
        let Ok((status, answer)) = client.post_with_retries("/v0/auth/signup", &signup) else { return };
        assert_eq!(status, 202, "{answer}");
        acknowledged.emails.lock().unwrap().push(email);

        let name = format!("Storm {number} {count}");
        let organization = json!({ "name": name });
        let Ok((status, answer)) = client.post_with_retries("/v0/organizations", &organization) else {
            return;
        };
        assert_eq!(status, 201, "{answer}");
        acknowledged.names.lock().unwrap().push(name);
    }
}

/// Returns one field of every item in a list.
fn all(client: &mut Client, path: &str, field: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for page in 1.. {
        let (status, list) = client.get(&format!("{path}per_page=255&page={page}")).unwrap();
        assert_eq!(status, 200, "{list}");
        let list = list.as_array().unwrap();
        if list.is_empty() {
            break;
        }
        for item in list {
            assert!(found.insert(item[field].as_str().unwrap().to_owned()), "{item} is there twice");
        }
    }
    found
}
