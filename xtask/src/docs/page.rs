//! One page of the manual: Markdown to HTML, with its headings, links and the texts for the search.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Repository, for links to files that are not part of the manual.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/v", env!("CARGO_PKG_VERSION"));

/// A Markdown file.
pub(crate) struct Page {
    /// Path in the repository, for example `docs/cli.md`.
    pub(crate) path: String,
    /// Text of the first heading.
    pub(crate) title: String,
    /// Headings in order.
    pub(crate) headings: Vec<Heading>,
    /// Targets of links and images.
    pub(crate) links: Vec<Link>,
    /// Code blocks.
    pub(crate) blocks: Vec<Block>,
    /// Content as HTML.
    pub(crate) html: String,
}

/// A heading and the text up to the next heading.
pub(crate) struct Heading {
    /// Level, from 1.
    pub(crate) level: u8,
    /// Fragment, as code hosts derive it from the text.
    pub(crate) id: String,
    /// Text of the heading without markup.
    pub(crate) text: String,
    /// Text below the heading without markup.
    pub(crate) body: String,
}

/// A link or an image.
pub(crate) struct Link {
    /// Target as written.
    pub(crate) target: String,
    /// Line in the file, from 1.
    pub(crate) line: usize,
}

/// A code block.
pub(crate) struct Block {
    /// Language of the block, empty if there is none.
    pub(crate) language: String,
    /// Content.
    pub(crate) text: String,
}

impl Page {
    /// Parses a file. `is_page` tells whether a path in the repository is a page of the manual.
    pub(crate) fn parse(path: &str, markdown: &str, is_page: &dyn Fn(&str) -> bool) -> Self {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_GFM
            | Options::ENABLE_FOOTNOTES;
        let mut reader = Reader {
            page: Self {
                path: path.to_owned(),
                title: String::new(),
                headings: Vec::new(),
                links: Vec::new(),
                blocks: Vec::new(),
                html: String::new(),
            },
            markdown,
            is_page,
            ids: BTreeMap::new(),
            events: Vec::new(),
            heading: None,
            in_block: false,
        };
        for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
            reader.read(event, range.start);
        }
        let Reader { mut page, events, .. } = reader;
        html::push_html(&mut page.html, events.into_iter());
        // The content security policy forbids inline styles; a scrollable element must be reachable with the keyboard.
        page.html = page
            .html
            .replace(" style=\"text-align: right\"", " class=\"right\"")
            .replace(" style=\"text-align: center\"", " class=\"center\"")
            .replace(" style=\"text-align: left\"", "")
            .replace("<pre><code", "<pre tabindex=\"0\"><code");
        page
    }

    /// Returns a message for each skipped level of headings and for each empty table header: screen readers announce both.
    pub(crate) fn accessibility_problems(&self) -> Vec<String> {
        let skipped = self.headings.windows(2).filter(|pair| pair[1].level > pair[0].level + 1).map(|pair| {
            let Heading { level, text, .. } = &pair[1];
            format!("{}: `{text}` has level {level} below level {}", self.path, pair[0].level)
        });
        let cells = self.html.split("<th").skip(1).filter_map(|rest| rest.split_once('>'));
        let empty = cells.filter(|(_, rest)| rest.starts_with("</th>"));
        let empty = empty.map(|_| format!("{}: a table has an empty column header", self.path));
        skipped.chain(empty).collect()
    }

    /// Returns the path of the built page below the folder of the manual: `cli.html`.
    pub(crate) fn output(&self) -> String {
        output(&self.path)
    }

    /// Returns the path from this page to the folder of the manual: empty, or `../` per folder.
    pub(crate) fn up(&self) -> String {
        "../".repeat(self.output().matches('/').count())
    }
}

/// Parses a page event by event.
struct Reader<'a> {
    page: Page,
    markdown: &'a str,
    is_page: &'a dyn Fn(&str) -> bool,
    ids: BTreeMap<String, usize>,
    events: Vec<Event<'a>>,
    /// Position of the start of the open heading in `events`, and its text.
    heading: Option<(usize, String)>,
    in_block: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self, event: Event<'a>, start: usize) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                self.heading = Some((self.events.len(), String::new()));
                self.events.push(event);
            }
            Event::End(TagEnd::Heading(level)) => self.end_heading(level as u8, event),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = self.link(&dest_url, start);
                self.events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = self.link(&dest_url, start);
                self.events.push(Event::Start(Tag::Image { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Table(_)) => {
                self.events.push(Event::Html("<div class=\"table\" tabindex=\"0\">".into()));
                self.events.push(event);
            }
            Event::End(TagEnd::Table) => {
                self.events.push(event);
                self.events.push(Event::Html("</div>\n".into()));
            }
            Event::Start(Tag::CodeBlock(ref kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.page.blocks.push(Block { language: language.to_owned(), text: String::new() });
                self.in_block = true;
                self.events.push(event);
            }
            Event::End(TagEnd::CodeBlock) => {
                self.in_block = false;
                self.events.push(event);
            }
            Event::Html(ref text) | Event::InlineHtml(ref text) => {
                let line = self.line(start);
                let targets: Vec<_> = ["src=\"", "srcset=\"", "href=\""]
                    .iter()
                    .flat_map(|name| text.split(name).skip(1))
                    .filter_map(|rest| rest.split('"').next())
                    .map(|target| Link { target: target.to_owned(), line })
                    .collect();
                self.page.links.extend(targets);
                self.events.push(event);
            }
            Event::Text(ref text) | Event::Code(ref text) => {
                let text = text.to_string();
                self.text(&text);
                self.events.push(event);
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                // Separates the words of neighboring cells and paragraphs in the search index.
                if self.heading.is_none() {
                    self.text(" ");
                }
                self.events.push(event);
            }
            _ => self.events.push(event),
        }
    }

    /// Returns the line of a position, from 1.
    fn line(&self, start: usize) -> usize {
        self.markdown[..start].matches('\n').count() + 1
    }

    fn text(&mut self, text: &str) {
        if self.in_block
            && let Some(block) = self.page.blocks.last_mut()
        {
            block.text.push_str(text);
        }
        match (&mut self.heading, self.page.headings.last_mut()) {
            (Some((_, heading)), _) => heading.push_str(text),
            (None, Some(heading)) => heading.body.push_str(text),
            (None, None) => {}
        }
    }

    fn end_heading(&mut self, level: u8, end: Event<'a>) {
        let Some((start, text)) = self.heading.take() else { return };
        let text = text.trim().to_owned();
        let slug = slug(&text);
        let count = self.ids.entry(slug.clone()).or_default();
        let id = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        if let Event::Start(Tag::Heading { id: place, .. }) = &mut self.events[start] {
            *place = Some(id.clone().into());
        }
        if level > 1 {
            let anchor =
                format!(" <a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a>");
            self.events.push(Event::InlineHtml(anchor.into()));
        }
        self.events.push(end);
        if self.page.title.is_empty() {
            self.page.title.clone_from(&text);
        }
        self.page.headings.push(Heading { level, id, text, body: String::new() });
    }

    /// Records a link and returns its target in the built page.
    fn link(&mut self, target: &str, start: usize) -> CowStr<'a> {
        let line = self.line(start);
        self.page.links.push(Link { target: target.to_owned(), line });
        let Some((file, fragment)) = resolve(&self.page.path, target) else {
            return target.to_owned().into();
        };
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        if file == self.page.path {
            return fragment.into();
        }
        if (self.is_page)(&file) {
            return format!("{}{}{fragment}", self.page.up(), output(&file)).into();
        }
        match file.strip_prefix("docs/") {
            Some(file) if !file.ends_with(".md") => format!("{}{file}", self.page.up()).into(),
            _ => format!("{REPOSITORY}/{file}{fragment}").into(),
        }
    }
}

/// Returns the path of a built page: `docs/README.md` is `index.html`, `docs/tutorials/go.md` is `tutorials/go.html`.
fn output(path: &str) -> String {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    match path.strip_suffix(".md") {
        Some("README") => "index.html".to_owned(),
        Some(name) => format!("{name}.html"),
        None => path.to_owned(),
    }
}

/// Returns the file in the repository and the fragment that a link names; `None` if it names another site.
pub(crate) fn resolve(page: &str, target: &str) -> Option<(String, Option<String>)> {
    if target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:") {
        return None;
    }
    let (file, fragment) = match target.split_once('#') {
        Some((file, fragment)) => (file, Some(fragment.to_owned())),
        None => (target, None),
    };
    if file.is_empty() {
        return Some((page.to_owned(), fragment));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name.to_str().unwrap_or_default()),
            _ => {}
        }
    }
    Some((parts.join("/"), fragment))
}

/// Returns the fragment that code hosts derive from a heading.
fn slug(text: &str) -> String {
    text.to_lowercase()
        .chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            _ if character.is_alphanumeric() => Some(character),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(markdown: &str) -> Page {
        Page::parse("docs/guide/a.md", markdown, &|path| path.starts_with("docs/") && path.ends_with(".md"))
    }

    #[test]
    fn headings_have_the_fragments_of_code_hosts() {
        let page = parse("# `tidemark login`, logout\n\n## Run `--ab`\n\ntext\n\n## Run `--ab`\n");
        let ids: Vec<_> = page.headings.iter().map(|heading| heading.id.as_str()).collect();
        assert_eq!(ids, ["tidemark-login-logout", "run---ab", "run---ab-1"]);
        assert_eq!(page.title, "tidemark login, logout");
        assert_eq!(page.headings[1].body.trim(), "text");
    }

    #[test]
    fn skipped_headings_and_empty_column_headers_are_problems() {
        let page = parse("# A\n\n### B\n\n| | c |\n|---|---:|\n| d | |\n");
        assert_eq!(
            page.accessibility_problems(),
            [
                "docs/guide/a.md: `B` has level 3 below level 1",
                "docs/guide/a.md: a table has an empty column header"
            ]
        );
        assert!(parse("# A\n\n## B\n\n# C\n\n| a |\n|---|\n| |\n").accessibility_problems().is_empty());
    }

    #[test]
    fn links_lead_to_built_pages_or_to_the_repository() {
        let page = parse(
            "# A\n[a](../b.md#c) [d](../../README.md) [e](#a) [f](https://example.org) [g](../README.md) \
             ![h](../images/i.webp)",
        );
        for wanted in [
            "href=\"../b.html#c\"",
            &format!("href=\"{REPOSITORY}/README.md\""),
            "href=\"#a\"",
            "href=\"https://example.org\"",
            "href=\"../index.html\"",
            "src=\"../images/i.webp\"",
        ] {
            assert!(page.html.contains(wanted), "{wanted}: {}", page.html);
        }
        assert_eq!(page.links.len(), 6);
    }

    #[test]
    fn the_html_needs_no_inline_style() {
        let page = parse("# A\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```sh\nls\n```\n");
        assert!(!page.html.contains("style="), "{}", page.html);
        assert!(page.html.contains("<td class=\"right\">2</td>"), "{}", page.html);
        assert_eq!((page.blocks[0].language.as_str(), page.blocks[0].text.as_str()), ("sh", "ls\n"));
    }
}
