//! Matches the mutes of a project with series. An operation reads the active mutes once and matches the series in memory; lists of
//! events match them in the database.

use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry};

use tidemark_api::{
    Benchmark, Branch, Change, Event, EventUuid, Mute, Muted, NamePattern, Report, Testbed, Timestamp,
};
use tidemark_store::{
    BenchmarkId, BranchId, Dimension, MuteId, ProjectId, Result, TestbedId, Tx,
    event::{MutedGroup, MutedSeries},
    mute::{self, MuteRow},
};

/// The mutes of a project that have effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mutes {
    rows: Vec<MuteRow>,
    /// Fingerprints of the branch, the testbed and the benchmark of each mute.
    fingerprints: Vec<[Fingerprint; 3]>,
}

impl Mutes {
    /// Reads the mutes that have effect.
    pub(crate) fn read(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Result<Self> {
        mute::active(tx, project, now).map(Self::new)
    }

    fn new(rows: Vec<MuteRow>) -> Self {
        let fingerprints = |MuteRow { mute, .. }: &MuteRow| {
            [&mute.branch, &mute.testbed, &mute.benchmark]
                .map(|pattern| Fingerprint::of_pattern(pattern.as_ref().map(NamePattern::as_str)))
        };
        Self { fingerprints: rows.iter().map(fingerprints).collect(), rows }
    }

    /// Whether there is no mute.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the first mute that matches a series.
    fn find(&self, branch: &str, testbed: &str, benchmark: &str) -> Option<&MuteRow> {
        let names = [branch, testbed, benchmark].map(Fingerprint::of);
        let may_match = |mute: &[Fingerprint; 3]| {
            names.iter().zip(mute).all(|(name, pattern)| name.may_contain(*pattern))
        };
        let candidates = self.fingerprints.iter().zip(&self.rows);
        let mut candidates = candidates.filter(|(fingerprints, _)| may_match(fingerprints));
        candidates.find(|(_, row)| row.mute.matches(branch, testbed, benchmark)).map(|(_, row)| row)
    }

    /// Returns the mute of a series.
    pub(crate) fn of_series(&self, branch: &str, testbed: &str, benchmark: &str) -> Option<Muted> {
        self.find(branch, testbed, benchmark).map(|row| Muted::from(&row.mute))
    }

    /// Whether a series is muted.
    pub(crate) fn matches(&self, branch: &str, testbed: &str, benchmark: &str) -> bool {
        self.find(branch, testbed, benchmark).is_some()
    }

    /// Returns the muted ones of these benchmarks on a branch and a testbed.
    pub(crate) fn of_benchmarks(
        &self,
        tx: &mut Tx<'_>,
        branch: BranchId,
        testbed: TestbedId,
        benchmarks: impl Iterator<Item = BenchmarkId>,
    ) -> Result<HashMap<BenchmarkId, MuteId>> {
        if self.is_empty() {
            return Ok(HashMap::new());
        }
        let mut keys: Vec<i64> = benchmarks.map(BenchmarkId::get).collect();
        keys.sort_unstable();
        keys.dedup();
        let (branch, testbed) = (Branch::view(tx, branch)?.name, Testbed::view(tx, testbed)?.name);
        let benchmarks = Benchmark::by_ids::<Benchmark>(tx, &keys)?.into_iter();
        let muted = benchmarks.filter_map(|(id, benchmark)| {
            let found = self.find(branch.as_str(), testbed.as_str(), benchmark.name.as_str())?;
            Some((id, found.id))
        });
        Ok(muted.collect())
    }

    /// Marks the muted changes.
    pub(crate) fn mark_changes<'a>(&self, changes: impl IntoIterator<Item = &'a mut Change>) {
        for change in changes {
            change.muted = self.of_series(
                change.branch.name.as_str(),
                change.testbed.name.as_str(),
                change.benchmark.name.as_str(),
            );
        }
    }

    /// Marks the alerts of reports whose series are muted now, in addition to alerts that were raised while they were muted.
    pub(crate) fn mark_alerts(&self, report: &mut Report) {
        let (branch, testbed) = (report.branch.name.as_str(), report.testbed.name.as_str());
        for alert in report.alerts.iter_mut().flatten().filter(|alert| alert.muted.is_none()) {
            alert.muted = self.of_series(branch, testbed, alert.benchmark.name.as_str());
        }
    }

    /// Marks the events whose series are all muted, and their muted changes. Reads the series of these events.
    pub(crate) fn mark_events(&self, tx: &mut Tx<'_>, events: &mut [Event]) -> Result<()> {
        if self.is_empty() || events.is_empty() {
            return Ok(());
        }
        let uuids: Vec<EventUuid> = events.iter().map(|event| event.uuid).collect();
        // `None` if a series is not muted.
        let mut muted: HashMap<EventUuid, Option<Muted>> = HashMap::new();
        for series in mute::event_series(tx, &uuids)? {
            let found = self.of_series(&series.branch, &series.testbed, &series.benchmark);
            let all = muted.entry(series.event).or_insert_with(|| found.clone());
            if found.is_none() {
                *all = None;
            }
        }
        for event in events {
            event.muted = muted.remove(&event.uuid).flatten();
            self.mark_changes(&mut event.changes);
        }
        Ok(())
    }

    /// Returns the filter of events that are muted, or of all others. Reads the names of branches, testbeds and benchmarks that the
    /// mutes match.
    pub(crate) fn event_filter(
        &self,
        tx: &mut Tx<'_>,
        project: ProjectId,
        is_muted: bool,
    ) -> Result<MutedSeries> {
        let branches = MatchingKeys::read::<Branch>(tx, project, &self.patterns(|mute| &mute.branch))?;
        let testbeds = MatchingKeys::read::<Testbed>(tx, project, &self.patterns(|mute| &mute.testbed))?;
        let benchmarks =
            MatchingKeys::read::<Benchmark>(tx, project, &self.patterns(|mute| &mute.benchmark))?;
        // The same patterns count once.
        let mutes: BTreeSet<_> = self
            .rows
            .iter()
            .map(|MuteRow { mute, .. }| {
                [&mute.branch, &mute.testbed, &mute.benchmark]
                    .map(|pattern| pattern.as_ref().map(NamePattern::as_str))
            })
            .collect();
        let keys = |found: &MatchingKeys<'_>, pattern: Option<&str>| {
            pattern.map(|pattern| found.of(pattern).iter().copied().collect::<BTreeSet<i64>>())
        };
        let series = mutes.into_iter().map(|[branch, testbed, benchmark]| {
            [keys(&branches, branch), keys(&testbeds, testbed), keys(&benchmarks, benchmark)]
        });
        let has_series = |lists: &SeriesKeys| lists.iter().flatten().all(|keys| !keys.is_empty());
        // A statement has one condition per group: most mutes differ only in their benchmark, or only in their branch.
        let series = [2, 0, 1, 2].into_iter().fold(series.filter(has_series).collect(), merge);
        let list = |keys: Option<BTreeSet<i64>>| keys.map(|keys| keys.into_iter().collect());
        let groups = series.into_iter().map(|[branches, testbeds, benchmarks]| MutedGroup {
            branches: list(branches),
            testbeds: list(testbeds),
            benchmarks: list(benchmarks),
        });
        Ok(MutedSeries { groups: groups.collect(), is_muted })
    }

    fn patterns(&self, of: impl Fn(&Mute) -> &Option<NamePattern>) -> BTreeSet<&str> {
        self.rows.iter().filter_map(|row| of(&row.mute).as_ref()).map(NamePattern::as_str).collect()
    }
}

/// Keys of branches, testbeds and benchmarks; `None` for all.
type SeriesKeys = [Option<BTreeSet<i64>>; 3];

/// Merges the groups that differ only in the keys at one place.
fn merge(groups: Vec<SeriesKeys>, place: usize) -> Vec<SeriesKeys> {
    let mut merged: BTreeMap<SeriesKeys, Option<BTreeSet<i64>>> = BTreeMap::new();
    for mut group in groups {
        let keys = group[place].take();
        match merged.entry(group) {
            Entry::Vacant(entry) => {
                entry.insert(keys);
            }
            Entry::Occupied(mut entry) => match (entry.get_mut(), keys) {
                (Some(all), Some(keys)) => all.extend(keys),
                (all, _) => *all = None,
            },
        }
    }
    let group = |(mut group, keys): (SeriesKeys, _)| {
        group[place] = keys;
        group
    };
    merged.into_iter().map(group).collect()
}

/// The keys of the items of a dimension that patterns match.
struct MatchingKeys<'a>(HashMap<&'a str, Vec<i64>>);

impl<'a> MatchingKeys<'a> {
    fn read<D: Dimension>(tx: &mut Tx<'_>, project: ProjectId, patterns: &BTreeSet<&'a str>) -> Result<Self> {
        let mut keys: HashMap<&str, Vec<i64>> = HashMap::new();
        if patterns.is_empty() {
            return Ok(Self(keys));
        }
        let wildcards: Vec<_> = patterns.iter().copied().filter(|text| text.contains('*')).collect();
        let wildcards: Vec<_> = wildcards.into_iter().filter_map(CompiledPattern::new).collect();
        let names: Vec<&str> = patterns.iter().copied().filter(|text| !text.contains('*')).collect();
        // An index finds names without a wildcard.
        let only = wildcards.is_empty().then_some(names.as_slice());
        for (key, name) in D::key_names(tx, project, only)? {
            if let Some(pattern) = patterns.get(name.as_str()).filter(|text| !text.contains('*')) {
                keys.entry(*pattern).or_default().push(key);
            }
            let fingerprint = Fingerprint::of(&name);
            for wildcard in &wildcards {
                if fingerprint.may_contain(wildcard.fingerprint) && wildcard.pattern.matches(&name) {
                    keys.entry(wildcard.text).or_default().push(key);
                }
            }
        }
        Ok(Self(keys))
    }

    fn of(&self, pattern: &str) -> &[i64] {
        self.0.get(pattern).map_or(&[], Vec::as_slice)
    }
}

/// A pattern with a wildcard.
struct CompiledPattern<'a> {
    text: &'a str,
    pattern: NamePattern,
    fingerprint: Fingerprint,
}

impl<'a> CompiledPattern<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let pattern = text.parse().ok()?;
        Some(Self { text, pattern, fingerprint: Fingerprint::of_pattern(Some(text)) })
    }
}

/// The sequences of three bytes of a text, hashed to 128 bits. A name that matches a pattern has all sequences of the pattern, so
/// that one comparison of two numbers excludes almost all names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fingerprint(u128);

impl Fingerprint {
    fn of(text: &str) -> Self {
        let bit = |bytes: &[u8]| {
            let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            // Multiplicative hashing: the upper bits depend on all bits of the number.
            1_u128 << (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57)
        };
        Self(text.as_bytes().windows(3).map(bit).fold(0, |bits, bit| bits | bit))
    }

    fn of_pattern(pattern: Option<&str>) -> Self {
        let parts = pattern.into_iter().flat_map(|pattern| pattern.split('*'));
        Self(parts.map(Self::of).fold(0, |bits, part| bits | part.0))
    }

    /// Whether a text with this fingerprint may contain the parts of a pattern.
    fn may_contain(self, pattern: Self) -> bool {
        pattern.0 & !self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidemark_store::MuteId;

    use super::*;

    fn row(id: i64, benchmark: Option<&str>, branch: Option<&str>, testbed: Option<&str>) -> MuteRow {
        let mute = serde_json::from_value(json!({
            "uuid": "0190a000-0000-7000-8000-000000000000", "benchmark": benchmark, "branch": branch,
            "testbed": testbed, "reason": "Flaky", "actor": { "kind": "user" },
            "created": "2026-01-01T00:00:00Z", "expires": null,
        }));
        MuteRow { id: MuteId::from(id), mute: mute.unwrap() }
    }

    #[test]
    fn groups_that_differ_in_one_dimension_are_merged() {
        let keys = |keys: &[i64]| Some(keys.iter().copied().collect::<BTreeSet<i64>>());
        let groups = vec![
            [keys(&[1]), None, keys(&[7])],
            [keys(&[2]), None, keys(&[7])],
            [keys(&[3]), None, keys(&[8])],
            [keys(&[4]), None, None],
            [keys(&[4]), None, keys(&[9])],
        ];
        let merged = [2, 0, 1, 2].into_iter().fold(groups, merge);
        let expected =
            [[keys(&[1, 2]), None, keys(&[7])], [keys(&[3]), None, keys(&[8])], [keys(&[4]), None, None]];
        assert_eq!(merged, expected);
    }

    #[test]
    fn the_first_mute_that_matches_is_found() {
        let texts = ["parse", "p*", "*se", "*ar*", "*", "a*b*c", "x", "parse::json", "é*", "*ü*", "ab", "**"];
        let names = ["parse", "p", "", "se", "parse::json", "abc", "aXbYc", "éü", "x", "ab", "ba"];
        for pattern in texts {
            let mutes =
                Mutes::new(vec![row(1, Some(pattern), None, None), row(2, None, Some("m*"), Some("ci"))]);
            for name in names {
                let parsed: NamePattern = pattern.parse().unwrap();
                let expected = if parsed.matches(name) { Some(1) } else { Some(2) };
                assert_eq!(
                    mutes.find("main", "ci", name).map(|row| row.id.get()),
                    expected,
                    "{pattern} {name}"
                );
                let expected = expected.filter(|id| *id == 1);
                assert_eq!(
                    mutes.find("next", "ci", name).map(|row| row.id.get()),
                    expected,
                    "{pattern} {name}"
                );
            }
        }
    }
}
