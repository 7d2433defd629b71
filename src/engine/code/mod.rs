//! From the module to native code: data split off, polls added, compiled.

pub mod compile;
pub mod polls;
pub mod split_data;
