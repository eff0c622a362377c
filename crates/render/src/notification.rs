//! What a notice says: which limits the metrics of its reports crossed, or which levels changed, in which direction and how
//! far, the worst first.
//! Each kind of receiver gets it in its own shape. Who is told, and when, is not decided here.

use serde_json::{Value, json};

use crate::{
    format,
    links::Links,
    metric::{self, MetricRow, ThresholdStatus},
};
use tidemark_api::{
    Change, ChangeCause, ChangeDirection, EventUuid, NoticeEvent, Report, ReportUuid, Timestamp, Url,
};

/// The most alerts of a report that a webhook gets; all are counted.
const ALERTS_MAX: usize = 100;
/// The most alerts of a report that people are shown.
const LINES_MAX: usize = 10;
/// The longest section of a message of Slack, in characters.
const SLACK_MAX: usize = 3_000;
/// The longest message of Mattermost.
const MATTERMOST_MAX: usize = 16_000;
/// The longest description in a message of Discord.
const DISCORD_MAX: usize = 4_000;
/// The longest title.
const TITLE_MAX: usize = 250;
/// The longest name in a line.
const NAME_MAX: usize = 200;
/// As much of a hash as tells commits apart.
const SHORT_HASH: usize = 10;
/// The color of bad news, and of good.
const COLORS: [u32; 2] = [0x00c4_314b, 0x002d_7d46];

/// An event to tell.
pub struct Notification<'a> {
    event: EventUuid,
    time: Timestamp,
    parts: Vec<Part<'a>>,
}

/// A report of the event, with what moved in it.
struct Part<'a> {
    report: &'a Report,
    items: Vec<Item<'a>>,
    link: Option<String>,
}

/// Something that moved.
enum Item<'a> {
    Alert(MetricRow<'a>),
    Change(&'a Change),
}

/// What a project is told of.
#[derive(Clone, Copy)]
pub enum NotificationContent<'a> {
    /// The alerts of its reports.
    Alerts,
    /// These changes, each with the report that it is told with, the worst first.
    Changes(&'a [(ReportUuid, Change)]),
}

/// How text is marked up where people read it.
#[derive(Clone, Copy)]
enum Style {
    Plain,
    Slack,
    Markdown,
}

impl<'a> Notification<'a> {
    /// What there is to tell of reports; nothing if nothing moved in them that is asked for.
    pub fn new(
        event: EventUuid,
        time: Timestamp,
        reports: &'a [Report],
        news: NotificationContent<'a>,
        wanted: NoticeEvent,
        console: &Url,
    ) -> Option<Self> {
        let part = |report: &'a Report| {
            let mut items: Vec<Item<'_>> = match news {
                NotificationContent::Alerts => {
                    let outside = metric::rows(report).into_iter().filter(|row| row.standing.is_outside());
                    outside.map(Item::Alert).collect()
                }
                NotificationContent::Changes(changes) => {
                    let own = changes.iter().filter(|(with, _)| *with == report.uuid);
                    own.map(|(_, change)| Item::Change(change)).collect()
                }
            };
            if wanted == NoticeEvent::Regressions {
                items.retain(Item::is_regression);
            }
            let link = Links::new(console, Some(console), report, false).report();
            (!items.is_empty()).then_some(Part { report, items, link })
        };
        let parts: Vec<_> = reports.iter().filter_map(part).collect();
        (!parts.is_empty()).then_some(Self { event, time, parts })
    }

    /// The event in a few words.
    pub fn title(&self) -> String {
        let project = self.parts.first().map(|part| format::plain(part.report.project.name.as_str()));
        let project = project.unwrap_or_default();
        let title = match self.parts.as_slice() {
            [part] => format!("{project}: {} {}", part.summary(), part.place(Style::Plain)),
            parts => {
                let items = parts.iter().flat_map(|part| &part.items);
                format!("{project}: {} in {} reports", counts(items), parts.len())
            }
        };
        cut(&title, TITLE_MAX)
    }

    /// The event as JSON, for programs.
    pub fn webhook(&self) -> Value {
        let project = self.parts.first().map(|part| &part.report.project);
        let project = project
            .map(|project| json!({ "uuid": project.uuid, "slug": project.slug, "name": project.name }));
        json!({
            "type": if self.items().any(|item| matches!(item, Item::Change(_))) { "changes" } else { "alerts" },
            "event": self.event,
            "time": self.time,
            "title": self.title(),
            "project": project,
            "reports": self.parts.iter().map(Part::json).collect::<Vec<_>>(),
        })
    }

    /// The event as a message of Slack.
    pub fn slack(&self) -> Value {
        let title = Style::Slack.escape(&self.title());
        let text = format!("*{title}*\n{}", self.text(Style::Slack, SLACK_MAX - title.len() - 3));
        json!({
            "text": title,
            "blocks": [{ "type": "section", "text": { "type": "mrkdwn", "text": text } }],
        })
    }

    /// The event as a message of Mattermost.
    pub fn mattermost(&self) -> Value {
        let title = Style::Markdown.escape(&self.title());
        json!({ "text": format!("**{title}**\n{}", self.text(Style::Markdown, MATTERMOST_MAX - 1_000)) })
    }

    /// The event as a message of Discord.
    pub fn discord(&self) -> Value {
        let is_bad = self.items().any(Item::is_regression);
        let link = match self.parts.as_slice() {
            [part] => part.link.clone(),
            _ => None,
        };
        json!({
            "allowed_mentions": { "parse": [] },
            "embeds": [{
                "title": self.title(),
                "url": link,
                "description": self.text(Style::Markdown, DISCORD_MAX),
                "color": COLORS[usize::from(!is_bad)],
            }],
        })
    }

    /// The event as plain text.
    pub fn plain(&self) -> String {
        self.text(Style::Plain, usize::MAX)
    }

    fn items(&self) -> impl Iterator<Item = &Item<'a>> {
        self.parts.iter().flat_map(|part| &part.items)
    }

    /// As many lines as fit into so many bytes, which are never fewer than characters.
    fn text(&self, style: Style, limit: usize) -> String {
        let lines: Vec<String> = self.parts.iter().flat_map(|part| part.lines(style)).collect();
        let (mut text, count) = (String::new(), lines.len());
        for (index, line) in lines.into_iter().enumerate() {
            if text.len() + line.len() > limit.saturating_sub(64) {
                text.push_str(&format!("… and {} more lines", count - index));
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        text.trim_end().to_owned()
    }
}

impl Part<'_> {
    /// Where it was measured, and what.
    fn place(&self, style: Style) -> String {
        let (branch, testbed) = (self.report.branch.name.as_str(), self.report.testbed.name.as_str());
        format!("on {} at {}", style.name(branch), style.name(testbed))
    }

    /// How much of what there is.
    fn summary(&self) -> String {
        counts(self.items.iter())
    }

    /// Whether the machine seems to be behind it.
    fn is_of_host(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Change(Change { cause: ChangeCause::Host, .. })))
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let head = format!("{} {}", self.summary(), self.place(style));
        let head = match (&self.link, style) {
            (Some(link), Style::Plain) => format!("{head}: {link}"),
            (Some(link), Style::Slack) => format!("{head}: <{link}|report>"),
            (Some(link), Style::Markdown) => format!("{head}: [report]({link})"),
            (None, _) => head,
        };
        let mut lines = vec![head];
        if self.is_of_host() {
            lines.push("Most benchmarks moved together: look at the machine first.".to_owned());
        }
        lines.extend(self.items.iter().take(LINES_MAX).map(|item| item.line(style)));
        if let Some(more) = self.items.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
            lines.push(format!("… and {more} more"));
        }
        lines
    }

    fn json(&self) -> Value {
        let Self { report, items, link } = self;
        let regressions = items.iter().filter(|item| item.is_regression()).count();
        let (mut alerts, mut changes) = (Vec::new(), Vec::new());
        for item in items.iter().take(ALERTS_MAX) {
            match item {
                Item::Alert(row) => alerts.push(alert(row)),
                Item::Change(change) => changes.push(json!(change)),
            }
        }
        json!({
            "uuid": report.uuid,
            "url": link,
            "branch": report.branch.name,
            "hash": report.branch.head.version.as_ref().and_then(|version| version.hash.as_ref()),
            "testbed": report.testbed.name,
            "start_time": report.start_time,
            "summary": self.summary(),
            "regressions": regressions,
            "improvements": items.iter().filter(|item| item.is_improvement()).count(),
            "alerts": alerts,
            "changes": changes,
        })
    }
}

impl Item<'_> {
    fn is_regression(&self) -> bool {
        match self {
            Self::Alert(row) => row.standing == ThresholdStatus::Worse,
            Self::Change(change) => change.direction == ChangeDirection::Regression,
        }
    }

    fn is_improvement(&self) -> bool {
        match self {
            Self::Alert(row) => row.standing == ThresholdStatus::Better,
            Self::Change(change) => change.direction == ChangeDirection::Improvement,
        }
    }

    /// It for people.
    fn line(&self, style: Style) -> String {
        match self {
            Self::Alert(row) => line(row, style),
            Self::Change(change) => changed(change, style),
        }
    }
}

/// A change for people.
fn changed(change: &Change, style: Style) -> String {
    let arrow = if change.after > change.before { "▲" } else { "▼" };
    let benchmark = format::benchmark(
        change.benchmark.name.as_str(),
        change.variant.as_ref().map(|variant| &variant.parameters),
    );
    let effect = change.effect.map_or_else(String::new, |effect| format!(" {}", format::percent(effect)));
    let units = change.measure.units.as_str();
    let since = match &change.at.version.hash {
        Some(hash) => format!(", since {}", hash.as_str().chars().take(SHORT_HASH).collect::<String>()),
        None => format!(", since version {}", change.at.version.number),
    };
    format!(
        "{arrow} {} {}:{effect} from {} to {}{since}, {}",
        style.name(&benchmark),
        style.name(change.measure.name.as_str()),
        style.escape(&format::quantity(change.before, units)),
        style.escape(&format::quantity(change.after, units)),
        match change.direction {
            ChangeDirection::Regression => "regression",
            ChangeDirection::Improvement => "improvement",
            ChangeDirection::Unknown => "change",
        }
    )
}

/// An alert for programs.
fn alert(row: &MetricRow<'_>) -> Value {
    let boundary = row.measured.boundary.unwrap_or_default();
    let (value, baseline) = (row.measured.metric.value, boundary.baseline);
    json!({
        "benchmark": row.result.benchmark.name,
        "parameters": row.result.variant.as_ref().map(|variant| &variant.parameters),
        "measure": row.measured.measure.name,
        "units": row.measured.measure.units,
        "verdict": if row.standing == ThresholdStatus::Better { "improvement" } else { "regression" },
        "direction": if is_up(row) { "up" } else { "down" },
        "value": value,
        "baseline": baseline,
        "change": metric::change(value, baseline),
        "lower_limit": boundary.lower_limit,
        "upper_limit": boundary.upper_limit,
    })
}

/// An alert for people.
fn line(row: &MetricRow<'_>, style: Style) -> String {
    let arrow = if is_up(row) { "▲" } else { "▼" };
    let (change, baseline, limit) = (row.change(), row.baseline(), row.limit());
    let change = if change.is_empty() { String::new() } else { format!(" {change}") };
    let expected = match (baseline.is_empty(), limit.is_empty()) {
        (false, _) => format!(", expected {baseline}"),
        (true, false) => format!(", limit {limit}"),
        (true, true) => String::new(),
    };
    format!(
        "{arrow} {} {}:{change} to {}{}, outside the configured threshold",
        style.name(&row.benchmark()),
        style.name(row.measured.measure.name.as_str()),
        style.escape(&row.value()),
        style.escape(&expected),
    )
}

/// Whether a row is above what it may be, and not below.
fn is_up(row: &MetricRow<'_>) -> bool {
    let limit = row.measured.boundary.and_then(|boundary| boundary.upper_limit);
    limit.is_some_and(|limit| row.measured.metric.value > limit)
}

/// How many of what there are, the worst first.
fn counts<'a>(items: impl Iterator<Item = &'a Item<'a>>) -> String {
    let (mut regressions, mut improvements, mut others, mut outside) = (0, 0, 0, 0);
    for item in items {
        *match () {
            () if matches!(item, Item::Alert(_)) => &mut outside,
            () if item.is_regression() => &mut regressions,
            () if item.is_improvement() => &mut improvements,
            () => &mut others,
        } += 1;
    }
    let count = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        count => Some(format!("{count} {word}s")),
    };
    let outside = count(outside, "value").map(|values| format!("{values} outside the configured threshold"));
    let counts = [
        count(regressions, "regression"),
        count(improvements, "improvement"),
        count(others, "change"),
        outside,
    ];
    counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most - 1).collect();
    cut.push('…');
    cut
}

impl Style {
    /// A name that calls nobody and breaks nothing, whoever chose it.
    fn name(self, name: &str) -> String {
        let name = cut(&format::plain(name), NAME_MAX);
        match self {
            Self::Plain => name,
            // In code, nothing has a meaning but its end.
            Self::Slack | Self::Markdown => format!("`{}`", self.escape_controls(&name.replace('`', "'"))),
        }
    }

    /// Text that means nothing but itself.
    fn escape(self, text: &str) -> String {
        match self {
            Self::Markdown => {
                let mut escaped = String::with_capacity(text.len());
                for character in text.chars() {
                    if "\\`*_{}[]()#~|>".contains(character) {
                        escaped.push('\\');
                    }
                    escaped.push(character);
                    // Whoever is named after it is not called.
                    if character == '@' {
                        escaped.push('\u{200b}');
                    }
                }
                escaped
            }
            Self::Plain | Self::Slack => self.escape_controls(text),
        }
    }

    /// The three characters that Slack gives a meaning, in code, too.
    fn escape_controls(self, text: &str) -> String {
        match self {
            Self::Slack => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
            Self::Plain | Self::Markdown => text.to_owned(),
        }
    }
}
