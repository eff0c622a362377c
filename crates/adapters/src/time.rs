//! Adapter for `time`: of GNU, of BSD, of Bash and Zsh, and the format of POSIX. A block without a command is named `time`.

use tidemark_api::Adapter;

use crate::{
    Detection, Entries, Entry, Failure, Format, Input, ParsedMetric, Syntax, Tool,
    text::{self, Line, Unit, is_blank},
};

// All formats are generic, because `time` also measures the commands of other tools, whose results are of interest then.
pub(crate) const TOOL: Tool = Tool {
    adapter: Adapter::Time,
    title: "time of GNU and of shells",
    metrics: "latency (elapsed time), user time, system time; from GNU also peak memory and page faults, with `-v` context switches; the command is the name of the benchmark if the output contains it, otherwise the name is `time`",
    parameters: "",
    averages: &[],
    formats: &[
        Format::new(
            Syntax::Text,
            "/usr/bin/time -v COMMAND",
            &["Command being timed: ", "Elapsed (wall clock) time"],
            parse_verbose,
        )
        .detected(Detection::Generic),
        Format::new(Syntax::Text, "/usr/bin/time COMMAND", &["elapsed", "maxresident)k"], parse_gnu)
            .detected(Detection::Generic),
        Format::new(Syntax::Text, "time -p COMMAND", &["real", "user", "sys"], parse_posix)
            .detected(Detection::Generic),
        Format::new(Syntax::Text, "time COMMAND", &["s user ", "s system ", "% cpu ", " total"], parse_zsh)
            .detected(Detection::Generic),
    ],
};

/// Name of a benchmark whose command is not part of the output.
const UNNAMED: &str = "time";

/// Parses the fields of `time -v`, one per line.
fn parse_verbose(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<Verbose<'_>> = Vec::new();
    for line in text::lines(input.text) {
        let Some((field, value)) = line.text.strip_prefix('\t').and_then(|field| field.split_once(": "))
        else {
            continue;
        };
        if field == "Command being timed" {
            runs.push(Verbose { line, command: value.trim_matches('"'), ..Verbose::default() });
        } else if let Some(run) = runs.last_mut() {
            run.read(field, value).ok_or_else(|| line.invalid("a number"))?;
        }
    }
    let mut entries = Entries::default();
    let mut failed = None;
    for run in runs {
        if run.failed {
            input.skip(run.command, "their commands failed");
            failed.get_or_insert(run.line);
        } else {
            entries.push(run.entry()?);
        }
    }
    match failed {
        Some(line) if entries.is_empty() => Err(line.invalid("a command with the exit status 0")),
        _ => text::require_entries(entries, "the fields that `time -v` prints"),
    }
}

/// A partially parsed run; times are in nanoseconds.
#[derive(Default)]
struct Verbose<'a> {
    line: Line<'a>,
    command: &'a str,
    failed: bool,
    elapsed: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    memory: Option<f64>,
    page_faults: Option<f64>,
    context_switches: Option<f64>,
}

impl Verbose<'_> {
    fn read(&mut self, field: &str, value: &str) -> Option<()> {
        let number = || text::decimal(value);
        let sum = |total: Option<f64>| Some(Some(total.unwrap_or_default() + number()?));
        match field {
            "User time (seconds)" => self.user = Some(seconds(value)?),
            "System time (seconds)" => self.system = Some(seconds(value)?),
            "Elapsed (wall clock) time (h:mm:ss or m:ss)" => self.elapsed = Some(clock(value)?),
            "Maximum resident set size (kbytes)" => self.memory = Some(number()? * 1024.0),
            "Major (requiring I/O) page faults" | "Minor (reclaiming a frame) page faults" => {
                self.page_faults = sum(self.page_faults)?;
            }
            "Voluntary context switches" | "Involuntary context switches" => {
                self.context_switches = sum(self.context_switches)?;
            }
            "Exit status" => self.failed = number()? != 0.0,
            _ => {}
        }
        Some(())
    }

    fn entry(&self) -> Result<Entry, Failure> {
        let Some(((elapsed, user), system)) = self.elapsed.zip(self.user).zip(self.system) else {
            return Err(self.line.invalid("the elapsed time, the user time and the system time"));
        };
        let mut metrics = times(elapsed, user, system);
        let counts = [
            ("peak-memory", self.memory),
            ("page-faults", self.page_faults),
            ("context-switches", self.context_switches),
        ];
        metrics.extend(counts.into_iter().filter_map(|(slug, value)| Some(ParsedMetric::of(slug, value?))));
        self.line.entry(self.command, metrics)
    }
}

/// Parses the two lines of GNU without options.
fn parse_gnu(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut runs: Vec<(Line<'_>, Vec<ParsedMetric>)> = Vec::new();
    for line in text::lines(input.text) {
        if let Some(metrics) = gnu_times(line.text) {
            runs.push((line, metrics));
        } else if let Some(faults) = gnu_faults(line.text)
            && let Some((_, metrics)) = runs.last_mut()
        {
            metrics.push(ParsedMetric::of("page-faults", faults));
        }
    }
    only(
        runs,
        "a line such as `0.00user 0.00system 0:00.10elapsed 0%CPU (0avgtext+0avgdata 1636maxresident)k`",
    )
}

/// Parses `0.00user 0.00system 0:00.10elapsed 0%CPU (0avgtext+0avgdata 1636maxresident)k`.
fn gnu_times(line: &str) -> Option<Vec<ParsedMetric>> {
    let words: Vec<_> = line.split(is_blank).take(7).collect();
    let [user, system, elapsed, cpu, shared, memory] = words.as_slice() else { return None };
    if !cpu.ends_with("%CPU") || !shared.starts_with('(') {
        return None;
    }
    let mut metrics = times(
        clock(elapsed.strip_suffix("elapsed")?)?,
        seconds(user.strip_suffix("user")?)?,
        seconds(system.strip_suffix("system")?)?,
    );
    let memory = text::decimal(memory.strip_suffix("maxresident)k")?)?;
    metrics.push(ParsedMetric::of("peak-memory", memory * 1024.0));
    Some(metrics)
}

/// Parses `0inputs+0outputs (0major+99minor)pagefaults 0swaps`.
fn gnu_faults(line: &str) -> Option<f64> {
    let (_, faults) = line.split_once("outputs (")?;
    let (major, minor) = faults.split_once("minor)pagefaults ")?.0.split_once("major+")?;
    Some(text::decimal(major)? + text::decimal(minor)?)
}

/// Parses three lines with `real`, `user` and `sys`, or one line with the numbers before these words.
fn parse_posix(input: &Input<'_>) -> Result<Entries, Failure> {
    let lines: Vec<_> = text::lines(input.text).filter(|line| !line.text.trim().is_empty()).collect();
    let mut runs = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let field = |offset: usize, name: &str| {
            let value = lines.get(index + offset)?.text.strip_prefix(name)?.strip_prefix(is_blank)?;
            minutes(value.trim_matches(is_blank))
        };
        let three = field(0, "real").zip(field(1, "user")).zip(field(2, "sys"));
        let words: Vec<_> = line.text.split_ascii_whitespace().take(7).collect();
        let one = match words.as_slice() {
            [real, "real", user, "user", system, "sys"] => {
                seconds(real).zip(seconds(user)).zip(seconds(system))
            }
            _ => None,
        };
        if let Some(((real, user), system)) = three.or(one) {
            runs.push((*line, times(real, user, system)));
        }
    }
    only(runs, "the lines `real`, `user` and `sys` with times in seconds")
}

/// Parses lines such as `sleep 1  0.00s user 0.00s system 0% cpu 1.005 total`.
fn parse_zsh(input: &Input<'_>) -> Result<Entries, Failure> {
    let mut named = Entries::default();
    let mut unnamed = Vec::new();
    for line in text::lines(input.text) {
        match zsh_times(line.text) {
            Some((UNNAMED, metrics)) => unnamed.push((line, metrics)),
            Some((command, metrics)) => named.push(line.entry(command, metrics)?),
            None => {}
        }
    }
    if !unnamed.is_empty() {
        named.extend(only(unnamed, "")?.iter().map(|entry| entry.to_entry()));
    }
    text::require_entries(named, "a line such as `sleep 1  0.00s user 0.00s system 0% cpu 1.005 total`")
}

fn zsh_times(line: &str) -> Option<(&str, Vec<ParsedMetric>)> {
    let (rest, elapsed) = line.strip_suffix(" total")?.rsplit_once("% cpu ")?;
    let (rest, percent) = rest.rsplit_once("s system ")?;
    text::decimal(percent)?;
    let (rest, system) = rest.rsplit_once("s user ")?;
    let (command, user) = rest.rsplit_once(is_blank).unwrap_or(("", rest));
    let command = command.trim_matches(is_blank);
    let metrics = times(clock(elapsed)?, seconds(user)?, seconds(system)?);
    Some((if command.is_empty() { UNNAMED } else { command }, metrics))
}

/// Returns the entry of the only block. Several blocks without commands are an error, because they would have the same name.
fn only(runs: Vec<(Line<'_>, Vec<ParsedMetric>)>, expected: &str) -> Result<Entries, Failure> {
    if let Some((line, _)) = runs.get(1) {
        return Err(line.invalid("one measurement, because the output does not contain the commands"));
    }
    let entries =
        runs.into_iter().map(|(line, metrics)| line.entry(UNNAMED, metrics)).collect::<Result<_, _>>()?;
    text::require_entries(entries, expected)
}

/// Creates the metrics of times in nanoseconds.
fn times(elapsed: f64, user: f64, system: f64) -> Vec<ParsedMetric> {
    vec![
        ParsedMetric::latency(elapsed),
        ParsedMetric::of("user-time", user),
        ParsedMetric::of("system-time", system),
    ]
}

/// Parses a number of seconds that is not negative, and returns nanoseconds. Shells print the decimal separator of the locale, and
/// no tool separates thousands.
fn seconds(text: &str) -> Option<f64> {
    text::decimal(&text.replacen(',', ".", 1))
        .filter(|_| text.starts_with(|first: char| first.is_ascii_digit()))
        .map(|value| Unit::Seconds.nanoseconds(value))
}

/// Parses `0.10`, or `1m2.345s` as Bash prints it.
fn minutes(text: &str) -> Option<f64> {
    match text.strip_suffix('s').and_then(|text| text.split_once('m')) {
        Some((minutes, rest)) => Some(seconds(minutes)? * 60.0 + seconds(rest)?),
        None => seconds(text),
    }
}

/// Parses `h:mm:ss`, `m:ss.cc` or `ss.cc`.
fn clock(text: &str) -> Option<f64> {
    if text.matches(':').count() > 2 {
        return None;
    }
    text.split(':').try_fold(0.0, |total, part| Some(total * 60.0 + seconds(part)?))
}

#[cfg(test)]
mod tests {
    use tidemark_api::Adapter::{Magic, Time};

    use crate::tests::read;

    #[test]
    fn real_runs() {
        let verbose = include_str!("../fixtures/time/verbose.txt");
        insta::assert_snapshot!(read(Time, verbose), @"
        sh -c seq 1 100000 | sort -n > /dev/null latency 140000000
        sh -c seq 1 100000 | sort -n > /dev/null user-time 20000000
        sh -c seq 1 100000 | sort -n > /dev/null system-time 0
        sh -c seq 1 100000 | sort -n > /dev/null peak-memory 7196672
        sh -c seq 1 100000 | sort -n > /dev/null page-faults 1622
        sh -c seq 1 100000 | sort -n > /dev/null context-switches 34
        ");
        let gnu = include_str!("../fixtures/time/gnu.txt");
        insta::assert_snapshot!(read(Time, gnu), @"
        time latency 100000000
        time user-time 0
        time system-time 0
        time peak-memory 1675264
        time page-faults 99
        ");
        let posix = include_str!("../fixtures/time/posix.txt");
        insta::assert_snapshot!(read(Time, posix), @"
        time latency 100000000
        time user-time 0
        time system-time 0
        ");
        let bash = include_str!("../fixtures/time/bash.txt");
        insta::assert_snapshot!(read(Time, bash), @"
        time latency 107000000
        time user-time 1000000
        time system-time 0
        ");
        let zsh = include_str!("../fixtures/time/zsh.txt");
        insta::assert_snapshot!(read(Time, zsh), @"
        sleep 0.1 latency 102000000
        sleep 0.1 user-time 0
        sleep 0.1 system-time 0
        ( seq 1 100000 | sort -n > /dev/null; ) latency 68000000
        ( seq 1 100000 | sort -n > /dev/null; ) user-time 20000000
        ( seq 1 100000 | sort -n > /dev/null; ) system-time 10000000
        sleep 61 latency 61000000000
        sleep 61 user-time 0
        sleep 61 system-time 0
        ");
        let bsd = include_str!("../fixtures/time/bsd.txt");
        insta::assert_snapshot!(read(Time, bsd), @"
        time latency 100000000
        time user-time 0
        time system-time 0
        ");
        for text in [verbose, gnu, posix, bash, zsh, bsd] {
            assert_eq!(read(Magic, text), read(Time, text));
        }
    }

    #[test]
    fn long_times() {
        let local = "real\t1m1,500s\nuser\t0m1,000s\nsys\t0m0,003s\n";
        assert_eq!(read(Magic, local), read(Time, &local.replace(',', ".")));
        assert!(read(Time, local).starts_with("time latency 61500000000\n"), "{}", read(Time, local));
        assert!(!read(Time, "real 1,000.5\nuser 1\nsys 0\n").contains("latency"));
        insta::assert_snapshot!(read(Time, "real 3661.5\nuser 1\nsys 0\n"), @"
        time latency 3661500000000
        time user-time 1000000000
        time system-time 0
        ");
        insta::assert_snapshot!(read(Time, "real\t61m1.500s\nuser\t0m1.000s\nsys\t0m0.000s\n"), @"
        time latency 3661500000000
        time user-time 1000000000
        time system-time 0
        ");
        let gnu = include_str!("../fixtures/time/gnu.txt").replace("0:00.10elapsed", "1:02:03elapsed");
        insta::assert_snapshot!(read(Time, &gnu), @"
        time latency 3723000000000
        time user-time 0
        time system-time 0
        time peak-memory 1675264
        time page-faults 99
        ");
    }

    #[test]
    fn errors_have_the_line() {
        let bash = include_str!("../fixtures/time/bash.txt");
        let verbose = include_str!("../fixtures/time/verbose.txt");
        let errors = [
            bash.repeat(2),
            bash.replace("0.107", "0,107"),
            "real estate\nuser 1\nsys 2".to_owned(),
            verbose.replace("Exit status: 0", "Exit status: 2"),
            verbose.replace("0:00.14", "?"),
            verbose.replace("User time", "Time"),
            String::new(),
        ]
        .map(|text| read(Time, &text));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        The adapter `time` cannot read the output at line 6: expected one measurement, because the output does not contain the commands, found `real 0m0.107s`.
        time latency 107000000
        time user-time 1000000
        time system-time 0

        The adapter `time` cannot read the output: expected a line such as `sleep 1  0.00s user 0.00s system 0% cpu 1.005 total`.
        The adapter `time` cannot read the output at line 1: expected a command with the exit status 0, found `Command being timed: "sh -c seq 1 100000 | sort -n > /dev/nu…`.
        The adapter `time` cannot read the output at line 5: expected a number, found `Elapsed (wall clock) time (h:mm:ss or m:ss): ?`.
        The adapter `time` cannot read the output at line 1: expected the elapsed time, the user time and the system time, found `Command being timed: "sh -c seq 1 100000 | sort -n > /dev/nu…`.
        The adapter `time` cannot read the output: expected a line such as `sleep 1  0.00s user 0.00s system 0% cpu 1.005 total`.
        "#);
        let other = verbose.replace("Exit status: 0", "Exit status: 2").replace("seq 1", "seq 2");
        assert_eq!(read(Time, &format!("{other}{verbose}")), read(Time, verbose));
    }
}
