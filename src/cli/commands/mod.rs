//! The commands, one file each.

pub(crate) mod blobs;
pub(crate) mod check_python;
pub(crate) mod check_skills;
pub(crate) mod doctor;
pub(crate) mod engine;
pub(crate) mod images;
pub(crate) mod list_skills;
pub(crate) mod new_skill;
pub(crate) mod run;
pub(crate) mod run_result;
pub(crate) mod serve;
pub(crate) mod show_config;
