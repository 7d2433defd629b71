//! What the gateway keeps: blobs, the database, tenants, records, the audit log, results, secrets.

pub mod audit;
pub mod blobs;
pub mod database;
mod database_error;
pub mod records;
pub mod results;
pub mod secrets;
pub mod sessions;
pub mod tenants;
