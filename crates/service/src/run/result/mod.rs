//! What a run leaves, as its caller gets it.

pub(crate) mod answered;
pub(crate) mod cached_result;
pub(crate) mod converted;
pub(crate) mod cut_output;
pub(crate) mod failure;
pub(crate) mod left_files;
pub(crate) mod log_line;
pub(crate) mod logs;
pub(crate) mod make_answer;
pub(crate) mod output;
mod script_streams;
