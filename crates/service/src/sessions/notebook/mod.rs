//! Notebooks: the cells of a session as one, and a session of the cells of one.

pub(crate) mod exported;
pub(crate) mod imported;
mod programs;
