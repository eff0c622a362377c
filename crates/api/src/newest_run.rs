//! Newest runs of branches, testbeds and measures, and the items of their lists.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Branch, Measure, ReportUuid, Testbed, Timestamp};

/// Newest run of a branch, a testbed or a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewestRun)]
pub struct NewestRun {
    /// UUID of the report of the run.
    pub report: ReportUuid,
    /// Start time of the run.
    pub start_time: Timestamp,
}

/// Declares an item of a list with its newest run.
macro_rules! listed {
    ($(#[doc = $doc:literal])+ $name:ident, $schema:ident, $field:ident: $item:ty) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
        #[schema(as = $schema)]
        pub struct $name {
            /// The item.
            #[serde(flatten)]
            pub $field: $item,
            /// Newest run; omitted if there is none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = NewestRun, required = false)]
            pub newest_run: Option<NewestRun>,
        }

        impl From<($item, Option<NewestRun>)> for $name {
            fn from(($field, newest_run): ($item, Option<NewestRun>)) -> Self {
                Self { $field, newest_run }
            }
        }
    };
}

listed! {
    /// A branch in a list.
    ListedBranch, JsonListedBranch, branch: Branch
}

listed! {
    /// A testbed in a list.
    ListedTestbed, JsonListedTestbed, testbed: Testbed
}

listed! {
    /// A measure in a list.
    ListedMeasure, JsonListedMeasure, measure: Measure
}
