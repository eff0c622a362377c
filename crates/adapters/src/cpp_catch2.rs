//! Adapter for Catch2: parses its XML reporter and its console tables; its JSON reporter writes no benchmarks. Below the name of a test case, a table has three lines
//! per benchmark, with the mean in the second and the standard deviation in the third. With `--benchmark-no-analysis`, it has one
//! line per benchmark, with the mean.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document,
    text::{self, Line, Scan, is_blank},
    xml::{self, Element, Part},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::CppCatch2,
    title: "Catch2",
    metrics: "latency ± standard deviation; without a range with `--benchmark-no-analysis`",
    parameters: "",
    averages: &[Average::Mean],
    formats: &[
        Format::new(Syntax::Xml, "./tests --reporter xml", &["<TestCase", "<Catch"], parse_xml),
        Format::new(
            Syntax::Json,
            "the reporter `json` writes no benchmarks; use `--reporter xml`",
            &[r#""catch2-version""#, r#""test-run""#],
            reject_json,
        ),
        Format::new(Syntax::Text, "./tests --benchmark-no-analysis", &["benchmark name ", RULE], parse_means),
        // The second and the third line of a benchmark are indented.
        Format::new(Syntax::Text, r#"./tests "[benchmark]""#, &["\n  "], parse),
    ],
};

/// Rule above and below the name of a test case.
const RULE: &str = "-------------------------------------------------------------------------------";
/// Words of the header of a table without analysis.
const HEADER_OF_MEANS: [&str; 5] = ["benchmark", "name", "samples", "iterations", "mean"];
/// Maximum number of lines of a name.
const NAME_LINES: usize = 16;

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
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

/// Parses the tables of `--benchmark-no-analysis`.
fn parse_means(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut test_case: Option<String> = None;
    // Lines since the last rule, blank line or benchmark.
    let mut block: Vec<&str> = Vec::new();
    let mut after_rule = false;
    let mut in_table = false;
    for line in text::lines(input.text) {
        if line.text == RULE {
            in_table = block.last().is_some_and(|header| header.split_whitespace().eq(HEADER_OF_MEANS));
            if !in_table && after_rule && (1..=NAME_LINES).contains(&block.len()) {
                test_case = Some(join(block.drain(..)));
            }
            block.clear();
            after_rule = !in_table;
        } else if line.text.trim_matches(|character| is_blank(character) || character == '.').is_empty() {
            block.clear();
            (after_rule, in_table) = (false, false);
        } else if let (true, Some(test_case), Some(name)) = (in_table, &test_case, first_line(line.text)) {
            let mean = line.text.rsplit(is_blank).filter(|word| !word.is_empty()).take(2).collect::<Vec<_>>();
            let mean = text::duration(&format!("{} {}", mean[1], mean[0]));
            let mean = mean.ok_or_else(|| line.invalid("a mean with a unit of time"))?;
            let name = join(block.drain(..).chain([name]));
            entries.push(entry(line, test_case, &name, ParsedMetric::latency(mean))?);
        } else if let Some((name, _)) = line.text.split_once("Benchmark failed (").filter(|_| in_table) {
            input.skip(join(block.drain(..).chain([name])), "they failed");
        } else {
            block.push(line.text);
        }
    }
    text::require_entries(
        entries,
        "a table with the columns `benchmark name`, `samples`, `iterations`, `mean`",
    )
}

/// Parses the document of the XML reporter, whose times are nanoseconds.
fn parse_xml(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut mean = None;
    let mut deviation = None;
    let mut has_failed = false;
    xml::read(input.text, &["Catch", "Catch2TestRun"], |part, around| {
        let parent = around.last().map_or("", |parent| parent.name.as_str());
        match part {
            Part::Start(element) => match (parent, element.name.as_str()) {
                (_, "BenchmarkResults") => (mean, deviation, has_failed) = (None, None, false),
                ("BenchmarkResults", "mean") => mean = Some(element.require_number("value")?),
                ("BenchmarkResults", "standardDeviation") => {
                    deviation = Some(element.require_number("value")?);
                }
                ("BenchmarkResults", "failed") => has_failed = true,
                _ => {}
            },
            Part::End(element) if element.name == "BenchmarkResults" => {
                let name = xml_name(element, around);
                match (mean.take(), deviation.take()) {
                    (None, _) if has_failed => input.skip(name, "they failed"),
                    (None, _) => return Err(Failure::missing(element.position(), "the element `mean`")),
                    (Some(mean), deviation) => {
                        let latency = ParsedMetric::latency(mean);
                        // Without analysis, the deviation is written as zero.
                        let deviation = deviation.filter(|deviation| *deviation > 0.0);
                        let latency = match deviation {
                            Some(deviation) => latency.with_deviation(deviation),
                            None => latency,
                        };
                        entries.push(Entry::new(|| element.position(), &name, vec![latency])?);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    if entries.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one element `BenchmarkResults`"));
    }
    Ok(entries)
}

/// Rejects the document of the JSON reporter, which has test cases but no benchmarks (Catch2 3.7).
fn reject_json(input: &Input<'_>) -> Result<Entries, Failure> {
    document::read::<Document, Document>(input.text)?;
    let expected = "benchmarks, which the reporter `json` of Catch2 does not write; use `--reporter xml`";
    Err(Failure::missing(Position::Path("test-run".to_owned()), expected))
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Document {
    metadata: Metadata,
    test_run: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Metadata {
    catch2_version: IgnoredAny,
}

/// Returns the same name as the console: test case, sections and benchmark.
fn xml_name(benchmark: &Element, around: &[Element]) -> String {
    let name = |element: &'_ Element| element.attribute("name").unwrap_or_default().to_owned();
    let outer = around.iter().filter(|element| matches!(element.name.as_str(), "TestCase" | "Section"));
    let outer: Vec<_> = outer.map(name).collect();
    format!("{}: {}", join(outer.iter().map(String::as_str)), name(benchmark).trim())
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
    text::duration(&format!("1 {unit}"))?;
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
    let words: Vec<_> = line[start..].split(is_blank).filter(|word| !word.is_empty()).collect();
    let mut times = words.chunks(2).map(|words| text::duration(&words.join(" ")));
    let first = times.next()??;
    times.all(|time| time.is_some()).then(|| (line[..start].trim_matches(is_blank), first))
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<_> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{CppCatch2, Magic};

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
    fn long_benchmarks_have_minutes() {
        let text = format!(
            "{RULE}\nParser suite\n{RULE}\nparse all           100       1    1.5 m \n\
             \x20                1.2 m     1.1 m    1.3 m \n                  2 s       1 s      3 s\n"
        );
        insta::assert_snapshot!(read(CppCatch2, &text), @"Parser suite: parse all latency 72000000000 [70000000000, 74000000000]");
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

    #[test]
    fn the_xml_reporter() {
        let text = include_str!("../fixtures/cpp_catch2/reporter.xml");
        insta::assert_snapshot!(read(CppCatch2, text), @r#"
        Parser suite: sum tiny latency 3.55692 [2.8545439999999997, 4.259296]
        Parser suite: sum <int> & "more" latency 5.16253 [4.584956, 5.7401040000000005]
        Sorting inner section: sort latency 6664.37 [6041.248, 7287.492]
        "#);
        assert_eq!(read(Magic, text), read(CppCatch2, text));
        let document = |benchmark: &str| {
            let text = format!("<Catch name=\"c\">\n<TestCase name=\"t\">\n{benchmark}\n</TestCase></Catch>");
            read(CppCatch2, &text)
        };
        let ran = "<BenchmarkResults name=\"b\"><mean value=\"2.5\"/><standardDeviation value=\"0\"/></BenchmarkResults>";
        let failed = "<BenchmarkResults name=\"x\"><failed message=\"no device\"/></BenchmarkResults>";
        assert_eq!(document(&format!("{failed}{ran}")), "t: b latency 2.5\n");
        let errors = [
            document(failed),
            document("<BenchmarkResults name=\"b\"/>"),
            document(&ran.replace("2.5", "nan")),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `cpp_catch2` cannot read the output at line 1: expected at least one element `BenchmarkResults`.
        The adapter `cpp_catch2` cannot read the output at line 3: expected the element `mean`.
        The adapter `cpp_catch2` cannot read the output at line 3: expected a number as attribute `value`, found `nan`.
        ");
    }

    #[test]
    fn version_3() {
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/cpp_catch2/sections_v3.txt")), @"
        Fibonacci: fib 10 latency 74.449 [47.7864, 101.1116]
        Fibonacci: fib 18, a name that is so long that it needs more than one line latency 3321.35 [3261.536, 3381.1639999999998]
        Sorting sorted: sort latency 4132.97 [3982.6810000000005, 4283.259]
        Sorting reversed: sort latency 3164.49 [2842.1949999999997, 3486.785]
        Failing: after failure latency 4.55125 [-4.65718, 13.75968]
        Sizes: fib 4 latency 42.7189 [-125.21810000000002, 210.6559]
        Sizes: fib 6 latency 10.714 [10.188396000000001, 11.239604]
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/cpp_catch2/no_analysis_v3.txt")), @"
        Fibonacci: fib 10 latency 67.4503
        Fibonacci: fib 18, a name that is so long that it needs more than one line latency 3273.71
        Sorting sorted: sort latency 5782.92
        Sorting reversed: sort latency 3849.61
        Failing: after failure latency 16.2807
        Sizes: fib 4 latency 4.32762
        Sizes: fib 6 latency 11.5917
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/cpp_catch2/reporter_v3.xml")), @"
        Fibonacci: fib 10 latency 65.6658 [65.02507700000001, 66.306523]
        Fibonacci: fib 18, a name that is so long that it needs more than one line latency 254914 [-837536, 1347364]
        Sorting sorted: sort latency 4394 [3855.241, 4932.759]
        Sorting reversed: sort latency 3323.61 [2970.2400000000002, 3676.98]
        Failing: after failure latency 9.54834 [-24.655559999999998, 43.75224]
        Sizes: fib 4 latency 4.18082 [4.1609811, 4.2006589]
        Sizes: fib 6 latency 11.2848 [10.906635000000001, 11.662965]
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/cpp_catch2/reporter.json")), @"The adapter `cpp_catch2` cannot read the output at `test-run`: expected benchmarks, which the reporter `json` of Catch2 does not write; use `--reporter xml`.");
    }

    #[test]
    fn tables_without_analysis() {
        let text = include_str!("../fixtures/cpp_catch2/no_analysis.txt");
        insta::assert_snapshot!(read(CppCatch2, text), @r#"
        Parser suite: sum tiny latency 2.07437
        Parser suite: sum <int> & "more" latency 2.79001
        Sorting inner section: sort latency 10883.1
        "#);
        assert_eq!(read(Magic, text), read(CppCatch2, text));
        let header = "benchmark name      samples    iterations     mean";
        let text = format!(
            "{RULE}\nx\n{RULE}\nc.cpp:4\n.....\n\n{header}\n{RULE}\nsum with a  \nlong 5 name     5   2,973  9.5 us \n\
             throws     Benchmark failed (no device) \nlast    5    1    2 ns\n"
        );
        insta::assert_snapshot!(read(CppCatch2, &text), @"
        x: sum with a long 5 name latency 9500
        x: last latency 2
        ");
    }
}
