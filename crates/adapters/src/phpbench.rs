//! Adapter for PHPBench: parses the document of `--dump-file`, the tables of the report `aggregate`, and the lines of a run.

use std::collections::BTreeMap;

use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, table,
    text::{self, Line, Unit, is_blank},
    variant,
    xml::{self, Element, Part},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Phpbench,
    title: "PHPBench",
    metrics: "latency of one revolution ± standard deviation, peak memory; from a table without a column `mean` the mode ± relative standard deviation; a table contains no namespaces; from the lines of a run the mode ± relative standard deviation",
    parameters: "the parameters of the set; `set` in printed output",
    averages: &[Average::Mean],
    formats: &[
        Format::new(
            Syntax::Xml,
            "phpbench run --dump-file=bench.xml",
            &["<phpbench", "<subject", "<variant"],
            parse_xml,
        ),
        Format::new(
            Syntax::Text,
            "phpbench run --report=aggregate",
            &["benchmark", "subject", "mem_peak", "rstdev"],
            parse_tables,
        ),
        Format::new(Syntax::Text, "phpbench run", &["PHPBench (", " - Mo", " (±"], parse_progress),
    ],
};

/// A variant of a subject; times are in microseconds.
struct Variant {
    position: Position,
    name: String,
    set: Option<String>,
    parameters: BTreeMap<String, String>,
    peak_memory: Option<f64>,
    /// Mean and standard deviation.
    times: Option<(f64, f64)>,
}

fn parse_xml(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut variants: Vec<Variant> = Vec::new();
    xml::read(input.text, &["phpbench"], |part, around| {
        let Part::Start(element) = part else { return Ok(()) };
        let parent = around.last().map_or("", |parent| parent.name.as_str());
        if element.name == "variant" {
            variants.push(Variant::new(element, around)?);
        } else if let Some(variant) = variants.last_mut() {
            match (parent, element.name.as_str()) {
                ("variant", "parameter-set") => variant.set = element.attribute("name").map(str::to_owned),
                // Nested parameters have no value.
                ("parameter-set", "parameter") => {
                    if let (Some(name), Some(value)) = (element.attribute("name"), element.attribute("value"))
                    {
                        variant.parameters.insert(name.to_owned(), value.to_owned());
                    }
                }
                ("variant", "iteration") if element.attribute("mem-peak").is_some() => {
                    let peak = element.require_number("mem-peak")?;
                    variant.peak_memory = Some(variant.peak_memory.map_or(peak, |known| known.max(peak)));
                }
                ("variant", "stats") => {
                    let times = (element.require_number("mean")?, element.require_number("stdev")?);
                    variant.times = Some(times);
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    let mut entries = Entries::default();
    let mut read: Vec<&Variant> = Vec::with_capacity(variants.len());
    for variant in &variants {
        let Some((mean, deviation)) = variant.times else {
            input.skip(&variant.name, "they failed");
            continue;
        };
        let nanoseconds = |microseconds| Unit::Microseconds.nanoseconds(microseconds);
        let mut metrics =
            vec![ParsedMetric::latency(nanoseconds(mean)).with_deviation(nanoseconds(deviation))];
        metrics.extend(variant.peak_memory.map(|peak| ParsedMetric::of("peak-memory", peak)));
        let position = || variant.position.clone();
        let parameters = variant::of_texts(position, variant.parameters.clone())?;
        entries.push(Entry { parameters, ..Entry::new(position, &variant.name, metrics)? });
        read.push(variant);
    }
    let properties: [variant::Property<'_>; 1] = [("set", &|index| read[index].set.as_deref())];
    variant::distinguish(|index| read[index].position.clone(), &mut entries, &properties)?;
    if entries.is_empty() {
        return Err(Failure::missing(Position::Line(1), "at least one variant that ran"));
    }
    Ok(entries)
}

impl Variant {
    fn new(element: &Element, around: &[Element]) -> Result<Self, Failure> {
        let attribute = |element: &str, name: &str| {
            around.iter().rev().find(|outer| outer.name == element).and_then(|outer| outer.attribute(name))
        };
        let names = attribute("benchmark", "class").zip(attribute("subject", "name"));
        let Some((class, subject)) = names else {
            let expected = "an element `variant` inside of a `subject` of a `benchmark`";
            return Err(Failure::missing(element.position(), expected));
        };
        Ok(Self {
            position: element.position(),
            name: format!("{}::{subject}", class.trim_start_matches('\\')),
            set: None,
            parameters: BTreeMap::new(),
            peak_memory: None,
            times: None,
        })
    }
}

fn parse_tables(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    let mut lines = Vec::new();
    let mut columns: Option<Columns> = None;
    for line in text::lines(input.text) {
        if table::is_rule(line.text) {
            continue;
        }
        let Some(cells) = table::bordered_cells(line.text) else {
            columns = None;
            continue;
        };
        match &columns {
            None => columns = Columns::new(&cells),
            Some(columns) => {
                entries.push(columns.entry(line, &cells)?);
                lines.push(line.number);
            }
        }
    }
    if entries.is_empty() {
        return Err(Failure::unrecognized(
            "a table with the columns `benchmark`, `subject`, `mem_peak`, `mode` and `rstdev`",
        ));
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    Ok(entries)
}

/// Indexes of columns.
struct Columns {
    count: usize,
    benchmark: usize,
    subject: usize,
    set: Option<usize>,
    memory: usize,
    time: usize,
    deviation: usize,
}

impl Columns {
    fn new(cells: &[&str]) -> Option<Self> {
        let find = |title: &str| cells.iter().position(|cell| *cell == title);
        Some(Self {
            count: cells.len(),
            benchmark: find("benchmark")?,
            subject: find("subject")?,
            set: find("set"),
            memory: find("mem_peak")?,
            time: find("mean").or(find("mode"))?,
            deviation: find("rstdev")?,
        })
    }

    fn entry(&self, line: Line<'_>, cells: &[&str]) -> Result<Entry, Failure> {
        if cells.len() != self.count {
            return Err(line.invalid("a row with a cell below each title"));
        }
        // A comparison with a baseline follows the value.
        let value = |index: usize| cells[index].split(is_blank).next().unwrap_or_default();
        let deviation = value(self.deviation).strip_prefix('±').and_then(|text| text.strip_suffix('%'));
        let times = time(value(self.time)).zip(deviation.and_then(text::decimal));
        let (time, deviation) = times.ok_or_else(|| line.invalid("a time such as `1.250μs` and `±0.50%`"))?;
        let memory =
            bytes(value(self.memory)).ok_or_else(|| line.invalid("a number of bytes such as `467.424kb`"))?;
        let metrics = vec![
            ParsedMetric::latency(time).with_deviation(time * deviation / 100.0),
            ParsedMetric::of("peak-memory", memory),
        ];
        let set = self.set.map(|set| cells[set]).filter(|set| !set.is_empty());
        let parameters = set.map(|set| ("set".to_owned(), set.to_owned())).into_iter().collect();
        let parameters = variant::of_texts(|| Position::Line(line.number), parameters)?;
        let name = format!("{}::{}", cells[self.benchmark], cells[self.subject]);
        Ok(Entry { parameters, ..line.entry(&name, metrics)? })
    }
}

/// Parses the lines of a run: the class of each benchmark, and below it a line per subject and parameter set.
fn parse_progress(input: &Input<'_>) -> Result<Entries, Failure> {
    let (mut entries, mut lines) = (Entries::default(), Vec::new());
    let mut class = None;
    for line in text::lines(input.text) {
        if let Some(name) = line.text.strip_prefix('\\').filter(|name| !name.contains(is_blank)) {
            class = Some(name);
        } else if let (Some(class), Some((title, times))) = (class, progress(line.text)) {
            let (subject, set) =
                title.split_once(" # ").map_or((title, None), |(subject, set)| (subject, Some(set)));
            let times = times
                .split_once(" (±")
                .and_then(|(mode, rest)| Some((time(mode)?, text::decimal(rest.split_once("%)")?.0)?)));
            let (mode, deviation) =
                times.ok_or_else(|| line.invalid("a mode such as `Mo1.250μs (±0.50%)`"))?;
            let latency = ParsedMetric::latency(mode).with_deviation(mode * deviation / 100.0);
            let set = set.map(|set| ("set".to_owned(), set.to_owned())).into_iter().collect();
            let parameters = variant::of_texts(|| Position::Line(line.number), set)?;
            entries.push(Entry { parameters, ..line.entry(&format!("{class}::{subject}"), vec![latency])? });
            lines.push(line.number);
        }
    }
    variant::distinguish(|index| Position::Line(lines[index]), &mut entries, &[])?;
    text::require_entries(
        entries,
        "lines such as `benchHash # md5....I4 - Mo0.957μs (±0.52%)` below their class",
    )
}

/// Splits a line into the subject, and the text after `Mo`: `benchHash # md5.........I4 - Mo0.957μs (±0.52%)`.
fn progress(line: &str) -> Option<(&str, &str)> {
    let (title, times) = line.strip_prefix("    ")?.split_once(" - Mo")?;
    // The number of the last iteration, after the dots.
    let (title, iteration) = title.rsplit_once("I")?;
    let title = title.trim_end_matches('.');
    let is_number = !iteration.is_empty() && iteration.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !title.is_empty()).then_some((title, times))
}

/// Parses a time. A comma groups digits only in front of a decimal point; alone, it could be a decimal comma.
fn time(text: &str) -> Option<f64> {
    let is_unclear = text.contains(',') && !text.contains('.');
    text::duration(text).filter(|_| !is_unclear)
}

/// Parses a number of bytes, whose units are lower-case.
fn bytes(text: &str) -> Option<f64> {
    let (_, unit) = text::quantity(text)?;
    let number = text.strip_suffix(unit)?;
    let unit = match unit {
        "b" => "B",
        "kb" => "kB",
        "mb" => "MB",
        "gb" => "GB",
        "kib" => "KiB",
        "mib" => "MiB",
        "gib" => "GiB",
        _ => return None,
    };
    text::bytes(&format!("{number}{unit}"))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Phpbench};

    use crate::{parse_with_skipped, tests::read};

    #[test]
    fn lines_of_a_run() {
        let text = include_str!("../fixtures/phpbench/progress.txt");
        insta::assert_snapshot!(read(Magic, text), @r#"
        Demo\HashBench::benchHash {set=md5} latency 957 [952.0236, 961.9764]
        Demo\HashBench::benchHash {set=sha256} latency 2500 [2475, 2525]
        Demo\HashBench::benchSort latency 1250000 [1225000, 1275000]
        "#);
        let errors = [
            text.replace("Mo0.957μs", "Mox"),
            text.replace("benchSort...............................I4", "benchHash # md5..I4"),
            text.replace(" - Mo", " - "),
        ];
        insta::assert_snapshot!(errors.map(|text| read(Phpbench, &text)).join("\n"), @r#"
        The adapter `phpbench` cannot read the output at line 7: expected a mode such as `Mo1.250μs (±0.50%)`, found `benchHash # md5.........................I4 - Mox (±0.52%)`.
        The adapter `phpbench` cannot read the output at line 9: expected a benchmark with a unique combination of name and parameters, found `Demo\HashBench::benchHash`.
        The adapter `phpbench` cannot read the output: expected lines such as `benchHash # md5....I4 - Mo0.957μs (±0.52%)` below their class.
        "#);
    }

    #[test]
    fn dumped_documents() {
        let text = include_str!("../fixtures/phpbench/dump.xml");
        insta::assert_snapshot!(read(Phpbench, text), @r"
        Demo\HashBench::benchHash {algorithm=md5, size=64} latency 958 [953, 963]
        Demo\HashBench::benchHash {algorithm=md5, size=64} peak-memory 467440
        Demo\HashBench::benchHash {algorithm=sha256, size=64} latency 2500 [2500, 2500]
        Demo\HashBench::benchHash {algorithm=sha256, size=64} peak-memory 467424
        ");
        assert_eq!(read(Magic, text), read(Phpbench, text));
        let (_, skipped) = parse_with_skipped(Phpbench, text, None).unwrap();
        assert_eq!(skipped.len(), 1);
        let errors = [
            "<phpbench>\n<variant/></phpbench>",
            "<phpbench><benchmark class=\"A\"><subject name=\"b\"><variant>\n<stats mean=\"x\"/></variant></subject></benchmark></phpbench>",
            "<phpbench><benchmark class=\"A\"><subject name=\"b\"><variant/></subject></benchmark></phpbench>",
            "<other/>",
        ]
        .map(|text| read(Phpbench, text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `phpbench` cannot read the output at line 2: expected an element `variant` inside of a `subject` of a `benchmark`.
        The adapter `phpbench` cannot read the output at line 2: expected a number as attribute `mean`, found `x`.
        The adapter `phpbench` cannot read the output at line 1: expected at least one variant that ran.
        The adapter `phpbench` cannot read the output: expected an XML document `<phpbench>`.
        ");
    }

    #[test]
    fn tables() {
        let text = include_str!("../fixtures/phpbench/aggregate.txt");
        insta::assert_snapshot!(read(Phpbench, text), @"
        HashBench::benchHash {set=md5} latency 957 [952.0236, 961.9764]
        HashBench::benchHash {set=md5} peak-memory 467424
        HashBench::benchHash {set=sha256} latency 2500 [2475, 2525]
        HashBench::benchHash {set=sha256} peak-memory 467424
        HashBench::benchSort latency 1250000 [1225000, 1275000]
        HashBench::benchSort peak-memory 1234000
        ");
        assert_eq!(read(Magic, text), read(Phpbench, text));
        let table = |row: &str| {
            read(Phpbench, &format!("| benchmark | subject | mem_peak | mode | rstdev |\n{row}\n"))
        };
        let errors = [
            table("| A | b | 1kb | 1,250μs | ±0.5% |"),
            table("| A | b | 1kb | 1.250 | ±0.5% |"),
            table("| A | b | 1x | 1.250μs | ±0.5% |"),
            table("| A | b | 1kb | 1.250μs |"),
            table(""),
        ];
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `phpbench` cannot read the output at line 2: expected a time such as `1.250μs` and `±0.50%`, found `| A | b | 1kb | 1,250μs | ±0.5% |`.
        The adapter `phpbench` cannot read the output at line 2: expected a time such as `1.250μs` and `±0.50%`, found `| A | b | 1kb | 1.250 | ±0.5% |`.
        The adapter `phpbench` cannot read the output at line 2: expected a number of bytes such as `467.424kb`, found `| A | b | 1x | 1.250μs | ±0.5% |`.
        The adapter `phpbench` cannot read the output at line 2: expected a row with a cell below each title, found `| A | b | 1kb | 1.250μs |`.
        The adapter `phpbench` cannot read the output: expected lines such as `benchHash # md5....I4 - Mo0.957μs (±0.52%)` below their class.
        ");
        insta::assert_snapshot!(table("| A | b | 1.5mb +1.00% | 1,250.5μs -5.00% | ±10.0% +2% |"), @"
        A::b latency 1250500 [1125450, 1375550]
        A::b peak-memory 1500000
        ");
    }
}
