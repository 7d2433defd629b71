//! What a turn has in a session only: cells, and the checkpoints between them.

pub mod asking;
pub mod cell;
pub mod checkpoint;
