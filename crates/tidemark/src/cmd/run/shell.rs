//! Shell commands whose words are known: those that a shell only divides into words. All other commands are left to the shell.

/// Returns the words of a shell command; `None` if the shell does more than dividing it, for example a pipe or an expansion.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.trim().chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"'), '$' | '`' | '\\') => return None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, _) if "$`\\|&;<>()*?[]{}~#!\n".contains(character) => return None,
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

/// Returns a shell command with other words. Further words are appended, so that variables before the program keep their meaning;
/// otherwise there must be no such variable.
pub(super) fn line(line: &str, words: &[String], changed: &[String]) -> Option<String> {
    let quoted = |words: &[String]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    match changed.strip_prefix(words) {
        Some(further) => Some(format!("{} {}", line.trim(), quoted(further))),
        None if words.first().is_some_and(|first| first.contains('=')) => None,
        None => Some(quoted(changed)),
    }
}

/// Quotes a word for the shell.
fn quote(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_simple_commands_have_known_words() {
        let found = |line: &str| words(line).map(|words| words.join("|"));
        assert_eq!(found("cargo bench").unwrap(), "cargo|bench");
        assert_eq!(
            found(r#" A=1  hyperfine 'sleep 1' "echo 'a'" '' "#).unwrap(),
            "A=1|hyperfine|sleep 1|echo 'a'|"
        );
        for line in ["a | b", "a; b", "a $B", "a \"$B\"", "a > b", "a *", "a `b`", "(a)", "a 'b", "", "a \\b"]
        {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn changed_words_are_quoted() {
        let change = |text: &str, changed: &[&str]| {
            let changed: Vec<String> = changed.iter().map(|word| (*word).to_owned()).collect();
            line(text, &words(text).unwrap(), &changed)
        };
        assert_eq!(change("A=1 b", &["A=1", "b", "^(c|d)$"]).unwrap(), "A=1 b '^(c|d)$'");
        assert_eq!(change("b 'c d' e", &["b", "c d"]).unwrap(), "b 'c d'");
        assert_eq!(change("b c", &["b", "it's"]).unwrap(), r"b 'it'\''s'");
        assert_eq!(change("A=1 b c", &["A=1", "b"]), None);
    }
}
