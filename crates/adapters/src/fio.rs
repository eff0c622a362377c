//! Adapter for the JSON of fio. Reads, writes and trims of a job are variants of its benchmark.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::Adapter;

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Fio,
    title: "fio",
    metrics: "for each operation (read, write, trim) of a job: latency ± standard deviation and maximum latency; percentiles 50, 90, 95, 99 and 99.9 of the completion latency (of the latency with `lat_percentiles=1`); throughput (IOPS); bandwidth; the operation is a parameter",
    parameters: "`operation`: `read`, `write` or `trim`",
    averages: &[],
    formats: &[Format::new(
        Syntax::Json,
        "fio --output-format=json JOB.fio",
        &[r#""fio version""#, r#""jobs""#],
        parse,
    )],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    #[serde(rename = "fio version")]
    version: IgnoredAny,
    jobs: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    /// Error number of the operating system; zero if the job succeeded.
    #[serde(default)]
    error: i64,
    read: Option<Operation>,
    write: Option<Operation>,
    trim: Option<Operation>,
}

/// Statistics of one kind of operation.
#[derive(Deserialize)]
struct Operation {
    total_ios: f64,
    bw_bytes: f64,
    iops: f64,
    lat_ns: Latency,
    clat_ns: Option<Latency>,
}

/// Latencies in nanoseconds.
#[derive(Deserialize)]
struct Latency {
    max: f64,
    mean: f64,
    stddev: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

const PERCENTILES: [(&str, &str); 5] = [
    ("50.000000", "latency-p50"),
    ("90.000000", "latency-p90"),
    ("95.000000", "latency-p95"),
    ("99.000000", "latency-p99"),
    ("99.900000", "latency-p99-9"),
];

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { jobs } = document::read::<Shape, _>(json(input.text))?;
    let mut entries = Entries::default();
    let mut origins = Vec::new();
    let mut failed = None;
    for (index, job) in jobs.iter().enumerate() {
        if job.error != 0 {
            input.skip(&job.jobname, "their jobs failed");
            failed.get_or_insert((index, job.error));
            continue;
        }
        for (name, operation) in [("read", &job.read), ("write", &job.write), ("trim", &job.trim)] {
            let Some(operation) = operation.as_ref().filter(|operation| operation.total_ios > 0.0) else {
                continue;
            };
            let position = || Position::Path(format!("jobs[{index}].{name}"));
            let parameters = [("operation".to_owned(), name.to_owned())].into();
            let parameters = variant::of_texts(position, parameters)?;
            entries.push(Entry { parameters, ..Entry::new(position, &job.jobname, operation.metrics())? });
            origins.push((index, (index + 1).to_string()));
        }
    }
    if let Some((index, error)) = failed.filter(|_| entries.is_empty()) {
        let position = Position::Path(format!("jobs[{index}].error"));
        return Err(Failure::invalid(position, "a job that succeeded", &error.to_string()));
    }
    // `numjobs` starts several jobs with the same name.
    variant::distinguish(
        |entry| Position::Path(format!("jobs[{}]", origins[entry].0)),
        &mut entries,
        &[("job", &|entry| Some(origins[entry].1.as_str()))],
    )?;
    document::require_entries(entries, "jobs")
}

/// Returns the document: fio prints notes and warnings above and below it.
fn json(text: &str) -> &str {
    let start = if text.starts_with("{\n") { Some(0) } else { text.find("\n{\n").map(|start| start + 1) };
    let end = text.rfind("\n}").map(|end| end + 2);
    match start.zip(end) {
        Some((start, end)) if start < end => &text[start..end],
        _ => text,
    }
}

impl Operation {
    fn metrics(&self) -> Vec<ParsedMetric> {
        let latency = &self.lat_ns;
        let mut metrics = vec![
            ParsedMetric::latency(latency.mean).with_deviation(latency.stddev),
            ParsedMetric::of("latency-max", latency.max),
        ];
        let percentiles = match &self.clat_ns {
            Some(completion) if latency.percentile.is_empty() => &completion.percentile,
            _ => &latency.percentile,
        };
        let known = PERCENTILES
            .iter()
            .filter_map(|(key, slug)| Some(ParsedMetric::of(slug, *percentiles.get(*key)?)));
        metrics.extend(known);
        metrics.push(ParsedMetric::throughput(self.iops));
        metrics.push(ParsedMetric::of("bandwidth", self.bw_bytes));
        metrics
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Fio, Magic};

    use crate::tests::read;

    const RANDRW: &str = include_str!("../fixtures/fio/randrw.json");

    #[test]
    fn real_runs() {
        insta::assert_snapshot!(read(Fio, RANDRW), @"
        randrw {operation=read} latency 66038.927419 [-150142.504206, 282220.359044]
        randrw {operation=read} latency-max 2756495
        randrw {operation=read} latency-p50 26496
        randrw {operation=read} latency-p90 38144
        randrw {operation=read} latency-p95 115200
        randrw {operation=read} latency-p99 1122304
        randrw {operation=read} latency-p99-9 2768896
        randrw {operation=read} throughput 14171.428571
        randrw {operation=read} bandwidth 58046171
        randrw {operation=write} latency 2629.005682 [272.4361279999998, 4985.575236000001]
        randrw {operation=write} latency-max 47904
        randrw {operation=write} latency-p50 2160
        randrw {operation=write} latency-p90 3536
        randrw {operation=write} latency-p95 5088
        randrw {operation=write} latency-p99 8256
        randrw {operation=write} latency-p99-9 47872
        randrw {operation=write} throughput 15085.714286
        randrw {operation=write} bandwidth 61791085
        ");
        let jobs = include_str!("../fixtures/fio/jobs.json");
        insta::assert_snapshot!(read(Fio, jobs), @"
        seq {job=1, operation=write} latency 13000.359375 [9680.595655000001, 16320.123094999999]
        seq {job=1, operation=write} latency-max 30890
        seq {job=1, operation=write} latency-p50 11840
        seq {job=1, operation=write} latency-p90 15040
        seq {job=1, operation=write} latency-p95 17536
        seq {job=1, operation=write} latency-p99 29824
        seq {job=1, operation=write} latency-p99-9 29824
        seq {job=1, operation=write} throughput 64000
        seq {job=1, operation=write} bandwidth 4194304000
        seq {job=2, operation=write} latency 13307.359375 [11236.131916, 15378.586834]
        seq {job=2, operation=write} latency-max 19594
        seq {job=2, operation=write} latency-p50 12864
        seq {job=2, operation=write} latency-p90 15424
        seq {job=2, operation=write} latency-p95 16768
        seq {job=2, operation=write} latency-p99 19328
        seq {job=2, operation=write} latency-p99-9 19328
        seq {job=2, operation=write} throughput 64000
        seq {job=2, operation=write} bandwidth 4194304000
        ");
        for text in [RANDRW, jobs] {
            assert_eq!(read(Magic, text), read(Fio, text));
        }
        let noted =
            format!("note: both iodepth >= 1 and synchronous I/O engine are selected\n{RANDRW}\nfio: done\n");
        assert_eq!(read(Magic, &noted), read(Fio, RANDRW));
    }

    #[test]
    fn errors_have_the_path() {
        let errors = [
            RANDRW.replace(r#""error" : 0"#, r#""error" : 28"#),
            RANDRW.replace(r#""bw_bytes" : 58046171,"#, ""),
            RANDRW.replace(r#""total_ios" : "#, r#""total_ios" : 0, "old" : "#),
            RANDRW.replace("14171.428571", r#""fast""#),
            r#"{"fio version" : "fio-3.33", "jobs" : []}"#.to_owned(),
            r#"{"jobs" : []}"#.to_owned(),
        ]
        .map(|text| read(Fio, &text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `fio` cannot read the output at `jobs[0].error`: expected a job that succeeded, found `28`.
        The adapter `fio` cannot read the output at `jobs[0].read`: expected the member `bw_bytes`.
        The adapter `fio` cannot read the output at `jobs`: expected at least one benchmark.
        The adapter `fio` cannot read the output at `jobs[0].read.iops`: expected a number, found `string "fast"`.
        The adapter `fio` cannot read the output at `jobs`: expected at least one benchmark.
        The adapter `fio` cannot read the output at `jobs`: expected at least one benchmark.
        "#);
    }
}
