//! The cases that skills bring along as tests: their format, their mistakes, and one run of each.
//! `wardian test` runs them; `wardian skills check` looks for mistakes.

pub(crate) mod case_file;
mod case_network;
pub(crate) mod run_case;
pub(crate) mod skill_tests;
pub(crate) mod test_case;
