//! The end of a cell's turn: the state after it is kept, or the session stays where it was.

use tracing::warn;

use crate::sessions::asking::asked::AskedCell;
use crate::sessions::earlier_parts::LeftCell;
use wardian_dispatch::CheckedPack;
use wardian_formats::job::session::checkpoint::PackFacts;
use wardian_formats::protocol::methods::execution::RunResult;
use wardian_sessions::{CellEnds, PackDescription, SessionTurn, SessionsError};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Bytes of a pack beyond which it is asked how long its whole chain is.
const LARGE_PACK: u64 = 4 << 20;

/// Rolls a cell with this answer back for this reason.
pub(crate) async fn leave(
    turn: SessionTurn,
    left: &LeftCell,
    result: &RunResult,
    reason: String,
) -> String {
    let session = turn.session().clone();
    let end = left.end(&left.rolled_back(result.clone(), &reason));
    if let Err(cause) = turn.roll_back(end).await {
        warn_of(&session, &cause);
    }
    reason
}

/// Why a pack is not kept that would make its chain longer than `most` bytes. Chains of small packs are
/// short.
pub(crate) async fn too_long(
    turn: &SessionTurn,
    pack: &CheckedPack,
    most: ByteCount,
) -> Option<String> {
    let size = pack.facts.size.as_u64();
    if size <= LARGE_PACK {
        return None;
    }
    let before = match pack.facts.base {
        // If the store fails, the commit says so.
        Some(_) => turn.chain_bytes().await.unwrap_or(0),
        None => 0,
    };
    (before.saturating_add(size) > most.as_u64()).then(|| {
        format!(
            "the state after the cell takes more than the {most} that this server can restore; keep less \
             in variables and files"
        )
    })
}

/// Commits the state after a cell, or that in which it waits after it has `asked` something. Returns its
/// checkpoint, or why that is not possible.
pub(crate) async fn keep(
    turn: SessionTurn,
    pack: CheckedPack,
    (ends, asked): (CellEnds, Option<AskedCell>),
) -> Result<CheckpointId, String> {
    let asked = asked.map(|asked| serde_json::to_string(&asked)).transpose();
    let asked = asked.map_err(|cause| cause.to_string())?;
    let CheckedPack { facts, bytes } = pack;
    let session = turn.session().clone();
    let description = description_of(&turn, &facts);
    let kept = match asked {
        None => turn.commit(description, bytes, ends).await,
        Some(asked) => turn.park(description, bytes, ends, asked).await,
    };
    kept.map_err(|cause| {
        if matches!(cause, SessionsError::Store { .. } | SessionsError::DiskFull(_)) {
            warn_of(&session, &cause);
        }
        cause.to_string()
    })
}

/// The facts of a pack that a turn ends with, as the store keeps them.
pub(crate) fn description_of(turn: &SessionTurn, facts: &PackFacts) -> PackDescription {
    let before = turn.state().map(|state| state.description.sequence);
    let sequence = match (facts.base, before) {
        (Some(_), Some(before)) => before.saturating_add(1),
        _ => 0,
    };
    let (base, digest, size) = (facts.base, facts.digest, facts.size);
    PackDescription { sequence, base, digest, size }
}

fn warn_of(session: &SessionId, cause: &SessionsError) {
    warn!(session.id = %session, "a cell could not be ended: {}", CauseChain(cause));
}
