//! `wardian serve`, and what it opens, locks and reads again.

pub(crate) mod cgroups;
pub(crate) mod folders;
pub(crate) mod listen;
pub(crate) mod records;
pub(crate) mod reload;
