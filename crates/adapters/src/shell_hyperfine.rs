//! Adapter for Hyperfine: parses the JSON of `--export-json`, not the printed output.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tidemark_api::Average;

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, text::Unit, variant};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    results: Vec<ShapeRow>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeRow {
    command: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    results: Vec<Row>,
}

/// A command; times are in seconds.
#[derive(Deserialize)]
struct Row {
    command: String,
    mean: f64,
    /// `None` after a single run.
    stddev: Option<f64>,
    median: f64,
    min: f64,
    max: f64,
    parameters: Option<Value>,
}

/// Parses a document. The name of a command includes the values of its parameters, because Hyperfine reports no other name.
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let Document { results } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let entries = results.iter().enumerate().map(|(index, row)| {
        let position = || Position::Path(format!("results[{index}]"));
        let parameters = row.parameters.as_ref().and_then(variant::of_object);
        if parameters.is_none() && variant::is_given(row.parameters.as_ref()) {
            input.skip_parameters(&row.command);
        }
        Ok(Entry { parameters, ..Entry::new(position, &row.command, vec![row.latency(average)])? })
    });
    document::require_entries(entries.collect::<Result<_, Failure>>()?, "results")
}

impl Row {
    /// Computes the range in seconds, for compatibility with existing series.
    fn latency(&self, average: Average) -> ParsedMetric {
        let nanoseconds = |seconds| Unit::Seconds.nanoseconds(seconds);
        let latency = |value| ParsedMetric::latency(nanoseconds(value));
        match (average, self.stddev) {
            (Average::Mean, None) => latency(self.mean),
            (Average::Mean, Some(spread)) => latency(self.mean)
                .with_range(nanoseconds(self.mean - spread), nanoseconds(self.mean + spread)),
            (Average::Median, _) => {
                latency(self.median).with_range(nanoseconds(self.min), nanoseconds(self.max))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    const EXAMPLE: &str = r#"{"results":[{"command":"./app --n 5","mean":0.1,"stddev":0.01,"median":0.09,"user":0,"system":0,"min":0.08,"max":0.2,"exit_codes":[0]}]}"#;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::ShellHyperfine, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn mean_and_median() {
        assert_eq!(read(EXAMPLE, None), "./app --n 5 latency 100000000 [90000000.00000001, 110000000]\n");
        assert_eq!(
            read(EXAMPLE, Some(Average::Median)),
            "./app --n 5 latency 90000000 [80000000, 200000000]\n"
        );
    }

    #[test]
    fn commands_of_a_run() {
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/plain.json"), None), @"
        sleep 0.01 latency 11738697.600000001 [10290521.558107028, 13186873.641892977]
        true latency 477551 [359385.4594181535, 595716.5405818465]
        ");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/one_run.json"), None), @"true latency 556650");
        insta::assert_snapshot!(read(include_str!("../fixtures/shell_hyperfine/parameters.json"), None), @"
        echo 1 a {kind=a, n=1} latency 5773022.999999999 [3681588.351584706, 7864457.648415292]
        echo 2 a {kind=a, n=2} latency 6509470.333333334 [4023711.3857709733, 8995229.280895695]
        echo 1 b {kind=b, n=1} latency 5192091 [3644506.917657138, 6739675.082342862]
        echo 2 b {kind=b, n=2} latency 6244319.666666667 [4215369.4505099645, 8273269.8828233695]
        ");
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            EXAMPLE.replace("0.09", "\"0.09\""),
            EXAMPLE.replace(",\"max\":0.2", ""),
            EXAMPLE.replace("./app --n 5", ""),
            r#"{"results":[]}"#.to_owned(),
            r#"{"results":[{}]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `shell_hyperfine` cannot read the output at `results[0].median`: expected a number, found `string "0.09"`.
        The adapter `shell_hyperfine` cannot read the output at `results[0]`: expected the member `max`.
        The adapter `shell_hyperfine` cannot read the output at `results[0]`: expected a benchmark name of 1 to 1024 bytes without the character NUL.
        The adapter `shell_hyperfine` cannot read the output at `results`: expected at least one benchmark.
        The adapter `shell_hyperfine` cannot read the output at `results[0]`: expected the member `command`.
        "#);
    }
}
