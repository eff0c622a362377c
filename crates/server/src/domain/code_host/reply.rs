//! Texts of the answers to commands. Names are escaped, so that they cannot create markup or mentions.

use tidemark_api::{EventUuid, OnDemand, Url};
use tidemark_render::{
    format,
    markup::{self, Block, Dialect, Span},
};

use super::pull_request::{FILE, PullRequest};

/// Number of characters of a shortened hash.
const SHORT_HASH: usize = 10;

fn write(paragraphs: Vec<Vec<Span>>) -> String {
    markup::write(&paragraphs.into_iter().map(Block::Paragraph).collect::<Vec<_>>(), Dialect::Folding)
}

fn name(text: &str) -> Span {
    Span::name(format::plain(text))
}

fn short(hash: &str) -> Span {
    Span::name(hash.chars().take(SHORT_HASH).collect::<String>())
}

/// Answer to an author without write access.
pub(super) fn forbidden(author: &str) -> String {
    write(vec![vec![
        name(author),
        Span::text(" cannot run commands: they require write access to this repository."),
    ]])
}

/// Answer if the host does not say whether the author has write access.
pub(super) fn permission_unknown(reason: &str) -> String {
    write(vec![vec![
        Span::text("Tidemark ran no command, because it could not read the permission of the author: "),
        Span::text(format::plain(reason)),
        Span::text(". The token of the connection requires access to the collaborators of the repository."),
    ]])
}

/// Answer if the host rejects the requests for the pull request or the file.
pub(super) fn unreadable(reason: &str) -> String {
    write(vec![vec![
        Span::text("Tidemark could not read the pull request or the base branch: "),
        Span::text(format::plain(reason)),
        Span::text(". Check the permissions of the token of the connection."),
    ]])
}

/// Answer if the server searches for the commit of an event, or the reason why it does not.
pub(super) fn searching(event: EventUuid, reason: Option<&str>) -> String {
    let event = Span::name(event.to_string());
    write(vec![match reason {
        Some(reason) => vec![
            Span::text("Tidemark cannot search for the commit of the event "),
            event,
            Span::text(": "),
            Span::text(format::plain(reason)),
        ],
        None => vec![
            Span::text("Tidemark searches for the commit of the event "),
            event,
            Span::text(" with jobs. The page of the event shows the result."),
        ],
    }])
}

/// Answer if a command failed after all attempts.
pub(super) fn failed(reason: &str) -> String {
    write(vec![vec![
        Span::text("Tidemark could not run the command: "),
        Span::text(format::plain(reason)),
        Span::text(". Write the command in a new comment to try again."),
    ]])
}

/// Answer on a merged or closed pull request.
pub(super) fn closed() -> String {
    write(vec![vec![Span::text("Tidemark runs commands only on open pull requests.")]])
}

/// Answer if the base branch does not define the job.
pub(super) fn undefined(base: &str, reason: Option<&str>) -> String {
    let reason = match reason {
        Some(reason) => vec![Span::text(" cannot be used: "), Span::text(format::plain(reason))],
        None => vec![Span::text(" does not exist")],
    };
    let start = vec![Span::name(FILE), Span::text(" of the branch "), name(base)];
    let end = Span::text(
        ". The base branch defines what commands run; the file of the pull request has no effect. See \
         docs/on-demand.md.",
    );
    write(vec![start.into_iter().chain(reason).chain([end]).collect()])
}

/// Answer if the comment names benchmarks and the base branch defines no filter.
pub(super) fn no_filter(base: &str) -> String {
    write(vec![vec![
        Span::text("The command cannot be restricted to benchmarks: add "),
        Span::name("filter"),
        Span::text(" to "),
        Span::name("[on_demand]"),
        Span::text(" in "),
        Span::name(FILE),
        Span::text(" of the branch "),
        name(base),
        Span::text("."),
    ]])
}

/// Answer if the registry has no image of the commit.
pub(super) fn missing_image(image: &str, registry: &Url) -> String {
    let host = registry.as_str().split("://").nth(1).unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    let reference =
        if image.starts_with(&format!("{host}/")) { image.to_owned() } else { format!("{host}/{image}") };
    write(vec![
        vec![
            Span::text("The registry has no image "),
            name(image),
            Span::text(". Build and push it in CI or on your machine, then repeat the command:"),
        ],
        vec![name(&format!("docker build -t {reference} . && docker push {reference}"))],
    ])
}

/// Answer while the job waits and runs. The callback of the job replaces it.
pub(super) fn queued(author: &str, pull: &PullRequest, image: &str, benchmarks: Option<&str>) -> String {
    let mut spans = vec![
        Span::text("⏳ "),
        name(author),
        Span::text(" requested a run of "),
        benchmarks.map_or_else(|| Span::text("all benchmarks"), name),
        Span::text(" at "),
        short(&pull.head),
    ];
    if let Some(base) = &pull.merge_base {
        spans.extend([
            Span::text(" (branched from "),
            name(&pull.base),
            Span::text(" at "),
            short(base),
            Span::text(")"),
        ]);
    }
    spans.extend([
        Span::text(" with the image "),
        name(image),
        Span::text(". The result replaces this comment."),
    ]);
    write(vec![spans])
}

/// Answer if the server rejected the job.
pub(super) fn rejected(reason: &str) -> String {
    write(vec![vec![Span::text("The job was not created: "), Span::text(format::plain(reason))]])
}

/// Answer to `/tidemark bisect`: the command that finds the commit.
pub(super) fn bisect(pull: &PullRequest, settings: &OnDemand, benchmark: Option<&str>) -> String {
    let Some(base) = &pull.merge_base else {
        return write(vec![vec![
            Span::text("The code host does not name the commit at which the pull request branched from "),
            name(&pull.base),
            Span::text(", so that there is no range to search."),
        ]]);
    };
    let mut words =
        vec!["tidemark bisect --good".to_owned(), base.clone(), "--bad".to_owned(), pull.head.clone()];
    if let Some(benchmark) = benchmark {
        words.extend(["--benchmark".to_owned(), quote(benchmark)]);
    }
    words.push("--jobs".to_owned());
    let command: Vec<String> = settings.command.iter().flatten().map(|word| quote(word)).collect();
    if !command.is_empty() {
        words.push(quote(&command.join(" ")));
    }
    write(vec![
        vec![
            Span::text("To find the commit of this pull request that changed the performance, between "),
            short(base),
            Span::text(" and "),
            short(&pull.head),
            Span::text(
                ", run this command in a clone of the repository. It measures the images of the commits on runners:",
            ),
        ],
        vec![name(&words.join(" "))],
    ])
}

/// Quotes a word for a POSIX shell.
fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:=+,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        assert_eq!(quote("--bench=x/y.z"), "--bench=x/y.z");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's; $x"), r"'it'\''s; $x'");
    }
}
