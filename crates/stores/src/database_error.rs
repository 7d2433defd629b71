//! Errors of a database. Shown to the operator, who knows the paths, and never to a client.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Errors of a database.
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
    /// A later version of Wardian made or changed it.
    #[error(
        "the database {place} has schema version {found}, but this program knows only versions up to \
         {known}; run the version of Wardian that wrote it, or a later one, or restore the backup \
         from before the upgrade"
    )]
    NewerSchema {
        /// The file, or the address without a password.
        place: String,
        /// The version that was found.
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
        /// The error of the database.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The file with the URL of a database cannot be used. Nothing of the URL is shown.
    #[error("`{}` (`database.url_file`): {fault}", path.display())]
    WrongUrl {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
    /// The database of other machines cannot be used.
    #[error("the database {place} cannot be used: {advice}")]
    Refused {
        /// Its address, without a password.
        place: String,
        /// What is wrong, and what to do.
        advice: String,
        /// What it has answered, if it has.
        #[source]
        cause: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A statement failed, because the disk has no room for what it changes.
    #[error("the database failed")]
    Full(#[source] Box<dyn Error + Send + Sync>),
    /// A statement failed.
    #[error("the database failed")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl DatabaseError {
    /// A statement failed, or its values cannot be written or read.
    pub(crate) fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}
