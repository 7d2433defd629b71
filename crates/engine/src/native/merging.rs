//! The state of a merge.

use crate::native::engine_module::EngineModule;
use crate::native::output::placement::Placement;
use crate::native::output::preparation::NativePreparation;
use crate::native::output::sections::Entries;

/// The state of a merge: the engine, and what is added to it.
#[derive(Debug)]
pub(super) struct Merging<'a, 't> {
    pub(super) engine: EngineModule<'a>,
    pub(super) placement: Placement<'t>,
    /// Type indices of the added functions.
    pub(super) functions: Entries,
    /// Their bodies.
    pub(super) code: Entries,
    /// Their names, in the order of their indices.
    pub(super) names: Vec<(u32, String)>,
    pub(super) preparation: NativePreparation,
}

/// Where the data and the functions of one module lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct SidePlace {
    pub(super) memory: u32,
    pub(super) memory_end: u32,
    pub(super) table: u32,
    pub(super) table_end: u32,
}
