//! What a database operation can end in. Five outcomes, whatever the engine; no status codes here.

use std::{error, fmt};

/// The result of every function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The conflict of removing what other rows still need.
pub const IN_USE: &str = "in_use";

/// Why a database operation did not happen.
#[derive(Debug)]
pub enum Error {
    /// The row asked for is not there; names the kind of thing looked for.
    NotFound(&'static str),
    /// A uniqueness rule was broken; names the index, `<table>_<column>_<column>` on both engines.
    Conflict(String),
    /// The database is overloaded, locked or unreachable; the caller may try again.
    Busy(Box<dyn error::Error + Send + Sync>),
    /// There is no room left to write to; reading goes on, and so does writing once there is room again.
    Full(Box<dyn error::Error + Send + Sync>),
    /// Anything else: a fault of ours, of the disk or of the data.
    Engine(Box<dyn error::Error + Send + Sync>),
}

impl Error {
    /// An engine error with a message of our own.
    pub fn engine(message: impl Into<String>) -> Self {
        Self::Engine(message.into().into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(noun) => write!(f, "no such {noun}"),
            Self::Conflict(index) => write!(f, "a row with the same {index} exists already"),
            Self::Busy(_) => f.write_str("the database is busy"),
            Self::Full(_) => f.write_str("the disk of the database is full"),
            Self::Engine(_) => f.write_str("the database failed"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::NotFound(_) | Self::Conflict(_) => None,
            Self::Busy(source) | Self::Full(source) | Self::Engine(source) => Some(source.as_ref()),
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

/// Turns `UNIQUE constraint failed: member.organization_id, member.user_id` into `member_organization_id_user_id`,
/// which is the name every unique index carries, so that both engines report a conflict alike.
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
