//! Matches the mutes of a project with series. An operation reads the active mutes once and matches the series in memory.

use std::collections::{HashMap, HashSet};

use tidemark_api::{
    Benchmark, Branch, Change, Event, EventStatus, EventUuid, Muted, Report, Testbed, Timestamp,
};
use tidemark_store::{
    BenchmarkId, BranchId, Dimension, MuteId, ProjectId, Result, TestbedId, Tx,
    event::MutedEvents,
    mute::{self, MuteRow},
};

/// The mutes of a project that have effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mutes(Vec<MuteRow>);

impl Mutes {
    /// Reads the mutes that have effect.
    pub(crate) fn read(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Result<Self> {
        mute::active(tx, project, now).map(Self)
    }

    /// Whether there is no mute.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first mute that matches a series.
    fn find(&self, branch: &str, testbed: &str, benchmark: &str) -> Option<&MuteRow> {
        self.0.iter().find(|row| row.mute.matches(branch, testbed, benchmark))
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

    /// Returns the events whose series are all muted: all events of the project, the events with a status, or one event.
    pub(crate) fn events(
        &self,
        tx: &mut Tx<'_>,
        project: ProjectId,
        status: Option<EventStatus>,
        event: Option<EventUuid>,
    ) -> Result<FullyMuted> {
        if self.is_empty() {
            return Ok(FullyMuted::default());
        }
        let (mut muted, mut others) = (HashMap::new(), HashSet::new());
        for series in mute::event_series(tx, project, status, event)? {
            match self.of_series(&series.branch, &series.testbed, &series.benchmark) {
                Some(reason) => {
                    muted.entry(series.uuid).or_insert((series.event.get(), reason));
                }
                None => {
                    others.insert(series.uuid);
                }
            }
        }
        muted.retain(|event, _| !others.contains(event));
        Ok(FullyMuted(muted))
    }
}

/// The events whose series are all muted, with their keys and a mute of each.
#[derive(Debug, Default)]
pub(crate) struct FullyMuted(HashMap<EventUuid, (i64, Muted)>);

impl FullyMuted {
    /// Returns the filter of a list of events: only these events, or all others.
    pub(crate) fn filter(&self, is_muted: bool) -> MutedEvents {
        let mut events: Vec<i64> = self.0.values().map(|(key, _)| *key).collect();
        events.sort_unstable();
        MutedEvents { events, is_muted }
    }

    /// Marks the muted events and their muted changes.
    pub(crate) fn mark(&self, mutes: &Mutes, events: &mut [Event]) {
        for event in events {
            event.muted = self.0.get(&event.uuid).map(|(_, muted)| muted.clone());
            mutes.mark_changes(&mut event.changes);
        }
    }
}
