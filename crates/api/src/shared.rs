//! Values that occur repeatedly in a response: serialized once, then copied.

use std::{ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A value that several parts of a response share. Clones share its JSON.
#[derive(Clone, Debug)]
pub struct Shared<T>(Arc<(T, Option<Box<RawValue>>)>);

impl<T: Serialize> Shared<T> {
    /// Creates a shared value and serializes it.
    pub fn new(value: T) -> Self {
        let json = to_raw_value(&value).ok();
        Self(Arc::new((value, json)))
    }
}

impl<T: Serialize> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.0
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.1 {
            Some(json) => json.serialize(serializer),
            None => self.0.0.serialize(serializer),
        }
    }
}

impl<'de, T: Serialize + Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_value_has_the_json_of_its_value() {
        let text = r#"[{"name":"a \"quoted\" one"},{"name":null}]"#;
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let shared: Shared<serde_json::Value> = serde_json::from_str(text).unwrap();
        assert_eq!(*shared, value);
        assert_eq!(
            serde_json::to_string(&vec![shared.clone(), shared.clone()]).unwrap(),
            format!("[{text},{text}]")
        );
        assert_eq!(serde_json::to_value(&shared).unwrap(), value);
    }
}
