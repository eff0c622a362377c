//! Adapter for Playwright Test: the durations of the tests in its JSON report.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, fold::mean_of,
    group::group, text::Unit, variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Playwright,
    title: "Playwright Test",
    metrics: "latency: the duration of the attempt that passed, for repeated tests their mean from least to greatest; the project is a parameter",
    parameters: "`project`",
    averages: &[],
    formats: &[Format::new(
        Syntax::Json,
        "playwright test --reporter=json",
        &[r#""config""#, r#""suites""#, r#""specs""#],
        parse,
    )],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    config: ShapeConfiguration,
    suites: Vec<ShapeSuite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeConfiguration {
    root_dir: IgnoredAny,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeSuite {
    specs: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    config: ShapeConfiguration,
    suites: Vec<Suite>,
}

/// A file or a group of tests. The JSON parser limits the depth.
#[derive(Deserialize)]
struct Suite {
    title: String,
    specs: Vec<Spec>,
    #[serde(default)]
    suites: Vec<Suite>,
}

#[derive(Deserialize)]
struct Spec {
    title: String,
    tests: Vec<Test>,
}

/// A test in one project.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default)]
    project_name: String,
    /// Attempts; more than one if the first one failed.
    results: Vec<Attempt>,
}

#[derive(Deserialize)]
struct Attempt {
    status: Option<String>,
    /// Milliseconds.
    duration: f64,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { suites, .. } = document::read::<Shape, _>(input.text)?;
    let mut entries = Entries::default();
    for suite in &suites {
        suite.read("", input, &mut entries)?;
    }
    document::require_entries(mean_of_repetitions(entries), "suites")
}

impl Suite {
    fn read(&self, parent: &str, input: &Input<'_>, entries: &mut Entries) -> Result<(), Failure> {
        let path = joined(parent, &self.title);
        for spec in &self.specs {
            let name = joined(&path, &spec.title);
            for test in &spec.tests {
                match test.passed() {
                    Ok(duration) => {
                        let position = || Position::Path("suites".to_owned());
                        let latency = ParsedMetric::latency(Unit::Milliseconds.nanoseconds(duration));
                        let entry = Entry::new(position, &name, vec![latency])?;
                        entries.push(Entry {
                            parameters: variant::of_texts(position, test.project())?,
                            ..entry
                        });
                    }
                    Err(reason) => input.skip(&name, reason),
                }
            }
        }
        self.suites.iter().try_for_each(|suite| suite.read(&path, input, entries))
    }
}

impl Test {
    /// Returns the duration of the last attempt that passed, or why there is none.
    fn passed(&self) -> Result<f64, &'static str> {
        let has = |attempt: &&Attempt, status| attempt.status.as_deref() == Some(status);
        match self.results.iter().rfind(|attempt| has(attempt, "passed")) {
            Some(attempt) => Ok(attempt.duration),
            None if self.results.iter().all(|attempt| has(&attempt, "skipped")) => {
                Err("Playwright did not run them")
            }
            None => Err("they failed"),
        }
    }

    fn project(&self) -> BTreeMap<String, String> {
        let name = Some(&self.project_name).filter(|name| !name.is_empty());
        name.map(|name| ("project".to_owned(), name.clone())).into_iter().collect()
    }
}

/// Joins titles; a group of tests can be without a title.
fn joined(parent: &str, title: &str) -> String {
    match (parent, title) {
        ("", title) => title.to_owned(),
        (parent, "") => parent.to_owned(),
        (parent, title) => format!("{parent} > {title}"),
    }
}

/// Replaces the repetitions of a test (`--repeat-each`) by their mean. Playwright requires unique titles, so entries with the same
/// name are repetitions.
fn mean_of_repetitions(mut entries: Entries) -> Entries {
    if entries.are_unique() {
        return entries;
    }
    let (groups, count) = group(&entries.iter().map(|entry| entry.key()).collect::<Vec<_>>());
    let mut values = vec![Vec::new(); count];
    for (entry, group) in entries.iter().zip(&groups) {
        values[*group as usize].extend(entry.metrics().map(|metric| metric.value));
    }
    let mut means = Entries::default();
    for (entry, group) in entries.iter().zip(groups) {
        if group as usize == means.len() {
            let values = &values[group as usize];
            let least = values.iter().copied().fold(f64::MAX, f64::min);
            let greatest = values.iter().copied().fold(f64::MIN, f64::max);
            let mut latency = ParsedMetric::latency(mean_of(values.iter().copied()));
            if values.len() > 1 {
                latency = latency.with_range(least, greatest);
            }
            means.push(Entry { metrics: vec![latency], ..entry.to_entry() });
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Playwright};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn durations_of_tests() {
        let text = include_str!("../fixtures/playwright/report.json");
        let (results, skipped) = parse_with_skipped(Magic, text, None).unwrap();
        insta::assert_snapshot!(results, @"
        a.spec.js > adds {project=api} latency 105000000
        a.spec.js > adds {project=ui} latency 23000000
        a.spec.js > cart > waits {project=api} latency 86000000
        a.spec.js > cart > waits {project=ui} latency 89000000
        a.spec.js > cart > flaky {project=api} latency 21000000
        a.spec.js > cart > flaky {project=ui} latency 30000000
        ");
        assert_eq!(read(Playwright, text), results.to_string());
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        a.spec.js > cart > skipped: Playwright did not run them
        a.spec.js > cart > skipped: Playwright did not run them
        ");
    }

    #[test]
    fn repetitions_are_averaged() {
        let spec = |results: &str| format!(r#"{{"title":"a","tests":[{{"results":[{results}]}}]}}"#);
        let report = |specs: &[String]| {
            let specs = specs.join(",");
            format!(r#"{{"config":{{"rootDir":"/"}},"suites":[{{"title":"f.ts","specs":[{specs}]}}]}}"#)
        };
        let passed = |duration| spec(&format!(r#"{{"status":"passed","duration":{duration}}}"#));
        assert_eq!(
            read(Magic, &report(&[passed(1), passed(3)])),
            "f.ts > a latency 2000000 [1000000, 3000000]\n"
        );
        let errors = [
            report(&[spec(r#"{"status":"failed","duration":1}"#)]),
            report(&[spec(r#"{"status":"passed","duration":"1"}"#)]),
            r#"{"suites":[]}"#.to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Playwright, &text)).join("\n"), @r#"
        The adapter `playwright` cannot read the output at `suites`: expected at least one benchmark.
        The adapter `playwright` cannot read the output at `suites[0].specs[0].tests[0].results[0].duration`: expected a number, found `string "1"`.
        The adapter `playwright` cannot read the output: expected the member `config`.
        "#);
    }
}
