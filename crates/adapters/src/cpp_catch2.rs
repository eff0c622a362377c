//! Adapter for the console tables of Catch2: below the name of a test case, three lines per benchmark, with the mean in the
//! second and the standard deviation in the third.

use crate::{
    Entry, Failure, Input, ParsedMetric,
    text::{self, Line, Scan, Unit, is_blank},
};

/// Rule above and below the name of a test case.
const RULE: &str = "-------------------------------------------------------------------------------";
/// Maximum number of lines of a name.
const NAME_LINES: usize = 16;

pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let mut test_case: Option<String> = None;
    // Lines since the last rule, blank line or benchmark.
    let mut block: Vec<&str> = Vec::new();
    let mut after_rule = false;
    let mut lines = text::lines(input.text);
    while let Some(line) = lines.next() {
        if line.text == RULE {
            if after_rule && (1..=NAME_LINES).contains(&block.len()) {
                test_case = Some(join(block.drain(..)));
            }
            block.clear();
            after_rule = true;
        } else if line.text.trim_matches(|character| is_blank(character) || character == '.').is_empty() {
            block.clear();
            after_rule = false;
        } else if let (Some(name), Some(test_case)) = (first_line(line.text), &test_case) {
            if let Some((benchmark, metric)) = benchmark(&block, name, &mut lines) {
                entries.push(entry(line, test_case, &benchmark, metric)?);
                block.clear();
                after_rule = false;
            }
        } else {
            block.push(line.text);
        }
    }
    text::require_entries(
        entries,
        "the name of a test case between rules, and three lines of times for each benchmark",
    )
}

fn entry(line: Line<'_>, test_case: &str, benchmark: &str, metric: ParsedMetric) -> Result<Entry, Failure> {
    line.entry(&format!("{test_case}: {benchmark}"), vec![metric])
}

/// Returns the name before samples, iterations and estimated time. It parses from the right, because the name may end with
/// numbers.
fn first_line(line: &str) -> Option<&str> {
    let last = |text: &'_ str| {
        text.trim_end_matches(is_blank).rsplit_once(is_blank).map(|(rest, word)| (rest.len(), word.len()))
    };
    let mut name = line;
    let mut words = [""; 4];
    for word in &mut words {
        let (rest, length) = last(name)?;
        *word = &name[rest + 1..rest + 1 + length];
        name = &name[..rest];
    }
    let [unit, estimated, iterations, samples] = words;
    let whole = |word: &str| {
        let mut scan = Scan::new(word);
        scan.integer().is_some() && scan.end().is_some()
    };
    let mut number = Scan::new(estimated);
    number.number()?;
    number.end()?;
    Unit::from_symbol(unit)?;
    (whole(iterations) && whole(samples)).then(|| name.trim_matches(is_blank))
}

/// Returns the complete name and the times. A name that is too long for its column is wrapped: above its last line, or below
/// its first.
fn benchmark<'a>(
    above: &[&str],
    name: &str,
    lines: &mut (impl Iterator<Item = Line<'a>> + Clone),
) -> Option<(String, ParsedMetric)> {
    let mut ahead = lines.clone();
    let (second, mean) = times(ahead.next()?.text)?;
    let (third, deviation) = times(ahead.next()?.text)?;
    *lines = ahead;
    // Catch2 pads the column with blanks, which distinguishes a wrapped name from other text.
    let padded =
        above.len() - above.iter().rev().take(NAME_LINES).take_while(|line| line.ends_with(is_blank)).count();
    let name = join(above[padded..].iter().copied().chain([name, second, third]));
    Some((name, ParsedMetric::latency(mean).with_deviation(deviation)))
}

/// Returns the part of the name on this line, and the first of three times.
fn times(line: &str) -> Option<(&str, f64)> {
    let line = line.trim_end_matches(is_blank);
    // Three times consist of six words.
    let start =
        line.rmatch_indices(is_blank).filter(|(index, _)| !line[index + 1..].starts_with(is_blank)).nth(5)?.0;
    let mut scan = Scan::new(&line[start..]);
    scan.blanks()?;
    let first = scan.duration()?;
    for _ in 0..2 {
        scan.blanks()?;
        scan.duration()?;
    }
    scan.end()?;
    Some((line[..start].trim_matches(is_blank), first))
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<_> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::CppCatch2;

    use super::RULE;
    use crate::tests::read;

    #[test]
    fn a_real_run() {
        insta::assert_snapshot!(read(CppCatch2, include_str!("../fixtures/cpp_catch2/sections.txt")), @"
        Parser suite: sum tiny latency 6.16282 [5.912503, 6.413137]
        Parser suite: sum with a name that is far too long to fit into the column of names latency 1777.6000000000001 [1699.6487000000002, 1855.5513]
        A test case whose name is long enough that the console reporter has to wrap it onto a second line inner section: sort latency 12897.7 [11465.37, 14330.03]
        ");
    }

    #[test]
    fn the_last_benchmark_is_parsed_at_the_end_of_the_output() {
        let text = format!(
            "{RULE}\nParser suite\n{RULE}\nparse tiny          100     208   7.19 ms \n\
             \x20                344 ns    341 ns   349 ns \n                  19 ns     11 ns    29 ns"
        );
        insta::assert_snapshot!(read(CppCatch2, &text), @"Parser suite: parse tiny latency 344 [325, 363]");
    }

    #[test]
    fn wrapped_names_are_joined() {
        let text = format!(
            "{RULE}\nA\n  B\n{RULE}\nsort 10 of   100     208   7.19 ms\nmany\t 344 us    341 ns   349 ns\n\
             numbers  19 ns     11 ns    29 ns\n"
        );
        insta::assert_snapshot!(read(CppCatch2, &text), @"A B: sort 10 of many numbers latency 344000 [343981, 344019]");
        insta::assert_snapshot!(read(CppCatch2, "sort 100 208 7 ms\n 1 ns 1 ns 1 ns\n 1 ns 1 ns 1 ns"), @"The adapter `cpp_catch2` cannot read the output: expected the name of a test case between rules, and three lines of times for each benchmark.");
    }
}
