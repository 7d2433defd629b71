//! Parses TOML and YAML into one tree of values with their places in the text.

pub(super) mod from_toml;
pub(crate) mod from_yaml;
pub(super) mod node;
pub(super) mod repaired_yaml;
mod toml_brackets;
