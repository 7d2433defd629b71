//! A server from its start on: what it answers before it can execute anything.

pub(crate) mod discovery;
mod gate;

pub use crate::service::start::discovery::{Discovery, DiscoveryParts};
pub use crate::service::start::gate::{Gate, Preparation, PreparationStep, PreparationWatch};
