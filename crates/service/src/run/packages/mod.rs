//! The layers of packages of a run, and their bytecode.

pub(crate) mod bytecode;
pub(crate) mod compiler;
pub(crate) mod layer_bytecode;
pub(crate) mod layers;
pub(crate) mod locked;
pub(crate) mod packages_error;
