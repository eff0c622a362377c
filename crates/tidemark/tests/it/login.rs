//! `tidemark login`, `logout` and `whoami`: what is stored, for which server, and what takes precedence.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::desk::Desk;

fn piped(command: &mut Command, text: &str) -> Output {
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the file with the keys of a desk.
fn file(desk: &Desk) -> PathBuf {
    let home = desk.folder.path().join("home");
    if cfg!(target_os = "macos") {
        home.join("Library/Application Support/tidemark/credentials.toml")
    } else {
        home.join(".config/tidemark/credentials.toml")
    }
}

#[test]
fn a_key_is_stored_for_its_server_and_deleted() {
    let mut desk = Desk::with_project();
    let key = desk.quietly("user key create ada --name laptop", "/key");
    let login = format!("login --host {}", desk.host());
    let anonymous = printed(&desk.command("whoami").output().unwrap());
    assert_eq!(
        anonymous,
        "Caller  anonymous: there is no credential\nServer  none: results stay on this machine\n"
    );

    // A key that does not work is not stored.
    let wrong = piped(&mut desk.command(&login), &key.replace("svc_user_", "svc_user_0"));
    assert!(said(&wrong, 7).contains("rejected the key or token"), "{wrong:?}");
    let wrong = piped(&mut desk.command(&login), "hunter2 hunter2");
    assert!(said(&wrong, 2).contains("not a key") && !said(&wrong, 2).contains("hunter2"), "{wrong:?}");
    assert!(said(&piped(&mut desk.command(&login), ""), 2).contains("No key was given"));
    assert!(!file(&desk).exists());

    let done = printed(&piped(&mut desk.command(&login), &format!("{key}\n")));
    assert!(
        done.starts_with(&format!("Logged in to {}/ as Ada (ada, administrator).", desk.host())),
        "{done}"
    );
    assert!(!done.contains(&key));
    let kept = fs::metadata(file(&desk)).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(file(&desk).parent().unwrap()).unwrap().count(), 1);

    let who = printed(&desk.command("whoami").output().unwrap());
    let expected = format!(
        "Caller           Ada (ada, administrator)\nCredential from  stored login\nServer           {}/\nServer from      \
         stored login\n",
        desk.host()
    );
    assert_eq!(who, expected);
    let who: Value =
        serde_json::from_str(&printed(&desk.command("whoami --json").output().unwrap())).unwrap();
    assert_eq!((&who["user"]["slug"], &who["credential_by"]), (&"ada".into(), &"stored login".into()));
    assert!(printed(&desk.command("user list").output().unwrap()).contains("ada@example.org"));

    // Flags and variables take precedence, and another server does not get the key.
    let mut command = desk.command("whoami");
    let who = printed(&command.env("TIDEMARK_API_TOKEN", &desk.token).output().unwrap());
    assert!(who.contains("Credential from  environment") && who.contains("Server from      stored"), "{who}");
    let who = printed(&desk.command(&format!("whoami --token {}", desk.token)).output().unwrap());
    assert!(who.contains("Credential from  flag"), "{who}");
    let other = Desk::open();
    let who = printed(&desk.command(&format!("whoami --host {}", other.host())).output().unwrap());
    assert!(who.contains("anonymous") && who.contains("Server from  flag"), "{who}");

    // The key of a project shows its project.
    let of_project = desk.quietly("project key create lab --name ci", "/key");
    let mut command = desk.command("whoami");
    let who = printed(&command.env("TIDEMARK_API_KEY", of_project).output().unwrap());
    assert!(who.contains("the project Lab (lab)"), "{who}");

    let out = printed(&desk.command("logout").output().unwrap());
    assert!(out.starts_with(&format!("Logged out of {}/.", desk.host())), "{out}");
    assert!(!fs::read_to_string(file(&desk)).unwrap().contains(&key));
    assert!(said(&desk.command("logout").output().unwrap(), 1).contains("There is no stored login"));
    // From here on, the command uses the store on this machine, which has no accounts.
    assert!(said(&desk.command("user list").output().unwrap(), 7).contains("No server is named"));

    fs::write(file(&desk), "svc_user_secret").unwrap();
    let broken = said(&desk.command("whoami").output().unwrap(), 1);
    assert!(broken.contains("is not a valid credentials file") && !broken.contains("svc_user"), "{broken}");
}
