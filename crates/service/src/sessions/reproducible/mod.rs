//! Reproducible sessions: what their clocks and their randomness follow from, and what is noted of each cell
//! so that others can execute it again.

pub(crate) mod cell_record;
pub(crate) mod journal;
pub(crate) mod local_cells;
pub(crate) mod repeated;
pub(crate) mod session_record;
pub(crate) mod session_seed;

#[cfg(test)]
pub(crate) mod testing;
