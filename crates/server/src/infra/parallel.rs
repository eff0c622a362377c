//! Parallel computation on all cores.

use std::{num::NonZero, thread};

/// Minimum number of items per thread; fewer items do not pay for the start of a thread.
const MIN_ITEMS: usize = 256;

/// Applies a function to all items. Returns the results in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    map_in_chunks(items, items.len().div_ceil(cores).max(MIN_ITEMS), apply)
}

fn map_in_chunks<T: Sync, R: Send>(items: &[T], size: usize, apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let apply = &apply;
    let (first, rest) = items.split_at(items.len().min(size));
    thread::scope(|scope| {
        let threads: Vec<_> = rest
            .chunks(size)
            .map(|chunk| scope.spawn(move || chunk.iter().map(apply).collect::<Vec<R>>()))
            .collect();
        let mut results: Vec<R> = first.iter().map(apply).collect();
        for thread in threads {
            match thread.join() {
                Ok(chunk) => results.extend(chunk),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 3, 4, 5, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(map_in_chunks(&items, 4, |item| item * 2), doubled);
            assert_eq!(map(&items, |item| item * 2), doubled);
        }
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_reaches_the_caller() {
        map_in_chunks(&[5, 6, 7], 1, |item| assert_ne!(*item, 7, "item 7"));
    }
}
