//! Lets a cell go on in its call: with answers that its caller gives while it goes on, and with those that need no
//! caller.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::time::{sleep, timeout};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::result::answered::Answered;
use crate::service::Service;
use crate::sessions::asking::asked::{AskedCell, GivenAnswers};
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::asking::decision::{DecidedCell, Deciders};
use crate::sessions::asking::open_run::{GivenAnswer, OpenRun};
use crate::sessions::asking::open_runs::{AnswersAwaited, OpenedRun};
use crate::sessions::asking::server_call::ServerCall;
use crate::sessions::asking::server_tools::{ServersAsked, span_of_tool};
use crate::sessions::cell_parts::CellParts;
use crate::sessions::earlier_parts::of_one_call;
use crate::sessions::held::late_answers::{not_waiting, until_over};
use crate::sessions::setup::is_of_run;
use crate::sessions::turns::seen_requests::TWO_THINGS;
use wardian_formats::protocol::methods::asking::ToolDeclaration;
use wardian_formats::protocol::methods::execution::{RunResult, RunStatus};
use wardian_sessions::{SessionsError, StoredSession};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::units::ByteCount;

/// Most parts of a cell in one call, one after the other, in which no tool was called: its caller was not asked, and
/// no server.
const MAX_ROUNDS_ALONE: u32 = 32;

/// How long a call waits at most for the end of its cell that is under way.
const SOON: Duration = Duration::from_secs(1);

/// Why a cell is rolled back that goes on alone for too long.
const ALONE: &str = "it has called tools again and again, and each call was refused";

/// The next step of a cell that waits.
enum NextStep {
    /// It goes on with these answers, whose memory stays charged until the program has them.
    GoOn(GivenAnswers, Vec<CallMemory>),
    /// It waits for its caller.
    Wait,
    /// It is rolled back, for this reason.
    GiveUp(&'static str),
}

/// How soon a cell is let go on again that the full server has refused, and how late at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How far a call is in which a cell goes on.
struct Rounds {
    /// Parts in a row in which no tool was called.
    alone: u32,
    /// When the tools of servers have to have answered.
    until: Instant,
}

impl Rounds {
    /// A part begins. Returns false if there were too many in which no tool was called.
    const fn begin(&mut self, is_alone: bool) -> bool {
        self.alone = if is_alone { self.alone.saturating_add(1) } else { 0 };
        self.alone <= MAX_ROUNDS_ALONE
    }
}

impl Service {
    /// Lets a cell go on in its call: as long as it waits for tools of the operator's servers, or its caller has
    /// nothing to answer, because all that it has asked does not fit the schemas of the tools, and as long as a
    /// caller answers that hears its requests.
    ///
    /// One that goes on alone for too long is rolled back. One that nobody answers is left waiting. One that was
    /// interrupted while it was running, and has come to wait without noticing, is interrupted where it waits.
    pub(in crate::sessions) async fn go_on_here(
        &self,
        caller: &Caller,
        session: &StoredSession,
        next: &CellParts,
        answered: Answered,
    ) -> Result<RunResult, ServiceError> {
        let Answered { mut result, mut server_calls, .. } = answered;
        if result.status != RunStatus::Waiting {
            return Ok(result);
        }
        let is_program = is_of_run(session);
        let until = end_of_wait(self.sessions().store()?.longest_wait());
        let mut rounds = Rounds { alone: 0, until };
        while result.status == RunStatus::Waiting {
            let open = (&result, take(&mut server_calls));
            let step = self.next_step(caller, (session, next), open, &mut rounds).await?;
            // Answers stay charged until the program has them.
            let (given, _charged) = match step {
                NextStep::GoOn(given, charged) => (given, charged),
                NextStep::Wait => break,
                NextStep::GiveUp(reason) => {
                    let mut ended = self.give_up_cell(caller, session, reason).await?;
                    reason.clone_into(&mut ended.summary);
                    ended.error.iter_mut().for_each(|error| reason.clone_into(&mut error.message));
                    return Ok(of_one_call(result, ended, is_program));
                }
            };
            let place = (session, next);
            let answered = self.answer_at_last(caller, place, (given, None), rounds.until);
            let answered = Box::pin(answered).await?;
            server_calls = answered.server_calls;
            result = of_one_call(result, answered.result, is_program);
        }
        Ok(result)
    }

    /// As [`Self::answer_part`], in a call that has executed something before. Where the server is full it waits: the
    /// cell has not gone on, and nobody may believe that nothing was executed.
    pub(super) async fn answer_at_last(
        &self,
        caller: &Caller,
        (session, next): (&StoredSession, &CellParts),
        (mut given, declared): (GivenAnswers, Option<CalledTools>),
        until: Instant,
    ) -> Result<Answered, ServiceError> {
        let mut pause = SHORTEST_PAUSE;
        loop {
            let part = (&mut given, declared.clone());
            let answered = self.answer_part(caller, session, next.next_part(), part);
            match Box::pin(answered).await {
                Err(full) if full.retry_after().is_some() => {
                    if Instant::now() >= until {
                        return Err(ServiceError::AfterRun(Box::new(full)));
                    }
                }
                answered => return answered,
            }
            select! {
                () = sleep(pause) => pause = pause.saturating_mul(2).min(LONGEST_PAUSE),
                () = self.sessions().held().lost(&session.id) => {}
            }
        }
    }

    /// The next step of a cell that waits for its caller and for these calls of tools of servers.
    async fn next_step(
        &self,
        caller: &Caller,
        (session, next): (&StoredSession, &CellParts),
        (result, calls): (&RunResult, Vec<ServerCall>),
        rounds: &mut Rounds,
    ) -> Result<NextStep, ServiceError> {
        let alone = |given| NextStep::GoOn(given, Vec::new());
        if next.call.take_interrupt() {
            return Ok(alone(GivenAnswers::interrupt()));
        }
        if !calls.is_empty() {
            let cell = result.session.as_ref().map(|at| at.cell);
            let asked = self.ask_servers(caller, (session, next), (calls, cell), rounds.until);
            let (replies, charged) = match asked.await? {
                ServersAsked::Replies(replies, charged) => (replies, charged),
                ServersAsked::Interrupt => return Ok(alone(GivenAnswers::interrupt())),
                ServersAsked::Over => return Err(self.wait_over(caller, session, cell).await),
            };
            let is_alone = replies.iter().all(|reply| !reply.was_asked());
            if !rounds.begin(is_alone) {
                return Ok(NextStep::GiveUp(ALONE));
            }
            return Ok(NextStep::GoOn(GivenAnswers::of_servers(replies), charged));
        }
        if result.requests.is_empty() {
            let may_go_on = rounds.begin(true);
            let gives_up = NextStep::GiveUp(ALONE);
            return Ok(if may_go_on { alone(GivenAnswers::default()) } else { gives_up });
        }
        let Some(open) = &next.open else { return Ok(NextStep::Wait) };
        rounds.begin(false);
        match self.await_answers((caller, session), open, result).await? {
            AnswersAwaited::Answers(given) => {
                let (mut charged, mut by, mut answers) = (Vec::new(), BTreeMap::new(), Vec::new());
                for GivenAnswer { answer, memory, decider } in given {
                    by.insert(answer.id.clone(), decider);
                    charged.push(memory);
                    answers.push(answer);
                }
                let given = (GivenAnswers::some(answers), Deciders::of(caller, by));
                let decided = self.decide(caller, (session, next), given, rounds.until);
                let (given, mut of_replies) = decided.await?;
                charged.append(&mut of_replies);
                Ok(NextStep::GoOn(given, charged))
            }
            AnswersAwaited::Interrupt => Ok(alone(GivenAnswers::interrupt())),
            AnswersAwaited::Over => {
                let cell = result.session.as_ref().map(|at| at.cell);
                Err(self.wait_over(caller, session, cell).await)
            }
            AnswersAwaited::Other => Ok(NextStep::GiveUp(TWO_THINGS)),
            AnswersAwaited::Late => Ok(NextStep::Wait),
        }
    }

    /// Makes the calls of tools of servers that these answers approve, and puts the replies in the place of the
    /// approvals. What is not approved is answered with an error. From then on these requests are not the caller's
    /// any more: nobody approves a call twice.
    ///
    /// Cancellation: as [`Self::ask_servers`]. The program gets errors for calls that were cut off.
    pub(super) async fn decide(
        &self,
        caller: &Caller,
        (session, next): (&StoredSession, &CellParts),
        (mut given, deciders): (GivenAnswers, Deciders),
        until: Instant,
    ) -> Result<(GivenAnswers, Vec<CallMemory>), ServiceError> {
        if next.granted.is_empty() || given.answers.is_empty() {
            return Ok((given, Vec::new()));
        }
        self.sessions().held().end_lost(&session.id).await;
        let are_all = given.are_all;
        let decide =
            |cell, asked: &AskedCell| asked.decided(cell, (&mut given.answers, are_all), &deciders);
        let decided = match self.sessions().held().decide(&session.id, decide)? {
            (true, decided) => decided,
            (false, _) => self.decide_parked(caller, session, &mut given, &deciders).await?,
        };
        let Some(DecidedCell { cell, approved, noted, .. }) = decided else {
            return Ok((given, Vec::new()));
        };
        // Others that wait for answers to it would wait for what is not theirs any more.
        self.sessions().open_runs().note_over(&session.id);
        for call in &noted {
            self.sessions().observer().note_decision(&caller.tenant, &session.id, call);
        }
        if approved.is_empty() {
            return Ok((given, Vec::new()));
        }
        let asked = self.ask_servers(caller, (session, next), (approved, Some(cell)), until);
        match asked.await? {
            ServersAsked::Replies(replies, charged) => {
                given.replies = replies;
                Ok((given, charged))
            }
            ServersAsked::Interrupt => Ok((GivenAnswers::interrupt(), Vec::new())),
            ServersAsked::Over => Err(self.wait_over(caller, session, Some(cell)).await),
        }
    }

    /// As [`Self::decide`], for a cell that is parked, without the calls.
    async fn decide_parked(
        &self,
        caller: &Caller,
        session: &StoredSession,
        given: &mut GivenAnswers,
        deciders: &Deciders,
    ) -> Result<Option<DecidedCell>, ServiceError> {
        let store = self.sessions().store()?;
        let waiting = match store.waiting(&caller.tenant, &session.id).await {
            // Whoever gives the answers is told.
            Err(SessionsError::NotWaiting { .. }) => return Ok(None),
            waiting => waiting?,
        };
        caller.memory.of_call().reserve(ByteCount::from(waiting.asked.len().saturating_mul(2)))?;
        let asked = AskedCell::of_row(session, &waiting)?;
        let answers = (&mut given.answers, given.are_all);
        let Some(decided) = asked.decided(waiting.number, answers, deciders)? else {
            return Ok(None);
        };
        let text = serde_json::to_string(&decided.asked).map_err(ServiceError::Unserialisable)?;
        store.ask_anew(&caller.tenant, &session.id, (&waiting, &text)).await?;
        Ok(Some(decided))
    }

    /// Waits for answers to the requests of a cell that waits, as long as it does.
    async fn await_answers(
        &self,
        (caller, session): (&Caller, &StoredSession),
        open: &Arc<OpenRun>,
        RunResult { requests, session: at, .. }: &RunResult,
    ) -> Result<AnswersAwaited, ServiceError> {
        let (room, id, cell) = (self.sessions(), &session.id, at.as_ref().map(|at| at.cell));
        let (store, is_held) = (room.store()?, room.held().number_of(id).is_some());
        let longest = wait_here(store.longest_wait());
        let mut span = span_of_tool(caller, "caller");
        let awaited = select! {
            awaited = room.open_runs().answers_to(id, open, requests, longest) => awaited,
            () = room.held().lost(id) => AnswersAwaited::Over,
            () = until_over(store, &caller.tenant, id, cell), if !is_held => AnswersAwaited::Over,
        };
        if matches!(awaited, AnswersAwaited::Answers(..)) {
            span.succeed();
        }
        Ok(awaited)
    }

    /// The error for a call whose cell does not wait for its answers any more.
    async fn wait_over(
        &self,
        caller: &Caller,
        session: &StoredSession,
        cell: Option<u32>,
    ) -> ServiceError {
        let (room, tenant) = (self.sessions(), &caller.tenant);
        let store = match room.store() {
            Ok(store) => store,
            Err(none) => return none,
        };
        // Its end may be under way.
        room.held().end_lost(&session.id).await;
        timeout(SOON, until_over(store, tenant, &session.id, cell)).await.ok();
        match not_waiting(store, tenant, &session.id, cell).await {
            SessionsError::NotWaiting { session } => SessionsError::AnsweredElsewhere { session },
            over => over,
        }
        .into()
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
}

/// When a call has to have its answers that begins now.
pub(super) fn end_of_wait(longest: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait_here(longest)).unwrap_or(now)
}

/// How long a call waits for answers: less than a worker that holds its cell.
fn wait_here(longest: Duration) -> Duration {
    longest.saturating_sub(longest / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_which_no_tool_was_called_are_few() {
        let mut rounds = Rounds { alone: 0, until: Instant::now() };
        for _ in 0..3 {
            assert!((0..MAX_ROUNDS_ALONE).all(|_| rounds.begin(true)));
            assert!(rounds.begin(false), "a tool was called");
        }
        assert!((0..MAX_ROUNDS_ALONE).all(|_| rounds.begin(true)));
        assert!(!rounds.begin(true));
    }
}
