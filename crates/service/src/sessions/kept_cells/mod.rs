//! The cells that are kept of a session: how they are read, and results that are too long for them.

pub(super) mod long_result;
pub(super) mod read_cells;
