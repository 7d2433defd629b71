//! `wardian run` and `wardian exec`.

pub(crate) mod epoch;
pub(crate) mod local_program;
pub(crate) mod out_folder;
pub(crate) mod printed_result;
