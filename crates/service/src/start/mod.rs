//! A server from its start on: what it answers before it can execute anything.

pub(crate) mod discovery;
mod gate;
mod preparation;

pub use crate::start::discovery::{Discovery, DiscoveryParts};
pub use crate::start::gate::Gate;
pub use crate::start::preparation::{Preparation, PreparationStep};

#[cfg(test)]
mod store_tests;
