//! The databases of a server.
//!
//! `records`, `sessions` and `tenants` say in a trait which statements they need (`RecordStore`,
//! `SessionStore`, `KeyStore`) and know no database. Each database is a folder here that implements these traits and holds all of its
//! SQL; nothing outside of that folder names it. A test double in memory implements them too, and
//! both pass the same tests.
//!
//! | folder    | database                                                                     |
//! | --------- | ---------------------------------------------------------------------------- |
//! | `sqlite/` | SQLite files in the data folder: for keys, for records, and for sessions      |
//! | `tests/`  | the test double, and the tests that every database passes                     |

mod sqlite;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
pub(crate) use crate::database::sqlite::testing::change_blob_id_keys;
pub use crate::database::sqlite::{
    KeyDatabase, blob_id_keys_at, open_key_database, open_keys, open_records, open_sessions,
};
pub use crate::database_error::DatabaseError;
