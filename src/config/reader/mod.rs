//! Settings as they are written: their layers, their places, their quantities, and advice for those
//! that do not exist.

mod hints;
mod layered;
mod places;
pub(crate) mod quantities;

pub(crate) use crate::config::reader::layered::{Layers, PREFIX, Reader, variable_of};
pub(crate) use crate::config::reader::places::FilePlaces;
