//! Cells that were noted, for tests.

use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use crate::sessions::reproducible::cell_record::{KeptRun, NotedSession, with_record};
use wardian_formats::job::{FuelRules, KeepFiles};
use wardian_formats::provenance::{
    CellEnding, CellInputs, CellRun, DisplayDigest, DocumentStatus, EngineIdentity, LogDigest,
    MadeBy, SessionInputs,
};
use wardian_vocabulary::ids::{CheckpointId, Digest, RunId};

/// What was noted of any session.
fn session() -> NotedSession {
    let digest = Digest::of(b"x");
    let inputs = SessionInputs {
        engine: EngineIdentity { module: digest, transform: 1, library: digest },
        image: digest,
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        memory_bytes: 1,
        workspace_bytes: 1,
        workspace_entries: 1,
        open_files: 1,
        epoch: 0,
        fuel_rules: FuelRules::PRESENT,
    };
    let made_by = MadeBy { wardian: "0".to_owned(), wasmtime: "0".to_owned() };
    NotedSession { made_by, inputs }
}

/// The kept result of a cell that began at this checkpoint, or with a new guest.
pub(crate) fn noted_after(after: Option<CheckpointId>) -> Option<String> {
    noted(after, |_run| ())
}

/// The same, with changes to what was noted.
pub(crate) fn noted(
    after: Option<CheckpointId>,
    change: impl FnOnce(&mut KeptRun),
) -> Option<String> {
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
    let ending = CellEnding {
        status: DocumentStatus::Completed,
        output: None,
        output_truncated: false,
        error: None,
        log: LogDigest::of(&[], 0, "").ok()?,
        display: DisplayDigest::of(&[]).ok()?,
        output_blobs: Vec::new(),
        files: Vec::new(),
        files_total: None,
        fuel: 5,
        memory_bytes: 65_536,
        state_digest: Digest::of(b"state"),
        parts: Vec::new(),
    };
    let session = after.is_none().then(session);
    let run = CellRun { inputs, ending };
    let of = Digest::of(b"session");
    let mut run = KeptRun { after, session, of, is_repeatable: true, run };
    change(&mut run);
    let result = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
    let text = serde_json::to_string(&result).ok()?;
    with_record(|_| Some(text), &run)
}
