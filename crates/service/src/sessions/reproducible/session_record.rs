//! The document of a reproducible session, made of what was noted of its cells.

use std::collections::{BTreeMap, BTreeSet};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::kept_cells::read_cells::{read_cells, text_length};
use crate::sessions::notebook::stored_cells::MAX_NOTEBOOK_BYTES;
use crate::sessions::reproducible::cell_record::{KeptRun, NotedSession, record_in};
use crate::sessions::room::SessionRoom;
use crate::sessions::setup::setup_of;
use crate::sessions::views::session_id;
use wardian_formats::provenance::{
    CellRun, DocumentText, ProvenanceError, SessionCell, SessionCellState, SessionDocument,
};
use wardian_sessions::{CellState, StoredCell};
use wardian_vocabulary::ids::{CheckpointId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Cells that a record has at most.
const MAX_RECORD: u64 = 10_000;

/// Copies of programs and results while a record is made: as text, as values, and in the document.
const RECORD_COPIES: u64 = 6;

impl SessionRoom {
    /// The document of a reproducible session: the cells that led to its present state.
    ///
    /// # Errors
    ///
    /// As [`show`](Self::show), or there is none, with the reason.
    pub async fn record(&self, caller: &Caller, id: &str) -> Result<String, ServiceError> {
        let (store, id) = (self.of(caller)?, session_id(id)?);
        let session = store.find(&caller.tenant, &id).await?;
        let none = |reason| ServiceError::NoSessionDocument { reason };
        if setup_of(&session)?.reproducible.is_none() {
            return Err(none("it is not reproducible"));
        }
        let most = (MAX_RECORD, MAX_NOTEBOOK_BYTES);
        let cells = read_cells(store, caller, &id, 0, most).await?;
        let last = cells.last().map_or(0, |last| last.number);
        if !store.cells(&caller.tenant, &id, last, 1).await?.is_empty() {
            return Err(none("it has more cells than a record can hold"));
        }
        let lengths = cells.iter().map(text_length).fold(0, u64::saturating_add);
        caller.memory.reserve(ByteCount::bytes(lengths.saturating_mul(RECORD_COPIES)))?;
        let (tenant, head) = (caller.tenant.clone(), session.head);
        let written = caller.memory.on_thread(move || -> Result<String, ServiceError> {
            match document_of(&tenant, cells, head.as_ref())?.text() {
                Err(ProvenanceError::TooLarge { .. }) => {
                    Err(none("it would be larger than 32 MiB"))
                }
                text => Ok(text?),
            }
        });
        written.await.map_err(ServiceError::Interrupted)?
    }
}

/// The document of a session with these cells, which is at the checkpoint `head`.
///
/// # Errors
///
/// No cell was kept, or one that led to the checkpoint was not noted.
fn document_of(
    tenant: &TenantId,
    cells: Vec<StoredCell>,
    head: Option<&CheckpointId>,
) -> Result<SessionDocument, ServiceError> {
    let none = |reason| ServiceError::NoSessionDocument { reason };
    let head = head.ok_or_else(|| none("it has no cell that was kept"))?;
    let mut noted: BTreeMap<u32, KeptRun> = BTreeMap::new();
    let mut by_checkpoint: BTreeMap<&CheckpointId, u32> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.state == CellState::Kept) {
        if let Some(run) = cell.result.as_deref().and_then(record_in) {
            noted.insert(cell.number, run);
        }
        by_checkpoint.extend(cell.checkpoint.as_ref().map(|checkpoint| (checkpoint, cell.number)));
    }
    let (mut path, mut session, mut inputs) = (BTreeMap::new(), None, BTreeSet::new());
    let mut next = Some(head.clone());
    while let Some(checkpoint) = next.take() {
        let number = by_checkpoint.get(&checkpoint).copied();
        let run = number.and_then(|number| Some((number, noted.remove(&number)?)));
        let (number, noted) = run.ok_or_else(|| {
            none("a cell before its state is not kept, or its result or its answers are too long")
        })?;
        let KeptRun { after, session: begun, of, is_repeatable, run } = noted;
        if !is_repeatable {
            return Err(none("a cell of it could not store a blob, which need not repeat"));
        }
        inputs.insert(of);
        next = after;
        session = begun.or(session);
        path.insert(number, run);
    }
    let session = session.ok_or_else(|| none("its first cell is not kept"))?;
    if inputs.len() > 1 {
        let reason =
            "its cells had different limits, packages or engines, because the server was changed";
        return Err(none(reason));
    }
    let NotedSession { made_by, inputs } = session;
    let has_blobs = |run: &CellRun| !run.ending.output_blobs.is_empty();
    // The ids of the blobs of a tenant with keys belong to this server alone.
    if *tenant != TenantId::local() && (!inputs.blobs.is_empty() || path.values().any(has_blobs)) {
        return Err(none("it has blobs, and the ids of this tenant's blobs belong to this server"));
    }
    let ended = cells.into_iter().filter(|cell| !is_going_on(cell.state));
    let cells = ended.map(|cell| cell_of(cell, &mut path)).collect::<Result<_, _>>()?;
    Ok(SessionDocument::new(made_by, inputs, cells))
}

const fn is_going_on(state: CellState) -> bool {
    matches!(state, CellState::Running | CellState::Waiting)
}

/// A cell as the document has it. Those of the path are taken from it.
fn cell_of(
    cell: StoredCell,
    path: &mut BTreeMap<u32, CellRun>,
) -> Result<SessionCell, ServiceError> {
    let StoredCell { number, source, state, .. } = cell;
    let Some(run) = path.remove(&number) else {
        let state = match state {
            CellState::RolledBack => SessionCellState::RolledBack,
            CellState::Kept | CellState::Running | CellState::Waiting => SessionCellState::Left,
        };
        return Ok(SessionCell { number, state, source: None, run: None });
    };
    let reason = "the program of a cell is too long to be kept";
    let source = source.ok_or(ServiceError::NoSessionDocument { reason })?;
    let source = Some(DocumentText::of(&source));
    Ok(SessionCell { number, state: SessionCellState::Kept, source, run: Some(run) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::reproducible::testing::{noted, noted_after};
    use wardian_vocabulary::ids::Digest;

    fn at(number: u32) -> CheckpointId {
        CheckpointId::new(number, &Digest::of(&number.to_le_bytes()))
    }

    /// A cell that went on from the state after another one.
    fn kept(number: u32, after: Option<u32>) -> StoredCell {
        StoredCell {
            number,
            source: Some(format!("x = {number}")),
            state: CellState::Kept,
            result: noted_after(after.map(at)),
            fuel: None,
            checkpoint: Some(at(number)),
            began_ms: 0,
            began_after: after.unwrap_or_default(),
        }
    }

    fn states(cells: Vec<StoredCell>, head: u32) -> Result<Vec<SessionCellState>, String> {
        let document = document_of(&TenantId::local(), cells, Some(&at(head)));
        let document = document.map_err(|none| none.to_string())?;
        Ok(document.cells.iter().map(|cell| cell.state).collect())
    }

    #[test]
    fn a_document_has_the_cells_that_led_to_the_present_state() {
        let rolled_back = StoredCell {
            state: CellState::RolledBack,
            result: None,
            checkpoint: None,
            ..kept(2, None)
        };
        let running = StoredCell { state: CellState::Running, ..rolled_back.clone() };
        let running = StoredCell { number: 5, ..running };
        let cells = vec![kept(1, None), rolled_back, kept(3, Some(1)), kept(4, Some(1)), running];
        let [kept_state, left] = [SessionCellState::Kept, SessionCellState::Left];
        assert_eq!(
            states(cells, 4).unwrap(),
            [kept_state, SessionCellState::RolledBack, left, kept_state]
        );
    }

    #[test]
    fn a_cell_that_is_missing_leaves_no_document() {
        let missing = |cells, head| states(cells, head).unwrap_err();
        assert!(missing(vec![kept(2, Some(1))], 2).contains("not kept"));
        let unnoted = StoredCell { result: Some("{}".to_owned()), ..kept(1, None) };
        assert!(missing(vec![unnoted, kept(2, Some(1))], 2).contains("not kept"));
        let long = StoredCell { source: None, ..kept(1, None) };
        assert!(missing(vec![long], 1).contains("too long"));
        assert!(document_of(&TenantId::local(), Vec::new(), None).is_err());
    }

    #[test]
    fn cells_that_a_repetition_would_not_give_leave_no_document() {
        let second = |change: fn(&mut KeptRun)| {
            let result = noted(Some(at(1)), change);
            states(vec![kept(1, None), StoredCell { result, ..kept(2, Some(1)) }], 2)
        };
        assert_eq!(second(|_run| ()).map(|states| states.len()), Ok(2));
        assert!(second(|run| run.is_repeatable = false).unwrap_err().contains("blob"));
        assert!(second(|run| run.of = Digest::of(b"other")).unwrap_err().contains("limits"));
    }
}
