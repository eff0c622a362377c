//! A user at a terminal with a server: runs commands, and compares the transcript with a snapshot.

use std::{
    collections::HashMap,
    fmt::Write,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{client::Client, context::in_folder, process::Server};

/// A server with Ada, who administers it, and a terminal.
pub(crate) struct Desk {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
    pub(crate) token: String,
    conversation: String,
}

impl Desk {
    pub(crate) fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut server = Server::start(&data);
        let mut client = Client::connect(&server);
        client.sign_up("Ada", &data);
        server.drain();
        Self { server, folder, token: client.token, conversation: String::new() }
    }

    /// Opens a desk whose Ada has a project.
    pub(crate) fn with_project() -> Self {
        let desk = Self::open();
        let mut client = Client::connect_as(&desk.server, &desk.token);
        let (status, answer) =
            client.post("/v0/organizations/ada/projects", &json!({ "name": "Lab" })).unwrap();
        assert_eq!(status, 201, "{answer}");
        desk
    }

    pub(crate) fn host(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Returns the command with its own home folder and no other variables.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = in_folder(self.folder.path());
        command.env("HOME", self.folder.path().join("home")).stdin(Stdio::null()).args(words(line));
        command
    }

    /// Runs a command, and returns its output.
    pub(crate) fn try_out(&mut self, line: &str) -> Output {
        let mut command = self.command(line);
        command.env("TIDEMARK_HOST", self.host()).env("TIDEMARK_API_TOKEN", &self.token);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (printed, said) = (text(&output.stdout), text(&output.stderr));
        writeln!(self.conversation, "$ tidemark {line}\n{printed}{said}").unwrap();
        if let Some(code @ 1..) = output.status.code() {
            writeln!(self.conversation, "(ends with {code})\n").unwrap();
        }
        output
    }

    /// Runs a command that must succeed, and returns its standard output.
    pub(crate) fn run(&mut self, line: &str) -> String {
        let output = self.try_out(line);
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must succeed, and returns its JSON.
    pub(crate) fn json(&mut self, line: &str) -> Value {
        serde_json::from_str(&self.run(&format!("{line} --json"))).unwrap()
    }

    /// Runs a command and returns a field of its JSON, without adding it to the transcript.
    pub(crate) fn quietly(&mut self, line: &str, pointer: &str) -> String {
        let length = self.conversation.len();
        let answer = self.json(line);
        self.conversation.truncate(length);
        answer.pointer(pointer).unwrap_or_else(|| panic!("{answer}")).as_str().unwrap().to_owned()
    }

    /// Returns the transcript, with values that vary replaced by fixed values of the same length. Filters of `insta` cannot count
    /// UUIDs.
    pub(crate) fn conversation(&self) -> String {
        let mut seen = HashMap::new();
        let text =
            self.conversation.replace(&self.server.address, "localhost:6610").replace(&self.token, "TOKEN");
        let mut redacted = String::new();
        let mut rest = text.as_str();
        while let Some(next) = rest.chars().next() {
            let length = if let Some(uuid) = rest.get(..36).filter(|text| is_like(text, UUID)) {
                let number = seen.len() + 1;
                let number = seen.entry(uuid).or_insert(number);
                write!(redacted, "00000000-0000-4000-8000-{number:012}").unwrap();
                36
            } else if rest.get(..20).is_some_and(|text| is_like(text, "0000-00-00 00:00:00Z")) {
                redacted.push_str("2026-01-31 12:00:00Z");
                20
            } else if rest.get(..24).is_some_and(|text| is_like(text, "0000-00-00T00:00:00.000Z")) {
                redacted.push_str("2026-01-31T12:00:00.000Z");
                24
            } else if let Some((prefix, length)) = KEYS.iter().find(|(prefix, _)| rest.starts_with(prefix)) {
                redacted.push_str(prefix);
                redacted.push_str(&"x".repeat(*length));
                prefix.len() + length
            } else {
                redacted.push(next);
                next.len_utf8()
            };
            rest = &rest[length..];
        }
        redacted
    }
}

/// Prefixes of keys, and the number of characters that follow.
const KEYS: [(&str, usize); 3] = [("svc_user_", 30), ("svc_run_", 30), ("svc_runner_", 34)];
const UUID: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/// Whether a text matches a pattern: a zero matches a digit, `f` a hexadecimal digit, and other characters
/// themselves.
fn is_like(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text.chars().zip(pattern.chars()).all(|(character, wanted)| match wanted {
            '0' => character.is_ascii_digit(),
            'f' => character.is_ascii_hexdigit(),
            wanted => character == wanted,
        })
}

/// Splits a line into words; single quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
