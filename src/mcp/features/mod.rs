//! What the protocol offers to a model: tools, prompts, resources, skills and tasks.

pub(crate) mod call;
pub(crate) mod images;
pub(crate) mod local_files;
pub(crate) mod progress;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod results;
pub(crate) mod skill_tools;
pub(crate) mod skill_uri;
pub(crate) mod skills;
pub(crate) mod tasks;
pub(crate) mod tools;
