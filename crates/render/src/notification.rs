//! Content of a notification: the values outside a threshold or the changes of its reports, with direction and size, the worst
//! first. Each kind of notice has its own format. The caller decides the recipients and the time.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{
    confirmation::{self, SeriesUuids},
    culprit, format,
    links::Links,
    metric::{self, MetricRow, ThresholdStatus},
    style::{Style, truncate},
};
use tidemark_api::{
    AlertStatus, Bisection, Change, ChangeCause, ChangeDirection, Confirmation, EventUuid, MetricUuid,
    NoticeDirection, NotificationFilter, NotificationUuid, Report, ReportUuid, Timestamp, Url,
};

/// Maximum number of alerts per report in the payload of a webhook. The count includes all alerts.
const ALERTS_MAX: usize = 100;
/// Maximum number of alerts per report in messages for people.
const LINES_MAX: usize = 10;
/// Maximum length of a section of a Slack message, in characters.
const SLACK_MAX: usize = 3_000;
/// Maximum length of a Mattermost message, in characters.
const MATTERMOST_MAX: usize = 16_000;
/// Maximum length of a description in a Discord message, in characters.
const DISCORD_MAX: usize = 4_000;
/// Maximum length of a title.
pub(crate) const TITLE_MAX: usize = 250;
/// Length of a short commit hash.
const SHORT_HASH: usize = 10;
/// Colors of a regression and of an improvement.
pub(crate) const COLORS: [u32; 2] = [0x00c4_314b, 0x002d_7d46];

/// A notification about one event.
pub struct Notification<'a> {
    event: NotificationUuid,
    time: Timestamp,
    parts: Vec<ReportPart<'a>>,
    /// Bisections of the events of the changes or alerts, each with a report.
    bisections: &'a [(ReportUuid, EventUuid, Bisection)],
}

/// A report of the event with its changes or alerts.
struct ReportPart<'a> {
    report: &'a Report,
    items: Vec<Item<'a>>,
    link: Option<String>,
    /// Second measurements of the events of the report.
    confirmations: Vec<&'a Confirmation>,
}

/// A change or an alert.
enum Item<'a> {
    Alert(MetricRow<'a>),
    Change(&'a Change),
}

/// What the project sends notifications about.
#[derive(Clone, Copy)]
pub enum NotificationContent<'a> {
    /// Alerts of the reports.
    Alerts,
    /// These changes, each with the report that the notification names, the worst first.
    Changes(&'a [(ReportUuid, Change)]),
}

impl<'a> Notification<'a> {
    /// Creates a notification about reports; `None` if they have no matching alerts or changes.
    pub fn new(
        event: NotificationUuid,
        time: Timestamp,
        reports: &'a [Report],
        news: NotificationContent<'a>,
        filter: &NotificationFilter,
        console: &Url,
    ) -> Option<Self> {
        let part = |report: &'a Report| {
            if !filter.matches_report(report.branch.name.as_str(), report.testbed.name.as_str()) {
                return None;
            }
            let mut items: Vec<Item<'_>> = match news {
                NotificationContent::Alerts => {
                    // Users have already reviewed dismissed alerts.
                    let alerts = report.alerts.iter().flatten();
                    let dismissed: HashSet<MetricUuid> = alerts
                        .filter(|alert| alert.status == AlertStatus::Dismissed)
                        .map(|alert| alert.metric.uuid)
                        .collect();
                    let outside = metric::rows(report).into_iter().filter(|row| {
                        row.status.is_outside() && !dismissed.contains(&row.measured.metric.uuid)
                    });
                    outside.map(Item::Alert).collect()
                }
                NotificationContent::Changes(changes) => {
                    let own = changes.iter().filter(|(with, _)| *with == report.uuid);
                    own.map(|(_, change)| Item::Change(change)).collect()
                }
            };
            items.retain(|item| item.matches(filter));
            let link = Links::new(console, Some(console), report, false).report();
            (!items.is_empty()).then_some(ReportPart { report, items, link, confirmations: Vec::new() })
        };
        let parts: Vec<_> = reports.iter().filter_map(part).collect();
        (!parts.is_empty()).then_some(Self { event, time, parts, bisections: &[] })
    }

    /// Adds the results of searches for the commits that caused the events of the changes or alerts, each with the report that the
    /// notification names.
    #[must_use]
    pub fn with_bisections(self, bisections: &'a [(ReportUuid, EventUuid, Bisection)]) -> Self {
        Self { bisections, ..self }
    }

    /// Adds the second measurements of events, each with the report that the notification names.
    #[must_use]
    pub fn with_confirmations(mut self, confirmations: &'a [(ReportUuid, Confirmation)]) -> Self {
        for part in &mut self.parts {
            let own = confirmations.iter().filter(|(with, _)| *with == part.report.uuid);
            part.confirmations = own.map(|(_, confirmation)| confirmation).collect();
        }
        self
    }

    /// Returns the event in a few words.
    pub fn title(&self) -> String {
        let project = self.parts.first().map(|part| format::plain(part.report.project.name.as_str()));
        let project = project.unwrap_or_default();
        let title = match self.parts.as_slice() {
            [part] => format!("{project}: {} {}", part.summary(), part.location(Style::Plain)),
            parts => {
                let items = parts.iter().flat_map(|part| &part.items);
                format!("{project}: {} in {} reports", counts(items), parts.len())
            }
        };
        truncate(&title, TITLE_MAX)
    }

    /// Returns the event as JSON for webhooks.
    pub fn webhook(&self) -> Value {
        let project = self.parts.first().map(|part| &part.report.project);
        let project = project
            .map(|project| json!({ "uuid": project.uuid, "slug": project.slug, "name": project.name }));
        let mut document = json!({
            "type": if self.items().any(|item| matches!(item, Item::Change(_))) { "changes" } else { "alerts" },
            "event": self.event,
            "time": self.time,
            "title": self.title(),
            "project": project,
            "reports": self.parts.iter().map(ReportPart::json).collect::<Vec<_>>(),
        });
        let bisections: Vec<Value> = self
            .bisections_of(&self.parts)
            .map(|(_, event, bisection)| json!({ "event": event, "result": bisection.result }))
            .collect();
        if !bisections.is_empty() {
            document["bisections"] = json!(bisections);
        }
        document
    }

    /// Returns the event as a Slack message.
    pub fn slack(&self) -> Value {
        let title = Style::Slack.escape(&self.title());
        let text = format!("*{title}*\n{}", self.text(Style::Slack, SLACK_MAX - title.len() - 3));
        json!({
            "text": title,
            "blocks": [{ "type": "section", "text": { "type": "mrkdwn", "text": text } }],
        })
    }

    /// Returns the event as a Mattermost message.
    pub fn mattermost(&self) -> Value {
        let title = Style::Markdown.escape(&self.title());
        json!({ "text": format!("**{title}**\n{}", self.text(Style::Markdown, MATTERMOST_MAX - 1_000)) })
    }

    /// Returns the event as a Discord message.
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

    /// Returns the event as plain text.
    pub fn plain(&self) -> String {
        self.text(Style::Plain, usize::MAX)
    }

    fn items(&self) -> impl Iterator<Item = &Item<'a>> {
        self.parts.iter().flat_map(|part| &part.items)
    }

    /// Returns the bisections of the events of the changes or alerts in these reports.
    fn bisections_of(
        &self,
        parts: &[ReportPart<'_>],
    ) -> impl Iterator<Item = &'a (ReportUuid, EventUuid, Bisection)> {
        let is_alert = |part: &&ReportPart<'_>| part.items.iter().any(|item| matches!(item, Item::Alert(_)));
        let alerted: HashSet<ReportUuid> =
            parts.iter().filter(is_alert).map(|part| part.report.uuid).collect();
        let events: HashSet<EventUuid> = parts
            .iter()
            .flat_map(|part| &part.items)
            .filter_map(|item| match item {
                Item::Change(change) => Some(change.event),
                Item::Alert(_) => None,
            })
            .collect();
        self.bisections
            .iter()
            .filter(move |(report, event, _)| events.contains(event) || alerted.contains(report))
    }

    /// Returns as many lines as fit into `limit` bytes; a text never has more characters than bytes.
    fn text(&self, style: Style, limit: usize) -> String {
        let of_part = |part: &ReportPart<'_>| {
            let found = self.bisections_of(std::slice::from_ref(part));
            let culprits = found.filter_map(|(_, _, bisection)| culprit::line(bisection, style));
            let mut lines = part.lines(style);
            lines.extend(culprits);
            lines
        };
        let lines: Vec<String> = self.parts.iter().flat_map(of_part).collect();
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

impl ReportPart<'_> {
    /// Returns the branch and the testbed.
    fn location(&self, style: Style) -> String {
        let (branch, testbed) = (self.report.branch.name.as_str(), self.report.testbed.name.as_str());
        format!("on {} at {}", style.name(branch), style.name(testbed))
    }

    /// Returns the numbers of changes or alerts.
    fn summary(&self) -> String {
        counts(self.items.iter())
    }

    /// Whether the probable cause is the host.
    fn is_caused_by_host(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Change(Change { cause: ChangeCause::Host, .. })))
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let head = format!("{} {}", self.summary(), self.location(style));
        let head = match (&self.link, style) {
            (Some(link), Style::Plain) => format!("{head}: {link}"),
            (Some(link), Style::Slack) => format!("{head}: <{link}|report>"),
            (Some(link), Style::Markdown) => format!("{head}: [report]({link})"),
            (None, _) => head,
        };
        let mut lines = vec![head];
        if self.is_caused_by_host() {
            lines.push("Most benchmarks changed together: check the machine first.".to_owned());
        }
        lines.extend(confirmation::reasons(&self.confirmations).map(|reason| style.escape(&reason)));
        lines.extend(self.items.iter().take(LINES_MAX).map(|item| {
            let measured = confirmation::comparison(&self.confirmations, &item.series());
            let measured = measured.map(|comparison| style.escape(&confirmation::text(comparison)));
            format!("{}{}", item.line(style), measured.unwrap_or_default())
        }));
        if let Some(more) = self.items.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
            lines.push(format!("… and {more} more"));
        }
        lines
    }

    fn json(&self) -> Value {
        let Self { report, items, link, confirmations } = self;
        let regressions = items.iter().filter(|item| item.is_regression()).count();
        let (mut alerts, mut changes) = (Vec::new(), Vec::new());
        for item in items.iter().take(ALERTS_MAX) {
            match item {
                Item::Alert(row) => alerts.push(alert_json(row)),
                Item::Change(change) => changes.push(json!(change)),
            }
        }
        let mut content = json!({
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
        });
        if !confirmations.is_empty() {
            content["confirmations"] = json!(confirmations);
        }
        content
    }
}

impl Item<'_> {
    /// Whether a notice with this filter sends the item.
    fn matches(&self, filter: &NotificationFilter) -> bool {
        let is_direction = match filter.direction {
            NoticeDirection::Any => true,
            NoticeDirection::Regression => self.is_regression(),
            NoticeDirection::Improvement => self.is_improvement(),
        };
        let (benchmark, change) = match self {
            Self::Alert(row) => (&row.result.benchmark.name, row.relative_change()),
            Self::Change(change) => (&change.benchmark.name, change.effect),
        };
        is_direction && filter.matches_benchmark(benchmark.as_str()) && filter.matches_size(change)
    }

    fn is_regression(&self) -> bool {
        match self {
            Self::Alert(row) => row.status == ThresholdStatus::Worse,
            Self::Change(change) => change.direction == ChangeDirection::Regression,
        }
    }

    fn is_improvement(&self) -> bool {
        match self {
            Self::Alert(row) => row.status == ThresholdStatus::Better,
            Self::Change(change) => change.direction == ChangeDirection::Improvement,
        }
    }

    /// Returns the series of the item.
    fn series(&self) -> SeriesUuids {
        match self {
            Self::Alert(row) => SeriesUuids {
                benchmark: row.result.benchmark.uuid,
                variant: row.result.variant.as_ref().map(|variant| variant.uuid),
                measure: row.measured.measure.uuid,
            },
            Self::Change(change) => SeriesUuids {
                benchmark: change.benchmark.uuid,
                variant: change.variant.as_ref().map(|variant| variant.uuid),
                measure: change.measure.uuid,
            },
        }
    }

    /// Returns the item as a line for people.
    fn line(&self, style: Style) -> String {
        match self {
            Self::Alert(row) => alert_line(row, style),
            Self::Change(change) => change_line(change, style),
        }
    }
}

/// Returns a change as a line for people.
fn change_line(change: &Change, style: Style) -> String {
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

/// Returns an alert as JSON.
fn alert_json(row: &MetricRow<'_>) -> Value {
    let boundary = row.measured.boundary.unwrap_or_default();
    let (value, baseline) = (row.measured.metric.value, boundary.baseline);
    json!({
        "benchmark": row.result.benchmark.name,
        "parameters": row.result.variant.as_ref().map(|variant| &variant.parameters),
        "measure": row.measured.measure.name,
        "units": row.measured.measure.units,
        "verdict": if row.status == ThresholdStatus::Better { "improvement" } else { "regression" },
        "direction": if is_above_limit(row) { "up" } else { "down" },
        "value": value,
        "baseline": baseline,
        "change": metric::change(value, baseline),
        "lower_limit": boundary.lower_limit,
        "upper_limit": boundary.upper_limit,
    })
}

/// Returns an alert as a line for people.
fn alert_line(row: &MetricRow<'_>, style: Style) -> String {
    let arrow = if is_above_limit(row) { "▲" } else { "▼" };
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

/// Whether the value is above its upper limit.
fn is_above_limit(row: &MetricRow<'_>) -> bool {
    let limit = row.measured.boundary.and_then(|boundary| boundary.upper_limit);
    limit.is_some_and(|limit| row.measured.metric.value > limit)
}

/// Returns the number of items of each kind as text, the worst first.
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
