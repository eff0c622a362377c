//! JSON and printed tables of mitata 0.1, in which a printed benchmark is one line.

use serde::{Deserialize, de::IgnoredAny};
use tidemark_api::Average;

use crate::{
    Entries, Entry, Failure, Input, ParsedMetric, Position, document,
    js_mitata::{Statistics, in_group},
    text::{self, Line, is_blank},
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    benchmarks: Vec<ShapeRow>,
    runtime: IgnoredAny,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct ShapeRow {
    name: IgnoredAny,
    warmup: IgnoredAny,
    baseline: IgnoredAny,
}

#[derive(Deserialize)]
struct Document {
    benchmarks: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    group: Option<String>,
    stats: Option<Statistics>,
}

/// Parses the JSON of `run({ json: true })`.
pub(crate) fn parse(input: &Input<'_>) -> Result<Entries, Failure> {
    let Document { benchmarks } = document::read::<Shape, _>(input.text)?;
    let average = input.average.unwrap_or(Average::Mean);
    let entries = benchmarks.iter().enumerate().map(|(index, row)| {
        let position = || Position::Path(format!("benchmarks[{index}]"));
        let statistics = row
            .stats
            .as_ref()
            .ok_or_else(|| Failure::invalid(position(), "a benchmark that ran", &row.name))?;
        Entry::new(position, &in_group(row.group.as_deref(), &row.name), statistics.metrics(average))
    });
    document::require_entries(entries.collect::<Result<_, _>>()?, "benchmarks")
}

/// Parses the printed tables.
pub(crate) fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut group = None;
    let mut columns: Option<Vec<&str>> = None;
    for line in text::lines(input.text) {
        if line.text.starts_with("benchmark ") && line.text.contains(" time (avg) ") {
            columns = line
                .text
                .split_once(')')
                .and_then(|(_, rest)| rest.split_once(')'))
                .map(|(_, rest)| rest.split(is_blank).filter(|column| !column.is_empty()).collect());
        } else if let Some(title) = line.text.strip_prefix("• ") {
            group = Some(title.trim());
        } else if let Some(columns) = &columns {
            if line.text.contains("/iter ") {
                if input.average == Some(Average::Median) {
                    return Err(line.invalid("a median, which mitata writes only as JSON"));
                }
                entries.push(row(line, group, columns)?);
            } else if line.text.contains(" error: ") {
                return Err(line.invalid("a benchmark that ran"));
            }
        }
    }
    text::require_entries(entries, "a table with the header `benchmark  time (avg)  (min … max)  p75  p99`")
}

/// Parses `sort  1'922 ns/iter  (176 ns … 19'890 ns)  221 ns 18'052 ns 19'890 ns`.
fn row(line: Line<'_>, group: Option<&str>, columns: &[&str]) -> Result<Entry, Failure> {
    let expected = || line.invalid("a name, an average, a range and percentiles with units");
    let (before, after) = line.text.rsplit_once("/iter ").ok_or_else(expected)?;
    let (before, unit) = before.rsplit_once(' ').ok_or_else(expected)?;
    let (name, count) = before.rsplit_once(' ').ok_or_else(expected)?;
    let (range, rest) =
        after.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(expected)?;
    let (_, greatest) = range.split_once(" … ").ok_or_else(expected)?;
    let words: Vec<_> = rest.split(is_blank).filter(|word| !word.is_empty()).collect();
    let mut metrics = vec![ParsedMetric::latency(time(&[count, unit]).ok_or_else(expected)?)];
    for (column, words) in columns.iter().zip(words.chunks(2)) {
        let slug = match *column {
            "p75" => "latency-p75",
            "p99" => "latency-p99",
            "p999" => "latency-p99-9",
            _ => continue,
        };
        metrics.push(ParsedMetric::of(slug, time(words).ok_or_else(expected)?));
    }
    let greatest: Vec<_> = greatest.split(is_blank).collect();
    metrics.push(ParsedMetric::of("latency-max", time(&greatest).ok_or_else(expected)?));
    line.entry(&in_group(group, name.trim_end()), metrics)
}

/// Parses a number, whose thousands an apostrophe separates, and its unit.
fn time(words: &[&str]) -> Option<f64> {
    text::duration(&words.join(" ").replace('\'', ""))
}

#[cfg(test)]
mod tests {
    use tidemark_api::{
        Adapter::{JsMitata, Magic},
        Average,
    };

    use crate::{parse, tests::read};

    #[test]
    fn real_runs() {
        let text = include_str!("../fixtures/js_mitata/version_0.json");
        insta::assert_snapshot!(read(Magic, text), @"
        noop latency 0.7882452990626344
        noop latency-p75 0.09423828125
        noop latency-p99 0.10888671875
        noop latency-p99-9 2.380859375
        noop latency-max 19554.1923828125
        sum of 1000 latency 4393.854375930059
        sum of 1000 latency-p75 7312.3046875
        sum of 1000 latency-p99 36920.65576171875
        sum of 1000 latency-p99-9 43470.337890625
        sum of 1000 latency-max 43470.337890625
        sort > native latency 1552.4545731977983
        sort > native latency-p75 286.27392578125
        sort > native latency-p99 21670.9462890625
        sort > native latency-p99-9 35798.95068359375
        sort > native latency-max 35798.95068359375
        sort > with a comparison latency 2081.1259804377482
        sort > with a comparison latency-p75 265.72216796875
        sort > with a comparison latency-p99 45456.38134765625
        sort > with a comparison latency-p99-9 66931.67626953125
        sort > with a comparison latency-max 66931.67626953125
        ");
        assert_ne!(
            parse(JsMitata, text, Some(Average::Median)).unwrap(),
            parse(JsMitata, text, None).unwrap()
        );
        let text = include_str!("../fixtures/js_mitata/printed_v0.txt");
        insta::assert_snapshot!(read(Magic, text), @"
        noop latency 0.892
        noop latency-p75 0.092
        noop latency-p99 0.11800000000000001
        noop latency-p99-9 4.08
        noop latency-max 34620
        sum of 1000 latency 4658
        sum of 1000 latency-p75 7573
        sum of 1000 latency-p99 28112
        sum of 1000 latency-p99-9 29555
        sum of 1000 latency-max 29555
        sort > native latency 1922
        sort > native latency-p75 221
        sort > native latency-p99 18052
        sort > native latency-p99-9 19890
        sort > native latency-max 19890
        sort > with a comparison latency 2216
        sort > with a comparison latency-p75 421
        sort > with a comparison latency-p99 20027
        sort > with a comparison latency-p99-9 31846
        sort > with a comparison latency-max 31846
        ");
        insta::assert_snapshot!(parse(JsMitata, text, Some(Average::Median)).unwrap_err(), @"The adapter `js_mitata` cannot read the output at line 6: expected a median, which mitata writes only as JSON, found `noop                  892 ps/iter     (62 ps … 34'620 ns)   …`.");
    }

    #[test]
    fn errors_have_a_position() {
        let text = include_str!("../fixtures/js_mitata/printed_v0.txt");
        let json = include_str!("../fixtures/js_mitata/version_0.json");
        let stats = json.find("\"stats\":").unwrap();
        let end = stats + json[stats..].find('}').unwrap() + 1;
        let errors = [
            text.replace("892 ps/iter", "x ps/iter"),
            text.replace("native              1'922 ns/iter", "native              error: no device"),
            format!("{}\"stats\":null{}", &json[..stats], &json[end..]),
        ];
        insta::assert_snapshot!(errors.map(|text| read(JsMitata, &text)).join("\n"), @"
        The adapter `js_mitata` cannot read the output at line 6: expected a name, an average, a range and percentiles with units, found `noop                  x ps/iter     (62 ps … 34'620 ns)     …`.
        The adapter `js_mitata` cannot read the output at line 11: expected a benchmark that ran, found `native              error: no device    (176 ns … 19'890 ns)…`.
        The adapter `js_mitata` cannot read the output at `benchmarks[0]`: expected a benchmark that ran, found `noop`.
        ");
    }
}
