//! One run of a program: from its plan to its result.

pub(crate) mod broker;
pub(crate) mod bytecode;
pub(crate) mod covers;
pub(crate) mod detach;
pub(crate) mod detach_policy;
pub(crate) mod execute;
pub(crate) mod failure;
pub(crate) mod host;
pub(crate) mod layer_bytecode;
pub(crate) mod layers;
pub(crate) mod left_files;
pub(crate) mod limits;
pub(crate) mod log_line;
pub(crate) mod log_stream;
pub(crate) mod logs;
pub(crate) mod metering;
pub(crate) mod mounted_skill;
pub(crate) mod network;
pub(crate) mod output;
pub(crate) mod packages;
pub(crate) mod packages_error;
pub(crate) mod plan;
pub(crate) mod result;
pub(crate) mod run_record;
pub(crate) mod run_trace;
pub(crate) mod secrets;
