//! What is kept of a run.

pub(crate) mod document;
pub(crate) mod kept_content;
pub(crate) mod kept_document;
pub(crate) mod run_record;
