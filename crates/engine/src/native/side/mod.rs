//! A native module as it comes: read, validated, with the sizes that it needs.

mod dylink;
pub(crate) mod side_module;
