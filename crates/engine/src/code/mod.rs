//! From the module to native code: data split off, polls or metering added, compiled.

pub mod compile;
pub mod counted;
pub(crate) mod heap_place;
pub mod instrumentation;
pub mod metering;
pub(crate) mod nan;
pub mod polls;
pub(crate) mod signal_places;
pub(crate) mod split_data;
pub(crate) mod sqlite_place;
