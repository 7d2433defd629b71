//! Errors of SQLite, as errors of a database.

use std::io;
use std::path::Path;

use crate::database_error::DatabaseError;

impl From<sqlx::Error> for DatabaseError {
    fn from(cause: sqlx::Error) -> Self {
        match primary_code(&cause) {
            Some(FULL) => Self::Full(cause.into()),
            _ => Self::failed(cause),
        }
    }
}

/// The error about the file at `path` that has this cause.
pub(super) fn of_file(path: &Path, content: &'static str, cause: sqlx::Error) -> DatabaseError {
    let path = path.to_owned();
    match primary_code(&cause) {
        Some(CORRUPT | NOT_A_DATABASE) => {
            DatabaseError::Damaged { content, path, cause: cause.into() }
        }
        Some(PERMISSION | READ_ONLY | CANNOT_OPEN | INPUT_OUTPUT | FULL) => {
            DatabaseError::Unusable { path, cause: io::Error::other(cause) }
        }
        _ => cause.into(),
    }
}

/// Whether another process or connection had the file at this moment.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    primary_code(error) == Some(BUSY)
}

/// The primary result code of SQLite, which is the lowest byte of an extended one.
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

/// Primary result codes of SQLite.
const PERMISSION: i32 = 3;
const BUSY: i32 = 5;
const READ_ONLY: i32 = 8;
const INPUT_OUTPUT: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANNOT_OPEN: i32 = 14;
const NOT_A_DATABASE: i32 = 26;
