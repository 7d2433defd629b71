//! The interface of sessions for the edges.

use std::future::Future;
use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::files::SessionFiles;
use crate::sessions::order::NewSessionOrder;
use crate::sessions::room::SessionRoom;
use crate::sessions::views::SessionView;

/// The interface of sessions for the edges.
pub trait SessionCalls: Send + Sync + 'static {
    /// The sessions.
    fn sessions(&self) -> &SessionRoom;

    /// Makes a session without running anything in it.
    ///
    /// # Errors
    ///
    /// A skill or blob does not exist, a limit exceeds the operator's, the tenant has as many sessions as
    /// it may have, or the engine is not ready.
    fn create_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> impl Future<Output = Result<SessionView, ServiceError>> + Send;

    /// The files of the sessions.
    ///
    /// # Errors
    ///
    /// The engine is not ready.
    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError>;
}

impl SessionCalls for Service {
    fn sessions(&self) -> &SessionRoom {
        &self.discovery().sessions
    }

    async fn create_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> Result<SessionView, ServiceError> {
        let session = self.begin_session(caller, order).await?;
        Ok(self.sessions().view(&session))
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        Ok(SessionFiles::of(self))
    }
}

impl<S: SessionCalls> SessionCalls for Arc<S> {
    fn sessions(&self) -> &SessionRoom {
        S::sessions(self)
    }

    fn create_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> impl Future<Output = Result<SessionView, ServiceError>> + Send {
        S::create_session(self, caller, order)
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        S::session_files(self)
    }
}
