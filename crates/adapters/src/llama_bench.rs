//! Adapter for llama-bench: its JSON, JSON Lines, CSV and Markdown. The model is the name of the benchmark, the test a parameter.

use std::{
    collections::{BTreeMap, HashSet},
    rc::Rc,
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use tidemark_api::{Adapter, Average};

use crate::{
    Entries, Entry, Failure, Format, Input, ParsedMetric, Position, Syntax, Tool, document, ndjson,
    records::Records,
    table,
    text::{self, Line},
    variant::{self, Property},
};

pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::LlamaBench,
    title: "llama-bench",
    metrics: "tokens per second ± standard deviation; the model is the name of the benchmark; the test (`pp512`, `tg128`) is a parameter, and each setting in which tests of a model differ",
    parameters: "the test, such as `pp512`, as `test`; each setting in which tests of a model differ",
    averages: &[Average::Mean],
    formats: &[
        Format::new(Syntax::Json, "llama-bench -o json", &[r#""model_type""#, r#""avg_ts""#], parse_json),
        Format::new(Syntax::Ndjson, "llama-bench -o jsonl", &[r#""model_type""#, r#""avg_ts""#], parse_lines),
        Format::new(
            Syntax::Csv,
            "llama-bench -o csv",
            &["model_type", "n_prompt", "n_gen", "avg_ts"],
            parse_csv,
        ),
        Format::new(Syntax::Text, "llama-bench", &["| model ", " test |", " t/s |"], parse_table),
    ],
};

/// Settings in JSON and CSV with their columns in the table, which are the names of the parameters.
const SETTINGS: [(&str, &str); 21] = [
    ("n_threads", "threads"),
    ("n_batch", "n_batch"),
    ("n_ubatch", "n_ubatch"),
    ("type_k", "type_k"),
    ("type_v", "type_v"),
    ("n_gpu_layers", "ngl"),
    ("split_mode", "sm"),
    ("main_gpu", "mg"),
    ("flash_attn", "fa"),
    ("use_mmap", "mmap"),
    ("load_mode", "lm"),
    ("no_kv_offload", "nkvo"),
    ("n_cpu_moe", "n_cpu_moe"),
    ("tensor_split", "ts"),
    ("devices", "dev"),
    ("embeddings", "embd"),
    ("cpu_mask", "cpu_mask"),
    ("cpu_strict", "cpu_strict"),
    ("poll", "poll"),
    ("backends", "backend"),
    ("model_filename", "file"),
];

/// A test of a model, which becomes an entry.
struct Row<'a> {
    model: &'a str,
    test: String,
    tokens: f64,
    deviation: Option<f64>,
    settings: Settings,
}

/// Values of the settings, in the order of [`SETTINGS`].
type Settings = Rc<[Option<Box<str>>]>;

/// Entries, and for each its place in the output and its settings. Rows with the same settings share them.
struct Rows {
    position: fn(usize) -> Position,
    entries: Entries,
    places: Vec<usize>,
    settings: Vec<Settings>,
    known: HashSet<Settings>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "their presence identifies the tool")]
struct Shape {
    model_type: IgnoredAny,
    avg_ts: IgnoredAny,
}

fn parse_json(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut rows = Rows::new(|index| Position::Path(format!("[{index}]")));
    document::read_rows::<Shape, Map<String, Value>>(input.text, |index, object| {
        rows.push(index, &json_row(&rows.position_of(index), &object)?)
    })?;
    document::require_entries(rows.finish()?, "[]")
}

fn parse_lines(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut rows = Rows::new(Position::Line);
    ndjson::read(input, |line, object: Map<String, Value>| {
        if object.contains_key("avg_ts") && object.contains_key("model_type") {
            rows.push(line.number, &json_row(&Position::Line(line.number), &object)?)?;
        }
        Ok(())
    })?;
    text::require_entries(rows.finish()?, "objects with the members `model_type` and `avg_ts`, one per line")
}

fn json_row<'a>(position: &Position, object: &'a Map<String, Value>) -> Result<Row<'a>, Failure> {
    let missing = |member: &str| Failure::missing(position.clone(), format!("a value in `{member}`"));
    let number = |member: &str| object.get(member).and_then(Value::as_f64);
    let count = |member: &str| object.get(member).and_then(Value::as_u64);
    let setting = |member: &str| {
        object.get(member).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned).into())
    };
    Ok(Row {
        model: object.get("model_type").and_then(Value::as_str).ok_or_else(|| missing("model_type"))?,
        test: test(
            count("n_prompt").ok_or_else(|| missing("n_prompt"))?,
            count("n_gen").ok_or_else(|| missing("n_gen"))?,
            count("n_depth").unwrap_or_default(),
        ),
        tokens: number("avg_ts").ok_or_else(|| missing("avg_ts"))?,
        deviation: number("stddev_ts"),
        settings: SETTINGS.iter().map(|(member, _)| setting(member)).collect(),
    })
}

fn parse_csv(input: &Input<'_>) -> Result<Entries, Failure> {
    let records =
        Records::read(input.text, ',', &["model_type", "n_prompt", "n_gen", "avg_ts", "stddev_ts"])?;
    let mut rows = Rows::new(Position::Line);
    for record in records.iter() {
        let count = |column: &str| {
            let count = record.text(column).and_then(|text| text.parse::<u64>().ok());
            count.ok_or_else(|| record.invalid(&format!("a whole number in the column `{column}`"), ""))
        };
        let depth = if record.text("n_depth").is_some() { count("n_depth")? } else { 0 };
        let row = Row {
            model: record.require_text("model_type")?,
            test: test(count("n_prompt")?, count("n_gen")?, depth),
            tokens: record.require_number("avg_ts")?,
            deviation: record.number("stddev_ts"),
            settings: SETTINGS.iter().map(|(column, _)| record.text(column).map(Box::from)).collect(),
        };
        rows.push(record.line(), &row)?;
    }
    text::require_entries(rows.finish()?, "at least one test below the header")
}

/// Parses the printed table, which has only the columns of settings that differ from their defaults.
fn parse_table(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut rows = Rows::new(Position::Line);
    let mut header: Option<Vec<&str>> = None;
    for line in text::lines(input.text) {
        let Some(cells) = table::bordered_cells(line.text) else {
            header = None;
            continue;
        };
        if cells.first() == Some(&"model") && cells.contains(&"test") && cells.last() == Some(&"t/s") {
            header = Some(cells);
        } else if let Some(header) = header.as_ref().filter(|_| !table::is_rule(line.text)) {
            rows.push(line.number, &table_row(line, header, &cells)?)?;
        }
    }
    text::require_entries(rows.finish()?, "a table with the columns `model`, `test` and `t/s`")
}

fn table_row<'a>(line: Line<'a>, header: &[&str], cells: &[&'a str]) -> Result<Row<'a>, Failure> {
    let expected = || line.invalid("a model, a test and its tokens per second");
    let cell = |column: &str| {
        header.iter().position(|known| *known == column).and_then(|index| cells.get(index)).copied()
    };
    let rate = cell("t/s").ok_or_else(expected)?;
    let (tokens, deviation) = rate.split_once(" ± ").ok_or_else(expected)?;
    Ok(Row {
        model: cell("model").ok_or_else(expected)?,
        test: cell("test").ok_or_else(expected)?.to_owned(),
        tokens: text::decimal(tokens).ok_or_else(expected)?,
        deviation: Some(text::decimal(deviation).ok_or_else(expected)?),
        settings: SETTINGS.iter().map(|(_, column)| cell(column).map(Box::from)).collect(),
    })
}

/// Returns the name of a test as in the table: `pp` processes a prompt, `tg` generates text, `d` is the depth of the context.
fn test(prompt: u64, generated: u64, depth: u64) -> String {
    let test = match (prompt, generated) {
        (prompt, 0) => format!("pp{prompt}"),
        (0, generated) => format!("tg{generated}"),
        (prompt, generated) => format!("pp{prompt}+tg{generated}"),
    };
    if depth > 0 { format!("{test} @ d{depth}") } else { test }
}

impl Rows {
    fn new(position: fn(usize) -> Position) -> Self {
        let (places, settings, known) = (Vec::new(), Vec::new(), HashSet::new());
        Self { position, entries: Entries::default(), places, settings, known }
    }

    fn position_of(&self, place: usize) -> Position {
        (self.position)(place)
    }

    fn push(&mut self, place: usize, row: &Row<'_>) -> Result<(), Failure> {
        let position = || self.position_of(place);
        let tokens = ParsedMetric::of("tokens-per-second", row.tokens);
        let tokens = match row.deviation {
            Some(deviation) => tokens.with_deviation(deviation),
            None => tokens,
        };
        let parameters = variant::of_texts(position, BTreeMap::from([("test", row.test.as_str())]))?;
        let entry = Entry::new(position, row.model, vec![tokens])?;
        self.entries.push(Entry { parameters, ..entry });
        self.places.push(place);
        if !self.known.contains(&row.settings) {
            self.known.insert(Rc::clone(&row.settings));
        }
        self.settings.extend(self.known.get(&row.settings).cloned());
        Ok(())
    }

    /// Returns the entries; those of the same model and test get the settings in which they differ as parameters.
    fn finish(self) -> Result<Entries, Failure> {
        let Self { position, mut entries, places, settings, .. } = self;
        let settings = &settings;
        let values: Vec<_> = (0..SETTINGS.len())
            .map(|setting| move |entry: usize| settings[entry][setting].as_deref())
            .collect();
        let properties: Vec<Property<'_>> =
            SETTINGS.iter().zip(&values).map(|((_, name), value)| (*name, value as _)).collect();
        variant::distinguish(|entry| position(places[entry]), &mut entries, &properties)?;
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{LlamaBench, Magic};

    use crate::tests::read;

    const JSON: &str = include_str!("../fixtures/llama_bench/plain.json");
    const TABLE: &str = include_str!("../fixtures/llama_bench/plain.md");

    #[test]
    fn real_runs() {
        insta::assert_snapshot!(read(LlamaBench, JSON), @"
        llama ?B all F32 {test=pp16} tokens-per-second 33504.715954 [27904.772342, 39104.659566]
        llama ?B all F32 {test=tg8} tokens-per-second 13614.064266 [2591.1804519999987, 24636.948080000002]
        llama ?B all F32 {test=pp16+tg8} tokens-per-second 23238.488134 [21733.49905, 24743.477218]
        ");
        let lines = include_str!("../fixtures/llama_bench/plain.jsonl");
        insta::assert_snapshot!(read(LlamaBench, lines), @"
        llama ?B all F32 {test=pp16} tokens-per-second 23734.145688 [5952.131891000001, 41516.159485]
        llama ?B all F32 {test=tg8} tokens-per-second 13106.765336 [3265.916107000001, 22947.614565]
        llama ?B all F32 {test=pp16+tg8} tokens-per-second 16753.035621 [4934.927191999999, 28571.14405]
        ");
        let csv = include_str!("../fixtures/llama_bench/plain.csv");
        insta::assert_snapshot!(read(LlamaBench, csv), @"
        llama ?B all F32 {test=pp16} tokens-per-second 23488.629359 [5895.681526, 41081.577192]
        llama ?B all F32 {test=tg8} tokens-per-second 12722.449081 [2509.329957, 22935.568205000003]
        llama ?B all F32 {test=pp16+tg8} tokens-per-second 17351.479974 [6383.248205000002, 28319.711743]
        ");
        insta::assert_snapshot!(read(LlamaBench, TABLE), @"
        llama ?B all F32 {test=pp16} tokens-per-second 34271.92 [29919.01, 38624.83]
        llama ?B all F32 {test=tg8} tokens-per-second 14177.22 [3413.66, 24940.78]
        llama ?B all F32 {test=pp16+tg8} tokens-per-second 15407.58 [4150.200000000001, 26664.96]
        ");
        insta::assert_snapshot!(read(Magic, include_str!("../fixtures/llama_bench/depth.md")), @"
        llama ?B all F32 {test=pp16, threads=1} tokens-per-second 34880.96 [32532.239999999998, 37229.68]
        llama ?B all F32 {test=tg8, threads=1} tokens-per-second 19194.82 [17999.38, 20390.26]
        llama ?B all F32 {test=pp16 @ d32, threads=1} tokens-per-second 21368.56 [19924.11, 22813.010000000002]
        llama ?B all F32 {test=tg8 @ d32, threads=1} tokens-per-second 14240.46 [13865.66, 14615.259999999998]
        llama ?B all F32 {test=pp16, threads=2} tokens-per-second 49903.06 [39055.45, 60750.67]
        llama ?B all F32 {test=tg8, threads=2} tokens-per-second 16266.53 [15986.130000000001, 16546.93]
        llama ?B all F32 {test=pp16 @ d32, threads=2} tokens-per-second 31506.31 [26463.25, 36549.37]
        llama ?B all F32 {test=tg8 @ d32, threads=2} tokens-per-second 10151.62 [1871.1600000000017, 18432.08]
        ");
        for text in [JSON, lines, csv, TABLE] {
            assert_eq!(read(Magic, text), read(LlamaBench, text));
        }
        let depth = JSON.replace(r#""n_depth": 0"#, r#""n_depth": 512"#);
        assert!(
            read(LlamaBench, &depth).starts_with("llama ?B all F32 {test=pp16 @ d512} tokens-per-second ")
        );
    }

    #[test]
    fn errors_have_the_position() {
        let csv = include_str!("../fixtures/llama_bench/plain.csv");
        let errors = [
            JSON.replace("\"n_gen\": 0", "\"n_gen\": -1"),
            JSON.replace("33504.715954,", "\"fast\","),
            csv.replace("\"23488.629359\"", "fast"),
            csv.replace("\"16\"", "\"x\""),
            TABLE.replace("34271.92 ±", "fast ±"),
            TABLE.replace(" tg8 |", "pp16 |"),
            "[]".to_owned(),
        ]
        .map(|text| read(LlamaBench, &text));
        insta::assert_snapshot!(errors.join("\n"), @"
        The adapter `llama_bench` cannot read the output at `[0]`: expected a value in `n_gen`.
        The adapter `llama_bench` cannot read the output at `[0]`: expected a value in `avg_ts`.
        The adapter `llama_bench` cannot read the output at line 2: expected a number in the column `avg_ts`, found `fast`.
        The adapter `llama_bench` cannot read the output at line 2: expected a whole number in the column `n_prompt`.
        The adapter `llama_bench` cannot read the output at line 3: expected a model, a test and its tokens per second, found `| llama ?B all F32               |   0.46 MiB |     0.12 M |…`.
        The adapter `llama_bench` cannot read the output at line 4: expected a benchmark with a unique combination of name and parameters, found `llama ?B all F32`.
        The adapter `llama_bench` cannot read the output at `[]`: expected at least one benchmark.
        ");
    }
}
