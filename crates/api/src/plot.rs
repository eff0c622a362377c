//! Plots that are pinned to a project. Drawing them is not the contract's matter.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::{IntoParams, ToSchema};

use crate::{
    BenchmarkUuid, BranchUuid, MeasureUuid, PlotUuid, ProjPlotsSort, ProjectUuid, ResourceName, Search,
    TestbedUuid, Timestamp, Window,
    patch::present,
    scalar::{integer, word},
};

integer! {
    /// The place of a plot among those of its project, counted from 0.
    Index(u8, "uint8"), 0, 64
}

word! {
    /// What the horizontal axis of a plot shows.
    XAxis {
        /// When the benchmarks ran.
        DateTime = "date_time",
        /// The versions of the branch.
        Version = "version",
    }
}

word! {
    /// How the vertical axis of a plot is scaled.
    #[derive(Default)]
    YAxis {
        /// As suits the data.
        #[default]
        Auto = "auto",
        /// Linearly.
        Linear = "linear",
        /// Logarithmically.
        Log = "log",
    }
}

/// A plot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPlot)]
pub struct Plot {
    /// Its identifier.
    pub uuid: PlotUuid,
    /// The project it belongs to.
    pub project: ProjectUuid,
    /// Its title, if it has one.
    pub title: Option<ResourceName>,
    /// Whether it shows the lower values of the metrics.
    pub lower_value: bool,
    /// Whether it shows the upper values of the metrics.
    pub upper_value: bool,
    /// Whether it shows the lower limits of the thresholds.
    pub lower_boundary: bool,
    /// Whether it shows the upper limits of the thresholds.
    pub upper_boundary: bool,
    /// What the horizontal axis shows.
    pub x_axis: XAxis,
    /// How the vertical axis is scaled.
    pub y_axis: YAxis,
    /// How many seconds it looks back.
    pub window: Window,
    /// The branches it shows, in this order.
    pub branches: Vec<BranchUuid>,
    /// The testbeds it shows, in this order.
    pub testbeds: Vec<TestbedUuid>,
    /// The benchmarks it shows, in this order.
    pub benchmarks: Vec<BenchmarkUuid>,
    /// The measures it shows, in this order.
    pub measures: Vec<MeasureUuid>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
}

/// A plot to pin. What a list names twice counts once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewPlot)]
pub struct NewPlot {
    /// Its place among the plots of the project; the first when not given, the last when beyond the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Index>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<ResourceName>,
    /// Whether to show the lower values of the metrics.
    pub lower_value: bool,
    /// Whether to show the upper values of the metrics.
    pub upper_value: bool,
    /// Whether to show the lower limits of the thresholds.
    pub lower_boundary: bool,
    /// Whether to show the upper limits of the thresholds.
    pub upper_boundary: bool,
    /// What the horizontal axis shows.
    pub x_axis: XAxis,
    /// How the vertical axis is scaled.
    #[serde(default)]
    pub y_axis: YAxis,
    /// How many seconds to look back.
    pub window: Window,
    /// The branches to show, in this order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub branches: Vec<BranchUuid>,
    /// The testbeds to show, in this order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub testbeds: Vec<TestbedUuid>,
    /// The benchmarks to show, in this order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub benchmarks: Vec<BenchmarkUuid>,
    /// The measures to show, in this order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub measures: Vec<MeasureUuid>,
}

/// What to change of a plot. A field that is not there stays as it is; a list replaces the whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdatePlot)]
#[serde(deny_unknown_fields)]
pub struct PlotPatch {
    /// The new place among the plots of the project; the last when beyond the end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Index, required = false)]
    pub index: Option<Index>,
    /// The new title; null takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<ResourceName>, required = false)]
    pub title: Option<Option<ResourceName>>,
    /// Whether to show the lower values of the metrics.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub lower_value: Option<bool>,
    /// Whether to show the upper values of the metrics.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub upper_value: Option<bool>,
    /// Whether to show the lower limits of the thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub lower_boundary: Option<bool>,
    /// Whether to show the upper limits of the thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub upper_boundary: Option<bool>,
    /// What the horizontal axis is to show.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = XAxis, required = false)]
    pub x_axis: Option<XAxis>,
    /// How the vertical axis is to be scaled.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = YAxis, required = false)]
    pub y_axis: Option<YAxis>,
    /// How many seconds to look back.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Window, required = false)]
    pub window: Option<Window>,
    /// The branches to show, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<BranchUuid>, required = false, min_items = 1)]
    pub branches: Option<Vec<BranchUuid>>,
    /// The testbeds to show, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<TestbedUuid>, required = false, min_items = 1)]
    pub testbeds: Option<Vec<TestbedUuid>>,
    /// The benchmarks to show, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<BenchmarkUuid>, required = false, min_items = 1)]
    pub benchmarks: Option<Vec<BenchmarkUuid>>,
    /// The measures to show, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<MeasureUuid>, required = false, min_items = 1)]
    pub measures: Option<Vec<MeasureUuid>>,
}

/// Which plots to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PlotFilter {
    /// Only those with exactly this title.
    #[param(inline)]
    pub title: Option<ResourceName>,
    /// Only those with this text in the title or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjPlotsSort>,
}

/// Reads a list that cannot be empty, and keeps the first of what it names more than once.
fn distinct<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Copy + Ord + Deserialize<'de>,
    D: Deserializer<'de>,
{
    let mut items = Vec::deserialize(deserializer)?;
    if items.is_empty() {
        return Err(de::Error::custom("a plot shows at least one of each dimension"));
    }
    let mut seen = BTreeSet::new();
    items.retain(|item| seen.insert(*item));
    Ok(items)
}

/// Reads such a list in a patch, where it is there and not null.
fn present_distinct<'de, T, D>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    T: Copy + Ord + Deserialize<'de>,
    D: Deserializer<'de>,
{
    distinct(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn new() -> Value {
        json!({
            "lower_value": false, "upper_value": false, "lower_boundary": true, "upper_boundary": false,
            "x_axis": "date_time", "window": 1, "branches": [Uuid::from_u128(1)],
            "testbeds": [Uuid::from_u128(2)], "benchmarks": [Uuid::from_u128(3)],
            "measures": [Uuid::from_u128(5), Uuid::from_u128(4), Uuid::from_u128(5)],
        })
    }

    #[test]
    fn lists_are_distinct_and_in_order() {
        let plot: NewPlot = serde_json::from_value(new()).unwrap();
        assert_eq!(plot.measures, [Uuid::from_u128(5).into(), Uuid::from_u128(4).into()]);
        assert_eq!((plot.y_axis, plot.index, plot.title), (YAxis::Auto, None, None));
    }

    #[test]
    fn what_a_new_plot_cannot_be() {
        for (field, value) in [
            ("branches", json!([])),
            ("branches", Value::Null),
            ("measures", json!(["x"])),
            ("index", json!(65)),
            ("index", json!(-1)),
            ("window", json!(0)),
            ("window", json!(1.5)),
            ("x_axis", json!("time")),
            ("y_axis", Value::Null),
            ("title", json!("")),
        ] {
            let mut body = new();
            body[field] = value;
            assert!(serde_json::from_value::<NewPlot>(body.clone()).is_err(), "{body}");
        }
        let mut body = new();
        body.as_object_mut().unwrap().remove("testbeds");
        assert!(serde_json::from_value::<NewPlot>(body).is_err());
    }

    #[test]
    fn a_patch_clears_nothing_but_the_title() {
        let patch = |json: &str| serde_json::from_str::<PlotPatch>(json);
        assert_eq!(patch("{}").unwrap(), PlotPatch::default());
        assert_eq!(patch(r#"{"title":null}"#).unwrap().title, Some(None));
        assert_eq!(patch(r#"{"title":"A","index":64}"#).unwrap().title, Some(Some("A".parse().unwrap())));
        for field in [
            "index",
            "lower_value",
            "upper_value",
            "lower_boundary",
            "upper_boundary",
            "x_axis",
            "y_axis",
            "window",
            "branches",
            "testbeds",
            "benchmarks",
            "measures",
            "unknown",
        ] {
            assert!(patch(&format!(r#"{{"{field}":null}}"#)).is_err(), "{field}");
        }
        assert!(patch(r#"{"branches":[]}"#).is_err());
    }
}
