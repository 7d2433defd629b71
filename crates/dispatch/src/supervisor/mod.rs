//! Keeps the worker processes: starts them, logs what they print, and replaces those that end.

pub(crate) mod cgroups;
pub(crate) mod restart_policy;
pub(crate) mod spawned;
pub(crate) mod spawner;
pub(crate) mod stderr_log;
pub(crate) mod supervise;
pub(crate) mod template;
