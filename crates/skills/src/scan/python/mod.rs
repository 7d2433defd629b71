//! Looks at Python without running it: tokens, what names stand for, and where values go.

mod calls;
mod decode;
mod expressions;
mod file;
mod known;
mod rules;
mod tokens;

pub(crate) use crate::scan::python::decode::base64;
pub(crate) use crate::scan::python::file::{PythonFile, Shown, look_at_python};
pub(crate) use crate::scan::python::rules::{
    is_agent_path, is_credential_path, is_precious, is_start_path,
};
