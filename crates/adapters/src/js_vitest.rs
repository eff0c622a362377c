//! Adapter for Vitest benchmarks: parses the JSON of `--outputJson`.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Average, BenchmarkName};

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, text::Unit};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    files: Vec<ShapeFile>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "its presence identifies the tool")]
struct ShapeFile {
    groups: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    full_name: String,
    benchmarks: Vec<Benchmark>,
}

/// A benchmark; times are in milliseconds.
#[derive(Deserialize)]
struct Benchmark {
    name: String,
    hz: f64,
    mean: f64,
    median: f64,
    sd: f64,
    rme: f64,
}

/// Parses a document: the time per run and the runs per second.
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let Document { files } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut entries = Vec::new();
    for (file_index, file) in files.iter().enumerate() {
        for (group_index, group) in file.groups.iter().enumerate() {
            for (index, benchmark) in group.benchmarks.iter().enumerate() {
                let position = || {
                    Position::Path(format!("files[{file_index}].groups[{group_index}].benchmarks[{index}]"))
                };
                entries.push(Entry::new(position, &group.name_of(benchmark), benchmark.metrics(average))?);
            }
        }
    }
    document::require_entries(entries, "files")
}

impl Group {
    /// Returns the name with its group, or without it if there is no group or the combined name is too long.
    fn name_of(&self, benchmark: &Benchmark) -> String {
        let name = format!("{} > {}", self.full_name, benchmark.name);
        if self.full_name.is_empty() || name.parse::<BenchmarkName>().is_err() {
            benchmark.name.clone()
        } else {
            name
        }
    }
}

impl Benchmark {
    fn metrics(&self, average: Average) -> Vec<ParsedMetric> {
        let nanoseconds = |milliseconds| Unit::Milliseconds.nanoseconds(milliseconds);
        let latency = match average {
            Average::Mean => {
                ParsedMetric::latency(nanoseconds(self.mean)).with_deviation(nanoseconds(self.sd))
            }
            Average::Median => ParsedMetric::latency(nanoseconds(self.median)),
        };
        vec![latency, ParsedMetric::throughput(self.hz).with_deviation(self.hz * self.rme / 100.0)]
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    const EXAMPLE: &str = r#"{"files":[{"groups":[{"fullName":"a.bench.ts > suite","benchmarks":[{"name":"one","hz":1000,"mean":1,"median":0.75,"sd":0.25,"rme":10}]}]}]}"#;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::JsVitest, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn latency_and_throughput() {
        insta::assert_snapshot!(read(EXAMPLE, None), @"
        a.bench.ts > suite > one latency 1000000 [750000, 1250000]
        a.bench.ts > suite > one throughput 1000 [900, 1100]
        ");
        insta::assert_snapshot!(read(EXAMPLE, Some(Average::Median)), @"
        a.bench.ts > suite > one latency 750000
        a.bench.ts > suite > one throughput 1000 [900, 1100]
        ");
    }

    #[test]
    fn groups() {
        insta::assert_snapshot!(read(include_str!("../fixtures/js_vitest/groups.json"), None), @"
        sort.bench.mjs > top level latency 1307.4154954438316 [-42130.926082052385, 44745.757072940054]
        sort.bench.mjs > top level throughput 764867.7895319939 [584770.0598953927, 944965.5191685951]
        sort.bench.mjs > sort > native latency 375455.26629421656 [-385725.1030139515, 1136635.6356023846]
        sort.bench.mjs > sort > native throughput 2663.433143101458 [2206.7235780687033, 3120.1427081342126]
        sort.bench.mjs > sort > toSorted latency 341564.8378839603 [-389200.7786613848, 1072330.4544293054]
        sort.bench.mjs > sort > toSorted throughput 2927.701827258137 [2420.54876056954, 3434.8548939467346]
        sort.bench.mjs > sort > strings > localeCompare latency 765.957530901243 [-40569.890384895174, 42101.80544669766]
        sort.bench.mjs > sort > strings > localeCompare throughput 1305555.4122215854 [927017.8451285616, 1684092.9793146092]
        ");
    }

    #[test]
    fn the_group_is_omitted_if_the_name_is_too_long() {
        for group in ["", &"x".repeat(1020)] {
            assert!(read(&EXAMPLE.replace("a.bench.ts > suite", group), None).starts_with("one latency"));
        }
    }

    #[test]
    fn an_invalid_row_is_reported_with_its_position() {
        let errors = [
            EXAMPLE.replace("\"rme\":10", "\"rme\":null"),
            EXAMPLE.replace(",\"sd\":0.25", ""),
            EXAMPLE.replace("\"one\"", "\"\"").replace("a.bench.ts > suite", ""),
            r#"{"files":[]}"#.to_owned(),
            r#"{"files":[{}]}"#.to_owned(),
        ]
        .map(|text| read(&text, None));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `js_vitest` cannot read the output at `files[0].groups[0].benchmarks[0].rme`: expected a number, found `null`.
        The adapter `js_vitest` cannot read the output at `files[0].groups[0].benchmarks[0]`: expected the member `sd`.
        The adapter `js_vitest` cannot read the output at `files[0].groups[0].benchmarks[0]`: expected a benchmark name of 1 to 1024 bytes without the character NUL.
        The adapter `js_vitest` cannot read the output at `files`: expected at least one benchmark.
        The adapter `js_vitest` cannot read the output at `files[0]`: expected the member `groups`.
        ");
    }
}
