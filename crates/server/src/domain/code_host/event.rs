//! Events of the webhooks of code hosts: verifies their signature, and reads the command of a new comment on a pull request.

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tidemark_api::{CodeHostProvider, CodeHostRepository};
use tidemark_store::code_host::CommandRow;

/// First word of a comment with a command.
const PREFIX: &str = "/tidemark";
/// Command that starts a job.
pub(crate) const RUN: &str = "run";
/// Command that requests a bisection.
pub(crate) const BISECT: &str = "bisect";
/// Maximum length of the benchmarks of a command, in bytes.
const BENCHMARK_MAX: usize = 255;
/// Maximum length of the name of an author, in bytes.
const AUTHOR_MAX: usize = 255;

/// Whether the secret of the webhook signed an event. GitLab sends the secret itself. The comparison takes constant time.
pub(crate) fn is_signed(provider: CodeHostProvider, secret: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
    let digest = |text: &[u8]| mac.clone().chain_update(text);
    match provider {
        // The digests of both have the same length, so that the comparison does not reveal the length of the secret.
        CodeHostProvider::GitLab => header("x-gitlab-token").is_some_and(|given| {
            digest(given.as_bytes()).verify_slice(&digest(secret.as_bytes()).finalize().into_bytes()).is_ok()
        }),
        CodeHostProvider::GitHub | CodeHostProvider::Forgejo => {
            let hub = header("x-hub-signature-256").and_then(|value| value.strip_prefix("sha256="));
            let signature = hub.or_else(|| {
                header("x-forgejo-signature")
                    .or_else(|| header("x-gitea-signature"))
                    .filter(|_| provider == CodeHostProvider::Forgejo)
            });
            let signature = signature.and_then(|signature| hex::decode(signature).ok());
            signature.is_some_and(|signature| digest(body).verify_slice(&signature).is_ok())
        }
    }
}

/// Returns the command of an event, or the reason to ignore the event.
pub(crate) fn read(
    provider: CodeHostProvider,
    repository: &CodeHostRepository,
    headers: &HeaderMap,
    event: &Value,
) -> Result<CommandRow, &'static str> {
    let fields = match provider {
        CodeHostProvider::GitLab => Fields::of_gitlab(headers, event),
        CodeHostProvider::GitHub | CodeHostProvider::Forgejo => Fields::of_github(provider, headers, event),
    }?;
    if !fields.repository.eq_ignore_ascii_case(repository.as_str()) {
        return Err("The event is about another repository.");
    }
    let (command, benchmark) = parse(fields.text)?;
    let is_name = !fields.author.is_empty() && fields.author.len() <= AUTHOR_MAX;
    match (fields.comment, fields.pull, fields.author_id) {
        (Some(comment), Some(pull), Some(author_id)) if is_name => Ok(CommandRow {
            comment,
            pull,
            author: fields.author.to_owned(),
            author_id,
            command: command.to_owned(),
            benchmark: benchmark.map(str::to_owned),
        }),
        _ => Err("The event does not name the comment, the pull request and the author."),
    }
}

/// Fields of a new comment.
struct Fields<'a> {
    repository: &'a str,
    text: &'a str,
    comment: Option<i64>,
    pull: Option<i64>,
    author: &'a str,
    author_id: Option<i64>,
}

const OTHER_EVENT: &str = "The event is not a new comment on a pull request.";

impl<'a> Fields<'a> {
    /// Reads an event of GitHub, Forgejo or Gitea.
    fn of_github(
        provider: CodeHostProvider,
        headers: &HeaderMap,
        event: &'a Value,
    ) -> Result<Self, &'static str> {
        let names: &[&str] = match provider {
            CodeHostProvider::Forgejo => &["x-forgejo-event", "x-gitea-event"],
            _ => &["x-github-event"],
        };
        let name = names.iter().find_map(|name| headers.get(*name)?.to_str().ok()).unwrap_or_default();
        let is_pull = event["is_pull"] == true || event["issue"]["pull_request"].is_object();
        let is_comment = matches!(name, "issue_comment" | "pull_request_comment");
        if !is_comment || event["action"] != "created" || !is_pull {
            return Err(OTHER_EVENT);
        }
        Ok(Self {
            repository: text(event, "/repository/full_name"),
            text: text(event, "/comment/body"),
            comment: event["comment"]["id"].as_i64(),
            pull: event["issue"]["number"].as_i64(),
            author: text(event, "/comment/user/login"),
            author_id: event["comment"]["user"]["id"].as_i64(),
        })
    }

    fn of_gitlab(headers: &HeaderMap, event: &'a Value) -> Result<Self, &'static str> {
        let note = &event["object_attributes"];
        let is_note = headers.get("x-gitlab-event").is_some_and(|name| name == "Note Hook");
        // GitLab before 16 sends no action, and sends no events of edited notes.
        let is_new = note["action"].is_null() || note["action"] == "create";
        if !is_note || !is_new || note["noteable_type"] != "MergeRequest" || note["system"] == true {
            return Err(OTHER_EVENT);
        }
        Ok(Self {
            repository: text(event, "/project/path_with_namespace"),
            text: text(note, "/note"),
            comment: note["id"].as_i64(),
            pull: event["merge_request"]["iid"].as_i64(),
            author: text(event, "/user/username"),
            author_id: note["author_id"].as_i64(),
        })
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Parses the first line of a comment.
fn parse(comment: &str) -> Result<(&'static str, Option<&str>), &'static str> {
    let mut words = comment.lines().next().unwrap_or_default().trim_end().splitn(3, ' ');
    let (prefix, name, rest) = (words.next(), words.next(), words.next());
    if prefix != Some(PREFIX) {
        return Err("The first line of the comment is not a command.");
    }
    let command = match name {
        Some(RUN) => RUN,
        Some(BISECT) => BISECT,
        _ => return Err("The commands are `/tidemark run` and `/tidemark bisect`."),
    };
    let benchmark = rest.map(str::trim).filter(|benchmark| !benchmark.is_empty());
    // A word that starts with a hyphen could be a flag of the benchmark tool.
    let is_wrong =
        |name: &str| name.len() > BENCHMARK_MAX || name.starts_with('-') || name.contains(char::is_control);
    if benchmark.is_some_and(is_wrong) {
        return Err(
            "The benchmark is longer than 255 bytes, starts with `-`, or contains control characters.",
        );
    }
    Ok((command, benchmark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_is_a_command() {
        assert_eq!(parse("/tidemark run"), Ok(("run", None)));
        assert_eq!(parse("/tidemark run  \r\nplease"), Ok(("run", None)));
        assert_eq!(parse("/tidemark run parse json\nx"), Ok(("run", Some("parse json"))));
        assert_eq!(parse("/tidemark bisect parser::json"), Ok(("bisect", Some("parser::json"))));
        for other in [
            "",
            "please\n/tidemark run",
            " /tidemark run",
            "/tidemark",
            "/tidemarks run",
            "/tidemark runs",
            "/tidemark  run",
            "/Tidemark run",
            "/tidemark run --exec",
            "/tidemark run a\u{1b}b",
            "> /tidemark run",
        ] {
            assert!(parse(other).is_err(), "{other}");
        }
        assert!(parse(&format!("/tidemark run {}", "x".repeat(256))).is_err());
    }

    #[test]
    fn signatures() {
        use CodeHostProvider::{Forgejo, GitHub, GitLab};
        // printf hello | openssl dgst -sha256 -hmac s3cret
        let digest = hex::encode(
            Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap().chain_update(b"hello").finalize().into_bytes(),
        );
        let signed = |provider, name: &'static str, value: &str, body: &[u8]| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            is_signed(provider, "s3cret", &headers, body)
        };
        let prefixed = format!("sha256={digest}");
        assert!(signed(GitHub, "x-hub-signature-256", &prefixed, b"hello"));
        assert!(signed(Forgejo, "x-hub-signature-256", &prefixed, b"hello"));
        assert!(signed(Forgejo, "x-gitea-signature", &digest, b"hello"));
        assert!(signed(GitLab, "x-gitlab-token", "s3cret", b"hello"));
        assert!(!signed(GitHub, "x-hub-signature-256", &prefixed, b"hellp"));
        assert!(!signed(GitHub, "x-hub-signature-256", &digest, b"hello"));
        assert!(!signed(GitHub, "x-gitea-signature", &digest, b"hello"));
        assert!(!signed(GitHub, "x-gitlab-token", "s3cret", b"hello"));
        assert!(!signed(GitHub, "x-hub-signature-256", &prefixed[..prefixed.len() - 2], b"hello"));
        assert!(!signed(GitLab, "x-gitlab-token", "s3cres", b"hello"));
        assert!(!signed(GitLab, "x-gitlab-token", "", b"hello"));
        assert!(!is_signed(GitHub, "s3cret", &HeaderMap::new(), b"hello"));
    }
}
