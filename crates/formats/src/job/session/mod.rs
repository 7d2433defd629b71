//! What a turn has in a session only: cells, and the checkpoints between them.

pub mod cell;
pub mod checkpoint;
