//! Filters of notices: which changes or alerts a notice sends, and the sentence that describes a notice.

use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    Digest, Invalid, Notifies, QuietHours,
    scalar::{fixed_string, text},
};

/// Maximum length of a pattern in characters.
const PATTERN_MAX: usize = 255;

text! {
    /// Pattern of names: 1 to 255 characters, without line breaks and the character NUL. `*` matches any number of characters;
    /// all other characters match themselves, with their case.
    NamePattern, shown, |text| {
        if (1..=PATTERN_MAX).contains(&text.chars().count()) && !text.contains(['\0', '\n', '\r']) {
            return Ok(text);
        }
        Err(Invalid::new("a pattern is 1 to 255 characters, without line breaks and the character NUL"))
    }, |object| object.min_length(Some(1)).max_length(Some(PATTERN_MAX)).pattern(Some(r"^[^\u0000\n\r]+$"))
}

impl NamePattern {
    /// Whether the pattern matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // The first position of each part leaves the most for the following parts.
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        rest.ends_with(last)
    }

    /// Whether the pattern matches every name.
    pub fn is_any(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'*')
    }

    /// Returns `branch main`, or `a branch matching release/*` for a pattern of several names.
    fn describe(&self, noun: &str) -> String {
        if self.0.contains('*') { format!("a {noun} matching {self}") } else { format!("{noun} {self}") }
    }
}

fixed_string! {
    /// Direction of the changes or alerts that a notice sends.
    #[derive(Default)]
    NoticeDirection {
        /// All changes, or all alerts.
        #[default]
        Any = "any",
        /// Only changes or alerts for the worse.
        Regression = "regression",
        /// Only changes or alerts for the better.
        Improvement = "improvement",
    }
}

/// Minimum size of the changes or alerts that a notice sends, as a share of the level before, up to 1000: 0.05 is 5 %.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, ToSchema)]
#[schema(value_type = f64, exclusive_minimum = 0.0, maximum = 1000.0)]
pub struct MinChange(f64);

impl MinChange {
    /// Returns the share.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for MinChange {
    type Error = Invalid;

    fn try_from(share: f64) -> Result<Self, Invalid> {
        if share > 0.0 && share <= 1000.0 {
            return Ok(Self(share));
        }
        Err(Invalid::new("a minimum change is a share above 0 and of at most 1000; 0.05 is 5 %"))
    }
}

impl<'de> Deserialize<'de> for MinChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}

/// Filter of a notice. A field without a value matches everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotificationFilter {
    /// Name or pattern of the branch of a report.
    pub branch: Option<NamePattern>,
    /// Name or pattern of the testbed of a report.
    pub testbed: Option<NamePattern>,
    /// Name or pattern of the benchmark of a change or an alert.
    pub benchmark: Option<NamePattern>,
    /// Direction of a change or an alert.
    pub direction: NoticeDirection,
    /// Minimum size of a change or an alert.
    pub min_change: Option<MinChange>,
}

impl NotificationFilter {
    /// Whether the notice sends notifications about reports of this branch and testbed.
    pub fn matches_report(&self, branch: &str, testbed: &str) -> bool {
        let matches = |pattern: &Option<NamePattern>, name| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
        };
        matches(&self.branch, branch) && matches(&self.testbed, testbed)
    }

    /// Whether the notice sends changes or alerts of this benchmark.
    pub fn matches_benchmark(&self, benchmark: &str) -> bool {
        self.benchmark.as_ref().is_none_or(|pattern| pattern.matches(benchmark))
    }

    /// Whether the notice sends changes or alerts of this relative size. A change without a relative size matches: its level
    /// before is zero or unknown.
    pub fn matches_size(&self, change: Option<f64>) -> bool {
        match (self.min_change, change) {
            (Some(MinChange(least)), Some(change)) => change.abs() >= least,
            _ => true,
        }
    }

    /// Returns the sentence about when a notice sends what. `notifies` is the setting of the project of the notice; `None` for a
    /// notice about all projects of a user.
    pub fn summary(
        &self,
        notifies: Option<Notifies>,
        digest: Digest,
        quiet: Option<&QuietHours>,
        is_archived: bool,
    ) -> String {
        if is_archived {
            return "Sends nothing, because the notice is archived.".to_owned();
        }
        let branch = self.branch.as_ref().filter(|pattern| !pattern.is_any());
        let branch = branch.map_or_else(|| "any branch".to_owned(), |pattern| pattern.describe("branch"));
        let testbed = self.testbed.as_ref().filter(|pattern| !pattern.is_any());
        let testbed = testbed.map(|pattern| format!(" at {}", pattern.describe("testbed")));
        let project = if notifies.is_none() { " of any project of the user's organizations" } else { "" };
        let items = match (self.direction, notifies) {
            (NoticeDirection::Any, Some(Notifies::Changes)) => "changes",
            (NoticeDirection::Any, Some(Notifies::Alerts)) => "alerts",
            (NoticeDirection::Any, None) => "changes or alerts",
            (NoticeDirection::Regression, Some(Notifies::Changes)) => "regressions",
            (NoticeDirection::Regression, Some(Notifies::Alerts)) => "alerts for the worse",
            (NoticeDirection::Regression, None) => "regressions or alerts for the worse",
            (NoticeDirection::Improvement, Some(Notifies::Changes)) => "improvements",
            (NoticeDirection::Improvement, Some(Notifies::Alerts)) => "alerts for the better",
            (NoticeDirection::Improvement, None) => "improvements or alerts for the better",
        };
        let size = self.min_change.map(|MinChange(share)| format!(" of at least {} %", percent(share)));
        let benchmark = self.benchmark.as_ref().filter(|pattern| !pattern.is_any());
        let benchmark = benchmark.map(|pattern| format!(" in {}", pattern.describe("benchmark")));
        let reports = format!("on {branch}{}{project}", testbed.unwrap_or_default());
        let items = format!("{items}{}{}", size.unwrap_or_default(), benchmark.unwrap_or_default());
        let quiet =
            quiet.map(|QuietHours { from, to }| format!("; from {from} to {to} UTC, it waits until {to}"));
        let quiet = quiet.unwrap_or_default();
        match digest {
            Digest::None => format!("Sends a message when a report {reports} raises {items}{quiet}."),
            Digest::Daily => {
                let each = if notifies.is_none() {
                    "one message per day and project"
                } else {
                    "one message per day"
                };
                format!("Sends {each}, after midnight UTC, if reports {reports} raised {items}{quiet}.")
            }
        }
    }
}

/// Returns a share in percent, with at most three decimals.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::tests::check;

    fn pattern(text: &str) -> NamePattern {
        text.parse().unwrap()
    }

    #[test]
    fn patterns() {
        check::<NamePattern>(
            &["main", "parser::*", "*", " ", &"ä".repeat(255)],
            &["", "a\nb", "\0", &"x".repeat(256)],
        );
    }

    #[test]
    fn a_pattern_matches_whole_names_with_their_case() {
        for (text, matching, other) in [
            ("main", &["main"][..], &["Main", "main2", "amain", ""][..]),
            ("parser::*", &["parser::", "parser::json::deep"], &["lexer::parser::x", "parser:"]),
            ("*::json", &["parser::json", "::json"], &["json", "parser::json2"]),
            ("a*b*c", &["abc", "a-b-b-c", "abcbc"], &["ab", "acb", "abcd"]),
            ("a*a", &["aa", "aba"], &["a"]),
            ("*ab*ab*", &["abab", "xabyabz"], &["ab", "aab"]),
            ("*", &["", "anything"], &[]),
            ("a.?[b]", &["a.?[b]"], &["axb"]),
        ] {
            for name in matching {
                assert!(pattern(text).matches(name), "{text} does not match {name}");
            }
            for name in other {
                assert!(!pattern(text).matches(name), "{text} matches {name}");
            }
        }
    }

    #[test]
    fn sizes() {
        for wrong in [0.0, -0.05, 1000.1, f64::NAN, f64::INFINITY] {
            assert!(MinChange::try_from(wrong).is_err(), "{wrong}");
        }
        let filter = NotificationFilter {
            min_change: Some(0.05.try_into().unwrap()),
            ..NotificationFilter::default()
        };
        assert!(
            filter.matches_size(Some(0.05)) && filter.matches_size(Some(-0.3)) && filter.matches_size(None)
        );
        assert!(!filter.matches_size(Some(0.049)) && !filter.matches_size(Some(-0.01)));
        assert!(NotificationFilter::default().matches_size(Some(0.0)));
    }

    /// docs/notices.md contains these sentences.
    #[test]
    fn a_notice_is_described_by_a_sentence() {
        let all = NotificationFilter::default();
        let night = QuietHours { from: "22:00".parse().unwrap(), to: "06:00".parse().unwrap() };
        let narrow = NotificationFilter {
            branch: Some(pattern("release/*")),
            testbed: Some(pattern("metal")),
            benchmark: Some(pattern("parser::*")),
            direction: NoticeDirection::Regression,
            min_change: Some(0.05.try_into().unwrap()),
        };
        let main = NotificationFilter { branch: Some(pattern("main")), ..NotificationFilter::default() };
        let (changes, alerts) = (Some(Notifies::Changes), Some(Notifies::Alerts));
        let docs = include_str!("../../../docs/notices.md").split_whitespace().collect::<Vec<_>>().join(" ");
        for (summary, sentence) in [
            (
                main.summary(changes, Digest::None, None, false),
                "Sends a message when a report on branch main raises changes.",
            ),
            (
                all.summary(alerts, Digest::None, None, false),
                "Sends a message when a report on any branch raises alerts.",
            ),
            (
                narrow.summary(changes, Digest::None, Some(&night), false),
                "Sends a message when a report on a branch matching release/* at testbed metal raises regressions of at \
                 least 5 % in a benchmark matching parser::*; from 22:00 to 06:00 UTC, it waits until 06:00.",
            ),
            (
                all.summary(None, Digest::Daily, None, false),
                "Sends one message per day and project, after midnight UTC, if reports on any branch of any project of \
                 the user's organizations raised changes or alerts.",
            ),
            (
                all.summary(changes, Digest::None, None, true),
                "Sends nothing, because the notice is archived.",
            ),
        ] {
            assert_eq!(summary, sentence);
            assert!(docs.contains(sentence), "docs/notices.md does not contain: {sentence}");
        }
        assert_eq!(
            narrow.summary(alerts, Digest::Daily, None, false),
            "Sends one message per day, after midnight UTC, if reports on a branch matching release/* at testbed metal \
             raised alerts for the worse of at least 5 % in a benchmark matching parser::*."
        );
    }

    #[test]
    fn shares_in_percent() {
        for (share, text) in [(0.05, "5"), (0.125, "12.5"), (1.0, "100"), (0.1, "10"), (0.00001, "0.001")] {
            assert_eq!(percent(share), text);
        }
    }
}
