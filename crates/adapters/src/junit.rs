//! Adapter for JUnit XML, which most test runners can write: the duration of each test that passed.

use tidemark_api::Adapter;

use crate::{
    Detection, Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    results::fold_repeated,
    text::{self, Unit},
    variant,
    xml::{self, Element, Part},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Junit,
    title: "JUnit XML",
    metrics: "latency: the duration of each test that passed; the class and the test are the name, the suite or the file is a parameter if two tests have the same name; of tests that neither distinguishes the median, from least to greatest",
    parameters: "`suite` and `file`, where several tests have the name",
    averages: &[],
    formats: &[Format::new(
        Syntax::Xml,
        "pytest --junit-xml=report.xml",
        &["<testsuite", "<testcase"],
        parse,
    )
    .detected(Detection::Generic)],
};

/// A test of a report.
pub(crate) struct Case {
    pub(crate) position: Position,
    pub(crate) name: String,
    pub(crate) class: Option<String>,
    pub(crate) status: Option<String>,
    suite: Option<String>,
    file: Option<String>,
    time: Option<String>,
    /// Why the test has no valid duration, as the end of a sentence.
    pub(crate) skipped: Option<&'static str>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    entries(input, &cases(input.text, |_| true)?)
}

/// Reads the tests of a report whose root element is accepted.
pub(crate) fn cases(text: &str, is_root: impl Fn(&Element) -> bool) -> Result<Vec<Case>, Failure> {
    let mut cases: Vec<Case> = Vec::new();
    xml::read(text, &["testsuites", "testsuite"], |part, around| {
        let Part::Start(element) = part else { return Ok(()) };
        if around.is_empty() && !is_root(element) {
            return Err(Failure::unrecognized("a root element with the attributes that the tool writes"));
        }
        let parent = around.last().map_or("", |parent| parent.name.as_str());
        match (parent, element.name.as_str()) {
            ("testsuite" | "testsuites", "testcase") => cases.push(Case::new(element, around)?),
            ("testcase", "skipped" | "disabled") => skip(&mut cases, "they were skipped"),
            ("testcase", "failure" | "error") => skip(&mut cases, "they failed"),
            _ => {}
        }
        Ok(())
    })?;
    Ok(cases)
}

fn skip(cases: &mut [Case], reason: &'static str) {
    if let Some(case) = cases.last_mut() {
        case.skipped = Some(reason);
    }
}

/// Returns the durations of the tests that passed.
pub(crate) fn entries(input: &Input<'_>, cases: &[Case]) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut passed = Vec::with_capacity(cases.len());
    for case in cases {
        let name = case.full_name();
        match (case.skipped, &case.time) {
            (Some(reason), _) => input.skip(name, reason),
            (None, None) => input.skip(name, "they have no duration"),
            (None, Some(time)) => {
                let latency = ParsedMetric::latency(Unit::Seconds.nanoseconds(case.seconds(time)?));
                entries.push(Entry::new(|| case.position.clone(), &name, vec![latency])?);
                passed.push(case);
            }
        }
    }
    let position = |index: usize| passed[index].position.clone();
    let properties: [variant::Property<'_>; 2] = [
        ("suite", &|index| passed[index].suite.as_deref()),
        ("file", &|index| passed[index].file.as_deref()),
    ];
    variant::separate(position, &mut entries, &properties)?;
    fold_repeated(&mut entries);
    if entries.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one test that passed, with a duration"));
    }
    Ok(entries)
}

impl Case {
    fn new(element: &Element, around: &[Element]) -> Result<Self, Failure> {
        let attribute = |name| element.attribute(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let suite = around.last().and_then(|suite| suite.attribute("name"));
        let Some(name) = attribute("name") else {
            return Err(Failure::missing(element.position(), "the attribute `name`"));
        };
        let skipped = match element.attribute("status") {
            Some("disabled" | "notrun" | "skipped") => Some("they were skipped"),
            Some("fail" | "failed") => Some("they failed"),
            _ => None,
        };
        Ok(Self {
            position: element.position(),
            name,
            class: attribute("classname"),
            status: attribute("status"),
            suite: suite.map(str::to_owned),
            file: attribute("file"),
            time: attribute("time"),
            skipped,
        })
    }

    /// Returns the class and the name. Some runners write the same text as both.
    fn full_name(&self) -> String {
        match &self.class {
            Some(class) if *class != self.name => format!("{class}.{}", self.name),
            _ => self.name.clone(),
        }
    }

    /// Parses seconds. A comma groups digits only in front of a decimal point; alone, it could be a decimal comma.
    fn seconds(&self, time: &str) -> Result<f64, Failure> {
        let grouped = time.split_once('.').filter(|(whole, _)| whole.contains(','));
        let seconds = match grouped {
            Some(_) => text::quantity(time).filter(|(_, unit)| unit.is_empty()).map(|(seconds, _)| seconds),
            None => text::decimal(time),
        };
        seconds.filter(|seconds| *seconds >= 0.0).ok_or_else(|| {
            Failure::invalid(self.position.clone(), "a number of seconds as attribute `time`", time)
        })
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Junit, Magic};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn a_real_run() {
        let text = include_str!("../fixtures/junit/pytest.xml");
        insta::assert_snapshot!(read(Junit, text), @"
        test_parser.test_sleep[1] latency 14000000
        test_parser.test_sleep[2] latency 36000000
        test_parser.TestGroup.test_method latency 0
        ");
        assert_eq!(read(Magic, text), read(Junit, text));
        let (_, skipped) = parse_with_skipped(Junit, text, None).unwrap();
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        test_parser.TestGroup.test_fails: they failed
        test_parser.test_skipped: they were skipped
        ");
    }

    #[test]
    fn other_runners() {
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/junit/jest.xml")), @r#"
        sum adds "two" numbers & more latency 5000000
        sum takes a while latency 51000000
        "#);
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/junit/ant.xml")), @"
        com.example.ParserTest.parsesNumbers latency 22000000
        com.example.ParserTest.parsesQuotes latency 1000000
        ");
    }

    #[test]
    fn nested_suites_distinguish_equal_names() {
        let text = include_str!("../fixtures/junit/suites.xml");
        insta::assert_snapshot!(read(Junit, text), @r#"
        com.example.ParserTest.parsesLargeFile latency 1234567000000
        com.example.ParserTest.parses "quotes" <b> latency 12000000
        opens a file {suite=unit} latency 250000000
        opens a file {suite=integration} latency 2500000000
        flaky latency 500000000
        "#);
        assert_eq!(read(Magic, text), read(Junit, text));
    }

    #[test]
    fn errors_have_the_line() {
        let case = |case: &str| read(Junit, &format!("<testsuite name=\"s\">\n{case}\n</testsuite>"));
        let errors = [
            case(""),
            case("<testcase time=\"1\"/>"),
            case("<testcase name=\"a\" time=\"0,123\"/>"),
            case("<testcase name=\"a\" time=\"-1\"/>"),
            case("<testcase name=\"a\" time=\"NaN\"/>"),
            case("<testcase name=\"a\"/>"),
            case("<testcase name=\"a\" time=\"1\"><failure/></testcase>"),
            case("<testcase name=\"a\" time=\"1\">"),
            read(Junit, "<html/>"),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `junit` cannot read the output at line 1: expected at least one test that passed, with a duration.
        The adapter `junit` cannot read the output at line 2: expected the attribute `name`.
        The adapter `junit` cannot read the output at line 2: expected a number of seconds as attribute `time`, found `0,123`.
        The adapter `junit` cannot read the output at line 2: expected a number of seconds as attribute `time`, found `-1`.
        The adapter `junit` cannot read the output at line 2: expected a number of seconds as attribute `time`, found `NaN`.
        The adapter `junit` cannot read the output at line 1: expected at least one test that passed, with a duration.
        The adapter `junit` cannot read the output at line 1: expected at least one test that passed, with a duration.
        The adapter `junit` cannot read the output at line 3: expected valid XML (ill-formed document: expected `</testcase>`, but `</testsuite>` was found).
        The adapter `junit` cannot read the output: expected an XML document `<testsuites>` or `<testsuite>`.
        ");
        let repeated = "<testcase name=\"a\" time=\"1\"/><testcase name=\"a\" time=\"2\"/>";
        assert_eq!(case(repeated), "a latency 1500000000 [1000000000, 2000000000]\n");
        assert_eq!(case("<testcase name=\"a\" time=\"1,234.5\"/>"), "a latency 1234500000000\n");
    }
}
