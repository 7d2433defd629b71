//! What is added to the engine: its places, its types, and the sections that grow.

pub(crate) mod function_types;
pub(crate) mod merged_file;
pub(crate) mod placement;
pub(crate) mod preparation;
pub(crate) mod sections;
