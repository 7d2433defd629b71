//! New sessions whose ids their callers do not know yet: they are closed, at whatever moment the caller goes
//! away.

use std::sync::Arc;

use tokio::runtime::Handle;
use tracing::debug;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::asking::open_runs::OpenRuns;
use crate::sessions::observed::{SessionEvent, SessionObserver};
use crate::sessions::room::SessionRoom;
use wardian_sessions::{SessionOrder, Sessions, StoredSession};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{SessionId, TenantId};

/// A new session whose id its caller does not know yet. Dropped before the answer, it closes the session.
#[derive(Debug)]
pub(crate) struct UnknownSession {
    runs: Arc<OpenRuns>,
    /// `None` once the caller knows the session.
    place: Option<(Sessions, SessionObserver, TenantId, SessionId)>,
}

impl UnknownSession {
    /// Makes a session.
    ///
    /// # Errors
    ///
    /// As [`Sessions::create`].
    pub(crate) async fn make(
        room: &SessionRoom,
        caller: &Caller,
        order: SessionOrder,
    ) -> Result<(StoredSession, Self), ServiceError> {
        let (store, observer, owner) =
            (room.store()?.clone(), room.observer(), caller.tenant.clone());
        let runs = Arc::clone(room.open_runs());
        // In a task of its own: if the caller goes away between the row and this answer, the task drops both.
        let making = tokio::spawn(async move {
            let made = store.create(&owner, order).await?;
            let place = Some((store, observer, owner, made.id.clone()));
            Ok::<_, ServiceError>((made, Self { runs, place }))
        });
        let (made, unknown) = making.await.map_err(ServiceError::Interrupted)??;
        room.observer().note(SessionEvent::Created, caller, made.id.as_str());
        Ok((made, unknown))
    }

    /// The answer names the session.
    pub(crate) fn keep(mut self) {
        self.place = None;
    }
}

impl Drop for UnknownSession {
    fn drop(&mut self) {
        // Without a runtime the server is ending, and the session expires.
        if let (Some(unknown), Ok(runtime)) = (self.place.take(), Handle::try_current()) {
            let (store, observer, tenant, id) = unknown;
            // Somebody else has found it, and its cell goes on in that call.
            if self.runs.calls().is_going_on(&id) {
                return;
            }
            runtime.spawn(async move {
                match store.close(&tenant, &id).await {
                    Ok(()) => observer.end_alone(SessionEvent::Closed, &tenant, &id),
                    Err(cause) => {
                        debug!(session.id = %id, "not closed: {}", CauseChain(&cause));
                    }
                }
            });
        }
    }
}
