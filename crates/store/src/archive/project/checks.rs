//! Checks of the values of an imported project: an archive can contain values that no request can create, and a response with an
//! invalid value would fail. Keys are not part of it; see `key_range.rs`.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use tidemark_api::{
    ActorKind, Adapter, AlertStatus, AnyUrl, Average, BenchmarkName, Boundary, BoundaryLimit, BranchName,
    ChangeCause, ConfirmMode, ConfirmationState, EventStatus, FalseAlarms, GitHash, IterationCounts,
    MeasureDirection, NamePattern, NewBisection, NonEmpty, Notifies, Parameters, ResourceName, SampleSize,
    Slug, Timestamp, VerdictComparison, Visibility, Window, XAxis, YAxis,
};
use tidemark_stats::Test;
use uuid::Uuid;

use super::damaged;
use crate::{
    archive::catalog::Column,
    error::Result,
    value::{Kind, Value},
};

/// Whether a text is valid in a column.
type IsValid = fn(&str) -> bool;

fn parses<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

fn is_json<T: DeserializeOwned>(text: &str) -> bool {
    serde_json::from_str::<T>(text).is_ok()
}

fn is_slug(text: &str) -> bool {
    Slug::stored(text.to_owned()).is_ok()
}

fn any(_: &str) -> bool {
    true
}

/// Text columns and their types. An empty table name applies to all tables.
const TEXTS: &[(&str, &str, IsValid)] = &[
    ("", "slug", is_slug),
    ("", "actor_kind", parses::<ActorKind>),
    ("", "actor_name", any),
    ("", "note", parses::<NonEmpty>),
    ("", "cause", parses::<ChangeCause>),
    ("project", "name", parses::<ResourceName>),
    ("project", "url", parses::<AnyUrl>),
    ("project", "visibility", parses::<Visibility>),
    ("project", "notifies", parses::<Notifies>),
    ("project", "confirm", parses::<ConfirmMode>),
    ("branch", "name", parses::<BranchName>),
    ("testbed", "name", parses::<ResourceName>),
    ("benchmark", "name", parses::<BenchmarkName>),
    ("measure", "name", parses::<ResourceName>),
    ("measure", "units", parses::<ResourceName>),
    ("measure", "direction", parses::<MeasureDirection>),
    ("dimension_count", "kind", any),
    ("version", "hash", parses::<GitHash>),
    ("model", "test", parses::<Test>),
    ("plot", "title", parses::<ResourceName>),
    ("plot", "x_axis", parses::<XAxis>),
    ("plot", "y_axis", parses::<YAxis>),
    ("variant", "parameters", is_json::<Parameters>),
    ("report", "adapter", parses::<Adapter>),
    ("report", "average", parses::<Average>),
    ("report", "counts", is_json::<Vec<IterationCounts>>),
    ("report", "binary_hash", any),
    ("report", "host", any),
    ("event", "status", parses::<EventStatus>),
    ("event_action", "status", parses::<EventStatus>),
    ("confirmation", "state", parses::<ConfirmationState>),
    ("confirmation", "reason", any),
    ("confirmation", "comparisons", is_json::<Vec<VerdictComparison>>),
    ("bisection", "result", is_json::<NewBisection>),
    ("mute", "benchmark", parses::<NamePattern>),
    ("mute", "branch", parses::<NamePattern>),
    ("mute", "testbed", parses::<NamePattern>),
    ("mute", "reason", parses::<NonEmpty>),
    ("alert", "crossed", parses::<BoundaryLimit>),
    ("alert", "status", parses::<AlertStatus>),
];

/// Columns with times. All other integers are numbers, which are not negative.
const TIMES: [&str; 13] = [
    "alerted",
    "archived",
    "created",
    "deadline",
    "deleted",
    "end_time",
    "expires",
    "modified",
    "next_attempt",
    "raised",
    "replaced",
    "start_time",
    "withdrawn",
];

/// Columns with UUIDs, which SQLite stores as text.
const UUIDS: [&str; 3] = ["uuid", "actor_uuid", "idempotency_key"];

fn rule(table: &str, column: &str) -> Option<IsValid> {
    let is_rule = |(of, name, _): &&(&str, &str, IsValid)| (of.is_empty() || *of == table) && *name == column;
    TEXTS.iter().find(is_rule).map(|(_, _, is_valid)| *is_valid)
}

/// Whether the type of a text column is known.
pub(super) fn is_listed(table: &str, column: &Column) -> bool {
    column.kind != Kind::Text || UUIDS.contains(&column.name.as_str()) || rule(table, &column.name).is_some()
}

/// Rejects a value that no request can create.
pub(super) fn verify(table: &str, column: &str, kind: Option<Kind>, value: &Value<'_>) -> Result<()> {
    let is_valid = match (kind, value) {
        // The engine rejects it where a value is required.
        (Some(_), Value::Null) => true,
        (Some(Kind::Text | Kind::Uuid), Value::Uuid(_)) => UUIDS.contains(&column),
        (Some(Kind::Text | Kind::Uuid), Value::Text(text)) if UUIDS.contains(&column) => {
            Uuid::parse_str(text).is_ok_and(|uuid| uuid.hyphenated().to_string() == *text)
        }
        (Some(Kind::Text), Value::Text(text)) => rule(table, column).is_some_and(|is_valid| is_valid(text)),
        (Some(Kind::Bool | Kind::Int), Value::Bool(_)) => true,
        (Some(Kind::Bool), Value::Int(number)) => matches!(number, 0 | 1),
        (Some(Kind::Int), Value::Int(number)) => is_number(table, column, *number),
        (Some(Kind::Real), Value::Real(number)) => match (table, column) {
            ("model", "lower_boundary" | "upper_boundary") => Boundary::try_from(*number).is_ok(),
            _ => !number.is_nan(),
        },
        (Some(Kind::Blob), Value::Blob(bytes)) => match column {
            // Values, and pairs of values.
            "vals" => bytes.len().is_multiple_of(size_of::<f64>()),
            "pairs" => bytes.len().is_multiple_of(2 * size_of::<f64>()),
            _ => true,
        },
        _ => false,
    };
    if is_valid {
        return Ok(());
    }
    let value: String = format!("{value:?}").chars().take(80).collect();
    Err(damaged(&format!("{table}.{column} is {value}")))
}

fn is_number(table: &str, column: &str, number: i64) -> bool {
    if TIMES.contains(&column) {
        return (Timestamp::MIN.micros()..=Timestamp::MAX.micros()).contains(&number);
    }
    if column == "worse" {
        return (-1..=1).contains(&number);
    }
    let Ok(number) = u32::try_from(number) else { return false };
    match (table, column) {
        ("project", "budget") => FalseAlarms::try_from(number).is_ok(),
        ("model", "min_sample_size" | "max_sample_size") => SampleSize::try_from(number).is_ok(),
        ("model" | "plot", "span") => Window::try_from(number).is_ok(),
        // The index of a metric is the sum of this number and its position in the row.
        ("metric", "first") => i32::try_from(number).is_ok(),
        _ => true,
    }
}
