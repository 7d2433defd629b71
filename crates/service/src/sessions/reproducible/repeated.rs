//! Repeats programs that wait for answers, with recorded ones: nobody is asked, and no tool is called.
//!
//! INVARIANT(recorded-answers): a repetition goes on with the answers of its record, in the rounds of its record, or
//! ends at the first request that differs.

use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::prepare::plan::Planned;
use crate::run::result::answered::Answered;
use crate::service::Service;
use crate::sessions::asking::asked::{AskedCell, GivenAnswers};
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::cell::CellTurn;
use crate::sessions::cell_parts::{CellParts, RecordedParts};
use crate::sessions::order::SessionKind;
use crate::sessions::reproducible::session_seed::SessionSeed;
use wardian_formats::job::Program;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::provenance::{DocumentRequest, DocumentRound, DocumentTools};
use wardian_sessions::{StoredSession, TurnRequest};

/// Why a cell ends that asks something else than its record says.
const DIFFERS: &str = "it has asked something else than its record says";

/// What differs where a program waits and nothing more is recorded.
const NO_MORE: &str = "the program waits for answers, and no more of them are recorded";

/// What differs where a program has ended and more is recorded.
const UNUSED: &str = "the program has ended, and more answers are recorded";

impl AskedCell {
    /// The tools that the cell may go on to call: those that a call declares, or those that it could before. A
    /// reproducible cell is not told of the same ones once more.
    pub(crate) fn tools_with(&self, declared: Option<CalledTools>) -> CalledTools {
        let known = || CalledTools { declared: None, known: self.tools.clone() };
        let mut tools = declared.unwrap_or_else(known);
        let told = self.journal.as_ref().zip(tools.declared.as_ref());
        if told.is_some_and(|(journal, declared)| journal.is_declared(declared)) {
            tools.declared = None;
        }
        tools
    }

    /// The recorded answers for the guest.
    ///
    /// # Errors
    ///
    /// [`ServiceError::OtherRequests`]: the cell has asked something else.
    pub(crate) fn repeated(&self, round: &DocumentRound) -> Result<JsonText, ServiceError> {
        let asked = self.journal.as_ref().map_or(&[][..], |journal| journal.asked());
        if let Some(difference) = round.difference(asked) {
            return Err(ServiceError::OtherRequests(difference));
        }
        if round.answers.is_empty() {
            return Err(ServiceError::OtherRequests(NO_MORE.to_owned()));
        }
        let told = RawValue::from_string(round.told()?).map_err(ServiceError::Unserialisable)?;
        Ok(JsonText::new(told))
    }
}

impl Service {
    /// Repeats a run of the local user that could wait for answers. Returns its end, and the first request that
    /// differs from the record, in a sentence: a program that asks something else is given up.
    ///
    /// # Errors
    ///
    /// Those of a run, or there is no store of sessions.
    pub(crate) async fn repeat_program(
        &self,
        caller: &Caller,
        (planned, blobs): (Planned, Vec<InputBlob>),
        tools: &DocumentTools,
    ) -> Result<(Answered, Option<String>), ServiceError> {
        let store = self.sessions().store()?;
        let source = match &planned.program {
            Program::Code { source, .. } => source.clone(),
            Program::Skill { .. } => String::new(),
        };
        let recorded = RecordedParts {
            limits: planned.limits,
            blobs: planned.recorded_blobs().unwrap_or_default().to_vec(),
        };
        let declared = tools.declared.as_ref().map(CalledTools::recorded).transpose()?;
        let parts = CellParts {
            tools: declared.unwrap_or_default(),
            recorded: Some(recorded),
            ..CellParts::of_code(source.clone(), planned.keep_files.clone())
        };
        let seed = planned.reproducible.map(SessionSeed::of_run);
        let made = (&planned, blobs, seed, SessionKind::OfRun);
        let (session, unknown) = self.add_session(caller, made, None, [None, None]).await?;
        unknown.keep();
        let order = TurnRequest { source, ..TurnRequest::default() };
        let turn = store.take_turn(&caller.tenant, &session.id, order).await?;
        let (next, turn) = (parts.next_part(), CellTurn::Own(Box::new(turn)));
        let begun = Box::pin(self.run_planned_cell(caller, (&session, planned), parts, turn));
        let begun = begun.await?;
        Box::pin(self.repeat_rounds(caller, (&session, &next), begun, tools)).await
    }

    /// Lets a cell go on with recorded answers, as [`Self::repeat_program`] does.
    pub(super) async fn repeat_rounds(
        &self,
        caller: &Caller,
        (session, next): (&StoredSession, &CellParts),
        mut answered: Answered,
        tools: &DocumentTools,
    ) -> Result<(Answered, Option<String>), ServiceError> {
        let mut rounds = tools.rounds.iter();
        while answered.result.status == RunStatus::Waiting {
            let round = rounds.next();
            let declared = round.and_then(|round| round.declared.as_ref());
            let declared = declared.map(CalledTools::recorded).transpose()?;
            let mut given = GivenAnswers::recorded(round.cloned().unwrap_or_default());
            let part = (&mut given, declared);
            let part = self.answer_part(caller, session, next.next_part(), part);
            match Box::pin(part).await {
                Ok(part) => answered = part,
                Err(ServiceError::OtherRequests(difference)) => {
                    self.give_up_cell(caller, session, DIFFERS).await?;
                    return Ok((answered, Some(difference)));
                }
                Err(error) => return Err(error),
            }
        }
        let unused = rounds.next().map(|round| {
            round.asked.first().map_or_else(|| UNUSED.to_owned(), DocumentRequest::missing)
        });
        Ok((answered, unused))
    }
}
