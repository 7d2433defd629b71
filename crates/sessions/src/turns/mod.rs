//! Cells: their turns, one at a time, and their waits.

pub(crate) mod cell_ends;
pub(crate) mod turn;
pub(crate) mod turn_table;
mod waiting;
