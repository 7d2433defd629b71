//! NaNs have one form where a program sees their bits.

pub(crate) mod canonical_nan;
pub(crate) mod float_operators;
pub(crate) mod local_values;
