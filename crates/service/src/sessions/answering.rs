//! Goes on with cells that wait for their callers, or gives them up.

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use crate::service::Service;
use crate::sessions::asked::AskedCell;
use crate::sessions::cell::rolled_back;
use crate::sessions::held_cells::HeldCell;
use crate::sessions::order::{CellParts, NEW};
use crate::sessions::room::{checkpoint_id, session_id};
use crate::sessions::setup::refuse_what_first_cells_set;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::cells::SessionOrderParam;
use wardian_formats::protocol::methods::execution::RunCodeParams;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{CellEnd, SessionsError, StoredSession, WaitingCell};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{RunId, SessionId};

impl Service {
    /// Lets a cell go on that waits, with the answers of this call.
    pub(super) async fn answer_cell(
        &self,
        caller: &Caller,
        mut params: RunCodeParams,
        order: SessionOrderParam,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        refuse_code(&params, "answers")?;
        refuse_what_first_cells_set(&params.mount_skills, &params.input_blobs)?;
        let store = self.sessions().store()?;
        let session = store.find(&caller.tenant, &session_id(existing(&order)?)?).await?;
        ensure_at(&session, &order)?;
        let mut parts = CellParts::of(&mut params, self.policy.limits.keep_files, listener)?;
        let mut answers = params.answers.take().unwrap_or_default();
        let planned = self.plan_next(caller, &session, &parts).await?;
        let held = self.sessions().held().answer(&session.id, &mut answers)?;
        let turn = if let Some((held, answers)) = held {
            let HeldCell { turn, guest, is_reseeded, asked, result, .. } = held;
            parts.earlier = result;
            // What it declares is not read in the middle of a call.
            parts.tools = asked.tools_with(None)?;
            parts.answers = Some(answers);
            parts.held = Some((guest, is_reseeded));
            turn
        } else {
            let waiting = store.waiting(&caller.tenant, &session.id).await?;
            let asked = asked_by(&session, &waiting)?;
            parts.tools = asked.tools_with(params.tools.as_deref())?;
            parts.answers = Some(asked.answered(waiting.number, answers)?);
            parts.earlier.clone_from(&waiting.result);
            store.resume_turn(&caller.tenant, &session.id, waiting).await?
        };
        let answered = self.run_planned_cell(caller, (&session, planned), parts, turn).await;
        self.close_after(caller, &session, &order, answered?.result).await
    }

    /// Refuses a session of which a cell waits in the middle of a call.
    pub(super) fn ensure_not_held(&self, session: &SessionId) -> Result<(), ServiceError> {
        match self.sessions().held().number_of(session) {
            None => Ok(()),
            Some(cell) => Err(SessionsError::Waiting { session: session.clone(), cell }.into()),
        }
    }

    /// Ends a cell that waits, without a trace.
    pub(super) async fn abandon_cell(
        &self,
        caller: &Caller,
        params: RunCodeParams,
        order: SessionOrderParam,
    ) -> Result<MethodResult, ServiceError> {
        refuse_code(&params, "abandon")?;
        if params.answers.is_some() {
            let expected = "left out in a call with `abandon`";
            return Err(ParamsError::wrong("answers", expected, "a list").into());
        }
        ensure_has(caller, Right::Code)?;
        let store = self.sessions().store()?;
        let session = store.find(&caller.tenant, &session_id(existing(&order)?)?).await?;
        ensure_at(&session, &order)?;
        let mut result = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        let text = serde_json::to_string(&result).map_err(ServiceError::Unserialisable)?;
        let end = CellEnd { result: Some(text), fuel: None };
        let cell = match self.sessions().held().take(&session.id) {
            Some(HeldCell { turn, guest, number, .. }) => {
                drop(guest);
                turn.roll_back(end).await?;
                number
            }
            None => store.abandon(&caller.tenant, &session.id, end).await?.number,
        };
        self.sessions().guests().close(&session.id);
        let (place, head) = ((session.id.clone(), cell), session.head.clone());
        result.session = Some(rolled_back(place, head, "its caller has abandoned it".to_owned()));
        self.close_after(caller, &session, &order, result).await
    }
}

/// What a cell has asked that waits.
fn asked_by(session: &StoredSession, waiting: &WaitingCell) -> Result<AskedCell, ServiceError> {
    serde_json::from_str(&waiting.asked)
        .map_err(|_other_version| SessionsError::NotWaiting { session: session.id.clone() }.into())
}

/// The id of the session, which must exist.
fn existing(order: &SessionOrderParam) -> Result<&str, ServiceError> {
    let id = order.id.as_deref().filter(|id| *id != NEW);
    let expected = "the id of the session that waits";
    Ok(id.ok_or_else(|| ParamsError::wrong("session", expected, "a new session"))?)
}

/// Refuses a session that is at another checkpoint than the call expects.
fn ensure_at(session: &StoredSession, order: &SessionOrderParam) -> Result<(), ServiceError> {
    let expected = order.if_checkpoint.as_deref().map(checkpoint_id).transpose()?;
    match expected {
        Some(expected) if session.head.as_ref() != Some(&expected) => {
            Err(SessionsError::Conflict { head: session.head.clone() }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses code in a call that goes on with the code of another one.
fn refuse_code(params: &RunCodeParams, with: &str) -> Result<(), ServiceError> {
    if params.code.trim().is_empty() {
        return Ok(());
    }
    let expected = format!("empty in a call with `{with}`");
    Err(ParamsError::wrong("code", expected, "code").into())
}
