//! The links between the Markdown files of the repository: every target exists, and so does its fragment.

use std::{collections::BTreeMap, path::Path};

use super::page::{self, Page};

/// Returns a message for each link whose file or fragment does not exist.
pub(crate) fn dead(root: &Path, pages: &BTreeMap<String, Page>) -> Vec<String> {
    let mut dead = Vec::new();
    for page in pages.values() {
        for link in &page.links {
            let Some((file, fragment)) = page::resolve(&page.path, &link.target) else { continue };
            let place = format!("{}:{}", page.path, link.line);
            if !root.join(&file).exists() {
                dead.push(format!("{place}: `{}` does not exist; correct the link", link.target));
            } else if let (Some(fragment), Some(target)) = (fragment, pages.get(&file))
                && !target.headings.iter().any(|heading| heading.id == fragment)
            {
                dead.push(format!("{place}: {file} has no heading `#{fragment}`; correct the link"));
            }
        }
    }
    dead
}

/// Returns a message for each mention of a page, such as `docs/cli.md`, that does not exist.
pub(crate) fn dead_mentions(root: &Path, path: &str, text: &str) -> Vec<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_/".contains(character);
    let mentions = text.match_indices("docs/").filter_map(|(start, _)| {
        let before = text[..start].chars().next_back();
        if before.is_some_and(|character| is_part(character) || character == '.') {
            return None;
        }
        let rest = &text[start..];
        let end = rest.find(|character: char| !is_part(character)).unwrap_or(rest.len());
        let is_markdown = rest[end..].starts_with(".md");
        is_markdown.then(|| (text[..start].matches('\n').count() + 1, format!("{}.md", &rest[..end])))
    });
    mentions
        .filter(|(_, mention)| !root.join(mention).exists())
        .map(|(line, mention)| format!("{path}:{line}: {mention} does not exist; correct the name"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(files: &[(&str, &str)]) -> BTreeMap<String, Page> {
        files.iter().map(|(path, text)| ((*path).to_owned(), Page::parse(path, text, &|_| true))).collect()
    }

    #[test]
    fn dead_links_are_found_with_their_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let pages = pages(&[
            (
                "README.md",
                "# A\n\n[b](docs/cli.md#b) [c](#c)\n[d](docs/none.md) <img src=\"none.png\">\n[e](#a)",
            ),
            ("docs/cli.md", "# B\n"),
        ]);
        assert_eq!(
            dead(root, &pages),
            [
                "README.md:3: README.md has no heading `#c`; correct the link",
                "README.md:4: `docs/none.md` does not exist; correct the link",
                "README.md:4: `none.png` does not exist; correct the link",
            ]
        );
        assert_eq!(
            dead_mentions(root, "a.rs", "\n// See docs/none.md and docs/cli.md, not my-docs/none.md."),
            ["a.rs:2: docs/none.md does not exist; correct the name"]
        );
    }
}
