//! Models of thresholds and their validation. Other modules compute the limits.

use std::fmt;

use crate::Test;

/// A test and its settings.
///
/// An absent setting imposes no restriction. Construction does not validate, so that a stored model can be read unchanged;
/// [`Model::check`] validates a model before it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Test that computes the limits.
    pub test: Test,
    /// Minimum number of values; with fewer there are no limits.
    pub min_sample_size: Option<u32>,
    /// Maximum number of values, at most [`MAX_SAMPLE`](crate::MAX_SAMPLE); older values are ignored.
    pub max_sample_size: Option<u32>,
    /// Maximum age of a value in seconds; older values are ignored.
    pub window: Option<u32>,
    /// Lower boundary; its meaning depends on the test.
    pub lower_boundary: Option<f64>,
    /// Upper boundary; its meaning depends on the test.
    pub upper_boundary: Option<f64>,
}

/// The direction in which a measure gets worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Worse {
    /// Greater values are worse, for example of latency.
    Up,
    /// Smaller values are worse, for example of throughput.
    Down,
    /// The direction is not defined.
    Unknown,
}

/// Error of an invalid model or an unknown test: one sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl Invalid {
    pub(crate) fn new(sentence: String) -> Self {
        Self(sentence)
    }
}

// Written by hand, because this crate has no dependencies.
impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

impl Model {
    /// Creates a model without boundaries and sample settings.
    pub const fn new(test: Test) -> Self {
        Self {
            test,
            min_sample_size: None,
            max_sample_size: None,
            window: None,
            lower_boundary: None,
            upper_boundary: None,
        }
    }

    /// Returns the model with the default boundary on the side where the measure gets worse.
    ///
    /// A model that has a boundary, or whose test has no default, is returned unchanged.
    #[must_use]
    pub fn with_default_boundary(self, worse: Worse) -> Self {
        if self.lower_boundary.is_some() || self.upper_boundary.is_some() {
            return self;
        }
        let boundary = self.test.properties().default_boundary;
        Self {
            lower_boundary: boundary.filter(|_| worse != Worse::Up),
            upper_boundary: boundary.filter(|_| worse != Worse::Down),
            ..self
        }
    }

    /// Validates the settings and returns the first error.
    ///
    /// At least one boundary is required, so call [`Model::with_default_boundary`] first.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_sample()?;
        self.check_boundaries()
    }

    fn check_sample(&self) -> Result<(), Invalid> {
        let test = self.test;
        let sizes = [("min_sample_size", self.min_sample_size), ("max_sample_size", self.max_sample_size)];
        let Some(minimum) = test.properties().min_sample_size else {
            for (field, setting) in sizes.into_iter().chain([("window", self.window)]) {
                if let Some(value) = setting {
                    return reject(format!(
                        "`{field}` is {value}, but the test {test} does not use earlier values. Omit `{field}`."
                    ));
                }
            }
            return Ok(());
        };
        for (field, size) in sizes {
            if let Some(size) = size.filter(|&size| size < minimum) {
                return reject(format!(
                    "`{field}` is {size}, but for the test {test} it must be at least {minimum}."
                ));
            }
        }
        if let (Some(min), Some(max)) = (self.min_sample_size, self.max_sample_size)
            && min > max
        {
            return reject(format!(
                "`min_sample_size` is {min}, but it must not be greater than `max_sample_size`, which is {max}."
            ));
        }
        if self.window == Some(0) {
            return reject("`window` is 0, but it must be at least 1 second.".to_owned());
        }
        Ok(())
    }

    fn check_boundaries(&self) -> Result<(), Invalid> {
        let test = self.test;
        let range = test.properties().boundary;
        for (field, boundary) in
            [("lower_boundary", self.lower_boundary), ("upper_boundary", self.upper_boundary)]
        {
            if let Some(value) = boundary.filter(|&value| !range.contains(value)) {
                return reject(format!("`{field}` is {value}, but for the test {test} it must be {range}."));
            }
        }
        match (self.lower_boundary, self.upper_boundary) {
            (None, None) => reject(format!(
                "`lower_boundary` and `upper_boundary` are both missing, but the test {test} needs at least one."
            )),
            (Some(lower), Some(upper)) if test == Test::Static && lower > upper => reject(format!(
                "`lower_boundary` is {lower}, but it must not be greater than `upper_boundary`, which is {upper}."
            )),
            _ => Ok(()),
        }
    }
}

fn reject(sentence: String) -> Result<(), Invalid> {
    Err(Invalid::new(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(test: Test, lower_boundary: Option<f64>, upper_boundary: Option<f64>) -> Model {
        Model { lower_boundary, upper_boundary, ..Model::new(test) }
    }

    fn error(model: Model) -> String {
        model.check().unwrap_err().to_string()
    }

    /// A boundary that is valid for every test.
    const VALID_FOR_ALL: Option<f64> = Some(0.5);

    #[test]
    fn each_test_accepts_boundaries_in_its_range() {
        let accepted: [(Test, &[f64]); 7] = [
            (Test::Static, &[-1e300, -5.0, 0.0, 0.5, 1e300]),
            (Test::Percentage, &[0.0, 0.1, 1.0, 250.0]),
            (Test::ZScore, &[0.5, 0.95, 1.0 - f64::EPSILON / 2.0]),
            (Test::TTest, &[0.5, 0.95, 1.0 - f64::EPSILON / 2.0]),
            (Test::LogNormal, &[0.5, 0.95, 1.0 - f64::EPSILON / 2.0]),
            (Test::Iqr, &[0.0, 1.5, 100.0]),
            (Test::DeltaIqr, &[0.0, 1.5, 100.0]),
        ];
        for (test, boundaries) in accepted {
            for &boundary in boundaries {
                for (lower, upper) in
                    [(Some(boundary), None), (None, Some(boundary)), (Some(boundary), Some(boundary))]
                {
                    assert_eq!(bounded(test, lower, upper).check(), Ok(()), "{test} {boundary}");
                }
            }
        }
    }

    #[test]
    fn each_test_rejects_boundaries_outside_its_range() {
        let rejected: [(Test, &[f64]); 7] = [
            (Test::Static, &[]),
            (Test::Percentage, &[-0.1, -f64::MIN_POSITIVE]),
            (Test::ZScore, &[-0.5, 0.0, 0.49, 1.0, 95.0]),
            (Test::TTest, &[-0.5, 0.0, 0.49, 1.0, 95.0]),
            (Test::LogNormal, &[-0.5, 0.0, 0.49, 1.0, 95.0]),
            (Test::Iqr, &[-1.5]),
            (Test::DeltaIqr, &[-1.5]),
        ];
        for (test, boundaries) in rejected {
            for &boundary in boundaries.iter().chain(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]) {
                assert!(bounded(test, Some(boundary), VALID_FOR_ALL).check().is_err(), "{test} {boundary}");
                assert!(bounded(test, VALID_FOR_ALL, Some(boundary)).check().is_err(), "{test} {boundary}");
            }
            assert!(bounded(test, None, None).check().is_err(), "{test} without boundary");
        }
    }

    #[test]
    fn each_test_has_a_minimum_sample_size() {
        for test in Test::ALL {
            for (size, fits) in [
                (0, false),
                (1, test == Test::Percentage),
                (2, test != Test::Static),
                (4096, test != Test::Static),
            ] {
                let model = bounded(test, None, VALID_FOR_ALL);
                let min = Model { min_sample_size: Some(size), ..model };
                let max = Model { max_sample_size: Some(size), ..model };
                assert_eq!(min.check().is_ok(), fits, "{test} min {size}");
                assert_eq!(max.check().is_ok(), fits, "{test} max {size}");
            }
            let huge = Model { max_sample_size: Some(u32::MAX), ..bounded(test, None, VALID_FOR_ALL) };
            assert_eq!(huge.check().is_ok(), test != Test::Static, "{test} with a huge sample");
            let huge_minimum = Model { min_sample_size: Some(u32::MAX), ..huge };
            assert_eq!(
                huge_minimum.check().is_ok(),
                test != Test::Static,
                "{test} limits it to the maximum sample size"
            );
            let windowed = |window| Model { window: Some(window), ..bounded(test, None, VALID_FOR_ALL) };
            assert_eq!(windowed(1).check().is_ok(), test != Test::Static, "{test} with a window");
            assert!(windowed(0).check().is_err(), "{test} with an empty window");
        }
    }

    #[test]
    fn minimum_must_not_exceed_maximum() {
        let sized = |min, max| Model {
            min_sample_size: Some(min),
            max_sample_size: Some(max),
            ..bounded(Test::TTest, None, VALID_FOR_ALL)
        };
        assert_eq!(sized(2, 2).check(), Ok(()));
        assert!(sized(3, 2).check().is_err());
        assert_eq!(bounded(Test::Static, Some(3.0), Some(3.0)).check(), Ok(()));
        assert!(bounded(Test::Static, Some(3.5), Some(3.0)).check().is_err());
        assert_eq!(bounded(Test::Iqr, Some(3.0), Some(1.0)).check(), Ok(()), "factors are independent");
    }

    #[test]
    fn the_error_names_the_field_the_value_and_the_rule() {
        assert_eq!(
            error(bounded(Test::TTest, None, Some(1.5))),
            "`upper_boundary` is 1.5, but for the test t_test it must be at least 0.5 and less than 1."
        );
        assert_eq!(
            error(bounded(Test::Iqr, Some(-2.0), None)),
            "`lower_boundary` is -2, but for the test iqr it must be a finite number that is at least 0."
        );
        assert_eq!(
            error(bounded(Test::Percentage, None, None)),
            "`lower_boundary` and `upper_boundary` are both missing, but the test percentage needs at least one."
        );
        assert_eq!(
            error(bounded(Test::Static, Some(2.5), Some(-1.0))),
            "`lower_boundary` is 2.5, but it must not be greater than `upper_boundary`, which is -1."
        );
        assert_eq!(
            error(Model { window: Some(60), ..bounded(Test::Static, None, Some(1.0)) }),
            "`window` is 60, but the test static does not use earlier values. Omit `window`."
        );
        assert_eq!(
            error(Model { min_sample_size: Some(1), ..bounded(Test::ZScore, None, Some(0.9)) }),
            "`min_sample_size` is 1, but for the test z_score it must be at least 2."
        );
    }

    #[test]
    fn the_default_boundary_is_on_the_worse_side() {
        for test in [Test::ZScore, Test::TTest, Test::LogNormal] {
            let model = Model::new(test);
            let default = Some(0.95);
            assert_eq!(model.with_default_boundary(Worse::Up), bounded(test, None, default));
            assert_eq!(model.with_default_boundary(Worse::Down), bounded(test, default, None));
            assert_eq!(model.with_default_boundary(Worse::Unknown), bounded(test, default, default));
            let given = bounded(test, Some(0.9), None);
            assert_eq!(given.with_default_boundary(Worse::Up), given);
        }
        for test in [Test::Static, Test::Percentage, Test::Iqr, Test::DeltaIqr] {
            assert_eq!(Model::new(test).with_default_boundary(Worse::Unknown), Model::new(test));
        }
    }
}
