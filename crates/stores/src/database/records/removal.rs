//! Notes of runs in progress are removed: by whoever has written their ends.

use crate::database::engine::Writing;
use crate::database::numbers::number;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use crate::records::server_id::RunHolder;
use crate::records::store::{NotesOf, StoredNote};

/// Removes the note of a run that a server has, in this epoch.
const REMOVE_OF: &str = "DELETE FROM detached_runs \
     WHERE tenant = $1 AND run_id = $2 AND server = $3 AND epoch = $4";

/// The same in the queue.
const REMOVE_CLAIMED: &str = "DELETE FROM queued_runs \
     WHERE tenant = $1 AND run_id = $2 AND server = $3 AND epoch = $4";

/// The same for an epoch that is over.
const REMOVE_ABANDONED: &str = "DELETE FROM detached_runs \
     WHERE tenant = $1 AND run_id = $2 AND server = $3 AND epoch = $4 AND NOT EXISTS \
     (SELECT 1 FROM servers WHERE servers.server = $3 AND servers.epoch = $4)";

/// Removes a note as it was found. Returns false if it is not so any more.
pub(super) async fn remove_found(
    transaction: &mut Writing,
    note: &StoredNote,
    of: NotesOf,
) -> Result<bool, DatabaseError> {
    let remove = statement(match of {
        NotesOf::Abandoned => REMOVE_ABANDONED,
        NotesOf::Present => REMOVE_OF,
    });
    let remove = remove.bind(note.tenant.as_str()).bind(note.run_id.as_str());
    let remove = remove.bind(note.server.as_str()).bind(number(note.epoch));
    Ok(transaction.execute(remove).await? > 0)
}

/// Removes the note of a run that a server has, in its epoch. Returns false if it has no such note.
pub(super) async fn remove_note_of(
    transaction: &mut Writing,
    (tenant, run_id): (&str, &str),
    holder: &RunHolder,
) -> Result<bool, DatabaseError> {
    let remove = statement(REMOVE_OF).bind(tenant).bind(run_id);
    let remove = remove.bind(holder.server.as_str()).bind(number(holder.epoch));
    if transaction.execute(remove).await? > 0 {
        return Ok(true);
    }
    // One of the queue that was refused before it began.
    let remove = statement(REMOVE_CLAIMED).bind(tenant).bind(run_id);
    let remove = remove.bind(holder.server.as_str()).bind(number(holder.epoch));
    Ok(transaction.execute(remove).await? > 0)
}

/// Removes the note of a run whose record is written.
pub(super) async fn remove_note(
    transaction: &mut Writing,
    tenant: &str,
    run_id: &str,
) -> Result<(), DatabaseError> {
    let remove = statement("DELETE FROM detached_runs WHERE tenant = $1 AND run_id = $2");
    transaction.execute(remove.bind(tenant).bind(run_id)).await.map(drop)
}
