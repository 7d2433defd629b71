//! Goes on with cells that wait for their callers, or gives them up.

use std::time::Duration;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use crate::service::Service;
use crate::sessions::asking::asked::{AskedCell, GivenAnswers};
use crate::sessions::asking::open_run::OpenedRun;
use crate::sessions::cell::CellTurn;
use crate::sessions::cell_parts::CellParts;
use crate::sessions::earlier_parts::{of_one_call, rolled_back};
use crate::sessions::held_cells::{HeldCell, TakenCell};
use crate::sessions::order::NEW;
use crate::sessions::setup::{is_of_run, refuse_what_first_cells_set};
use crate::sessions::views::{checkpoint_id, session_id};
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::asking::ToolDeclaration;
use wardian_formats::protocol::methods::cells::SessionOrderParam;
use wardian_formats::protocol::methods::execution::{RunCodeParams, RunResult, RunStatus};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{CellEnd, SessionsError, StoredSession, WaitingCell};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{RunId, SessionId};

/// Most parts of a cell in one call that nobody but the server has answered.
const MAX_ROUNDS_ALONE: u32 = 32;

impl Service {
    /// Lets a cell go on that waits, or ends it, as this call says.
    pub(in crate::sessions) async fn go_on_or_end(
        &self,
        caller: &Caller,
        params: RunCodeParams,
        order: SessionOrderParam,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        if params.abandon {
            return self.abandon_cell(caller, params, order).await;
        }
        Box::pin(self.answer_cell(caller, params, order, listener)).await
    }

    /// Lets a cell go on that waits, with the answers of this call.
    async fn answer_cell(
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
        let opened = self.open_run(caller, params.tools.as_deref(), listener.as_ref());
        let mut parts = CellParts::of(&mut params, self.policy.limits.keep_files, listener)?;
        parts.open = opened.as_ref().map(OpenedRun::run);
        let next = parts.next_part();
        let given = GivenAnswers::all(params.answers.take().unwrap_or_default());
        let given = (given, params.tools.as_deref());
        let result = self.answer_part(caller, &session, parts, given).await?;
        let result = self.go_on_here(caller, &session, &next, result).await?;
        self.close_after(caller, &session, &order, result).await
    }

    /// Lets a cell go on with these answers, until it has ended or waits again. Its program may call these
    /// tools from then on, if there are some.
    async fn answer_part(
        &self,
        caller: &Caller,
        session: &StoredSession,
        mut parts: CellParts,
        (mut given, declared): (GivenAnswers, Option<&[ToolDeclaration]>),
    ) -> Result<RunResult, ServiceError> {
        let store = self.sessions().store()?;
        let planned = self.plan_next(caller, session, &parts).await?;
        let held = self.sessions().held().answer(&session.id, &mut given)?;
        let turn = if let Some((taken, answers)) = held {
            parts.go_on_in_call(&taken, answers)?;
            CellTurn::Held(Box::new(taken))
        } else {
            let waiting = store.waiting(&caller.tenant, &session.id).await?;
            let asked = asked_by(session, &waiting)?;
            parts.tools = asked.tools_with(declared)?;
            parts.answers = Some(asked.answered(waiting.number, &mut given)?);
            parts.earlier.clone_from(&waiting.result);
            let turn = store.resume_turn(&caller.tenant, &session.id, waiting).await?;
            CellTurn::Own(Box::new(turn))
        };
        for call in &given.ended {
            self.sessions().observer().note_call(caller, &session.id, call);
        }
        let answered = self.run_planned_cell(caller, (session, planned), parts, turn).await?;
        Ok(answered.result)
    }

    /// Lets a cell go on in its call: as long as its caller has nothing to answer, because all that it has
    /// asked does not fit the schemas of the tools, and as long as a caller answers that hears its requests.
    ///
    /// One that goes on alone for too long is rolled back. One that nobody answers is left waiting.
    pub(in crate::sessions) async fn go_on_here(
        &self,
        caller: &Caller,
        session: &StoredSession,
        next: &CellParts,
        mut result: RunResult,
    ) -> Result<RunResult, ServiceError> {
        let mut rounds = 0_u32;
        while result.status == RunStatus::Waiting {
            if !result.requests.is_empty() {
                let Some(open) = &next.open else { break };
                rounds = 0;
                let longest = wait_here(self.sessions().store()?.longest_wait());
                let Some((answers, _charged)) = open.answers_to(&result.requests, longest).await
                else {
                    break;
                };
                let given = (GivenAnswers::some(answers), None);
                let answered = self.answer_part(caller, session, next.next_part(), given);
                result = of_one_call(result, Box::pin(answered).await?);
                continue;
            }
            if rounds == MAX_ROUNDS_ALONE {
                let reason = "it has called tools with wrong arguments again and again";
                let mut ended = self.give_up_cell(caller, session, reason).await?;
                reason.clone_into(&mut ended.summary);
                ended.error.iter_mut().for_each(|error| reason.clone_into(&mut error.message));
                return Ok(of_one_call(result, ended));
            }
            rounds = rounds.saturating_add(1);
            let given = (GivenAnswers::default(), None);
            let answered = self.answer_part(caller, session, next.next_part(), given);
            result = of_one_call(result, Box::pin(answered).await?);
        }
        Ok(result)
    }

    /// Lets the caller of this call answer while it goes on, if it declares tools and hears requests.
    pub(in crate::sessions) fn open_run(
        &self,
        caller: &Caller,
        tools: Option<&[ToolDeclaration]>,
        listener: Option<&LogListener>,
    ) -> Option<OpenedRun> {
        tools.filter(|tools| !tools.is_empty())?;
        self.sessions().open_runs().open(&caller.tenant, listener)
    }

    /// Interrupts the cell of a session that waits: it goes on with `KeyboardInterrupt` where it waits, and
    /// ends as any cell, or waits again. Returns false if none waits.
    ///
    /// Cancellation: the cell is stopped and leaves no trace.
    pub(in crate::sessions) async fn interrupt_waiting(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<bool, ServiceError> {
        let store = self.sessions().store()?;
        let session = store.find(&caller.tenant, &session_id(id)?).await?;
        let mut parts = CellParts::of_interrupt(self.policy.limits.keep_files);
        let planned = self.plan_next(caller, &session, &parts).await?;
        let turn =
            if let Some((taken, interrupt)) = self.sessions().held().interrupt(&session.id)? {
                parts.go_on_in_call(&taken, interrupt)?;
                CellTurn::Held(Box::new(taken))
            } else {
                let waiting = match store.waiting(&caller.tenant, &session.id).await {
                    Err(SessionsError::NotWaiting { .. }) => return Ok(false),
                    waiting => waiting?,
                };
                let asked = asked_by(&session, &waiting)?;
                parts.tools = asked.tools_with(None)?;
                parts.answers = Some(asked.interrupted()?);
                parts.earlier.clone_from(&waiting.result);
                match store.resume_turn(&caller.tenant, &session.id, waiting).await {
                    // Somebody else has answered it.
                    Err(SessionsError::Busy { .. } | SessionsError::NotWaiting { .. }) => {
                        return Ok(false);
                    }
                    turn => CellTurn::Own(Box::new(turn?)),
                }
            };
        let ended = self.run_planned_cell(caller, (&session, planned), parts, turn).await?;
        if is_of_run(&session) && ended.result.status != RunStatus::Waiting {
            // It may have been closed meanwhile, and expires otherwise.
            self.sessions().close(caller, session.id.as_str()).await.ok();
        }
        Ok(true)
    }

    /// Refuses a session of which a cell waits in the middle of a call.
    pub(in crate::sessions) fn ensure_not_held(
        &self,
        session: &SessionId,
    ) -> Result<(), ServiceError> {
        match self.sessions().held().number_of(session) {
            None => Ok(()),
            Some(cell) => Err(SessionsError::Waiting { session: session.clone(), cell }.into()),
        }
    }

    /// Ends a cell that waits, without a trace.
    async fn abandon_cell(
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
        let result = self.give_up_cell(caller, &session, "its caller has abandoned it").await?;
        self.close_after(caller, &session, &order, result).await
    }

    /// Ends a cell that waits, without a trace and for this reason. Returns its result.
    async fn give_up_cell(
        &self,
        caller: &Caller,
        session: &StoredSession,
        reason: &str,
    ) -> Result<RunResult, ServiceError> {
        let store = self.sessions().store()?;
        let mut result = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        let held = self.sessions().held().take(&session.id);
        let cell = match &held {
            Some(held) => held.number,
            None => store.waiting(&caller.tenant, &session.id).await?.number,
        };
        let (place, head) = ((session.id.clone(), cell), session.head.clone());
        result.session = Some(rolled_back(place, head, reason.to_owned()));
        let text = serde_json::to_string(&result).map_err(ServiceError::Unserialisable)?;
        let end = CellEnd { result: Some(text), fuel: None };
        if let Some(HeldCell { turn, guest, .. }) = held {
            drop(guest);
            turn.roll_back(end).await?;
        } else {
            store.abandon(&caller.tenant, &session.id, end).await?;
        }
        self.sessions().guests().close(&session.id);
        Ok(result)
    }
}

impl CellParts {
    /// The parts with which a cell goes on that was held. What its call declares is not read in the middle
    /// of another call.
    fn go_on_in_call(&mut self, taken: &TakenCell, answers: JsonText) -> Result<(), ServiceError> {
        if let Some((asked, result)) = taken.asked() {
            self.tools = asked.tools_with(None)?;
            self.earlier = result.map(str::to_owned);
        }
        self.answers = Some(answers);
        Ok(())
    }
}

/// How long a call waits for answers: less than a worker that holds its cell.
fn wait_here(longest: Duration) -> Duration {
    longest.saturating_sub(longest / 10)
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
