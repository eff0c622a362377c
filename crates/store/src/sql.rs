//! Parts of SQL statements. This module runs no statements.

use tidemark_api::page::Direction;
use uuid::Uuid;

use crate::{
    tx::Tx,
    value::{Kind, Param},
};

/// Replaces `{ints $1}`, `{uuids $1}` and `{texts $1}` with the syntax of the engine.
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

/// Predicates and their parameters. Predicates without a value are omitted: an engine that plans a statement once for
/// all values would take them into account.
pub(crate) struct Conditions<'a> {
    /// Predicates as SQL.
    pub(crate) sql: String,
    /// Parameters: `$1` and so on.
    pub(crate) params: Vec<&'a dyn Param>,
}

impl<'a> Conditions<'a> {
    /// Creates the list with a predicate that always applies.
    pub(crate) fn new(sql: String, params: Vec<&'a dyn Param>) -> Self {
        Self { sql, params }
    }

    /// Adds a predicate that compares `what` with `value`, if there is a value.
    pub(crate) fn and<T: Param>(&mut self, what: &str, value: &'a Option<T>) {
        if let Some(value) = value {
            self.params.push(value);
            self.sql = format!("{} and {what} ${}", self.sql, self.params.len());
        }
    }

    /// Returns the `limit` clause of a statement that reads a page and possibly more rows, which the caller drops. The
    /// limit is a literal: with a bound limit, PostgreSQL estimates a tenth of all rows, decides to plan each call
    /// separately, and spends more time on planning than on reading. The limit is rounded up to a few sizes, to keep
    /// the number of statements small.
    pub(crate) fn page(&mut self, limit: i64, offset: &'a i64) -> String {
        let size = u64::try_from(limit).unwrap_or_default().next_power_of_two().max(8);
        if *offset == 0 {
            return format!("limit {size}");
        }
        self.params.push(offset);
        format!("limit {size} offset ${}", self.params.len())
    }
}

/// Returns a `like` pattern that matches `text` anywhere and escapes its wildcards (`escape '\'`). Folds only ASCII, as
/// `lower` does on both engines.
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

/// Returns the SQL keyword of a direction.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Asc => "asc",
        Direction::Desc => "desc",
    }
}

/// Returns the predicate that a row of `table` has a text in its name or slug or, with `by_uuid`, a UUID from `$3` to
/// `$4`; and the value of `$2`. An index finds texts of three or more characters.
pub(crate) fn matching(tx: &Tx<'_>, table: &str, text: &str, by_uuid: bool) -> (String, String) {
    if tx.is_postgres() {
        // Must be identical to the expression of the index. A subquery would be joined, and the planner sometimes
        // chooses a full table scan for the join.
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

/// Returns the range of all UUIDs whose text starts with `text`; `None` if no UUID can start with it.
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
