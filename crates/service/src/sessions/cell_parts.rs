//! The parts of a call that its cell has for itself.

use std::sync::Arc;

use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::label::RunLabel;
use crate::run::prepare::plan::Planned;
use crate::run::result::left_files;
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::asking::cell_call::CallInProgress;
use crate::sessions::asking::granted::GrantedTools;
use crate::sessions::asking::open_run::OpenRun;
use crate::sessions::reproducible::journal::CellJournal;
use crate::sessions::turns::seen_requests::SeenRequests;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::job::{KeepBounds, KeepFiles};
use wardian_formats::protocol::methods::execution::{RequestedLimits, RunCodeParams};
use wardian_formats::provenance::{DocumentBlob, SessionInputs};
use wardian_stores::records::RecordedToolCall;

/// The parts of a call that its cell has for itself.
pub(super) struct CellParts {
    pub(super) code: String,
    pub(super) limits: RequestedLimits,
    pub(super) keep_files: KeepFiles,
    pub(super) strict_output: bool,
    /// True if the code runs a script of a skill.
    pub(super) is_script: bool,
    pub(super) label: Option<RunLabel>,
    pub(super) listener: Option<LogListener>,
    /// True if the value is displayed whatever it is.
    pub(super) shows_value: bool,
    /// What the session must follow from, if it repeats another one.
    pub(super) expected: Option<Box<SessionInputs>>,
    pub(super) tools: CalledTools,
    /// What its program may call beyond the tools of its caller.
    pub(super) granted: GrantedTools,
    pub(super) answers: Option<JsonText>,
    /// The calls of tools that end with these answers.
    pub(super) tool_calls: Vec<RecordedToolCall>,
    /// The run of the call, if its caller answers while it goes on.
    pub(super) open: Option<Arc<OpenRun>>,
    /// The call itself.
    pub(super) call: Arc<CallInProgress>,
    /// The result of its earlier parts, if it has waited.
    pub(super) earlier: Option<String>,
    /// What has decided it so far, if it has waited and its session is reproducible.
    pub(super) journal: Option<Box<CellJournal>>,
    /// What the cell has asked so far, if it has waited.
    pub(super) seen: SeenRequests,
    /// What it has of the record, if it repeats another cell.
    pub(super) recorded: Option<RecordedParts>,
}

/// What a cell has of the record that it repeats.
#[derive(Debug, Clone)]
pub(super) struct RecordedParts {
    /// The limits in the place of those that it asks for.
    pub(super) limits: RunLimits,
    /// The blobs with the names that they had.
    pub(super) blobs: Vec<DocumentBlob>,
}

impl CellParts {
    /// The parts of a call that only interrupts a cell.
    pub(super) fn of_interrupt(bounds: KeepBounds) -> Self {
        Self::of_code(String::new(), KeepFiles::Usual(bounds))
    }

    /// Lets a reproducible cell go on as it has begun: what a later call asks for decides its time alone.
    pub(super) fn go_on_as_begun(&mut self, planned: &mut Planned) {
        let Some(journal) = &self.journal else { return };
        planned.limits = journal.limits_of_part(planned.limits);
        let begun = journal.inputs();
        self.keep_files = begun.keep_files.clone();
        (self.strict_output, self.shows_value) = (begun.strict_output, begun.shows_value);
    }

    /// The parts of the same call for a cell that goes on in it.
    pub(super) fn next_part(&self) -> Self {
        Self {
            limits: self.limits,
            strict_output: self.strict_output,
            is_script: self.is_script,
            label: self.label.clone(),
            listener: self.listener.clone(),
            open: self.open.clone(),
            call: Arc::clone(&self.call),
            granted: self.granted.clone(),
            recorded: self.recorded.clone(),
            ..Self::of_code(String::new(), self.keep_files.clone())
        }
    }

    /// The parts of a call, without its answers. Files are kept within these bounds, if it does not say which.
    pub(super) fn of(
        params: &mut RunCodeParams,
        bounds: KeepBounds,
        listener: Option<LogListener>,
    ) -> Result<Self, ServiceError> {
        let keep_files = left_files::kept(params.keep_files.take(), bounds);
        Ok(Self {
            limits: params.limits(),
            strict_output: params.strict_output,
            is_script: params.is_script,
            label: params.label.clone().map(RunLabel::parse).transpose()?,
            listener,
            ..Self::of_code(std::mem::take(&mut params.code), keep_files)
        })
    }

    /// Code without anything else.
    pub(super) fn of_code(code: String, keep_files: KeepFiles) -> Self {
        Self {
            code,
            limits: RequestedLimits::default(),
            keep_files,
            strict_output: false,
            is_script: false,
            label: None,
            listener: None,
            shows_value: false,
            expected: None,
            tools: CalledTools::default(),
            granted: GrantedTools::default(),
            answers: None,
            tool_calls: Vec::new(),
            open: None,
            call: Arc::default(),
            earlier: None,
            journal: None,
            seen: SeenRequests::default(),
            recorded: None,
        }
    }
}
