//! Errors of PostgreSQL, as errors of a database.

use std::error::Error;
use std::io;

use crate::database_error::DatabaseError;

/// A statement failed.
pub(super) fn failed(cause: sqlx::Error) -> DatabaseError {
    match code(&cause).as_deref() {
        Some(DISK_FULL) => DatabaseError::Full(cause.into()),
        _ => DatabaseError::failed(cause),
    }
}

/// The error about the database at `place` that cannot be opened for this reason.
pub(super) fn of_place(place: &str, cause: sqlx::Error) -> DatabaseError {
    let refused = |advice| refusal(place, advice, Some(Box::new(Plain::of(&cause))));
    match &cause {
        // What a certificate is refused for comes as an error of reading.
        sqlx::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            refused(WRONG_CERTIFICATE)
        }
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) => refused(
            "it cannot be reached: check that it runs, and the host and the port in \
             `database.url_file`",
        ),
        sqlx::Error::Tls(_) => refused(WRONG_CERTIFICATE),
        sqlx::Error::Protocol(_) => refused(
            "what answers there does not speak the protocol of PostgreSQL: check the host and the \
             port in `database.url_file`",
        ),
        sqlx::Error::Configuration(_) => {
            refused("its URL cannot be used: check `database.url_file`")
        }
        sqlx::Error::Database(_) => match code(&cause).as_deref() {
            Some(WRONG_PASSWORD | WRONG_USER) => refused(
                "it refuses this user: check the user and the password in `database.url_file`",
            ),
            Some(NO_DATABASE) => {
                refused("the database does not exist: create it with `CREATE DATABASE`")
            }
            Some(NO_RIGHTS | NO_SCHEMA) => refused(
                "this user may not make or change tables there: make it the owner of the database",
            ),
            Some(READ_ONLY) => refused(STANDBY),
            Some(SAME_TABLE) => {
                refused("it has tables of something else: give Wardian a database of its own")
            }
            Some(TOO_MANY) => refused(
                "it has no connection left for this server, which needs up to 12: raise its \
                 `max_connections`",
            ),
            _ => refused("it does not answer as it should"),
        },
        _ => failed(cause),
    }
}

/// What to do about a server that does not prove its name.
const WRONG_CERTIFICATE: &str = "its certificate is not accepted, or it has none: give its authority with \
     `sslrootcert=FILE` in the URL (`database.url_file`)";

/// What to do about a server that only follows another one.
pub(super) const STANDBY: &str =
    "it only reads, as a standby does: name the primary server in `database.url_file`";

/// The database at `place` is refused.
pub(super) fn refusal(
    place: &str,
    advice: impl Into<String>,
    cause: Option<Box<dyn Error + Send + Sync>>,
) -> DatabaseError {
    DatabaseError::Refused { place: place.to_owned(), advice: advice.into(), cause }
}

/// The first line of an error, without the parts of a statement or of a URL.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Plain(String);

impl Plain {
    fn of(cause: &sqlx::Error) -> Self {
        let text = match cause {
            sqlx::Error::Database(error) => error.message().to_owned(),
            sqlx::Error::Io(error) => error.to_string(),
            sqlx::Error::Tls(error) => error.to_string(),
            sqlx::Error::PoolTimedOut => "no answer in time".to_owned(),
            _ => "see above".to_owned(),
        };
        Self(text.lines().next().unwrap_or_default().to_owned())
    }
}

/// Whether the connection cannot be used any more, so that another one may do better: it is lost, the server
/// stops or starts, or has become one that only reads.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        // Before a transaction: what was there before is not known.
        sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(_) => code(error).is_some_and(|code| {
            let is_away = code.starts_with(CONNECTION) || code.starts_with(OPERATOR);
            is_away || [READ_ONLY, NEVER_WRITES].contains(&code.as_str())
        }),
        _ => false,
    }
}

/// The connection gave no answer in time.
pub(super) fn timed_out() -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"))
}

/// The code of an error: five characters.
fn code(error: &sqlx::Error) -> Option<String> {
    let sqlx::Error::Database(error) = error else { return None };
    error.code().map(std::borrow::Cow::into_owned)
}

/// Codes of PostgreSQL. Two of them are classes.
const CONNECTION: &str = "08";
const OPERATOR: &str = "57P";
const READ_ONLY: &str = "25006";
/// A transaction that writes cannot begin on a standby.
const NEVER_WRITES: &str = "0A000";
const WRONG_USER: &str = "28000";
const WRONG_PASSWORD: &str = "28P01";
const NO_DATABASE: &str = "3D000";
const NO_SCHEMA: &str = "3F000";
const NO_RIGHTS: &str = "42501";
const SAME_TABLE: &str = "42P07";
const DISK_FULL: &str = "53100";
const TOO_MANY: &str = "53300";
