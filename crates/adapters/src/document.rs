//! Parses JSON documents and reports the path and the reason of an error. The adapters interpret the documents.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_path_to_error::Track;
use tidemark_api::excerpt;

use crate::{Entries, Failure, Position, error::Reason};

/// Parses the document of a tool. A document without the members of `Shape` belongs to another tool; one that has them but
/// cannot be parsed as `Document` is invalid.
pub(crate) fn read<Shape: DeserializeOwned, Document: DeserializeOwned>(
    text: &str,
) -> Result<Document, Failure> {
    // Parses without path tracking first, because tracking costs more than the parsing itself.
    serde_json::from_str(text).or_else(|_| {
        let shape = track(PhantomData::<Shape>, text);
        let document = track(PhantomData::<Document>, text);
        match (shape, document) {
            (Err((reason, _)), _) => Err(Failure::Unrecognized(reason)),
            (Ok(_), Err((reason, _))) => Err(Failure::Invalid(reason)),
            (Ok(_), Ok(document)) => Ok(document),
        }
    })
}

/// Parses an array of rows, and passes each row with its index to a function, so that no list of all rows is in memory. A document
/// that is not an array of `Shape` belongs to another tool.
pub(crate) fn read_rows<Shape: DeserializeOwned, Row: DeserializeOwned>(
    text: &str,
    mut each: impl FnMut(usize, Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let each = |index, row: Row| match each(index, row) {
        Ok(()) => true,
        Err(reason) => {
            failure = Some(reason);
            false
        }
    };
    let rows = Rows { each, row: PhantomData };
    let read = rows.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (failure, read) {
        (Some(failure), _) => Err(failure),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) => match track(PhantomData::<Vec<Shape>>, text) {
            Err((reason, _)) => Err(Failure::Unrecognized(reason)),
            Ok(_) => {
                let rows = Rows { each: |_, _: Row| true, row: PhantomData };
                track(rows, text).map_err(|(reason, _)| Failure::Invalid(reason))
            }
        },
    }
}

/// An array whose rows are passed to a function, until it returns false.
struct Rows<Row, Each> {
    each: Each,
    row: PhantomData<Row>,
}

impl<'de, Row: DeserializeOwned, Each: FnMut(usize, Row) -> bool> DeserializeSeed<'de> for Rows<Row, Each> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, Row: DeserializeOwned, Each: FnMut(usize, Row) -> bool> Visitor<'de> for Rows<Row, Each> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut rows: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(row) = rows.next_element()? {
            if !(self.each)(index, row) {
                return Err(A::Error::custom("the row is not valid"));
            }
            index += 1;
        }
        Ok(())
    }
}

/// Passes the elements of an array, which is a member of the document, with their indexes to a function, one by one.
pub(crate) fn read_elements<Row: DeserializeOwned>(
    text: &str,
    member: &str,
    mut each: impl FnMut(usize, Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failure = None;
    let keep_first = |index, row: Row| {
        failure = each(index, row).err();
        failure.is_none()
    };
    let read = Member { name: member, seed: Rows { each: keep_first, row: PhantomData } }.read(text);
    let check = Member { name: member, seed: Rows { each: |_, _: Row| true, row: PhantomData } };
    check.explain(text, failure, read)
}

/// Passes the members of an object, which is a member of the document, to a function, one by one.
pub(crate) fn read_members<Row: DeserializeOwned>(
    text: &str,
    member: &str,
    mut each: impl FnMut(&str, Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failure = None;
    let keep_first = |name: &str, row: Row| {
        failure = each(name, row).err();
        failure.is_none()
    };
    let read = Member { name: member, seed: Members { each: keep_first, row: PhantomData } }.read(text);
    let check = Member { name: member, seed: Members { each: |_: &str, _: Row| true, row: PhantomData } };
    check.explain(text, failure, read)
}

/// A document of which only one member is read.
struct Member<'a, Seed> {
    name: &'a str,
    seed: Seed,
}

impl<'de, Seed: DeserializeSeed<'de, Value = ()>> Member<'_, Seed> {
    fn read(self, text: &'de str) -> serde_json::Result<()> {
        self.deserialize(&mut serde_json::Deserializer::from_str(text))
    }

    /// Returns the failure of the function that was called, or the path and the reason why a text cannot be read.
    fn explain(
        self,
        text: &'de str,
        failure: Option<Failure>,
        read: serde_json::Result<()>,
    ) -> Result<(), Failure> {
        match (failure, read) {
            (Some(failure), _) => Err(failure),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) => track(self, text).map_err(|(reason, _)| Failure::Invalid(reason)),
        }
    }
}

impl<'de, Seed: DeserializeSeed<'de, Value = ()>> DeserializeSeed<'de> for Member<'_, Seed> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, Seed: DeserializeSeed<'de, Value = ()>> Visitor<'de> for Member<'_, Seed> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seed = Some(self.seed);
        while let Some(name) = members.next_key::<String>()? {
            match seed.take_if(|_| name == self.name) {
                Some(seed) => members.next_value_seed(seed)?,
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// An object whose members are passed to a function, until it returns false.
struct Members<Row, Each> {
    each: Each,
    row: PhantomData<Row>,
}

impl<'de, Row: DeserializeOwned, Each: FnMut(&str, Row) -> bool> DeserializeSeed<'de> for Members<Row, Each> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, Row: DeserializeOwned, Each: FnMut(&str, Row) -> bool> Visitor<'de> for Members<Row, Each> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            let row = members.next_value()?;
            if !(self.each)(&name, row) {
                return Err(A::Error::custom("the member is not valid"));
            }
        }
        Ok(())
    }
}

/// An optional number of a document. It takes half the memory of an `Option`, because NaN marks a missing number.
#[derive(Clone, Copy)]
pub(crate) struct Number(f64);

impl Number {
    pub(crate) fn get(self) -> Option<f64> {
        Some(self.0).filter(|number| !number.is_nan())
    }
}

impl Default for Number {
    fn default() -> Self {
        None.into()
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self(number)
    }
}

impl From<Option<f64>> for Number {
    fn from(number: Option<f64>) -> Self {
        Self(number.unwrap_or(f64::NAN))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}

/// Replaces `NaN`, `Infinity` and `-Infinity`, which Python writes but JSON does not allow, by `null`.
pub(crate) fn without_python_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    // Every other part is a string, because escaped quotes do not end a part.
    let (mut rest, mut is_string) = (text, false);
    while !rest.is_empty() {
        let mut escaped = false;
        let end = rest.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = is_string && byte == b'\\' && !escaped;
            ends
        });
        let (part, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        if is_string {
            plain.push_str(part);
        } else {
            plain.push_str(
                &part.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null"),
            );
        }
        (rest, is_string) = (after, !is_string);
    }
    Cow::Owned(plain)
}

/// Returns the entries of a document, or an error if there are none; `path` is their expected path.
pub(crate) fn require_entries(entries: Entries, path: &str) -> Result<Entries, Failure> {
    if entries.is_empty() {
        return Err(Failure::missing(Position::Path(path.to_owned()), "at least one benchmark"));
    }
    Ok(entries)
}

/// Parses a value and tracks its path. An error includes its depth in the document.
pub(crate) fn track<'de, S: DeserializeSeed<'de>>(
    seed: S,
    text: &'de str,
) -> Result<S::Value, (Reason, usize)> {
    let mut track = Track::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = seed
        .deserialize(serde_path_to_error::Deserializer::new(&mut deserializer, &mut track))
        .map_err(|error| {
            let path = track.path();
            let depth = path.iter().count();
            // A truncated document or an empty key has no path.
            let path = Some(path.to_string()).filter(|path| depth > 0 && !matches!(path.as_str(), "" | "?"));
            (reason(path, &error), depth)
        })?;
    deserializer.end().map_err(|error| (reason(None, &error), 0))?;
    Ok(value)
}

/// Converts the parser's message, which names Rust types and fields, to the terms of this crate.
fn reason(path: Option<String>, error: &serde_json::Error) -> Reason {
    let position = path.map(|path| Position::Path(excerpt::of_path(&path)));
    let message = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&suffix).unwrap_or(&message);
    if !error.is_data() {
        return Reason { position, expected: format!("valid JSON ({message}{suffix})"), found: None };
    }
    let mismatch = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|prefix| message.strip_prefix(prefix))
        .and_then(|rest| rest.rsplit_once(", expected "));
    let unknown = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected "));
    if let Some((found, expected)) = mismatch.or(unknown) {
        let found = json_term(found).replace('`', "");
        return Reason {
            position,
            expected: json_term(expected).to_owned(),
            found: Some(excerpt::of_text(&found)),
        };
    }
    let expected = match message.strip_prefix("missing field ") {
        Some(member) => format!("the member {member}"),
        None => format!("a valid value ({})", excerpt::of_reason(message)),
    };
    Reason { position, expected, found: None }
}

/// Returns the JSON term for a Rust type.
fn json_term(kind: &str) -> &str {
    match kind {
        "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i64" | "i32" => "a whole number",
        "a string" => "a text",
        "sequence" | "a sequence" => "an array",
        "map" | "a map" => "an object",
        kind if kind.starts_with("struct ") => "an object",
        kind if kind.starts_with("tuple struct ") => "an array",
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, de::IgnoredAny};

    use super::*;

    #[derive(Deserialize)]
    struct Shape {
        #[expect(dead_code, reason = "only its presence matters")]
        rows: IgnoredAny,
    }

    #[derive(Debug, Deserialize)]
    struct Rows {
        rows: Vec<Row>,
    }

    #[derive(Debug, Deserialize)]
    struct Row {
        #[expect(dead_code, reason = "only its type matters")]
        mean: f64,
    }

    fn failure(text: &str) -> String {
        match read::<Shape, Rows>(text).unwrap_err() {
            Failure::Unrecognized(reason) => format!("unrecognized: {reason:?}"),
            failure @ Failure::Invalid(_) => failure.into_error(tidemark_api::Adapter::Json).to_string(),
        }
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_path() {
        assert_eq!(read::<Shape, Rows>(r#"{"rows": [{"mean": 1}]}"#).unwrap().rows.len(), 1);
        insta::assert_snapshot!(failure(r#"{"rows": [{"mean": 1}, {"mean": "x"}]}"#), @r#"The adapter `json` cannot read the output at `rows[1].mean`: expected a number, found `string "x"`."#);
        insta::assert_snapshot!(failure(r#"{"rows": [{}]}"#), @"The adapter `json` cannot read the output at `rows[0]`: expected the member `mean`.");
        insta::assert_snapshot!(failure(r#"{"rows": 5}"#), @"The adapter `json` cannot read the output at `rows`: expected an array, found `integer 5`.");
    }

    #[test]
    fn numbers_of_python_are_null() {
        let text = r#"{"NaN": [NaN, -Infinity, "a \" NaN \\", Infinity]}"#;
        assert_eq!(without_python_numbers(text), r#"{"NaN": [null, null, "a \" NaN \\", null]}"#);
        assert!(matches!(without_python_numbers("[1]"), Cow::Borrowed("[1]")));
    }

    #[test]
    fn a_document_of_another_tool_is_not_recognized() {
        for text in ["", "{", "5", "{}", r#"{"rows": []} x"#] {
            assert!(failure(text).starts_with("unrecognized"), "{text}");
        }
    }
}
