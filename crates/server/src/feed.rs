//! The alerts of a project as an Atom feed (RFC 4287): what is told of each report that raised some, and how it is
//! written. Asking for one is the business of `http`.

use std::fmt::Write;

use tidemark_api::{
    Project, Timestamp, Url, Visibility,
    telling::{
        links::project_page,
        markup::{self, Align, Block, Dialect, Span, html},
        shown,
        verdict::{Verdict, badness, change},
    },
};
use tidemark_store::{
    ProjectId, Result, Tx,
    feed::{self, Alert, Which},
};

/// The most events in a feed.
const EVENTS: u32 = 50;
/// The most alerts of an event that are told one by one.
const ROWS: usize = 20;
/// As much of a hash as tells commits apart.
const SHORT_HASH: usize = 10;

/// A report that raised alerts, with the worst of them.
#[derive(Debug)]
pub(crate) struct Event {
    about: feed::Event,
    alerts: Alerts,
}

/// The alerts of an event.
#[derive(Debug, Default)]
struct Alerts {
    count: usize,
    /// The worst first, each with its verdict and how bad it is.
    worst: Vec<(Verdict, f64, Alert)>,
}

impl Alerts {
    fn add(&mut self, alert: Alert) {
        self.count += 1;
        let worse = alert.measure.worse();
        let verdict = Verdict::of_crossing(alert.limit, worse);
        let badness = badness(change(alert.value, alert.boundary.baseline), worse);
        let place =
            self.worst.partition_point(|(before, worse, _)| (*before, -*worse) <= (verdict, -badness));
        if place < ROWS {
            self.worst.insert(place, (verdict, badness, alert));
            self.worst.truncate(ROWS);
        }
    }
}

/// The newest events of a project, in two statements.
pub(crate) fn events(tx: &mut Tx<'_>, project: ProjectId, which: &Which) -> Result<Vec<Event>> {
    let mut alerts: Vec<Alerts> = Vec::new();
    let events = feed::list(tx, project, which, EVENTS, |place, alert| {
        if alerts.len() <= place {
            alerts.resize_with(place + 1, Alerts::default);
        }
        alerts[place].add(alert);
    })?;
    Ok(events.into_iter().zip(alerts).map(|(about, alerts)| Event { about, alerts }).collect())
}

/// A feed to be written.
#[derive(Debug)]
pub(crate) struct Feed<'a> {
    /// The project.
    pub(crate) project: &'a Project,
    /// Where the console is.
    pub(crate) console: &'a Url,
    /// What of the project was asked for, by name.
    pub(crate) parts: Vec<&'a str>,
    /// The same as a query string; empty for all of it.
    pub(crate) query: String,
    /// The events, the newest first.
    pub(crate) events: &'a [Event],
}

impl Feed<'_> {
    /// When something was last told.
    pub(crate) fn updated(&self) -> Timestamp {
        self.events.first().map_or(self.project.created, |newest| newest.about.alerted)
    }

    /// The document.
    pub(crate) fn write(&self) -> String {
        let project = self.project;
        let page = project_page(self.console, &project.slug, project.visibility == Visibility::Public);
        let (to_self, id) = match self.query.as_str() {
            "" => (String::new(), String::new()),
            query => (format!("?{query}"), format!("?={query}")),
        };
        let root = self.console.as_str().trim_end_matches('/');
        let address = format!("{root}/v0/projects/{}/feed{to_self}", project.slug);
        let title: String = std::iter::once(format!("{}: alerts", project.name))
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
        element(out, "updated", &self.about.alerted.to_string());
        link(out, "alternate", "text/html", &report);
        let content = markup::write(&self.content(report), Dialect::Html);
        let _ = writeln!(out, "<content type=\"html\">{}</content>", escape(&content));
        out.push_str("</entry>\n");
    }

    /// The worst of it in one line.
    fn title(&self) -> String {
        let Some((verdict, _, worst)) = self.alerts.worst.first() else { return String::new() };
        let verdict = match verdict {
            Verdict::Improvement => "Improvement",
            _ => "Regression",
        };
        let size = match percent(worst) {
            None => format!("{} (limit {})", value(worst), limit(worst)),
            Some(change) => change,
        };
        let more = match self.alerts.count {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let (branch, measure) = (shown::plain(self.about.branch.as_str()), measure(worst));
        format!("{verdict} on {branch}: {}, {measure} {size}{more}", benchmark(worst))
    }

    fn content(&self, report: String) -> Vec<Block> {
        let count = self.alerts.count;
        let alerts = if count == 1 { "1 alert".to_owned() } else { format!("{count} alerts") };
        let mut place = vec![
            Span::strong(alerts).to(Some(report)),
            Span::text(" on "),
            Span::name(shown::plain(self.about.branch.as_str())),
        ];
        if let Some(hash) = &self.about.hash {
            let short: String = hash.as_str().chars().take(SHORT_HASH).collect();
            place.extend([Span::text(" at "), Span::name(short)]);
        }
        place.extend([Span::text(", measured on "), Span::name(shown::plain(self.about.testbed.as_str()))]);
        let row = |(verdict, _, alert): &(Verdict, f64, Alert)| {
            let texts = [measure(alert), value(alert), percent(alert).unwrap_or_default(), limit(alert)];
            let mut row = vec![Span::name(benchmark(alert))];
            row.extend(texts.map(Span::text));
            row.push(Span::text(verdict.word()));
            row
        };
        let table = Block::Table {
            titles: vec![
                ("Benchmark", Align::Left),
                ("Measure", Align::Left),
                ("Value", Align::Right),
                ("Change", Align::Right),
                ("Limit", Align::Right),
                ("Verdict", Align::Left),
            ],
            rows: self.alerts.worst.iter().map(row).collect(),
        };
        let mut blocks = vec![Block::Paragraph(place), table];
        let hidden = count - self.alerts.worst.len();
        if hidden > 0 {
            blocks.push(Block::Paragraph(vec![Span::text(format!("And {hidden} more."))]));
        }
        blocks
    }
}

fn benchmark(alert: &Alert) -> String {
    shown::benchmark(alert.benchmark.as_str(), alert.parameters.as_ref())
}

fn measure(alert: &Alert) -> String {
    shown::plain(alert.measure.name.as_str())
}

fn value(alert: &Alert) -> String {
    shown::quantity(alert.value, alert.measure.units.as_str())
}

fn limit(alert: &Alert) -> String {
    let boundary = &alert.boundary;
    shown::range(boundary.lower_limit, boundary.upper_limit, alert.measure.units.as_str())
}

/// How far the value is from what was expected, if anything was.
fn percent(alert: &Alert) -> Option<String> {
    let change = change(alert.value, alert.boundary.baseline)?;
    Some(format!("{} %", shown::percent(change)))
}

fn element(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "<{name}>{}</{name}>", escape(text));
}

fn link(out: &mut String, relation: &str, media_type: &str, address: &str) {
    let _ = writeln!(out, "<link rel=\"{relation}\" type=\"{media_type}\" href=\"{}\"/>", escape(address));
}

/// Text in XML, without the characters that XML has no way to write.
fn escape(text: &str) -> String {
    let is_writable =
        |character: &char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    html(&text.chars().filter(is_writable).collect::<String>())
}
