//! The commit that a bisection found, as a line of a notification.

use tidemark_api::{Bisection, BisectionStatus};

use crate::{
    format,
    style::{Style, truncate},
};

/// Maximum length of the first line of a commit message and of the name of its author.
const TEXT_MAX: usize = 200;
/// Length of a short commit hash.
const SHORT_HASH: usize = 10;

/// Returns the culprit of a bisection as a line for people; `None` if no commit was found.
pub(crate) fn line(bisection: &Bisection, style: Style) -> Option<String> {
    let result = &bisection.result;
    let culprit = result.culprit.as_ref().filter(|_| result.status == BisectionStatus::Found)?;
    let hash: String = culprit.hash.as_str().chars().take(SHORT_HASH).collect();
    let text = |text: &str| style.escape(&truncate(&format::plain(text), TEXT_MAX));
    let among = match result.candidates.len() {
        0 | 1 => String::new(),
        2 => " or the commit before it".to_owned(),
        count => format!(" or one of the {} commits before it", count - 1),
    };
    // The server does not know the messages of commits.
    let described = match culprit.subject.as_str() {
        "" => String::new(),
        subject => format!(" {}, by {}", text(subject), text(&culprit.author)),
    };
    Some(format!(
        "Culprit: {hash}{described}{among}; probability {}%",
        // Not rounded up to certainty.
        (result.probability * 1_000.0).floor() / 10.0,
    ))
}
