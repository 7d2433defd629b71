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
mod explain;
mod load;
mod reader;
mod reload;
mod schema;
mod settings;
mod tables;
mod value;
mod written;

pub use crate::config::ceiling::GatewayMemory;
pub use crate::config::effective::{EffectiveSetting, SettingOrigin};
pub(crate) use crate::config::environment::{SOURCE_DATE_EPOCH, source_date_epoch};
pub use crate::config::environment::{Surroundings, command_line};
pub use crate::config::error::ConfigError;
pub use crate::config::load::Flags;
pub(crate) use crate::config::reader::quantities::parse_duration;
pub use crate::config::reload::ReloadedConfig;
pub use crate::config::settings::{
    AuthConfig, AuthMode, BlobsConfig, CgroupUse, CompileMetered, Config, EngineConfig,
    ImagesConfig, LimitsConfig, LogConfig, LogFormat, LogLevel, RequireLockdown, SkillsConfig,
    WorkersConfig,
};

#[cfg(test)]
mod tests;
