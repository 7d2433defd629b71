//! The parts of a call that its cell has for itself.

use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::label::RunLabel;
use crate::sessions::asking::called_tools::CalledTools;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::methods::execution::{
    KeepFilesParam, RequestedLimits, RunCodeParams,
};

/// The parts of a call that its cell has for itself.
pub(super) struct CellParts {
    pub(super) code: String,
    pub(super) limits: RequestedLimits,
    pub(super) keep_files: Option<KeepFilesParam>,
    pub(super) strict_output: bool,
    pub(super) label: Option<RunLabel>,
    pub(super) listener: Option<LogListener>,
    pub(super) tools: CalledTools,
    pub(super) answers: Option<JsonText>,
    /// The result of its earlier parts, if it has waited.
    pub(super) earlier: Option<String>,
}

impl CellParts {
    /// The parts of a call that only interrupts a cell.
    pub(super) fn of_interrupt() -> Self {
        Self {
            code: String::new(),
            limits: RequestedLimits::default(),
            keep_files: None,
            strict_output: false,
            label: None,
            listener: None,
            tools: CalledTools::default(),
            answers: None,
            earlier: None,
        }
    }

    /// The parts of the same call for a cell that goes on in it.
    pub(super) fn next_part(&self) -> Self {
        Self {
            limits: self.limits,
            keep_files: self.keep_files.clone(),
            strict_output: self.strict_output,
            label: self.label.clone(),
            listener: self.listener.clone(),
            ..Self::of_interrupt()
        }
    }

    /// The parts of a call, without its answers.
    pub(super) fn of(
        params: &mut RunCodeParams,
        listener: Option<LogListener>,
    ) -> Result<Self, ServiceError> {
        Ok(Self {
            limits: params.limits(),
            code: std::mem::take(&mut params.code),
            keep_files: params.keep_files.take(),
            strict_output: params.strict_output,
            label: params.label.clone().map(RunLabel::parse).transpose()?,
            listener,
            tools: CalledTools::default(),
            answers: None,
            earlier: None,
        })
    }
}
