//! Settings as they are written: their layers, their places, their quantities, and advice for those
//! that do not exist.

mod hints;
mod layered;
mod places;
pub(crate) mod quantities;

pub(crate) use crate::reader::layered::{Layers, PREFIX};
pub(crate) use crate::reader::layered::{Reader, variable_of};
pub(crate) use crate::reader::places::FilePlaces;
