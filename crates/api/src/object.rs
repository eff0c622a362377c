//! Deserialization of nested objects: accepts only objects. Serde alone also accepts an array with the fields in order of
//! declaration.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

/// Deserializes an object or null; for `#[serde(deserialize_with)]`.
pub(crate) fn optional<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::<Object<T>>::deserialize(deserializer).map(|object| object.map(|Object(value)| value))
}

/// Deserializes a map of objects or null; for `#[serde(deserialize_with)]`.
pub(crate) fn map<'de, K, T, D>(deserializer: D) -> Result<Option<BTreeMap<K, T>>, D::Error>
where
    K: Deserialize<'de> + Ord,
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let map = Option::<BTreeMap<K, Object<T>>>::deserialize(deserializer)?;
    Ok(map.map(|map| map.into_iter().map(|(key, Object(value))| (key, value)).collect()))
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::NewReport;

    #[test]
    fn an_array_is_not_an_object() {
        let report = |field: &str, value: serde_json::Value| {
            let mut body = json!({
                "branch": "main", "testbed": "box", "start_time": "2026-01-01T00:00:00Z",
                "end_time": "2026-01-01T00:00:00Z", "results": [],
            });
            body[field] = value;
            serde_json::from_value::<NewReport>(body).map_err(|error| error.to_string())
        };
        for field in ["thresholds", "settings", "start_point"] {
            assert!(report(field, json!(null)).unwrap().thresholds.is_none());
            assert!(report(field, json!({})).is_ok());
            let refused = report(field, json!([])).unwrap_err();
            assert_eq!(refused, "invalid type: sequence, expected an object", "{field}");
        }
        assert!(report("thresholds", json!({ "models": { "latency": { "test": "t_test" } } })).is_ok());
        assert!(report("thresholds", json!({ "models": { "latency": ["t_test"] } })).is_err());
    }
}
