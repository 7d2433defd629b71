//! Runs in the background: the call returns once the run was admitted, and the run continues.
//!
//! The run is noted in the database of records before it is admitted. So whatever happens to the
//! server, a run whose id a client got has a record in the end. A client that lost the answer repeats
//! its call with the same `idempotency_key` and gets the same run.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tracing::{Instrument as _, error};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::background::detach_policy::{Awaits, DetachOrder};
use crate::run::execute::pipeline::Entered;
use crate::run::prepare::call_form::{CallForm, LARGEST};
use crate::run::prepare::plan::Planned;
use crate::run::result::answered::Answered;
use crate::runs::active::{ActiveRun, DetachedContent, DetachedSeat, Reached};
use crate::service::Service;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::{DetachedRun, RunProgress};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::records::RequestKey;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::ids::RunId;
use wardian_vocabulary::units::ByteCount;

/// Copies of a program and its arguments while its run waits: as they are, and as an order.
const COPIES: u64 = 3;

/// Memory of a run that waits, besides its program.
const WAITING: u64 = 64 << 10;

/// The task of a run that continues without its call.
type RunTask = JoinHandle<Result<Answered, ServiceError>>;

impl Service {
    /// Performs a run of a call: in the background if the call says so or has a key.
    pub(crate) async fn perform_call(
        &self,
        caller: &Caller,
        plan: Planned,
        form: CallForm,
    ) -> Result<MethodResult, ServiceError> {
        if form.is_detached {
            let begun = Box::pin(self.begin_detached(caller, plan, form));
            return begun.await.map(MethodResult::Detached);
        }
        if form.key.is_some() {
            return Box::pin(self.perform_once(caller, plan, form)).await;
        }
        Ok(MethodResult::Run(Box::new(self.perform(caller, plan).await?.result)))
    }

    /// Begins a run in the background.
    ///
    /// Cancellation: the run continues.
    ///
    /// # Errors
    ///
    /// The run was not admitted.
    async fn begin_detached(
        &self,
        caller: &Caller,
        plan: Planned,
        form: CallForm,
    ) -> Result<DetachedRun, ServiceError> {
        let key = form.key;
        let (run, task) = self.begin(caller, plan, key.clone(), Awaits::Admission)?;
        match (admitted(&run, task).await, key) {
            (Err(ServiceError::KnownRun), Some(key)) => self.run_before(caller, &key).await,
            (begun, _) => begun,
        }
    }

    /// Performs a run of a call with a key, once and only once: a call that is repeated has the
    /// first answer, and waits for it if the run is in progress.
    ///
    /// Cancellation: the run continues, so that the client can ask for its result again.
    ///
    /// # Errors
    ///
    /// The run was refused, and nothing was executed; or its result is not kept.
    async fn perform_once(
        &self,
        caller: &Caller,
        plan: Planned,
        form: CallForm,
    ) -> Result<MethodResult, ServiceError> {
        let key = form.key;
        let (_, task) = self.begin(caller, plan, key.clone(), Awaits::End)?;
        match (task.await.map_err(ServiceError::Interrupted)?, key) {
            (Err(ServiceError::KnownRun), Some(key)) => {
                let before = self.run_before(caller, &key).await?;
                self.answer_of(caller, before.run_id).await
            }
            (answered, _) => Ok(MethodResult::Run(Box::new(answered?.result))),
        }
    }

    /// The answer of the run that the same call has begun before, if one has: nothing of the call is
    /// looked up again, so it does not matter what has changed since.
    ///
    /// # Errors
    ///
    /// The key names another call, this server keeps no records, or the result is not kept.
    pub(crate) async fn answer_before(
        &self,
        caller: &Caller,
        form: &CallForm,
    ) -> Result<Option<MethodResult>, ServiceError> {
        let Some(key) = &form.key else { return Ok(None) };
        self.runs.table().map_err(|_none| needs_records("idempotency_key"))?;
        let Some(run) = Box::pin(self.runs.run_of_key(&caller.tenant, key)).await? else {
            return Ok(None);
        };
        if form.is_detached {
            return Ok(Some(MethodResult::Detached(run)));
        }
        Box::pin(self.answer_of(caller, run.run_id)).await.map(Some)
    }

    /// The answer to a repeated call, after the end of its run.
    async fn answer_of(
        &self,
        caller: &Caller,
        run_id: RunId,
    ) -> Result<MethodResult, ServiceError> {
        Ok(match self.runs.result_after_end(caller, &run_id).await? {
            Some(result) => MethodResult::Repeated(result),
            None => MethodResult::Run(Box::new(Answered::crashed(run_id).result)),
        })
    }

    /// The run that the same call has begun at the same time.
    pub(crate) async fn run_before(
        &self,
        caller: &Caller,
        key: &RequestKey,
    ) -> Result<DetachedRun, ServiceError> {
        let run = self.runs.run_of_key(&caller.tenant, key).await?;
        run.ok_or(ServiceError::FirstCallRefused)
    }

    /// Begins a run that continues without its call. It ends with [`ServiceError::KnownRun`], and
    /// executes nothing, if the same call has begun one at the same time.
    fn begin(
        &self,
        caller: &Caller,
        mut plan: Planned,
        key: Option<RequestKey>,
        awaits: Awaits,
    ) -> Result<(Arc<ActiveRun>, RunTask), ServiceError> {
        ensure_background(caller, &plan)?;
        let parameter = match awaits {
            Awaits::Admission => "detach",
            Awaits::End => "idempotency_key",
        };
        self.runs.table().map_err(|_none| needs_records(parameter))?;
        let size = size_of(&plan);
        let most = self.policy.detach.tenants.of(&caller.tenant).detached;
        let content = DetachedContent { bytes: size.as_u64(), blobs: plan.blobs.len() };
        let seat = self.runs.active().take_seat(&caller.tenant, most, content)?;
        let memory = caller.memory.in_background(seat.memory());
        let held = size.as_u64().saturating_mul(COPIES).saturating_add(WAITING);
        memory.reserve(ByteCount::bytes(held))?;
        let caller_of_run = Caller { memory, ..caller.clone() };
        plan.detach = Some(DetachOrder { key, awaits, placed: None });
        plan.listener = None;
        let entered = self.enter(caller, &plan);
        let run = entered.run.shared();
        let task = self.spawn_detached(caller_of_run, plan, entered, seat)?;
        Ok((run, task))
    }

    /// Performs a run in a separate task.
    fn spawn_detached(
        &self,
        caller: Caller,
        plan: Planned,
        entered: Entered,
        seat: DetachedSeat,
    ) -> Result<RunTask, ServiceError> {
        let service = self.itself.upgrade().ok_or(ServiceError::Stopping)?;
        let work = async move {
            let run = entered.run.shared();
            let answered = service.carry_out(&caller, plan, entered).await;
            if let Err(fault) = &answered
                && run.reached() >= Reached::Queue
                && fault.kind() == ErrorKind::Internal
            {
                // Nobody else reports it: the call was answered before.
                let (id, causes) = (&run.id, CauseChain(fault));
                error!(run.id = %id, "run `{id}` in the background failed: {causes}");
            }
            drop(seat);
            answered
        };
        Ok(tokio::spawn(work.in_current_span()))
    }
}

/// Refuses a plan that cannot be executed without its call.
///
/// # Errors
///
/// The caller may not use its blobs, it takes the result of another run, or its program is too large.
pub(crate) fn ensure_background(caller: &Caller, plan: &Planned) -> Result<(), ServiceError> {
    plan.ensure_allowed(caller)?;
    if plan.takes_kept {
        let without = "without `cache` in a call with `detach` or `idempotency_key`";
        return Err(ParamsError::wrong("reproducible", without, "both").into());
    }
    match size_of(plan) > LARGEST {
        true => Err(ServiceError::DetachedTooLarge { largest: LARGEST }),
        false => Ok(()),
    }
}

/// The refusal of a parameter for which there must be records.
pub(crate) fn needs_records(parameter: &'static str) -> ParamsError {
    ParamsError::wrong(
        parameter,
        "omitted, because this server keeps no records of runs",
        "a value",
    )
}

/// Waits until a run was admitted, or refused.
async fn admitted(run: &Arc<ActiveRun>, mut task: RunTask) -> Result<DetachedRun, ServiceError> {
    let run_id = run.id.clone();
    tokio::select! {
        biased;
        Some(status) = run.admission() => Ok(DetachedRun { status, run_id }),
        ended = &mut task => match ended.map_err(ServiceError::Interrupted)? {
            Err(error) if run.reached() == Reached::Preparation => Err(error),
            Ok(_) | Err(_) => Ok(DetachedRun { status: RunProgress::Ended, run_id }),
        },
    }
}

/// The size of the program and its arguments.
fn size_of(plan: &Planned) -> ByteCount {
    ByteCount::from(plan.program.text_size().saturating_add(plan.args.get().len()))
}
