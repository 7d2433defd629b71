//! Output for people and scripts: lines, tables, JSON and logs.

pub(crate) mod json_layout;
pub(crate) mod logging;
pub(crate) mod option_advice;
pub(crate) mod output;
pub(crate) mod readable;
