//! Groups of settings that are read in files of their own.

pub(crate) mod auth;
pub(crate) mod database;
pub(crate) mod limits;
pub(crate) mod records;
pub(crate) mod run_memory;
pub(crate) mod sessions;
pub(crate) mod telemetry;
pub(crate) mod tenant_skills;
pub(crate) mod tenants;
pub(crate) mod tools;
pub(crate) mod trusted_keys;
pub(crate) mod workers;
