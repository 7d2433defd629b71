//! Every setting of the program: loaded from flags, the environment and a file, in this order of
//! precedence, and checked as a whole before anything is built.
//!
//! A key of the file such as `http.max_body` is the environment variable `WARDIAN_HTTP_MAX_BODY`
//! and the flag `--set http.max_body=…`. Unknown keys are refused.
//!
//! No module below this one reads the environment or has defaults that depend on it.

mod ceiling;
mod effective;
mod environment;
mod error;
mod load;
mod reader;
mod reload;
mod schema;
mod setting_table;
mod settings;
mod tables;
mod value;
mod written;

pub use crate::ceiling::GatewayMemory;
pub use crate::effective::{EffectiveSetting, SettingOrigin};
pub use crate::environment::{
    SOURCE_DATE_EPOCH, named_variable, secret_variables, source_date_epoch,
};
pub use crate::environment::{Surroundings, command_line};
pub use crate::error::ConfigError;
pub use crate::load::Flags;
pub use crate::reader::quantities::parse_duration;
pub use crate::reload::ReloadedConfig;
pub use crate::setting_table::with_settings_table;
pub use crate::settings::{
    AuthMode, CgroupUse, CompileMetered, Config, DatabaseConfig, FleetSettings, LogFormat,
    LogLevel, RequireLockdown, TrustedKey,
};
pub use crate::tables::tools::{MAX_TOOL_SERVERS, check_tool_server_name, is_own_tool_header};

#[cfg(test)]
mod tests;
