//! Measures: measured quantities with units and directions, and the built-in measures.

use serde::{Deserialize, Serialize};
use tidemark_stats::Worse;
use utoipa::{IntoParams, ToSchema};

use crate::{
    MeasureUuid, ProjMeasuresSort, ProjectUuid, ResourceName, Search, Slug, Timestamp, patch::present,
    scalar::fixed_string,
};

fixed_string! {
    /// Whether lower or higher values of a measure are better.
    MeasureDirection {
        /// Lower values are better, for example of latency.
        LowerIsBetter = "lower_is_better",
        /// Higher values are better, for example of throughput.
        HigherIsBetter = "higher_is_better",
    }
}

impl MeasureDirection {
    /// Returns the direction of a measure: the given one, otherwise the direction of the built-in measure with this key. `None` if
    /// it is unknown.
    pub fn resolve(key: &str, given: Option<Self>) -> Option<Self> {
        given.or_else(|| match built_in(key)?.worse {
            Worse::Up => Some(Self::LowerIsBetter),
            Worse::Down => Some(Self::HigherIsBetter),
            Worse::Unknown => None,
        })
    }

    /// Returns the direction in which a measure gets worse, from the same parameters as `resolve`.
    pub fn worse(key: &str, given: Option<Self>) -> Worse {
        match Self::resolve(key, given) {
            Some(Self::LowerIsBetter) => Worse::Up,
            Some(Self::HigherIsBetter) => Worse::Down,
            None => Worse::Unknown,
        }
    }

    /// Returns the direction as a phrase for people.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::LowerIsBetter => "lower is better",
            Self::HigherIsBetter => "higher is better",
        }
    }
}

/// A measured quantity with units, for example latency or throughput.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonMeasure)]
pub struct Measure {
    /// UUID of the measure.
    pub uuid: MeasureUuid,
    /// UUID of the project that the measure belongs to.
    pub project: ProjectUuid,
    /// Name of the measure.
    pub name: ResourceName,
    /// Slug of the measure.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Units of the values.
    pub units: ResourceName,
    /// Whether lower or higher values are better; omitted if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub direction: Option<MeasureDirection>,
    /// Time when the measure was created.
    pub created: Timestamp,
    /// Time when the measure was last modified.
    pub modified: Timestamp,
    /// Time when the measure was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

impl Measure {
    /// Returns the direction in which the measure gets worse.
    pub fn worse(&self) -> Worse {
        MeasureDirection::worse(self.slug.as_str(), self.direction)
    }
}

/// A measure to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewMeasure)]
pub struct NewMeasure {
    /// Name of the measure; unique within the project.
    pub name: ResourceName,
    /// Slug of the measure; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Units of the values.
    pub units: ResourceName,
    /// Whether lower or higher values are better; by default the direction of the built-in measure with the same slug, unknown if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<MeasureDirection>,
}

/// Changes to a measure. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateMeasure)]
pub struct MeasurePatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// New units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<ResourceName>,
    /// New direction; null restores the default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<MeasureDirection>, required = false)]
    pub direction: Option<Option<MeasureDirection>>,
    /// Whether to archive the measure (`true`) or to restore it (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Filter of a list of measures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MeasureFilter {
    /// Only measures with exactly this name.
    #[param(inline)]
    pub name: Option<ResourceName>,
    /// Only measures whose name or slug contains this text, or whose UUID starts with it (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list archived measures instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<ProjMeasuresSort>,
}

/// A measure with a predefined name, slug and units. The server creates it when a report first uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// Slug of the measure.
    pub slug: &'static str,
    /// Name of the measure.
    pub name: &'static str,
    /// Units of the values.
    pub units: &'static str,
    /// Direction in which the measure gets worse.
    pub worse: Worse,
}

/// Units of a measure that a report created and that is not built in.
pub const UNKNOWN_UNITS: &str = "Measure (units)";

/// Returns the built-in measure for a key in a report: its slug, its name, or a label of Memcheck without the tool name.
pub fn built_in(key: &str) -> Option<&'static BuiltIn> {
    let key = match key {
        "Errors" => "Memcheck Errors",
        "Contexts" => "Memcheck Contexts",
        "Suppressed Errors" => "Memcheck Suppressed Errors",
        "Suppressed Contexts" => "Memcheck Suppressed Contexts",
        key => key,
    };
    BUILT_IN.iter().find(|measure| measure.slug == key || measure.name == key)
}

/// All built-in measures.
///
/// A cache hit avoids a cache miss, so fewer cache hits are worse. A RAM hit is a miss in every cache, so more RAM hits are
/// worse. The direction is unknown if a higher value can be better or worse.
pub const BUILT_IN: &[BuiltIn] = {
    use Worse::{Down, Unknown, Up};
    &[
        row("latency", "Latency", "nanoseconds (ns)", Up),
        row("throughput", "Throughput", "operations / second (ops/s)", Down),
        row("build-time", "Build Time", "seconds (s)", Up),
        row("file-size", "File Size", "bytes (B)", Up),
        row("allocated", "Allocated", "bytes (B)", Up),
        row("gen0-collects", "Gen0 Collects", "collects", Up),
        row("gen1-collects", "Gen1 Collects", "collects", Up),
        row("gen2-collects", "Gen2 Collects", "collects", Up),
        row("total-operations", "Total Operations", "operations", Unknown),
        row("instructions", "Instructions", "instructions", Up),
        row("l1-accesses", "L1 Accesses", "accesses", Up),
        row("l2-accesses", "L2 Accesses", "accesses", Up),
        row("ram-accesses", "RAM Accesses", "accesses", Up),
        row("estimated-cycles", "Estimated Cycles", "cycles", Up),
        row("compute-jitter", "Compute Jitter", "percentage (%)", Up),
        row("cache-jitter", "Cache Jitter", "percentage (%)", Up),
        row("io-jitter", "I/O Jitter", "percentage (%)", Up),
        row("cpu-steal", "CPU Steal", "percentage (%)", Up),
        row("noise-score", "Noise Score", "decibels (dB)", Up),
        row("l1-hits", "L1 Hits", "hits", Down),
        row("l2-hits", "L2 Hits", "hits", Down),
        row("ll-hits", "LL Hits", "hits", Down),
        row("ram-hits", "RAM Hits", "hits", Up),
        row("total-read-write", "Total read+write", "reads/writes", Up),
        row("global-bus-events", "Ge", "events", Up),
        row("dr", "Dr", "reads", Up),
        row("dw", "Dw", "writes", Up),
        row("i1mr", "I1mr", "misses (reads)", Up),
        row("d1mr", "D1mr", "misses (reads)", Up),
        row("ilmr", "ILmr", "misses (reads)", Up),
        row("dlmr", "DLmr", "misses (reads)", Up),
        row("ildmr", "ILdmr", "misses (reads)", Up),
        row("dldmr", "DLdmr", "misses (reads)", Up),
        row("d1mw", "D1mw", "misses (writes)", Up),
        row("dlmw", "DLmw", "misses (writes)", Up),
        row("dldmw", "DLdmw", "misses (writes)", Up),
        row("i1-miss-rate", "I1 Miss Rate", "misses (%)", Up),
        row("lli-miss-rate", "LLi Miss Rate", "misses (%)", Up),
        row("d1-miss-rate", "D1 Miss Rate", "misses (%)", Up),
        row("lld-miss-rate", "LLd Miss Rate", "misses (%)", Up),
        row("ll-miss-rate", "LL Miss Rate", "misses (%)", Up),
        row("l1-hit-rate", "L1 Hit Rate", "hits (%)", Down),
        row("ll-hit-rate", "LL Hit Rate", "hits (%)", Down),
        row("ram-hit-rate", "RAM Hit Rate", "hits (%)", Up),
        row("sys-count", "SysCount", "syscalls", Up),
        row("sys-time", "SysTime", "msec/usec/nsec", Up),
        row("sys-cpu-time", "SysCpuTime", "nsec", Up),
        row("bc", "Bc", "branches", Up),
        row("bcm", "Bcm", "branches", Up),
        row("bi", "Bi", "branches", Up),
        row("bim", "Bim", "branches", Up),
        row("accost1", "AcCost1", "temporal locality count", Up),
        row("accost2", "AcCost2", "temporal locality count", Up),
        row("sploss1", "SpLoss1", "spatial loss count", Up),
        row("sploss2", "SpLoss2", "spatial loss count", Up),
        row("total-bytes", "Total bytes", "bytes (B)", Up),
        row("at-t-gmax-bytes", "At t-gmax bytes", "bytes (B)", Up),
        row("at-t-end-bytes", "At t-end bytes", "bytes (B)", Up),
        row("reads-bytes", "Reads bytes", "bytes (B)", Up),
        row("writes-bytes", "Writes bytes", "bytes (B)", Up),
        row("maximum-bytes", "Maximum bytes", "bytes (B)", Up),
        row("total-blocks", "Total blocks", "blocks", Up),
        row("at-t-gmax-blocks", "At t-gmax blocks", "blocks", Up),
        row("at-t-end-blocks", "At t-end blocks", "blocks", Up),
        row("maximum-blocks", "Maximum blocks", "blocks", Up),
        row("total-units", "Total units", "units", Unknown),
        row("total-events", "Total events", "events", Up),
        row("total-lifetimes", "Total lifetimes", "lifetimes", Unknown),
        row("memcheck-errors", "Memcheck Errors", "errors", Up),
        row("memcheck-contexts", "Memcheck Contexts", "contexts", Up),
        row("memcheck-suppressed-errors", "Memcheck Suppressed Errors", "suppressed errors", Up),
        row("memcheck-suppressed-contexts", "Memcheck Suppressed Contexts", "suppressed contexts", Up),
        row("helgrind-errors", "Helgrind Errors", "errors", Up),
        row("helgrind-contexts", "Helgrind Contexts", "contexts", Up),
        row("helgrind-suppressed-errors", "Helgrind Suppressed Errors", "suppressed errors", Up),
        row("helgrind-suppressed-contexts", "Helgrind Suppressed Contexts", "suppressed contexts", Up),
        row("drd-errors", "DRD Errors", "errors", Up),
        row("drd-contexts", "DRD Contexts", "contexts", Up),
        row("drd-suppressed-errors", "DRD Suppressed Errors", "suppressed errors", Up),
        row("drd-suppressed-contexts", "DRD Suppressed Contexts", "suppressed contexts", Up),
        row("allocations", "Allocations", "allocations", Up),
        row("bandwidth", "Bandwidth", "bytes / second (B/s)", Down),
        row("peak-memory", "Peak Memory", "bytes (B)", Up),
        row("latency-p50", "Latency P50", "nanoseconds (ns)", Up),
        row("latency-p75", "Latency P75", "nanoseconds (ns)", Up),
        row("latency-p90", "Latency P90", "nanoseconds (ns)", Up),
        row("latency-p95", "Latency P95", "nanoseconds (ns)", Up),
        row("latency-p99", "Latency P99", "nanoseconds (ns)", Up),
        row("latency-p99-9", "Latency P99.9", "nanoseconds (ns)", Up),
        row("latency-max", "Maximum Latency", "nanoseconds (ns)", Up),
        row("error-rate", "Error Rate", "percentage (%)", Up),
        row("cpu-time", "CPU Time", "nanoseconds (ns)", Up),
        row("user-time", "User Time", "nanoseconds (ns)", Up),
        row("system-time", "System Time", "nanoseconds (ns)", Up),
        row("cycles", "Cycles", "cycles", Up),
        row("branches", "Branches", "branches", Up),
        row("branch-misses", "Branch Misses", "misses", Up),
        row("cache-references", "Cache References", "references", Up),
        row("cache-misses", "Cache Misses", "misses", Up),
        row("page-faults", "Page Faults", "page faults", Up),
        row("context-switches", "Context Switches", "switches", Up),
        row("cpu-migrations", "CPU Migrations", "migrations", Up),
        row("retransmits", "Retransmits", "segments", Up),
        row("jitter", "Jitter", "nanoseconds (ns)", Up),
        row("packet-loss", "Packet Loss", "percentage (%)", Up),
        row("lighthouse-score", "Lighthouse Score", "points", Down),
        row("tokens-per-second", "Tokens per Second", "tokens / second (tok/s)", Down),
    ]
};

const fn row(slug: &'static str, name: &'static str, units: &'static str, worse: Worse) -> BuiltIn {
    BuiltIn { slug, name, units, worse }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_built_in_is_a_valid_measure_and_found_by_slug_and_name() {
        for measure in BUILT_IN {
            assert!(measure.slug.parse::<Slug>().is_ok(), "{measure:?}");
            assert!(measure.name.parse::<ResourceName>().is_ok(), "{measure:?}");
            assert!(measure.units.parse::<ResourceName>().is_ok(), "{measure:?}");
            assert_eq!(built_in(measure.slug), Some(measure));
            assert_eq!(built_in(measure.name), Some(measure));
        }
        let slugs: BTreeSet<_> = BUILT_IN.iter().map(|measure| measure.slug).collect();
        let names: BTreeSet<_> = BUILT_IN.iter().map(|measure| measure.name).collect();
        assert_eq!((slugs.len(), names.len()), (BUILT_IN.len(), BUILT_IN.len()));
    }

    #[test]
    fn bare_labels_are_those_of_memcheck() {
        assert_eq!(built_in("Errors").unwrap().slug, "memcheck-errors");
        assert_eq!(built_in("Suppressed Contexts").unwrap().slug, "memcheck-suppressed-contexts");
        for key in ["", "LATENCY", "errors", "Latency ", "my-measure"] {
            assert_eq!(built_in(key), None, "{key}");
        }
    }

    #[test]
    fn directions() {
        for (slug, worse) in [
            ("latency", Worse::Up),
            ("throughput", Worse::Down),
            ("l1-hit-rate", Worse::Down),
            ("ram-hits", Worse::Up),
            ("total-operations", Worse::Unknown),
        ] {
            assert_eq!(MeasureDirection::worse(slug, None), worse, "{slug}");
        }
        assert_eq!(MeasureDirection::worse("mine", None), Worse::Unknown);
        for key in ["latency", "throughput", "total-operations", "mine"] {
            assert_eq!(MeasureDirection::worse(key, Some(MeasureDirection::LowerIsBetter)), Worse::Up);
            assert_eq!(MeasureDirection::worse(key, Some(MeasureDirection::HigherIsBetter)), Worse::Down);
        }
    }
}
