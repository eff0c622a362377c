//! Cache of the monitors of lanes with recent reports, with a memory limit. Monitors that are not cached are rebuilt.

use std::collections::HashMap;

use tidemark_store::{HeadId, TestbedId, lane::Lane};

use super::monitors::Monitors;

/// A head and a testbed.
type Key = (HeadId, TestbedId);

/// Monitors with the order of their last use.
pub(super) struct Cache {
    /// Maximum number of bytes.
    max_bytes: usize,
    used: usize,
    last_use: u64,
    lanes: HashMap<Key, CacheEntry>,
}

struct CacheEntry {
    monitors: Monitors,
    bytes: usize,
    last_use: u64,
}

impl Cache {
    /// Creates an empty cache.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, used: 0, last_use: 0, lanes: HashMap::new() }
    }

    /// Returns the maximum number of bytes.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Removes and returns the monitors of a lane, unless reports of the lane were deleted since.
    pub(super) fn take(&mut self, lane: &Lane) -> Option<Monitors> {
        let entry = self.lanes.remove(&(lane.head, lane.testbed))?;
        self.used -= entry.bytes;
        Some(entry.monitors).filter(|monitors| monitors.deleted() == lane.deleted)
    }

    /// Inserts the monitors of a lane and evicts the least recently used ones if needed.
    pub(super) fn put(&mut self, lane: &Lane, monitors: Monitors) {
        let bytes = monitors.bytes();
        if bytes > self.max_bytes || !monitors.can_extend() {
            return;
        }
        while self.used + bytes > self.max_bytes {
            let oldest = self.lanes.iter().min_by_key(|(_, entry)| entry.last_use).map(|(key, _)| *key);
            let Some(entry) = oldest.and_then(|key| self.lanes.remove(&key)) else { break };
            self.used -= entry.bytes;
        }
        self.last_use += 1;
        self.used += bytes;
        self.lanes.insert((lane.head, lane.testbed), CacheEntry { monitors, bytes, last_use: self.last_use });
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
            assert!(cache.used <= cache.max_bytes);
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
