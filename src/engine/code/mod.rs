//! From the module to native code: data split off, polls or metering added, compiled.

mod body_writer;
mod call_graph;
mod canonical_nan;
mod charges;
pub mod compile;
pub(in crate::engine) mod counted;
mod float_operators;
mod flow_graph;
pub mod instrumentation;
mod local_values;
pub mod metering;
pub mod polls;
pub mod split_data;
