//! Folders of skills, and the packages that skills need.

pub mod packages;
pub mod registry;
