//! Pieces that statements are put together from. None of them runs a statement.

use tidemark_api::page::Direction;
use uuid::Uuid;

use crate::{
    tx::Tx,
    value::{Kind, Param},
};

/// Replaces `{ints $1}`, `{uuids $1}` and `{texts $1}` by what the engine understands.
pub(crate) fn expand_lists(sql: &str, list: impl Fn(Kind, &str) -> String) -> String {
    let mut out = String::with_capacity(sql.len() + 64);
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (token, after) = after.split_once('}').unwrap_or((after, ""));
        match token.split_once(' ') {
            Some(("ints", param)) => out.push_str(&list(Kind::Int, param)),
            Some(("uuids", param)) => out.push_str(&list(Kind::Uuid, param)),
            Some(("texts", param)) => out.push_str(&list(Kind::Text, param)),
            _ => out.push_str(token),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Conditions and what is bound for them. One that is not asked for is left out: an engine that plans a statement for
/// all values at once would reckon with it.
pub(crate) struct Conditions<'a> {
    /// The conditions as they stand in a statement.
    pub(crate) sql: String,
    /// What is bound to `$1` and so on.
    pub(crate) params: Vec<&'a dyn Param>,
}

impl<'a> Conditions<'a> {
    /// Begins with a condition that is always there.
    pub(crate) fn new(sql: String, params: Vec<&'a dyn Param>) -> Self {
        Self { sql, params }
    }

    /// Asks for one more, if there is a value to hold `what` against.
    pub(crate) fn and<T: Param>(&mut self, what: &str, value: &'a Option<T>) {
        if let Some(value) = value {
            self.params.push(value);
            self.sql = format!("{} and {what} ${}", self.sql, self.params.len());
        }
    }

    /// The end of a statement that reads a page and up to as many rows more, which are to be dropped. How much is read
    /// stands in the statement: PostgreSQL takes a bound limit for a tenth of all rows, finds that planning for each
    /// call pays, and plans longer than it reads. Only a few sizes do, so that the statements do not become many.
    pub(crate) fn page(&mut self, limit: i64, offset: &'a i64) -> String {
        let size = u64::try_from(limit).unwrap_or_default().next_power_of_two().max(8);
        if *offset == 0 {
            return format!("limit {size}");
        }
        self.params.push(offset);
        format!("limit {size} offset ${}", self.params.len())
    }
}

/// A `like` pattern that matches `text` anywhere, with its own wildcards taken literally (`escape '\'`). Only ASCII
/// is folded, as `lower` does on both engines.
pub(crate) fn contains(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.to_ascii_lowercase().chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The SQL word for a direction.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Asc => "asc",
        Direction::Desc => "desc",
    }
}

/// The condition that a row of `table` has a text in its name or slug or, with `by_uuid`, a UUID from `$3` to `$4`;
/// and the value to bind to `$2` for it. Texts of three characters and more are found by an index.
pub(crate) fn matching(tx: &Tx<'_>, table: &str, text: &str, by_uuid: bool) -> (String, String) {
    if tx.is_postgres() {
        // The expression of the index, to the letter. A subquery would be joined, and the join now and then be
        // planned as a walk through the whole table.
        let pattern = format!("lower({table}.name) || chr(10) || {table}.slug like $2 escape '\\'");
        let uuids = format!(" or {table}.uuid between $3 and $4");
        return (format!("({pattern}{})", if by_uuid { &uuids } else { "" }), contains(text));
    }
    let (keys, bound) = if text.chars().count() >= 3 {
        let keys = format!("select rowid from {table}_search where {table}_search match $2");
        (keys, format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        let pattern = "lower(name) || '\n' || slug like $2 escape '\\'";
        (format!("select id from {table} where project_id = $1 and {pattern}"), contains(text))
    };
    let uuids = format!(" union all select id from {table} where uuid between $3 and $4");
    (format!("{table}.id in ({keys}{})", if by_uuid { &uuids } else { "" }), bound)
}

/// All UUIDs whose text starts with this one, as a range; `None` when it cannot start a UUID.
pub(crate) fn uuids_starting_with(text: &str) -> Option<(Uuid, Uuid)> {
    let text = text.to_lowercase();
    let template = "00000000-0000-0000-0000-000000000000";
    let fits = text.len() <= template.len()
        && text.bytes().zip(template.bytes()).all(|(given, place)| match place {
            b'-' => given == b'-',
            _ => given.is_ascii_hexdigit(),
        });
    if !fits {
        return None;
    }
    let fill = |digit: char| {
        let rest = template.get(text.len()..)?.replace('0', &digit.to_string());
        Uuid::parse_str(&format!("{text}{rest}")).ok()
    };
    Some((fill('0')?, fill('f')?))
}

#[cfg(test)]
mod tests {
    use super::uuids_starting_with;

    #[test]
    fn a_prefix_is_a_range() {
        let (first, last) = uuids_starting_with("0190A").unwrap();
        assert_eq!(first.to_string(), "0190a000-0000-0000-0000-000000000000");
        assert_eq!(last.to_string(), "0190afff-ffff-ffff-ffff-ffffffffffff");
        assert!(uuids_starting_with("0190abcd-").is_some());
        assert!(uuids_starting_with("0190abcde").is_none());
        assert!(uuids_starting_with("main").is_none());
    }
}
