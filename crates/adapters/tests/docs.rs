//! The tables of docs/adapters.md are generated from [`ADAPTERS`] and from the table of fixtures. To update them, run this test with
//! the environment variable `TIDEMARK_UPDATE_DOCS`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeMap, env, fs, path::Path};

use tidemark_adapters::{ADAPTERS, Detection, Format, Tool, parse};
use tidemark_api::Adapter;

/// Returns the table of tools.
fn tools() -> String {
    let mut table =
        "| adapter | tool | format and command | parsed metrics | averages |\n|---|---|---|---|---|\n"
            .to_owned();
    let is_detected = |format: &Format| format.detection != Detection::Named;
    let mut tools: Vec<&Tool> =
        ADAPTERS.iter().copied().filter(|tool| tool.formats.iter().any(is_detected)).collect();
    tools.sort_by_key(|tool| tool.adapter.short());
    for tool in tools {
        let (short, name) = (tool.adapter.short(), tool.adapter.as_str());
        let adapter = if short == name { format!("`{short}`") } else { format!("`{short}` (`{name}`)") };
        let mut formats: Vec<String> = tool.formats.iter().map(format_and_command).collect();
        formats.dedup();
        let averages: Vec<_> = tool.averages.iter().map(ToString::to_string).collect();
        let averages = if averages.is_empty() { "none".to_owned() } else { averages.join(", ") };
        table.push_str(&format!(
            "| {adapter} | {} | {} | {} | {averages} |\n",
            tool.title,
            formats.join("<br>"),
            cell(tool.metrics)
        ));
    }
    table
}

fn format_and_command(format: &Format) -> String {
    match format.command {
        "" => format.syntax.to_string(),
        // A description instead of a command.
        command if command.contains('`') || command.starts_with("the ") => {
            format!("{}: {}", format.syntax, cell(command))
        }
        command => format!("{}: `{}`", format.syntax, cell(command)),
    }
}

/// Escapes the separator of cells.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Returns the table of parameters.
fn parameters() -> String {
    let mut table = "| adapter | parameters |\n|---|---|\n".to_owned();
    let mut tools: Vec<&Tool> = ADAPTERS.iter().copied().filter(|tool| !tool.parameters.is_empty()).collect();
    tools.sort_by_key(|tool| tool.adapter.short());
    for tool in tools {
        table.push_str(&format!("| `{}` | {} |\n", tool.adapter.short(), cell(tool.parameters)));
    }
    table
}

/// Returns the table of examples: for each adapter a line of a fixture and its first metric.
fn examples() -> String {
    let mut rows: BTreeMap<&str, ((bool, bool), String, String)> = BTreeMap::new();
    let text = fs::read_to_string(root().join("crates/adapters/fixtures/README.md")).unwrap();
    for (file, ..) in fixture_rows(&text) {
        let file = file.trim_matches('`');
        let tool = file.split('/').next().unwrap();
        let adapter = Adapter::ALL.iter().find(|adapter| adapter.as_str() == tool).unwrap();
        let text = fs::read_to_string(root().join("crates/adapters/fixtures").join(file)).unwrap();
        let Ok(results) = parse(*adapter, &text, None) else { continue };
        // Text is easier to read than a document, and colors are not shown.
        let rank = (text.starts_with(['{', '[', '<']), text.contains('\u{1b}'));
        if rows.get(adapter.short()).is_some_and(|(known, ..)| *known <= rank) {
            continue;
        }
        let first = results.entries.iter().next().unwrap();
        let value = first.metrics().next().unwrap().value;
        let metric = results.to_string().lines().next().unwrap().to_owned();
        rows.insert(adapter.short(), (rank, example_line(&text, first.label.as_str(), value), metric));
    }
    let mut table = "| adapter | line of the output | first metric |\n|---|---|---|\n".to_owned();
    for (adapter, (_, line, metric)) in rows {
        table.push_str(&format!("| `{adapter}` | {} | {} |\n", code(&line), code(&metric)));
    }
    table
}

/// Returns the line that contains most of: the digits of the value, the last word of the name, and any number. A long line is
/// shortened.
fn example_line(text: &str, name: &str, value: f64) -> String {
    let segment = name.rsplit("::").next().unwrap();
    let word =
        segment.split([' ', '/']).find(|word| word.chars().any(char::is_alphabetic)).unwrap_or(segment);
    let digits = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    };
    let value = digits(&value.to_string());
    let score = |line: &str| {
        let mut words = line.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
        let has_value = words.any(|word| !value.is_empty() && digits(word) == value);
        let has_number = line.contains(|c: char| c.is_ascii_digit());
        4 * u8::from(has_value) + 2 * u8::from(line.contains(word)) + u8::from(has_number)
    };
    // Of equal lines the first one.
    let line = text.lines().rev().max_by_key(|line| score(line)).unwrap();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    // A document on one line is shown around the name.
    let start = if line.len() > 1_000 { line.find(word).unwrap_or_default().saturating_sub(20) } else { 0 };
    let shown: String = line
        .char_indices()
        .filter(|(index, _)| *index >= start)
        .map(|(_, c)| c)
        .take(EXAMPLE_LENGTH)
        .collect();
    let shown = shown.trim();
    let (before, after) = (if start > 0 { "…" } else { "" }, if line.ends_with(shown) { "" } else { "…" });
    format!("{before}{shown}{after}")
}

/// Maximum length of an example, in characters.
const EXAMPLE_LENGTH: usize = 90;

/// Returns inline code in a cell.
fn code(text: &str) -> String {
    let fence = if text.contains('`') { "``" } else { "`" };
    let space = if text.contains('`') { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", cell(text))
}

/// Returns the file, the version and the origin of each fixture.
fn fixture_rows(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.lines().filter(|line| line.starts_with("| `")).map(|row| {
        let mut cells = row.trim_matches('|').splitn(3, '|').map(str::trim);
        (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap())
    })
}

/// Returns the table of fixtures: for each tool and version the formats, and whether they were captured or composed.
fn fixtures() -> String {
    let text = fs::read_to_string(root().join("crates/adapters/fixtures/README.md")).unwrap();
    let mut rows: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for (file, version, origin) in fixture_rows(&text) {
        let (adapter, name) = file.trim_matches('`').split_once('/').unwrap();
        let origin = if origin.starts_with("composed") { "composed" } else { "captured" };
        let extension = name.rsplit('.').next().unwrap();
        let formats = rows.entry((adapter, version, origin)).or_default();
        if !formats.contains(&extension) {
            formats.push(extension);
        }
    }
    let mut table = "| adapter | tool and version | files | origin |\n|---|---|---|---|\n".to_owned();
    for ((adapter, version, origin), mut formats) in rows {
        formats.sort_unstable();
        table.push_str(&format!("| `{adapter}` | {version} | {} | {origin} |\n", formats.join(", ")));
    }
    table
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Replaces the text between the comments of a section.
fn replaced(text: &str, section: &str, content: &str) -> String {
    let (start, end) = (format!("<!-- {section} -->\n"), format!("<!-- end of {section} -->"));
    let (before, rest) = text.split_once(&start).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{start}\n{content}\n{end}{after}")
}

#[test]
fn the_manual_lists_all_tools() {
    let file = root().join("docs/adapters.md");
    let text = fs::read_to_string(&file).unwrap();
    let tables = [
        ("tools", tools()),
        ("parameters", parameters()),
        ("examples", examples()),
        ("fixtures", fixtures()),
    ];
    let expected = tables.iter().fold(text.clone(), |page, (section, table)| replaced(&page, section, table));
    if env::var_os("TIDEMARK_UPDATE_DOCS").is_some() {
        fs::write(&file, expected).unwrap();
    } else {
        assert!(
            text == expected,
            "docs/adapters.md is stale; update it with `TIDEMARK_UPDATE_DOCS=1 cargo test -p tidemark-adapters --test docs`"
        );
    }
}

#[test]
fn each_fixture_has_its_row() {
    let text = fs::read_to_string(root().join("crates/adapters/fixtures/README.md")).unwrap();
    let rows: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(rows, sorted, "the rows are sorted and unique");
    let mut files = Vec::new();
    for folder in
        fs::read_dir(root().join("crates/adapters/fixtures")).unwrap().map(|entry| entry.unwrap().path())
    {
        if folder.is_dir() {
            let adapter = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
            files.extend(names.map(|name| format!("{adapter}/{}", name.to_str().unwrap())));
        }
    }
    files.sort_unstable();
    assert_eq!(rows, files);
    for tool in ADAPTERS {
        let adapter = tool.adapter.as_str();
        let has_fixture = files.iter().any(|file| file.starts_with(&format!("{adapter}/")));
        let is_covered = tool.formats.iter().all(|format| format.detection == Detection::Named);
        assert!(has_fixture || is_covered || adapter == "json", "{adapter} has no fixture");
        assert!(!tool.formats.is_empty() && !tool.metrics.is_empty(), "{adapter}");
    }
}
