//! Documents of reproducible sessions: what each cell was, and what came out of it.
//!
//! A session is executed again cell by cell. What a cell leaves in memory and files is compared by its
//! digest.

pub mod asked;
pub mod cell;
mod difference;
pub mod document;
