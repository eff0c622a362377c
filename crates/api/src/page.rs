//! Pagination, direction and sort keys of lists. Filters are defined with their resources.

use std::{fmt, marker::PhantomData, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, Unexpected, Visitor},
};
use utoipa::IntoParams;

use crate::scalar::fixed_string;

/// Page of a list, and direction of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct Page {
    /// Page number, counted from 1; 0 is the same as 1.
    #[serde(deserialize_with = "number")]
    #[param(default = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub page: u32,
    /// Maximum number of items per page; 0 returns only the total.
    #[serde(deserialize_with = "number")]
    #[param(default = 8, maximum = 255, format = "uint8")]
    pub per_page: u8,
    /// Direction of the order; the default depends on the sort key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub direction: Option<Direction>,
}

impl Default for Page {
    fn default() -> Self {
        Self { page: 1, per_page: 8, direction: None }
    }
}

impl Page {
    /// Returns the number of items before this page.
    pub fn offset(&self) -> i64 {
        i64::from(self.page.saturating_sub(1)) * self.limit()
    }

    /// Returns the maximum number of items of this page.
    pub fn limit(&self) -> i64 {
        i64::from(self.per_page)
    }
}

/// Deserializes an integer; in a query string it is text.
fn number<'de, D, N>(deserializer: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: BoundedInteger,
{
    deserializer.deserialize_any(IntegerVisitor(PhantomData))
}

trait BoundedInteger: FromStr + TryFrom<u64> {
    const MAX_VALUE: u32;
}

impl BoundedInteger for u32 {
    const MAX_VALUE: u32 = Self::MAX;
}

impl BoundedInteger for u8 {
    const MAX_VALUE: u32 = Self::MAX as u32;
}

struct IntegerVisitor<N>(PhantomData<N>);

impl<N: BoundedInteger> Visitor<'_> for IntegerVisitor<N> {
    type Value = N;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number from 0 to {}", N::MAX_VALUE)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<N, E> {
        number.try_into().map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<N, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

fixed_string! {
    /// Direction of the order of a list.
    #[schema(as = JsonDirection)]
    Direction {
        /// Ascending: smallest, first or oldest item first.
        Asc = "asc",
        /// Descending: largest, last or newest item first.
        Desc = "desc",
    }
}

fixed_string! {
    /// Sort key of a list of organizations.
    #[derive(Default)]
    OrganizationsSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of members of an organization.
    #[derive(Default)]
    OrgMembersSort {
        /// By name of the user.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of users.
    #[derive(Default)]
    UsersSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of keys of a user or a project.
    #[derive(Default)]
    KeysSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of legacy tokens of a user.
    #[derive(Default)]
    UserTokensSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of projects of the server or of an organization.
    #[derive(Default)]
    ProjectsSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of members of a project.
    #[derive(Default)]
    ProjMembersSort {
        /// By name of the user.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of branches.
    #[derive(Default)]
    ProjBranchesSort {
        /// By name.
        #[default]
        Name = "name",
        /// By the start time of the newest run, newest first by default. Branches without a run are last.
        NewestRun = "newest_run",
    }
}

fixed_string! {
    /// Sort key of a list of testbeds.
    #[derive(Default)]
    ProjTestbedsSort {
        /// By name.
        #[default]
        Name = "name",
        /// By the start time of the newest run, newest first by default. Testbeds without a run are last.
        NewestRun = "newest_run",
    }
}

fixed_string! {
    /// Sort key of a list of benchmarks.
    #[derive(Default)]
    ProjBenchmarksSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

fixed_string! {
    /// Sort key of a list of measures.
    #[derive(Default)]
    ProjMeasuresSort {
        /// By name.
        #[default]
        Name = "name",
        /// By the start time of the newest run, newest first by default. Measures without a run are last.
        NewestRun = "newest_run",
    }
}

fixed_string! {
    /// Sort key of a list of thresholds.
    #[derive(Default)]
    ProjThresholdsSort {
        /// By creation time, oldest first by default.
        #[default]
        Created = "created",
        /// By modification time, newest first by default.
        Modified = "modified",
    }
}

fixed_string! {
    /// Sort key of a list of plots.
    #[derive(Default)]
    ProjPlotsSort {
        /// By position in the project.
        #[default]
        Index = "index",
        /// By title; plots without a title first.
        Title = "title",
    }
}

fixed_string! {
    /// Sort key of a list of reports.
    #[derive(Default)]
    ProjReportsSort {
        /// By start time of the run, newest first by default.
        #[default]
        DateTime = "date_time",
    }
}

fixed_string! {
    /// Sort key of a list of alerts. Lists are sorted by status first.
    #[derive(Default)]
    ProjAlertsSort {
        /// By start time of the run, oldest first by default.
        Created = "created",
        /// By modification time, newest first by default.
        #[default]
        Modified = "modified",
    }
}

fixed_string! {
    /// Sort key of a list of specs.
    #[derive(Default)]
    SpecsSort {
        /// By name.
        #[default]
        Name = "name",
        /// By creation time, newest first by default.
        Created = "created",
    }
}

fixed_string! {
    /// Sort key of a list of runners.
    #[derive(Default)]
    RunnersSort {
        /// By name.
        #[default]
        Name = "name",
        /// By creation time, newest first by default.
        Created = "created",
    }
}

fixed_string! {
    /// Sort key of a list of jobs.
    #[derive(Default)]
    ProjJobsSort {
        /// By creation time, newest first by default.
        #[default]
        Created = "created",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_0_and_1_are_the_first_page() {
        assert_eq!(Page::default().offset(), 0);
        assert_eq!(Page { page: 0, ..Page::default() }.offset(), 0);
        assert_eq!(Page { page: 2, ..Page::default() }.offset(), 8);
    }

    #[test]
    fn the_offset_of_the_last_page_does_not_overflow() {
        let page = Page { page: u32::MAX, per_page: 255, direction: None };
        assert_eq!(page.offset(), 4_294_967_294 * 255);
        assert_eq!(page.limit(), 255);
    }

    #[test]
    fn absent_keys_have_defaults_and_unknown_keys_are_ignored() {
        let page: Page = serde_json::from_str(r#"{"direction":"desc","else":1}"#).unwrap();
        assert_eq!(page, Page { direction: Some(Direction::Desc), ..Page::default() });
        assert!(serde_json::from_str::<Page>(r#"{"per_page":256}"#).is_err());
        assert!(serde_json::from_str::<Page>(r#"{"direction":"up"}"#).is_err());
    }

    #[test]
    fn fixed_strings_are_parsed_back() {
        for direction in Direction::ALL {
            assert_eq!(direction.as_str().parse(), Ok(*direction));
        }
        assert_eq!("up".parse::<Direction>().unwrap_err().to_string(), "expected one of: asc desc");
    }
}
