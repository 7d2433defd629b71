//! The engine on disk: entries that are complete and checked, or not there.

pub mod draft;
pub mod entry;
pub mod file;
pub mod manifest;
pub mod record;
