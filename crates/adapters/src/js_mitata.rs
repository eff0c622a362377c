//! Adapter for the JSON format of mitata. It does not read samples, hardware counters or garbage-collection times.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tidemark_api::Average;

use crate::{Entry, Failure, Input, ParsedMetric, Position, document, variant};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    layout: Vec<IgnoredAny>,
    benchmarks: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Document {
    layout: Vec<Group>,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Group {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    /// Name with placeholders for its arguments, for example `sort($n)`.
    alias: String,
    /// Index of its group in the layout.
    group: usize,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    /// Name with its arguments, for example `sort(64)`.
    name: String,
    args: Option<Value>,
    stats: Option<Statistics>,
    error: Option<RunError>,
}

#[derive(Deserialize)]
struct RunError {
    message: Option<String>,
}

/// Times in nanoseconds.
#[derive(Deserialize)]
struct Statistics {
    avg: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    heap: Option<Heap>,
}

/// Heap bytes per run.
#[derive(Deserialize)]
struct Heap {
    avg: Option<f64>,
}

/// Parses a document. The mean has no range, because mitata reports no spread around it; the median has the quartiles as
/// range.
pub(crate) fn parse(input: &Input<'_>) -> Result<Vec<Entry>, Failure> {
    let Document { layout, benchmarks } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let mut entries = Vec::new();
    for (benchmark_index, benchmark) in benchmarks.iter().enumerate() {
        let group = layout.get(benchmark.group).and_then(|group| group.name.as_deref());
        for (index, run) in benchmark.runs.iter().enumerate() {
            let position = || Position::Path(format!("benchmarks[{benchmark_index}].runs[{index}]"));
            let Some(statistics) = &run.stats else {
                let message =
                    run.error.as_ref().and_then(|error| error.message.as_deref()).unwrap_or("no message");
                return Err(Failure::invalid(
                    position(),
                    "a benchmark that ran",
                    &format!("{}: {message}", run.name),
                ));
            };
            let parameters = run.args.as_ref().and_then(variant::of_object);
            if parameters.is_none() && variant::is_given(run.args.as_ref()) {
                input.skip_parameters(&run.name);
            }
            let name = if parameters.is_some() { &benchmark.alias } else { &run.name };
            let name = group.map_or_else(|| name.clone(), |group| format!("{group} > {name}"));
            entries.push(Entry { parameters, ..Entry::new(position, &name, statistics.metrics(average))? });
        }
    }
    document::require_entries(entries, "benchmarks")
}

impl Statistics {
    fn metrics(&self, average: Average) -> Vec<ParsedMetric> {
        let latency = match average {
            Average::Mean => ParsedMetric::latency(self.avg),
            Average::Median => ParsedMetric::latency(self.p50).with_range(self.p25, self.p75),
        };
        let allocated =
            self.heap.as_ref().and_then(|heap| heap.avg).map(|bytes| ParsedMetric::of("allocated", bytes));
        [latency].into_iter().chain(allocated).collect()
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::{Adapter, Average};

    use crate::parse;

    fn read(text: &str, average: Option<Average>) -> String {
        parse(Adapter::JsMitata, text, average)
            .map_or_else(|error| error.to_string(), |results| results.to_string())
    }

    #[test]
    fn groups_and_arguments() {
        let text = include_str!("../fixtures/js_mitata/arguments.json");
        insta::assert_snapshot!(read(text, None), @"
        noop latency 0.13986615451171122
        noop allocated 0.10486525654494325
        sort > sort($n) {n=64} latency 4512.758485736269
        sort > sort($n) {n=64} allocated 2250.87646484375
        sort > sort($n) {n=512} latency 80501.27931722003
        sort > sort($n) {n=512} allocated 2239.751171875
        parse $kind $size {kind=a, size=8} latency 609.4468678977273
        parse $kind $size {kind=a, size=8} allocated 111.78369858685662
        parse $kind $size {kind=b, size=8} latency 550.9793231670673
        parse $kind $size {kind=b, size=8} allocated 112.10782849829351
        ");
        insta::assert_snapshot!(read(text, Some(Average::Median)), @"
        noop latency 0.103515625 [0.100341796875, 0.110595703125]
        noop allocated 0.10486525654494325
        sort > sort($n) {n=64} latency 4344.796142578125 [4187.232666015625, 4592.074951171875]
        sort > sort($n) {n=64} allocated 2250.87646484375
        sort > sort($n) {n=512} latency 77422.4296875 [67790.28564453125, 91739.03002929688]
        sort > sort($n) {n=512} allocated 2239.751171875
        parse $kind $size {kind=a, size=8} latency 424.440673828125 [405.5, 496.859619140625]
        parse $kind $size {kind=a, size=8} allocated 111.78369858685662
        parse $kind $size {kind=b, size=8} latency 414.987548828125 [384.868896484375, 474.672119140625]
        parse $kind $size {kind=b, size=8} allocated 112.10782849829351
        ");
    }

    #[test]
    fn nested_arguments_stay_in_the_name() {
        let text = r#"{"layout":[{"name":null}],"benchmarks":[{"alias":"f($x)","group":0,"runs":[
            {"name":"f(1,2)","args":{"x":[1,2]},"stats":{"avg":1,"p25":1,"p50":1,"p75":1}}]}]}"#;
        assert_eq!(read(text, None), "f(1,2) latency 1\n");
    }

    #[test]
    fn a_benchmark_that_threw_is_an_error() {
        let text = include_str!("../fixtures/js_mitata/errored.json");
        insta::assert_snapshot!(read(text, None), @"The adapter `js_mitata` cannot read the output at `benchmarks[3].runs[0]`: expected a benchmark that ran, found `throws: no such table`.");
        assert_eq!(parse(Adapter::Magic, text, None).unwrap_err().adapter, Adapter::JsMitata);
        insta::assert_snapshot!(read(r#"{"layout":[],"benchmarks":[]}"#, None), @"The adapter `js_mitata` cannot read the output at `benchmarks`: expected at least one benchmark.");
    }
}
