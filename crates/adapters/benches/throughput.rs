//! Speed and peak memory of every adapter, with its fixtures enlarged to several megabytes: `cargo xtask bench adapters`.
//!
//! Each fixture is parsed in a new process, so that its peak memory is that of one parse.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use serde_json::Value;
use tidemark_adapters::parse;
use tidemark_api::Adapter;

/// Approximate size of an enlarged fixture in bytes.
const SIZE: usize = 8_000_000;

/// Number of parses per case. The fastest one counts.
const ROUNDS: usize = 7;

/// Minimum speed in megabytes per second of CPU time.
const MIN_SPEED: f64 = 25.0;

/// Maximum peak memory during a parse, without the input but with the results, divided by the size of the input.
const MAX_MEMORY: f64 = 3.0;

/// Number of copies with which a way of enlarging is tried.
const TRIAL: usize = 3;

/// A fixture as a function of the number of copies.
type Grow<'a> = Box<dyn Fn(usize) -> String + 'a>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [command, file, adapter] if command == "parse" => measure(Path::new(file), adapter),
        // `cargo test` also runs the program, but without this flag.
        arguments if !arguments.iter().any(|argument| argument == "--bench") => Ok(true),
        arguments => {
            measure_all(arguments.iter().find(|argument| !argument.starts_with('-')).map(String::as_str))
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("throughput: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all fixtures whose path contains a word, and prints a row per fixture. Returns whether all meet the limits.
fn measure_all(word: Option<&str>) -> Result<bool, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let file = env::temp_dir().join(format!("tidemark-throughput-{}", std::process::id()));
    let (mut count, mut failed) = (0, 0);
    println!(
        "| fixture | benchmarks | enlarged by | MB/s | memory ÷ input | `magic` MB/s | memory ÷ input |"
    );
    println!("|---|---:|---|---:|---:|---:|---:|");
    for path in fixtures(&root)? {
        let name = path.strip_prefix(&root)?.display().to_string();
        let text = fs::read_to_string(&path)?;
        let folder = name.split(std::path::MAIN_SEPARATOR).next().unwrap_or_default();
        let adapter = Adapter::ALL.iter().copied().find(|adapter| adapter.to_string() == folder);
        let adapter = adapter.ok_or_else(|| format!("{name}: the folder is not an adapter"))?;
        // A fixture of an error has no results.
        let Ok(results) = parse(adapter, &text, None) else { continue };
        if word.is_some_and(|word| !name.contains(word)) {
            continue;
        }
        let labels: Vec<_> = results.entries.iter().map(|entry| entry.label.as_str().to_owned()).collect();
        let (large, how) = enlarge(adapter, &text, &labels);
        fs::write(&file, &large)?;
        let figures = [folder, "magic"].map(|adapter| run(&file, adapter));
        let [named, detected] = figures;
        let (named, detected) = (named?, detected?);
        let row = |figures: &Figures| {
            let mark = if figures.is_within_limits() { "" } else { " **!**" };
            format!("{:.0} | {:.2}{mark}", figures.speed, figures.memory)
        };
        println!("| {name} | {} | {how} | {} | {} |", named.benchmarks, row(&named), row(&detected));
        count += 1;
        failed += usize::from(!named.is_within_limits() || !detected.is_within_limits());
    }
    fs::remove_file(&file)?;
    println!("\n{failed} of {count} fixtures exceed a limit.");
    Ok(failed == 0)
}

/// Returns the fixtures, sorted.
fn fixtures(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for folder in fs::read_dir(root)? {
        let folder = folder?.path();
        if folder.is_dir() {
            for file in fs::read_dir(folder)? {
                files.push(file?.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Speed and memory of a parse.
struct Figures {
    benchmarks: usize,
    speed: f64,
    memory: f64,
}

impl Figures {
    fn is_within_limits(&self) -> bool {
        self.benchmarks > 0 && self.speed >= MIN_SPEED && self.memory <= MAX_MEMORY
    }
}

/// Parses a file in a new process.
fn run(file: &Path, adapter: &str) -> Result<Figures, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?).arg("parse").arg(file).arg(adapter).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [benchmarks, speed, memory] => Ok(Figures { benchmarks: benchmarks as usize, speed, memory }),
        _ => Err(format!("{adapter}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Parses a file and prints the number of benchmarks, the speed and the peak memory.
fn measure(file: &Path, adapter: &str) -> Result<bool, Box<dyn Error>> {
    let adapter: Adapter = serde_json::from_value(Value::from(adapter))?;
    let text = fs::read_to_string(file)?;
    // Tables that are built once per process are not part of a parse.
    drop(parse(adapter, "", None));
    let before = memory("VmRSS:")?;
    let (mut fastest, mut benchmarks, mut peak) = (f64::INFINITY, 0, 0.0);
    for round in 0..ROUNDS {
        let start = cpu_seconds()?;
        let parsed = parse(adapter, &text, None);
        fastest = fastest.min(cpu_seconds()? - start);
        match parsed {
            Ok(results) => benchmarks = results.entries.len(),
            Err(error) => eprintln!("{error}"),
        }
        if round == 0 {
            peak = memory("VmHWM:")? - before;
        }
    }
    let size = text.len() as f64;
    println!("{benchmarks} {} {}", size / 1e6 / fastest, peak / size);
    Ok(true)
}

/// Returns the CPU time of this thread. The time of day would include other processes.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

/// Returns a number of bytes from the status of this process.
fn memory(name: &str) -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024.0)
}

/// Enlarges an output in the way that results in the most benchmarks, and returns it with the name of the way.
fn enlarge(adapter: Adapter, text: &str, labels: &[String]) -> (String, &'static str) {
    let names = Names::of(text, labels);
    let mut ways: Vec<(&'static str, Grow<'_>)> = Vec::new();
    // Python writes numbers that JSON does not allow.
    let document: serde_json::Result<Value> =
        serde_json::from_str(text).or_else(|_| serde_json::from_str(&text.replace("NaN", "null")));
    if let Ok(document) = document {
        let mut paths = Vec::new();
        containers(&document, String::new(), &mut paths);
        paths.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        for (_, path) in paths.into_iter().take(40) {
            for renamed in [true, false] {
                let (document, path, names) = (document.clone(), path.clone(), names.clone());
                let grow = move |copies| grow_document(&document, &path, copies, renamed.then_some(&names));
                ways.push((if renamed { "elements" } else { "samples" }, Box::new(grow)));
            }
        }
    } else {
        for width in [Width::Longer, Width::Same] {
            let names = &names;
            let blocks = move |copies| (0..copies).map(|copy| names.renamed(text, copy, width)).collect();
            ways.push(("outputs", Box::new(blocks)));
            ways.push(("lines", Box::new(move |copies| grow_lines(text, copies, names, width))));
            for depth in 1..4 {
                let elements = move |copies| grow_elements(text, depth, copies, names, width);
                ways.push(("elements", Box::new(elements)));
            }
        }
        ways.push(("equal outputs", Box::new(|copies| text.repeat(copies))));
        ways.push(("all lines", Box::new(|copies| repeat_lines(text, copies))));
    }
    let logs = "2026-01-01T00:00:00Z INFO worker 7 handled request 4711 in the queue default\n";
    ways.push(("log lines before", Box::new(move |copies| format!("{}{text}", logs.repeat(copies - 1)))));
    let is_detected = parse(Adapter::Magic, text, None).is_ok();
    let mut best: Option<(usize, &'static str, Grow<'_>)> = None;
    for (how, grow) in ways {
        let trial = grow(TRIAL);
        if trial.len() < text.len() + 8 {
            continue;
        }
        let Ok(results) = parse(adapter, &trial, None) else { continue };
        // A new name can replace a word that identifies the output.
        if is_detected && parse(Adapter::Magic, &trial, None).is_err() {
            continue;
        }
        let metrics = results.entries.len();
        if best.as_ref().is_none_or(|(most, _, _)| metrics > *most) {
            best = Some((metrics, how, grow));
        }
    }
    let Some((_, how, grow)) = best else { return (text.to_owned(), "nothing") };
    let (one, two) = (grow(100).len(), grow(101).len());
    let copies = SIZE.saturating_sub(one) / (two - one).max(1) + 100;
    (grow(copies), how)
}

/// Names in an output that differ between copies.
#[derive(Clone)]
struct Names(Vec<String>);

/// How a name is changed.
#[derive(Clone, Copy)]
enum Width {
    /// A number is appended.
    Longer,
    /// The end is overwritten with a number, so that columns stay aligned.
    Same,
}

impl Names {
    /// Returns the names of benchmarks that occur in an output, or else their last segments.
    fn of(text: &str, labels: &[String]) -> Self {
        let mut names = Vec::new();
        for label in labels {
            let segments = label.rsplit(['/', ':', '.', ' ', '>']).filter(|segment| segment.len() > 1);
            let mut candidates = std::iter::once(label.as_str()).chain(segments);
            names.extend(candidates.find(|name| text.contains(name)).map(str::to_owned));
        }
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.dedup();
        Self(names)
    }

    fn new_name(name: &str, copy: usize, width: Width) -> String {
        let number = format!("{copy:06}");
        match width {
            Width::Longer => format!("{name}{number}"),
            Width::Same => {
                let kept = name.chars().count().saturating_sub(number.len());
                let start: String = name.chars().take(kept).collect();
                format!("{start}{number}")
            }
        }
    }

    /// Returns a text in which each name is another one.
    fn renamed(&self, text: &str, copy: usize, width: Width) -> String {
        let mut renamed = String::with_capacity(text.len() + 64);
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.0.iter().find(|name| rest.starts_with(name.as_str())) {
                Some(name) => {
                    renamed.push_str(&Self::new_name(name, copy, width));
                    rest = &rest[name.len()..];
                }
                None => {
                    renamed.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        renamed
    }

    fn rename_strings(&self, value: &mut Value, copy: usize) {
        match value {
            Value::String(text) => *text = self.renamed(text, copy, Width::Longer),
            Value::Array(values) => values.iter_mut().for_each(|value| self.rename_strings(value, copy)),
            Value::Object(members) => {
                members.values_mut().for_each(|value| self.rename_strings(value, copy));
            }
            _ => {}
        }
    }
}

/// Repeats the lines that contain a name.
fn grow_lines(text: &str, copies: usize, names: &Names, width: Width) -> String {
    let mut large = String::new();
    for line in text.split_inclusive('\n') {
        if names.0.iter().any(|name| line.contains(name.as_str())) {
            large.extend((0..copies).map(|copy| names.renamed(line, copy, width)));
        } else {
            large.push_str(line);
        }
    }
    large
}

/// Repeats each line.
fn repeat_lines(text: &str, copies: usize) -> String {
    text.split_inclusive('\n').map(|line| line.repeat(copies)).collect()
}

/// Repeats the content of an XML element: of the root (1), of its first child (2) and so on.
fn grow_elements(text: &str, depth: usize, copies: usize, names: &Names, width: Width) -> String {
    let (mut start, mut end) = (0, text.len());
    for _ in 0..depth {
        let open = text[start..].match_indices('<').find(|(at, _)| {
            text[start + at + 1..].starts_with(|character: char| character.is_ascii_alphabetic())
        });
        let Some((open, _)) = open else { return String::new() };
        let Some(close) = text[start + open..].find('>') else { return String::new() };
        let Some(last) = text[..end].rfind("</") else { return String::new() };
        (start, end) = (start + open + close + 1, last);
        if start >= end {
            return String::new();
        }
    }
    let content: String = (0..copies).map(|copy| names.renamed(&text[start..end], copy, width)).collect();
    format!("{}{content}{}", &text[..start], &text[end..])
}

/// Collects the paths and sizes of all arrays and objects.
fn containers(value: &Value, path: String, paths: &mut Vec<(usize, String)>) {
    let mut visit = |name: &str, value: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        containers(value, format!("{path}/{name}"), paths);
    };
    match value {
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(index, value)| visit(&index.to_string(), value));
        }
        Value::Object(members) => members.iter().for_each(|(name, value)| visit(name, value)),
        _ => return,
    }
    paths.push((value.to_string().len(), path));
}

/// Repeats the elements of an array or the members of an object. The document has no white space, and so the most results per byte.
fn grow_document(document: &Value, path: &str, copies: usize, names: Option<&Names>) -> String {
    let mut document = document.clone();
    let Some(container) = document.pointer_mut(path) else { return String::new() };
    let renamed = |value: &Value, copy: usize| {
        let mut value = value.clone();
        if let Some(names) = names.filter(|_| copy > 0) {
            names.rename_strings(&mut value, copy);
        }
        value
    };
    match container {
        Value::Array(values) => {
            let all = (0..copies).flat_map(|copy| values.iter().map(move |value| (value, copy)));
            *values = all.map(|(value, copy)| renamed(value, copy)).collect();
        }
        Value::Object(members) => {
            let mut all = members.clone();
            for copy in 1..copies {
                all.extend(
                    members.iter().map(|(name, value)| (format!("{name}{copy:06}"), renamed(value, copy))),
                );
            }
            *members = all;
        }
        _ => {}
    }
    document.to_string()
}
