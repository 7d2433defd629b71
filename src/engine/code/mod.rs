//! From the module to native code: data split off, polls or metering added, compiled.

pub mod compile;
pub mod instrumentation;
pub mod metering;
pub mod polls;
mod regions;
pub mod split_data;
