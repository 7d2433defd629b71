//! The inputs that a skill declares, and values that have to fit them.

pub mod declared;
pub mod fit;
pub(crate) mod input_schema;
pub mod shape;
