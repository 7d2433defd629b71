//! The files of sessions, for the edges: listed, read, written and removed in the workspace of a session
//! between two of its cells.
//!
//! A state is opaque to the gateway. So a worker of the tenant makes the guest of the session, or has it, and
//! does what is asked with its files; no program runs.
//!
//! INVARIANT(reads-change-nothing): a list or a read leaves no checkpoint and no cell, and the state is
//! continued no more than before.
//!
//! INVARIANT(whole-writes): a change of a file is in the next checkpoint as a whole, or not at all.

pub(crate) mod error;
mod guest;
mod host;
pub(crate) mod read;
pub(crate) mod write;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::views::session_id;
use wardian_sessions::StoredSession;
use wardian_stores::tenants::Right;

/// The files of the sessions of a server that can execute something.
#[derive(Debug, Clone, Copy)]
pub struct SessionFiles<'a>(&'a Service);

impl<'a> SessionFiles<'a> {
    pub(crate) const fn of(service: &'a Service) -> Self {
        Self(service)
    }

    /// The session of a caller that may run code in it, if no cell of it waits for its caller.
    async fn find(&self, caller: &Caller, id: &str) -> Result<StoredSession, ServiceError> {
        ensure_has(caller, Right::Code)?;
        let store = self.0.sessions().store()?;
        let session = store.find(&caller.tenant, &session_id(id)?).await?;
        self.0.ensure_not_held(&session.id).await?;
        Ok(session)
    }
}
