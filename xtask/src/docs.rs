//! `cargo xtask docs`: builds the manual that the server serves at `/docs`, checks its links, and runs its tutorials.
//!
//! The sources are plain Markdown in `docs/`; `docs/SUMMARY.md` is the navigation, and `docs/theme/` has the template.

mod link;
mod page;
mod tutorial;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use self::page::Page;
use crate::{
    Result, console,
    tools::{self, say},
};

pub(crate) use self::tutorial::run as run_tutorials;

/// The navigation, in the format of mdBook: a heading per group, a list of links.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Folders with files that no person writes, or that are no documentation.
const SKIPPED: [&str; 7] = ["target", "node_modules", "fixtures", "book", "dist", "build", "snapshots"];
/// Files of `docs/theme` that pages load.
const ASSETS: [&str; 3] = ["manual.css", "manual.js", "theme.js"];
/// Placeholder address of the page for unknown paths.
const NOT_FOUND: &str = "docs/404.md";

/// A heading of the navigation and its pages: title and path in the repository.
struct Group {
    title: String,
    pages: Vec<(String, String)>,
}

/// The manual and the other Markdown files of the repository.
pub(crate) struct Manual {
    root: PathBuf,
    groups: Vec<Group>,
    files: BTreeMap<String, Page>,
}

/// Builds `docs/book`, which the binary embeds. Fails if a link is dead.
pub(crate) fn build() -> Result {
    let manual = Manual::read(&tools::root()?)?;
    let problems = manual.problems()?;
    if !problems.is_empty() {
        return Err(format!("the manual has errors:\n  {}", problems.join("\n  ")));
    }
    say("Building the manual.");
    let folder = tools::target()?.join("manual");
    manual.write(&folder)?;
    tools::run(
        console::node(&["scripts/compress.js"])?
            .arg(&folder)
            .arg(manual.root.join("docs/book"))
            .arg("The manual"),
    )
}

/// Checks the links, headings and tables of the manual without building it.
pub(crate) fn check() -> Result {
    let problems = Manual::read(&tools::root()?)?.problems()?;
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

impl Manual {
    /// Reads all Markdown files of the repository.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let groups = groups(&read(&root.join(SUMMARY))?)?;
        let is_page = |path: &str| groups.iter().flat_map(|group| &group.pages).any(|(_, page)| page == path);
        let mut files = BTreeMap::new();
        for file in sources(root, root, &["md"])? {
            let page = Page::parse(&file, &read(&root.join(&file))?, &is_page);
            files.insert(file, page);
        }
        Ok(Self { root: root.to_owned(), groups, files })
    }

    /// Returns a message for each dead link, each page that the navigation does not name, and each page that fails the
    /// accessibility rules.
    pub(crate) fn problems(&self) -> Result<Vec<String>> {
        let mut problems = link::dead(&self.root, &self.files);
        for file in sources(&self.root, &self.root, &["md", "rs", "toml", "ts", "tsx"])? {
            // The tests of this task name pages that do not exist.
            if file.starts_with("xtask/src/docs") {
                continue;
            }
            problems.extend(link::dead_mentions(&self.root, &file, &read(&self.root.join(&file))?));
        }
        let named: BTreeSet<&str> = self.pages().map(|(_, path)| path).collect();
        for path in self.files.keys().filter(|path| path.starts_with("docs/") && *path != SUMMARY) {
            problems.extend(self.files[path].accessibility_problems());
            if !named.contains(path.as_str()) {
                problems.push(format!("{path}: {SUMMARY} does not name this page; add it to a group"));
            }
        }
        Ok(problems)
    }

    /// Returns the title and the path of each page, in the order of the navigation.
    fn pages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.groups.iter().flat_map(|group| &group.pages).map(|(title, path)| (title.as_str(), path.as_str()))
    }

    /// Writes the pages, the search index and the files that the pages load.
    fn write(&self, folder: &Path) -> Result {
        if folder.exists() {
            fs::remove_dir_all(folder)
                .map_err(|error| format!("{} could not be removed: {error}", folder.display()))?;
        }
        let template = read(&self.root.join("docs/theme/page.html"))?;
        let order: Vec<&Page> = self.pages().filter_map(|(_, path)| self.files.get(path)).collect();
        for (place, page) in order.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| order[place]);
            let html = self.render(&template, page, before, order.get(place + 1).copied());
            write(&folder.join(page.output()), html.as_bytes())?;
        }
        let missing = Page::parse(
            NOT_FOUND,
            "# Page not found\n\nThe manual has no page at this address. Use the search or the contents.\n",
            &|_| true,
        );
        // Unknown paths may be in any folder, so the links of this page are absolute.
        let html = self.render(&template, &missing, None, None);
        let html = html.replace("=\"{{root}}", "=\"/docs/");
        write(&folder.join("404.html"), html.as_bytes())?;
        write(&folder.join("search.json"), search_index(&order).as_bytes())?;
        for name in ASSETS {
            copy(&self.root.join("docs/theme").join(name), &folder.join(name))?;
        }
        copy(&self.root.join("console/public/icon.svg"), &folder.join("icon.svg"))?;
        let files: BTreeSet<String> = order
            .iter()
            .flat_map(|page| page.links.iter().filter_map(|link| page::resolve(&page.path, &link.target)))
            .map(|(file, _)| file)
            .filter(|file| file.starts_with("docs/images/"))
            .collect();
        files
            .iter()
            .try_for_each(|file| copy(&self.root.join(file), &folder.join(file.trim_start_matches("docs/"))))
    }

    fn render(&self, template: &str, page: &Page, before: Option<&Page>, after: Option<&Page>) -> String {
        let link = |page: Option<&Page>, rel: &str, label: &str| {
            page.map_or_else(String::new, |page| {
                format!(
                    "<a rel=\"{rel}\" href=\"{{{{root}}}}{}\"><span>{label}</span>{}</a>",
                    page.output(),
                    escape(&page.title)
                )
            })
        };
        let html = template
            .replace("{{title}}", &escape(&page.title))
            .replace("{{version}}", env!("CARGO_PKG_VERSION"))
            .replace("{{navigation}}", &self.navigation(page))
            .replace("{{previous}}", &link(before, "prev", "Previous"))
            .replace("{{next}}", &link(after, "next", "Next"));
        let html = if page.path == NOT_FOUND { html } else { html.replace("{{root}}", &page.up()) };
        // Last, because the content may contain the same marks.
        html.replace("{{content}}", &page.html)
    }

    /// Returns the navigation, with the sections of the current page.
    fn navigation(&self, current: &Page) -> String {
        let mut html = String::new();
        for group in &self.groups {
            let _ = write!(html, "<h2>{}</h2>\n<ul>\n", escape(&group.title));
            for (title, path) in &group.pages {
                let Some(page) = self.files.get(path) else { continue };
                let is_current = page.path == current.path;
                let mark = if is_current { " aria-current=\"page\"" } else { "" };
                let _ =
                    write!(html, "<li><a href=\"{{{{root}}}}{}\"{mark}>{}</a>", page.output(), escape(title));
                let sections: Vec<_> = page.headings.iter().filter(|heading| heading.level == 2).collect();
                if is_current && !sections.is_empty() {
                    html.push_str("\n<ul>\n");
                    for section in sections {
                        let _ = writeln!(
                            html,
                            "<li><a href=\"#{}\">{}</a></li>",
                            section.id,
                            escape(&section.text)
                        );
                    }
                    html.push_str("</ul>\n");
                }
                html.push_str("</li>\n");
            }
            html.push_str("</ul>\n");
        }
        html
    }
}

/// Parses the navigation.
fn groups(summary: &str) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for line in summary.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            groups.push(Group { title: title.to_owned(), pages: Vec::new() });
        } else if let Some(item) = line.trim_start().strip_prefix("- ") {
            let link = item.strip_prefix('[').and_then(|item| item.strip_suffix(')')?.split_once("]("));
            let (Some((title, path)), Some(group)) = (link, groups.last_mut()) else {
                return Err(format!("{SUMMARY}: `{line}` is not a link below a heading"));
            };
            group.pages.push((title.to_owned(), format!("docs/{path}")));
        }
    }
    Ok(groups)
}

/// Returns the sections of all pages as JSON: address, page, heading, text.
fn search_index(pages: &[&Page]) -> String {
    let rows: Vec<String> = pages
        .iter()
        .flat_map(|page| page.headings.iter().map(move |heading| (page, heading)))
        .map(|(page, heading)| {
            let fragment = if heading.level == 1 { String::new() } else { format!("#{}", heading.id) };
            let body = heading.body.split_whitespace().collect::<Vec<_>>().join(" ");
            let texts = [&format!("{}{fragment}", page.output()), &page.title, &heading.text, &body];
            format!("[{}]", texts.map(|text| json(text)).join(","))
        })
        .collect();
    format!("[{}]\n", rows.join(",\n"))
}

/// Returns a text as a JSON string.
fn json(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            character if character.is_control() => {
                let _ = write!(json, "\\u{:04x}", u32::from(character));
            }
            character => json.push(character),
        }
    }
    json + "\""
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the paths, relative to the root, of all files below a folder with one of these extensions.
fn sources(root: &Path, folder: &Path, extensions: &[&str]) -> Result<Vec<String>> {
    let unreadable = |error| format!("{} could not be read: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !SKIPPED.contains(&name) && !name.starts_with('.') {
                found.extend(sources(root, &path, extensions)?);
            }
        } else if extensions.iter().any(|extension| path.extension().is_some_and(|found| found == *extension))
            && let Ok(below) = path.strip_prefix(root)
        {
            found.push(below.display().to_string());
        }
    }
    found.sort();
    Ok(found)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| format!("{} could not be read: {error}", file.display()))
}

fn write(file: &Path, content: &[u8]) -> Result {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, content))
        .map_err(|error| format!("{} could not be written: {error}", file.display()))
}

fn copy(from: &Path, to: &Path) -> Result {
    let content = fs::read(from).map_err(|error| format!("{} could not be read: {error}", from.display()))?;
    write(to, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_no_dead_links_and_names_every_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let problems = Manual::read(root).unwrap().problems().unwrap();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn every_page_is_written_with_the_navigation_and_the_search_index() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let folder = std::env::temp_dir().join(format!("tidemark-manual-{}", std::process::id()));
        let manual = Manual::read(root).unwrap();
        manual.write(&folder).unwrap();
        for (_, path) in manual.pages() {
            let page = &manual.files[path];
            let html = fs::read_to_string(folder.join(page.output())).unwrap();
            assert!(html.contains("aria-current=\"page\"") && !html.contains(" style="), "{path}");
            assert!(!html.contains("{{root}}") && html.contains("<h1"), "{path}");
        }
        let missing = fs::read_to_string(folder.join("404.html")).unwrap();
        assert!(missing.contains("href=\"/docs/manual.css\"") && !missing.contains("{{"), "{missing}");
        let index = fs::read_to_string(folder.join("search.json")).unwrap();
        assert!(index.contains("[\"cli.html#exit-codes\",\"The command line\",\"Exit codes\","));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(json("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\"");
        assert_eq!(escape("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
        assert!(groups("- [a](b.md)").is_err());
    }
}
