//! `wardian skills`: the commands for authors and operators of skills, one file each.

pub(crate) mod args;
pub(crate) mod check_python;
pub(crate) mod check_skills;
pub(crate) mod deps;
pub(crate) mod evals;
pub(crate) mod execute;
pub(crate) mod list_skills;
pub(crate) mod new_skill;
pub(crate) mod packages;
pub(crate) mod publish;
pub(crate) mod scan_report;
pub(crate) mod skills_lock;
pub(crate) mod sources;
