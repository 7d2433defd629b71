//! Parses TOML and YAML into one tree of values with their places in the text.

pub(super) mod from_toml;
pub(crate) mod from_yaml;
pub(super) mod node;
mod toml_brackets;
