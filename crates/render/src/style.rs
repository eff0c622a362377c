//! Texts of notifications for each kind of chat: names without mentions, and texts without markup.

use crate::format;

/// Maximum length of a name in a line.
const NAME_MAX: usize = 200;

/// Markup of a text for people.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Slack,
    Markdown,
}

/// Cuts a text to at most this many characters.
pub(crate) fn truncate(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(limit - 1).collect();
    cut.push('…');
    cut
}

impl Style {
    /// Returns a name without mentions and markup, because users choose names.
    pub(crate) fn name(self, name: &str) -> String {
        let name = truncate(&format::plain(name), NAME_MAX);
        match self {
            Self::Plain => name,
            // In code, only the closing backtick has a meaning.
            Self::Slack | Self::Markdown => format!("`{}`", self.escape_controls(&name.replace('`', "'"))),
        }
    }

    /// Escapes a text so that it contains no markup.
    pub(crate) fn escape(self, text: &str) -> String {
        match self {
            Self::Markdown => {
                let mut escaped = String::with_capacity(text.len());
                for character in text.chars() {
                    if "\\`*_{}[]()#~|>".contains(character) {
                        escaped.push('\\');
                    }
                    escaped.push(character);
                    // Prevents a mention of the name after the sign.
                    if character == '@' {
                        escaped.push('\u{200b}');
                    }
                }
                escaped
            }
            Self::Plain | Self::Slack => self.escape_controls(text),
        }
    }

    /// Escapes the three characters that have a meaning in Slack, also in code.
    fn escape_controls(self, text: &str) -> String {
        match self {
            Self::Slack => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
            Self::Plain | Self::Markdown => text.to_owned(),
        }
    }
}
