//! Makes the answer of a finished run from the worker's outcome.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::host::{SMALL_OUTPUT, TenantHost};
use crate::run::prepare::plan::Planned;
use crate::run::result::answered::Answered;
use crate::run::result::cut_output::{CutOutput, cut_output};
use crate::run::result::failure::{error_of, summary_of};
use crate::run::result::left_files::{NamedBlobs, name_blobs};
use crate::run::result::log_line::whole_milliseconds;
use crate::run::result::output::{Output, Wrapping};
use crate::run::result::script_streams::{ScriptStreams, add_new};
use crate::run::result::{converted, left_files, logs};
use wardian_dispatch::{CheckedPayload, FinishedRun};
use wardian_formats::job::KeepFiles;
use wardian_formats::job::outcome::{Logs, RunFailure, RunOutcome};
use wardian_formats::job::session::cell::{CellOutcome, DisplayContent, DisplayPart};
use wardian_formats::protocol::methods::cells::{DisplayedForm, DisplayedObject};
use wardian_formats::protocol::methods::execution::{
    FileResult, MAX_OUTPUT, RunError, RunResult, RunStatus,
};
use wardian_formats::provenance::{Toolchain, Unrepeatable};
use wardian_stores::blobs::BlobStore;
use wardian_stores::results::KeptValues;
use wardian_stores::secrets::mask::Masks;
use wardian_vocabulary::ids::{BlobId, RunId};
use wardian_vocabulary::units::ByteCount;

/// Makes the answers of runs, and keeps those that every repetition gives.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Takes outputs that are too large for a result.
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) results: Arc<KeptValues<RunResult>>,
    /// Names the programs that executed the run.
    pub(crate) toolchain: Toolchain,
}

/// What a result has besides the outcome.
#[derive(Debug, Clone)]
pub(crate) struct ResultForm {
    /// True if the caller wants the whole logs, not only the preview.
    pub(crate) whole_logs: bool,
    /// True if the summary of a run without one names the time that the run took. Repetitions of a
    /// reproducible run take different times.
    pub(crate) shows_duration: bool,
    /// True if all files are kept that can be, so those that are not listed are lost.
    pub(crate) keeps_all: bool,
    /// True if the summary names files that should have been kept and were not.
    pub(crate) tells_of_lost: bool,
    /// True if the program is a script, whose streams and exit code the result has.
    pub(crate) is_script: bool,
    /// A sentence about the inputs for the end of the summary.
    pub(crate) of_inputs: Option<String>,
}

impl ResultForm {
    /// The form of a run with this plan, with a `note` about its inputs.
    pub(crate) fn of(planned: &Planned, note: Option<String>) -> Self {
        let keep = &planned.keep_files;
        Self {
            whole_logs: planned.whole_logs,
            shows_duration: planned.reproducible.is_none(),
            keeps_all: matches!(keep, KeepFiles::Usual(_) | KeepFiles::All),
            tells_of_lost: *keep != KeepFiles::Figures,
            is_script: planned.is_script,
            of_inputs: note,
        }
    }

    /// The summary of a completed run without one of its own.
    fn summary_after(&self, duration_ms: u64) -> String {
        if self.shows_duration {
            format!("Completed in {duration_ms} ms.")
        } else {
            "Completed.".to_owned()
        }
    }

    /// The sentence on files that should have been kept and were not. `total` counts all files, if
    /// `files` does not have all.
    fn lost(&self, files: &[FileResult], total: Option<u64>) -> Option<String> {
        let listed = ByteCount::from(files.len()).as_u64();
        let unlisted = total.filter(|_| self.keeps_all).map_or(0, |all| all.saturating_sub(listed));
        left_files::lost(files, unlisted).filter(|_| self.tells_of_lost)
    }
}

/// What a program returned, with the members of its result that depend on it.
enum Returned {
    Completed {
        summary: Option<String>,
        output: Option<Box<RawValue>>,
        wrapping: Wrapping,
        stored: Option<BlobId>,
    },
    Failed {
        summary: String,
        error: RunError,
    },
    /// The output could not be stored for a reason of this machine.
    NotStored {
        error: RunError,
    },
}

impl Returned {
    /// Whether the returned value is a member of the output; `None` without an output of the program.
    const fn wrapping(&self) -> Option<Wrapping> {
        match self {
            Self::Completed { wrapping, .. } => Some(*wrapping),
            Self::Failed { .. } | Self::NotStored { .. } => None,
        }
    }

    /// The summary, the output, the blob that has the output, and the error.
    fn into_parts(
        self,
        usual: String,
    ) -> (String, Option<Box<RawValue>>, Option<BlobId>, Option<RunError>) {
        match self {
            Self::Completed { summary, output, stored, .. } => {
                (summary.unwrap_or(usual), output, stored, None)
            }
            Self::Failed { summary, error } => (summary, None, None, Some(error)),
            Self::NotStored { error } => (error.message.clone(), None, None, Some(error)),
        }
    }
}

impl From<RunFailure> for Returned {
    fn from(failure: RunFailure) -> Self {
        Self::Failed { summary: summary_of(&failure), error: error_of(&failure) }
    }
}

impl Answers {
    /// Builds the result of a finished run, whose host was `host`.
    pub(crate) async fn result_of(
        &self,
        caller: &Caller,
        run_id: RunId,
        finished: FinishedRun,
        host: TenantHost,
        form: ResultForm,
    ) -> Result<Answered, ServiceError> {
        let (masks, is_refused_here) = (host.masks(), host.is_refused_here());
        let (mut output_blobs, _pins, room) = host.into_parts();
        let permit = room.into_permit();
        let streams = (form.is_script, &finished.outcome);
        let mut script = ScriptStreams::of(&self.blobs, caller, streams).await;
        let RunOutcome { end, logs, files, mut blob_names, conversions, usage, profile, cell } =
            finished.outcome;
        script.name_stored(&mut output_blobs, &mut blob_names);
        let (logs_preview, logs_truncated) = logs::preview(&logs);
        // Storing the output may take long. Logs that no caller needs are freed before it.
        let logs = if form.whole_logs { logs } else { Logs::default() };
        let returned = match script.ended(end) {
            Ok(()) => self.read_returned(caller, finished.output, permit, masks.as_ref()).await?,
            Err(failure) => failure.into(),
        };
        let duration_ms = whole_milliseconds(usage.wall_time);
        let (files, files_total) = left_files::shown(files, &output_blobs);
        let named = NamedBlobs { files: &files, chosen: blob_names, written: &output_blobs };
        name_blobs(&self.blobs, caller, named).await;
        let lost = form.lost(&files, files_total);
        let is_stored = !is_refused_here && !matches!(returned, Returned::NotStored { .. });
        let (converted, converted_total) = match returned.wrapping() {
            Some(wrapping) => converted::shown(conversions, wrapping, masks.as_deref()),
            None => (Vec::new(), None),
        };
        let (summary, output, stored, error) =
            script.explained(returned.into_parts(form.summary_after(duration_ms)));
        let notes = lost.iter().chain(&form.of_inputs);
        let summary = notes.fold(summary, |all, note| format!("{all} {note}"));
        let display = displayed(cell, &output_blobs);
        stored.iter().for_each(|blob| add_new(&mut output_blobs, blob));
        let unrepeatable = unrepeatable(error.as_ref(), finished.is_worker_lost, is_stored);
        let result = RunResult {
            status: if error.is_none() { RunStatus::Completed } else { RunStatus::Failed },
            run_id,
            summary,
            output,
            converted,
            converted_total,
            output_blobs,
            files,
            files_total,
            exit_code: script.exit_code,
            stdout: script.stdout,
            stderr: script.stderr,
            logs_preview,
            error,
            logs_truncated,
            output_truncated: stored.is_some(),
            duration_ms,
            memory_peak_bytes: usage.memory_peak.as_u64(),
            fuel: usage.fuel.map(|fuel| fuel.0),
            cached: false,
            display,
            requests: Vec::new(),
            session: None,
        };
        let (output_blob, document, server_calls) = (stored, None, Vec::new());
        Ok(Answered { result, logs, output_blob, document, unrepeatable, profile, server_calls })
    }

    /// Reads the returned value, on another thread if it is long. `permit` reserves the memory of a
    /// long output; a thread that works on the output holds it until it is done.
    async fn read_returned(
        &self,
        caller: &Caller,
        output: Option<CheckedPayload>,
        permit: Option<OwnedSemaphorePermit>,
        masks: Option<&Arc<Masks>>,
    ) -> Result<Returned, ServiceError> {
        let masks = masks.cloned();
        let Some(output) = output else {
            return self.returned(caller, Output::parse(Vec::new()), permit).await;
        };
        let size = output.size().as_usize();
        let cover = move |text| match masks {
            Some(masks) => masks.cover_json(text),
            None => text,
        };
        let read = move || (output.into_bytes().map(cover).map(Output::parse), permit);
        let (parsed, permit) = if size <= SMALL_OUTPUT {
            read()
        } else {
            caller.memory.on_thread(read).await.map_err(ServiceError::Interrupted)?
        };
        self.returned(caller, parsed.map_err(ServiceError::Unreadable)?, permit).await
    }

    /// Returns the end of a run that returned `parsed`. An output that is too large for the result
    /// becomes a blob. If the blob cannot be stored, the run has failed; its logs and other blobs
    /// stay in the result.
    async fn returned(
        &self,
        caller: &Caller,
        parsed: Result<Output, RunFailure>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<Returned, ServiceError> {
        let Output { value, summary, wrapping } = match parsed {
            Ok(output) => output,
            Err(failure) => return Ok(failure.into()),
        };
        let Some(value) = value else {
            return Ok(Returned::Completed { summary, output: None, wrapping, stored: None });
        };
        if value.get().len() <= MAX_OUTPUT {
            return Ok(Returned::Completed {
                summary,
                output: Some(value),
                wrapping,
                stored: None,
            });
        }
        Ok(match cut_output(&self.blobs, caller, value, permit).await? {
            Ok(CutOutput { stand_in, blob }) => Returned::Completed {
                summary,
                output: Some(stand_in),
                wrapping,
                stored: Some(blob),
            },
            Err(error) => Returned::NotStored { error },
        })
    }
}

/// The reason why a repetition may end in another way, if there is one.
fn unrepeatable(
    error: Option<&RunError>,
    is_worker_lost: bool,
    is_stored: bool,
) -> Option<Unrepeatable> {
    error
        .and_then(|error| Unrepeatable::of_error_type(&error.error_type))
        .or_else(|| is_worker_lost.then_some(Unrepeatable::Machine))
        .or_else(|| (!is_stored).then_some(Unrepeatable::Storage))
}

/// What a cell displayed. A form that names a blob which the run did not write is left out: a program
/// can reach no other blobs, so a worker that names one is not believed.
fn displayed(cell: Option<Box<CellOutcome>>, written: &[BlobId]) -> Vec<DisplayedObject> {
    let form = |part: DisplayPart| match part.content {
        DisplayContent::Text(text) => Some((part.kind, DisplayedForm::Text(text))),
        DisplayContent::Blob(id) if written.contains(&id) => {
            Some((part.kind, DisplayedForm::Blob(id)))
        }
        DisplayContent::Blob(_) => None,
    };
    let bundles = cell.map(|cell| cell.display).unwrap_or_default().into_iter();
    bundles
        .map(|bundle| DisplayedObject(bundle.parts.into_iter().filter_map(form).collect()))
        .collect()
}
