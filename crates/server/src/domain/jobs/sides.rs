//! Parses the output of a job: the results of its iterations, and the pairs of a job that compares its image with a base.

use std::collections::BTreeMap;

use tidemark_adapters::Results;
use tidemark_api::{Adapter, Fold, JobConfig, JobIteration, JobOutput, JobSide};

use crate::domain::error::{Error, Result};

/// Character in the name of a result that the runner measured, for example the size of a file.
const SYNTHETIC: char = '\0';

/// The parsed output of a job.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    /// Results of the image, one per text.
    pub(super) results: Vec<Results>,
    /// Results of complete rounds: those of the base, then those of the image, of each round.
    pub(super) pairs: Vec<Results>,
}

/// Parses the output of a job. Iterations without a side measured the image.
pub(super) fn read(config: &JobConfig, adapter: Adapter, output: &JobOutput) -> Result<Measurement> {
    let leaves_out_failed = config.allow_failure == Some(true);
    let kept: Vec<&JobIteration> =
        output.results.iter().filter(|one| !leaves_out_failed || one.exit_code == 0).collect();
    if kept.is_empty() && !output.results.is_empty() {
        return Err(Error::Invalid("Every iteration failed; there are no results.".into()));
    }
    let mut measurement = Measurement::default();
    let mut rounds: BTreeMap<u32, [Vec<Results>; 2]> = BTreeMap::new();
    for (iteration, one) in kept.into_iter().enumerate() {
        let results = parse(config, adapter, iteration, one)?;
        if let (Some(side), Some(round)) = (one.side, one.round.filter(|_| config.base.is_some())) {
            // Several values of a benchmark in one run count as one value.
            let folded = Results::fold(&results, config.fold.unwrap_or(Fold::Mean));
            rounds.entry(round).or_default()[usize::from(side == JobSide::New)].extend(folded);
        }
        if one.side != Some(JobSide::Base) {
            measurement.results.extend(results);
        }
    }
    if measurement.results.is_empty() {
        return Err(Error::Invalid("The job printed no results.".into()));
    }
    for sides in rounds.into_values() {
        // A side of a duet runs twice in a round, on both sets of cores.
        if let [Some(base), Some(new)] = sides.map(|runs| Results::fold(&runs, Fold::Mean)) {
            measurement.pairs.extend([base, new]);
        }
    }
    Ok(measurement)
}

/// Parses the texts of an iteration.
fn parse(config: &JobConfig, adapter: Adapter, iteration: usize, one: &JobIteration) -> Result<Vec<Results>> {
    let read = |(path, text): (Option<&str>, &str)| {
        let made_by_runner = path.is_some_and(|path| path.contains(SYNTHETIC));
        let adapter = if made_by_runner { Adapter::Json } else { adapter };
        tidemark_adapters::parse(adapter, text, config.average).map_err(|error| {
            let place = match path {
                Some(path) if !made_by_runner => format!("The file `{path}`"),
                Some(_) => "The measurement of the runner".to_owned(),
                None => "Standard output".to_owned(),
            };
            Error::Invalid(format!("{place} of iteration {} could not be read: {error}", iteration + 1))
        })
    };
    texts(one).into_iter().map(read).collect()
}

/// Returns the texts of an iteration: its files if it has any, otherwise its standard output.
fn texts(iteration: &JobIteration) -> Vec<(Option<&str>, &str)> {
    match (&iteration.output, &iteration.stdout) {
        (Some(files), _) => files.iter().map(|(path, text)| (Some(path.as_str()), text.as_str())).collect(),
        (None, Some(stdout)) => vec![(None, stdout.as_str())],
        (None, None) => Vec::new(),
    }
}
