//! What tests of other crates need of databases.

mod postgres_server;

pub use crate::database::testing::postgres_server::PostgresServer;
