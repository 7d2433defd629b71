//! Columns, as the values that they hold.

use crate::database::numbers::count;
use crate::database_error::DatabaseError;
use crate::sessions::rows::{
    CellState, ForkedFrom, PackDescription, PackId, SessionState, StoredCell, StoredCheckpoint,
    StoredPack, StoredSession,
};
use wardian_vocabulary::ids::{CheckpointId, Digest, InvalidId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Columns of a session: id, label, image, setup, state, times of creation, use and end, the number of
/// its last cell, its checkpoint, and the session and the checkpoint that it was forked from.
pub(super) type SessionColumns = (
    String,
    Option<String>,
    String,
    String,
    String,
    i64,
    i64,
    i64,
    i64,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// The names of [`SessionColumns`].
macro_rules! session_columns {
    () => {
        "session_id, label, image, setup, state, created_ms, used_ms, expires_ms, cells, head, \
         forked_session, forked_checkpoint"
    };
}

/// Columns of a cell: number, source, state, result, fuel, checkpoint, beginning, and what it began after.
pub(super) type CellColumns =
    (i64, Option<String>, String, Option<String>, Option<i64>, Option<String>, i64, i64);

/// Columns of a pack: origin, checkpoint, place in its chain, digests of its base and its own, its size
/// and that of its file.
pub(super) type PackColumns = (String, String, i64, Option<String>, String, i64, i64);

/// The names of [`PackColumns`] in a table `packs`.
macro_rules! pack_columns {
    () => {
        "packs.origin, packs.checkpoint, packs.sequence, packs.base_digest, packs.digest, \
         packs.size, packs.stored"
    };
}

/// Parent, name and time of a checkpoint, and the columns of its pack.
pub(super) type CheckpointColumns =
    (Option<String>, Option<String>, i64, String, String, i64, Option<String>, String, i64, i64);

/// Reads checkpoints with their packs, up to the conditions on `made`.
macro_rules! select_checkpoints {
    () => {
        concat!(
            "SELECT made.parent, made.name, made.made_ms, ",
            pack_columns!(),
            " FROM session_checkpoints AS made JOIN session_packs AS packs \
             ON packs.origin = made.origin AND packs.checkpoint = made.checkpoint WHERE "
        )
    };
}

pub(super) use {pack_columns, select_checkpoints, session_columns};

/// The names of states of sessions.
pub(super) const OPEN: &str = "open";
pub(super) const EXPIRED: &str = "expired";

pub(super) fn session(columns: SessionColumns) -> Result<StoredSession, DatabaseError> {
    let (id, label, image, setup, state, created, used, expires, cells, head, session, checkpoint) =
        columns;
    Ok(StoredSession {
        id: parsed(SessionId::parse(&id))?,
        label,
        image: parsed(Digest::parse(&image))?,
        setup,
        state: match state.as_str() {
            OPEN => SessionState::Open,
            EXPIRED => SessionState::Expired,
            _ => return Err(DatabaseError::failed("a session has an unknown state")),
        },
        created_ms: count(created),
        used_ms: count(used),
        expires_ms: count(expires),
        cells: small(cells)?,
        head: checkpoint_id(head.as_deref())?,
        forked_from: session.zip(checkpoint).map(|(of, at)| forked_from(&of, &at)).transpose()?,
    })
}

pub(super) fn cell(columns: CellColumns) -> Result<StoredCell, DatabaseError> {
    let (number, source, state, result, fuel, checkpoint, began, began_after) = columns;
    Ok(StoredCell {
        number: small(number)?,
        source,
        state: CellState::of_name(&state)
            .ok_or_else(|| DatabaseError::failed("a cell has an unknown state"))?,
        result,
        fuel: fuel.map(count),
        checkpoint: checkpoint_id(checkpoint.as_deref())?,
        began_ms: count(began),
        began_after: small(began_after)?,
    })
}

pub(super) fn pack(columns: PackColumns) -> Result<StoredPack, DatabaseError> {
    let (origin, checkpoint, sequence, base, digest, size, stored) = columns;
    Ok(StoredPack {
        id: pack_id(&origin, &checkpoint)?,
        description: PackDescription {
            sequence: small(sequence)?,
            base: base.as_deref().map(Digest::parse).map(parsed).transpose()?,
            digest: parsed(Digest::parse(&digest))?,
            size: ByteCount::bytes(count(size)),
        },
        stored_bytes: count(stored),
    })
}

pub(super) fn checkpoint(columns: CheckpointColumns) -> Result<StoredCheckpoint, DatabaseError> {
    let (parent, name, made, origin, id, sequence, base, digest, size, stored) = columns;
    let pack = pack((origin, id, sequence, base, digest, size, stored))?;
    Ok(StoredCheckpoint {
        id: pack.id.checkpoint.clone(),
        parent: checkpoint_id(parent.as_deref())?,
        name,
        made_ms: count(made),
        pack,
    })
}

pub(super) fn pack_id(origin: &str, checkpoint: &str) -> Result<PackId, DatabaseError> {
    Ok(PackId {
        origin: parsed(SessionId::parse(origin))?,
        checkpoint: parsed(CheckpointId::parse(checkpoint))?,
    })
}

fn forked_from(session: &str, checkpoint: &str) -> Result<ForkedFrom, DatabaseError> {
    Ok(ForkedFrom {
        session: parsed(SessionId::parse(session))?,
        checkpoint: parsed(CheckpointId::parse(checkpoint))?,
    })
}

pub(super) fn checkpoint_id(text: Option<&str>) -> Result<Option<CheckpointId>, DatabaseError> {
    text.map(CheckpointId::parse).map(parsed).transpose()
}

pub(super) fn parsed<T>(parsed: Result<T, InvalidId>) -> Result<T, DatabaseError> {
    parsed.map_err(DatabaseError::failed)
}

pub(super) fn small(number: i64) -> Result<u32, DatabaseError> {
    u32::try_from(number).map_err(DatabaseError::failed)
}
