//! Parses TOML and YAML into one tree of values with their places in the text.

pub(crate) mod from_toml;
pub(crate) mod from_yaml;
pub(crate) mod node;
mod toml_brackets;
