//! `tidemark changes`: change detection in a file of series, without a network. It does not decide which direction is worse.

use std::path::PathBuf;

use tidemark_stats::{DetectionSettings, Monitor, Scratch};

use crate::{
    failure::{Exit, Failure, Result, print},
    input::ToolOutput,
};

/// Arguments of `tidemark changes`.
#[derive(clap::Args)]
pub(crate) struct Changes {
    /// File with one series per line in tab-separated columns; `-` is standard input
    #[arg(long, value_name = "FILE")]
    series: PathBuf,
    /// Process the values one by one, and print only changes that are detected with this number of later values
    #[arg(long, value_name = "VALUES")]
    later: Option<usize>,
}

/// A line of the file.
#[derive(Debug, PartialEq)]
struct Series<'a> {
    name: &'a str,
    values: Vec<f64>,
}

impl Changes {
    pub(crate) fn run(&self) -> Result {
        let ToolOutput { name, text, .. } = ToolOutput::from_file(&self.series)?;
        let mut found = String::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let series = Series::read(line).map_err(|wrong| {
                Failure::with(Exit::Unreadable, format!("{name}: {wrong} in line {}.", index + 1))
            })?;
            found.push_str(&self.detect(&series));
        }
        print(&found)
    }

    /// Returns the output line of a series.
    fn detect(&self, series: &Series<'_>) -> String {
        let later = self.later.unwrap_or(DetectionSettings::default().later);
        let mut monitor = Monitor::new(DetectionSettings { later, ..DetectionSettings::default() });
        let (mut positions, mut scratch): (Vec<String>, _) = (Vec::new(), Scratch::default());
        for value in &series.values {
            let alarm = monitor.push(*value, &mut scratch).filter(|_| self.later.is_some());
            positions.extend(alarm.map(|change| change.at.to_string()));
        }
        if self.later.is_none() {
            positions.extend(monitor.changes(&mut scratch).iter().map(|change| change.at.to_string()));
        }
        format!("{}\t{}\n", series.name, positions.join(","))
    }
}

impl<'a> Series<'a> {
    /// Parses a line. An error is the start of a sentence that ends with the line number.
    fn read(line: &'a str) -> std::result::Result<Self, &'static str> {
        let mut columns = line.split('\t');
        let name = columns.next().unwrap_or_default();
        let values = columns.nth(4).ok_or("A series requires six tab-separated columns; there are fewer")?;
        let values = values.split(',').filter(|value| !value.trim().is_empty());
        let values: Option<_> =
            values.map(|value| value.trim().parse().ok().filter(|number: &f64| number.is_finite())).collect();
        let values =
            values.ok_or("The values must be numbers, separated by commas; there is another text")?;
        Ok(Self { name, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series<'_> {
        Series { name: "a", values: values.to_vec() }
    }

    fn detect(later: Option<usize>, values: &[f64]) -> String {
        Changes { series: PathBuf::new(), later }.detect(&series(values))
    }

    #[test]
    fn annotation_columns_are_optional() {
        let read = Series { name: "a", values: vec![1.0, 2.5, 3.0] };
        assert_eq!(Series::read("a\tTrue\tmain\ttest\t3\t1,2.5,3"), Ok(read));
        assert!(Series::read("a\tTrue\tmain\ttest\t3\t1,2.5,3\t1;2;").is_ok());
        assert!(Series::read("a\tTrue\tmain\ttest\t0\t").is_ok_and(|series| series.values.is_empty()));
    }

    #[test]
    fn an_invalid_line_is_an_error() {
        let wrong = |line| Series::read(line).unwrap_err();
        assert!(wrong("a\t1,2").contains("six tab-separated columns"));
        assert!(wrong("a\t\t\t\t2\t1,two").contains("another text"));
        assert!(wrong("a\t\t\t\t2\t1,NaN").contains("another text"));
    }

    #[test]
    fn a_step_is_detected_with_and_without_later_values() {
        let mut values: Vec<f64> = (0..60).map(|index| 100.0 + f64::from(index * 7 % 5)).collect();
        values[40..].iter_mut().for_each(|value| *value += 50.0);
        assert_eq!(detect(None, &values), "a\t40\n");
        assert_eq!(detect(Some(3), &values), "a\t40\n");
        assert_eq!(detect(Some(3), &values[..43]), "a\t\n");
        assert_eq!(detect(Some(3), &values[..44]), "a\t40\n");
    }
}
