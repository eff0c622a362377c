//! Adapter for the printed output of Gungraun: the path of a benchmark, and below it the counters of each tool, new value
//! first.

use tidemark_api::Adapter;

use crate::{
    Detection, Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    rust_gungraun::counter_metric,
    text::{self, Line, Scan, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustGungraunStdout,
    title: "Gungraun",
    metrics: "as `rust_gungraun`",
    parameters: "",
    averages: &[],
    formats: &[Format::new(Syntax::Text, "cargo bench", &[], parse).detected(Detection::Named)],
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut open: Option<Open<'_>> = None;
    for line in text::lines(input.text) {
        if line.text.starts_with("  ") {
            if let Some(benchmark) = &mut open {
                benchmark.read(line.text);
            }
        } else if is_title(line.text) {
            close(open.replace(Open::new(line)), &mut entries)?;
        } else if let Some(benchmark) = &mut open {
            // An argument with line breaks continues the title.
            if benchmark.started {
                close(open.take(), &mut entries)?;
            } else {
                benchmark.title.push('\n');
                benchmark.title.push_str(line.text);
            }
        }
    }
    close(open, &mut entries)?;
    text::require_entries(
        entries,
        "the path of a benchmark with a line such as `  Instructions:  1734|N/A  (***)` below it",
    )
}

/// Keeps a benchmark that has counters. Without counters, the title was other text.
fn close(open: Option<Open<'_>>, entries: &mut Entries) -> Result<(), Failure> {
    if let Some(Open { line, title, metrics, .. }) = open
        && !metrics.is_empty()
    {
        entries.push(line.entry(title.trim(), metrics)?);
    }
    Ok(())
}

/// A benchmark whose counters are being parsed.
struct Open<'a> {
    line: Line<'a>,
    title: String,
    /// Whether its title has ended.
    started: bool,
    tool: &'a str,
    metrics: Vec<ParsedMetric>,
}

impl<'a> Open<'a> {
    fn new(line: Line<'a>) -> Self {
        Self { line, title: line.text.to_owned(), started: false, tool: "CALLGRIND", metrics: Vec::new() }
    }

    fn read(&mut self, line: &'a str) {
        self.started = true;
        if let Some(tool) = tool(line) {
            self.tool = tool;
        } else if let Some((label, count)) = counter(line) {
            self.metrics.extend(counter_metric(self.tool, label, count));
        }
    }
}

/// Whether a line begins with a path of at least three parts.
fn is_title(line: &str) -> bool {
    let mut parts = line.splitn(3, "::");
    let is_name = |part: Option<&str>| {
        part.is_some_and(|part| {
            !part.is_empty() && !part.contains(|character| is_blank(character) || character == ':')
        })
    };
    is_name(parts.next()) && is_name(parts.next()) && parts.next().is_some_and(|rest| !rest.trim().is_empty())
}

/// Returns the tool name between two rows of equals signs.
fn tool(line: &str) -> Option<&str> {
    let inner = line.trim_matches(is_blank).strip_prefix('=')?.strip_suffix('=')?;
    let name = inner.trim_matches('=').strip_prefix(' ')?.strip_suffix(' ')?;
    (!name.contains(is_blank)).then_some(name)
}

fn counter(line: &str) -> Option<(&str, f64)> {
    let (label, rest) = line.split_once(':')?;
    let mut scan = Scan::new(rest);
    scan.blanks()?;
    let count = scan.number()?;
    scan.literal("|")?;
    let old = scan.rest();
    let is_old = old.starts_with("N/A") || old.starts_with(|character: char| character.is_ascii_digit());
    (is_old && old.contains('(')).then(|| (label.trim_matches(is_blank), count))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{RustGungraun, RustGungraunStdout};

    use crate::tests::read;

    #[test]
    fn real_runs() {
        insta::assert_snapshot!(read(RustGungraunStdout, include_str!("../fixtures/rust_gungraun/first.txt")), @"
        gung::numbers::bench_sort short:(10) instructions 602
        gung::numbers::bench_sort short:(10) l1-hits 742
        gung::numbers::bench_sort short:(10) ll-hits 0
        gung::numbers::bench_sort short:(10) ram-hits 11
        gung::numbers::bench_sort short:(10) total-read-write 753
        gung::numbers::bench_sort short:(10) estimated-cycles 1127
        gung::numbers::bench_sort long:(1000) instructions 134608
        gung::numbers::bench_sort long:(1000) l1-hits 171375
        gung::numbers::bench_sort long:(1000) ll-hits 22
        gung::numbers::bench_sort long:(1000) ram-hits 337
        gung::numbers::bench_sort long:(1000) total-read-write 171734
        gung::numbers::bench_sort long:(1000) estimated-cycles 183280
        gung::numbers::bench_sum instructions 623
        gung::numbers::bench_sum l1-hits 629
        gung::numbers::bench_sum ll-hits 0
        gung::numbers::bench_sum ram-hits 4
        gung::numbers::bench_sum total-read-write 633
        gung::numbers::bench_sum estimated-cycles 769
        ");
        insta::assert_snapshot!(read(RustGungraunStdout, include_str!("../fixtures/rust_gungraun/tools.txt")), @"
        gung::numbers::bench_sort short:(10) instructions 602
        gung::numbers::bench_sort short:(10) l1-hits 742
        gung::numbers::bench_sort short:(10) ll-hits 0
        gung::numbers::bench_sort short:(10) ram-hits 11
        gung::numbers::bench_sort short:(10) total-read-write 753
        gung::numbers::bench_sort short:(10) estimated-cycles 1127
        gung::numbers::bench_sort short:(10) total-bytes 80
        gung::numbers::bench_sort short:(10) total-blocks 1
        gung::numbers::bench_sort short:(10) at-t-gmax-bytes 0
        gung::numbers::bench_sort short:(10) at-t-gmax-blocks 0
        gung::numbers::bench_sort short:(10) at-t-end-bytes 0
        gung::numbers::bench_sort short:(10) at-t-end-blocks 0
        gung::numbers::bench_sort short:(10) reads-bytes 288
        gung::numbers::bench_sort short:(10) writes-bytes 272
        gung::numbers::bench_sort short:(10) memcheck-errors 0
        gung::numbers::bench_sort short:(10) memcheck-contexts 0
        gung::numbers::bench_sort short:(10) memcheck-suppressed-errors 0
        gung::numbers::bench_sort short:(10) memcheck-suppressed-contexts 0
        gung::numbers::bench_sort long:(1000) instructions 134608
        gung::numbers::bench_sort long:(1000) l1-hits 171375
        gung::numbers::bench_sort long:(1000) ll-hits 22
        gung::numbers::bench_sort long:(1000) ram-hits 337
        gung::numbers::bench_sort long:(1000) total-read-write 171734
        gung::numbers::bench_sort long:(1000) estimated-cycles 183280
        gung::numbers::bench_sort long:(1000) total-bytes 16000
        gung::numbers::bench_sort long:(1000) total-blocks 2
        gung::numbers::bench_sort long:(1000) at-t-gmax-bytes 16000
        gung::numbers::bench_sort long:(1000) at-t-gmax-blocks 2
        gung::numbers::bench_sort long:(1000) at-t-end-bytes 0
        gung::numbers::bench_sort long:(1000) at-t-end-blocks 0
        gung::numbers::bench_sort long:(1000) reads-bytes 162696
        gung::numbers::bench_sort long:(1000) writes-bytes 144232
        gung::numbers::bench_sort long:(1000) memcheck-errors 0
        gung::numbers::bench_sort long:(1000) memcheck-contexts 0
        gung::numbers::bench_sort long:(1000) memcheck-suppressed-errors 0
        gung::numbers::bench_sort long:(1000) memcheck-suppressed-contexts 0
        gung::numbers::bench_sum instructions 623
        gung::numbers::bench_sum l1-hits 629
        gung::numbers::bench_sum ll-hits 0
        gung::numbers::bench_sum ram-hits 4
        gung::numbers::bench_sum total-read-write 633
        gung::numbers::bench_sum estimated-cycles 769
        gung::numbers::bench_sum total-bytes 0
        gung::numbers::bench_sum total-blocks 0
        gung::numbers::bench_sum at-t-gmax-bytes 0
        gung::numbers::bench_sum at-t-gmax-blocks 0
        gung::numbers::bench_sum at-t-end-bytes 0
        gung::numbers::bench_sum at-t-end-blocks 0
        gung::numbers::bench_sum reads-bytes 0
        gung::numbers::bench_sum writes-bytes 0
        gung::numbers::bench_sum memcheck-errors 0
        gung::numbers::bench_sum memcheck-contexts 0
        gung::numbers::bench_sum memcheck-suppressed-errors 0
        gung::numbers::bench_sum memcheck-suppressed-contexts 0
        ");
    }

    #[test]
    fn every_kind_of_change_and_a_title_of_two_lines() {
        let text = "mod::grp::bench id:5\n  Instructions:  1734|N/A  (*****)\n  \
            LL Hits:  2|1  (+100.000%) [+2.00000x]\n  RAM Hits:  3|3  (No change)\n  \
            L1 Hits:  N/A|3  (*****)\n  Unknown:  3|3  (No change)\n  \
            ======= DHAT =====\n  Total bytes:  10|N/A (***)\n\
            mod::grp::text id:\"a\nb\"\n  ======= DRD =====\n  Errors:  1|0 (+++inf+++) [+++inf+++]\n\
            mod::grp::nothing here\n  at src/main.rs";
        insta::assert_snapshot!(read(RustGungraun, text), @r#"
        mod::grp::bench id:5 instructions 1734
        mod::grp::bench id:5 ll-hits 2
        mod::grp::bench id:5 ram-hits 3
        mod::grp::bench id:5 total-bytes 10
        mod::grp::text id:"a
        b" drd-errors 1
        "#);
    }
}
