//! One small layer over all databases: `execute`, `fetch`, and transactions. Statements are the same text
//! for each, as far as both understand it.
//!
//! A statement outside of a transaction may be executed twice, if the connection is lost before its answer
//! is there: all of them are such that the second time changes nothing that matters.

mod any_row;
mod clock;
mod database;
mod writing;

pub(in crate::database) use crate::database::engine::any_row::AnyRow;
pub(in crate::database) use crate::database::engine::clock::{LeaseClock, milliseconds};
pub(in crate::database) use crate::database::engine::database::Database;
pub use crate::database::engine::database::DatabasePlace;
pub(in crate::database) use crate::database::engine::writing::Writing;
