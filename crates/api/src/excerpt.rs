//! Excerpts of requests for error messages: enough to identify the value, never the whole value.

/// Maximum length of an excerpt of a text, in characters.
const TEXT_MAX: usize = 60;
/// Maximum length of an excerpt of a path, in characters.
const PATH_MAX: usize = 120;
/// Maximum length of an excerpt of a reason, in characters; longer than any rule of this crate.
const REASON_MAX: usize = 1_000;

/// Returns the beginning of a text on one line.
pub fn of_text(text: &str) -> String {
    prefix(text.trim(), TEXT_MAX)
}

/// Returns the end of a path on one line, because it is more specific than the beginning.
pub fn of_path(path: &str) -> String {
    match path.char_indices().rev().nth(PATH_MAX - 1) {
        Some((start, _)) if start > 0 => format!("…{}", on_one_line(&path[start..])),
        _ => on_one_line(path),
    }
}

/// Shortens the message of a parser, which may contain the rejected value. The expected type is kept.
pub fn of_reason(reason: &str) -> String {
    let Some((found, expected)) = reason.rsplit_once(", expected ") else {
        return prefix(reason, REASON_MAX);
    };
    let mut short = prefix(found, TEXT_MAX);
    // Close the shortened value with its closing quotation mark.
    if let Some(mark) = found.chars().next_back().filter(|last| matches!(last, '"' | '`'))
        && !short.ends_with(mark)
    {
        short.push(mark);
    }
    format!("{short}, expected {}", prefix(expected, REASON_MAX))
}

fn prefix(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", on_one_line(&text[..end])),
        None => on_one_line(text),
    }
}

fn on_one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_beginning() {
        assert_eq!(of_text(" a\tb\n"), "a b");
        assert_eq!(of_text(&"é".repeat(1_000_000)), format!("{}…", "é".repeat(60)));
    }

    #[test]
    fn a_path_keeps_its_end() {
        assert_eq!(of_path("a.b"), "a.b");
        assert_eq!(of_path(&format!("{}.z", "é".repeat(1_000))), format!("…{}.z", "é".repeat(118)));
    }

    #[test]
    fn a_reason_keeps_the_expected_type() {
        let short = "invalid type: integer `5`, expected a string";
        assert_eq!(of_reason(short), short);
        let long = format!("invalid type: string {:?}, expected a sequence", "x".repeat(1_000_000));
        let cut = format!("invalid type: string \"{}…\", expected a sequence", "x".repeat(38));
        assert_eq!(of_reason(&long), cut);
        assert_eq!(of_reason(&"x".repeat(2_000)), format!("{}…", "x".repeat(1_000)));
    }
}
