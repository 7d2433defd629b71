//! Folders of skills, what they contain, and the packages that skills need.

pub mod packages;
pub mod registry;
pub mod scan;
