//! What workers keep of sessions, and its end with them.

use std::sync::Arc;

use crate::sessions::held_cells::HeldCells;
use crate::sessions::kept_guests::KeptGuests;
use wardian_sessions::{Sessions, SessionsError};
use wardian_vocabulary::ids::SessionId;

/// Why a cell ends whose session has ended by itself.
const EXPIRED: &str = "its session expired while it waited";

/// The guests of sessions between two cells, and the cells that wait in the middle of a call. Clones share
/// them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionGuests {
    kept: Arc<KeptGuests>,
    held: Arc<HeldCells>,
}

impl SessionGuests {
    pub(crate) fn kept(&self) -> &KeptGuests {
        &self.kept
    }

    pub(crate) const fn held(&self) -> &Arc<HeldCells> {
        &self.held
    }

    /// Closes what workers keep of a session that has ended, also what comes later.
    pub(crate) fn end(&self, session: &SessionId) {
        self.kept.end(session);
        drop(self.held.end(session));
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
