//! Converts the parameters that tools report to the parameters of a variant. The adapters extract them from the output.

use std::{collections::BTreeMap, rc::Rc};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tidemark_api::Parameters;

use crate::{
    Entries, EntryRef, Failure, Position,
    group::{are_unique, group},
};

/// A property of an entry, given its index, in addition to its name and its own parameters.
pub(crate) type Property<'a> = (&'static str, &'a dyn Fn(usize) -> Option<&'a str>);

/// Returns the parameters of a JSON object; `None` if it is empty or not an object, or if a value is nested or too long for a
/// variant.
pub(crate) fn of_object(value: &Value) -> Option<Parameters> {
    let parameters = value.as_object()?.iter().map(|(name, value)| {
        // Python and JavaScript have null values, which are valid parameters.
        let value = if value.is_null() { Value::from("null") } else { value.clone() };
        (name.clone(), value)
    });
    Parameters::deserialize(Value::Object(parameters.collect())).ok()
}

/// Parameters in a document. They are converted while the document is read, because a JSON value needs much more memory.
#[derive(Default)]
pub(crate) struct ReportedParameters {
    /// Parameters of the variant; `None` if there are none, or if they are not valid.
    pub(crate) parameters: Option<Parameters>,
    /// Whether there are parameters that are not valid.
    pub(crate) are_skipped: bool,
}

impl<'de> Deserialize<'de> for ReportedParameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let parameters = of_object(&value);
        let are_skipped = parameters.is_none() && is_given(Some(&value));
        Ok(Self { parameters, are_skipped })
    }
}

/// Whether a JSON value contains parameters.
pub(crate) fn is_given(value: Option<&Value>) -> bool {
    value.and_then(Value::as_object).is_some_and(|parameters| !parameters.is_empty())
}

/// Returns the parameters by name; `None` if there are none. Invalid parameters are an error, because without them benchmarks
/// would be mixed.
#[expect(clippy::needless_pass_by_value, reason = "callers build the parameters for this call")]
pub(crate) fn of_texts(
    position: impl FnOnce() -> Position,
    parameters: BTreeMap<impl AsRef<str> + Ord, impl AsRef<str>>,
) -> Result<Option<Parameters>, Failure> {
    if parameters.is_empty() {
        return Ok(None);
    }
    Parameters::try_from(&parameters).map(Some).map_err(|_| {
        let texts = parameters.iter().map(|(name, value)| format!("{}={}", name.as_ref(), value.as_ref()));
        let longest = texts.max_by_key(String::len);
        let expected = "up to 32 parameters with names of 1 to 64 bytes and values of up to 256 bytes";
        Failure::invalid(position(), expected, &longest.unwrap_or_default())
    })
}

/// Returns a property that shares its memory with the one of the previous entry if they are equal, because most entries of an output
/// have the same properties.
pub(crate) fn shared(value: Option<&str>, previous: Option<&Rc<str>>) -> Option<Rc<str>> {
    let value = value?;
    Some(previous.filter(|previous| ***previous == *value).map_or_else(|| value.into(), Rc::clone))
}

/// Ensures that no entry overwrites another, as [`separate`] does. Entries that no property distinguishes are an error.
pub(crate) fn distinguish(
    position: impl Fn(usize) -> Position,
    entries: &mut Entries,
    properties: &[Property<'_>],
) -> Result<(), Failure> {
    if entries.are_unique() || are_unique(entries.iter().map(series_key)) {
        return Ok(());
    }
    separate_equal(&position, entries, properties)?;
    let (groups, _) = group(&entries.iter().map(series_key).collect::<Vec<_>>());
    for (index, (entry, group)) in entries.iter().zip(groups).enumerate() {
        if group as usize != index {
            let expected = "a benchmark with a unique combination of name and parameters";
            return Err(Failure::invalid(position(index), expected, entry.label.as_str()));
        }
    }
    Ok(())
}

/// Separates entries with the same key: they get the first property in which they differ as a parameter, then the next. Entries
/// that no property distinguishes keep the same key.
///
/// A unique entry gets no further parameter, so that its series continues even if the tool reports more.
pub(crate) fn separate(
    position: impl Fn(usize) -> Position,
    entries: &mut Entries,
    properties: &[Property<'_>],
) -> Result<(), Failure> {
    if entries.are_unique() || are_unique(entries.iter().map(series_key)) {
        return Ok(());
    }
    separate_equal(&position, entries, properties)
}

fn separate_equal(
    position: impl Fn(usize) -> Position,
    entries: &mut Entries,
    properties: &[Property<'_>],
) -> Result<(), Failure> {
    for (name, value) in properties {
        let (groups, count) = group(&entries.iter().map(series_key).collect::<Vec<_>>());
        if count == entries.len() {
            return Ok(());
        }
        let (mut first_values, mut differ) = (vec![None; count], vec![false; count]);
        for (index, group) in groups.iter().map(|group| *group as usize).enumerate() {
            let value = value(index);
            differ[group] |= *first_values[group].get_or_insert(value) != value;
        }
        let mut distinct = entries.with_same_shared();
        for (index, entry) in entries.iter().enumerate() {
            let Some(value) = value(index).filter(|_| differ[groups[index] as usize]) else {
                distinct.push_ref(entry);
                continue;
            };
            let mut entry = entry.to_entry();
            let own = entry.parameters.iter().flat_map(Parameters::iter);
            let mut parameters: BTreeMap<_, _> =
                own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            parameters.entry((*name).to_owned()).or_insert_with(|| value.to_owned());
            entry.parameters = of_texts(|| position(index), parameters)?;
            distinct.push(entry);
        }
        *entries = distinct;
    }
    Ok(())
}

/// Returns the key that must be unique per entry. A benchmark may have one entry for each of several measures.
fn series_key(entry: EntryRef<'_>) -> (&[u8], Option<&str>) {
    (entry.key(), entry.metrics().next().map(|metric| metric.measure.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_scalar_values_are_parameters() {
        let parameters =
            of_object(&json!({"n": 64, "f": 2.5, "on": true, "kind": "heap", "x": null})).unwrap();
        let parameters: Vec<_> = parameters.iter().collect();
        assert_eq!(parameters, [("f", "2.5"), ("kind", "heap"), ("n", "64"), ("on", "true"), ("x", "null")]);
        for value in [json!(null), json!([1]), json!({}), json!({"a": [1]}), json!({"a": "x".repeat(257)})] {
            assert_eq!(of_object(&value), None, "{value}");
        }
    }

    #[test]
    fn invalid_parameters_are_an_error() {
        let position = || Position::Path("rows[0]".to_owned());
        assert_eq!(of_texts(position, BTreeMap::<String, String>::new()).unwrap(), None);
        assert!(of_texts(position, BTreeMap::from([("n", "1")])).unwrap().is_some());
        assert!(of_texts(position, BTreeMap::from([("n", "x".repeat(257))])).is_err());
    }
}
