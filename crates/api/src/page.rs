//! How a list is asked for: page, direction, order. The filters stand with their nouns.

use std::{fmt, marker::PhantomData, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, Unexpected, Visitor},
};
use utoipa::IntoParams;

use crate::scalar::word;

/// The part of a list to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct Page {
    /// The page, counted from 1; 0 is the first page too.
    #[serde(deserialize_with = "number")]
    #[param(default = 1, maximum = 4_294_967_295_u32, format = "uint32")]
    pub page: u32,
    /// How many items a page has; 0 asks for the total alone.
    #[serde(deserialize_with = "number")]
    #[param(default = 8, maximum = 255, format = "uint8")]
    pub per_page: u8,
    /// The direction of the order.
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
    /// How many items come before this page.
    pub fn offset(&self) -> i64 {
        i64::from(self.page.saturating_sub(1)) * self.limit()
    }

    /// How many items this page has at most.
    pub fn limit(&self) -> i64 {
        i64::from(self.per_page)
    }
}

/// A whole number; in a query string it is text.
fn number<'de, D, N>(deserializer: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: Whole,
{
    deserializer.deserialize_any(Number(PhantomData))
}

trait Whole: FromStr + TryFrom<u64> {
    const MOST: u32;
}

impl Whole for u32 {
    const MOST: u32 = Self::MAX;
}

impl Whole for u8 {
    const MOST: u32 = Self::MAX as u32;
}

struct Number<N>(PhantomData<N>);

impl<N: Whole> Visitor<'_> for Number<N> {
    type Value = N;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number from 0 to {}", N::MOST)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<N, E> {
        number.try_into().map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<N, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

word! {
    /// The direction of an order.
    #[schema(as = JsonDirection)]
    Direction {
        /// Smallest, first or oldest at the top.
        Asc = "asc",
        /// Largest, last or newest at the top.
        Desc = "desc",
    }
}

word! {
    /// What organizations can be ordered by.
    #[derive(Default)]
    OrganizationsSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What the members of an organization can be ordered by.
    #[derive(Default)]
    OrgMembersSort {
        /// By the name of the user.
        #[default]
        Name = "name",
    }
}

word! {
    /// What users can be ordered by.
    #[derive(Default)]
    UsersSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What the keys of a user or a project can be ordered by.
    #[derive(Default)]
    KeysSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What the legacy tokens of a user can be ordered by.
    #[derive(Default)]
    UserTokensSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What projects can be ordered by, on the whole server and in one organization.
    #[derive(Default)]
    ProjectsSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What the members of a project can be ordered by.
    #[derive(Default)]
    ProjMembersSort {
        /// By the name of the user.
        #[default]
        Name = "name",
    }
}

word! {
    /// What branches can be ordered by.
    #[derive(Default)]
    ProjBranchesSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What testbeds can be ordered by.
    #[derive(Default)]
    ProjTestbedsSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What benchmarks can be ordered by.
    #[derive(Default)]
    ProjBenchmarksSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What measures can be ordered by.
    #[derive(Default)]
    ProjMeasuresSort {
        /// By name.
        #[default]
        Name = "name",
    }
}

word! {
    /// What thresholds can be ordered by.
    #[derive(Default)]
    ProjThresholdsSort {
        /// By when they were created, the oldest first.
        #[default]
        Created = "created",
        /// By when they were last changed, the newest first.
        Modified = "modified",
    }
}

word! {
    /// What plots can be ordered by.
    #[derive(Default)]
    ProjPlotsSort {
        /// In the order they are pinned in.
        #[default]
        Index = "index",
        /// By title, those without one first.
        Title = "title",
    }
}

word! {
    /// What reports can be ordered by.
    #[derive(Default)]
    ProjReportsSort {
        /// By when the run began, the newest first.
        #[default]
        DateTime = "date_time",
    }
}

word! {
    /// What alerts can be ordered by, after their status.
    #[derive(Default)]
    ProjAlertsSort {
        /// By when the run began, the oldest first.
        Created = "created",
        /// By when they were last changed, the newest first.
        #[default]
        Modified = "modified",
    }
}

word! {
    /// What specs can be ordered by.
    #[derive(Default)]
    SpecsSort {
        /// By name.
        #[default]
        Name = "name",
        /// By when they were created, the newest first.
        Created = "created",
    }
}

word! {
    /// What runners can be ordered by.
    #[derive(Default)]
    RunnersSort {
        /// By name.
        #[default]
        Name = "name",
        /// By when they were created, the newest first.
        Created = "created",
    }
}

word! {
    /// What jobs can be ordered by.
    #[derive(Default)]
    ProjJobsSort {
        /// By when they were created, the newest first.
        #[default]
        Created = "created",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_has_two_numbers() {
        assert_eq!(Page::default().offset(), 0);
        assert_eq!(Page { page: 0, ..Page::default() }.offset(), 0);
        assert_eq!(Page { page: 2, ..Page::default() }.offset(), 8);
    }

    #[test]
    fn the_last_page_does_not_wrap() {
        let page = Page { page: u32::MAX, per_page: 255, direction: None };
        assert_eq!(page.offset(), 4_294_967_294 * 255);
        assert_eq!(page.limit(), 255);
    }

    #[test]
    fn absent_keys_have_defaults_and_unknown_ones_do_not_matter() {
        let page: Page = serde_json::from_str(r#"{"direction":"desc","else":1}"#).unwrap();
        assert_eq!(page, Page { direction: Some(Direction::Desc), ..Page::default() });
        assert!(serde_json::from_str::<Page>(r#"{"per_page":256}"#).is_err());
        assert!(serde_json::from_str::<Page>(r#"{"direction":"up"}"#).is_err());
    }

    #[test]
    fn words_read_back() {
        for direction in Direction::ALL {
            assert_eq!(direction.as_str().parse(), Ok(*direction));
        }
        assert_eq!("up".parse::<Direction>().unwrap_err().to_string(), "expected one of: asc desc");
    }
}
