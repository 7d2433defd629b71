//! The layer below the protocol library: what comes from clients and guests passes beside it.
//!
//! The library makes trees of whole messages. So [`envelope`] cuts the arguments of a tool out of a
//! message and hands on a small rest, and [`splice`] lays contents into the answer that the library
//! writes. Neither ever is a tree.

pub(crate) mod envelope;
pub(super) mod exchange;
pub(crate) mod splice;
pub(crate) mod spliced_body;
