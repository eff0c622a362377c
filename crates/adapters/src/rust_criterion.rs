//! Adapter for the output of Criterion: three estimates per benchmark, of which the outer two are the confidence interval. It
//! does not read rates and changes.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Scan, is_blank},
};

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let mut previous = "";
    for line in text::lines(input.text) {
        if let Some((name, metric)) = row(line.text) {
            // A long name is on a line of its own.
            let name = if name.is_empty() { previous } else { name };
            if !name.is_empty() {
                entries.push(line.entry(name, vec![metric])?);
            }
        }
        previous = line.text;
    }
    text::require_entries(entries, "a line such as `name  time:   [1.10 us 1.25 us 1.40 us]`")
}

/// Returns the name, which may be empty, and the estimates. A name may contain `time:`, so every occurrence is tried; no
/// attempt reads past the next occurrence.
fn row(line: &str) -> Option<(&str, ParsedMetric)> {
    line.match_indices("time:").find_map(|(start, _)| {
        let name = line[..start].trim_end_matches(is_blank);
        let separated = name.len() < start;
        separated.then(|| estimates(Scan::new(&line[start..]))).flatten().map(|metric| (name, metric))
    })
}

fn estimates(mut scan: Scan<'_>) -> Option<ParsedMetric> {
    scan.literal("time:")?;
    scan.blanks()?;
    scan.literal("[")?;
    let lower = scan.duration()?;
    scan.blanks()?;
    let value = scan.duration()?;
    scan.blanks()?;
    let upper = scan.duration()?;
    scan.literal("]")?;
    scan.end()?;
    Some(ParsedMetric::latency(value).with_range(lower, upper))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, RustCriterion};

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        let text = include_str!("../fixtures/rust_criterion/groups.txt");
        insta::assert_snapshot!(read(RustCriterion, text), @"
        sum small latency 130.63 [129.73, 131.43]
        sorting/a_rather_long_function_name/10 latency 40.996 [39.7, 42.398]
        sorting/a_rather_long_function_name/1000 latency 9813.4 [9400.1, 10160]
        ");
    }

    #[test]
    fn colors_are_ignored() {
        let text = include_str!("../fixtures/rust_criterion/colors.txt");
        insta::assert_snapshot!(read(Magic, text), @"
        sum small latency 129.74 [128.7, 130.8]
        sorting/a_rather_long_function_name/10 latency 42.88 [41.353, 44.444]
        sorting/a_rather_long_function_name/1000 latency 9924 [9719.2, 10145]
        ");
    }

    #[test]
    fn names_on_either_line() {
        let text = "parse tiny              time:   [1.10 us 1.25 us 1.40 us]\n\
            very/long/name\n                        time:   [1.10 ms 1.25 ms 1.40 ms]\n\
            time: [of day  time:   [1 ns 2 ns 3 ns]\n\
            \n                 time:   [1 ns 2 ns 3 ns]\n\
            uptime:   [1 ns 2 ns 3 ns]";
        insta::assert_snapshot!(read(RustCriterion, text), @"
        parse tiny latency 1250 [1100, 1400]
        very/long/name latency 1250000 [1100000, 1400000]
        time: [of day latency 2 [1, 3]
        ");
        insta::assert_snapshot!(read(RustCriterion, "done"), @"The adapter `rust_criterion` cannot read the output: expected a line such as `name  time:   [1.10 us 1.25 us 1.40 us]`.");
    }
}
