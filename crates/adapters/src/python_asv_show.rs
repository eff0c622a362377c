//! Output of `asv show`: each benchmark with its environment, and a value or a table of parameters below it.

use std::collections::BTreeMap;

use crate::{
    Entries, Entry, Failure, Input, ParsedMetric, Position,
    python_asv::{self, Kind},
    text::{self, Line, Scan, is_blank},
    variant,
};

const EXPECTED: &str = "a line such as `suite.time_name [machine/environment]` and its result below it";
const TABLE: &str = "a parameter table of asv";

/// Parses the output.
pub(crate) fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let lines: Vec<Line<'_>> = text::lines(input.text).collect();
    let mut entries = Entries::default();
    // Line number and environment of each entry.
    let mut origins: Vec<(usize, &str)> = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index];
        index += 1;
        let Some((name, environment)) = title(line.text) else { continue };
        let end = lines[index..].iter().position(|line| !line.text.starts_with("  "));
        let body = &lines[index..end.map_or(lines.len(), |end| index + end)];
        index += body.len();
        let before = entries.len();
        Benchmark::new(name).read(input, body, &mut entries)?;
        origins.resize(origins.len() + entries.len() - before, (line.number, environment));
    }
    let entry_position = |index: usize| Position::Line(origins[index].0);
    variant::distinguish(entry_position, &mut entries, &[("environment", &|index| Some(origins[index].1))])?;
    text::require_entries(entries, EXPECTED)
}

/// Returns the name and the environment in the title of a benchmark.
fn title(line: &str) -> Option<(&str, &str)> {
    let (name, environment) = line.strip_suffix(']')?.split_once(" [")?;
    (!name.is_empty() && !name.contains(is_blank)).then_some((name, environment))
}

/// A benchmark whose results are read.
pub(crate) struct Benchmark<'a> {
    name: &'a str,
    kind: Kind,
}

impl<'a> Benchmark<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self { name, kind: Kind::of(name) }
    }

    /// Reads the lines below the title.
    fn read(&self, input: &Input<'_>, body: &[Line<'_>], entries: &mut Entries) -> Result<(), Failure> {
        let Some(first) = body.first() else { return Ok(()) };
        match first.text.trim_matches(is_blank) {
            "failed" => input.skip(self.name, "they failed"),
            "n/a" | "skipped" => input.skip(self.name, "asv skipped them"),
            status if status == "ok" || status.ends_with(" failed") => {
                if status != "ok" {
                    input.skip(self.name, "some of their parameters failed");
                }
                self.read_table(input, &body[1..], entries)?;
            }
            value => {
                let metric = self.metric(value).ok_or_else(|| first.invalid("a result of asv"))?;
                entries.push(first.entry(self.name, vec![metric])?);
            }
        }
        Ok(())
    }

    /// Reads a table of parameters, whose indentation is the same on all lines.
    pub(crate) fn read_table(
        &self,
        input: &Input<'_>,
        lines: &[Line<'_>],
        entries: &mut Entries,
    ) -> Result<(), Failure> {
        let Some(first) = lines.first() else { return Ok(()) };
        let invalid = || first.invalid(TABLE);
        if !is_rule(first.text, '=') {
            return Err(invalid());
        }
        let columns = columns(first.text);
        let rules: Vec<usize> = (0..lines.len()).filter(|&index| is_rule(lines[index].text, '=')).collect();
        // The columns of values have the values of the last parameter as headers, or there is one column without a header.
        let (names, last, rows) = match rules.as_slice() {
            [0, end] if *end > 2 => {
                let header = cells(lines[1].text, &columns);
                let (unnamed, names) = header.split_last().ok_or_else(invalid)?;
                if !unnamed.is_empty() || !is_rule(lines[2].text, '-') {
                    return Err(invalid());
                }
                (names.to_vec(), None, &lines[3..*end])
            }
            [0, 4, end] if is_rule(lines[2].text, '-') => {
                let start = columns_start(lines[2].text).ok_or_else(invalid)?;
                let header = cells(lines[3].text, &columns);
                let count = columns.iter().filter(|(column, _)| *column < start).count();
                let last: String = lines[1].text.chars().skip(start).collect();
                let (names, values) = header.split_at(count);
                (names.to_vec(), Some((last.trim().to_owned(), values.to_vec())), &lines[5..*end])
            }
            _ => return Err(invalid()),
        };
        for row in rows {
            let row_cells = cells(row.text, &columns);
            let (parameters, values) = row_cells.split_at(names.len());
            let parameters: BTreeMap<String, String> =
                names.iter().cloned().zip(parameters.iter().cloned()).collect();
            for (index, value) in values.iter().enumerate() {
                match value.as_str() {
                    // The status of the benchmark reports failures.
                    "failed" => continue,
                    "n/a" => {
                        input.skip(self.name, "asv skipped some of their parameters");
                        continue;
                    }
                    _ => {}
                }
                let mut parameters = parameters.clone();
                if let Some((name, headers)) = &last {
                    parameters.insert(name.clone(), headers[index].clone());
                }
                let metric = self.metric(value).ok_or_else(|| row.invalid("a result of asv in each cell"))?;
                let parameters = variant::of_texts(|| Position::Line(row.number), parameters)?;
                entries.push(Entry { parameters, ..row.entry(self.name, vec![metric])? });
            }
        }
        Ok(())
    }

    /// Returns the metric of a value: a time with its range, or a number with a prefix of powers of 1000.
    pub(crate) fn metric(&self, value: &str) -> Option<ParsedMetric> {
        if let Kind::Time = self.kind {
            return python_asv::time(Scan::new(value));
        }
        let split = value.trim_end_matches(char::is_alphabetic).len();
        let factor = match &value[split..] {
            "" => 1.0,
            "k" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            _ => return None,
        };
        self.kind.metric(text::decimal(&value[..split])? * factor)
    }
}

/// Whether a line consists of blanks and a character.
fn is_rule(line: &str, of: char) -> bool {
    line.contains(of) && line.chars().all(|character| character == of || character == ' ')
}

/// Returns the first and the last position of each part of a rule, in characters.
fn columns(rule: &str) -> Vec<(usize, usize)> {
    let mut columns: Vec<(usize, usize)> = Vec::new();
    let mut inside = false;
    for (index, character) in rule.chars().enumerate() {
        match columns.last_mut() {
            Some(column) if character != ' ' && inside => column.1 = index,
            _ if character != ' ' => columns.push((index, index)),
            _ => {}
        }
        inside = character != ' ';
    }
    columns
}

/// Returns the start of the last part of a rule.
fn columns_start(rule: &str) -> Option<usize> {
    columns(rule).last().map(|(start, _)| *start)
}

/// Returns the texts of a row in each column.
fn cells(row: &str, columns: &[(usize, usize)]) -> Vec<String> {
    let mut characters = row.chars().enumerate().peekable();
    let cell = |&(_, end): &(usize, usize)| {
        let mut cell = String::new();
        while let Some((_, character)) = characters.next_if(|(index, _)| *index <= end) {
            cell.push(character);
        }
        cell.trim().to_owned()
    };
    columns.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, PythonAsv};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn a_real_output() {
        let text = include_str!("../fixtures/python_asv/show.txt");
        insta::assert_snapshot!(read(PythonAsv, text), @"
        suite.Half.time_half {param1=1} latency 257 [217, 297]
        suite.Sorting.time_sort {n=10} latency 718 [628, 808]
        suite.Sorting.time_sort {n=1000} latency 6110 [5110, 7110]
        suite.Two.mem_two {kind=heap, n=10} allocated 136
        suite.Two.mem_two {kind=list, n=10} allocated 136
        suite.Two.mem_two {kind=heap, n=100} allocated 856
        suite.Two.time_two {kind=heap, n=10} latency 1180 [880, 1480]
        suite.Two.time_two {kind=list, n=10} latency 721 [421, 1021]
        suite.Two.time_two {kind=heap, n=100} latency 2250 [1750, 2750]
        suite.mem_list allocated 8060.000000000001
        suite.peakmem_list peak-memory 24900000
        suite.time_sum latency 24400 [17400, 31400]
        suite.track_count value 42
        ");
        assert_eq!(read(Magic, text), read(PythonAsv, text));
        let (_, skipped) = parse_with_skipped(PythonAsv, text, None).unwrap();
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        suite.Half.time_half: some of their parameters failed
        suite.Two.mem_two: asv skipped some of their parameters
        suite.Two.time_two: asv skipped some of their parameters
        suite.time_fails: they failed
        ");
    }

    #[test]
    fn environments_are_distinguished() {
        let text = "Commit: a <b>\n\na.time_a [m/one]\n  1.5±0.5ms\n  started: x\n\na.time_a [m/two]\n  2.5±0.5ms\n  started: x\n";
        insta::assert_snapshot!(read(Magic, text), @"
        a.time_a {environment=m/one} latency 1500000 [1000000, 2000000]
        a.time_a {environment=m/two} latency 2500000 [2000000, 3000000]
        ");
    }

    #[test]
    fn errors_name_the_line() {
        insta::assert_snapshot!(read(PythonAsv, "Commit: a\n\na.time_a [m/e]\n  fast\n  started: x"), @"The adapter `python_asv` cannot read the output at line 4: expected a result of asv, found `fast`.");
        insta::assert_snapshot!(read(Magic, "Commit: a\n\na.time_a [m/e]\n  ok\n  table\n  started: x"), @"The adapter `python_asv` cannot read the output at line 5: expected a parameter table of asv, found `table`.");
        insta::assert_snapshot!(read(Magic, "Commit: a\n\na.time_a [m/e]\n  ok\n  == ==\n  n    \n  -- --\n  1  fa\n  == ==\n  started: x"), @"The adapter `python_asv` cannot read the output at line 8: expected a result of asv in each cell, found `1  fa`.");
    }
}
