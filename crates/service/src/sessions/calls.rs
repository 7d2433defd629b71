//! The interface of sessions for the edges.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::asking::decision::Decider;
use crate::sessions::asking::open_run::RunAnswersView;
use crate::sessions::files::SessionFiles;
use crate::sessions::notebook::imported::{ImportedNotebook, NotebookOrder};
use crate::sessions::order::NewSessionOrder;
use crate::sessions::room::SessionRoom;
use crate::sessions::views::{InterruptView, SessionView, session_id};
use wardian_dispatch::FinishedRun;
use wardian_formats::protocol::methods::run_answers::RunAnswers;
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::SessionId;

/// How soon an interrupt that was noted looks whether its cell is running or waits for answers.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long an interrupt is noted for at most, if nothing takes it.
const LONGEST_NOTE: Duration = Duration::from_secs(1);

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

    /// Interrupts the cell of a session that is running or waits for its caller, if one is. When this is done,
    /// one that has waited has ended or waits again, or goes on if that takes longer than a second.
    ///
    /// # Errors
    ///
    /// The tenant has no such session, a cell that waits cannot go on, or the engine is not ready.
    fn interrupt_session(
        &self,
        caller: &Caller,
        id: &str,
    ) -> impl Future<Output = Result<InterruptView, ServiceError>> + Send;

    /// Answers requests of a run whose call goes on.
    ///
    /// # Errors
    ///
    /// The caller may not run code, or not approve what it approves. The tenant has no such run that takes answers,
    /// or one of them is none to what the run has asked: then none is taken.
    fn answer_run(
        &self,
        caller: &Caller,
        run: &str,
        answers: RunAnswers,
    ) -> Result<RunAnswersView, ServiceError> {
        if !caller.rights.contains(Right::Execute) {
            ensure_has(caller, Right::Code)?;
        }
        let RunAnswers { answers } = answers;
        let by = (&caller.memory, &Decider::of(caller));
        self.sessions().open_runs().answer(&caller.tenant, run, answers, by)
    }

    /// The files of the sessions.
    ///
    /// # Errors
    ///
    /// The engine is not ready.
    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError>;

    /// Makes a session, and executes the programs of a notebook in it, up to the first one that fails.
    ///
    /// # Errors
    ///
    /// The text is no notebook, or as for [`create_session`](Self::create_session). A cell that cannot be
    /// executed is part of the answer.
    fn import_notebook(
        &self,
        _caller: &Caller,
        _text: &[u8],
        _order: NotebookOrder,
    ) -> impl Future<Output = Result<ImportedNotebook, ServiceError>> + Send {
        async { Err(ServiceError::NoSessions) }
    }
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
        let (session, unknown) = self.begin_session(caller, order).await?;
        let view = self.sessions().view(&session).await?;
        unknown.keep();
        Ok(view)
    }

    async fn interrupt_session(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InterruptView, ServiceError> {
        let running = self.sessions().interrupt(caller, id).await?;
        if running.interrupted {
            return Ok(running);
        }
        let interrupted = self.sessions().interrupt_call(caller, id).await?
            || Box::pin(self.interrupt_waiting(caller, id)).await?;
        if interrupted {
            return Ok(InterruptView { interrupted });
        }
        // It may have been answered meanwhile.
        self.sessions().interrupt(caller, id).await
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        Ok(SessionFiles::of(self))
    }

    async fn import_notebook(
        &self,
        caller: &Caller,
        text: &[u8],
        order: NotebookOrder,
    ) -> Result<ImportedNotebook, ServiceError> {
        Box::pin(self.begin_notebook(caller, text, order)).await
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

    fn interrupt_session(
        &self,
        caller: &Caller,
        id: &str,
    ) -> impl Future<Output = Result<InterruptView, ServiceError>> + Send {
        S::interrupt_session(self, caller, id)
    }

    fn session_files(&self) -> Result<SessionFiles<'_>, ServiceError> {
        S::session_files(self)
    }

    fn import_notebook(
        &self,
        caller: &Caller,
        text: &[u8],
        order: NotebookOrder,
    ) -> impl Future<Output = Result<ImportedNotebook, ServiceError>> + Send {
        S::import_notebook(self, caller, text, order)
    }
}

impl SessionRoom {
    /// Interrupts the cell of a session where its call waits for answers, or will wait at once. Returns false
    /// if no call is in progress, if it ends, or if its cell gets neither to a worker nor to a wait for too
    /// long.
    ///
    /// # Errors
    ///
    /// The tenant has no such session, or the store fails.
    pub(crate) async fn interrupt_call(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<bool, ServiceError> {
        let (session, runs) = (session_id(id)?, self.open_runs());
        if runs.interrupt(&session) {
            return Ok(true);
        }
        let until = Instant::now() + LONGEST_NOTE;
        while Instant::now() < until {
            let Some(mut noted) = runs.calls().note_interrupt(&session) else { return Ok(false) };
            if let Ok(is_taken) = timeout(LOOK_AGAIN, noted.taken()).await {
                return Ok(is_taken);
            }
            // It reaches the cell in one of these ways, and in no second one.
            let is_taken = !noted.withdraw();
            if is_taken || self.interrupt(caller, id).await?.interrupted || runs.interrupt(&session)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes an interrupt that a cell has not seen in its part that has ended: it meets the cell where it waits.
    pub(super) fn note_left_interrupt(&self, session: &SessionId, finished: &FinishedRun) {
        if finished.is_interrupt_left {
            self.open_runs().calls().note_interrupt(session);
        }
    }
}
