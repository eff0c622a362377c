//! Adapter for the tables of Ruby's Benchmark module; it reads the column `real`.

use tidemark_api::Adapter;

use crate::{
    Entries, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Scan, Unit, is_blank},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::RubyBenchmark,
    title: "Ruby Benchmark",
    metrics: "latency: the column `real`",
    parameters: "",
    averages: &[],
    formats: &[Format::new(Syntax::Text, "ruby bench.rb", &["user", "system", "total", "real"], parse)],
};

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut in_table = false;
    for line in text::lines(input.text) {
        if is_header(line.text) {
            in_table = true;
        } else if in_table {
            match row(line.text) {
                Some((name, seconds)) => {
                    let metric = ParsedMetric::latency(Unit::Seconds.nanoseconds(seconds));
                    entries.push(line.entry(name, vec![metric])?);
                }
                None => in_table = false,
            }
        }
    }
    text::require_entries(entries, "a row below the header `user system total real`")
}

fn is_header(line: &str) -> bool {
    line.starts_with(is_blank)
        && line.split(is_blank).filter(|word| !word.is_empty()).eq(["user", "system", "total", "real"])
}

/// Returns the label and the seconds. It parses from the right, because a label may end with numbers.
fn row(line: &str) -> Option<(&str, f64)> {
    let (times, real) = line.strip_suffix(')')?.rsplit_once('(')?;
    let mut real = Scan::new(real);
    real.any_blanks();
    let seconds = real.number()?;
    real.end()?;
    let mut label = times;
    for _ in 0..3 {
        let (rest, number) = label.trim_end_matches(is_blank).rsplit_once(is_blank)?;
        let mut number = Scan::new(number);
        number.number()?;
        number.end()?;
        label = rest;
    }
    let label = label.trim_end_matches(is_blank);
    (!label.is_empty()).then_some((label, seconds))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::RubyBenchmark;

    use crate::tests::read;

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(RubyBenchmark, include_str!("../fixtures/ruby_benchmark/tables.txt")), @"
        for: latency 38442000
        times: latency 25802000
        up to 5 latency 30760000
        sort! latency 96692000
        sort latency 101192000
        one: latency 9649000
        >total: latency 9649000
        ");
    }

    #[test]
    fn a_table_ends_with_the_first_other_line() {
        let text = "           user     system      total        real\n\
            parse:   0.950000   0.000000   0.950000 (  0.952039)\n\
            sort 10  0.950000   0.000000   0.950000 (1000.5)\n\
            \n\
            late:    0.950000   0.000000   0.950000 (  0.952039)";
        insta::assert_snapshot!(read(RubyBenchmark, text), @"
        parse: latency 952039000
        sort 10 latency 1000500000000
        ");
        let unlabeled = "  user system total real\n  0.950000   0.000000   0.950000 (  0.952039)";
        insta::assert_snapshot!(read(RubyBenchmark, unlabeled), @"The adapter `ruby_benchmark` cannot read the output: expected a row below the header `user system total real`.");
    }
}
