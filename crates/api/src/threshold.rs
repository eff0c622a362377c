//! Thresholds and their models. `tidemark-stats` computes the limits.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tidemark_stats::{Test, Worse};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

use crate::{
    Branch, Invalid, Measure, ModelUuid, NameId, ProjThresholdsSort, ProjectUuid, Testbed, ThresholdUuid,
    Timestamp, scalar::integer,
};

/// Statistical test of a model: a value of [`Test`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelTest(pub Test);

impl Serialize for ModelTest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for ModelTest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| {
            de::Error::custom(format!("expected one of: {}", Test::ALL.map(Test::as_str).join(" ")))
        })
    }
}

impl PartialSchema for ModelTest {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(Test::ALL.map(Test::as_str)))
            .description(Some("How a model judges."))
            .into()
    }
}

impl ToSchema for ModelTest {
    fn name() -> std::borrow::Cow<'static, str> {
        "ModelTest".into()
    }
}

integer! {
    /// Number of metrics.
    SampleSize(u32, "uint32"), 1, 4_294_967_295
}

integer! {
    /// Duration in seconds.
    Window(u32, "uint32"), 1, 4_294_967_295
}

/// Boundary of a model: a finite number whose meaning depends on the test.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, ToSchema)]
#[schema(value_type = f64)]
pub struct Boundary(f64);

impl Boundary {
    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Boundary {
    type Error = Invalid;

    fn try_from(number: f64) -> Result<Self, Invalid> {
        if number.is_finite() { Ok(Self(number)) } else { Err(Invalid::new("a boundary is a finite number")) }
    }
}

impl<'de> Deserialize<'de> for Boundary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}

/// A rule for one measure on one branch and testbed. Its model computes the limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonThreshold)]
pub struct Threshold {
    /// UUID of the threshold.
    pub uuid: ThresholdUuid,
    /// UUID of the project that the threshold belongs to.
    pub project: ProjectUuid,
    /// Branch that the threshold applies to.
    pub branch: Branch,
    /// Testbed that the threshold applies to.
    pub testbed: Testbed,
    /// Measure that the threshold applies to.
    pub measure: Measure,
    /// Requested model, or the current model by default; null if the model was removed.
    pub model: Option<Model>,
    /// Time when the threshold was created.
    pub created: Timestamp,
    /// Time when the threshold was last modified.
    pub modified: Timestamp,
}

/// A threshold with the model that was in effect, without branch, testbed and measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonThresholdModel)]
pub struct ThresholdModel {
    /// UUID of the threshold.
    pub uuid: ThresholdUuid,
    /// UUID of the project that the threshold belongs to.
    pub project: ProjectUuid,
    /// Model that was in effect.
    pub model: Model,
    /// Time when the threshold was created.
    pub created: Timestamp,
}

/// Settings of a threshold. A model never changes; an update of the threshold creates a new model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonModel)]
pub struct Model {
    /// UUID of the model.
    pub uuid: ModelUuid,
    /// Statistical test.
    pub test: ModelTest,
    /// Minimum number of metrics; with fewer there are no limits. Values above 4,096 count as 4,096. Null for the minimum of the
    /// test.
    pub min_sample_size: Option<SampleSize>,
    /// Maximum number of metrics, the newest. Values above 4,096 count as 4,096. Null for 4,096.
    pub max_sample_size: Option<SampleSize>,
    /// Maximum age of the metrics, in seconds; null for no limit.
    pub window: Option<Window>,
    /// Lower boundary; null if there is none.
    pub lower_boundary: Option<Boundary>,
    /// Upper boundary; null if there is none.
    pub upper_boundary: Option<Boundary>,
    /// Time when the model was created.
    pub created: Timestamp,
    /// Time when the model was replaced or removed; null for the current model.
    pub replaced: Option<Timestamp>,
}

impl Model {
    /// Returns the settings for the computation.
    pub fn settings(&self) -> tidemark_stats::Model {
        tidemark_stats::Model {
            test: self.test.0,
            min_sample_size: self.min_sample_size.map(SampleSize::get),
            max_sample_size: self.max_sample_size.map(SampleSize::get),
            window: self.window.map(Window::get),
            lower_boundary: self.lower_boundary.map(Boundary::get),
            upper_boundary: self.upper_boundary.map(Boundary::get),
        }
    }
}

/// A new model for a threshold. Omitted fields set no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Model)]
pub struct NewModel {
    /// Statistical test.
    pub test: ModelTest,
    /// Minimum number of metrics; with fewer there are no limits. Values above 4,096 count as 4,096. The minimum of the test by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_sample_size: Option<SampleSize>,
    /// Maximum number of metrics, the newest. Values above 4,096 count as 4,096; 4,096 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sample_size: Option<SampleSize>,
    /// Maximum age of the metrics, in seconds; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Lower boundary. If a `z_score`, `t_test` or `log_normal` test has no boundary, 0.95 applies to the side where the measure
    /// gets worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_boundary: Option<Boundary>,
    /// Upper boundary. If a `z_score`, `t_test` or `log_normal` test has no boundary, 0.95 applies to the side where the measure
    /// gets worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_boundary: Option<Boundary>,
}

impl NewModel {
    /// Adds the default boundary for a measure that gets worse in a direction, and validates the model.
    pub fn complete(self, worse: Worse) -> Result<tidemark_stats::Model, tidemark_stats::Invalid> {
        let model = tidemark_stats::Model {
            test: self.test.0,
            min_sample_size: self.min_sample_size.map(SampleSize::get),
            max_sample_size: self.max_sample_size.map(SampleSize::get),
            window: self.window.map(Window::get),
            lower_boundary: self.lower_boundary.map(Boundary::get),
            upper_boundary: self.upper_boundary.map(Boundary::get),
        }
        .with_default_boundary(worse);
        model.check()?;
        Ok(model)
    }
}

/// A threshold to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewThreshold)]
pub struct NewThreshold {
    /// UUID, slug or name of the branch.
    pub branch: NameId,
    /// UUID, slug or name of the testbed.
    pub testbed: NameId,
    /// UUID, slug or name of the measure.
    pub measure: NameId,
    /// Statistical test.
    pub test: ModelTest,
    /// Minimum number of metrics; with fewer there are no limits. Values above 4,096 count as 4,096. The minimum of the test by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_sample_size: Option<SampleSize>,
    /// Maximum number of metrics, the newest. Values above 4,096 count as 4,096; 4,096 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sample_size: Option<SampleSize>,
    /// Maximum age of the metrics, in seconds; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Lower boundary. If a `z_score`, `t_test` or `log_normal` test has no boundary, 0.95 applies to the side where the measure
    /// gets worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_boundary: Option<Boundary>,
    /// Upper boundary. If a `z_score`, `t_test` or `log_normal` test has no boundary, 0.95 applies to the side where the measure
    /// gets worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_boundary: Option<Boundary>,
}

impl NewThreshold {
    /// Returns the first model of the threshold.
    pub const fn model(&self) -> NewModel {
        NewModel {
            test: self.test,
            min_sample_size: self.min_sample_size,
            max_sample_size: self.max_sample_size,
            window: self.window,
            lower_boundary: self.lower_boundary,
            upper_boundary: self.upper_boundary,
        }
    }
}

/// New model of a threshold, or its removal. Omitted fields and null set no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateThreshold)]
#[serde(deny_unknown_fields)]
pub struct ThresholdPut {
    /// Statistical test; null removes the model, regardless of the other fields.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub test: Option<ModelTest>,
    /// Minimum number of metrics; with fewer there are no limits. Values above 4,096 count as 4,096. The minimum of the test by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_sample_size: Option<SampleSize>,
    /// Maximum number of metrics, the newest. Values above 4,096 count as 4,096; 4,096 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sample_size: Option<SampleSize>,
    /// Maximum age of the metrics, in seconds; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Lower boundary. If a `z_score`, `t_test` or `log_normal` test has no boundary, 0.95 applies to the side where the measure
    /// gets worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_boundary: Option<Boundary>,
    /// Upper boundary. If a `z_score`, `t_test` or `log_normal` test has no boundary, 0.95 applies to the side where the measure
    /// gets worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_boundary: Option<Boundary>,
}

impl ThresholdPut {
    /// Returns the new model; `None` if the model is removed.
    pub fn model(&self) -> Option<NewModel> {
        self.test.map(|test| NewModel {
            test,
            min_sample_size: self.min_sample_size,
            max_sample_size: self.max_sample_size,
            window: self.window,
            lower_boundary: self.lower_boundary,
            upper_boundary: self.upper_boundary,
        })
    }
}

/// Filter of a list of thresholds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ThresholdFilter {
    /// Only thresholds of this branch, given by UUID, slug or name.
    #[param(inline)]
    pub branch: Option<NameId>,
    /// Only thresholds of this testbed, given by UUID, slug or name.
    #[param(inline)]
    pub testbed: Option<NameId>,
    /// Only thresholds of this measure, given by UUID, slug or name.
    #[param(inline)]
    pub measure: Option<NameId>,
    /// Whether to list thresholds with an archived branch, testbed or measure instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `created` by default.
    #[param(inline)]
    pub sort: Option<ProjThresholdsSort>,
}

/// Model of a threshold to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ModelQuery {
    /// UUID of a current or replaced model of the threshold; the current model by default.
    #[param(inline)]
    pub model: Option<ModelUuid>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(json: &str) -> Result<ThresholdPut, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn null_removes_the_model_and_absence_is_rejected() {
        assert_eq!(put(r#"{"test":null}"#).unwrap().model(), None);
        assert_eq!(put(r#"{"test":null,"window":60}"#).unwrap().model(), None);
        assert!(put("{}").unwrap_err().starts_with("missing field `test`"));
        for json in [r#"{"test":null,"window":0}"#, r#"{"test":null,"windows":60}"#, r#"{"window":60}"#] {
            assert!(put(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_put_sets_the_model() {
        let model = put(r#"{"test":"t","max_sample_size":64,"window":null,"upper_boundary":0.99}"#)
            .unwrap()
            .model()
            .unwrap();
        assert_eq!(model.test, ModelTest(Test::TTest));
        assert_eq!(model.max_sample_size.map(SampleSize::get), Some(64));
        assert_eq!((model.min_sample_size, model.window, model.lower_boundary), (None, None, None));
        assert_eq!(model.upper_boundary.map(Boundary::get), Some(0.99));
    }

    #[test]
    fn tests_are_fixed_strings() {
        for test in Test::ALL {
            let json = serde_json::to_string(&ModelTest(test)).unwrap();
            assert_eq!(json, format!("\"{test}\""));
            assert_eq!(serde_json::from_str::<ModelTest>(&json).unwrap(), ModelTest(test));
        }
        assert_eq!(serde_json::from_str::<ModelTest>("\"z\"").unwrap(), ModelTest(Test::ZScore));
        let error = serde_json::from_str::<ModelTest>("\"Z\"").unwrap_err().to_string();
        assert!(error.starts_with("expected one of: static percentage z_score t_test log_normal"), "{error}");
    }

    #[test]
    fn boundaries_are_finite_numbers() {
        for (json, number) in [("-5", -5.0), ("5", 5.0), ("-5.5", -5.5), ("0.95", 0.95), ("1e3", 1000.0)] {
            assert_eq!(serde_json::from_str::<Boundary>(json).unwrap().get(), number, "{json}");
        }
        for json in ["1e999", "\"0.95\"", "null", "true"] {
            assert!(serde_json::from_str::<Boundary>(json).is_err(), "{json}");
        }
        assert!(Boundary::try_from(f64::NAN).is_err() && Boundary::try_from(f64::INFINITY).is_err());
    }

    #[test]
    fn the_error_of_a_sample_size_states_its_range() {
        assert_eq!(serde_json::from_str::<SampleSize>("4294967295").unwrap().get(), u32::MAX);
        for json in ["0", "4294967296", "-1", "1.5", "\"1\"", "null"] {
            let error = serde_json::from_str::<SampleSize>(json).unwrap_err().to_string();
            assert!(error.contains("expected an integer from 1 to 4294967295"), "{error}");
        }
        assert!(SampleSize::try_from(0).is_err());
    }

    #[test]
    fn a_model_is_completed_and_checked() {
        let model = |json: &str| serde_json::from_str::<NewModel>(json).unwrap();
        let completed = model(r#"{"test":"t_test"}"#).complete(Worse::Up).unwrap();
        assert_eq!((completed.lower_boundary, completed.upper_boundary), (None, Some(0.95)));
        let completed = model(r#"{"test":"static","lower_boundary":-5}"#).complete(Worse::Up).unwrap();
        assert_eq!((completed.lower_boundary, completed.upper_boundary), (Some(-5.0), None));
        for json in [
            r#"{"test":"percentage"}"#,
            r#"{"test":"static","upper_boundary":1,"window":60}"#,
            r#"{"test":"t_test","upper_boundary":1}"#,
            r#"{"test":"iqr","upper_boundary":1,"min_sample_size":1}"#,
        ] {
            assert!(model(json).complete(Worse::Unknown).is_err(), "{json}");
        }
    }
}
