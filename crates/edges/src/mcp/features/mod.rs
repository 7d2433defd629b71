//! What the protocol offers to a model: tools, prompts, resources, skills and tasks.

pub(super) mod call;
pub(crate) mod code_mode;
mod elicited;
pub(super) mod images;
pub(super) mod links;
pub(crate) mod local_files;
pub(super) mod progress;
pub(super) mod prompts;
pub(super) mod resources;
pub(super) mod results;
pub(super) mod session_tool;
pub(crate) mod skills;
pub(super) mod tasks;
pub(super) mod tools;
