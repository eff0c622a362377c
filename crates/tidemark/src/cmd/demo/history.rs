//! Generated history of one year: the values of the benchmarks of each commit, with effects that make real data hard to
//! interpret. The same seed generates the same history.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tidemark_api::{NewReport, Timestamp};

/// Length of the history, in days.
const DAYS: i64 = 365;
const DAY: i64 = 86_400;
const MAIN: &str = "main";
const CI: &str = "ci-linux-x64";
const METAL: &str = "metal-arm64";
const LAPTOP: &str = "laptop-m3";

/// A group of benchmarks: prefix, last parts of the names, latency of the first benchmark in nanoseconds, factor from one
/// benchmark to the next, and relative deviation of a single run on a quiet machine.
struct Group(&'static str, &'static [&'static str], f64, f64, f64);

const GROUPS: [Group; 15] = [
    Group("parser::json::", &["small", "large", "deep", "unicode", "invalid"], 4.1e3, 5.0, 0.004),
    Group("parser::toml::", &["small", "large", "nested"], 7.7e3, 6.0, 0.006),
    Group("parser::csv::", &["narrow", "wide", "quoted"], 2.3e4, 3.0, 0.005),
    Group("lexer::", &["ascii", "utf8", "comments"], 880.0, 1.8, 0.003),
    Group("query::filter::", &["equal", "range", "regex"], 1.5e4, 3.2, 0.008),
    Group("query::join::", &["hash", "merge", "nested loop"], 4.4e5, 2.1, 0.01),
    Group("query::sort::", &["10k", "100k", "1m"], 6.2e5, 11.0, 0.007),
    Group("index/btree/", &["insert", "lookup", "scan", "split", "delete"], 310.0, 1.6, 0.009),
    Group("index/hash/", &["insert", "lookup", "resize"], 95.0, 1.9, 0.012),
    Group(
        "codec/zstd/",
        &["compress/4k", "compress/1m", "decompress/4k", "decompress/1m"],
        9.8e3,
        3.6,
        0.004,
    ),
    Group("codec/varint/", &["encode", "decode"], 41.0, 1.3, 0.005),
    Group("net/http/", &["parse headers", "route", "keep alive", "tls handshake"], 1.1e3, 4.2, 0.02),
    Group("storage/wal/", &["append", "sync", "replay", "checkpoint"], 5.6e4, 2.8, 0.03),
    Group("alloc::", &["arena", "pool", "bump", "fragmented"], 130.0, 1.5, 0.015),
    Group(
        "startup/",
        &["cold", "warm", "with plugins", "migrate", "self check", "idle", "shutdown"],
        3.1e6,
        1.4,
        0.012,
    ),
];

/// A change of all benchmarks with a prefix: first day, last day and factor.
struct Event(&'static str, i64, i64, f64);

const FOREVER: i64 = i64::MAX;
const NEW_IMAGE_DAY: i64 = 301;
const EVENTS: [Event; 12] = [
    // Found and fixed two weeks later.
    Event("parser::json::", 82, 97, 1.12),
    Event("index/btree/split", 148, 170, 1.34),
    Event("index/btree/insert", 148, 170, 1.21),
    // A lasting improvement.
    Event("codec/zstd/compress", 203, FOREVER, 0.68),
    Event("startup/", 121, FOREVER, 0.91),
    Event("lexer::utf8", 262, FOREVER, 0.8),
    // The accepted cost of a feature.
    Event("query::join::hash", 238, FOREVER, 1.085),
    // A disturbance of the CI machine for one night.
    Event("storage/wal/sync", 276, 278, 2.4),
    // A new image of the CI machine: all benchmarks change, without a cause in the code.
    Event("", NEW_IMAGE_DAY, FOREVER, 1.028),
    // Recent and not reviewed.
    Event("parser::toml::large", 353, FOREVER, 1.19),
    Event("index/hash/lookup", 358, FOREVER, 1.07),
    Event("net/http/route", 361, FOREVER, 1.3),
];

/// Slow drifts, as a factor per day.
const DRIFTS: [(&str, f64); 3] =
    [("net/http/parse headers", 0.0006), ("storage/wal/replay", 0.0004), ("alloc::fragmented", 0.0009)];

/// A branch besides main: name, first day, number of reports, and its changes.
struct Side(&'static str, i64, i64, &'static [(&'static str, f64)]);

const SIDES: [Side; 4] = [
    Side("fix/btree-split", 166, 4, &[("index/btree/", 0.8)]),
    Side("release/1.4", 214, 6, &[]),
    Side(
        "feature/simd-parser",
        341,
        11,
        &[("parser::json::", 0.71), ("lexer::", 0.88), ("startup/cold", 1.06)],
    ),
    Side("fix/toml-allocations", 359, 3, &[("parser::toml::", 0.86)]),
];

/// A pinned plot.
pub(super) struct Pinned {
    pub(super) title: &'static str,
    pub(super) branches: &'static [&'static str],
    pub(super) testbeds: &'static [&'static str],
    pub(super) benchmarks: &'static [&'static str],
    pub(super) measure: &'static str,
    pub(super) days: i64,
    pub(super) boundary: bool,
}

pub(super) const PLOTS: [Pinned; 5] = [
    Pinned {
        title: "TOML got slower last week",
        branches: &[MAIN],
        testbeds: &[CI],
        benchmarks: &["parser::toml::large"],
        measure: "latency",
        days: 84,
        boundary: true,
    },
    Pinned {
        title: "JSON parser over the year",
        branches: &[MAIN],
        testbeds: &[CI],
        benchmarks: &[
            "parser::json::small",
            "parser::json::large",
            "parser::json::deep",
            "parser::json::unicode",
        ],
        measure: "latency",
        days: DAYS,
        boundary: false,
    },
    Pinned {
        title: "SIMD branch against main",
        branches: &[MAIN, "feature/simd-parser"],
        testbeds: &[CI],
        benchmarks: &["parser::json::large", "lexer::ascii"],
        measure: "latency",
        days: 56,
        boundary: false,
    },
    Pinned {
        title: "Codec throughput",
        branches: &[MAIN],
        testbeds: &[METAL],
        benchmarks: &["codec/zstd/compress/1m", "codec/zstd/decompress/1m", "codec/varint/decode"],
        measure: "throughput",
        days: DAYS,
        boundary: false,
    },
    Pinned {
        title: "Memory at startup",
        branches: &[MAIN],
        testbeds: &[CI, METAL],
        benchmarks: &["startup/cold", "startup/with plugins"],
        measure: "allocated",
        days: DAYS,
        boundary: false,
    },
];

/// Generator of the history.
pub(super) struct History {
    seed: u64,
    begin: Timestamp,
}

/// A run to generate.
struct Run {
    day: i64,
    second: i64,
    commit: u64,
    branch: &'static str,
    testbed: &'static str,
    /// Version of the start point, if the branch has one.
    from: Option<u64>,
    changes: &'static [(&'static str, f64)],
}

impl History {
    /// Creates a history that ends now.
    pub(super) fn new(seed: u64, now: Timestamp) -> Self {
        Self { seed, begin: now.plus_seconds(-DAYS * DAY) }
    }

    /// Returns the time at which the project was created.
    pub(super) fn begin(&self) -> Timestamp {
        self.begin
    }

    /// Returns the time at which the CI machine got a new image.
    pub(super) fn new_image(&self) -> Timestamp {
        self.begin.plus_seconds(NEW_IMAGE_DAY * DAY)
    }

    /// Returns all reports, the oldest first.
    pub(super) fn reports(&self) -> impl Iterator<Item = serde_json::Result<NewReport>> {
        let mut seen = BTreeMap::new();
        let mut reports = Vec::new();
        for run in self.runs() {
            let first =
                *seen.entry((run.branch, run.testbed)).and_modify(|first| *first = false).or_insert(true);
            reports.push(self.report(&run, first));
        }
        reports.into_iter().map(serde_json::from_value)
    }

    /// Returns the runs of all commits on all testbeds.
    fn runs(&self) -> Vec<Run> {
        let mut random = Random::new(self.seed);
        let mut runs = Vec::new();
        let (mut commit, mut last) = (0, Vec::new());
        for day in 0..DAYS {
            let is_weekend = day % 7 >= 5;
            let commits =
                if is_weekend { u64::from(random.unit() < 0.2) } else { 1 + u64::from(random.unit() < 0.35) };
            for number in 0..commits {
                commit += 1;
                let second = 32_400 + i64::try_from(number).unwrap_or(0) * 14_000 + random.below(9_000);
                let run =
                    |testbed| Run { day, second, commit, branch: MAIN, testbed, from: None, changes: &[] };
                runs.push(run(CI));
                if number == 0 && matches!(day % 7, 0 | 3) {
                    runs.push(Run { second: second + 1_800, ..run(METAL) });
                }
                if number == 0 && day > 270 && day % 7 == 2 {
                    runs.push(Run { second: second + 3_600, ..run(LAPTOP) });
                }
            }
            last.push(commit);
        }
        for Side(branch, begin, count, changes) in SIDES {
            let from = usize::try_from(begin).ok().and_then(|day| last.get(day)).copied();
            for number in 0..count {
                commit += 1;
                let second = 45_000 + random.below(20_000);
                runs.push(Run { day: begin + number, second, commit, branch, testbed: CI, from, changes });
            }
        }
        runs.sort_by_key(|run| (run.day, run.second, run.commit));
        runs
    }

    fn report(&self, run: &Run, first: bool) -> Value {
        let start = self.begin.plus_seconds(run.day * DAY + run.second - DAY / 2);
        let mut report = json!({
            "branch": run.branch,
            "hash": self.hash(run.commit),
            "testbed": run.testbed,
            "start_time": start,
            "end_time": start.plus_seconds(if run.testbed == CI { 340 } else { 610 }),
            "results": [Value::Object(self.results(run)).to_string()],
            "settings": { "adapter": "json" },
        });
        if first && run.branch == MAIN {
            report["thresholds"] = json!({ "models": {
                "latency": { "test": "t_test", "min_sample_size": 12, "max_sample_size": 40, "upper_boundary": 0.9995 },
                "allocated": { "test": "percentage", "min_sample_size": 3, "max_sample_size": 20, "upper_boundary": 0.03 },
                "throughput": { "test": "iqr", "min_sample_size": 8, "max_sample_size": 40, "lower_boundary": 3.5 },
            } });
        }
        if let (true, Some(from)) = (first, run.from) {
            report["start_point"] =
                json!({ "branch": MAIN, "hash": self.hash(from), "clone_thresholds": true });
        }
        report
    }

    /// Returns the values of one run.
    fn results(&self, run: &Run) -> Map<String, Value> {
        let mut results = Map::new();
        for (group, Group(prefix, names, first, ratio, noise)) in (0_u64..).zip(&GROUPS) {
            let mut base = *first;
            for (place, last) in (0_u64..).zip(*names) {
                let name = format!("{prefix}{last}");
                // Each value has its own random generator, so that adding or removing a benchmark changes no other values.
                let own = self.seed
                    ^ (run.commit << 20)
                    ^ (group << 12)
                    ^ (place << 4)
                    ^ u64::from(run.testbed == CI);
                let mut random = Random::new(own);
                let level = base * level(&name, run);
                let (speed, shaky) = match run.testbed {
                    METAL => (0.82, 1.0),
                    LAPTOP => (0.61, 2.5),
                    _ => (1.0, 2.2),
                };
                let mut strays = noise * shaky;
                if name.starts_with("alloc::") && (118..165).contains(&run.day) {
                    strays *= 3.0;
                }
                let mut value = level * speed * (1.0 + strays * random.normal());
                // A noisy neighbor on the same host.
                if run.testbed == CI && random.unit() < 0.006 {
                    value *= 1.05 + 0.25 * random.unit();
                }
                let spread = value * strays * 1.6;
                let mut measures = Map::new();
                let bounded =
                    json!({ "value": value, "lower_value": value - spread, "upper_value": value + spread });
                measures.insert("latency".into(), bounded);
                if prefix.starts_with("codec/") || prefix.starts_with("query::sort") {
                    measures.insert("throughput".into(), json!({ "value": 1e9 / value }));
                }
                if prefix.starts_with("startup/") || prefix.starts_with("parser::") {
                    // A counted value: it changes only with the code.
                    let bytes = (base * 13.0 * (1.0 + 0.1 * (level / base - 1.0))).round();
                    measures.insert("allocated".into(), json!({ "value": bytes }));
                }
                results.insert(name, Value::Object(measures));
                base *= ratio;
            }
        }
        results
    }

    /// Returns the hash of a commit.
    fn hash(&self, commit: u64) -> String {
        let mut random = Random::new(self.seed ^ (commit << 32) ^ 0xc0de);
        (0..5).map(|_| format!("{:08x}", random.next() >> 32)).collect()
    }
}

/// Returns the level of a benchmark on a day, as a multiple of its first value.
fn level(name: &str, run: &Run) -> f64 {
    let happened = EVENTS.iter().filter(|Event(prefix, from, to, _)| {
        let everywhere = !prefix.is_empty() || run.testbed == CI;
        name.starts_with(prefix) && (*from..*to).contains(&run.day) && everywhere
    });
    let events: f64 = happened.map(|Event(.., factor)| factor).product();
    let days = f64::from(i32::try_from(run.day).unwrap_or(0));
    let drift: f64 = DRIFTS
        .iter()
        .filter(|(prefix, _)| name.starts_with(prefix))
        .map(|(_, daily)| 1.0 + daily * days)
        .product();
    let own: f64 =
        run.changes.iter().filter(|(prefix, _)| name.starts_with(prefix)).map(|(_, factor)| factor).product();
    events * drift * own
}

/// SplitMix64: a small generator with the same numbers on every platform.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniform number from 0 to 1.
    fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }

    fn below(&mut self, end: i64) -> i64 {
        i64::try_from(self.next() >> 33).unwrap_or(0) % end
    }

    /// Returns a number with mean 0 and standard deviation 1: the sum of twelve uniform numbers, which is close to a normal
    /// distribution.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

    fn reports(seed: u64) -> Vec<NewReport> {
        History::new(seed, NOW).reports().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_year() {
        assert_eq!(reports(1), reports(1));
        assert_ne!(reports(1), reports(2));
    }

    #[test]
    fn the_year_is_whole_and_over() {
        let reports = reports(1);
        assert!((400..700).contains(&reports.len()), "{}", reports.len());
        assert!(reports.iter().all(|report| report.end_time <= NOW));
        assert!(reports.is_sorted_by_key(|report| report.start_time));
        let benchmarks: usize = GROUPS.iter().map(|Group(_, names, ..)| names.len()).sum();
        assert!((55..65).contains(&benchmarks), "{benchmarks}");
    }
}
