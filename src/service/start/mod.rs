//! A server from its start on: what it answers before it can execute anything.

pub(crate) mod discovery;
mod gate;
mod preparation;

pub use crate::service::start::discovery::{Discovery, DiscoveryParts};
pub use crate::service::start::gate::{Gate, PreparationWatch};
pub use crate::service::start::preparation::{Preparation, PreparationStep};
