//! The databases of a server.
//!
//! `records`, `sessions` and `tenants` say in a trait which statements they need (`RecordStore`,
//! `SessionStore`, `KeyStore`) and know no database. Here are those statements. Keys and records are in SQLite
//! or in PostgreSQL, by the same statements over one small layer; nothing outside of this folder names
//! either. A test double in memory implements the traits too, and all pass the same tests.
//!
//! | place          | content                                                                  |
//! | -------------- | ------------------------------------------------------------------------ |
//! | `statement.rs` | a statement and its values, for any database                              |
//! | `schema.rs`    | the scripts that make the tables                                          |
//! | `copy.rs`      | copies one database into another one, and compares both                  |
//! | `engine/`      | the layer: `execute`, `fetch`, transactions, the clock of leases          |
//! | `blobs/`       | the statements on blobs whose content is in an object store               |
//! | `keys/`        | the statements on keys                                                    |
//! | `records/`     | the statements on records                                                 |
//! | `sqlite/`      | SQLite files in the data folder, and the statements on sessions           |
//! | `postgres/`    | a database of PostgreSQL that several servers share                       |
//! | `testing/`     | a server of PostgreSQL for tests                                          |
//! | `tests/`       | the test double, and the tests that every database passes                 |

mod blobs;
mod copy;
mod engine;
mod keys;
mod numbers;
mod postgres;
mod records;
mod schema;
mod sqlite;
mod statement;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
pub(crate) use crate::database::blobs::open_blob_rows;
pub use crate::database::blobs::open_remote_blobs;
pub use crate::database::copy::{DatabaseCopy, DatabasePart, TableProgress};
pub use crate::database::engine::DatabasePlace;
pub use crate::database::keys::{KeyDatabase, blob_id_keys_at, open_key_database, open_keys};
pub use crate::database::records::open_records;
pub use crate::database::sqlite::open_sessions;
#[cfg(test)]
pub(crate) use crate::database::sqlite::testing::change_blob_id_keys;
pub use crate::database_error::DatabaseError;
