//! The report at the end of `cargo xtask test`: the messages of failed tests, the duration of each phase, and the
//! slowest tests.

use std::{
    fmt::Write,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::Result;

/// Number of slowest tests that the report lists.
const SLOWEST: usize = 20;

/// Number of failures that the report repeats, and of lines per failure.
const FAILURES: usize = 10;
const FAILURE_LINES: usize = 40;

/// The phases of a run and the tests in them.
#[derive(Debug)]
pub(crate) struct Timing {
    start: Instant,
    phases: Vec<(&'static str, Duration)>,
    tests: Vec<TestCase>,
}

/// The duration of one test, and its message if it failed.
#[derive(Debug, PartialEq)]
struct TestCase {
    seconds: f64,
    name: String,
    failure: Option<String>,
}

impl Timing {
    /// Starts the clock.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), phases: Vec::new(), tests: Vec::new() }
    }

    /// Runs a phase and records its duration, even if it fails.
    pub(crate) fn phase<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let outcome = work();
        self.add_phase(name, start.elapsed());
        outcome
    }

    /// Records a phase that ran in parallel to others.
    pub(crate) fn add_phase(&mut self, name: &'static str, duration: Duration) {
        self.phases.push((name, duration));
    }

    /// Adds the tests of a JUnit report, as nextest and Playwright write it. A missing report adds nothing: its
    /// phase failed before the first test.
    pub(crate) fn add_junit(&mut self, report: &Path) {
        self.tests.extend(read_junit(&fs::read_to_string(report).unwrap_or_default()));
    }

    /// Adds tests whose messages were printed before.
    pub(crate) fn add_tests(&mut self, binary: &str, tests: Vec<(String, f64)>) {
        self.tests.extend(tests.into_iter().map(|(name, seconds)| TestCase {
            seconds,
            name: format!("{binary} {name}"),
            failure: None,
        }));
    }

    /// Whether a report of tests was added that has tests.
    pub(crate) fn has_tests(&self) -> bool {
        !self.tests.is_empty()
    }

    /// Prints the report.
    pub(crate) fn print(&mut self) {
        eprint!("{}", self.render(self.start.elapsed()));
    }

    fn render(&mut self, total: Duration) -> String {
        let mut text = String::new();
        for (name, failure) in self.tests.iter().filter_map(TestCase::failed).take(FAILURES) {
            let _ = writeln!(text, "\nFailed: {name}");
            for line in failure.lines().take(FAILURE_LINES) {
                let _ = writeln!(text, "    {line}");
            }
        }
        text.push_str("\nSeconds per phase\n");
        let mut line = |seconds: f64, name: &str| {
            let _ = writeln!(text, "{seconds:9.1}  {name}");
        };
        for (name, duration) in &self.phases {
            line(duration.as_secs_f64(), name);
        }
        line(total.as_secs_f64(), "total");
        if !self.tests.is_empty() {
            let _ = writeln!(text, "\nThe {SLOWEST} slowest of {} tests", self.tests.len());
            self.tests.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
            for test in self.tests.iter().take(SLOWEST) {
                let _ = writeln!(text, "{:9.1}  {}", test.seconds, test.name);
            }
        }
        text
    }
}

impl TestCase {
    fn failed(&self) -> Option<(&str, &str)> {
        Some((&self.name, self.failure.as_deref()?))
    }
}

/// Reads the `testcase` elements of a JUnit report.
fn read_junit(text: &str) -> impl Iterator<Item = TestCase> {
    text.split("<testcase ").skip(1).filter_map(|rest| {
        // Both programs escape `>` in attributes, so it cannot occur there.
        let (attributes, content) = rest.split_once('>')?;
        let attributes = format!(" {attributes}");
        let attribute = |name: &str| {
            let (_, value) = attributes.split_once(&format!(" {name}=\""))?;
            Some(unescape(value.split_once('"')?.0))
        };
        let seconds = attribute("time")?.parse().ok()?;
        let name = format!("{} {}", attribute("classname")?, attribute("name")?);
        Some(TestCase { seconds, name, failure: read_failure(content) })
    })
}

/// Returns the text of the `failure` element of a test: escaped in nextest's reports, CDATA in Playwright's.
fn read_failure(content: &str) -> Option<String> {
    let (_, rest) = content.split_once("<failure")?;
    let (text, _) = rest.split_once('>')?.1.split_once("</failure>")?;
    let text = text.trim();
    Some(match text.strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>")) {
        Some(raw) => raw.trim().to_owned(),
        None => unescape(text),
    })
}

/// Replaces XML entities.
fn unescape(text: &str) -> String {
    let pairs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_repeats_failures_and_lists_phases_in_order_and_the_slowest_tests_first() {
        let junit = r#"<testsuite name="it" tests="2">
            <testcase name="report::sqlite" classname="server::it" timestamp="2026-01-01T00:00:00Z" time="0.250"/>
            <testcase name="a &quot;b&quot; &gt; c" classname="server::it" time="12.5">
                <failure type="test failure">panicked at it.rs:1:
1 &lt; 2</failure>
            </testcase>
            <testcase name="a page" classname="home.spec.ts" time="1">
<failure message="home.spec.ts:1:1 a page" type="FAILURE">
<![CDATA[  Error: no <h1>
]]>
</failure>
            </testcase></testsuite>"#;
        let mut timing = Timing::start();
        timing.phases =
            vec![("build", Duration::from_secs(61)), ("Rust tests", Duration::from_millis(1_500))];
        timing.tests = read_junit(junit).collect();
        let lines = [
            "",
            "Failed: server::it a \"b\" > c",
            "    panicked at it.rs:1:",
            "    1 < 2",
            "",
            "Failed: home.spec.ts a page",
            "    Error: no <h1>",
            "",
            "Seconds per phase",
            "     61.0  build",
            "      1.5  Rust tests",
            "     62.5  total",
            "",
            "The 20 slowest of 3 tests",
            "     12.5  server::it a \"b\" > c",
            "      1.0  home.spec.ts a page",
            "      0.2  server::it report::sqlite",
            "",
        ];
        assert_eq!(timing.render(Duration::from_millis(62_500)), lines.join("\n"));
    }

    #[test]
    fn a_failed_phase_is_recorded() {
        let mut timing = Timing::start();
        assert_eq!(
            timing.phase("build", || Err::<(), _>("no compiler".to_owned())),
            Err("no compiler".to_owned())
        );
        assert_eq!(timing.phases.len(), 1);
    }
}
