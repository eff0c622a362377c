//! Adapter for the result files of ClickBench: three tries per query, of which the first is cold.

use std::{collections::BTreeMap, fmt::Write};

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::{Adapter, Parameters};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool,
    document::{self, Number},
    text::Unit,
    variant,
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Clickbench,
    title: "ClickBench",
    metrics: "latency of each query `Q0` to `Q42`: the first try with the parameter `run=cold`, the better of the other two with `run=hot`; latency and file size of the benchmark `load`; the system is a parameter",
    parameters: "`system`; `run`, `cold` or `hot`",
    averages: &[],
    formats: &[Format::new(
        Syntax::Json,
        "./benchmark.sh",
        &[r#""system""#, r#""load_time""#, r#""data_size""#, r#""result""#],
        parse,
    )],
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    system: IgnoredAny,
    load_time: IgnoredAny,
    data_size: IgnoredAny,
    result: Vec<IgnoredAny>,
}

/// A result file; times are in seconds.
#[derive(Deserialize)]
struct Document {
    system: String,
    load_time: Option<f64>,
    data_size: Option<f64>,
    /// Three tries per query, which are read one by one.
    #[expect(dead_code, reason = "its presence identifies the tool")]
    result: Vec<IgnoredAny>,
}

fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { system, load_time, data_size, .. } = document::read::<Shape, _>(input.text)?;
    let parameters = |run: Option<&str>| {
        let mut parameters = BTreeMap::from([("system".to_owned(), system.clone())]);
        parameters.extend(run.map(|run| ("run".to_owned(), run.to_owned())));
        variant::of_texts(|| Position::Path("system".to_owned()), parameters)
    };
    let (cold_run, hot_run) = (parameters(Some("cold"))?, parameters(Some("hot"))?);
    let entry = |index: usize, name: &str, parameters: &Option<Parameters>, metric: ParsedMetric| {
        let position = || Position::Path(format!("result[{index}]"));
        Ok(Entry { parameters: parameters.clone(), ..Entry::new(position, name, vec![metric])? })
    };
    let latency = |seconds: f64| ParsedMetric::latency(Unit::Seconds.nanoseconds(seconds));
    let (mut entries, mut name) = (Entries::default(), String::new());
    document::read_elements(input.text, "result", |index, tries: [Number; 3]| {
        // A query that failed has no time.
        let [cold, second, third] = tries.map(Number::get);
        name.clear();
        write!(name, "Q{index}").expect("a text can grow");
        if let Some(cold) = cold {
            entries.push(entry(index, &name, &cold_run, latency(cold))?);
        }
        let hot = match (second, third) {
            (Some(second), Some(third)) => {
                let (least, greatest) = (latency(second.min(third)), latency(second.max(third)));
                let (lower, upper) = (least.value, greatest.value);
                Some(least.with_range(lower, upper))
            }
            (one, other) => one.or(other).map(latency),
        };
        match hot {
            Some(hot) => entries.push(entry(index, &name, &hot_run, hot)?),
            None => input.skip(&*name, "they failed"),
        }
        Ok(())
    })?;
    let mut entries = document::require_entries(entries, "result")?;
    // A system that queries files in place needs no time to load.
    let load: Vec<_> = [
        load_time.filter(|time| *time > 0.0).map(latency),
        data_size.filter(|size| *size > 0.0).map(|size| ParsedMetric::of("file-size", size)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !load.is_empty() {
        let position = || Position::Path("load_time".to_owned());
        entries.push(Entry { parameters: parameters(None)?, ..Entry::new(position, "load", load)? });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Clickbench, Magic};

    use crate::tests::read;

    #[test]
    fn cold_and_hot_runs() {
        let text = include_str!("../fixtures/clickbench/result.json");
        insta::assert_snapshot!(read(Clickbench, text), @"
        Q0 {run=cold, system=ClickHouse} latency 2000000
        Q0 {run=hot, system=ClickHouse} latency 1000000 [1000000, 1500000]
        Q1 {run=cold, system=ClickHouse} latency 125000000
        Q1 {run=hot, system=ClickHouse} latency 12500000 [12500000, 15000000]
        Q3 {run=cold, system=ClickHouse} latency 1500000000
        Q3 {run=hot, system=ClickHouse} latency 500000000
        load {system=ClickHouse} latency 475500000000
        load {system=ClickHouse} file-size 14557009492
        ");
        assert_eq!(read(Magic, text), read(Clickbench, text));
    }

    #[test]
    fn errors_have_the_path() {
        let document = |result: &str| {
            let text = format!(r#"{{"system":"a","load_time":0,"data_size":null,"result":[{result}]}}"#);
            read(Clickbench, &text)
        };
        let errors = [
            document("[1, 2]"),
            document("[1, 2, \"x\"]"),
            document("[null, null, null]"),
            document(""),
            read(Clickbench, r#"{"result": [[1, 2, 3]]}"#),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `clickbench` cannot read the output at `result[0]`: expected an array of length 3, found `2`.
        The adapter `clickbench` cannot read the output at `result[0][2]`: expected a number, found `string "x"`.
        The adapter `clickbench` cannot read the output at `result`: expected at least one benchmark.
        The adapter `clickbench` cannot read the output at `result`: expected at least one benchmark.
        The adapter `clickbench` cannot read the output: expected the member `system`.
        "#);
        insta::assert_snapshot!(document("[1, null, 2]"), @"
        Q0 {run=cold, system=a} latency 1000000000
        Q0 {run=hot, system=a} latency 2000000000
        ");
    }
}
