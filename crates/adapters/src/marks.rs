//! Searches the marks of all formats in an output in one pass. `magic` has about 200 marks, and a pass for each would take longer
//! than parsing.

use std::{collections::HashMap, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::ADAPTERS;

/// Minimum length of a mark that other outputs rarely contain, in bytes. Shorter marks are found at once in most outputs.
const LONG_MARK: usize = 6;

/// The long marks of all formats.
struct LongMarks {
    search: Option<AhoCorasick>,
    indexes: HashMap<&'static str, usize>,
}

static LONG_MARKS: LazyLock<LongMarks> = LazyLock::new(|| {
    let formats = ADAPTERS.iter().flat_map(|tool| tool.formats);
    let long = formats.flat_map(|format| format.marks).copied().filter(|mark| Marks::is_long(mark));
    let mut marks: Vec<&str> = long.collect();
    marks.sort_unstable();
    marks.dedup();
    let search = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(&marks).ok();
    LongMarks { search, indexes: marks.into_iter().zip(0..).collect() }
});

/// Which long marks an output contains.
pub(crate) struct Marks(Vec<bool>);

impl Marks {
    pub(crate) fn of(text: &str) -> Self {
        let mut found = vec![false; LONG_MARKS.indexes.len()];
        let mut missing = found.len();
        for mark in LONG_MARKS.search.iter().flat_map(|search| search.find_overlapping_iter(text)) {
            let known = &mut found[mark.pattern().as_usize()];
            missing -= usize::from(!*known);
            *known = true;
            if missing == 0 {
                break;
            }
        }
        Self(found)
    }

    /// Whether other outputs rarely contain a mark. Looking up such a mark takes no time.
    pub(crate) fn is_long(mark: &str) -> bool {
        mark.len() >= LONG_MARK
    }

    /// Whether the output contains a mark; `text` is the output.
    pub(crate) fn contain(&self, mark: &str, text: &str) -> bool {
        match LONG_MARKS.indexes.get(mark).filter(|_| LONG_MARKS.search.is_some()) {
            Some(index) => self.0[*index],
            None => memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_are() {
        let text = "x \"model_type\"\"avg_ts\" | model ";
        let marks = Marks::of(text);
        let formats = ADAPTERS.iter().flat_map(|tool| tool.formats);
        for mark in formats.flat_map(|format| format.marks) {
            assert_eq!(marks.contain(mark, text), text.contains(mark), "{mark}");
        }
    }
}
