//! What workers keep of sessions, calls that wait for their cells, and the end of both with them.

use std::sync::Arc;

use crate::sessions::asking::open_runs::OpenRuns;
use crate::sessions::held_cells::HeldCells;
use crate::sessions::kept_guests::KeptGuests;
use wardian_sessions::{Sessions, SessionsError};
use wardian_vocabulary::ids::SessionId;

/// Why a cell ends whose session has ended by itself.
const EXPIRED: &str = "its session expired while it waited";

/// The guests of sessions between two cells, the cells that wait in the middle of a call, and the calls whose
/// callers answer while they go on. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionGuests {
    kept: Arc<KeptGuests>,
    held: Arc<HeldCells>,
    open_runs: Arc<OpenRuns>,
}

impl SessionGuests {
    pub(crate) fn kept(&self) -> &KeptGuests {
        &self.kept
    }

    pub(crate) const fn held(&self) -> &Arc<HeldCells> {
        &self.held
    }

    pub(crate) const fn open_runs(&self) -> &Arc<OpenRuns> {
        &self.open_runs
    }

    /// Closes what workers keep of a session that has ended, also what comes later. A call that waits for
    /// answers to its cell ends.
    pub(crate) fn end(&self, session: &SessionId) {
        self.kept.end(session);
        drop(self.held.end(session));
        self.open_runs.note_over(session);
    }

    /// Ends the cells that wait in the middle of a call and whose sessions have ended: nobody can answer
    /// them.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub(crate) async fn end_expired(&self, sessions: &Sessions) -> Result<(), SessionsError> {
        for (tenant, session) in self.held.sessions() {
            match sessions.find(&tenant, &session).await {
                Ok(_) => {}
                Err(SessionsError::Expired { .. } | SessionsError::NotFound { .. }) => {
                    if let Some(cell) = self.held.end(&session) {
                        cell.end(EXPIRED).await;
                    }
                }
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}
