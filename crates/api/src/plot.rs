//! Plots: saved perf queries that are pinned to a project.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::{IntoParams, ToSchema};

use crate::{
    BenchmarkUuid, BranchUuid, MeasureUuid, PlotUuid, ProjPlotsSort, ProjectUuid, ResourceName, Search,
    TestbedUuid, Timestamp, Window,
    patch::present,
    scalar::{fixed_string, integer},
};

integer! {
    /// Position of a plot in its project, counted from 0.
    Index(u8, "uint8"), 0, 64
}

fixed_string! {
    /// Horizontal axis of a plot.
    XAxis {
        /// Time of the runs.
        DateTime = "date_time",
        /// Versions of the branch.
        Version = "version",
    }
}

fixed_string! {
    /// Scale of the vertical axis of a plot.
    #[derive(Default)]
    YAxis {
        /// Chosen by the data.
        #[default]
        Auto = "auto",
        /// Linear scale.
        Linear = "linear",
        /// Logarithmic scale.
        Log = "log",
    }
}

/// A saved perf query that is pinned to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonPlot)]
pub struct Plot {
    /// UUID of the plot.
    pub uuid: PlotUuid,
    /// UUID of the project that the plot belongs to.
    pub project: ProjectUuid,
    /// Title of the plot; null if there is none.
    pub title: Option<ResourceName>,
    /// Whether to show the lower values of the metrics.
    pub lower_value: bool,
    /// Whether to show the upper values of the metrics.
    pub upper_value: bool,
    /// Whether to show the lower limits of the thresholds.
    pub lower_boundary: bool,
    /// Whether to show the upper limits of the thresholds.
    pub upper_boundary: bool,
    /// Horizontal axis.
    pub x_axis: XAxis,
    /// Scale of the vertical axis.
    pub y_axis: YAxis,
    /// Maximum age of the shown runs, in seconds.
    pub window: Window,
    /// UUIDs of the branches, in display order.
    pub branches: Vec<BranchUuid>,
    /// UUIDs of the testbeds, in display order.
    pub testbeds: Vec<TestbedUuid>,
    /// UUIDs of the benchmarks, in display order.
    pub benchmarks: Vec<BenchmarkUuid>,
    /// UUIDs of the measures, in display order.
    pub measures: Vec<MeasureUuid>,
    /// Time when the plot was created.
    pub created: Timestamp,
    /// Time when the plot was last modified.
    pub modified: Timestamp,
}

/// A plot to create. Duplicates in a list are removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewPlot)]
pub struct NewPlot {
    /// Position in the project; the first by default. A position beyond the end is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Index>,
    /// Title of the plot; none by default.
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
    /// Horizontal axis.
    pub x_axis: XAxis,
    /// Scale of the vertical axis; `auto` by default.
    #[serde(default)]
    pub y_axis: YAxis,
    /// Maximum age of the shown runs, in seconds.
    pub window: Window,
    /// UUIDs of the branches, in display order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub branches: Vec<BranchUuid>,
    /// UUIDs of the testbeds, in display order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub testbeds: Vec<TestbedUuid>,
    /// UUIDs of the benchmarks, in display order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub benchmarks: Vec<BenchmarkUuid>,
    /// UUIDs of the measures, in display order.
    #[serde(deserialize_with = "distinct")]
    #[schema(min_items = 1)]
    pub measures: Vec<MeasureUuid>,
}

/// Changes to a plot. Omitted fields stay unchanged; a list replaces the whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdatePlot)]
#[serde(deny_unknown_fields)]
pub struct PlotPatch {
    /// New position in the project. A position beyond the end is the last.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Index, required = false)]
    pub index: Option<Index>,
    /// New title; null removes it.
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
    /// Horizontal axis.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = XAxis, required = false)]
    pub x_axis: Option<XAxis>,
    /// Scale of the vertical axis.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = YAxis, required = false)]
    pub y_axis: Option<YAxis>,
    /// Maximum age of the shown runs, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Window, required = false)]
    pub window: Option<Window>,
    /// UUIDs of the branches, in display order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<BranchUuid>, required = false, min_items = 1)]
    pub branches: Option<Vec<BranchUuid>>,
    /// UUIDs of the testbeds, in display order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<TestbedUuid>, required = false, min_items = 1)]
    pub testbeds: Option<Vec<TestbedUuid>>,
    /// UUIDs of the benchmarks, in display order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<BenchmarkUuid>, required = false, min_items = 1)]
    pub benchmarks: Option<Vec<BenchmarkUuid>>,
    /// UUIDs of the measures, in display order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_distinct")]
    #[schema(value_type = Vec<MeasureUuid>, required = false, min_items = 1)]
    pub measures: Option<Vec<MeasureUuid>>,
}

/// Filter of a list of plots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PlotFilter {
    /// Only plots with exactly this title.
    #[param(inline)]
    pub title: Option<ResourceName>,
    /// Only plots whose title or UUID contains this text (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Sort key; `index` by default.
    #[param(inline)]
    pub sort: Option<ProjPlotsSort>,
}

/// Deserializes a list that must not be empty, and removes duplicates.
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

/// Deserializes a list of a patch that must be neither empty nor null, and removes duplicates.
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
    fn invalid_plots_are_rejected() {
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
    fn null_clears_only_the_title() {
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
