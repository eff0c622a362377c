//! Finds equal keys in a list, with little memory: a table of all keys would take several times the memory of the packed results.

use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;

/// Whether no two keys are equal. May return false for different keys, but needs less memory than [`group`].
pub(crate) fn are_unique<K: Hash>(keys: impl Iterator<Item = K>) -> bool {
    let state = RandomState::default();
    let mut hashes: Vec<u64> = keys.map(|key| state.hash_one(key)).collect();
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

/// Groups equal keys: returns the group of each key, from zero in order of appearance, and the number of groups.
pub(crate) fn group<K: Ord + Hash>(keys: &[K]) -> (Vec<u32>, usize) {
    let state = RandomState::default();
    // Half of the hash orders well enough; equal halves are compared.
    let mut order: Vec<(u32, u32)> =
        (0..).zip(keys).map(|(index, key)| (state.hash_one(key) as u32, index)).collect();
    let key = |index: u32| &keys[index as usize];
    order.sort_unstable_by(|left, right| {
        left.0.cmp(&right.0).then_with(|| key(left.1).cmp(key(right.1))).then(left.1.cmp(&right.1))
    });
    let mut groups = vec![0; keys.len()];
    for same in order.chunk_by(|left, right| left.0 == right.0 && key(left.1) == key(right.1)) {
        same.iter().for_each(|(_, index)| groups[*index as usize] = same[0].1);
    }
    drop(order);
    let mut count = 0;
    for index in 0..groups.len() {
        let first = groups[index] as usize;
        if first == index {
            groups[index] = count;
            count += 1;
        } else {
            groups[index] = groups[first];
        }
    }
    (groups, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_grouped_in_order_of_appearance() {
        assert_eq!(group(&["b", "a", "b", "c", "a"]), (vec![0, 1, 0, 2, 1], 3));
        assert_eq!(group::<&str>(&[]), (Vec::new(), 0));
        assert!(are_unique(["a", "b"].iter()) && !are_unique(["a", "a"].iter()));
    }
}
