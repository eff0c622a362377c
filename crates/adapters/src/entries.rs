//! Benchmarks of a result, packed into one buffer. A report can have a million benchmarks with one metric each, and an allocation
//! per name and per list of metrics would take many times the memory of the output.
//!
//! Adapters push an [`Entry`], and readers iterate over [`EntryRef`], which borrows from the buffer.

use std::fmt;

use tidemark_api::Parameters;

use crate::{
    Entry, Label, ParsedMetric,
    group::are_unique,
    packed::{LOWER, Packed, REFERENCE, UPPER, push_number, push_text, take, take_number, text},
    results::{MetricRef, ignored_name},
    shared::{self, Measure, PackedMetric, PackedMetrics, Shared},
};

/// Benchmarks in the order of the output.
#[derive(Clone, Default)]
pub struct Entries {
    /// The benchmarks, each as [`Packed`].
    bytes: Vec<u8>,
    /// Start of the last entry.
    last: usize,
    count: usize,
    /// Whether the keys are known to be unique.
    are_unique: bool,
    /// Whether a name may be nothing but an ignore suffix.
    has_bare_suffix: bool,
    shared: Shared,
}

/// A benchmark in [`Entries`].
#[derive(Clone, Copy)]
pub struct EntryRef<'a> {
    /// Name or reference of the benchmark.
    pub label: Label<&'a str>,
    /// Whether alerts are disabled.
    pub ignored: bool,
    parameters: &'a str,
    key: &'a [u8],
    metrics: Metrics<'a>,
}

/// Metrics of a benchmark in [`Entries`].
#[derive(Clone, Copy)]
pub struct Metrics<'a> {
    bytes: &'a [u8],
    left: usize,
    shared: &'a Shared,
}

impl Entries {
    /// Returns the number of benchmarks.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no benchmarks.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the benchmarks in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { bytes: &self.bytes, left: self.count, shared: &self.shared }
    }

    /// Adds a benchmark. Removes an ignore suffix of its label, and keeps the last metric of each measure, in the order of the
    /// first ones.
    pub fn push(&mut self, entry: Entry) {
        let Entry { label, parameters, mut ignored, metrics } = entry;
        let mut name = label.as_str();
        match ignored_name(name).filter(|_| !ignored) {
            Some("") => self.has_bare_suffix = true,
            Some(rest) => (name, ignored) = (rest, true),
            None => {}
        }
        let metrics: PackedMetrics = metrics
            .into_iter()
            .map(|metric| {
                let ParsedMetric { measure, units, direction, value, lower_value, upper_value } = metric;
                let measure = self.shared.measure_index(Measure { name: measure, units, direction });
                PackedMetric { measure, value, lower_value, upper_value }
            })
            .collect();
        let reference = if matches!(label, Label::Reference(_)) { REFERENCE } else { 0 };
        let packed = parameters.as_ref().map(Parameters::packed);
        let variant = packed.map_or(shared::NO_PARAMETERS, |packed| self.shared.variant(packed));
        self.start_key(&[]);
        push_number(&mut self.bytes, variant << 1 | reference);
        push_text(&mut self.bytes, name);
        if let Some(packed) = packed.filter(|_| variant == shared::OWN_PARAMETERS) {
            push_text(&mut self.bytes, packed);
        }
        self.finish(ignored, metrics);
    }

    /// Whether no two benchmarks have the same label and parameters. The answer is kept until a benchmark is added, because the
    /// hashes of all keys take time.
    pub(crate) fn are_unique(&mut self) -> bool {
        if !self.are_unique {
            let mut bytes = self.bytes.as_slice();
            let keys = (0..self.count).map(|_| {
                let Packed { key, .. } = Packed::take(&mut bytes);
                key
            });
            self.are_unique = are_unique(keys);
        }
        self.are_unique
    }

    /// Returns the first name that is nothing but an ignore suffix.
    pub(crate) fn bare_suffix(&self) -> Option<&str> {
        let is_bare = |entry: &EntryRef<'_>| !entry.ignored && ignored_name(entry.label.as_str()).is_some();
        let entry = self.has_bare_suffix.then(|| self.iter().find(is_bare))??;
        Some(entry.label.as_str())
    }

    /// Changes the last benchmark, if there is one.
    pub(crate) fn change_last(&mut self, change: impl FnOnce(&mut Entry)) {
        if let Some(last) = self.at(self.last) {
            let mut entry = last.to_entry();
            self.bytes.truncate(self.last);
            self.count -= 1;
            change(&mut entry);
            self.push(entry);
        }
    }

    /// Keeps the benchmarks for which a function returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(EntryRef<'_>) -> bool) {
        let kept: Vec<bool> = self.iter().map(&mut keep).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        let mut retained = self.with_same_shared();
        for (entry, _) in self.iter().zip(kept).filter(|(_, kept)| *kept) {
            retained.push_ref(entry);
        }
        *self = retained;
    }

    /// Merges the benchmarks of the same group, given the group of each benchmark from zero in order of appearance. Of two metrics
    /// of the same measure, the later one is kept.
    pub(crate) fn merge(&mut self, groups: &[u32]) {
        self.combine(groups, |merged, same| {
            let Some(first) = same.first() else { return };
            merged.start_key(first.key);
            merged.finish(first.ignored, same.iter().flat_map(|entry| entry.metrics.packed()).collect());
        });
    }

    /// Replaces the benchmarks of the same group by one entry, given the group of each benchmark as for [`Self::merge`].
    pub(crate) fn fold(&mut self, groups: &[u32], fold: impl Fn(&[EntryRef<'_>]) -> Entry) {
        self.combine(groups, |folded, same| match same {
            [one] => folded.push_ref(*one),
            same => folded.push(fold(same)),
        });
    }

    fn combine(&mut self, groups: &[u32], add: impl Fn(&mut Self, &[EntryRef<'_>])) {
        let mut order: Vec<(u32, usize)> = Vec::with_capacity(self.count);
        let mut rest = self.iter();
        for group in groups {
            order.push((*group, self.bytes.len() - rest.bytes.len()));
            rest.next();
        }
        order.sort_unstable();
        let mut merged = self.with_same_shared();
        for same in order.chunk_by(|left, right| left.0 == right.0) {
            let entries = same.iter().filter_map(|(_, start)| self.at(*start));
            add(&mut merged, &entries.collect::<Vec<_>>());
        }
        *self = merged;
    }

    /// Returns the benchmark whose key starts at a byte.
    fn at(&self, start: usize) -> Option<EntryRef<'_>> {
        let left = usize::from(start < self.bytes.len());
        Iter { bytes: &self.bytes[start..], left, shared: &self.shared }.next()
    }

    /// Adds a benchmark of entries from which [`Self::with_same_shared`] created these.
    pub(crate) fn push_ref(&mut self, entry: EntryRef<'_>) {
        self.start_key(entry.key);
        self.finish(entry.ignored, entry.metrics.packed().collect());
    }

    /// Creates empty entries for benchmarks of these entries, with the parameters and measures that they share.
    pub(crate) fn with_same_shared(&self) -> Self {
        Self { shared: self.shared.clone(), has_bare_suffix: self.has_bare_suffix, ..Self::default() }
    }

    fn start_key(&mut self, key: &[u8]) {
        self.are_unique = false;
        self.last = self.bytes.len();
        self.bytes.extend_from_slice(key);
    }

    fn finish(&mut self, ignored: bool, mut metrics: PackedMetrics) {
        self.shared.keep_last_of_each(&mut metrics);
        push_number(&mut self.bytes, metrics.len() << 1 | usize::from(ignored));
        for PackedMetric { measure, value, lower_value, upper_value } in metrics {
            let bit = |bound: Option<f64>, bit| if bound.is_some() { bit } else { 0 };
            push_number(&mut self.bytes, measure << 2 | bit(lower_value, LOWER) | bit(upper_value, UPPER));
            for number in [Some(value), lower_value, upper_value].into_iter().flatten() {
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        self.count += 1;
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<T: IntoIterator<Item = Entry>>(entries: T) -> Self {
        let mut all = Self::default();
        all.extend(entries);
        all
    }
}

impl Extend<Entry> for Entries {
    fn extend<T: IntoIterator<Item = Entry>>(&mut self, entries: T) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

impl From<Vec<Entry>> for Entries {
    fn from(entries: Vec<Entry>) -> Self {
        entries.into_iter().collect()
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = EntryRef<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over the benchmarks of [`Entries`].
#[derive(Clone)]
pub struct Iter<'a> {
    bytes: &'a [u8],
    left: usize,
    shared: &'a Shared,
}

impl<'a> Iterator for Iter<'a> {
    type Item = EntryRef<'a>;

    fn next(&mut self) -> Option<EntryRef<'a>> {
        self.left = self.left.checked_sub(1)?;
        let Packed { kind, name, parameters, key, count, metrics } = Packed::take(&mut self.bytes);
        let name = text(name);
        let parameters = match kind >> 1 {
            shared::NO_PARAMETERS => "",
            shared::OWN_PARAMETERS => text(parameters),
            variant => self.shared.parameters(variant),
        };
        let label = if kind & REFERENCE == 0 { Label::Name(name) } else { Label::Reference(name) };
        let metrics = Metrics { bytes: metrics, left: count >> 1, shared: self.shared };
        Some(EntryRef { label, ignored: count & 1 == 1, parameters, key, metrics })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> EntryRef<'a> {
    /// Returns the metrics, one per measure.
    pub fn metrics(&self) -> Metrics<'a> {
        self.metrics
    }

    /// Returns the parameters of the variant.
    pub fn parameters(&self) -> Option<Parameters> {
        self.has_parameters().then(|| Parameters::from_packed(self.parameters))
    }

    /// Whether the variant has parameters.
    pub fn has_parameters(&self) -> bool {
        // Parameters have at least one name.
        !self.parameters.is_empty()
    }

    /// Returns a key that is equal for the same label and parameters within the same entries.
    pub(crate) fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Returns the label and the parameters, for a comparison with other entries.
    pub(crate) fn variant(&self) -> (Label<&'a str>, &'a str) {
        (self.label, self.parameters)
    }

    /// Returns a copy that does not borrow from the entries.
    pub fn to_entry(&self) -> Entry {
        Entry {
            label: self.label.to_name(),
            parameters: self.parameters(),
            ignored: self.ignored,
            metrics: self.metrics().map(MetricRef::to_metric).collect(),
        }
    }
}

impl PartialEq for EntryRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.variant() == other.variant()
            && self.ignored == other.ignored
            && self.metrics().eq(other.metrics())
    }
}

impl fmt::Debug for EntryRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_entry().fmt(formatter)
    }
}

impl Metrics<'_> {
    fn next_packed(&mut self) -> Option<PackedMetric> {
        self.left = self.left.checked_sub(1)?;
        let measure = take_number(&mut self.bytes);
        let mut number = || {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(take(&mut self.bytes, 8));
            f64::from_le_bytes(bytes)
        };
        let value = number();
        let lower_value = (measure & LOWER != 0).then(&mut number);
        let upper_value = (measure & UPPER != 0).then(&mut number);
        Some(PackedMetric { measure: measure >> 2, value, lower_value, upper_value })
    }

    fn packed(mut self) -> impl Iterator<Item = PackedMetric> {
        std::iter::from_fn(move || self.next_packed())
    }
}

impl<'a> Iterator for Metrics<'a> {
    type Item = MetricRef<'a>;

    fn next(&mut self) -> Option<MetricRef<'a>> {
        let PackedMetric { measure, value, lower_value, upper_value } = self.next_packed()?;
        let Measure { name, units, direction } = self.shared.measure(measure);
        let (units, direction) = (units.as_ref(), *direction);
        Some(MetricRef { measure: name, units, direction, value, lower_value, upper_value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Metrics<'_> {}

#[cfg(test)]
mod tests {
    use tidemark_api::MeasureDirection;

    use super::*;
    use crate::shared::FEW;

    /// Entries with more parameters and measures than are shared.
    fn entries() -> Vec<Entry> {
        let metric = |index: usize| ParsedMetric {
            measure: format!("measure {index}").parse().unwrap(),
            units: index.is_multiple_of(2).then(|| "u".parse().unwrap()),
            direction: index.is_multiple_of(3).then_some(MeasureDirection::LowerIsBetter),
            value: index as f64 / 3.0,
            lower_value: index.is_multiple_of(5).then_some(-1.5),
            upper_value: index.is_multiple_of(7).then_some(f64::MAX),
        };
        let entry = |index: usize| Entry {
            label: match index % 2 {
                0 => Label::Name("ä".repeat(index + 1).parse().unwrap()),
                _ => Label::Reference("x".repeat(index * 7).parse().unwrap()),
            },
            parameters: (!index.is_multiple_of(3)).then(|| {
                let number = index % (2 * FEW);
                Parameters::try_from(&[("n".to_owned(), number.to_string())].into_iter().collect()).unwrap()
            }),
            ignored: index.is_multiple_of(4),
            metrics: (0..index).map(metric).collect(),
        };
        (0..5 * FEW).map(entry).collect()
    }

    #[test]
    fn entries_are_unpacked_unchanged() {
        let all = entries();
        let mut entries = Entries::from(all.clone());
        assert_eq!(entries.iter().map(|entry| entry.to_entry()).collect::<Vec<_>>(), all);
        entries.change_last(|entry| entry.metrics.truncate(1));
        assert_eq!(entries.len(), 80);
        assert_eq!(entries.iter().last().unwrap().metrics().len(), 1);
        entries.retain(|entry| entry.ignored);
        assert_eq!(entries.len(), 20);
        let mut empty = Entries::default();
        empty.change_last(|_| unreachable!("there is no entry"));
        assert_eq!(empty, Entries::default());
    }

    #[test]
    fn a_benchmark_that_is_added_can_be_a_duplicate() {
        let all = entries();
        let mut entries = Entries::from(all.clone());
        assert!(entries.are_unique() && entries.are_unique());
        entries.push(all[5].clone());
        assert!(!entries.are_unique());
        entries.change_last(|entry| entry.label = Label::Name("new".parse().unwrap()));
        assert!(entries.are_unique());
    }

    #[test]
    fn a_bare_suffix_is_found_in_remaining_entries() {
        let named = |name: &str| Entry {
            label: Label::Name(name.parse().unwrap()),
            parameters: None,
            ignored: false,
            metrics: Vec::new(),
        };
        let mut entries =
            Entries::from(vec![named("a-tidemark-ignore"), named("-tidemark-ignore"), named("b")]);
        entries.retain(|entry| entry.label.as_str() != "b");
        assert_eq!(entries.bare_suffix(), Some("-tidemark-ignore"));
        entries.retain(|entry| entry.ignored);
        assert_eq!(entries.bare_suffix(), None);
    }

    #[test]
    fn entries_that_share_other_parameters_are_equal() {
        let mut all = entries();
        let entries = Entries::from(all.clone());
        let last = all.len() - 1;
        all.rotate_left(last);
        let mut rotated = Entries::from(all);
        assert_ne!(rotated, entries);
        let first = rotated.iter().next().map(|entry| entry.to_entry());
        rotated.retain(|entry| Some(entry.to_entry()) != first);
        rotated.extend(first);
        assert_eq!(rotated, entries);
        assert_ne!(
            rotated.iter().map(|entry| entry.key()).collect::<Vec<_>>(),
            entries.iter().map(|entry| entry.key()).collect::<Vec<_>>(),
        );
    }
}
