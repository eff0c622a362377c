//! Documents as HTML and as Markdown. This module escapes names, so that a name cannot create markup, a link or a mention. Other
//! modules decide the content.

use std::fmt::Write;

/// Markup language of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// HTML without head and body.
    Html,
    /// Markdown with tables, without other extensions.
    Markdown,
    /// Markdown of GitHub and GitLab, with collapsible sections.
    Folding,
}

/// A block of a document.
pub enum Block {
    /// A heading.
    Heading(Vec<Span>),
    /// A paragraph.
    Paragraph(Vec<Span>),
    /// A table.
    Table {
        /// Titles and alignment of the columns.
        titles: Vec<(&'static str, Align)>,
        /// Rows, with one text per column.
        rows: Vec<Vec<Span>>,
    },
    /// A collapsed section.
    Fold {
        /// Title of the section.
        summary: String,
        /// Content of the section.
        table: Box<Block>,
    },
}

/// Alignment of a column.
#[derive(Clone, Copy)]
pub enum Align {
    /// Left, for texts.
    Left,
    /// Right, for numbers.
    Right,
}

/// A piece of text.
pub struct Span {
    text: String,
    style: Style,
    link: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Strong,
    Name,
}

impl Span {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: Style::Plain, link: None }
    }

    /// Emphasized text.
    pub fn strong(text: impl Into<String>) -> Self {
        Self { style: Style::Strong, ..Self::text(text) }
    }

    /// A name that a user chose.
    pub fn name(text: impl Into<String>) -> Self {
        Self { style: Style::Name, ..Self::text(text) }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a link, if there is one.
    pub fn with_link(self, link: Option<String>) -> Self {
        Self { link, ..self }
    }

    fn write(&self, dialect: Dialect, in_table: bool, text: &mut String) {
        if self.text.is_empty() {
            return;
        }
        let piece = match (dialect, self.style) {
            (Dialect::Html, Style::Plain) => escape_html(&self.text),
            (Dialect::Html, Style::Strong) => format!("<strong>{}</strong>", escape_html(&self.text)),
            (Dialect::Html, Style::Name) => format!("<code>{}</code>", escape_html(&self.text)),
            (_, Style::Plain) => escape_markdown(&self.text),
            (_, Style::Strong) => format!("**{}**", escape_markdown(&self.text)),
            (_, Style::Name) => code(&self.text, in_table),
        };
        match (&self.link, dialect) {
            (None, _) => text.push_str(&piece),
            (Some(link), Dialect::Html) => {
                let _ = write!(text, "<a href=\"{}\">{piece}</a>", escape_html(&escape_url(link)));
            }
            (Some(link), _) => {
                let _ = write!(text, "[{piece}]({})", escape_url(link));
            }
        }
    }
}

/// Writes a document.
pub fn write(blocks: &[Block], dialect: Dialect) -> String {
    let mut text = String::new();
    for block in blocks {
        if !text.is_empty() {
            text.push('\n');
        }
        block.write(dialect, &mut text);
    }
    text
}

impl Block {
    fn write(&self, dialect: Dialect, text: &mut String) {
        match (self, dialect) {
            (Self::Heading(spans), Dialect::Html) => wrap("h2", spans, text),
            (Self::Paragraph(spans), Dialect::Html) => wrap("p", spans, text),
            (Self::Heading(spans), _) => {
                text.push_str("## ");
                line(spans, text);
            }
            (Self::Paragraph(spans), _) => line(spans, text),
            (Self::Table { titles, rows }, Dialect::Html) => html_table(titles, rows, text),
            (Self::Table { titles, rows }, _) => markdown_table(titles, rows, text),
            (Self::Fold { summary, table }, Dialect::Markdown) => {
                let _ = write!(text, "### {}\n\n", escape_markdown(summary));
                table.write(dialect, text);
            }
            (Self::Fold { summary, table }, _) => {
                let gap = if dialect == Dialect::Html { "" } else { "\n" };
                let _ = write!(text, "<details><summary>{}</summary>\n{gap}", escape_html(summary));
                table.write(dialect, text);
                let _ = writeln!(text, "{gap}</details>");
            }
        }
    }
}

fn wrap(tag: &str, spans: &[Span], text: &mut String) {
    let _ = write!(text, "<{tag}>");
    for span in spans {
        span.write(Dialect::Html, false, text);
    }
    let _ = writeln!(text, "</{tag}>");
}

fn line(spans: &[Span], text: &mut String) {
    for span in spans {
        span.write(Dialect::Folding, false, text);
    }
    text.push('\n');
}

fn html_table(titles: &[(&str, Align)], rows: &[Vec<Span>], text: &mut String) {
    text.push_str("<table>\n<thead><tr>");
    for (title, _) in titles {
        let _ = write!(text, "<th>{}</th>", escape_html(title));
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        text.push_str("<tr>");
        for (span, (_, align)) in row.iter().zip(titles) {
            text.push_str(match align {
                Align::Left => "<td>",
                Align::Right => "<td align=\"right\">",
            });
            span.write(Dialect::Html, true, text);
            text.push_str("</td>");
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n");
}

fn markdown_table(titles: &[(&str, Align)], rows: &[Vec<Span>], text: &mut String) {
    text.push('|');
    for (title, _) in titles {
        let _ = write!(text, " {} |", escape_markdown(title));
    }
    text.push_str("\n|");
    for (_, align) in titles {
        text.push_str(match align {
            Align::Left => " :-- |",
            Align::Right => " --: |",
        });
    }
    text.push('\n');
    for row in rows {
        text.push('|');
        for span in row {
            text.push(' ');
            span.write(Dialect::Folding, true, text);
            text.push_str(" |");
        }
        text.push('\n');
    }
}

/// Escapes a text for HTML.
pub fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Escapes a text for Markdown.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut last = ' ';
    for character in text.chars() {
        let has_meaning = "\\`*_{}[]<>()#!|~&$^:".contains(character);
        // `www.` alone creates a link.
        if has_meaning || (character == '.' && matches!(last, 'w' | 'W')) {
            escaped.push('\\');
        }
        escaped.push(character);
        // Hosts detect mentions after they resolve escapes; an invisible character separates the sign from the name.
        if character == '@' {
            escaped.push('\u{2060}');
        }
        last = character;
    }
    escaped
}

/// Returns a name as Markdown code, where only the closing backtick has a meaning.
fn code(text: &str, in_table: bool) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let needs_room = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let room = if needs_room { " " } else { "" };
    let text = match in_table {
        // A backslash before a bar could be parsed as an escaped backslash, and the bar as the end of the cell.
        true if text.contains('\\') => text.replace('|', "¦"),
        true => text.replace('|', "\\|"),
        false => text.to_owned(),
    };
    format!("{fence}{room}{text}{room}{fence}")
}

/// Returns a URL that cannot end its Markdown link.
fn escape_url(link: &str) -> String {
    // Written by hand: a set of `percent_encoding` is longer, and it also encodes every non-ASCII character.
    let mut safe = String::with_capacity(link.len());
    for character in link.chars() {
        match character {
            '(' | ')' | '<' | '>' | '"' | '\'' | '\\' | '|' | '`' | ' ' | '[' | ']' => {
                let _ = write!(safe, "%{:02X}", u32::from(character));
            }
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        for (name, alone, in_table) in [
            ("sort", "`sort`", "`sort`"),
            ("a|b", "`a|b`", "`a\\|b`"),
            ("a\\|b", "`a\\|b`", "`a\\¦b`"),
            ("`x`", "`` `x` ``", "`` `x` ``"),
            ("a``b", "```a``b```", "```a``b```"),
            ("@ada <b>", "`@ada <b>`", "`@ada <b>`"),
        ] {
            assert_eq!((code(name, false).as_str(), code(name, true).as_str()), (alone, in_table), "{name}");
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape_markdown("4.1 µs"), "4.1 µs");
        assert_eq!(
            escape_markdown("[x](http://y) www.z @ada"),
            "\\[x\\]\\(http\\://y\\) www\\.z @\u{2060}ada"
        );
        assert_eq!(escape_html("<b a='1'>&"), "&lt;b a=&#39;1&#39;&gt;&amp;");
        assert_eq!(escape_url("http://x/a(b)|c"), "http://x/a%28b%29%7Cc");
    }
}
