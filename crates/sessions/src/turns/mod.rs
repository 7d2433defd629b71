//! Cells: their turns, one at a time, and their waits; and looks between them.

pub(crate) mod cell_ends;
pub(crate) mod chain;
pub(crate) mod continuation;
pub(crate) mod look;
mod own_key;
pub(crate) mod turn;
pub(crate) mod turn_table;
mod waiting;
