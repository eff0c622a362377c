//! Formats that a project describes in its `tidemark.toml`: a regular expression, columns of a CSV file, or values of a JSON
//! document.

use std::collections::BTreeMap;

use regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tidemark_api::{Adapter, MeasureDirection, ResourceName, excerpt, measure, measure::BuiltIn};

use crate::{
    Entry, Failure, ParseError, ParsedMetric, Position, Results,
    records::Records,
    text::{self, Unit},
    variant,
};

/// Maximum memory of a compiled regular expression, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// Name of the group or column of the benchmark name, unless the description names another.
const NAME: &str = "name";

/// Description of a format, as in `tidemark.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Text: regular expression with named groups, applied to each line.
    pub pattern: Option<String>,
    /// CSV: whether the output has comma-separated values with a header.
    #[serde(default)]
    pub csv: bool,
    /// CSV: character between two values [default: a comma].
    pub delimiter: Option<char>,
    /// Decimal separator of the numbers, a point or a comma [default: a point, unless a comma could be either].
    pub decimal: Option<char>,
    /// JSON: pointer to the array or object of results; empty for the whole document.
    pub json: Option<String>,
    /// Group, column or pointer of the benchmark name [default: `name`]; for an object of results, its keys are the names.
    pub name: Option<String>,
    /// Measures by name or slug.
    pub measures: BTreeMap<ResourceName, MeasureDescription>,
    /// Parameters of the variant: group, column or pointer by parameter name.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// Description of a measure in a format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureDescription {
    /// Group, column or pointer of the value.
    pub value: String,
    /// Group, column or pointer of the lower end of the range.
    pub lower: Option<String>,
    /// Group, column or pointer of the upper end of the range.
    pub upper: Option<String>,
    /// Unit of the numbers. Numbers of built-in measures are converted to the unit of the measure.
    pub unit: Option<ResourceName>,
    /// Whether lower or higher numbers are better [default: the direction of the measure in the project].
    #[serde(default, deserialize_with = "direction")]
    pub direction: Option<MeasureDirection>,
}

/// A format that a project describes.
#[derive(Debug)]
pub struct CustomFormat {
    /// Name of the adapter.
    name: String,
    source: Source,
    /// Group, column or pointer of the benchmark name.
    benchmark: String,
    measures: Vec<CustomMeasure>,
    parameters: BTreeMap<String, String>,
    /// Decimal separator, if the description states it.
    decimal: Option<char>,
}

#[derive(Clone, Debug)]
enum Source {
    Text(Regex),
    Csv { delimiter: char },
    Json { rows: String },
}

#[derive(Clone, Debug)]
struct CustomMeasure {
    measure: ResourceName,
    units: Option<ResourceName>,
    direction: Option<MeasureDirection>,
    /// Factor from the unit of the output to the unit of the measure.
    factor: f64,
    value: String,
    lower: Option<String>,
    upper: Option<String>,
}

/// Where a description matched, for people who write one.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Position in the output.
    pub position: Position,
    /// Matched result.
    pub entry: Entry,
}

impl CustomFormat {
    /// Checks and compiles a description. An error is the end of a sentence about the description.
    pub fn new(adapter: &str, description: &Description) -> Result<Self, String> {
        let Description { pattern, csv, delimiter, decimal, json, name, measures, parameters } = description;
        let source = match (pattern, csv, json) {
            (Some(pattern), false, None) => Source::Text(compile(pattern)?),
            (None, true, None) => Source::Csv { delimiter: delimiter.unwrap_or(',') },
            (None, false, Some(rows)) => Source::Json { rows: pointer(rows)? },
            _ => return Err("it needs exactly one of `pattern`, `csv = true` and `json`".to_owned()),
        };
        if delimiter.is_some_and(|delimiter| !delimiter.is_ascii() || delimiter == '"') {
            return Err("`delimiter` must be an ASCII character other than a quotation mark".to_owned());
        }
        if delimiter.is_some() && !csv {
            return Err("`delimiter` needs `csv = true`".to_owned());
        }
        if decimal.is_some_and(|decimal| !matches!(decimal, '.' | ',')) {
            return Err("`decimal` must be \".\" or \",\"".to_owned());
        }
        if measures.is_empty() {
            return Err(
                "it has no measure: add `measures.latency = { value = \"…\", unit = \"ms\" }`".to_owned()
            );
        }
        let format = Self {
            name: adapter.to_owned(),
            benchmark: name.clone().unwrap_or_else(|| match source {
                Source::Json { .. } => format!("/{NAME}"),
                _ => NAME.to_owned(),
            }),
            source,
            measures: measures
                .iter()
                .map(|(measure, description)| CustomMeasure::new(measure, description))
                .collect::<Result<_, _>>()?,
            parameters: parameters.clone(),
            decimal: *decimal,
        };
        format.check_places()?;
        Ok(format)
    }

    /// Returns the name of the adapter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that the groups and pointers of the description exist or are valid.
    fn check_places(&self) -> Result<(), String> {
        let ranges = |measure: &'_ CustomMeasure| {
            [Some(measure.value.clone()), measure.lower.clone(), measure.upper.clone()]
        };
        let measures = self.measures.iter().flat_map(ranges).flatten();
        for place in measures.chain(self.parameters.values().cloned()).chain([self.benchmark.clone()]) {
            match &self.source {
                Source::Text(pattern) if !pattern.capture_names().flatten().any(|group| group == place) => {
                    return Err(format!("its `pattern` has no group `{place}`: write `(?<{place}>…)`"));
                }
                Source::Json { .. } => drop(pointer(&place)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Parses an output. `None` if no part of it matches the description.
    pub fn parse(&self, text: &str) -> Result<Option<Results>, ParseError> {
        let matches = self.matches(text)?;
        if matches.is_empty() {
            return Ok(None);
        }
        let entries = matches.into_iter().map(|one| one.entry).collect();
        Results::collect(Adapter::Json, entries).map(Some).map_err(|failure| failure.into_error(&self.name))
    }

    /// Returns all matches of the description with their positions, in the order of the output.
    pub fn matches(&self, text: &str) -> Result<Vec<Match>, ParseError> {
        let text = text::without_colors(text.strip_prefix('\u{feff}').unwrap_or(text));
        let matches = match &self.source {
            Source::Text(pattern) => self.text(&text, pattern),
            Source::Csv { delimiter } => self.csv(&text, *delimiter),
            Source::Json { rows } => self.json(&text, rows),
        };
        match matches {
            Err(Failure::Unrecognized(_)) => Ok(Vec::new()),
            matches => matches.map_err(|failure| failure.into_error(&self.name)),
        }
    }

    fn text(&self, text: &str, pattern: &Regex) -> Result<Vec<Match>, Failure> {
        let mut matches = Vec::new();
        for line in text::lines(text) {
            if let Some(captures) = pattern.captures(line.text) {
                let position = Position::Line(line.number);
                let get = |group: &str| group_text(&captures, group);
                matches.extend(self.entry(position, get, get(&self.benchmark))?);
            }
        }
        Ok(matches)
    }

    fn csv(&self, text: &str, delimiter: char) -> Result<Vec<Match>, Failure> {
        let required: Vec<&str> = [self.benchmark.as_str()]
            .into_iter()
            .chain(self.measures.iter().map(|one| one.value.as_str()))
            .collect();
        let records = Records::read(text, delimiter, &required)?;
        let mut matches = Vec::new();
        for record in records.iter() {
            let get = |column: &str| record.text(column).map(str::to_owned);
            matches.extend(self.entry(record.position(), get, get(&self.benchmark))?);
        }
        Ok(matches)
    }

    fn json(&self, text: &str, rows: &str) -> Result<Vec<Match>, Failure> {
        let unrecognized = || Failure::unrecognized("a JSON document of the described format");
        let document: Value = serde_json::from_str(text).map_err(|_| unrecognized())?;
        let mut matches = Vec::new();
        let mut push = |path: String, row: &Value, name: Option<String>| {
            let get = |pointer: &str| row.pointer(pointer).and_then(scalar);
            let name = get(&self.benchmark).or(name);
            matches.extend(self.entry(Position::Path(path), get, name)?);
            Ok::<_, Failure>(())
        };
        match document.pointer(rows).ok_or_else(unrecognized)? {
            Value::Array(results) => {
                for (index, row) in results.iter().enumerate() {
                    push(format!("{rows}/{index}"), row, None)?;
                }
            }
            Value::Object(results) => {
                for (key, row) in results {
                    push(excerpt::of_path(&format!("{rows}/{key}")), row, Some(key.clone()))?;
                }
            }
            _ => return Err(unrecognized()),
        }
        Ok(matches)
    }

    /// Creates the match at a position; `None` if it has no name or no value.
    fn entry(
        &self,
        position: Position,
        get: impl Fn(&str) -> Option<String>,
        name: Option<String>,
    ) -> Result<Option<Match>, Failure> {
        let Some(name) = name else { return Ok(None) };
        let mut metrics = Vec::new();
        for measure in &self.measures {
            let number = |place: &String| -> Result<Option<f64>, Failure> {
                let Some(found) = get(place) else { return Ok(None) };
                let expected = || {
                    let remedy = if self.decimal.is_none() && found.contains(',') {
                        "; set `decimal = \",\"` or `decimal = \".\"`, because its comma is ambiguous"
                    } else {
                        ""
                    };
                    format!("a number for `{}`{remedy}", measure.measure)
                };
                number_of(&found, self.decimal)
                    .map(|number| Some(number * measure.factor))
                    .ok_or_else(|| Failure::invalid(position.clone(), expected(), &found))
            };
            let Some(value) = number(&measure.value)? else { continue };
            metrics.push(ParsedMetric {
                measure: measure.measure.clone(),
                units: measure.units.clone(),
                direction: measure.direction,
                value,
                lower_value: measure.lower.as_ref().map(&number).transpose()?.flatten(),
                upper_value: measure.upper.as_ref().map(&number).transpose()?.flatten(),
            });
        }
        if metrics.is_empty() {
            return Ok(None);
        }
        let values = self.parameters.iter().filter_map(|(name, place)| Some((name.clone(), get(place)?)));
        let parameters = variant::of_texts(|| position.clone(), values.collect())?;
        let entry = Entry { parameters, ..Entry::new(|| position.clone(), &name, metrics)? };
        Ok(Some(Match { position, entry }))
    }
}

impl CustomMeasure {
    fn new(measure: &ResourceName, description: &MeasureDescription) -> Result<Self, String> {
        let MeasureDescription { value, lower, upper, unit, direction } = description;
        let built_in = measure::built_in(measure.as_str());
        let factor = match (built_in, unit) {
            (Some(built_in), Some(unit)) => factor(built_in, unit.as_str()).ok_or_else(|| {
                format!("`{unit}` is not a unit of `{measure}`, whose unit is {}", built_in.units)
            })?,
            _ => 1.0,
        };
        let known = MeasureDirection::resolve(measure.as_str(), None);
        if let Some((known, _)) = known.zip(*direction).filter(|(known, direction)| known != direction) {
            return Err(format!("`{measure}` is a built-in measure, of which {}", known.phrase()));
        }
        Ok(Self {
            measure: measure.clone(),
            direction: *direction,
            units: if built_in.is_some() { None } else { unit.clone() },
            factor,
            value: value.clone(),
            lower: lower.clone(),
            upper: upper.clone(),
        })
    }
}

/// Deserializes a direction: `lower` or `higher`, or its name in the API.
fn direction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MeasureDirection>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Better {
        #[serde(alias = "lower_is_better")]
        Lower,
        #[serde(alias = "higher_is_better")]
        Higher,
    }
    Ok(Some(match Better::deserialize(deserializer)? {
        Better::Lower => MeasureDirection::LowerIsBetter,
        Better::Higher => MeasureDirection::HigherIsBetter,
    }))
}

/// Returns the factor from a unit to the unit of a built-in measure.
fn factor(measure: &BuiltIn, unit: &str) -> Option<f64> {
    let time = |unit: &str| text::duration(&format!("1{unit}"));
    let bytes = |unit: &str| text::bytes(&format!("1{unit}"));
    match measure.units {
        "nanoseconds (ns)" => time(unit),
        "seconds (s)" => Some(time(unit)? / Unit::Seconds.nanoseconds(1.0)),
        "bytes (B)" => bytes(unit),
        "bytes / second (B/s)" => bytes(unit.strip_suffix("/s")?),
        "percentage (%)" if unit == "ratio" => Some(100.0),
        "percentage (%)" => (unit == "%").then_some(1.0),
        units => match unit.split_once('/') {
            Some((_, per)) if units.contains("/ second") => Some(Unit::Seconds.nanoseconds(1.0) / time(per)?),
            _ => units
                .split(|character: char| !character.is_alphanumeric())
                .any(|word| word == unit)
                .then_some(1.0),
        },
    }
}

/// Parses a number. Without a declared decimal separator, a comma must be followed by another comma or a point, because one comma alone
/// can be either separator.
fn number_of(text: &str, decimal: Option<char>) -> Option<f64> {
    let text = match decimal {
        Some(',') => {
            let swapped = text.chars().map(|character| match character {
                ',' => '.',
                '.' => ',',
                other => other,
            });
            return text::decimal(&text::without_separators(&swapped.collect::<String>())?);
        }
        Some(_) => text,
        None => Some(text).filter(|text| text.contains('.') || text.matches(',').count() != 1)?,
    };
    text::decimal(&text::without_separators(text)?)
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("its `pattern` is not a valid regular expression ({last})")
    })
}

/// Checks a JSON pointer.
fn pointer(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a JSON pointer: it must start with a slash, such as `/results`"))
}

fn group_text(captures: &Captures<'_>, group: &str) -> Option<String> {
    captures.name(group).map(|found| found.as_str().trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns a text, number or Boolean as text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(json: &str) -> Result<CustomFormat, String> {
        let description: Description = serde_json::from_str(json).unwrap();
        CustomFormat::new("mine", &description)
    }

    fn read(json: &str, text: &str) -> String {
        match describe(json).unwrap().parse(text) {
            Ok(Some(results)) => results.to_string(),
            Ok(None) => "no match".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_pattern_reads_lines() {
        let format = r#"{"pattern": "^(?<name>\\S+) n=(?<n>\\d+) took (?<t>[\\d.,]+) ms(?: \\((?<low>[\\d.]+)\\))?, (?<miss>\\d+) misses",
            "parameters": {"n": "n"},
            "measures": {"latency": {"value": "t", "lower": "low", "unit": "ms"}, "Lookups": {"value": "miss", "unit": "misses", "direction": "lower"}}}"#;
        let text = "start\nsort n=4 took 1,000.5 ms (2), 7 misses\nparse n=1 took 3 ms, 0 misses\n";
        insta::assert_snapshot!(read(format, text), @"
        sort {n=4} Lookups 7
        sort {n=4} latency 1000500000 [2000000, -]
        parse {n=1} Lookups 0
        parse {n=1} latency 3000000
        ");
        assert_eq!(read(format, "nothing"), "no match");
        let positions: Vec<_> =
            describe(format).unwrap().matches(text).unwrap().into_iter().map(|one| one.position).collect();
        assert_eq!(positions, [Position::Line(2), Position::Line(3)]);
        let results = describe(format).unwrap().parse(text).unwrap().unwrap();
        let directions: Vec<_> =
            results.entries.iter().next().unwrap().metrics().map(|metric| metric.direction).collect();
        assert_eq!(directions, [Some(MeasureDirection::LowerIsBetter), None]);
    }

    #[test]
    fn columns_and_pointers_are_read() {
        let csv = r#"{"csv": true, "delimiter": ";", "name": "case", "measures": {"bandwidth": {"value": "rate", "unit": "MB/s"}}}"#;
        insta::assert_snapshot!(read(csv, "case;rate\na;2.5\nb;\n"), @"a bandwidth 2500000");
        let json = r#"{"json": "/results", "name": "/case", "measures": {"latency": {"value": "/time/mean", "unit": "s"}}}"#;
        insta::assert_snapshot!(read(json, r#"{"results": [{"case": "a", "time": {"mean": 0.5}}, {"case": "b"}]}"#), @"a latency 500000000");
        insta::assert_snapshot!(read(json, r#"{"results": {"k": {"time": {"mean": "x"}}}}"#), @"The adapter `mine` cannot read the output at `/results/k`: expected a number for `latency`, found `x`.");
        assert_eq!(read(json, "{}"), "no match");
    }

    #[test]
    fn a_decimal_comma_is_not_a_thousands_separator() {
        let format = |decimal: &str| {
            let text = r#"{"csv": true, "delimiter": ";", "name": "case", DECIMAL "measures": {"latency": {"value": "mean", "unit": "ms"}}}"#;
            text.replace("DECIMAL", decimal)
        };
        let row = |decimal: &str, number: &str| read(&format(decimal), &format!("case;mean\na;{number}"));
        for ambiguous in ["1,5", "1,234", "1234,567", "1.234,5"] {
            assert!(
                row("", ambiguous).contains("expected a number for `latency`; set `decimal = "),
                "{ambiguous}"
            );
        }
        insta::assert_snapshot!(row("", "1,5"), @r#"The adapter `mine` cannot read the output at line 2: expected a number for `latency`; set `decimal = ","` or `decimal = "."`, because its comma is ambiguous, found `1,5`."#);
        assert_eq!(row("", "1,234.5"), "a latency 1234500000\n");
        assert_eq!(row("", "1,234,567"), "a latency 1234567000000\n");
        let (comma, point) = (r#""decimal": ",","#, r#""decimal": ".","#);
        assert_eq!(row(comma, "1,5"), "a latency 1500000\n");
        assert_eq!(row(comma, "1.234,5"), "a latency 1234500000\n");
        assert_eq!(row(point, "1,234"), "a latency 1234000000\n");
        insta::assert_snapshot!(row(point, "1,5"), @"The adapter `mine` cannot read the output at line 2: expected a number for `latency`, found `1,5`.");
        assert_eq!(describe(&format(r#""decimal": ";","#)).unwrap_err(), "`decimal` must be \".\" or \",\"");
    }

    #[test]
    fn an_invalid_description_states_the_reason() {
        let reasons = [
            r#"{"measures": {}}"#,
            r#"{"csv": true, "measures": {}}"#,
            r#"{"pattern": "(", "measures": {"latency": {"value": "t"}}}"#,
            r#"{"pattern": "(?<name>a)", "measures": {"latency": {"value": "t"}}}"#,
            r#"{"csv": true, "measures": {"latency": {"value": "t", "unit": "MB"}}}"#,
            r#"{"csv": true, "measures": {"latency": {"value": "t", "direction": "higher_is_better"}}}"#,
            r#"{"json": "results", "measures": {"latency": {"value": "/t"}}}"#,
            r#"{"pattern": "(?<name>a)", "delimiter": ";", "measures": {"latency": {"value": "name"}}}"#,
        ]
        .map(|json| describe(json).unwrap_err());
        insta::assert_snapshot!(reasons.join("\n"), @r#"
        it needs exactly one of `pattern`, `csv = true` and `json`
        it has no measure: add `measures.latency = { value = "…", unit = "ms" }`
        its `pattern` is not a valid regular expression (unclosed group)
        its `pattern` has no group `t`: write `(?<t>…)`
        `MB` is not a unit of `latency`, whose unit is nanoseconds (ns)
        `latency` is a built-in measure, of which lower is better
        `results` is not a JSON pointer: it must start with a slash, such as `/results`
        `delimiter` needs `csv = true`
        "#);
    }
}
