//! Properties of every model and every sample.

use proptest::collection::vec;
use proptest::prelude::*;
use tidemark_stats::{BoundaryRange, Limits, MAX_SAMPLE, Model, PreparedModel, Side, Test, crossed_limit};

fn limits(model: &Model, sample: &[f64]) -> Option<Limits> {
    PreparedModel::new(model).limits(sample)
}

/// Maps a number between zero and one to a boundary in the range of a test.
fn boundary(test: Test, share: f64) -> f64 {
    match test.properties().boundary {
        BoundaryRange::Finite => (share - 0.5) * 1e6,
        BoundaryRange::Factor => share * 5.0,
        BoundaryRange::Probability => 0.5 + share * 0.4999,
    }
}

fn two_sided(test: Test, lower: f64, upper: f64) -> Model {
    let (lower, upper) = (boundary(test, lower), boundary(test, upper));
    Model { lower_boundary: Some(lower), upper_boundary: Some(upper), ..Model::new(test) }
}

fn tests() -> impl Strategy<Value = Test> {
    proptest::sample::select(&Test::ALL[..])
}

/// Selects tests that use a sample.
fn sampled() -> impl Strategy<Value = Test> {
    proptest::sample::select(&Test::ALL[1..])
}

/// Selects tests that accept values of either sign.
fn signed() -> impl Strategy<Value = Test> {
    proptest::sample::select(vec![Test::Percentage, Test::ZScore, Test::TTest, Test::Iqr, Test::DeltaIqr])
}

/// Generates typical benchmark series: positive, around a common magnitude.
fn series() -> impl Strategy<Value = Vec<f64>> {
    (-9..12_i32, vec(0.5..2.0_f64, 2..80)).prop_map(|(magnitude, values)| {
        values.into_iter().map(|value| value * 10_f64.powi(magnitude)).collect()
    })
}

/// Returns baseline, lower and upper limit, all of which must exist.
fn numbers(limits: Option<Limits>) -> [f64; 3] {
    let limits = limits.expect("two boundaries and an ordinary series give limits");
    [limits.lower, limits.baseline, limits.upper]
        .map(|number| number.expect("two boundaries give both limits"))
}

/// Asserts equality up to rounding, relative to the magnitude of the input.
fn assert_close(actual: [f64; 3], expected: [f64; 3], size: f64) -> Result<(), TestCaseError> {
    for (actual, expected) in actual.into_iter().zip(expected) {
        let tolerance = 1e-10 * (size + expected.abs());
        prop_assert!((actual - expected).abs() <= tolerance, "{} instead of {}", actual, expected);
    }
    Ok(())
}

proptest! {
    #[test]
    fn limits_enclose_the_baseline(test in sampled(), sample in series(), lower in 0.0..1.0, upper in 0.0..1.0) {
        let [lower, baseline, upper] = numbers(limits(&two_sided(test, lower, upper), &sample));
        prop_assert!(lower <= baseline && baseline <= upper);
    }

    #[test]
    fn limits_enclose_the_baseline_below_zero(test in signed(), sample in series(), share in 0.0..1.0) {
        let negative: Vec<f64> = sample.iter().map(|value| -value).collect();
        let [lower, baseline, upper] = numbers(limits(&two_sided(test, share, share), &negative));
        prop_assert!(lower <= baseline && baseline <= upper);
    }

    #[test]
    fn limits_are_finite_for_any_input(
        test in tests(),
        sample in vec(any::<f64>(), 0..12),
        lower in proptest::option::of(any::<f64>()),
        upper in proptest::option::of(any::<f64>()),
    ) {
        let model = Model { lower_boundary: lower, upper_boundary: upper, ..Model::new(test) };
        if let Some(limits) = limits(&model, &sample) {
            for number in [limits.baseline, limits.lower, limits.upper].into_iter().flatten() {
                prop_assert!(number.is_finite());
            }
            prop_assert!(limits.lower.is_some() || limits.upper.is_some());
        }
    }

    #[test]
    fn a_constant_history_has_equal_limits(
        test in sampled(),
        value in prop_oneof![1e-9..1e-3, 1e-3..1e3, 1e3..1e12_f64],
        count in 2..100_usize,
        share in 0.0..1.0,
    ) {
        prop_assume!(test != Test::Percentage);
        let limits = limits(&two_sided(test, share, share), &vec![value; count]);
        prop_assert_eq!(numbers(limits), [value; 3]);
        let limits = limits.unwrap();
        prop_assert_eq!(crossed_limit(value, &limits), None);
        prop_assert_eq!(crossed_limit(value.next_up(), &limits), Some(Side::Upper));
        prop_assert_eq!(crossed_limit(value.next_down(), &limits), Some(Side::Lower));
    }

    #[test]
    fn a_constant_history_is_the_baseline_of_a_percentage(value in -1e9..1e9_f64, count in 1..100_usize) {
        let model = two_sided(Test::Percentage, 0.0, 0.0);
        prop_assert_eq!(numbers(limits(&model, &vec![value; count])), [value; 3]);
    }

    #[test]
    fn a_greater_boundary_gives_wider_limits(test in sampled(), sample in series(), a in 0.0..1.0, b in 0.0..1.0) {
        let (less, more) = (f64::min(a, b), f64::max(a, b));
        let narrow = numbers(limits(&two_sided(test, less, less), &sample));
        let wide = numbers(limits(&two_sided(test, more, more), &sample));
        prop_assert!(wide[0] <= narrow[0] && narrow[2] <= wide[2]);
        prop_assert_eq!(narrow[1], wide[1]);
    }

    #[test]
    fn limits_scale_with_the_unit(test in sampled(), sample in series(), share in 0.0..1.0, unit in 1e-6..1e6) {
        let model = two_sided(test, share, share);
        let converted: Vec<f64> = sample.iter().map(|value| value * unit).collect();
        let expected = numbers(limits(&model, &sample)).map(|number| number * unit);
        assert_close(numbers(limits(&model, &converted)), expected, 0.0)?;
    }

    #[test]
    fn limits_shift_with_the_values(sample in series(), share in 0.0..1.0, offset in -1e3..1e3_f64) {
        for test in [Test::ZScore, Test::TTest, Test::Iqr] {
            let model = two_sided(test, share, share);
            let offset = offset * sample[0];
            let shifted: Vec<f64> = sample.iter().map(|value| value + offset).collect();
            let expected = numbers(limits(&model, &sample)).map(|number| number + offset);
            assert_close(numbers(limits(&model, &shifted)), expected, offset.abs())?;
        }
    }

    #[test]
    fn order_matters_only_for_changes(test in sampled(), sample in series(), share in 0.0..1.0) {
        prop_assume!(test != Test::DeltaIqr);
        let model = two_sided(test, share, share);
        let reversed: Vec<f64> = sample.iter().rev().copied().collect();
        assert_close(numbers(limits(&model, &reversed)), numbers(limits(&model, &sample)), 0.0)?;
    }

    #[test]
    fn the_limits_of_the_t_test_are_wider_than_those_of_the_z_score(sample in series(), share in 0.001..1.0) {
        let normal = numbers(limits(&two_sided(Test::ZScore, share, share), &sample));
        let student = numbers(limits(&two_sided(Test::TTest, share, share), &sample));
        prop_assert!(student[0] <= normal[0] && normal[2] <= student[2]);
    }

    #[test]
    fn a_prepared_model_does_not_depend_on_earlier_samples(
        test in tests(), samples in vec(series(), 1..8), lower in 0.0..1.0, upper in 0.0..1.0,
    ) {
        let model = two_sided(test, lower, upper);
        let mut prepared = PreparedModel::new(&model);
        for sample in &samples {
            prop_assert_eq!(prepared.limits(sample), limits(&model, sample));
        }
    }
}

#[test]
fn a_minimum_sample_size_above_the_maximum_counts_as_the_maximum() {
    let sample: Vec<f64> =
        (0..MAX_SAMPLE).map(|number| 100.0 + f64::from(u8::try_from(number % 7).unwrap())).collect();
    for test in &Test::ALL[1..] {
        for size in [4097, 5000, u32::MAX] {
            let model = Model { min_sample_size: Some(size), ..two_sided(*test, 0.5, 0.5) };
            assert!(limits(&model, &sample).is_some(), "{test} {size}");
            assert_eq!(limits(&model, &sample[1..]), None, "{test} {size}");
            let largest = Model { min_sample_size: Some(4096), ..model };
            assert_eq!(limits(&model, &sample), limits(&largest, &sample), "{test} {size}");
        }
    }
}
