//! PostgreSQL, which several servers share: its connections, its errors, and its schema.
//!
//! INVARIANT(no-secret-of-a-url): the URL has a password, so no message, log line or `Debug` has any of it
//! but the machine, the port and the name of the database.
//!
//! INVARIANT(refused-and-unchanged): a database that is newer than this program, that only reads, or that this
//! user may not change is refused, and nothing in it is changed.
//!
//! # Why
//!
//! Nothing here needs the state of a session, so a pooler between may give each transaction another connection.
//! Locks are those of transactions; settings are checked and not made.

mod address;
mod connections;
mod error;
mod run;
mod schema;
#[cfg(test)]
mod tests;

pub(in crate::database) use crate::database::postgres::connections::{
    PostgresPool, PostgresTransaction,
};
pub(in crate::database) use crate::database::postgres::run::{Wanted, columns_of, without_nul};
