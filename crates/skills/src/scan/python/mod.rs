//! Looks at Python without running it: tokens, what names stand for, and where values go.

mod calls;
mod cursor;
mod expressions;
mod file;
mod known;
mod names;
mod results;
mod rules;
mod tokens;

pub(crate) use crate::scan::python::file::{PythonFile, look_at_python};
pub(crate) use crate::scan::python::names::{MAX_WORK_OF_ALL, PythonPlace};
