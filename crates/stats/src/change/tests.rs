//! Tests of all detectors together, on many kinds of noise.

use proptest::prelude::*;

use super::{Change, DetectionSettings, Monitor, Scratch, Sensitivity, changes};
use crate::{
    random::Random,
    synthetic::{Noise, normal},
};

fn change_indexes(values: &[f64]) -> Vec<usize> {
    changes(values, &DetectionSettings::default()).iter().map(|change| change.at).collect()
}

/// Returns the alarms, each with the index of the value that raised it.
fn alarms(values: &[f64], later: usize) -> Vec<(usize, usize)> {
    let mut monitor = Monitor::new(DetectionSettings { later, ..DetectionSettings::default() });
    let (alarms, mut scratch) = (values.iter().enumerate(), Scratch::default());
    alarms.filter_map(|(now, value)| Some((monitor.push(*value, &mut scratch)?.at, now))).collect()
}

/// Returns the indexes of the changes and alarms of values with known hosts.
fn on_hosts(hosts: &[usize], values: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let (mut monitor, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
    let values = hosts.iter().zip(values);
    let alarms =
        values.filter_map(|(host, value)| monitor.push_with_host(Some(*host as u16), *value, &mut scratch));
    let alarms = alarms.map(|alarm| alarm.at).collect();
    (monitor.changes(&mut scratch).iter().map(|change| change.at).collect(), alarms)
}

/// Generates noise around a level, with steps at the given indexes.
fn stepped(seed: u64, count: usize, steps: &[(usize, f64)]) -> Vec<f64> {
    let mut values: Vec<f64> = normal(seed, count).iter().map(|value| 100.0 + value).collect();
    for (at, size) in steps {
        values[*at..].iter_mut().for_each(|value| *value += size);
    }
    values
}

#[test]
fn a_step_is_described() {
    let values = stepped(1, 300, &[(180, 8.0)]);
    let found = changes(&values, &DetectionSettings::default());
    let [Change { at, earliest, latest, before, after, effect, sigma, confidence, margin }] = found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!((at, earliest, latest), (180, 180, 180));
    assert!((before - 100.0).abs() < 0.5 && (after - 108.0).abs() < 0.5, "{before} {after}");
    assert_eq!(effect, Some((after - before) / before));
    assert!((5.0..12.0).contains(&sigma), "{sigma}");
    assert!(confidence > 0.95 && margin > 2.0, "{confidence} {margin}");
}

#[test]
fn a_long_series_keeps_its_changes() {
    let steps = [(150, 5.0), (400, -5.0), (700, 4.0), (1_400, 6.0), (1_900, -6.0)];
    assert_eq!(change_indexes(&stepped(2, 2_000, &steps)), steps.map(|(at, _)| at));
}

#[test]
fn constant_counts_change_by_one() {
    let mut counts = vec![1_000_000.0; 60];
    counts[40..].fill(1_000_001.0);
    assert_eq!(change_indexes(&counts), [40]);
    assert_eq!(change_indexes(&[0.0; 100]), []);
    let mut zeros = vec![0.0; 60];
    zeros[30..].fill(5.0);
    let found = changes(&zeros, &DetectionSettings::default());
    assert_eq!((found.len(), found[0].at, found[0].effect), (1, 30, None));
}

#[test]
fn values_that_are_not_finite_are_ignored() {
    let mut values = stepped(3, 200, &[(120, 6.0)]);
    values[50] = f64::NAN;
    values[150] = f64::INFINITY;
    assert_eq!(change_indexes(&values), [120]);
}

#[test]
fn a_level_can_drop_to_zero() {
    let mut values = stepped(4, 200, &[]);
    values[140..].iter_mut().for_each(|value| *value -= 100.0);
    assert_eq!(change_indexes(&values), [140]);
}

#[test]
fn a_step_of_50_percent_raises_an_alarm_in_a_short_series() {
    let level = |number: usize| if number < 9 { 100 } else { 150 };
    let values: Vec<f64> = (0..14).map(|number| (level(number) + number % 3) as f64).collect();
    assert_eq!(alarms(&values, 3), [(9, 12)]);
}

#[test]
fn short_and_empty_series_have_no_changes() {
    assert_eq!(change_indexes(&[]), []);
    assert_eq!(change_indexes(&[1.0]), []);
    assert_eq!(change_indexes(&[1.0, 2.0, 1.0, 9.0, 1.0, 2.0, 1.0]), []);
}

#[test]
fn spikes_are_not_changes() {
    let mut random = Random(8);
    let mut found = 0;
    for seed in 0..20 {
        let mut values = stepped(seed, 1_000, &[]);
        for value in &mut values {
            if random.uniform() < 0.03 {
                *value += 30.0;
            }
        }
        found += change_indexes(&values).len();
    }
    assert!(found <= 2, "{found} changes in 20,000 values");
}

#[test]
fn a_drift_is_not_a_change() {
    let found: usize = (0..20)
        .map(|seed| {
            let mut values = stepped(seed, 500, &[]);
            values.iter_mut().enumerate().for_each(|(index, value)| *value += 0.01 * index as f64);
            change_indexes(&values).len()
        })
        .sum();
    assert!(found <= 2, "{found} changes in 20 drifts over five standard deviations");
}

/// `docs/statistics.md` has the rates for 500 series. With 40 series, a count whose mean equals the rate stays within these
/// limits in 99 of 100 cases.
#[test]
fn noise_raises_few_alarms() {
    for noise in Noise::ALL {
        let limit = match noise {
            Noise::Autoregressive(0.5) | Noise::DailyCycle => 21,
            Noise::Autoregressive(0.7) => 31,
            Noise::Autoregressive(0.9) => 56,
            Noise::StickyHosts => 146,
            _ => 9,
        };
        let (mut found, mut raised) = (0, 0);
        for seed in 0..40 {
            let values = noise.series(seed, 1_000);
            found += change_indexes(&values).len();
            raised += alarms(&values, 3).len();
        }
        assert!(found <= limit, "{noise}: {found} changes in 40,000 values");
        assert!(raised <= limit, "{noise}: {raised} alarms in 40,000 values");
    }
}

/// At most one per 10,000 values; 40 series have at most 9 in 99 of 100 cases.
#[test]
fn known_hosts_raise_few_alarms() {
    let (mut found, mut raised) = (0, 0);
    for seed in 0..40 {
        let (hosts, values) = Noise::StickyHosts.hosts_and_series(seed, 1_000);
        let (changes, alarms) = on_hosts(&hosts, &values);
        found += changes.len();
        raised += alarms.len();
    }
    assert!(found <= 9 && raised <= 9, "{found} changes and {raised} alarms in 40,000 values");
}

/// Returns how many of 100 series with a step have a change there, and how many an alarm, with hosts.
fn steps_on_hosts(size: f64, hosts: impl Fn(u64) -> (Vec<usize>, Vec<f64>)) -> (usize, usize) {
    let (mut found, mut raised) = (0, 0);
    for seed in 0..100 {
        let (hosts, mut values) = hosts(seed);
        values[200..].iter_mut().for_each(|value| *value += size);
        let (changes, alarms) = on_hosts(&hosts, &values);
        let is_near = |at: &usize| at.abs_diff(200) <= 5;
        found += usize::from(changes.iter().any(is_near));
        raised += usize::from(alarms.iter().any(is_near));
    }
    (found, raised)
}

#[test]
fn steps_are_detected_on_known_hosts() {
    let hosts = |seed| Noise::StickyHosts.hosts_and_series(seed, 250);
    let (found, raised) = steps_on_hosts(3.0, hosts);
    assert!(found >= 95 && raised >= 50, "{found} found and {raised} raised of 100");
    let (found, raised) = steps_on_hosts(5.0, hosts);
    assert!(found >= 95 && raised >= 90, "{found} found and {raised} raised of 100");
}

/// Each host is used for this many runs and never again.
#[test]
fn short_lived_hosts_do_not_hide_a_step() {
    for runs in [1, 2, 3, 10] {
        let hosts = |seed| ((0..250).map(|run| run / runs).collect(), stepped(seed, 250, &[]));
        let (found, raised) = steps_on_hosts(5.0, hosts);
        assert!(found >= 95 && raised >= 90, "{found} found and {raised} raised of 100, {runs} runs a host");
    }
}

#[test]
fn a_move_to_another_host_is_not_a_change() {
    let found = (0..100).filter(|seed| {
        let values = stepped(*seed, 250, &[(200, 5.0)]);
        let hosts: Vec<usize> = (0..250).map(|run| usize::from(run >= 200)).collect();
        assert!(change_indexes(&values).iter().any(|at| at.abs_diff(200) <= 5), "seed {seed}");
        on_hosts(&hosts, &values) != (Vec::new(), Vec::new())
    });
    let found = found.count();
    assert!(found <= 6, "{found} of 100");
}

#[test]
fn levels_are_those_of_the_reference_host() {
    let (mut hosts, _) = Noise::StickyHosts.hosts_and_series(5, 400);
    hosts.iter_mut().for_each(|host| *host = (*host).min(1));
    let mut values = stepped(5, 400, &[(250, 8.0)]);
    values.iter_mut().zip(&hosts).for_each(|(value, host)| *value *= if *host == 0 { 1.3 } else { 1.0 });
    let (mut monitor, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
    for (host, value) in hosts.iter().zip(&values) {
        monitor.push_with_host(Some(*host as u16), *value, &mut scratch);
    }
    let found = monitor.changes(&mut scratch);
    assert_eq!((found.len(), found[0].at), (1, 250));
    assert!((found[0].before - 100.0).abs() < 0.5 && (found[0].after - 108.0).abs() < 0.7, "{found:?}");
    let adjusted = monitor.adjusted();
    assert!(adjusted[..250].iter().all(|value| (90.0..110.0).contains(value)));
}

#[test]
fn rounding_is_not_a_change() {
    let (mut found, mut raised) = (0, 0);
    for seed in 0..40 {
        let values: Vec<f64> = stepped(seed, 1_000, &[]).iter().map(|value| value.round()).collect();
        found += change_indexes(&values).len();
        raised += alarms(&values, 3).len();
    }
    assert!(found <= 9 && raised <= 9, "{found} changes and {raised} alarms in 40,000 values");
}

#[test]
fn shuffled_series_have_no_changes() {
    let mut random = Random(12);
    let (mut found, mut raised) = (0, 0);
    for seed in 0..100 {
        let mut values = stepped(seed, 1_000, &[(200, 4.0), (500, -6.0), (800, 3.0)]);
        random.shuffle(&mut values);
        found += change_indexes(&values).len();
        raised += alarms(&values, 3).len();
    }
    assert!(found <= 10, "{found} changes in 100,000 values");
    assert!(raised <= 10, "{raised} alarms in 100,000 values");
}

#[test]
fn most_steps_of_three_deviations_raise_an_alarm_after_four_values() {
    let raised = (0..200)
        .filter(|seed| {
            let values = stepped(*seed, 220, &[(200, 3.0)]);
            alarms(&values, 3).iter().any(|(at, now)| at.abs_diff(200) <= 5 && *now <= 203)
        })
        .count();
    assert!(raised > 100, "{raised} of 200");
}

#[test]
fn a_step_of_one_deviation_is_detected_with_fifty_values() {
    let found = (0..200)
        .filter(|seed| {
            let found = change_indexes(&stepped(*seed, 250, &[(200, 1.0)]));
            found.iter().any(|at| at.abs_diff(200) <= 20)
        })
        .count();
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn sensitivity_is_a_factor() {
    assert_eq!(Sensitivity::new(1.0), Some(Sensitivity::default()));
    for wrong in [0.0, -1.0, 1e4, f64::NAN] {
        assert_eq!(Sensitivity::new(wrong), None);
    }
    let values = stepped(20, 300, &[(100, 1.4), (200, -1.4)]);
    let found = |factor: f64| {
        let sensitivity = Sensitivity::new(factor).unwrap();
        changes(&values, &DetectionSettings { sensitivity, ..DetectionSettings::default() }).len()
    };
    assert!(found(0.001) < found(1_000.0));
}

/// Generates series of any length with a few steps; some are rounded.
fn series() -> impl Strategy<Value = Vec<f64>> {
    let steps = prop::collection::vec((0.0..1.0, -8.0..8.0), 0..6);
    (any::<u64>(), 0_usize..1_200, steps, any::<bool>()).prop_map(|(seed, count, steps, is_rounded)| {
        let steps: Vec<(usize, f64)> =
            steps.iter().map(|(index, size)| ((index * count as f64) as usize, *size)).collect();
        let mut values = stepped(seed, count, &steps);
        if is_rounded {
            values.iter_mut().for_each(|value| *value = value.round());
        }
        values
    })
}

/// Generates hosts in any order; some have several successive values, some are unknown.
fn hosts() -> impl Strategy<Value = Vec<Option<u16>>> {
    let segment = (prop::option::weighted(0.9, 0_u16..6), 1_usize..30);
    prop::collection::vec(segment, 1..120).prop_map(|segments| {
        segments
            .iter()
            .flat_map(|(host, runs)| std::iter::repeat_n(*host, *runs))
            .cycle()
            .take(1_200)
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The identifiers of hosts, earlier calls of `changes` and earlier uses of the buffers make no difference.
    #[test]
    fn the_result_depends_only_on_values_and_hosts(
        values in series(), hosts in hosts(), shift in 1_u16..2_000, speed in 0.0..9.0, interval in 1_usize..200,
    ) {
        let (mut one, mut two) = (Monitor::new(DetectionSettings::default()), Monitor::new(DetectionSettings::default()));
        let mut scratch = Scratch::default();
        for (index, (value, host)) in values.iter().zip(&hosts).enumerate() {
            let value = value + speed * f64::from(host.unwrap_or(0));
            let alarm = one.push_with_host(*host, value, &mut scratch);
            let other = host.map(|host| 9_999 - host * shift);
            prop_assert_eq!(two.push_with_host(other, value, &mut Scratch::default()), alarm);
            if index % interval == 0 {
                prop_assert_eq!(one.changes(&mut scratch), two.changes(&mut scratch));
            }
        }
        let (mut again, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
        if one.values().len() == values.len() {
            for (host, value) in one.values_with_hosts() {
                again.push_with_host(host, value, &mut scratch);
            }
            prop_assert_eq!(again.changes(&mut scratch), one.changes(&mut scratch));
        }
        prop_assert_eq!(one.changes(&mut scratch), two.changes(&mut scratch));
        prop_assert!(one.bytes() < 18 << 10, "{}", one.bytes());
    }

    /// An unknown host, or a single host for all values, makes no difference.
    #[test]
    fn a_single_host_makes_no_difference(values in series(), host in prop::option::of(0_u16..9)) {
        let (mut monitor, mut scratch) = (Monitor::new(DetectionSettings::default()), Scratch::default());
        for value in &values {
            monitor.push_with_host(host, *value, &mut scratch);
        }
        prop_assert_eq!(monitor.changes(&mut scratch), changes(&values, &DetectionSettings::default()));
    }

    /// Earlier contents of the buffers and earlier calls of `changes` make no difference.
    #[test]
    fn a_monitored_series_has_the_changes_of_the_whole_series(values in series(), interval in 1_usize..200) {
        let mut monitor = Monitor::new(DetectionSettings::default());
        let mut scratch = Scratch::default();
        let mut other = Monitor::new(DetectionSettings::default());
        for (index, value) in values.iter().enumerate() {
            monitor.push(*value, &mut scratch);
            other.push(-*value, &mut scratch);
            if index % interval == 0 {
                prop_assert_eq!(monitor.changes(&mut scratch), changes(&values[..=index], &DetectionSettings::default()));
            }
        }
        prop_assert_eq!(monitor.changes(&mut scratch), changes(&values, &DetectionSettings::default()));
        prop_assert!(monitor.values().len() <= Monitor::MAX_VALUES && monitor.bytes() < 16 << 10, "{}", monitor.bytes());
    }

    #[test]
    fn changes_are_in_order_and_within_their_intervals(values in series()) {
        let found = changes(&values, &DetectionSettings::default());
        prop_assert!(found.is_sorted_by(|one, two| one.at < two.at));
        for change in found {
            prop_assert!(change.earliest <= change.at && change.at <= change.latest);
            prop_assert!(0 < change.at && change.latest < values.len());
            prop_assert!((0.0..=1.0).contains(&change.confidence));
        }
    }

    /// Scales by a power of two, so that only the logarithms are rounded. Their rounding can move a value that is far from
    /// both levels from one level to the other.
    #[test]
    fn the_unit_makes_no_difference(values in series(), exponent in -20_i32..20) {
        let scaled: Vec<f64> = values.iter().map(|value| value * 2.0_f64.powi(exponent)).collect();
        let (plain, scaled) = (change_indexes(&values), change_indexes(&scaled));
        prop_assert_eq!(plain.len(), scaled.len());
        for (plain, scaled) in plain.iter().zip(&scaled) {
            prop_assert!(plain.abs_diff(*scaled) <= Change::TOLERANCE, "{} and {}", plain, scaled);
        }
    }
}
