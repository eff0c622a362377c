//! Comment on a pull request about a report: the verdict first, then the changed results, then the other results. A long comment
//! is cut from its end, so that the changed results are cut last.

use crate::{
    format,
    links::Links,
    markup::{self, Align, Block, Dialect, Span},
    metric::{MetricRow, ThresholdStatus},
    verdict::{self, VerdictRow},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tidemark_api::{Report, Slug, VerdictAnswer};

/// Characters to encode in a URL path or a marker.
const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A report to comment on.
pub struct Comment<'a> {
    /// Report.
    pub report: &'a Report,
    /// Metrics of the report, the worst first.
    pub rows: &'a [MetricRow<'a>],
    /// Verdict on the report, if the server returns one.
    pub verdict: Option<&'a tidemark_api::Verdict>,
    /// Links to the report.
    pub links: &'a Links,
}

/// How much of a report a comment contains.
#[derive(Clone, Copy)]
struct ContentLimits {
    moved: usize,
    others: usize,
}

impl Comment<'_> {
    /// Returns the whole comment.
    pub fn render(&self, dialect: Dialect) -> String {
        markup::write(&self.blocks(self.all()), dialect)
    }

    /// Returns the comment, cut to `limit` bytes.
    pub fn render_within(&self, dialect: Dialect, limit: usize) -> String {
        let write = |limits| markup::write(&self.blocks(limits), dialect);
        let all = self.all();
        let whole = write(all);
        if whole.len() <= limit {
            return whole;
        }
        let fits = |limits| write(limits).len() <= limit;
        let without_others = ContentLimits { others: 0, ..all };
        let limits = if fits(without_others) {
            ContentLimits {
                others: largest_fitting(all.others, |others| fits(ContentLimits { others, ..all })),
                ..all
            }
        } else {
            ContentLimits {
                moved: largest_fitting(all.moved, |moved| fits(ContentLimits { moved, others: 0 })),
                others: 0,
            }
        };
        write(limits)
    }

    /// Returns the verdict in a few words.
    pub fn title(&self) -> String {
        verdict::summary(self.rows, self.verdict)
    }

    fn lines(&self) -> Vec<VerdictRow<'_>> {
        verdict::verdict_rows(self.rows, self.verdict)
    }

    fn all(&self) -> ContentLimits {
        let lines = self.lines();
        let moved = lines.iter().filter(|line| line.has_changed()).count();
        ContentLimits { moved, others: lines.len() - moved }
    }

    fn blocks(&self, limits: ContentLimits) -> Vec<Block> {
        let all = self.all();
        let mut blocks = vec![self.heading(), self.subject()];
        let lines = self.lines();
        let (moved, others) = lines.split_at(all.moved);
        if limits.moved > 0 {
            blocks.push(self.table(&moved[..limits.moved], true));
        }
        let sentences = self.verdict.map(verdict::sentences).unwrap_or_default();
        if !sentences.is_empty() {
            blocks.push(Block::Paragraph(vec![Span::text(sentences.join(" "))]));
        }
        if limits.moved < all.moved || limits.others < all.others {
            blocks.push(self.truncation_note(limits));
        }
        if limits.others > 0 {
            let more = if all.moved > 0 { "other result" } else { "result" };
            let number = match (limits.others, all.others) {
                (shown, all) if shown == all => count_text(all, more),
                (shown, all) => format!("{shown} of {}", count_text(all, more)),
            };
            let table = Box::new(self.table(&others[..limits.others], false));
            blocks.push(Block::Fold { summary: number, table });
        }
        if let Some(link) = self.links.report() {
            blocks.push(Block::Paragraph(vec![Span::text("View the report").with_link(Some(link))]));
        }
        blocks
    }

    fn heading(&self) -> Block {
        let has = |status: ThresholdStatus| self.rows.iter().any(|row| row.status == status);
        let counts = self.verdict.map(|verdict| verdict.counts).unwrap_or_default();
        let is_unchanged = self.verdict.is_some_and(|verdict| verdict.answer == VerdictAnswer::Unchanged);
        let sign = match () {
            () if counts.regressions > 0 || has(ThresholdStatus::Worse) => "❌ ",
            // A value outside the limit in the better direction is an alert, too: a user configured this limit.
            () if counts.improvements + counts.differences > 0 || has(ThresholdStatus::Better) => "⚠️ ",
            () if is_unchanged || has(ThresholdStatus::Within) || has(ThresholdStatus::Muted) => "✅ ",
            () => "⚪ ",
        };
        Block::Heading(vec![Span::text(format!("{sign}{}", self.title()))])
    }

    /// Returns the project, branch, commit and testbed of the report.
    fn subject(&self) -> Block {
        let Report { project, branch, testbed, .. } = self.report;
        let named = |name: &str| Span::name(format::plain(name));
        let mut spans = vec![
            Span::text("Project "),
            named(project.name.as_str()).with_link(self.links.project()),
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

    fn table(&self, lines: &[VerdictRow<'_>], stand_out: bool) -> Block {
        let cells = |line: &VerdictRow<'_>| {
            let loud = stand_out && line.is_regressed();
            let said = |text: String| if loud { Span::strong(text) } else { Span::text(text) };
            let plot = line.rows.first().and_then(|row| self.links.plot(self.report, row));
            [
                (("Verdict", Align::Left), said(line.word().to_owned())),
                (
                    ("Benchmark", Align::Left),
                    Span::name(line.benchmark()).with_link(plot.filter(|_| stand_out)),
                ),
                (("Iterations", Align::Right), Span::text(line.iterations())),
                (("Measure", Align::Left), Span::text(line.measure())),
                (("Value", Align::Right), said(line.value())),
                (("Level", Align::Right), Span::text(line.base())),
                (("Change", Align::Right), said(line.change())),
                (("95% interval", Align::Right), Span::text(line.half_width())),
                (("Detectable", Align::Right), Span::text(line.detectable())),
                (("Limit", Align::Right), Span::text(line.limit())),
            ]
        };
        let cells: Vec<_> = lines.iter().map(cells).collect();
        let is_shown = |column: usize| cells.iter().any(|row| !row[column].1.is_empty());
        let columns: Vec<usize> = (0..10).filter(|column| is_shown(*column)).collect();
        let titles = cells.first().map(|row| columns.iter().map(|column| row[*column].0).collect());
        let rows = cells.into_iter().map(|row| {
            let shown = row.into_iter().enumerate().filter(|(column, _)| columns.contains(column));
            shown.map(|(_, (_, span))| span).collect()
        });
        Block::Table { titles: titles.unwrap_or_default(), rows: rows.collect() }
    }

    /// Returns a note that results were cut, with a link to them.
    fn truncation_note(&self, limits: ContentLimits) -> Block {
        let all = self.all();
        let left_out = (all.moved - limits.moved) + (all.others - limits.others);
        Block::Paragraph(vec![
            Span::strong(format!("{} did not fit here", count_text(left_out, "result"))),
            Span::text("; all of them are in "),
            Span::text("the report").with_link(self.links.report()),
            Span::text("."),
        ])
    }
}

/// Returns the largest number up to `all` that fits, if `all` does not fit.
fn largest_fitting(all: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut too_many) = (0, all);
    while too_many - fitting > 1 {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(middle) { fitting = middle } else { too_many = middle }
    }
    fitting
}

fn count_text(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns the default ID of a run in a pull request. `suffix` names what was measured in addition to the output of tools, for
/// example `-build_time`.
pub fn default_id(report: &Report, testbed: &str, suffix: &str) -> String {
    format!("{}/{testbed}/{}{suffix}", report.branch.slug, report.adapter)
}

/// Returns the invisible marker at the start of a comment, by which a later run finds the comment.
pub fn marker(project: &Slug, id: &str) -> String {
    format!("<!-- tidemark/projects/{project}/id/{} -->", encode(id))
}

/// Encodes a text for a URL or a marker.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::largest_fitting;

    #[test]
    fn the_largest_fitting_number_is_found() {
        for limit in 0..9 {
            assert_eq!(largest_fitting(10, |count| count <= limit), limit);
        }
    }
}
