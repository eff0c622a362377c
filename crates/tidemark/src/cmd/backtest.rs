//! `tidemark backtest`: the alarms that other settings would have raised.

use tidemark_api::{
    Backtest as Answer, BacktestAlarm, FalseAlarms, ModelTest, NewBacktest, SensitivityFactor,
};
use tidemark_client::backtest;

use super::threshold::{ModelFlags, test_parser};
use crate::{
    connection::Connection,
    failure::{Result, print},
    output, project,
    resource::{
        Fields, OutputFlags, Printable, ProjectArgument, SeriesFilter, optional, parse_number, record, table,
    },
};

/// Arguments of `tidemark backtest`.
#[derive(clap::Args)]
pub(crate) struct Backtest {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: OutputFlags,
    #[command(flatten)]
    project: ProjectArgument,
    /// Factor by which the number of false alarms may exceed the default, from 0.001 to 1000
    #[arg(long, value_name = "FACTOR", value_parser = parse_number::<f64, SensitivityFactor>, conflicts_with = "test")]
    sensitivity: Option<SensitivityFactor>,
    /// False-alarm budget: accepted false alarms per month, from 1 to 1000
    #[arg(long, value_name = "COUNT", value_parser = parse_number::<u32, FalseAlarms>, conflicts_with_all = ["sensitivity", "test"])]
    false_alarms_per_month: Option<FalseAlarms>,
    /// Use a threshold with this test instead
    #[arg(long, value_parser = test_parser())]
    test: Option<ModelTest>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    series: SeriesFilter,
}

impl Backtest {
    pub(crate) fn run(&self) -> Result {
        let SeriesFilter { branch, testbed, benchmark, measure } = &self.series;
        let new = NewBacktest {
            sensitivity: self.sensitivity,
            false_alarms_per_month: self.false_alarms_per_month,
            model: self.test.map(|test| self.model.model(test)),
            branch: branch.clone(),
            testbed: testbed.clone(),
            benchmark: benchmark.clone(),
            measure: measure.clone(),
        };
        let client = self.connection.client()?;
        project::load_from_key(&self.connection, &client);
        let answer = client
            .send(&backtest(self.project.id()?, &new))
            .map_err(|error| project::explain(&client, &self.connection, error.into()))?;
        if self.format.json {
            return print(&output::json("The backtest", &answer)?);
        }
        let alarms =
            if answer.alarms.is_empty() { String::new() } else { format!("{}\n", table(&answer.alarms)) };
        print(&format!("{alarms}{}", record(&answer)))
    }
}

impl Printable for Answer {
    fn fields(&self) -> Fields {
        Fields::default()
            .number("Alarms", self.raised)
            .number("Per month", format_args!("{:.1}", self.per_month))
            .number("Runs with alarms", self.runs)
            .number("Real changes found", self.found)
            .number("Real changes missed", self.missed)
            .number("False alarms", self.false_alarms)
            .number("Not reviewed", self.unknown)
            .number("Series", self.series)
            .number("Values", self.values)
            .column("Since", optional(self.since.map(output::time)))
    }
}

impl Printable for BacktestAlarm {
    const DROPPABLE: &'static [&'static str] = &["Testbed", "Branch", "Before", "After", "Since"];

    fn fields(&self) -> Fields {
        let units = self.measure.units.as_str();
        let parameters = self.variant.as_ref().map(|variant| &variant.parameters);
        Fields::default()
            .column("Since", output::time(self.start_time))
            .benchmark("Benchmark", output::benchmark(self.benchmark.name.as_str(), parameters))
            .text("Measure", &self.measure.name)
            .number("Before", optional(self.before.map(|before| output::quantity(before, units))))
            .number("After", output::quantity(self.after, units))
            .column("Review", self.verdict)
            .text("Branch", &self.branch.name)
            .text("Testbed", &self.testbed.name)
    }
}
