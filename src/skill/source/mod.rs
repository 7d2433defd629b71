//! From the text of a file to a tree of values that know where they stand: TOML and YAML alike.

pub(crate) mod from_toml;
pub(crate) mod from_yaml;
pub(crate) mod node;
mod toml_brackets;
