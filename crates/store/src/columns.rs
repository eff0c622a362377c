//! Columns and fields: each field stands next to the SQL expression that it is read from or the column that it is
//! written to, so that the two cannot drift apart.
//!
//! ```ignore
//! // An existing struct. A literal is a column; a type is read from its own columns; a nested struct is written out.
//! columns!(User { uuid: "account.uuid", name: "account.name" });
//!
//! // A value in parentheses is not read from a column.
//! columns!(Change { uuid: "change.uuid", muted: (None) });
//!
//! // A struct for the rows of one statement.
//! columns!(struct AlertRow { id: AlertId = "alert.id", benchmark: Benchmark });
//!
//! // A type that is converted from such a struct.
//! columns!(Alert from AlertRow);
//!
//! // A struct for the rows of a bulk insert; a field has the name of its column.
//! insert_columns!(struct NewVariant { uuid: Uuid, benchmark_id: BenchmarkId });
//! ```
//!
//! Statements name the columns with `{columns}`: `select {columns} from account where id = $1`.

use std::{borrow::Cow, sync::Arc};

use crate::{
    error::Result,
    row::Cells,
    value::{Kind, Param, Value},
};

/// A type that is read from consecutive columns of a row: a value from one, a struct from several.
pub trait FromRow: Sized {
    /// Number of columns.
    const WIDTH: usize = 1;
    /// Column expressions, which replace `{columns}` in a statement; empty for a value.
    const COLUMNS: &'static str = "";

    /// Reads the columns; an error if a column has another type.
    fn from_row(cells: &mut Cells<'_>) -> Result<Self>;
}

/// `None` if the first column is null, which therefore must not be null in an existing row.
impl<T: FromRow> FromRow for Option<T> {
    const WIDTH: usize = T::WIDTH;
    const COLUMNS: &'static str = T::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        if cells.is_null()? {
            cells.skip(T::WIDTH);
            return Ok(None);
        }
        T::from_row(cells).map(Some)
    }
}

impl<T: FromRow> FromRow for Arc<T> {
    const WIDTH: usize = T::WIDTH;
    const COLUMNS: &'static str = T::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        T::from_row(cells).map(Self::new)
    }
}

/// Two values, or a value beside a struct. For more columns, [`columns`] gives each a name.
impl<A: FromRow, B: FromRow> FromRow for (A, B) {
    const WIDTH: usize = A::WIDTH + B::WIDTH;
    const COLUMNS: &'static str = if A::COLUMNS.is_empty() { B::COLUMNS } else { A::COLUMNS };

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        Ok((A::from_row(cells)?, B::from_row(cells)?))
    }
}

/// A row of a bulk insert.
pub trait Insert {
    /// Names and types of the columns.
    const COLUMNS: &'static [(&'static str, Kind)];

    /// Returns the values, in the order of the columns.
    fn values(&self) -> Vec<Value<'_>>;
}

/// A type whose values all have one SQL type.
pub trait SqlType: Param {
    /// The SQL type.
    const KIND: Kind;
}

impl<T: SqlType> SqlType for Option<T> {
    const KIND: Kind = T::KIND;
}

impl<T: SqlType + ?Sized> SqlType for &T {
    const KIND: Kind = T::KIND;
}

/// Replaces `{columns}` in a statement with the columns of its rows.
pub(crate) fn expand<T: FromRow>(sql: &str) -> Cow<'_, str> {
    if T::COLUMNS.is_empty() { Cow::Borrowed(sql) } else { sql.replace("{columns}", T::COLUMNS).into() }
}

/// Returns the length of the column list.
pub(crate) const fn length(columns: &[(&str, usize)]) -> usize {
    let (mut length, mut index) = (0, 0);
    while index < columns.len() {
        length += columns[index].0.len() + if index > 0 { 2 } else { 0 };
        index += 1;
    }
    length
}

/// Joins the columns with commas.
pub(crate) const fn join<const LENGTH: usize>(columns: &[(&str, usize)]) -> [u8; LENGTH] {
    let (mut joined, mut end, mut index) = ([b' '; LENGTH], 0, 0);
    while index < columns.len() {
        if index > 0 {
            joined[end] = b',';
            end += 2;
        }
        let column = columns[index].0.as_bytes();
        let mut byte = 0;
        while byte < column.len() {
            joined[end] = column[byte];
            end += 1;
            byte += 1;
        }
        index += 1;
    }
    joined
}

/// Returns the number of columns.
pub(crate) const fn width(columns: &[(&str, usize)]) -> usize {
    let (mut width, mut index) = (0, 0);
    while index < columns.len() {
        width += columns[index].1;
        index += 1;
    }
    width
}

/// Implements [`FromRow`] for a struct; see the head of this file.
macro_rules! columns {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $of:ty $(= $sql:literal)?),* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $of,)*
        }

        impl $crate::columns::FromRow for $name {
            $crate::columns::columns!(@consts [$($crate::columns::columns!(@column $of $(= $sql)?),)*]);

            fn from_row(cells: &mut $crate::row::Cells<'_>) -> $crate::error::Result<Self> {
                Ok(Self { $($field: cells.read()?,)* })
            }
        }
    };
    ($name:ident from $row:ident) => {
        impl $crate::columns::FromRow for $name {
            const WIDTH: usize = <$row as $crate::columns::FromRow>::WIDTH;
            const COLUMNS: &'static str = <$row as $crate::columns::FromRow>::COLUMNS;

            fn from_row(cells: &mut $crate::row::Cells<'_>) -> $crate::error::Result<Self> {
                cells.read::<$row>().map(Self::from)
            }
        }
    };
    ($name:ident { $($fields:tt)* }) => {
        impl $crate::columns::FromRow for $name {
            $crate::columns::columns!(@list [] $($fields)*);

            fn from_row(cells: &mut $crate::row::Cells<'_>) -> $crate::error::Result<Self> {
                Ok($crate::columns::columns!(@read cells $name [] $($fields)*))
            }
        }
    };

    // One column of a struct definition.
    (@column $of:ty = $sql:literal) => { ($sql, 1) };
    (@column $of:ty) => {
        (<$of as $crate::columns::FromRow>::COLUMNS, <$of as $crate::columns::FromRow>::WIDTH)
    };

    // The columns of the fields, one after the other.
    (@list [$($list:tt)*] , $($rest:tt)*) => { $crate::columns::columns!(@list [$($list)*] $($rest)*); };
    (@list [$($list:tt)*] $field:ident: $sql:literal $($rest:tt)*) => {
        $crate::columns::columns!(@list [$($list)* ($sql, 1),] $($rest)*);
    };
    (@list [$($list:tt)*] $field:ident: $nested:ident { $($fields:tt)* } $($rest:tt)*) => {
        $crate::columns::columns!(@list [$($list)*] $($fields)*, $($rest)*);
    };
    (@list [$($list:tt)*] $field:ident: ($value:expr) $($rest:tt)*) => {
        $crate::columns::columns!(@list [$($list)*] $($rest)*);
    };
    (@list [$($list:tt)*] $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::columns::columns!(@list [$($list)* $crate::columns::columns!(@column $of),] $($($rest)*)?);
    };
    (@list [$($list:tt)*]) => { $crate::columns::columns!(@consts [$($list)*]); };

    (@consts $list:expr) => {
        const WIDTH: usize = $crate::columns::width(&$list);
        const COLUMNS: &'static str = {
            const LIST: &[(&str, usize)] = &$list;
            const JOINED: [u8; $crate::columns::length(LIST)] = $crate::columns::join(LIST);
            match std::str::from_utf8(&JOINED) {
                Ok(columns) => columns,
                Err(_) => panic!("columns are UTF-8"),
            }
        };
    };

    // The struct with its fields, read in the same order.
    (@read $cells:ident $name:ident [$($done:tt)*] , $($rest:tt)*) => {
        $crate::columns::columns!(@read $cells $name [$($done)*] $($rest)*)
    };
    (@read $cells:ident $name:ident [$($done:tt)*] $field:ident: $sql:literal $($rest:tt)*) => {
        $crate::columns::columns!(@read $cells $name [$($done)* $field: $cells.read()?,] $($rest)*)
    };
    (@read $cells:ident $name:ident [$($done:tt)*] $field:ident: $nested:ident { $($fields:tt)* } $($rest:tt)*) => {
        $crate::columns::columns!(@read $cells $name [
            $($done)* $field: $crate::columns::columns!(@read $cells $nested [] $($fields)*),
        ] $($rest)*)
    };
    (@read $cells:ident $name:ident [$($done:tt)*] $field:ident: ($value:expr) $($rest:tt)*) => {
        $crate::columns::columns!(@read $cells $name [$($done)* $field: $value,] $($rest)*)
    };
    (@read $cells:ident $name:ident [$($done:tt)*] $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::columns::columns!(@read $cells $name [$($done)* $field: $cells.read::<$of>()?,] $($($rest)*)?)
    };
    (@read $cells:ident $name:ident [$($done:tt)*]) => { $name { $($done)* } };
}
pub(crate) use columns;

/// Defines a struct that implements [`Insert`]; each field has the name of its column.
macro_rules! insert_columns {
    ($(#[$meta:meta])* $vis:vis struct $name:ident $(<$life:lifetime>)? {
        $($(#[$field_meta:meta])* $column:ident: $of:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* $vis $column: $of,)*
        }

        impl $(<$life>)? $crate::columns::Insert for $name $(<$life>)? {
            const COLUMNS: &'static [(&'static str, $crate::value::Kind)] =
                &[$((stringify!($column), <$of as $crate::columns::SqlType>::KIND),)*];

            fn values(&self) -> Vec<$crate::value::Value<'_>> {
                vec![$($crate::value::Param::value(&self.$column),)*]
            }
        }
    };
}
pub(crate) use insert_columns;

#[cfg(test)]
mod tests {
    use super::*;

    struct Inner {
        low: i64,
        high: i64,
    }
    struct Outer {
        name: String,
        inner: Inner,
        range: Option<Inner>,
    }
    columns!(Inner { low: "t.low", high: "t.high" });
    columns!(Outer { name: "t.name", inner: Inner { low: "min(t.low)", high: "max(t.high)" }, range: Option<Inner> });
    columns!(
        struct Beside { id: i64 = "t.id", outer: Outer, is_new: bool = "t.created > 1" }
    );

    #[test]
    fn columns_are_listed_in_the_order_of_the_fields() {
        assert_eq!(Outer::COLUMNS, "t.name, min(t.low), max(t.high), t.low, t.high");
        assert_eq!((Inner::WIDTH, Outer::WIDTH, Beside::WIDTH), (2, 5, 7));
        assert_eq!(Beside::COLUMNS, format!("t.id, {}, t.created > 1", Outer::COLUMNS));
        assert_eq!(
            expand::<(i64, Inner)>("select t.id, {columns} from t"),
            "select t.id, t.low, t.high from t"
        );
        assert_eq!(expand::<(i64, bool)>("select a, b from t"), "select a, b from t");
    }

    #[test]
    fn fields_are_read_in_the_order_of_the_columns() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let read = |sql: &str| {
            connection
                .query_row(sql, [], |row| {
                    let row = crate::row::Row::Sqlite(row);
                    Ok(row.cells().read::<(Beside, i64)>().unwrap())
                })
                .unwrap()
        };
        let (Beside { id, outer, is_new }, last) = read("select 1, 'a', 2, 3, 4, 5, 1, 9");
        let range = outer.range.map(|range| (range.low, range.high));
        assert_eq!((id, outer.name.as_str(), is_new, last), (1, "a", true, 9));
        assert_eq!((outer.inner.low, outer.inner.high, range), (2, 3, Some((4, 5))));
        let (Beside { outer, is_new, .. }, last) = read("select 1, 'a', 2, 3, null, null, 0, 9");
        assert_eq!((outer.range.is_none(), is_new, last), (true, false, 9));
    }

    #[test]
    fn a_bulk_insert_names_its_columns_by_the_fields() {
        insert_columns!(
            struct New<'a> {
                project_id: i64,
                name: &'a str,
                created: Option<f64>,
            }
        );
        assert_eq!(New::COLUMNS, [("project_id", Kind::Int), ("name", Kind::Text), ("created", Kind::Real)]);
        let new = New { project_id: 1, name: "a", created: None };
        assert_eq!(new.values(), [Value::Int(1), Value::Text("a".into()), Value::Null]);
    }
}
