//! Errors of database operations: five cases, independent of the engine and without HTTP status codes.

use std::{error, io};

/// Result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Conflict when a row to delete is still referenced.
pub const IN_USE: &str = "in_use";

/// Why a database operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The row does not exist; contains the kind of resource.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// A unique constraint was violated; contains the name of the index, `<table>_<column>_<column>` on both engines.
    #[error("a row with the same {0} exists already")]
    Conflict(String),
    /// The database is overloaded, locked or unreachable; the caller may retry.
    #[error("the database is busy")]
    Busy(#[source] Box<dyn error::Error + Send + Sync>),
    /// The disk is full. Reads still work, and writes work again when there is free space.
    #[error("the disk of the database is full")]
    Full(#[source] Box<dyn error::Error + Send + Sync>),
    /// Any other error: a bug, a disk error or invalid data.
    #[error("the database failed")]
    Engine(#[source] Box<dyn error::Error + Send + Sync>),
}

impl Error {
    /// Creates an engine error with a message.
    pub fn engine(message: impl Into<String>) -> Self {
        Self::Engine(message.into().into())
    }

    /// Whether PostgreSQL canceled a statement because of the locks of other transactions.
    pub(crate) fn is_lock_conflict(&self) -> bool {
        use tokio_postgres::error::SqlState;
        let Self::Busy(reason) = self else { return false };
        let code = reason.downcast_ref().and_then(tokio_postgres::Error::code);
        code.is_some_and(|code| {
            [SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE].contains(code)
        })
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull => Self::Full(error.into()),
            _ => Self::Engine(error.into()),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::{ErrorCode, ffi};
        let rusqlite::Error::SqliteFailure(failure, message) = &error else {
            return Self::Engine(error.into());
        };
        match (failure.code, failure.extended_code) {
            (_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
                Self::Conflict(index_of(message.as_deref().unwrap_or_default()))
            }
            (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => Self::Conflict(IN_USE.into()),
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Self::Busy(error.into()),
            (ErrorCode::DiskFull, _) => Self::Full(error.into()),
            _ => Self::Engine(error.into()),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let Some(failure) = error.as_db_error() else {
            return if error.is_closed() || error.code().is_none() {
                Self::Busy(error.into())
            } else {
                Self::Engine(error.into())
            };
        };
        match failure.code() {
            &SqlState::UNIQUE_VIOLATION => {
                Self::Conflict(failure.constraint().unwrap_or_default().to_owned())
            }
            &SqlState::FOREIGN_KEY_VIOLATION => Self::Conflict(IN_USE.into()),
            &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::QUERY_CANCELED
            | &SqlState::TOO_MANY_CONNECTIONS
            | &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW => Self::Busy(error.into()),
            &SqlState::DISK_FULL => Self::Full(error.into()),
            _ => Self::Engine(error.into()),
        }
    }
}

/// Converts `UNIQUE constraint failed: member.organization_id, member.user_id` to `member_organization_id_user_id`, the
/// name of the unique index, so that both engines report the same conflict.
fn index_of(message: &str) -> String {
    let columns = message.rsplit(": ").next().unwrap_or_default();
    let mut name = String::new();
    for (position, column) in columns.split(", ").enumerate() {
        match column.split_once('.') {
            Some((table, column)) if position == 0 => name = format!("{table}_{column}"),
            Some((_, column)) => {
                name.push('_');
                name.push_str(column);
            }
            None => name.push_str(column),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::index_of;

    #[test]
    fn sqlite_conflicts_are_named_like_the_index() {
        assert_eq!(index_of("UNIQUE constraint failed: account.email"), "account_email");
        assert_eq!(
            index_of("UNIQUE constraint failed: member.organization_id, member.account_id"),
            "member_organization_id_account_id"
        );
    }
}
