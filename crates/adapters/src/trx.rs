//! Adapter for the test results that `dotnet test` writes as TRX: the duration of each test that passed.

use std::collections::HashMap;

use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    results::fold_repeated,
    text::{self, Unit},
    xml::{self, Part},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Trx,
    title: "dotnet test",
    metrics: "latency: the duration of each test that passed, of tests with the same name the median, from least to greatest",
    parameters: "",
    averages: &[],
    formats: &[Format::new(Syntax::Xml, "dotnet test --logger trx", &["<TestRun", "<UnitTestResult"], parse)],
};

struct TestResult {
    position: Position,
    test: String,
    name: String,
    outcome: Option<String>,
    duration: Option<String>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut results: Vec<TestResult> = Vec::new();
    // Definitions, with the class of each test, follow the results.
    let mut classes: HashMap<String, String> = HashMap::new();
    xml::read(input.text, &["TestRun"], |part, around| {
        let Part::Start(element) = part else { return Ok(()) };
        let attribute = |name| element.attribute(name).filter(|value| !value.is_empty()).map(str::to_owned);
        match element.name.as_str() {
            "UnitTestResult" => {
                let Some(name) = attribute("testName") else {
                    return Err(Failure::missing(element.position(), "the attribute `testName`"));
                };
                results.push(TestResult {
                    position: element.position(),
                    test: attribute("testId").unwrap_or_default(),
                    name,
                    outcome: attribute("outcome"),
                    duration: attribute("duration"),
                });
            }
            "TestMethod" => {
                let test = around.last().and_then(|test| test.attribute("id"));
                if let (Some(test), Some(class)) = (test, attribute("className")) {
                    classes.insert(test.to_owned(), class);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let mut entries = Entries::default();
    for result in &results {
        let name = result.full_name(classes.get(&result.test).map(String::as_str));
        match (result.outcome.as_deref(), &result.duration) {
            (Some("Passed"), Some(duration)) => {
                let latency = ParsedMetric::latency(result.nanoseconds(duration)?);
                entries.push(Entry::new(|| result.position.clone(), &name, vec![latency])?);
            }
            (Some("Passed"), None) => input.skip(name, "they have no duration"),
            (Some("NotExecuted" | "NotRunnable" | "Pending"), _) => input.skip(name, "they were skipped"),
            _ => input.skip(name, "they failed"),
        }
    }
    fold_repeated(&mut entries);
    if entries.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one test that passed, with a duration"));
    }
    Ok(entries)
}

impl TestResult {
    /// Returns the name with its class. Some test frameworks write the class as a part of the name.
    fn full_name(&self, class: Option<&str>) -> String {
        // A class can be followed by its assembly.
        let class = class.and_then(|class| class.split(',').next());
        match class.filter(|class| !self.name.starts_with(class)) {
            Some(class) => format!("{class}.{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Parses hours, minutes and seconds: `00:00:01.2345678`.
    fn nanoseconds(&self, duration: &str) -> Result<f64, Failure> {
        let whole =
            |part: &str| text::decimal(part).filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
        let parts: Vec<_> = duration.split(':').take(4).collect();
        let seconds = match parts.as_slice() {
            [hours, minutes, seconds] => {
                let seconds = text::decimal(seconds).filter(|seconds| *seconds >= 0.0);
                whole(hours).zip(whole(minutes)).zip(seconds)
            }
            _ => None,
        };
        match seconds {
            Some(((hours, minutes), seconds)) => {
                Ok(Unit::Seconds.nanoseconds(hours * 3600.0 + minutes * 60.0 + seconds))
            }
            None => Err(Failure::invalid(
                self.position.clone(),
                "a duration such as `00:00:01.2345678`",
                duration,
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Trx};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn durations_of_tests() {
        let text = include_str!("../fixtures/trx/results.trx");
        insta::assert_snapshot!(read(Trx, text), @"
        Demo.ParserTests.Parses(size: 64) latency 12345600
        Demo.SortTests.Sorts latency 62500000000
        ");
        assert_eq!(read(Magic, text), read(Trx, text));
        let (_, skipped) = parse_with_skipped(Trx, text, None).unwrap();
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        Demo.ParserTests.Fails: they failed
        Demo.ParserTests.Skipped: they were skipped
        ");
    }

    #[test]
    fn errors_have_the_line() {
        let run =
            |results: &str| read(Trx, &format!("<TestRun>\n<Results>\n{results}\n</Results></TestRun>"));
        let errors = [
            run("<UnitTestResult testName=\"a\" outcome=\"Passed\" duration=\"5 s\"/>"),
            run("<UnitTestResult testName=\"a\" outcome=\"Passed\" duration=\"1.02:00:00\"/>"),
            run("<UnitTestResult outcome=\"Passed\"/>"),
            run("<UnitTestResult testName=\"a\" outcome=\"Failed\" duration=\"00:00:01\"/>"),
            read(Trx, "<testsuite/>"),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `trx` cannot read the output at line 3: expected a duration such as `00:00:01.2345678`, found `5 s`.
        The adapter `trx` cannot read the output at line 3: expected a duration such as `00:00:01.2345678`, found `1.02:00:00`.
        The adapter `trx` cannot read the output at line 3: expected the attribute `testName`.
        The adapter `trx` cannot read the output at line 1: expected at least one test that passed, with a duration.
        The adapter `trx` cannot read the output: expected an XML document `<TestRun>`.
        ");
        let test = |seconds: u8| {
            format!("<UnitTestResult testName=\"a\" outcome=\"Passed\" duration=\"00:00:0{seconds}\"/>")
        };
        assert_eq!(run(&(test(1) + &test(2))), "a latency 1500000000 [1000000000, 2000000000]\n");
    }
}
