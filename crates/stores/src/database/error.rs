//! Errors of the database. Shown to the operator, who knows the paths, and never to a client.

use std::io;
use std::path::{Path, PathBuf};

/// Errors of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file or its folder cannot be used.
    #[error(
        "the database {} cannot be used; the user that runs Wardian must be able to write to it \
         and to its folder (`data_dir`)",
        path.display()
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// A later version of Wardian made or changed the file.
    #[error(
        "the database {} has schema version {found}, but this program knows only versions up to \
         {known}; run the version of Wardian that wrote it, or a later one, or restore the backup \
         from before the upgrade",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The file is not a database, or is damaged.
    #[error(
        "the database {} is damaged or not a database; restore it from a backup, or move it away \
        to start with an empty one, without {content}",
        path.display()
    )]
    Damaged {
        /// The content of the database, for the message.
        content: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        cause: sqlx::Error,
    },
    /// A statement failed.
    #[error("the database failed")]
    Failed(#[from] sqlx::Error),
}

impl DatabaseError {
    /// The error about the file at `path` that has this cause.
    pub(super) fn of_file(path: &Path, content: &'static str, cause: sqlx::Error) -> Self {
        let path = path.to_owned();
        match primary_code(&cause) {
            Some(CORRUPT | NOT_A_DATABASE) => Self::Damaged { content, path, cause },
            Some(PERMISSION | READ_ONLY | CANNOT_OPEN | INPUT_OUTPUT | FULL) => {
                Self::Unusable { path, cause: io::Error::other(cause) }
            }
            _ => Self::Failed(cause),
        }
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
