//! What `wardian test` reports, and in which form.

pub(crate) mod annotations;
pub(crate) mod junit;
pub(crate) mod line_diff;
pub(crate) mod outcomes;
pub(crate) mod printer;
mod xml;
