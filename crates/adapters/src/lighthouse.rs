//! Adapter for the JSON report of Lighthouse: the scores of the categories, and the audits that are metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, MeasureDirection::LowerIsBetter, excerpt};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, text::Unit,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Lighthouse,
    title: "Lighthouse",
    metrics: "score of each category, from 0 to 100; latency of the audits that are times, for example `first-contentful-paint`; file size of `total-byte-weight`; layout shift; a benchmark is named by the URL and the category or audit",
    parameters: "",
    averages: &[],
    formats: &[Format::new(
        Syntax::Json,
        "lighthouse URL --output=json",
        &[r#""lighthouseVersion""#, r#""audits""#, r#""categories""#],
        parse,
    )],
};

/// Audits that measure the page. Other audits state what a change of the page could save.
const METRICS: [&str; 11] = [
    "first-contentful-paint",
    "largest-contentful-paint",
    "first-meaningful-paint",
    "speed-index",
    "total-blocking-time",
    "max-potential-fid",
    "cumulative-layout-shift",
    "interactive",
    "server-response-time",
    "mainthread-work-breakdown",
    "total-byte-weight",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    lighthouse_version: IgnoredAny,
    audits: BTreeMap<String, IgnoredAny>,
    categories: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[expect(dead_code, reason = "its presence identifies the tool")]
    lighthouse_version: IgnoredAny,
    requested_url: Option<String>,
    final_displayed_url: Option<String>,
    final_url: Option<String>,
    runtime_error: Option<RuntimeError>,
    audits: BTreeMap<String, Audit>,
    categories: BTreeMap<String, Category>,
}

#[derive(Deserialize)]
struct RuntimeError {
    code: Option<String>,
    message: Option<String>,
}

/// A category; its score is a fraction, or null if an audit failed.
#[derive(Deserialize)]
struct Category {
    score: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Audit {
    numeric_value: Option<f64>,
    numeric_unit: Option<String>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let document: Document = document::read::<Shape, _>(input.text)?;
    if let Some(error) = document.runtime_error.filter(|error| error.code.as_deref() != Some("NO_ERROR")) {
        let message = error.message.or(error.code).unwrap_or_default();
        return Err(Failure::invalid(
            Position::Path("runtimeError".to_owned()),
            "a page that Lighthouse could load",
            &message,
        ));
    }
    // The requested URL stays the same if the page redirects to another one.
    let url = document.requested_url.or(document.final_displayed_url).or(document.final_url);
    let url = url
        .ok_or_else(|| Failure::missing(Position::Path("requestedUrl".to_owned()), "the URL of the page"))?;
    let mut entries = Entries::default();
    for (id, category) in &document.categories {
        let position = || Position::Path(excerpt::of_path(&format!("categories.{id}")));
        match category.score {
            Some(score) => {
                let metric = ParsedMetric::of("lighthouse-score", score * 100.0);
                entries.push(Entry::new(position, &format!("{url} > {id}"), vec![metric])?);
            }
            None => input.skip(id, "Lighthouse could not compute their score"),
        }
    }
    for id in METRICS {
        let Some(audit) = document.audits.get(id) else { continue };
        match audit.metric() {
            Some(metric) => {
                let position = || Position::Path(format!("audits.{id}"));
                entries.push(Entry::new(position, &format!("{url} > {id}"), vec![metric])?);
            }
            None => input.skip(id, "Lighthouse did not measure them"),
        }
    }
    document::require_entries(entries, "categories")
}

impl Audit {
    fn metric(&self) -> Option<ParsedMetric> {
        let value = self.numeric_value?;
        match self.numeric_unit.as_deref()? {
            "millisecond" => Some(ParsedMetric::latency(Unit::Milliseconds.nanoseconds(value))),
            "byte" => Some(ParsedMetric::of("file-size", value)),
            "unitless" => ParsedMetric::named("Layout Shift", None, value)
                .map(|shift| shift.with_direction(LowerIsBetter)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Lighthouse, Magic};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn scores_and_metrics() {
        let text = include_str!("../fixtures/lighthouse/report.json");
        insta::assert_snapshot!(read(Lighthouse, text), @"
        http://127.0.0.1:18765/ > accessibility lighthouse-score 79
        http://127.0.0.1:18765/ > best-practices lighthouse-score 86
        http://127.0.0.1:18765/ > performance lighthouse-score 100
        http://127.0.0.1:18765/ > seo lighthouse-score 90
        http://127.0.0.1:18765/ > first-contentful-paint latency 627598000
        http://127.0.0.1:18765/ > largest-contentful-paint latency 627598000
        http://127.0.0.1:18765/ > speed-index latency 627598000
        http://127.0.0.1:18765/ > total-blocking-time latency 0
        http://127.0.0.1:18765/ > max-potential-fid latency 71000000
        http://127.0.0.1:18765/ > cumulative-layout-shift Layout Shift 0
        http://127.0.0.1:18765/ > interactive latency 652898000
        http://127.0.0.1:18765/ > server-response-time latency 2640000.0000000005
        http://127.0.0.1:18765/ > mainthread-work-breakdown latency 168239999.99999997
        http://127.0.0.1:18765/ > total-byte-weight file-size 274
        ");
        let without_score = text.replace(r#""score": 0.79"#, r#""score": null"#);
        let (results, skipped) = parse_with_skipped(Magic, &without_score, None).unwrap();
        assert_eq!(results.to_string(), read(Lighthouse, &without_score));
        let skipped: Vec<_> = skipped.iter().flat_map(crate::Skipped::lines).collect();
        insta::assert_snapshot!(skipped.join("\n"), @"
        accessibility: Lighthouse could not compute their score
        first-meaningful-paint: Lighthouse did not measure them
        ");
    }

    #[test]
    fn a_page_that_does_not_load_is_an_error() {
        let text = include_str!("../fixtures/lighthouse/refused.json");
        insta::assert_snapshot!(read(Magic, text), @"The adapter `lighthouse` cannot read the output at `runtimeError`: expected a page that Lighthouse could load, found `Lighthouse was unable to reliably load the page you requeste…`.");
    }

    #[test]
    fn errors_have_a_path() {
        let report = |rest: &str| format!(r#"{{"lighthouseVersion":"13.0.1",{rest}}}"#);
        let errors = [
            report(
                r#""requestedUrl":"http://a/","audits":{},"categories":{},"runtimeError":{"code":"NO_FCP","message":"The page did not paint any content."}"#,
            ),
            report(r#""requestedUrl":"http://a/","audits":{},"categories":{}"#),
            report(r#""audits":{},"categories":{}"#),
            report(r#""audits":{},"categories":{"seo":{"score":"1"}}"#),
            "{}".to_owned(),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Lighthouse, &text)).join("\n"), @r#"
        The adapter `lighthouse` cannot read the output at `runtimeError`: expected a page that Lighthouse could load, found `The page did not paint any content.`.
        The adapter `lighthouse` cannot read the output at `categories`: expected at least one benchmark.
        The adapter `lighthouse` cannot read the output at `requestedUrl`: expected the URL of the page.
        The adapter `lighthouse` cannot read the output at `categories.seo.score`: expected a number, found `string "1"`.
        The adapter `lighthouse` cannot read the output: expected the member `lighthouseVersion`.
        "#);
    }
}
