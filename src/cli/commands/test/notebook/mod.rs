//! Notebooks as tests: their cells are executed in one reproducible session, and what comes out is compared
//! with the outputs that the notebook has.

mod cell_numbers;
pub(crate) mod notebook_file;
pub(crate) mod notebook_tests;
mod outputs;
pub(crate) mod run_notebook;
mod written;
