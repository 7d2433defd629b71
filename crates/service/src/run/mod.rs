//! One run of a program: from its plan to its result.

pub(crate) mod access;
pub(crate) mod background;
pub(crate) mod execute;
pub(crate) mod packages;
pub(crate) mod prepare;
pub(crate) mod record;
pub(crate) mod result;
