//! Keys of the tables of an imported project: new keys for its rows, and the references between the rows.
//!
//! An archive can come from another organization. No key of an imported row, and no reference, may be the key of another project.

use super::{damaged, format};
use crate::{error::Result, metric, value::Value, vector};

/// Highest key that an import assigns. An import with one huge key would leave no keys for other rows.
const MAX_KEY: i64 = 1 << 53;

/// Keys of a table in the archive, and the number to add to them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyRange {
    first: i64,
    last: i64,
    offset: i64,
}

impl KeyRange {
    /// Moves the keys behind the used keys.
    pub(super) fn new(table: &str, (first, last): (i64, i64), used: i64) -> Result<Self> {
        // Metrics contain the position of a series in a group of neighboring series, which does not change.
        let (group, max) =
            if table == "series" { (metric::SERIES_PER_ROW, i64::from(u32::MAX)) } else { (1, MAX_KEY) };
        if !(1..=last).contains(&first) || last > max {
            return Err(damaged(&format!("the keys of {table} are {first} to {last}")));
        }
        let next = used.saturating_add(group).div_euclid(group).saturating_mul(group);
        let offset = next.saturating_sub(first - first.rem_euclid(group));
        if last.saturating_add(offset) > max {
            return Err(crate::Error::engine(format!("there are no more keys for {table}")));
        }
        Ok(Self { first, last, offset })
    }

    /// Returns the highest new key.
    pub(super) fn new_last(self) -> i64 {
        self.last.saturating_add(self.offset)
    }

    fn new_key(self, key: i64) -> Result<i64> {
        if (self.first..=self.last).contains(&key) && key > 0 {
            return Ok(key.saturating_add(self.offset));
        }
        Err(damaged(&format!("a row has or refers to the key {key}, which is not in the archive")))
    }

    /// Appends a value with new keys to a row.
    pub(super) fn renumber(self, column: &str, value: &Value<'_>, row: &mut Vec<u8>) -> Result<()> {
        match *value {
            Value::Null if column != "id" => format::encode(row, value),
            Value::Int(0) if column == "variant_id" => format::encode(row, value),
            Value::Int(bucket) if column == "bucket" => {
                let group = metric::SERIES_PER_ROW;
                if !(self.first / group..=self.last / group).contains(&bucket) || self.last == 0 {
                    return Err(damaged("metrics refer to a series that is not in the archive"));
                }
                format::encode(row, &Value::Int(bucket + self.offset / group))
            }
            Value::Int(key) if column == "id" => format::encode(row, &Value::Int(self.new_key(key)?)),
            Value::Int(key) if column == "start_version_id" && !(self.first..=self.last).contains(&key) => {
                format::encode(row, &Value::Null)
            }
            // A deleted row: its neighbor takes its place in comparisons of keys.
            Value::Int(key) => {
                let key = key.max(self.first).min(self.last).saturating_add(self.offset);
                format::encode(row, &Value::Int(key))
            }
            Value::Blob(bytes) => {
                let new_key = |key| self.new_key(key);
                let bytes = match column {
                    "series" => vector::renumber_series(bytes, new_key)?,
                    "factors" => vector::renumber_measures(bytes, new_key)?,
                    "body" => metric::renumber_models(bytes, new_key)?,
                    _ => return Err(damaged(&format!("{column} is not a key"))),
                };
                format::encode(row, &Value::Blob(&bytes))
            }
            // SQLite would convert the text "5" to the key 5.
            _ => Err(damaged(&format!("{column} is not a key"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_follow_the_used_keys() {
        let range = KeyRange::new("branch", (3, 9), 100).unwrap();
        assert_eq!((range.new_key(3).unwrap(), range.new_last()), (101, 107));
        assert!(range.new_key(2).is_err() && range.new_key(10).is_err());
        // Groups of series stay together.
        let range = KeyRange::new("series", (70, 200), 100).unwrap();
        assert_eq!(range.new_key(70).unwrap(), 134);
    }

    #[test]
    fn keys_that_reach_other_rows_are_rejected() {
        for keys in [(i64::MIN, 5), (0, 5), (5, 4), (-3, 5), (1, i64::MAX), (MAX_KEY, MAX_KEY + 1)] {
            assert!(KeyRange::new("branch", keys, 100).is_err(), "{keys:?}");
        }
        assert!(KeyRange::new("series", (1, i64::from(u32::MAX)), 100).is_err());
    }
}
