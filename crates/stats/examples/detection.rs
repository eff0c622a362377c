//! Measures the change detector: false alarms on synthetic noise, detected steps and, given a file of annotated series, F1,
//! precision and recall on all of them and cross-validated.
//!
//! ```sh
//! cargo run --release -p tidemark-stats --example detection [-- [--series COUNT] [TRAIN.tsv]]
//! ```

use std::{env, error::Error, fs, thread};

use tidemark_stats::{
    Change, DetectionSettings, Monitor, Scratch, Sensitivity, changes,
    synthetic::{Noise, normal},
};

/// Number of values per synthetic series.
const LENGTH: usize = 1_000;
/// Maximum distance between a change and an annotation that it matches.
const MARGIN: usize = 5;
/// Number of cross-validation folds, and of repetitions.
const FOLDS: usize = 5;
const ROUNDS: u64 = 20;
/// Number of sensitivities to choose from.
const SENSITIVITIES: usize = 17;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (mut count, mut file) = (500, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--series" => count = arguments.next().ok_or("--series needs a number")?.parse()?,
            _ => file = Some(argument),
        }
    }
    if count > 0 {
        false_alarms(count);
        steps(count);
    }
    if let Some(file) = file {
        let series = read(&fs::read_to_string(file)?)?;
        by_later_values(&series);
        annotated(&series, "changes", 0.94, &|series, sensitivity| {
            let settings = DetectionSettings { sensitivity, ..DetectionSettings::default() };
            changes(&series.values, &settings).iter().map(|change| change.at).collect()
        });
        annotated(&series, "alarms", 0.92, &|series, sensitivity| {
            alarms(&series.values, DetectionSettings { sensitivity, ..DetectionSettings::default() })
                .into_iter()
                .map(|(at, _)| at)
                .collect()
        });
    }
    Ok(())
}

/// Returns the changes of a series with known hosts, and its alarms, each with the index of the value that raised it.
fn with_hosts(hosts: &[usize], values: &[f64]) -> (Vec<Change>, Vec<(usize, usize)>) {
    let (mut monitor, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
    let values = hosts.iter().zip(values).enumerate();
    let alarms = values.filter_map(|(now, (host, value))| {
        Some((monitor.push_with_host(u16::try_from(*host).ok(), *value, &mut scratch)?.at, now))
    });
    let alarms = alarms.collect();
    (monitor.changes(&mut scratch), alarms)
}

/// Returns the alarms, each with the index of the value that raised it.
fn alarms(values: &[f64], settings: DetectionSettings) -> Vec<(usize, usize)> {
    let (mut monitor, mut scratch) = (Monitor::new(settings), Scratch::default());
    let alarms = values.iter().enumerate();
    alarms.filter_map(|(now, value)| Some((monitor.push(*value, &mut scratch)?.at, now))).collect()
}

/// Sums the results of `each` for all numbers below `count`, on all processors.
fn sum<const N: usize>(count: u64, each: impl Fn(u64) -> [usize; N] + Sync) -> [usize; N] {
    let workers = thread::available_parallelism().map_or(1, |workers| workers.get() as u64);
    let each = &each;
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || (worker..count).step_by(workers as usize).map(each).fold([0; N], add))
            })
            .collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).fold([0; N], add)
    })
}

fn add<const N: usize>(one: [usize; N], two: [usize; N]) -> [usize; N] {
    std::array::from_fn(|place| one[place] + two[place])
}

fn false_alarms(count: u64) {
    println!("False alarms per 10,000 values, {count} series of {LENGTH} values each\n");
    println!("| noise | changes | alarms |\n|---|---:|---:|");
    for noise in Noise::ALL {
        let found = sum(count, |seed| {
            let values = noise.series(seed, LENGTH);
            [
                changes(&values, &DetectionSettings::default()).len(),
                alarms(&values, DetectionSettings::default()).len(),
            ]
        });
        let [changes, alarms] = found.map(|found| found as f64 * 1e4 / (count as f64 * LENGTH as f64));
        println!("| {noise} | {changes:.2} | {alarms:.2} |");
        if noise == Noise::StickyHosts {
            let found = sum(count, |seed| {
                let (hosts, values) = noise.hosts_and_series(seed, LENGTH);
                let (changes, alarms) = with_hosts(&hosts, &values);
                [changes.len(), alarms.len()]
            });
            let [changes, alarms] = found.map(|found| found as f64 * 1e4 / (count as f64 * LENGTH as f64));
            println!("| {noise}, host known | {changes:.2} | {alarms:.2} |");
        }
    }
}

/// Generates hosts and values from a seed.
type Made = fn(u64) -> (Vec<usize>, Vec<f64>);

fn steps(count: u64) {
    let plain: Made = |seed| (vec![0; 250], normal(seed, 250).iter().map(|value| 100.0 + value).collect());
    let sticky: Made = |seed| Noise::StickyHosts.hosts_and_series(seed, 250);
    let unknown: Made = |seed| (vec![0; 250], Noise::StickyHosts.series(seed, 250));
    for (name, made, sizes) in [
        ("normal noise", plain, &[1.0, 1.5, 2.0, 3.0, 5.0][..]),
        ("values of four hosts, each kept for ten runs", unknown, &[3.0, 5.0]),
        ("values of four hosts, each kept for ten runs, host known", sticky, &[1.0, 1.5, 2.0, 3.0, 5.0]),
    ] {
        println!("\nSteps in {name}, 200 values before and 50 after, {count} series each\n");
        println!("| step | found within 5 | within 20 | alarm with 3 later values |\n|---|---:|---:|---:|");
        for step in sizes {
            let found = sum(count, |seed| {
                let (hosts, mut values) = made(seed);
                values[200..].iter_mut().for_each(|value| *value += step);
                let (found, alarms) = with_hosts(&hosts, &values);
                let within =
                    |most: usize| usize::from(found.iter().any(|change| change.at.abs_diff(200) <= most));
                let is_alarm = alarms.iter().any(|(at, now)| at.abs_diff(200) <= MARGIN && *now <= 203);
                [within(5), within(20), usize::from(is_alarm)]
            });
            let [five, twenty, alarm] = found.map(|found| found as f64 * 100.0 / count as f64);
            println!("| {step} σ | {five:.0} % | {twenty:.0} % | {alarm:.0} % |");
        }
    }
}

/// A series that engineers have annotated.
struct Series {
    values: Vec<f64>,
    annotations: Vec<Vec<usize>>,
}

fn read(text: &str) -> Result<Vec<Series>, Box<dyn Error>> {
    let places = |text: &str| -> Result<Vec<usize>, Box<dyn Error>> {
        text.split(',').filter(|place| !place.is_empty()).map(|place| Ok(place.trim().parse()?)).collect()
    };
    let line = |line: &str| -> Result<Series, Box<dyn Error>> {
        let fields: Vec<&str> = line.split('\t').collect();
        let (Some(values), Some(annotations)) = (fields.get(5), fields.get(6)) else {
            return Err("a line has fewer than seven fields".into());
        };
        Ok(Series {
            values: values.split(',').map(str::parse).collect::<Result<_, _>>()?,
            annotations: annotations.split(';').map(places).collect::<Result<_, _>>()?,
        })
    };
    text.lines().filter(|line| !line.is_empty()).map(line).collect()
}

/// Computes F1, precision and recall of a series as the Turing change point benchmark defines them: the first value counts as
/// a change for everyone, precision is relative to the union of the annotations, and recall is the mean over the annotators.
fn score(series: &Series, found: &[usize]) -> [f64; 3] {
    let with_start = |places: &[usize]| {
        let mut places: Vec<usize> = places.iter().copied().chain([0]).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let found = with_start(found);
    let precision = hits(&with_start(&series.annotations.concat()), &found) / found.len() as f64;
    let recalls = series.annotations.iter().map(|annotator| {
        let truth = with_start(annotator);
        hits(&truth, &found) / truth.len() as f64
    });
    let recall = recalls.sum::<f64>() / series.annotations.len() as f64;
    [2.0 * precision * recall / (precision + recall), precision, recall]
}

fn hits(truth: &[usize], found: &[usize]) -> f64 {
    let (mut left, mut hits) = (found.to_vec(), 0.0);
    for place in truth {
        let nearest = left.iter().enumerate().map(|(index, other)| (other.abs_diff(*place), index)).min();
        if let Some((_, index)) = nearest.filter(|(distance, _)| *distance <= MARGIN) {
            left.remove(index);
            hits += 1.0;
        }
    }
    hits
}

fn mean<'a>(scores: impl Iterator<Item = &'a [f64; 3]>) -> [f64; 3] {
    let (mut total, mut count) = ([0.0; 3], 0.0);
    for score in scores {
        total = std::array::from_fn(|place| total[place] + score[place]);
        count += 1.0;
    }
    total.map(|total| total / count)
}

/// Prints the score of all changes, and of alarms with more and fewer later values.
fn by_later_values(series: &[Series]) {
    println!("\nAnnotated series, by later values\n\n| later values | F1 | P | R |\n|---:|---:|---:|---:|");
    let row = |name: &str, find: &dyn Fn(&Series) -> Vec<usize>| {
        let scores: Vec<_> = series.iter().map(|series| score(series, &find(series))).collect();
        let [f1, precision, recall] = mean(scores.iter());
        println!("| {name} | {f1:.3} | {precision:.3} | {recall:.3} |");
    };
    row("all", &|series| {
        changes(&series.values, &DetectionSettings::default()).iter().map(|change| change.at).collect()
    });
    for later in [12, 5, 3, 1, 0] {
        let settings = DetectionSettings { later, ..DetectionSettings::default() };
        row(&later.to_string(), &|series| {
            alarms(&series.values, settings).iter().map(|alarm| alarm.0).collect()
        });
    }
}

/// Prints the score at each sensitivity, and the cross-validated score: on the training folds, it selects the sensitivity
/// with the highest F1 among the sensitivities with at least this precision, and scores it on the held-out fold.
fn annotated(
    series: &[Series],
    name: &str,
    least_precision: f64,
    find: &(impl Fn(&Series, Sensitivity) -> Vec<usize> + Sync),
) {
    println!(
        "\nAnnotated series, {name}, by sensitivity\n\n| sensitivity | F1 | P | R |\n|---:|---:|---:|---:|"
    );
    let factor = |place: usize| 10_f64.powf(2.0 * place as f64 / (SENSITIVITIES - 1) as f64 - 1.0);
    let scored: Vec<Vec<[f64; 3]>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..2)
            .map(|worker| {
                scope.spawn(move || {
                    (worker..SENSITIVITIES)
                        .step_by(2)
                        .map(|place| {
                            let sensitivity = Sensitivity::new(factor(place)).unwrap_or_default();
                            series.iter().map(|series| score(series, &find(series, sensitivity))).collect()
                        })
                        .collect::<Vec<Vec<[f64; 3]>>>()
                })
            })
            .collect();
        let mut halves: Vec<_> =
            handles.into_iter().filter_map(|handle| Some(handle.join().ok()?.into_iter())).collect();
        (0..SENSITIVITIES).filter_map(|place| halves[place % 2].next()).collect()
    });
    for (place, scores) in scored.iter().enumerate() {
        let [f1, precision, recall] = mean(scores.iter());
        println!("| {:.2} | {f1:.3} | {precision:.3} | {recall:.3} |", factor(place));
    }
    let mut held_out = Vec::new();
    for round in 0..ROUNDS {
        let keys = normal(round, series.len());
        let mut order: Vec<usize> = (0..series.len()).collect();
        order.sort_by(|one, two| keys[*one].total_cmp(&keys[*two]));
        for fold in 0..FOLDS {
            let is_held_out = |place: usize| place % FOLDS == fold;
            let of = |scores: &[[f64; 3]], held_out: bool| {
                let chosen = order.iter().enumerate().filter(|(place, _)| is_held_out(*place) == held_out);
                chosen.map(|(_, index)| scores[*index]).collect::<Vec<_>>()
            };
            let best = scored.iter().max_by(|one, two| {
                let worth = |scores: &[[f64; 3]]| {
                    let [f1, precision, _] = mean(of(scores, false).iter());
                    if precision >= least_precision { f1 } else { precision - 1.0 }
                };
                worth(one).total_cmp(&worth(two))
            });
            held_out.extend(best.map(|scores| of(scores, true)).unwrap_or_default());
        }
    }
    let [f1, precision, recall] = mean(held_out.iter());
    println!("\ncross-validated (P ≥ {least_precision}): F1 {f1:.3}, P {precision:.3}, R {recall:.3}");
}
