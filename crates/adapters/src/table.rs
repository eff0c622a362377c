//! Splits the rows of tables that tools print for people. The adapters interpret the cells.

use crate::text::is_blank;

/// Returns the cells of a row that are separated by at least two blanks or a tab.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut rest = line.trim_matches(is_blank);
    while !rest.is_empty() {
        let end = gap(rest).unwrap_or(rest.len());
        cells.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_blank);
    }
    cells
}

/// Returns the start of the first tab or pair of blanks.
fn gap(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().position(|(index, byte)| {
        *byte == b'\t'
            || (*byte == b' ' && bytes.get(index + 1).is_some_and(|next| matches!(next, b' ' | b'\t')))
    })
}

/// Returns the cells of a row with borders: `| a | b |`, also with the characters of boxes. `None` for a line without a border.
pub(crate) fn bordered_cells(line: &str) -> Option<Vec<&str>> {
    let is_border = |character: char| matches!(character, '|' | '│' | '║' | '┃');
    let line = line.trim_matches(is_blank);
    if !line.contains(is_border) {
        return None;
    }
    let inner = line.strip_prefix(is_border).unwrap_or(line);
    let inner = inner.strip_suffix(is_border).unwrap_or(inner);
    Some(inner.split(is_border).map(|cell| cell.trim_matches(is_blank)).collect())
}

/// Whether a line only separates rows: `|---|:--:|`, `+----+`, `├──┼──┤`.
pub(crate) fn is_rule(line: &str) -> bool {
    let line = line.trim_matches(is_blank);
    let is_line = |character: char| matches!(character, '-' | '=' | '─' | '━' | '═');
    line.contains(is_line)
        && line.chars().all(|character| {
            is_line(character)
                || is_blank(character)
                || matches!(character, '|' | '+' | ':' | '\u{2500}'..='\u{257f}')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_into_cells() {
        assert_eq!(cells("  a b   1.5 ns\tc "), ["a b", "1.5 ns", "c"]);
        assert!(cells("   ").is_empty());
        assert_eq!(bordered_cells("| a | | 1 |"), Some(vec!["a", "", "1"]));
        assert_eq!(bordered_cells("│ é │ 2 │"), Some(vec!["é", "2"]));
        assert_eq!(bordered_cells("a  b"), None);
        assert!(is_rule("|:---|---:|") && is_rule("├──┼──┤") && is_rule("-----"));
        assert!(!is_rule("") && !is_rule("a-b") && !is_rule("|"));
    }
}
