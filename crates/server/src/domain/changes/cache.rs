//! Cache of the monitors of lanes with recent reports, with a memory limit. Monitors that are not cached are rebuilt.

use std::collections::HashMap;

use tidemark_store::{HeadId, TestbedId, lane::Lane};

use super::monitors::Monitors;

/// A head and a testbed.
type Key = (HeadId, TestbedId);

/// Monitors with the order of their last use.
pub(super) struct Cache {
    /// Maximum number of bytes.
    bound: usize,
    used: usize,
    turn: u64,
    lanes: HashMap<Key, Kept>,
}

struct Kept {
    monitors: Monitors,
    bytes: usize,
    turn: u64,
}

impl Cache {
    /// Creates an empty cache.
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, used: 0, turn: 0, lanes: HashMap::new() }
    }

    /// Returns the maximum number of bytes.
    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    /// Removes and returns the monitors of a lane, unless reports of the lane were deleted since.
    pub(super) fn take(&mut self, lane: &Lane) -> Option<Monitors> {
        let kept = self.lanes.remove(&(lane.head, lane.testbed))?;
        self.used -= kept.bytes;
        Some(kept.monitors).filter(|monitors| monitors.deleted() == lane.deleted)
    }

    /// Inserts the monitors of a lane and evicts the least recently used ones if needed.
    pub(super) fn put(&mut self, lane: &Lane, monitors: Monitors) {
        let bytes = monitors.bytes();
        if bytes > self.bound || !monitors.can_extend() {
            return;
        }
        while self.used + bytes > self.bound {
            let oldest = self.lanes.iter().min_by_key(|(_, kept)| kept.turn).map(|(key, _)| *key);
            let Some(kept) = oldest.and_then(|key| self.lanes.remove(&key)) else { break };
            self.used -= kept.bytes;
        }
        self.turn += 1;
        self.used += bytes;
        self.lanes.insert((lane.head, lane.testbed), Kept { monitors, bytes, turn: self.turn });
    }
}

#[cfg(test)]
mod tests {
    use tidemark_store::{BranchId, ProjectId};

    use super::*;
    use crate::domain::changes::monitors::tests::filled;

    fn lane(head: i64, deleted: i64) -> Lane {
        Lane {
            project: ProjectId::from(1),
            branch: BranchId::from(1),
            head: HeadId::from(head),
            testbed: TestbedId::from(1),
            reports: 700,
            deleted,
            analyzed: 700,
        }
    }

    #[test]
    fn the_least_recently_used_make_room() {
        let bytes = filled(20, 700).bytes();
        let mut cache = Cache::new(2 * bytes + bytes / 2);
        for head in [1, 2, 1, 3] {
            let monitors = cache.take(&lane(head, 0)).unwrap_or_else(|| filled(20, 700));
            cache.put(&lane(head, 0), monitors);
            assert!(cache.used <= cache.bound);
        }
        assert!(cache.take(&lane(2, 0)).is_none());
        assert!(cache.take(&lane(1, 0)).is_some() && cache.take(&lane(3, 0)).is_some());
        assert_eq!((cache.used, cache.lanes.len()), (0, 0));
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let mut cache = Cache::new(filled(20, 700).bytes() - 1);
        cache.put(&lane(1, 0), filled(20, 700));
        assert!(cache.take(&lane(1, 0)).is_none());
    }

    #[test]
    fn monitors_that_saw_a_deleted_report_begin_anew() {
        let mut cache = Cache::new(1 << 30);
        cache.put(&lane(1, 0), filled(3, 40));
        assert!(cache.take(&lane(1, 1)).is_none());
    }
}
