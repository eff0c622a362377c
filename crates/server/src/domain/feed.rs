//! The alerts or changes of a project as an Atom feed (RFC 4287): the events and their XML. The HTTP endpoint is in `http`.

use std::fmt::Write;

use tidemark_api::{Notifies, Project, Timestamp, Url, Visibility};
use tidemark_render::{
    format,
    links::project_page,
    markup::{self, Align, Block, Dialect, Span, escape_html},
    metric::{ThresholdStatus, change, degradation},
};
use tidemark_store::{
    ProjectId, Result, Tx,
    feed::{self, FeedAlert, FeedChange},
    series_filter::SeriesFilter,
};

/// Maximum number of events in a feed.
const EVENTS: u32 = 50;
/// Maximum number of alerts or changes that are listed in an event.
const ROWS: usize = 20;
/// Number of characters of a commit hash that are shown.
const SHORT_HASH: usize = 10;

/// A report that raised alerts or changes, with the worst of them.
#[derive(Debug)]
pub(crate) struct Event {
    about: feed::FeedEvent,
    noun: &'static str,
    items: Items,
}

/// The alerts or changes of an event.
#[derive(Debug, Default)]
struct Items {
    count: usize,
    /// The worst first.
    worst: Vec<Item>,
}

/// An alert or a change, as text.
#[derive(Debug)]
struct Item {
    /// The status, and in `degradation` the size in the worse direction.
    status: ThresholdStatus,
    degradation: f64,
    benchmark: String,
    measure: String,
    value: String,
    /// The difference to the expected value, if there is one.
    change: Option<String>,
    /// The limits of an alert, or the level before a change.
    expected: String,
}

impl Items {
    fn add(&mut self, item: Item) {
        self.count += 1;
        let key = (item.status, -item.degradation);
        let place = self.worst.partition_point(|before| (before.status, -before.degradation) <= key);
        if place < ROWS {
            self.worst.insert(place, item);
            self.worst.truncate(ROWS);
        }
    }
}

impl Item {
    fn of_alert(alert: &FeedAlert) -> Self {
        let (worse, units) = (alert.measure.worse(), alert.measure.units.as_str());
        let change = change(alert.value, alert.boundary.baseline);
        Self {
            status: ThresholdStatus::of_crossing(alert.limit, worse),
            degradation: degradation(change, worse),
            benchmark: format::benchmark(alert.benchmark.as_str(), alert.parameters.as_ref()),
            measure: format::plain(alert.measure.name.as_str()),
            value: format::quantity(alert.value, units),
            change: change.map(format::percent),
            expected: format::range(alert.boundary.lower_limit, alert.boundary.upper_limit, units),
        }
    }

    fn of_change(moved: &FeedChange) -> Self {
        let units = moved.measure.units.as_str();
        Self {
            status: if moved.worse < 0 { ThresholdStatus::Better } else { ThresholdStatus::Worse },
            degradation: moved.effect.unwrap_or(0.0).abs(),
            benchmark: format::benchmark(moved.benchmark.as_str(), moved.parameters.as_ref()),
            measure: format::plain(moved.measure.name.as_str()),
            value: format::quantity(moved.after, units),
            change: moved.effect.map(format::percent),
            expected: format::quantity(moved.before, units),
        }
    }
}

/// Returns the newest events of a project, with two statements.
pub(crate) fn events(
    tx: &mut Tx<'_>,
    project: ProjectId,
    which: &SeriesFilter,
    notifies: Notifies,
) -> Result<Vec<Event>> {
    let mut items: Vec<Items> = Vec::new();
    let mut add = |place: usize, item: Item| {
        if items.len() <= place {
            items.resize_with(place + 1, Items::default);
        }
        items[place].add(item);
    };
    let (events, noun) = match notifies {
        Notifies::Alerts => (
            feed::alerts(tx, project, which, EVENTS, |place, alert| add(place, Item::of_alert(&alert)))?,
            "alert",
        ),
        Notifies::Changes => {
            let take = |place: usize, moved: FeedChange| add(place, Item::of_change(&moved));
            (feed::changes(tx, project, which, EVENTS, take)?, "change")
        }
    };
    Ok(events.into_iter().zip(items).map(|(about, items)| Event { about, noun, items }).collect())
}

/// A feed to write.
#[derive(Debug)]
pub(crate) struct Feed<'a> {
    /// The project.
    pub(crate) project: &'a Project,
    /// Base URL of the console.
    pub(crate) console: &'a Url,
    /// Names of the dimensions that the feed is filtered by.
    pub(crate) parts: Vec<&'a str>,
    /// The same filter as a query string; empty without a filter.
    pub(crate) query: String,
    /// Whether the feed has alerts or changes.
    pub(crate) notifies: Notifies,
    /// The events, newest first.
    pub(crate) events: &'a [Event],
}

impl Feed<'_> {
    /// Returns the time of the newest event.
    pub(crate) fn updated(&self) -> Timestamp {
        self.events.first().map_or(self.project.created, |newest| newest.about.raised)
    }

    /// Returns the XML document.
    pub(crate) fn write(&self) -> String {
        let project = self.project;
        let page = project_page(self.console, &project.slug, project.visibility == Visibility::Public);
        let (to_self, id) = match self.query.as_str() {
            "" => (String::new(), String::new()),
            query => (format!("?{query}"), format!("?={query}")),
        };
        let root = self.console.as_str().trim_end_matches('/');
        let address = format!("{root}/v0/projects/{}/feed{to_self}", project.slug);
        let title: String = std::iter::once(format!("{}: {}", project.name, self.notifies))
            .chain(self.parts.iter().map(|part| format!(" · {part}")))
            .collect();
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
        out.push_str("<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
        element(&mut out, "id", &format!("urn:uuid:{}{id}", project.uuid));
        element(&mut out, "title", &title);
        element(&mut out, "updated", &self.updated().to_string());
        out.push_str("<author><name>Tidemark</name></author>\n");
        link(&mut out, "self", "application/atom+xml", &address);
        link(&mut out, "alternate", "text/html", &page);
        for event in self.events {
            event.write(&mut out, &page);
        }
        out.push_str("</feed>\n");
        out
    }
}

impl Event {
    fn write(&self, out: &mut String, page: &str) {
        let report = format!("{page}/reports/{}", self.about.report);
        out.push_str("<entry>\n");
        element(out, "id", &format!("urn:uuid:{}", self.about.report));
        element(out, "title", &self.title());
        element(out, "updated", &self.about.raised.to_string());
        link(out, "alternate", "text/html", &report);
        let content = markup::write(&self.content(report), Dialect::Html);
        let _ = writeln!(out, "<content type=\"html\">{}</content>", escape(&content));
        out.push_str("</entry>\n");
    }

    /// Returns the worst alert or change as one line.
    fn title(&self) -> String {
        let Some(worst) = self.items.worst.first() else { return String::new() };
        let verdict = match worst.status {
            _ if self.noun == "alert" => "Outside the configured threshold",
            ThresholdStatus::Better => "Improvement",
            _ => "Regression",
        };
        let size = match &worst.change {
            None => format!("{} ({} {})", worst.value, self.expected().to_lowercase(), worst.expected),
            Some(change) => change.clone(),
        };
        let more = match self.items.count {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let branch = format::plain(self.about.branch.as_str());
        format!("{verdict} on {branch}: {}, {} {size}{more}", worst.benchmark, worst.measure)
    }

    /// Returns the title of the column next to the value: the limits of an alert, or the level before a change.
    fn expected(&self) -> &'static str {
        if self.noun == "alert" { "Limit" } else { "Before" }
    }

    fn content(&self, report: String) -> Vec<Block> {
        let (count, noun) = (self.items.count, self.noun);
        let counted = if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
        let mut place = vec![
            Span::strong(counted).with_link(Some(report)),
            Span::text(" on "),
            Span::name(format::plain(self.about.branch.as_str())),
        ];
        if let Some(hash) = &self.about.hash {
            let short: String = hash.as_str().chars().take(SHORT_HASH).collect();
            place.extend([Span::text(" at "), Span::name(short)]);
        }
        place.extend([Span::text(", measured on "), Span::name(format::plain(self.about.testbed.as_str()))]);
        let row = |item: &Item| {
            let change = item.change.clone().unwrap_or_default();
            let texts = [item.measure.clone(), item.value.clone(), change, item.expected.clone()];
            let mut row = vec![Span::name(item.benchmark.clone())];
            row.extend(texts.map(Span::text));
            if self.noun == "change" {
                let is_better = item.status == ThresholdStatus::Better;
                row.push(Span::text(if is_better { "improvement" } else { "regression" }));
            }
            row
        };
        let mut titles = vec![
            ("Benchmark", Align::Left),
            ("Measure", Align::Left),
            ("Value", Align::Right),
            ("Change", Align::Right),
            (self.expected(), Align::Right),
        ];
        if self.noun == "change" {
            titles.push(("Direction", Align::Left));
        }
        let table = Block::Table { titles, rows: self.items.worst.iter().map(row).collect() };
        let mut blocks = vec![Block::Paragraph(place), table];
        let hidden = count - self.items.worst.len();
        if hidden > 0 {
            blocks.push(Block::Paragraph(vec![Span::text(format!("And {hidden} more."))]));
        }
        blocks
    }
}

fn element(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "<{name}>{}</{name}>", escape(text));
}

fn link(out: &mut String, relation: &str, media_type: &str, address: &str) {
    let _ = writeln!(out, "<link rel=\"{relation}\" type=\"{media_type}\" href=\"{}\"/>", escape(address));
}

/// Escapes text for XML and removes the characters that XML does not allow.
fn escape(text: &str) -> String {
    let is_writable =
        |character: &char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    escape_html(&text.chars().filter(is_writable).collect::<String>())
}
