//! The module counts its own fuel.

pub(crate) mod body_writer;
pub(crate) mod call_graph;
pub(crate) mod charges;
pub(crate) mod flow_graph;
pub mod transform;
