//! Adapter for the output of Iai: a name, and below it five counters in a fixed order.

use tidemark_api::Adapter;

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Line, Scan},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RustIai,
    title: "Iai",
    metrics: "instructions, accesses, estimated cycles",
    parameters: "",
    averages: &[],
    formats: &[Format::new(Syntax::Text, "cargo bench", &["Instructions:", "Estimated Cycles:"], parse)],
};

const COUNTERS: [(&str, &str); 5] = [
    ("Instructions", "instructions"),
    ("L1 Accesses", "l1-accesses"),
    ("L2 Accesses", "l2-accesses"),
    ("RAM Accesses", "ram-accesses"),
    ("Estimated Cycles", "estimated-cycles"),
];

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut name: Option<Line<'_>> = None;
    let mut metrics: Vec<ParsedMetric> = Vec::new();
    for line in text::lines(input.text) {
        let (label, slug) = COUNTERS[metrics.len()];
        match (counter(line.text, label), name) {
            (Some(count), Some(title)) => {
                metrics.push(ParsedMetric::of(slug, count));
                if metrics.len() == COUNTERS.len() {
                    entries.push(title.entry(title.text, std::mem::take(&mut metrics))?);
                    name = None;
                }
            }
            _ if metrics.is_empty() => name = Some(line),
            _ => return Err(line.invalid(&format!("the counter `{label}`"))),
        }
    }
    match metrics.len() {
        0 => text::require_entries(entries, "a name with the five counters of Iai below it"),
        count => Err(Failure::unrecognized(format!("the counter `{}` at the end", COUNTERS[count].0))),
    }
}

/// Parses a counter and an optional change.
fn counter(line: &str, label: &str) -> Option<f64> {
    let mut scan = Scan::new(line);
    scan.any_blanks();
    scan.literal(label)?;
    scan.literal(":")?;
    scan.blanks()?;
    let count = scan.integer()?;
    if scan.blanks().is_some() && scan.end().is_none() {
        let change = scan.rest();
        return (change.starts_with('(') && change.ends_with(')')).then_some(count);
    }
    scan.end()?;
    Some(count)
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::RustIai;

    use crate::tests::read;

    #[test]
    fn real_runs() {
        let first = read(RustIai, include_str!("../fixtures/rust_iai/first.txt"));
        insta::assert_snapshot!(first, @"
        iai_sum instructions 638
        iai_sum l1-accesses 653
        iai_sum l2-accesses 1
        iai_sum ram-accesses 3
        iai_sum estimated-cycles 763
        iai_sort instructions 134794
        iai_sort l1-accesses 171602
        iai_sort l2-accesses 57
        iai_sort ram-accesses 340
        iai_sort estimated-cycles 183787
        ");
        assert_eq!(read(RustIai, include_str!("../fixtures/rust_iai/again.txt")), first);
    }

    #[test]
    fn changes_are_ignored() {
        let text = "my_bench\n  Instructions:  1735\n  L1 Accesses:  2364 (+3.14%)\n  \
            L2 Accesses:  1 (No change)\n  RAM Accesses:  1\n  Estimated Cycles:  2404";
        insta::assert_snapshot!(read(RustIai, text), @"
        my_bench instructions 1735
        my_bench l1-accesses 2364
        my_bench l2-accesses 1
        my_bench ram-accesses 1
        my_bench estimated-cycles 2404
        ");
    }

    #[test]
    fn a_missing_counter_is_an_error() {
        insta::assert_snapshot!(read(RustIai, "a\n  Instructions:  5\n  RAM Accesses:  5"), @"The adapter `rust_iai` cannot read the output at line 3: expected the counter `L1 Accesses`, found `RAM Accesses:  5`.");
        insta::assert_snapshot!(read(RustIai, "a\n  Instructions:  5"), @"The adapter `rust_iai` cannot read the output: expected the counter `L1 Accesses` at the end.");
        insta::assert_snapshot!(read(RustIai, "  Instructions:  5"), @"The adapter `rust_iai` cannot read the output: expected a name with the five counters of Iai below it.");
    }
}
