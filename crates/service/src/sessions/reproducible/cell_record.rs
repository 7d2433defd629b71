//! What is noted of a cell of a reproducible session, beside its result.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::run::record::document::{
    DocumentedRun, blob_of, error_of, file_of, layer_of, skill_of, status_of,
};
use crate::run::result::answered::Answered;
use crate::sessions::reproducible::journal::CellJournal;
use wardian_dispatch::Job;
use wardian_formats::job::{Reproducible, Setup};
use wardian_formats::provenance::session::document::bounded;
use wardian_formats::provenance::{
    CellEnding, CellInputs, CellRun, DisplayDigest, EngineIdentity, LogDigest, MadeBy,
    SessionInputs, Toolchain,
};
use wardian_vocabulary::ids::{CheckpointId, Digest};

/// What precedes the last member of a kept result.
const MEMBER: &str = ",\"record\":";

/// What decides a cell that is about to run.
#[derive(Debug)]
pub(crate) struct CellDraft {
    after: Option<CheckpointId>,
    session: Option<NotedSession>,
    of: Digest,
    /// What has decided it so far, and what its parts have left.
    pub(crate) journal: CellJournal,
}

/// What decides all cells of a session, and the programs that executed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotedSession {
    /// The programs.
    pub(crate) made_by: MadeBy,
    /// What decides its cells.
    pub(crate) inputs: SessionInputs,
}

/// A cell that was kept: where it began, what decided it, and what came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptRun {
    /// The checkpoint that it began at; `None` for a new guest.
    pub(crate) after: Option<CheckpointId>,
    /// What decides all cells of its session. The first one has it.
    pub(crate) session: Option<NotedSession>,
    /// The digest of what decides all cells of its session, as this one had it: a server may have other
    /// limits, packages and engines later.
    pub(crate) of: Digest,
    /// False if it depends on what this server had room for.
    pub(crate) is_repeatable: bool,
    /// The cell itself.
    pub(crate) run: CellRun,
}

impl CellDraft {
    /// Notes what decides a cell that begins at `head`, or goes on with its journal. `None` if its session is not
    /// reproducible. A cell that is a run may have a document.
    ///
    /// # Errors
    ///
    /// A part has no JSON, which does not happen.
    pub(crate) fn of(
        job: &Job,
        head: Option<&CheckpointId>,
        toolchain: &Toolchain,
        (journal, run): (Option<CellJournal>, Option<Box<DocumentedRun>>),
    ) -> serde_json::Result<Option<Self>> {
        let (setup, turn) = (&*job.guest.setup, &*job.turn);
        let Some(reproducible) = setup.reproducible else { return Ok(None) };
        let limits = &turn.limits;
        let cell = turn.cell.as_ref();
        let session = NotedSession {
            made_by: toolchain.made_by.clone(),
            inputs: session_inputs(setup, reproducible, toolchain.engine),
        };
        let inputs = CellInputs {
            seed: reproducible.seed,
            reseeds: cell.is_some_and(|cell| cell.reseed),
            keep_files: turn.keep_files.clone(),
            strict_output: turn.strict_output,
            shows_value: cell.is_some_and(|cell| cell.shows_value),
            fuel: limits.fuel.map(|fuel| fuel.0).filter(|fuel| *fuel == bounded(*fuel)),
            logs_bytes: bounded(limits.logs.as_u64()),
            host_calls: limits.host_calls,
            host_bytes: bounded(limits.host_bytes.as_u64()),
            tools: None,
        };
        let declared = cell.and_then(|cell| cell.tools.as_ref());
        let journal = match journal {
            // A run that leaves no document has no record at all.
            None if run.is_none() && cell.is_some_and(|cell| cell.program) => {
                CellJournal::begun(inputs, declared, None).unrecorded()
            }
            None => CellJournal::begun(inputs, declared, run),
            Some(mut journal) => {
                declared.into_iter().for_each(|declared| journal.note_declared(declared));
                journal
            }
        };
        let of = Digest::of(&serde_json::to_vec(&session.inputs)?);
        let session = head.is_none().then_some(session);
        Ok(Some(Self { after: head.cloned(), session, of, journal }))
    }

    /// What decides all cells of the session, if this is the first one.
    pub(crate) const fn session(&self) -> Option<&SessionInputs> {
        match &self.session {
            Some(noted) => Some(&noted.inputs),
            None => None,
        }
    }

    /// The cell that has ended so, in the state of this digest; `None` if its journal was given up.
    ///
    /// # Errors
    ///
    /// A part has no JSON, which does not happen.
    pub(crate) fn ended(
        self,
        answered: &Answered,
        state: Digest,
    ) -> serde_json::Result<Option<KeptRun>> {
        let Self { after, session, of, journal } = self;
        let Some((inputs, parts)) = journal.ended() else { return Ok(None) };
        let Answered { result, logs, unrepeatable, .. } = answered;
        let ending = CellEnding {
            status: status_of(result.status),
            output: result.output.as_ref().map(|output| output.get().to_owned()),
            output_truncated: result.output_truncated,
            error: result.error.as_ref().map(error_of),
            log: LogDigest::of(&logs.chunks, logs.dropped, &result.logs_preview)?,
            display: DisplayDigest::of(&result.display)?,
            output_blobs: result.output_blobs.clone(),
            files: result.files.iter().map(file_of).collect(),
            files_total: result.files_total,
            fuel: bounded(result.fuel.unwrap_or_default()),
            memory_bytes: result.memory_peak_bytes,
            state_digest: state,
            parts,
        };
        let (is_repeatable, run) = (unrepeatable.is_none(), CellRun { inputs, ending });
        Ok(Some(KeptRun { after, session, of, is_repeatable, run }))
    }
}

/// What decides all cells of a guest that is made so.
fn session_inputs(
    setup: &Setup,
    reproducible: Reproducible,
    engine: EngineIdentity,
) -> SessionInputs {
    let lasting = &setup.limits;
    SessionInputs {
        engine,
        image: setup.image,
        skills: setup.skills.iter().map(skill_of).collect(),
        layers: setup.layers.iter().map(layer_of).collect(),
        blobs: setup.blobs.iter().map(blob_of).collect(),
        memory_bytes: bounded(lasting.memory.as_u64()),
        workspace_bytes: bounded(lasting.workspace.as_u64()),
        workspace_entries: lasting.workspace_entries,
        open_files: lasting.open_files,
        epoch: reproducible.epoch.as_secs(),
        fuel_rules: reproducible.fuel_rules,
    }
}

/// The result of a cell as it is kept, with what was noted of it as the member `record`. `kept` is told how
/// many bytes that takes, and makes the result for which there is room beside it.
pub(crate) fn with_record(
    kept: impl FnOnce(usize) -> Option<String>,
    run: &KeptRun,
) -> Option<String> {
    let record = serde_json::to_string(run).ok()?;
    let text = kept(record.len().saturating_add(MEMBER.len()))?;
    let members = text.strip_suffix('}').filter(|members| members.len() > 1)?;
    Some(format!("{members}{MEMBER}{record}}}"))
}

/// What was noted of a cell whose result was kept so.
pub(crate) fn record_in(result: &str) -> Option<KeptRun> {
    #[derive(Deserialize)]
    struct Noted {
        record: KeptRun,
    }
    serde_json::from_str::<Noted>(result).ok().map(|noted| noted.record)
}

/// A kept result as its call was answered: without what was noted of the cell. Returns the digest of the state
/// after the cell, too, if that was noted.
pub(crate) fn without_record(result: String) -> (String, Option<Digest>) {
    #[derive(Deserialize)]
    struct Noted<'a> {
        #[serde(borrow)]
        record: &'a RawValue,
    }
    let cut = |text: &str| {
        let Noted { record } = serde_json::from_str(text).ok()?;
        let members = text.strip_suffix('}')?.strip_suffix(record.get())?.strip_suffix(MEMBER)?;
        let run: KeptRun = serde_json::from_str(record.get()).ok()?;
        Some((format!("{members}}}"), run.run.ending.state_digest))
    };
    // Most results are not read for this.
    match Some(&result).filter(|text| text.contains(MEMBER)).and_then(|text| cut(text)) {
        Some((short, digest)) => (short, Some(digest)),
        None => (result, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::active::StopReason;
    use crate::sessions::kept_cells::long_result::{NotKept, kept_text};
    use wardian_formats::job::KeepFiles;
    use wardian_formats::protocol::methods::cells::{DisplayedForm, DisplayedObject};
    use wardian_sessions::MAX_RESULT;
    use wardian_vocabulary::ids::RunId;

    fn draft() -> CellDraft {
        let inputs = CellInputs {
            seed: 3,
            reseeds: false,
            keep_files: KeepFiles::All,
            strict_output: false,
            shows_value: false,
            fuel: None,
            logs_bytes: 1,
            host_calls: 1,
            host_bytes: 1,
            tools: None,
        };
        let journal = CellJournal::begun(inputs, None, None);
        CellDraft { after: None, session: None, of: Digest::of(b"session"), journal }
    }

    #[test]
    fn what_is_noted_of_a_cell_is_found_in_its_result() {
        let mut answered = Answered::stopped(RunId::generate(), StopReason::Cancelled);
        let run = draft().ended(&answered, Digest::of(b"state")).unwrap().unwrap();
        let text = serde_json::to_string(&answered.result).ok();
        let kept = with_record(|_| text.clone(), &run).unwrap();
        assert_eq!(record_in(&kept), Some(run.clone()));
        assert_eq!(record_in("{\"status\":\"completed\"}"), None);
        assert_eq!(without_record(kept), (text.unwrap(), Some(Digest::of(b"state"))));
        for other in ["{}", r#"{"output":",\"record\":{}"}"#, r#"{"a":1,"record":{}}"#] {
            assert_eq!(without_record(other.to_owned()), (other.to_owned(), None));
        }
        // A long one loses what it displayed, and says so.
        let form = ("text/plain".to_owned(), DisplayedForm::Text("x".repeat(MAX_RESULT)));
        answered.result.display.push(DisplayedObject(vec![form]));
        let short = |record| kept_text(&answered.result, NotKept::default(), record);
        let kept = with_record(short, &run).unwrap();
        assert!(kept.len() < MAX_RESULT && !kept.contains("xxx"));
        let left_out = format!("\"left_out\":{{\"items\":1,\"bytes\":{MAX_RESULT}}}");
        assert!(without_record(kept.clone()).0.ends_with(&format!("{left_out}}}")));
        assert_eq!(record_in(&kept), Some(run));
    }
}
