//! Parses the printed summary of k6. `load_k6` parses its JSON.

use std::collections::BTreeMap;

use tidemark_api::{Average, Parameters};

use crate::{
    Entries, Entry, Failure, Input,
    load_k6::{BANDWIDTHS, Metric, Numbers, THROUGHPUTS, split},
    text::{self, Unit, decimal},
};

/// Parses the printed summary: lines such as `http_reqs......: 300 29.75/s`. The line of a submetric has only its tags. After the
/// totals, `--summary-mode=full` repeats the metrics for each scenario and group.
pub(crate) fn parse_printed(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut parent = "";
    let mut is_recognized = false;
    // Section of the summary: the scenario or the groups whose metrics follow.
    let mut section: Vec<(usize, &str, &str)> = Vec::new();
    for line in text::lines(input.text) {
        let Some((title, values)) = line.text.split_once("...: ") else {
            if let Some((depth, title)) = heading(line.text) {
                section.retain(|(outer, ..)| *outer < depth);
                match title.split_once(": ") {
                    Some(("SCENARIO", name)) => section.push((depth, "scenario", name)),
                    Some(("GROUP", name)) => section.push((depth, "group", name)),
                    _ => {}
                }
            }
            continue;
        };
        let title = title.trim().trim_end_matches('.');
        let title = title.strip_prefix("✓ ").or(title.strip_prefix("✗ ")).unwrap_or(title).trim();
        let key = match title.strip_prefix('{').and_then(|tags| tags.strip_suffix('}')) {
            Some(tags) => format!("{parent}{{{}}}", tags.trim()),
            None => {
                parent = title;
                title.to_owned()
            }
        };
        is_recognized |= title == "iterations" && values.trim_end().ends_with("/s");
        let (name, parameters) = split(&key);
        let metric = printed(name, values).ok_or_else(|| line.invalid("numbers with the units of k6"))?;
        let measured = metric.measured(name, input.average.unwrap_or(Average::Mean));
        if !measured.is_empty() {
            let parameters = within(&section, parameters)
                .map_err(|()| line.invalid("a scenario or a group with a name of up to 256 bytes"))?;
            entries.push(Entry { parameters, ..line.entry(name, measured)? });
        }
    }
    if !is_recognized {
        return Err(Failure::unrecognized("a line such as `iterations.....: 300 29.75/s`"));
    }
    text::require_entries(entries, "the summary of k6")
}

/// Returns the depth and the title of a section: `█ SCENARIO: buy`, or below it `↳ GROUP: cart`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let title = text.strip_prefix("█ ").or(text.strip_prefix("↳ "))?;
    Some((line.len() - text.len(), title.trim()))
}

/// Adds the scenario and the path of the groups of a section to the tags of a metric.
fn within(section: &[(usize, &str, &str)], tags: Option<Parameters>) -> Result<Option<Parameters>, ()> {
    if section.is_empty() {
        return Ok(tags);
    }
    let tags = tags.iter().flat_map(Parameters::iter);
    let mut parameters: BTreeMap<String, String> =
        tags.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    for (_, kind, name) in section {
        // The path of a group, as in the tags of a submetric.
        let value = if *kind == "group" { format!("::{name}") } else { (*name).to_owned() };
        parameters.entry((*kind).to_owned()).and_modify(|path| path.push_str(&value)).or_insert(value);
    }
    Parameters::try_from(parameters).map(Some).map_err(|_| ())
}

/// Parses the values of a metric: a trend, a rate in percent, or a count and its rate per second.
fn printed(name: &str, values: &str) -> Option<Metric> {
    let words: Vec<_> = values.split_whitespace().collect();
    let mut numbers = Numbers::default();
    let mut is_time = false;
    if words.iter().all(|word| word.contains('=')) {
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let number = match text::go_duration(value) {
                Some(nanoseconds) => {
                    is_time = true;
                    nanoseconds / Unit::Milliseconds.nanoseconds(1.0)
                }
                None => decimal(value)?,
            };
            match key {
                "avg" => numbers.avg = number.into(),
                "med" => numbers.med = number.into(),
                "p(90)" => numbers.p90 = number.into(),
                "p(95)" => numbers.p95 = number.into(),
                "p(99)" => numbers.p99 = number.into(),
                "p(99.9)" => numbers.p999 = number.into(),
                _ => {}
            }
        }
    } else if let Some(percent) = words.first()?.strip_suffix('%') {
        numbers.value = (decimal(percent)? / 100.0).into();
        numbers.passes = numbers.value;
    } else if THROUGHPUTS.contains(&name) {
        numbers.rate = decimal(words.last()?.strip_suffix("/s")?)?.into();
    } else if let ([.., number, unit], true) = (words.as_slice(), BANDWIDTHS.contains(&name)) {
        numbers.rate = text::bytes(&format!("{number} {}", unit.strip_suffix("/s")?))?.into();
    } else if let [count, rate] = words.as_slice()
        && let Some(rate) = rate.strip_suffix("/s").and_then(decimal)
    {
        // Another unit than a count, such as `1.5 kB`, belongs to a counter of bytes.
        (numbers.count, numbers.rate) = (decimal(count).into(), rate.into());
    }
    Some(Metric { is_time: Some(is_time), numbers: Box::new(numbers) })
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::LoadK6;

    use crate::tests::read;

    #[test]
    fn printed_summaries() {
        let text = include_str!("../fixtures/load_k6/printed.txt");
        insta::assert_snapshot!(read(LoadK6, text), @"
        cache_hits share 99.64
        data_received bandwidth 386000
        data_sent bandwidth 114000
        group_duration latency 4430000
        group_duration latency-p90 7690000
        group_duration latency-p95 8950000
        group_duration {group=::cart} latency 4430000
        group_duration {group=::cart} latency-p90 7690000
        group_duration {group=::cart} latency-p95 8950000
        http_req_duration latency 1140000
        http_req_duration latency-p90 1860000
        http_req_duration latency-p95 2890000
        http_req_duration {expected_response=true} latency 1130000
        http_req_duration {expected_response=true} latency-p90 1830000
        http_req_duration {expected_response=true} latency-p95 2840000
        http_req_duration {method=GET, scenario=buy} latency 4000000
        http_req_duration {method=GET, scenario=buy} latency-p90 7490000
        http_req_duration {method=GET, scenario=buy} latency-p95 8750000
        http_req_failed error-rate 0.35
        http_req_waiting latency 900360
        http_req_waiting latency-p90 1430000
        http_req_waiting latency-p95 2150000
        http_reqs throughput 1404.419409
        iteration_duration latency 1420000
        iteration_duration latency-p90 2230000
        iteration_duration latency-p95 3540000
        iterations throughput 1404.419409
        orders rate 4.987285
        queue_depth value 3.007102
        render_time latency 2260000
        render_time latency-p90 3670000
        render_time latency-p95 5690000
        ");
        insta::assert_snapshot!(read(LoadK6, include_str!("../fixtures/load_k6/printed_v1.txt")), @"
        cache_hits share 99.3
        orders rate 4.915602
        queue_depth value 3.013908
        render_time latency 4660000
        render_time latency-p90 8710000
        render_time latency-p95 13580000
        http_req_duration latency 2340000
        http_req_duration latency-p90 4380000
        http_req_duration latency-p95 7130000
        http_req_duration {expected_response=true} latency 2330000
        http_req_duration {expected_response=true} latency-p90 4350000
        http_req_duration {expected_response=true} latency-p95 6790000
        http_req_duration {method=GET, scenario=buy} latency 4500000
        http_req_duration {method=GET, scenario=buy} latency-p90 8700000
        http_req_duration {method=GET, scenario=buy} latency-p95 9890000
        http_req_failed error-rate 0.69
        http_reqs throughput 706.863599
        iteration_duration latency 2860000
        iteration_duration latency-p90 4960000
        iteration_duration latency-p95 7790000
        iterations throughput 706.863599
        data_received bandwidth 195000
        data_sent bandwidth 50000
        ");
        insta::assert_snapshot!(read(LoadK6, include_str!("../fixtures/load_k6/trend_stats.txt")), @"
        cache_hits share 99.34
        orders rate 4.98352
        queue_depth value 3.013004
        render_time latency 4483180
        render_time latency-p99 53808880
        render_time latency-p99-9 124299680
        http_req_duration latency 2239580
        http_req_duration latency-p99 26749650
        http_req_duration latency-p99-9 62147600
        http_req_duration {expected_response=true} latency 2241590
        http_req_duration {expected_response=true} latency-p99 26904440
        http_req_duration {expected_response=true} latency-p99-9 62149840
        http_req_duration {method=GET, scenario=buy} latency 1932320
        http_req_duration {method=GET, scenario=buy} latency-p99 2610890
        http_req_duration {method=GET, scenario=buy} latency-p99-9 2623410
        http_req_failed error-rate 0.65
        http_reqs throughput 766.465308
        iteration_duration latency 2604260
        iteration_duration latency-p99 27344070
        iteration_duration latency-p99-9 62684430
        iterations throughput 766.465308
        data_received bandwidth 211000
        data_sent bandwidth 55000
        ");
        insta::assert_snapshot!(read(LoadK6, &text.replace("avg=1.14ms", "avg=x")), @"The adapter `load_k6` cannot read the output at line 26: expected numbers with the units of k6, found `http_req_duration...............: avg=x   min=183.53µs med=8…`.");
        insta::assert_snapshot!(read(LoadK6, "a...: 5"), @"The adapter `load_k6` cannot read the output: expected a line such as `iterations.....: 300 29.75/s`.");
    }

    #[test]
    fn scenarios_and_groups_of_a_full_summary() {
        insta::assert_snapshot!(read(LoadK6, include_str!("../fixtures/load_k6/full.txt")), @"
        cache_hits share 99.31
        orders rate 4.988585
        queue_depth value 3.013624
        render_time latency 4660000
        render_time latency-p90 8060000.000000001
        render_time latency-p95 13690000
        http_req_duration latency 2380000
        http_req_duration latency-p90 4190000.0000000005
        http_req_duration latency-p95 6940000
        http_req_duration {expected_response=true} latency 2330000
        http_req_duration {expected_response=true} latency-p90 4030000.0000000005
        http_req_duration {expected_response=true} latency-p95 6840000
        http_req_duration {method=GET, scenario=buy} latency 9230000
        http_req_duration {method=GET, scenario=buy} latency-p90 21570000
        http_req_duration {method=GET, scenario=buy} latency-p95 27300000
        http_req_failed error-rate 0.68
        http_reqs throughput 732.324264
        iteration_duration latency 2850000
        iteration_duration latency-p90 4740000
        iteration_duration latency-p95 7780000
        iterations throughput 732.324264
        data_received bandwidth 202000
        data_sent bandwidth 52000
        cache_hits {scenario=browse} share 100
        queue_depth {scenario=browse} value 3
        render_time {scenario=browse} latency 4660000
        render_time {scenario=browse} latency-p90 8060000.000000001
        render_time {scenario=browse} latency-p95 13690000
        http_req_duration {scenario=browse} latency 2330000
        http_req_duration {scenario=browse} latency-p90 4030000.0000000005
        http_req_duration {scenario=browse} latency-p95 6840000
        http_req_failed {scenario=browse} error-rate 0
        http_reqs {scenario=browse} throughput 727.335679
        iteration_duration {scenario=browse} latency 2720000
        iteration_duration {scenario=browse} latency-p90 4730000
        iteration_duration {scenario=browse} latency-p95 7740000
        iterations {scenario=browse} throughput 727.335679
        data_received {scenario=browse} bandwidth 199000
        data_sent {scenario=browse} bandwidth 52000
        cache_hits {scenario=buy} share 0
        orders {scenario=buy} rate 4.988585
        queue_depth {scenario=buy} value 5
        http_req_duration {scenario=buy} latency 9230000
        http_req_duration {scenario=buy} latency-p90 21570000
        http_req_duration {scenario=buy} latency-p95 27300000
        http_req_failed {scenario=buy} error-rate 100
        http_reqs {scenario=buy} throughput 4.988585
        iteration_duration {scenario=buy} latency 20760000
        iteration_duration {scenario=buy} latency-p90 53980000
        iteration_duration {scenario=buy} latency-p95 70150000
        iterations {scenario=buy} throughput 4.988585
        data_received {scenario=buy} bandwidth 2600
        data_sent {scenario=buy} bandwidth 389
        http_req_duration {group=::cart, scenario=buy} latency 9230000
        http_req_duration {group=::cart, scenario=buy} latency-p90 21570000
        http_req_duration {group=::cart, scenario=buy} latency-p95 27300000
        http_req_failed {group=::cart, scenario=buy} error-rate 100
        http_reqs {group=::cart, scenario=buy} throughput 4.988585
        ");
        let nested = "iterations...: 2 1/s\n  █ GROUP: a \n    http_reqs...: 2 1/s\n    ↳ GROUP: b \n      http_reqs...: 1 0.5/s\n  █ SCENARIO: c \n    http_reqs...: 3 4/s\n";
        insta::assert_snapshot!(read(LoadK6, nested), @"
        iterations throughput 1
        http_reqs {group=::a} throughput 1
        http_reqs {group=::a::b} throughput 0.5
        http_reqs {scenario=c} throughput 4
        ");
    }
}
