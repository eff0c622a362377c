//! Worked examples, computed by hand or with other tools, compared to the precision of the example.

use tidemark_stats::{Limits, Model, PreparedModel, Side, Test, crossed_limit};

fn limits(model: &Model, sample: &[f64]) -> Option<Limits> {
    PreparedModel::new(model).limits(sample)
}

const D1: &[f64] = &[102.0, 98.0, 100.0, 101.0, 99.0];
const D2: &[f64] = &[10.0, 12.0];
const D3: &[f64] = &[100.0, 105.0, 95.0, 110.0, 90.0, 100.0];

/// A model, its sample, and the expected result.
struct Example {
    name: &'static str,
    test: Test,
    sample: &'static [f64],
    /// Lower and upper.
    boundaries: [Option<f64>; 2],
    /// Baseline, lower and upper.
    expected: [Option<f64>; 3],
    /// Values, each with the limit that it crosses.
    verdicts: &'static [(f64, Option<Side>)],
}

const fn example(
    name: &'static str,
    test: Test,
    sample: &'static [f64],
    boundaries: [Option<f64>; 2],
    expected: [Option<f64>; 3],
    verdicts: &'static [(f64, Option<Side>)],
) -> Example {
    Example { name, test, sample, boundaries, expected, verdicts }
}

const fn both(boundary: f64) -> [Option<f64>; 2] {
    [Some(boundary), Some(boundary)]
}

const fn upper(boundary: f64) -> [Option<f64>; 2] {
    [None, Some(boundary)]
}

const fn all(baseline: f64, lower: f64, upper: f64) -> [Option<f64>; 3] {
    [Some(baseline), Some(lower), Some(upper)]
}

const LOWER: Option<Side> = Some(Side::Lower);
const UPPER: Option<Side> = Some(Side::Upper);

#[rustfmt::skip]
const EXAMPLES: &[Example] = &[
    example("S1", Test::Static, &[15.0], [Some(10.0), Some(20.0)], [None, Some(10.0), Some(20.0)],
        &[(20.0, None), (20.0001, UPPER), (10.0, None), (9.9999, LOWER)]),
    example("S2", Test::Static, &[15.0], upper(20.0), [None, None, Some(20.0)], &[(5.0, None)]),
    example("S3", Test::Static, &[], [Some(10.0), Some(20.0)], [None, Some(10.0), Some(20.0)], &[(99.0, UPPER)]),

    example("P1", Test::Percentage, &[100.0, 110.0, 90.0], both(0.1), all(100.0, 90.0, 110.0),
        &[(110.0, None), (111.0, UPPER)]),
    example("P2", Test::Percentage, &[50.0], upper(0.25), [Some(50.0), None, Some(62.5)], &[(63.0, UPPER)]),
    example("P3", Test::Percentage, &[10.0, 20.0, 30.0, 40.0], [Some(0.5), Some(2.0)], all(25.0, 12.5, 75.0),
        &[(12.0, LOWER)]),
    example("P4", Test::Percentage, &[-10.0, -20.0], both(0.1), all(-15.0, -16.5, -13.5),
        &[(-15.0, None), (-13.0, UPPER), (-17.0, LOWER)]),

    example("Z1", Test::ZScore, D1, both(0.95), all(100.0, 97.39925806, 102.60074194), &[(103.0, UPPER)]),
    example("Z2", Test::ZScore, D2, upper(0.99), [Some(11.0), None, Some(14.28995271)], &[(14.0, None)]),
    example("Z3", Test::ZScore, D3, both(0.977), all(100.0, 85.89043859, 114.10956141), &[(85.0, LOWER)]),

    example("T1", Test::TTest, D1, both(0.95), all(100.0, 96.30753305, 103.69246695), &[(103.0, None)]),
    example("T2", Test::TTest, D2, upper(0.99), [Some(11.0), None, Some(66.11475035)], &[(60.0, None)]),
    example("T3", Test::TTest, D3, both(0.977), all(100.0, 79.83995208, 120.16004792), &[(121.0, UPPER)]),
    example("T4", Test::TTest, D1, upper(0.99), [Some(100.0), None, Some(106.48990325)], &[(106.49, UPPER)]),

    example("L1", Test::LogNormal, D1, both(0.95), all(99.98999880, 97.42271004, 102.62494090), &[(97.0, LOWER)]),
    example("L2", Test::LogNormal, &[1.0, 10.0], both(0.95), all(3.16227766, 0.21722652, 46.03489466),
        &[(0.001, LOWER), (0.5, None)]),
    example("L3", Test::LogNormal, &[50.0, 60.0, 55.0, 70.0, 65.0], both(0.9),
        all(59.57980372, 50.24425770, 70.64992448), &[(71.0, UPPER)]),

    example("I1", Test::Iqr, D1, both(1.5), all(100.0, 97.0, 103.0), &[(103.0, None)]),
    example("I2", Test::Iqr, D2, upper(1.0), [Some(11.0), None, Some(12.0)], &[(12.1, UPPER)]),
    example("I3", Test::Iqr, &[10.0, 12.0, 11.0, 50.0], both(3.0), all(11.5, -20.75, 43.75), &[(45.0, UPPER)]),
    example("I4", Test::Iqr, &[7.0], both(1.5), all(7.0, 7.0, 7.0), &[(7.0, None), (7.01, UPPER)]),

    example("D1", Test::DeltaIqr, D1, both(1.5), all(100.0, 98.83621617, 101.16378383), &[(102.0, UPPER)]),
    example("D2", Test::DeltaIqr, &[99.0, 101.0, 100.0, 98.0, 102.0], both(1.5),
        all(100.0, 98.81794761, 101.18205239), &[]),
    example("D3", Test::DeltaIqr, &[65.0, 70.0, 55.0, 60.0, 50.0], both(2.0),
        all(60.0, 49.06093906, 70.93906094), &[(71.0, UPPER)]),
    example("D4", Test::DeltaIqr, &[12.0, 10.0], both(2.0), all(11.0, 11.0, 11.0), &[(11.5, UPPER)]),
];

/// Asserts equality to eight decimal places, the precision of the examples.
fn assert_same(actual: Option<f64>, expected: Option<f64>, case: &str) {
    match (actual, expected) {
        (None, None) => {}
        (Some(actual), Some(expected)) => {
            assert!((actual - expected).abs() < 0.51e-8, "{case}: {actual} instead of {expected}");
        }
        _ => panic!("{case}: {actual:?} instead of {expected:?}"),
    }
}

#[test]
fn every_model_agrees_with_the_worked_examples() {
    for example in EXAMPLES {
        let [lower_boundary, upper_boundary] = example.boundaries;
        let model = Model { lower_boundary, upper_boundary, ..Model::new(example.test) };
        assert_eq!(model.check(), Ok(()), "{}", example.name);
        let limits = limits(&model, example.sample).expect(example.name);
        let [baseline, lower, upper] = example.expected;
        assert_same(limits.baseline, baseline, &format!("{} baseline", example.name));
        assert_same(limits.lower, lower, &format!("{} lower", example.name));
        assert_same(limits.upper, upper, &format!("{} upper", example.name));
        for &(value, verdict) in example.verdicts {
            assert_eq!(crossed_limit(value, &limits), verdict, "{} with {value}", example.name);
        }
    }
}

/// A series of reports, each checked against the earlier ones.
#[test]
fn each_report_is_checked_against_the_earlier_reports() {
    let model =
        Model { min_sample_size: Some(2), upper_boundary: Some(0.01), ..Model::new(Test::Percentage) };
    assert_eq!(limits(&model, &[]), None);
    assert_eq!(limits(&model, &[100.0]), None);

    let third = limits(&model, &[100.0, 100.0]).unwrap();
    assert_eq!(third, Limits { baseline: Some(100.0), lower: None, upper: Some(101.0) });
    assert_eq!(crossed_limit(999_999.0, &third), Some(Side::Upper));

    let fourth = limits(&model, &[999_999.0, 100.0, 100.0]).unwrap();
    assert!((fourth.baseline.unwrap() - 333_399.67).abs() < 0.005);
    assert!((fourth.upper.unwrap() - 336_733.66).abs() < 0.005);
    assert_eq!(crossed_limit(100.0, &fourth), None);

    let eager = Model { min_sample_size: Some(1), upper_boundary: Some(0.1), ..model };
    assert_eq!(limits(&eager, &[]), None);
    let second = limits(&eager, &[100.0]).unwrap();
    assert!((second.upper.unwrap() - 110.0).abs() < 1e-12);
    assert_eq!(crossed_limit(200.0, &second), Some(Side::Upper));
}

#[test]
fn an_unsuitable_sample_gives_no_limits() {
    for test in Test::ALL {
        let none = Model::new(test);
        assert_eq!(limits(&none, D1), None, "{test} without boundaries");
        let model = Model { upper_boundary: Some(0.95), ..none };
        assert_eq!(limits(&model, &[]).is_some(), test == Test::Static, "{test} without values");
        let takes_one = matches!(test, Test::Static | Test::Percentage | Test::Iqr);
        assert_eq!(limits(&model, &[5.0]).is_some(), takes_one, "{test} with one value");
        let patient = Model { min_sample_size: Some(6), ..model };
        assert_eq!(limits(&patient, D1).is_some(), test == Test::Static, "{test} short of its minimum");
    }
    let log_normal = Model { upper_boundary: Some(0.95), ..Model::new(Test::LogNormal) };
    for sample in [[1.0, 0.0], [1.0, -1.0], [-1.0, -2.0], [0.0, 0.0]] {
        assert_eq!(limits(&log_normal, &sample), None, "no logarithms of {sample:?}");
    }
    let delta_iqr = Model { upper_boundary: Some(2.0), ..Model::new(Test::DeltaIqr) };
    for sample in [&[0.0, 1.0][..], &[0.0, 0.0], &[1.0, 0.0, 1.0], &[0.0, 0.0, 0.0, 5.0]] {
        assert_eq!(limits(&delta_iqr, sample), None, "no relative change of {sample:?}");
    }
    let one_zero = [100.0, 101.0, 102.0, 100.0, 99.0, 98.0, 100.0, 0.0, 100.0];
    assert!(limits(&delta_iqr, &one_zero).is_some(), "one infinite change lies beyond the quartiles");
}

#[test]
fn a_boundary_outside_its_range_sets_no_limit() {
    for (test, boundary) in [
        (Test::Static, f64::NAN),
        (Test::Percentage, -0.1),
        (Test::ZScore, 1.0),
        (Test::TTest, 0.0),
        (Test::LogNormal, 2.0),
        (Test::Iqr, f64::INFINITY),
    ] {
        let model = Model { lower_boundary: Some(boundary), ..Model::new(test) };
        assert_eq!(limits(&model, D1), None, "{test} {boundary}");
    }
}

#[test]
fn only_the_newest_values_count() {
    let model = Model { max_sample_size: Some(2), upper_boundary: Some(1.0), ..Model::new(Test::Percentage) };
    assert_eq!(limits(&model, &[3.0, 5.0, 1000.0]).unwrap().baseline, Some(4.0));
}

#[test]
fn overflow_gives_no_limits() {
    for test in Test::ALL {
        let model = Model { lower_boundary: Some(0.95), upper_boundary: Some(0.95), ..Model::new(test) };
        for sample in [[f64::MAX, f64::MIN, f64::MAX], [f64::MAX; 3], [f64::NAN; 3], [f64::INFINITY; 3]] {
            let limits = limits(&model, &sample);
            let fine = |number: Option<f64>| number.is_none_or(f64::is_finite);
            assert!(
                limits.is_none_or(|limits| fine(limits.baseline) && fine(limits.lower) && fine(limits.upper)),
                "{test} of {sample:?} gives {limits:?}"
            );
        }
    }
}
