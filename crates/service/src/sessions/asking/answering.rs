//! Goes on with cells that wait for their callers, or gives them up.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::{Instrument as _, warn};

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use crate::service::Service;
use crate::sessions::asking::asked::{AskedCell, GivenAnswers};
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::asking::decision::Deciders;
use crate::sessions::asking::open_runs::OpenedRun;
use crate::sessions::asking::rounds::end_of_wait;
use crate::sessions::cell::CellTurn;
use crate::sessions::cell_parts::CellParts;
use crate::sessions::earlier_parts::rolled_back;
use crate::sessions::held::late_answers::{cell_of, not_waiting};
use crate::sessions::held_cells::{HeldCell, TakenCell};
use crate::sessions::kept_cells::long_result::unknown_result;
use crate::sessions::order::{NEW, waits_on};
use crate::sessions::room::SessionRoom;
use crate::sessions::setup::{is_of_run, refuse_what_first_cells_set};
use crate::sessions::views::{checkpoint_id, session_id};
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::cells::SessionOrderParam;
use wardian_formats::protocol::methods::execution::{RunCodeParams, RunResult, RunStatus};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{CellEnd, SessionsError, StoredSession};
use wardian_stores::records::RecordedToolCall;
use wardian_stores::tenants::Right;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{RunId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// How often a call looks whether the cell that it waits for is held, if nothing tells it so.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long an interrupt is answered after at most. A part of a cell that takes longer goes on.
const SOON: Duration = Duration::from_secs(1);

/// Copies of what is known of a cell that waits, while it goes on.
const COPIES: usize = 3;

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
        parts.granted = self.granted_to(caller, &session)?;
        let declared = match &params.tools {
            Some(tools) => Some(self.called_tools(caller, Some(tools), &parts.granted).await?),
            None => None,
        };
        let next = parts.next_part();
        let given = GivenAnswers::all(params.answers.take().unwrap_or_default());
        drop(parts);
        let until = end_of_wait(store.longest_wait());
        let given = (given, Deciders::of(caller, BTreeMap::new()));
        let (given, _charged) = self.decide(caller, (&session, &next), given, until).await?;
        let answered = if given.has_called() {
            self.answer_at_last(caller, (&session, &next), (given, declared), until).await?
        } else {
            let (mut given, first) = (given, next.next_part());
            self.answer_part(caller, &session, first, (&mut given, declared)).await?
        };
        let result = self.go_on_here(caller, &session, &next, answered).await?;
        self.close_after(caller, &session, &order, result).await
    }

    /// Lets a cell go on with these answers, until it has ended or waits again. Its program may call these
    /// tools from then on, if there are some.
    pub(in crate::sessions) async fn answer_part(
        &self,
        caller: &Caller,
        session: &StoredSession,
        mut parts: CellParts,
        (given, declared): (&mut GivenAnswers, Option<CalledTools>),
    ) -> Result<Answered, ServiceError> {
        let store = self.sessions().store()?;
        let planned = self.plan_next(caller, session, &parts).await?;
        let named = cell_of(&given.answers);
        // What one part has needed is free for the next one.
        let caller = &Caller { memory: caller.memory.of_call(), ..caller.clone() };
        self.sessions().held().end_lost(&session.id).await;
        let held = self.sessions().held().answer(&session.id, given)?;
        let turn = if let Some((taken, answers)) = held {
            given.ensure_used(&session.id)?;
            parts.go_on_in_call(&caller.memory, &taken, answers)?;
            CellTurn::Held(Box::new(taken))
        } else {
            let waiting = match store.waiting(&caller.tenant, &session.id).await {
                Err(SessionsError::NotWaiting { .. }) => {
                    return Err(not_waiting(store, &caller.tenant, &session.id, named)
                        .await
                        .into());
                }
                waiting => waiting?,
            };
            caller.memory.reserve(ByteCount::from(waiting.asked.len().saturating_mul(COPIES)))?;
            let asked = AskedCell::of_row(session, &waiting)?;
            parts.tools = asked.tools_with(declared);
            parts.take_answers(&asked, asked.told((&session.id, waiting.number), given)?);
            given.ensure_used(&session.id)?;
            parts.follow(&caller.memory, waiting.result.clone())?;
            let turn = store.resume_turn(&caller.tenant, &session.id, waiting).await?;
            CellTurn::Own(Box::new(turn))
        };
        self.sessions().open_runs().note_over(&session.id);
        parts.tool_calls = [given.ended.as_slice(), given.noted.as_slice()].concat();
        let calls = given.ended.clone();
        let ended = EndedCalls { room: self.sessions(), caller, session, calls };
        let answered = self.run_planned_cell(caller, (session, planned), parts, turn).await;
        match &answered {
            // It has not gone on, and is answered once more.
            Err(_) => ended.forget(),
            Ok(Answered { result, .. }) if waits_unchanged(result) => ended.forget(),
            Ok(_) => drop(ended),
        }
        answered
    }

    /// Interrupts the cell of a session that waits: it goes on with `KeyboardInterrupt` where it waits, and
    /// ends as any cell, or waits again. Returns false if none waits. A cell that goes on for long is not
    /// waited for.
    ///
    /// Cancellation: a cell that was interrupted goes on.
    pub(in crate::sessions) async fn interrupt_waiting(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<bool, ServiceError> {
        let store = self.sessions().store()?;
        let session = store.find(&caller.tenant, &session_id(id)?).await?;
        if self.sessions().open_runs().interrupt(&session.id) {
            // It goes on with the interrupt in its call.
            return Ok(true);
        }
        let mut parts = CellParts::of_interrupt(self.policy.limits.keep_files);
        parts.granted = self.granted_to(caller, &session)?;
        let next = parts.next_part();
        let planned = self.plan_next(caller, &session, &parts).await?;
        let turn =
            if let Some((taken, interrupt)) = self.sessions().held().interrupt(&session.id)? {
                parts.go_on_in_call(&caller.memory, &taken, interrupt)?;
                CellTurn::Held(Box::new(taken))
            } else {
                let waiting = match store.waiting(&caller.tenant, &session.id).await {
                    Err(SessionsError::NotWaiting { .. }) => return Ok(false),
                    waiting => waiting?,
                };
                let asked = AskedCell::of_row(&session, &waiting)?;
                parts.tools = asked.tools_with(None);
                parts.take_answers(&asked, asked.interrupted()?);
                parts.follow(&caller.memory, waiting.result.clone())?;
                match store.resume_turn(&caller.tenant, &session.id, waiting).await {
                    // Somebody else has answered it.
                    Err(SessionsError::Busy { .. } | SessionsError::NotWaiting { .. }) => {
                        return Ok(false);
                    }
                    turn => CellTurn::Own(Box::new(turn?)),
                }
            };
        let service = self.itself.upgrade().ok_or(ServiceError::Stopping)?;
        let (of_cell, cell) = (caller.clone(), (session.id.clone(), turn.facts().number));
        let part = async move {
            let place = (&session, planned);
            let ended = Box::pin(service.run_planned_cell(&of_cell, place, parts, turn)).await?;
            let ended = Box::pin(service.go_on_here(&of_cell, &session, &next, ended)).await?;
            if is_of_run(&session) && !waits_on(&ended) {
                // It may have been closed meanwhile, and expires otherwise.
                service.sessions().close(&of_cell, session.id.as_str()).await.ok();
            }
            Ok::<(), ServiceError>(())
        };
        ended_soon(tokio::spawn(part.in_current_span()), cell).await?;
        Ok(true)
    }

    /// Refuses a session of which a cell waits in the middle of a call. One that cannot go on is ended.
    pub(in crate::sessions) async fn ensure_not_held(
        &self,
        session: &SessionId,
    ) -> Result<(), ServiceError> {
        Ok(self.sessions().ensure_not_held(session).await?)
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
    pub(in crate::sessions) async fn give_up_cell(
        &self,
        caller: &Caller,
        session: &StoredSession,
        reason: &str,
    ) -> Result<RunResult, ServiceError> {
        let store = self.sessions().store()?;
        let mut result = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        let held = self.sessions().held().take_to_abandon(&session.id)?;
        let cell = match &held {
            Some(held) => held.number,
            // Answers that came before are under way.
            None if self.sessions().is_running(&session.id) => {
                return Err(SessionsError::Busy { session: session.id.clone() }.into());
            }
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
        self.sessions().open_runs().note_over(&session.id);
        Ok(result)
    }
}

impl SessionRoom {
    /// Refuses a session of which a cell waits in the middle of a call, and says that it is to be answered.
    /// One that cannot go on is ended.
    ///
    /// # Errors
    ///
    /// [`SessionsError::Waiting`].
    pub(crate) async fn ensure_not_held(&self, session: &SessionId) -> Result<(), SessionsError> {
        self.held().end_lost(session).await;
        self.refusal(session).map_or(Ok(()), Err)
    }

    /// The refusal of other calls while a cell of the session waits in the middle of a call.
    fn refusal(&self, session: &SessionId) -> Option<SessionsError> {
        let cell = self.held().number_of(session)?;
        Some(SessionsError::Waiting { session: session.clone(), cell })
    }

    /// Resolves when a cell of the session waits in the middle of a call, with the refusal of others.
    pub(crate) async fn until_held(&self, session: &SessionId) -> SessionsError {
        loop {
            let holds = self.holds.notified();
            if let Some(waiting) = self.refusal(session) {
                return waiting;
            }
            // One that was answered may wait again.
            timeout(LOOK_AGAIN, holds).await.ok();
        }
    }
}

impl CellParts {
    /// The parts with which a cell goes on that was held. What its call declares is not read in the middle
    /// of another call.
    fn go_on_in_call(
        &mut self,
        memory: &CallMemory,
        taken: &TakenCell,
        answers: JsonText,
    ) -> Result<(), ServiceError> {
        if let Some((asked, result)) = taken.asked() {
            memory.reserve(ByteCount::from(asked.bytes().saturating_mul(COPIES)))?;
            self.tools = asked.tools_with(None);
            self.follow(memory, result.map(str::to_owned))?;
            self.take_answers(asked, answers);
        } else {
            self.answers = Some(answers);
        }
        Ok(())
    }

    /// Lets a cell that has asked this go on with these answers.
    fn take_answers(&mut self, asked: &AskedCell, answers: JsonText) {
        self.seen = asked.seen.answered(&answers);
        let journal = asked.journal.as_deref().cloned();
        self.journal = journal.map(|journal| Box::new(journal.answered(&answers)));
        self.answers = Some(answers);
    }

    /// Notes what the parts of a cell have shown that goes on, if that is known.
    fn follow(&mut self, memory: &CallMemory, result: Option<String>) -> Result<(), ServiceError> {
        let earlier = result.unwrap_or_else(unknown_result);
        // It is read, and kept for the case that the cell gets no other end.
        memory.reserve(ByteCount::from(earlier.len().saturating_mul(COPIES)))?;
        self.earlier = Some(earlier);
        Ok(())
    }
}

/// Calls of tools that end with the part of a cell that goes on. Dropped, they are noted.
struct EndedCalls<'a> {
    room: &'a SessionRoom,
    caller: &'a Caller,
    session: &'a StoredSession,
    calls: Vec<RecordedToolCall>,
}

impl EndedCalls<'_> {
    /// They have not ended.
    fn forget(mut self) {
        self.calls.clear();
    }
}

impl Drop for EndedCalls<'_> {
    fn drop(&mut self) {
        for call in &self.calls {
            self.room.observer().note_call(self.caller, &self.session.id, call);
        }
    }
}

/// True if the cell of this answer was stopped before it has gone on, and waits as before.
fn waits_unchanged(result: &RunResult) -> bool {
    waits_on(result) && result.status != RunStatus::Waiting
}

/// Waits a moment for the end of a part of a cell, which goes on in any case.
async fn ended_soon(
    mut part: JoinHandle<Result<(), ServiceError>>,
    (session, cell): (SessionId, u32),
) -> Result<(), ServiceError> {
    if let Ok(ended) = timeout(SOON, &mut part).await {
        return ended.map_err(ServiceError::Interrupted)?;
    }
    tokio::spawn(async move {
        // Nobody else reports it: the interrupt was answered before.
        if let Ok(Err(fault)) = part.await {
            warn!(session.id = %session, "cell {cell} was interrupted: {}", CauseChain(&fault));
        }
    });
    Ok(())
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
