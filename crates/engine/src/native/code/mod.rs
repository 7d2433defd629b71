//! The bodies of functions with new numbers, and without legacy exceptions.

mod attempts;
pub(crate) mod exceptions;
pub(crate) mod numbers;
