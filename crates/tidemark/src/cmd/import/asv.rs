//! Results of airspeed velocity: a folder with `benchmarks.json`, and one folder per machine with one file per commit and
//! environment.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use tidemark_adapters::{Entry, ParsedMetric};
use tidemark_api::Parameters;

use super::{Content, ImportedRun, document, entry, files, from_millis, measured, unreadable};
use crate::{
    failure::{Failure, Result},
    input::ToolOutput,
};

const BENCHMARKS: &str = "benchmarks.json";
const MACHINE: &str = "machine.json";
/// Default columns of a result.
const COLUMNS: [&str; 2] = ["result", "params"];

/// Whether the folder contains results of asv.
pub(super) fn is_folder(folder: &Path) -> bool {
    folder.join(BENCHMARKS).is_file() || folder.join(MACHINE).is_file()
}

/// Reads the folder of all machines, or of one machine.
pub(super) fn read(folder: &Path) -> Result<Vec<ImportedRun>> {
    let mut machines = Vec::new();
    if folder.join(MACHINE).is_file() {
        machines.push(folder.to_owned());
    } else {
        let unreadable =
            |error| Failure::new(format!("The folder {} cannot be read ({error}).", folder.display()));
        for machine in fs::read_dir(folder).map_err(unreadable)? {
            let machine = machine.map_err(unreadable)?.path();
            if machine.is_dir() {
                machines.push(machine);
            }
        }
        machines.sort();
    }
    let known = [folder, folder.parent().unwrap_or(folder)].map(|folder| folder.join(BENCHMARKS));
    let benchmarks = match known.iter().find(|file| file.is_file()) {
        Some(file) => document(&file.display().to_string(), &plain(&ToolOutput::from_file(file)?.text))?,
        None => Value::Null,
    };
    let mut all = Vec::new();
    for machine in machines {
        all.extend(read_machine(&machine, &benchmarks)?);
    }
    Ok(all)
}

fn read_machine(folder: &Path, benchmarks: &Value) -> Result<Vec<ImportedRun>> {
    let mut found = Vec::new();
    for file in files(folder, "json")? {
        if file.ends_with(MACHINE) {
            continue;
        }
        let output = ToolOutput::from_file(&file)?;
        let result = document(&output.name, &plain(&output.text))?;
        let entries = entries(&result, benchmarks);
        if entries.is_empty() {
            continue;
        }
        let date = result["date"].as_f64().ok_or_else(|| unreadable(&output.name, "it has no `date`"))?;
        let machine = result["params"]["machine"].as_str().or_else(|| folder.file_name()?.to_str());
        let imported = ImportedRun {
            hash: result["commit_hash"].as_str().and_then(|hash| hash.parse().ok()),
            testbed: machine.map(str::to_owned),
            time: from_millis(date),
            content: Content::Read(entries),
        };
        found.push((result["env_name"].as_str().unwrap_or_default().to_owned(), imported));
    }
    // Values of different environments are not comparable.
    let several = found.iter().any(|(environment, _)| *environment != found[0].0);
    if several {
        for (environment, imported) in &mut found {
            imported.testbed = imported.testbed.take().map(|machine| format!("{machine} {environment}"));
        }
    }
    Ok(found.into_iter().map(|(_, imported)| imported).collect())
}

/// Returns the benchmarks of a file.
fn entries(result: &Value, benchmarks: &Value) -> Vec<Entry> {
    let columns: Vec<&str> = match result["result_columns"].as_array() {
        Some(columns) => columns.iter().filter_map(Value::as_str).collect(),
        None => COLUMNS.into(),
    };
    let mut entries = Vec::new();
    for (name, found) in result["results"].as_object().into_iter().flatten() {
        // A list in the order of the columns, an object or a number, depending on the version of asv.
        let column = |wanted: &str| match found {
            Value::Array(row) => row.get(columns.iter().position(|column| *column == wanted)?),
            Value::Object(row) => row.get(wanted),
            bare => Some(bare).filter(|_| wanted == "result"),
        };
        let values: Vec<Option<f64>> = match column("result") {
            Some(Value::Array(values)) => values.iter().map(Value::as_f64).collect(),
            Some(value) => vec![value.as_f64()],
            None => continue,
        };
        let parameters = combinations(column("params"), &benchmarks[name]["param_names"]);
        let (measure, units, factor) = kind(name, benchmarks[name]["unit"].as_str());
        let end =
            |wanted, index: usize| column(wanted).and_then(|ends| Some(ends.get(index)?.as_f64()? * factor));
        for (index, value) in values.into_iter().enumerate() {
            let of_value = |value: f64| {
                let measured = measured(&measure, units.as_deref(), value * factor)?;
                let (lower_value, upper_value) = (end("stats_ci_99_a", index), end("stats_ci_99_b", index));
                let made = entry(name, ParsedMetric { lower_value, upper_value, ..measured })?;
                Some(Entry { parameters: parameters.get(index).cloned().flatten(), ..made })
            };
            entries.extend(value.and_then(of_value));
        }
    }
    entries
}

/// Returns the measure of a benchmark, the units of a custom measure, and the factor of its values.
fn kind(name: &str, unit: Option<&str>) -> (String, Option<String>, f64) {
    let short = name.rsplit('.').next().unwrap_or(name);
    let built_in = |measure: &str, factor| (measure.to_owned(), None, factor);
    match unit {
        _ if short.starts_with("peakmem_") => built_in("peak-memory", 1.0),
        _ if short.starts_with("mem_") => built_in("allocated", 1.0),
        Some("seconds") => built_in("latency", 1e9),
        None if short.starts_with("time_") || short.starts_with("timeraw_") => built_in("latency", 1e9),
        Some(unit) => (unit.to_owned(), Some(unit.to_owned()), 1.0),
        None => built_in("value", 1.0),
    }
}

/// Returns the parameters of each value: all combinations, with the last parameter changing fastest.
fn combinations(params: Option<&Value>, names: &Value) -> Vec<Option<Parameters>> {
    let lists = params.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_array);
    let mut all = vec![BTreeMap::new()];
    for (index, list) in lists.enumerate() {
        let name = names[index].as_str().map_or_else(|| format!("param{}", index + 1), str::to_owned);
        let mut longer = Vec::with_capacity(all.len() * list.len());
        for known in &all {
            for value in list {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let mut known = known.clone();
                known.insert(name.clone(), value.trim_matches(['\'', '"']).to_owned());
                longer.push(known);
            }
        }
        all = longer;
    }
    all.into_iter().map(|parameters| parameters.try_into().ok()).collect()
}

/// Replaces the number literals of Python that are not valid JSON.
fn plain(text: &str) -> String {
    let (mut plain, mut rest, mut is_text) = (String::with_capacity(text.len()), text, false);
    while let Some(character) = rest.chars().next() {
        let odd = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| rest.starts_with(word));
        if let Some(word) = odd.filter(|_| !is_text) {
            plain.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        let length = match character {
            '\\' => rest.char_indices().nth(2).map_or(rest.len(), |(length, _)| length),
            character => character.len_utf8(),
        };
        is_text ^= character == '"';
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_numbers_are_none() {
        let text = r#"{"NaN": [NaN, -Infinity, "a \" NaN", Infinity]}"#;
        assert_eq!(plain(text), r#"{"NaN": [null, null, "a \" NaN", null]}"#);
    }

    #[test]
    fn parameters_are_combined() {
        let params = serde_json::json!([["1", "2"], ["'a'", "'b'"]]);
        let shown: Vec<String> = combinations(Some(&params), &serde_json::json!(["n", "kind"]))
            .into_iter()
            .map(|parameters| serde_json::to_string(&parameters).unwrap())
            .collect();
        assert_eq!(shown[1], r#"{"kind":"b","n":"1"}"#);
        assert_eq!(shown[2], r#"{"kind":"a","n":"2"}"#);
        assert_eq!(combinations(None, &Value::Null), [None]);
    }
}
