//! What a turn has in a session only: cells, the checkpoints between them, and orders for its files.

pub mod asking;
pub mod cell;
pub mod checkpoint;
pub mod files;
