//! Looks at texts that a model reads.

pub(crate) mod blocks;
pub(crate) mod hidden;
pub(crate) mod page;
mod phrase_table;
pub(crate) mod phrases;
pub(crate) mod words;
