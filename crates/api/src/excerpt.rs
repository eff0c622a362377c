//! What an error message repeats of what was sent: enough to find it, never all of it.

/// The longest excerpt of a text, in characters.
const TEXT_MAX: usize = 60;
/// The longest excerpt of a path, in characters.
const PATH_MAX: usize = 120;
/// The longest excerpt of a reason, in characters; longer than any rule that we state ourselves.
const REASON_MAX: usize = 1_000;

/// The beginning of a text on one line.
pub fn of_text(text: &str) -> String {
    beginning(text.trim(), TEXT_MAX)
}

/// The end of a path on one line; it says more than the beginning.
pub fn of_path(path: &str) -> String {
    match path.char_indices().rev().nth(PATH_MAX - 1) {
        Some((start, _)) if start > 0 => format!("…{}", on_one_line(&path[start..])),
        _ => on_one_line(path),
    }
}

/// What a parser said, which may repeat the value that it found. What it expected stays whole.
pub fn of_reason(reason: &str) -> String {
    let Some((found, expected)) = reason.rsplit_once(", expected ") else {
        return beginning(reason, REASON_MAX);
    };
    let mut short = beginning(found, TEXT_MAX);
    // The mark that closed the value closes what is left of it.
    if let Some(mark) = found.chars().next_back().filter(|last| matches!(last, '"' | '`'))
        && !short.ends_with(mark)
    {
        short.push(mark);
    }
    format!("{short}, expected {}", beginning(expected, REASON_MAX))
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
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
    fn a_reason_keeps_what_was_expected() {
        let short = "invalid type: integer `5`, expected a string";
        assert_eq!(of_reason(short), short);
        let long = format!("invalid type: string {:?}, expected a sequence", "x".repeat(1_000_000));
        let cut = format!("invalid type: string \"{}…\", expected a sequence", "x".repeat(38));
        assert_eq!(of_reason(&long), cut);
        assert_eq!(of_reason(&"x".repeat(2_000)), format!("{}…", "x".repeat(1_000)));
    }
}
