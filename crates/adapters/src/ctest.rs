//! Adapter for CTest: parses the printed list of tests and the JUnit XML of `--output-junit`.

use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool, junit,
    text::{self, Line, Scan, Unit, is_blank},
    xml::Element,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Ctest,
    title: "CTest",
    metrics: "latency: the duration of each test that passed; the printed durations have a resolution of 10 ms, those of `--output-junit` are exact",
    parameters: "",
    averages: &[],
    formats: &[
        Format::new(
            Syntax::Xml,
            "ctest --output-junit report.xml",
            &["<testsuite", "<testcase"],
            parse_junit,
        ),
        Format::new(Syntax::Text, "ctest", &[" Test ", " sec"], parse_text),
    ],
};

/// Attributes of the root element; other writers of JUnit XML write others.
const ROOT: [&str; 8] = ["name", "tests", "failures", "disabled", "skipped", "hostname", "time", "timestamp"];

fn parse_junit(input: &Input<'_>) -> Result<Entries, Failure> {
    let is_root = |root: &Element| root.name == "testsuite" && root.attributes().eq(ROOT);
    let cases = junit::cases(input.text, is_root)?;
    let is_ours = cases.iter().all(|case| {
        case.class.as_ref() == Some(&case.name)
            && matches!(case.status.as_deref(), Some("run" | "fail" | "notrun" | "disabled"))
    });
    if !is_ours {
        return Err(Failure::unrecognized("tests whose class is their name, with a status of CTest"));
    }
    junit::entries(input, &cases)
}

fn parse_text(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut results = 0;
    for line in text::lines(input.text) {
        let Some((name, outcome)) = result(line.text) else { continue };
        results += 1;
        if let Some(outcome) = outcome.strip_prefix("***") {
            let is_skipped = ["Skipped", "Not Run"].iter().any(|word| outcome.starts_with(word));
            input.skip(name, if is_skipped { "they were skipped" } else { "they failed" });
        } else {
            entries.push(passed(line, name, outcome)?);
        }
    }
    match (entries.is_empty(), results) {
        (true, 1..) => Err(Failure::missing(crate::Position::Line(1), "at least one test that passed")),
        _ => text::require_entries(entries, "a line such as `1/2 Test #1: name ....   Passed    0.01 sec`"),
    }
}

/// Returns the name and the outcome of the last attempt of a test: `1/2 Test #1: name ....   Passed    0.01 sec`.
fn result(line: &str) -> Option<(&str, &str)> {
    let mut scan = Scan::new(line);
    scan.any_blanks();
    scan.integer()?;
    scan.literal("/")?;
    scan.integer()?;
    scan.blanks()?;
    scan.literal("Test")?;
    scan.blanks()?;
    scan.literal("#")?;
    scan.integer()?;
    scan.literal(": ")?;
    let line = scan.rest().trim_end_matches(is_blank);
    let failed = line.find("***").filter(|start| line[..*start].ends_with('.'));
    let start = failed.or_else(|| line.rfind("   Passed "))?;
    let (name, outcome) = line.split_at(start);
    line.ends_with(" sec").then_some((name.trim_end_matches('.').trim_matches(is_blank), outcome))
}

fn passed(line: Line<'_>, name: &str, outcome: &str) -> Result<Entry, Failure> {
    let seconds =
        outcome.trim_matches(is_blank).strip_prefix("Passed").and_then(|rest| rest.strip_suffix("sec"));
    let seconds = seconds
        .and_then(|seconds| text::decimal(seconds.trim_matches(is_blank)))
        .ok_or_else(|| line.invalid("a duration such as `0.01 sec`"))?;
    line.entry(name, vec![ParsedMetric::latency(Unit::Seconds.nanoseconds(seconds))])
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Ctest, Magic};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn real_runs() {
        let text = include_str!("../fixtures/ctest/run.txt");
        insta::assert_snapshot!(read(Ctest, text), @"
        parse.small latency 30000000
        parse with a long name that needs many columns of the terminal latency 140000000
        ");
        let junit = include_str!("../fixtures/ctest/junit.xml");
        insta::assert_snapshot!(read(Ctest, junit), @"
        parse.small latency 31540600.000000004
        parse with a long name that needs many columns of the terminal latency 139811000
        ");
        for text in [text, junit] {
            assert_eq!(read(Magic, text), read(Ctest, text));
            let (results, skipped) = parse_with_skipped(Magic, text, None).unwrap();
            assert_eq!(results.adapter, Ctest);
            let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
            insta::allow_duplicates! {
                insta::assert_snapshot!(skipped.join("\n"), @"
                fails: they failed
                slow: they failed
                skips: they were skipped
                off: they were skipped
                ");
            }
        }
    }

    #[test]
    fn the_last_of_several_attempts_counts() {
        let text = "    Start 1: a\n    Test #1: a ...   Passed    0.01 sec\n    Start 1: a\n\
            1/1 Test #1: a ...   Passed    0.02 sec\n";
        insta::assert_snapshot!(read(Ctest, text), @"a latency 20000000");
    }

    #[test]
    fn errors_have_the_line() {
        let errors = [
            "1/1 Test #1: a ...   Passed    x sec",
            "1/1 Test #1: a ...***Failed    0.00 sec",
            "No tests were found!!!",
            "<testsuite name=\"a\"><testcase name=\"a\" classname=\"a\" time=\"1\" status=\"run\"/></testsuite>",
        ]
        .map(|text| read(Ctest, text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `ctest` cannot read the output at line 1: expected a duration such as `0.01 sec`, found `1/1 Test #1: a ...   Passed    x sec`.
        The adapter `ctest` cannot read the output at line 1: expected at least one test that passed.
        The adapter `ctest` cannot read the output: expected a line such as `1/2 Test #1: name ....   Passed    0.01 sec`.
        The adapter `ctest` cannot read the output: expected a root element with the attributes that the tool writes.
        ");
    }
}
