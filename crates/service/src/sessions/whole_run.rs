//! Runs that may call tools of their caller, without a session of the caller's own.
//!
//! Such a run is the only cell of a session that is made for it. The session ends with the run, and expires
//! if nobody answers for as long as a worker would hold a cell.

use std::time::Duration;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::service::Service;
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::cell::CellTurn;
use crate::sessions::cell_parts::CellParts;
use crate::sessions::order::{SessionKind, UnknownSession};
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::{ReproducibleParam, RunCodeParams, RunStatus};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::TurnRequest;

/// The label of a session whose run has none.
const LABEL: &str = "a run with tools";

impl Service {
    /// Runs code that may call the tools of this call. If it waits for some of them, the result has the
    /// session in which the answers let it go on; else it is that of any run.
    ///
    /// Cancellation: the run is stopped, and its session closed.
    ///
    /// # Errors
    ///
    /// Those of a run, a parameter that such a run cannot have, or there is no room for a session.
    pub(crate) async fn run_with_tools(
        &self,
        caller: &Caller,
        mut params: RunCodeParams,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        refuse_what_waiting_runs_have_not(&params)?;
        let tools = CalledTools::of(params.tools.as_deref().unwrap_or_default())?;
        let store = self.sessions().store()?;
        let label = params.label.clone().unwrap_or_else(|| LABEL.to_owned());
        let keep_files = self.policy.limits.keep_files;
        let parts = CellParts { tools, ..CellParts::of(&mut params, keep_files, listener)? };
        let limits = self.policy.limits.for_caller(caller.limits).resolve(&parts.limits)?;
        let (skills, blobs) = (&params.mount_skills, &params.input_blobs);
        let mounts = (skills.as_slice(), blobs.as_slice());
        let planned = self.plan_guest(caller, parts.code.clone(), mounts, (limits, None));
        let mut planned = planned.await?;
        let made = (&planned, params.input_blobs, None, SessionKind::OfRun);
        let idle = Some(store.longest_wait());
        let session = self.add_session(caller, made, Some(label), [idle, None]).await?;
        // However this ends, a session that its caller does not know is closed.
        let unknown = UnknownSession::of(self.sessions(), store, &caller.tenant, &session.id);
        planned.entrypoint = params.entrypoint;
        if let Some(args) = params.args {
            planned.args = args;
        }
        let begun = async {
            let (source, wait) = (parts.code.clone(), Duration::ZERO);
            let turn = TurnRequest { source, if_checkpoint: None, wait };
            let turn = store.take_turn(&caller.tenant, &session.id, turn).await?;
            let turn = CellTurn::Own(Box::new(turn));
            let next = parts.next_part();
            let answered = self.run_planned_cell(caller, (&session, planned), parts, turn).await?;
            self.go_on_alone(caller, &session, &next, answered.result).await
        };
        let mut result = Box::pin(begun).await?;
        if result.status == RunStatus::Waiting {
            unknown.keep();
        } else {
            result.session = None;
        }
        Ok(MethodResult::Run(Box::new(result)))
    }
}

/// Refuses parameters that a run that waits for its caller cannot have.
fn refuse_what_waiting_runs_have_not(params: &RunCodeParams) -> Result<(), ParamsError> {
    let is_reproducible =
        params.reproducible.is_some_and(|asked| asked != ReproducibleParam::Flag(false));
    let set = [
        ("reproducible", is_reproducible),
        ("detach", params.detach),
        ("idempotency_key", params.idempotency_key.is_some()),
    ];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => {
            Err(ParamsError::wrong(name, "left out in a call with `tools`", "a value"))
        }
        None => Ok(()),
    }
}
