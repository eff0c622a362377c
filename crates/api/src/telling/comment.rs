//! What a pull request is told about a report: the verdict first, then what moved, then the rest. It is shortened from
//! its end until it fits, so that what moved is the last to go.

use super::{
    links::Links,
    markup::{self, Align, Block, Dialect, Span},
    outcome, shown,
    verdict::{self, Row, Verdict},
};
use crate::{Report, Slug, VerdictAnswer};

/// A report to tell about.
pub struct Comment<'a> {
    /// The report.
    pub report: &'a Report,
    /// Its metrics, the worst first.
    pub rows: &'a [Row<'a>],
    /// What it shows against the history of its branch, where that is known.
    pub verdict: Option<&'a crate::Verdict>,
    /// Where people find it.
    pub links: &'a Links,
    /// Whether nothing is said about measures that nobody watches.
    pub only_thresholds: bool,
}

/// How much of a report is told.
#[derive(Clone, Copy)]
struct Extent {
    moved: usize,
    others: usize,
}

impl Comment<'_> {
    /// The whole of it.
    pub fn whole(&self, dialect: Dialect) -> String {
        markup::write(&self.blocks(self.all()), dialect)
    }

    /// As much as fits into so many bytes.
    pub fn within(&self, dialect: Dialect, limit: usize) -> String {
        let write = |extent| markup::write(&self.blocks(extent), dialect);
        let all = self.all();
        let whole = write(all);
        if whole.len() <= limit {
            return whole;
        }
        let fits = |extent| write(extent).len() <= limit;
        let without_others = Extent { others: 0, ..all };
        let extent = if fits(without_others) {
            Extent { others: most(all.others, |others| fits(Extent { others, ..all })), ..all }
        } else {
            Extent { moved: most(all.moved, |moved| fits(Extent { moved, others: 0 })), others: 0 }
        };
        write(extent)
    }

    /// The verdict in a few words.
    pub fn title(&self) -> String {
        match self.unwatched_verdict() {
            Some(verdict) => outcome::counts(verdict),
            None => verdict::summary(self.rows),
        }
    }

    /// The verdict against the history of the branch, if there is no other one because nobody watches.
    pub(super) fn unwatched_verdict(&self) -> Option<&crate::Verdict> {
        let is_unwatched = self.rows.iter().all(|row| row.verdict == Verdict::NoThreshold);
        self.verdict.filter(|verdict| is_unwatched && verdict.answer != VerdictAnswer::Inconclusive)
    }

    fn all(&self) -> Extent {
        let moved = self.rows.iter().filter(|row| row.has_moved()).count();
        Extent { moved, others: self.rows.len() - moved }
    }

    fn blocks(&self, extent: Extent) -> Vec<Block> {
        let all = self.all();
        let mut blocks = vec![self.heading(), self.subject()];
        let (moved, others) = self.rows.split_at(all.moved);
        if extent.moved > 0 {
            blocks.push(self.table(&moved[..extent.moved], true));
        }
        if let Some(verdict) = self.verdict {
            blocks.extend(outcome::blocks(verdict));
        }
        if extent.moved < all.moved || extent.others < all.others {
            blocks.push(self.cut(extent));
        }
        if !self.only_thresholds && self.unwatched_verdict().is_none() {
            blocks.extend(self.unwatched());
        }
        if extent.others > 0 {
            let more = if all.moved > 0 { "other result" } else { "result" };
            let number = match (extent.others, all.others) {
                (shown, all) if shown == all => counted(all, more),
                (shown, all) => format!("{shown} of {}", counted(all, more)),
            };
            let table = Box::new(self.table(&others[..extent.others], false));
            blocks.push(Block::Fold { summary: number, table });
        }
        if let Some(link) = self.links.report() {
            blocks.push(Block::Paragraph(vec![Span::text("View the report").to(Some(link))]));
        }
        blocks
    }

    fn heading(&self) -> Block {
        let by_history = self.unwatched_verdict().map(|verdict| match verdict.answer {
            VerdictAnswer::Changed if verdict.counts.regressions > 0 => "❌ ",
            VerdictAnswer::Changed => "⚠️ ",
            VerdictAnswer::Unchanged | VerdictAnswer::Inconclusive => "✅ ",
        });
        let by_threshold = match self.rows.first().map(|row| row.verdict) {
            Some(Verdict::Regression) => "❌ ",
            // It is an alert, too: somebody wanted to know.
            Some(Verdict::Improvement) => "⚠️ ",
            Some(Verdict::Pass) => "✅ ",
            Some(Verdict::NoBaseline | Verdict::NoThreshold) | None => "⚪ ",
        };
        let sign = by_history.unwrap_or(by_threshold);
        Block::Heading(vec![Span::text(format!("{sign}{}", self.title()))])
    }

    /// What was measured where.
    fn subject(&self) -> Block {
        let Report { project, branch, testbed, .. } = self.report;
        let named = |name: &str| Span::name(shown::plain(name));
        let mut spans = vec![
            Span::text("Project "),
            named(project.name.as_str()).to(self.links.project()),
            Span::text(" · branch "),
            named(branch.name.as_str()),
        ];
        if let Some(hash) = branch.head.version.as_ref().and_then(|version| version.hash.as_ref()) {
            spans.push(Span::text(" at "));
            spans.push(Span::name(hash.as_str().chars().take(10).collect::<String>()));
        }
        spans.push(Span::text(" · testbed "));
        spans.push(named(testbed.name.as_str()));
        Block::Paragraph(spans)
    }

    fn table(&self, rows: &[Row<'_>], stand_out: bool) -> Block {
        let several = verdict::is_repeated(self.report);
        let mut titles = vec![("Verdict", Align::Left), ("Benchmark", Align::Left)];
        if several {
            titles.push(("Iteration", Align::Right));
        }
        titles.extend([
            ("Measure", Align::Left),
            ("Value", Align::Right),
            ("Baseline", Align::Right),
            ("Change", Align::Right),
            ("Limit", Align::Right),
        ]);
        let cells = |row: &Row<'_>| {
            let loud = stand_out && row.verdict == Verdict::Regression;
            let said = |text: String| if loud { Span::strong(text) } else { Span::text(text) };
            let plot = self.links.plot(self.report, row).filter(|_| stand_out);
            let mut cells = vec![said(row.word().to_owned()), Span::name(row.benchmark()).to(plot)];
            if several {
                cells.push(Span::text(row.result.iteration.to_string()));
            }
            cells.extend([
                Span::text(shown::plain(row.measured.measure.name.as_str())),
                said(row.value()),
                Span::text(row.baseline()),
                said(row.change()),
                Span::text(row.limit()),
            ]);
            cells
        };
        Block::Table { titles, rows: rows.iter().map(cells).collect() }
    }

    /// Says that something is missing, and where it is.
    fn cut(&self, extent: Extent) -> Block {
        let all = self.all();
        let left_out = (all.moved - extent.moved) + (all.others - extent.others);
        Block::Paragraph(vec![
            Span::strong(format!("{} did not fit here", counted(left_out, "result"))),
            Span::text("; all of them are in "),
            Span::text("the report").to(self.links.report()),
            Span::text("."),
        ])
    }

    /// Names the measures that have no threshold.
    fn unwatched(&self) -> Option<Block> {
        let mut names: Vec<&str> = self
            .rows
            .iter()
            .filter(|row| row.verdict == Verdict::NoThreshold)
            .map(|row| row.measured.measure.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let (first, rest) = names.split_first()?;
        let mut spans = vec![Span::text("Nobody watches "), Span::name(shown::plain(first))];
        for name in rest.iter().take(8) {
            spans.extend([Span::text(", "), Span::name(shown::plain(name))]);
        }
        if rest.len() > 8 {
            spans.push(Span::text(format!(" and {} more", rest.len() - 8)));
        }
        spans.push(Span::text(": without a threshold there is no verdict."));
        Some(Block::Paragraph(spans))
    }
}

/// The greatest number up to `all` that still fits, given that none does.
fn most(all: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut too_many) = (0, all);
    while too_many - fitting > 1 {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(middle) { fitting = middle } else { too_many = middle }
    }
    fitting
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// What tells a run of a pull request from others when nobody says; `suffix` is what is measured besides what tools
/// print, such as `-build_time`.
pub fn default_id(report: &Report, testbed: &str, suffix: &str) -> String {
    format!("{}/{testbed}/{}{suffix}", report.branch.slug, report.adapter)
}

/// What a comment begins with, unseen, so that it is found again.
pub fn marker(project: &Slug, id: &str) -> String {
    format!("<!-- tidemark/projects/{project}/id/{} -->", encode(id))
}

/// A text that can stand in an address or a marker.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::most;

    #[test]
    fn the_most_that_fits_is_found() {
        for limit in 0..9 {
            assert_eq!(most(10, |count| count <= limit), limit);
        }
    }
}
