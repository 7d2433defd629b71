//! The commands, one file each.

pub(crate) mod blobs;
pub(crate) mod conformance;
mod diagnosis;
pub(crate) mod doctor;
pub(crate) mod engine;
pub(crate) mod fuel_profile;
pub(crate) mod images;
pub(crate) mod kernel;
pub(crate) mod keys;
pub(crate) mod licenses;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod own_server;
pub(crate) mod repl;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod show_config;
pub(crate) mod skill_cases;
pub(crate) mod skills;
pub(crate) mod test;
pub(crate) mod tools;
pub(crate) mod top;
pub(crate) mod verify;
mod whole_file;
