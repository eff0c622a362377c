//! Adapter for tasty-bench: the CSV of `--csv` and the printed output. The range is two standard deviations, as the tool reports it.

use tidemark_api::{Adapter, Average, MeasureDirection::LowerIsBetter};

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    records::Records,
    text::{self, Unit, is_blank},
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::TastyBench,
    title: "tasty-bench",
    metrics: "latency ± two standard deviations; with `+RTS -T` also allocated, copied and peak memory",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[
        Format::new(Syntax::Csv, "./bench --csv bench.csv", &["Name", MEAN, DEVIATION], parse),
        Format::new(Syntax::Text, "./bench", &[" ± ", ": ", "OK"], parse_text),
    ],
};

const MEAN: &str = "Mean (ps)";
const DEVIATION: &str = "2*Stdev (ps)";

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let records = Records::read(input.text, ',', &["Name", MEAN, DEVIATION])?;
    let (mut entries, mut lines) = (Entries::default(), Vec::new());
    for row in records.iter() {
        let mean = Unit::Picoseconds.nanoseconds(row.require_number(MEAN)?);
        let deviation = Unit::Picoseconds.nanoseconds(row.require_number(DEVIATION)?);
        let mut metrics = vec![ParsedMetric::latency(mean).with_deviation(deviation)];
        for (column, kind) in
            [("Allocated", "allocated"), ("Copied", "copied"), ("Peak Memory", "peak memory")]
        {
            if row.text(column).is_some() {
                metrics.extend(memory(kind, row.require_number(column)?));
            }
        }
        entries.push(row.entry(row.require_text("Name")?, metrics)?);
        lines.push(row.line());
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    text::require_entries(entries, "at least one benchmark below the header")
}

/// Returns the metric of a number of bytes.
fn memory(kind: &str, bytes: f64) -> Option<ParsedMetric> {
    match kind {
        "allocated" => Some(ParsedMetric::of("allocated", bytes)),
        "peak memory" => Some(ParsedMetric::of("peak-memory", bytes)),
        "copied" => ParsedMetric::named("copied", Some("bytes (B)"), bytes)
            .map(|copied| copied.with_direction(LowerIsBetter)),
        _ => None,
    }
}

/// Parses the tree of groups: a benchmark has its status on its line and the result on the next line, with a deeper indentation.
fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut entries, mut numbers) = (Entries::default(), Vec::new());
    // Groups around the line, with their indentation.
    let mut groups: Vec<(usize, &str)> = Vec::new();
    let mut benchmark: Option<(String, bool)> = None;
    for line in text::lines(input.text) {
        let text = line.text.trim_matches(is_blank);
        let indentation = line.text.len() - line.text.trim_start_matches(is_blank).len();
        if let Some((name, failed)) = benchmark.take() {
            if let Some(metrics) = result(text) {
                entries.push(line.entry(&name, metrics)?);
                numbers.push(line.number);
                continue;
            }
            if failed {
                input.skip(name, "they failed");
            }
        }
        if text.is_empty() {
            continue;
        }
        groups.retain(|(outer, _)| *outer < indentation);
        match status(text) {
            Some((name, failed)) => {
                let path = groups.iter().map(|(_, group)| *group).chain([name]);
                benchmark = Some((path.collect::<Vec<_>>().join("."), failed));
            }
            None => groups.push((indentation, text)),
        }
    }
    variant::distinguish(|index| Position::Line(numbers[index]), &mut entries, &[])?;
    text::require_entries(entries, "a line `name: OK` and a line such as `1.5 μs ± 0.1 μs` below it")
}

/// Returns the name of a benchmark and whether it failed: `name:  OK (1.5s)`.
fn status(line: &str) -> Option<(&str, bool)> {
    let line = match line.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((start, _)) => start,
        None => line,
    };
    let (name, status) = line.rsplit_once(':')?;
    match status.trim_matches(is_blank) {
        "OK" => Some((name, false)),
        "FAIL" => Some((name, true)),
        _ => None,
    }
}

/// Parses the time and the memory of a benchmark. Comparisons with a baseline are not read.
fn result(line: &str) -> Option<Vec<ParsedMetric>> {
    let mut parts = line.split(", ").map(|part| part.trim_matches(is_blank));
    let (mean, deviation) = parts.next()?.split_once(" ± ")?;
    let time = |text: &str| text::duration(text.trim_matches(is_blank));
    let mut metrics = vec![ParsedMetric::latency(time(mean)?).with_deviation(time(deviation)?)];
    for part in parts {
        let kind = ["allocated", "copied", "peak memory"].into_iter().find(|kind| part.ends_with(kind));
        if let Some(kind) = kind {
            let bytes = part.strip_suffix(kind)?.trim_end_matches(is_blank);
            metrics.extend(memory(kind, text::binary_bytes(bytes)?));
        }
    }
    Some(metrics)
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, TastyBench};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn reports() {
        let texts = [
            include_str!("../fixtures/tasty_bench/report.csv"),
            include_str!("../fixtures/tasty_bench/memory.csv"),
            include_str!("../fixtures/tasty_bench/run.txt"),
        ];
        insta::assert_snapshot!(texts.map(|text| read(TastyBench, text)).join("\n"), @"
        All.Fibonacci numbers.fifth latency 48.453 [44.393, 52.513000000000005]
        All.Fibonacci numbers.tenth latency 637.152 [590.408, 683.8960000000001]
        All.Fibonacci numbers.twentieth, large latency 81369.531 [78026.88500000001, 84712.177]

        All.Fibonacci numbers.fifth latency 48.453 [44.393, 52.513000000000005]
        All.Fibonacci numbers.fifth allocated 223
        All.Fibonacci numbers.fifth copied 0
        All.Fibonacci numbers.fifth peak-memory 2097152
        All.Fibonacci numbers.tenth latency 637.152 [590.408, 683.8960000000001]
        All.Fibonacci numbers.tenth allocated 2563
        All.Fibonacci numbers.tenth copied 1
        All.Fibonacci numbers.tenth peak-memory 2097152

        All.Fibonacci numbers.fifth latency 63 [59.6, 66.4]
        All.Fibonacci numbers.tenth latency 809 [736, 882]
        All.Fibonacci numbers.tenth allocated 2560
        All.Fibonacci numbers.tenth copied 0
        All.Fibonacci numbers.tenth peak-memory 6291456
        All.Fibonacci numbers.twentieth latency 104000 [99100, 108900]
        ");
        for text in texts {
            assert_eq!(read(Magic, text), read(TastyBench, text));
        }
        let (_, skipped) = parse_with_skipped(TastyBench, texts[2], None).unwrap();
        assert_eq!(skipped.len(), 1);
        assert_eq!(skipped[0].names[0], "All.Sorting.sort: of lists");
    }

    #[test]
    fn errors_name_the_line() {
        let header = "Name,Mean (ps),2*Stdev (ps)\n";
        insta::assert_snapshot!(read(Magic, &format!("{header}a,x,1\n")), @"The adapter `tasty_bench` cannot read the output at line 2: expected a number in the column `Mean (ps)`, found `x`.");
        insta::assert_snapshot!(read(Magic, &format!("{header}a,1,1\na,2,1\n")), @"The adapter `tasty_bench` cannot read the output at line 3: expected a benchmark with a unique combination of name and parameters, found `a`.");
        insta::assert_snapshot!(read(TastyBench, header), @"The adapter `tasty_bench` cannot read the output: expected a line `name: OK` and a line such as `1.5 μs ± 0.1 μs` below it.");
        insta::assert_snapshot!(read(TastyBench, "All\n  a: OK\n"), @"The adapter `tasty_bench` cannot read the output: expected a line `name: OK` and a line such as `1.5 μs ± 0.1 μs` below it.");
    }
}
