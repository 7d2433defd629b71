//! Cells: their turns, one at a time, and their waits; and looks between them.

mod beginning;
pub(crate) mod cell_ends;
pub(crate) mod chain;
pub(crate) mod continuation;
pub(crate) mod look;
pub(crate) mod turn;
pub(crate) mod turn_table;
mod waiting;
