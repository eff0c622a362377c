//! `CHANGELOG.md`: the section of a version, for the release notes.

use std::fs;

use crate::{Result, tools};

/// Heading of the changes since the last release.
pub(crate) const UNRELEASED: &str = "Unreleased";

/// Returns the release notes of a version: its section, or the unreleased changes if it has none yet.
pub(crate) fn notes(version: &str) -> Result<String> {
    let text = read()?;
    section(&text, version)
        .or_else(|| section(&text, UNRELEASED))
        .ok_or_else(|| format!("CHANGELOG.md has no section {version} or {UNRELEASED}"))
}

/// Returns the whole file.
pub(crate) fn read() -> Result<String> {
    let file = tools::root()?.join("CHANGELOG.md");
    fs::read_to_string(&file).map_err(|error| format!("{} could not be read: {error}", file.display()))
}

/// Returns the section of a version without its heading, which is `## 1.2.3` or `## 1.2.3 (2026-01-31)`. Links to files of
/// the repository lead to the tag.
pub(crate) fn section(text: &str, version: &str) -> Option<String> {
    let title = |line: &str| Some(line.strip_prefix("## ")?.split_whitespace().next()?.to_owned());
    let mut lines = text.lines().skip_while(|line| title(line).as_deref() != Some(version));
    lines.next()?;
    let section: Vec<&str> = lines.take_while(|line| title(line).is_none()).collect();
    let section = section.join("\n");
    let tree = if version == UNRELEASED { "main".to_owned() } else { format!("v{version}") };
    let docs = format!("](https://github.com/tidemark-dev/tidemark/blob/{tree}/docs/");
    Some(format!("{}\n", section.trim().replace("](docs/", &docs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_at_the_next_version() {
        let text = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-01-31)\n\n### Added\n\n- [x](docs/cli.md)\n\n## 1.2.2\n\n- y\n";
        let link = "https://github.com/tidemark-dev/tidemark/blob/v1.2.3/docs/cli.md";
        assert_eq!(section(text, "1.2.3").as_deref(), Some(format!("### Added\n\n- [x]({link})\n").as_str()));
        assert_eq!(section(text, "1.2.2").as_deref(), Some("- y\n"));
        assert_eq!(section(text, "1.2"), None);
        assert_eq!(section(text, UNRELEASED).as_deref(), Some("\n"));
    }
}
