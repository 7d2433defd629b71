//! Runs in the background: the call returns once the run was admitted, and the run continues.
//!
//! The run is noted in the database of records before it is admitted. So whatever happens to the
//! server, a run whose id a client got has a record in the end. A client that lost the answer repeats
//! its call with the same `idempotency_key` and gets the same run.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::{Instrument as _, error, warn};

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::parts::Service;
use crate::run::background::detach_policy::DetachOrder;
use crate::run::execute::pipeline::{Bytecode, EnteredRun};
use crate::run::prepare::call_form::{CallForm, LARGEST};
use crate::run::prepare::plan::RunPlan;
use crate::run::result::log_line::RunPurpose;
use crate::run::result::run_result::Performed;
use crate::runs::active::{ActiveRun, DetachedContent, DetachedSeat};
use wardian_formats::job::Program;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::{DetachedRun, RunProgress};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::records::{KnownKey, RecordTable, RequestKey, RunRecord};
use wardian_stores::tenants::Right;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::ids::RunId;
use wardian_vocabulary::units::ByteCount;

/// Copies of a program and its arguments while its run waits: as they are, and as an order.
const COPIES: u64 = 3;

/// The pause before a run that was stopped before it was admitted is looked for again.
const FORGOTTEN_SOON: Duration = Duration::from_millis(50);

/// Memory of a run that waits, besides its program.
const WAITING: u64 = 64 << 10;

/// The task of a run that continues without its call.
type RunTask = JoinHandle<Result<Performed, ServiceError>>;

impl Service {
    /// Performs a run of a call: in the background if the call says so or has a key.
    pub(crate) async fn perform_call(
        &self,
        caller: &Caller,
        plan: RunPlan,
        form: CallForm,
    ) -> Result<MethodResult, ServiceError> {
        if plan.takes_kept && (form.is_detached || form.key.is_some()) {
            let without = "without `cache` in a call with `detach` or `idempotency_key`";
            return Err(ParamsError::wrong("reproducible", without, "both").into());
        }
        if form.is_detached {
            let begun = Box::pin(self.begin_detached(caller, plan, form));
            return begun.await.map(MethodResult::Detached);
        }
        if form.key.is_some() {
            return Box::pin(self.perform_once(caller, plan, form)).await;
        }
        let performed = self.perform(caller, plan, Bytecode::Compiled, RunPurpose::Call).await?;
        Ok(MethodResult::Run(performed.result))
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
        plan: RunPlan,
        form: CallForm,
    ) -> Result<DetachedRun, ServiceError> {
        let key = form.key;
        let (run, task) = self.begin(caller, plan, key.clone(), false)?;
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
        plan: RunPlan,
        form: CallForm,
    ) -> Result<MethodResult, ServiceError> {
        let key = form.key;
        let (_, task) = self.begin(caller, plan, key.clone(), true)?;
        match (task.await.map_err(ServiceError::Interrupted)?, key) {
            (Err(ServiceError::KnownRun), Some(key)) => {
                let before = self.run_before(caller, &key).await?;
                self.answer_of(caller, before.run_id).await
            }
            (performed, _) => Ok(MethodResult::Run(performed?.result)),
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
        let table = self.runs.table().map_err(|_none| needs_records("idempotency_key"))?;
        let Some(run) = Box::pin(self.run_of_key(caller, table, key)).await? else {
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
            None => MethodResult::Run(Performed::crashed(run_id).result),
        })
    }

    /// The run that the same call has begun at the same time.
    async fn run_before(
        &self,
        caller: &Caller,
        key: &RequestKey,
    ) -> Result<DetachedRun, ServiceError> {
        let run = self.run_of_key(caller, self.runs.table()?, key).await?;
        run.ok_or(ServiceError::FirstCallRefused)
    }

    /// Begins a run that continues without its call. It ends with [`ServiceError::KnownRun`], and
    /// executes nothing, if the same call has begun one at the same time.
    fn begin(
        &self,
        caller: &Caller,
        mut plan: RunPlan,
        key: Option<RequestKey>,
        is_awaited: bool,
    ) -> Result<(Arc<ActiveRun>, RunTask), ServiceError> {
        if !plan.blobs.is_empty() {
            ensure_has(caller, Right::Blobs)?;
        }
        let parameter = if is_awaited { "idempotency_key" } else { "detach" };
        self.runs.table().map_err(|_none| needs_records(parameter))?;
        let size = size_of(&plan);
        if size > LARGEST {
            return Err(ServiceError::DetachedTooLarge { largest: LARGEST });
        }
        let most = self.detach.tenants.of(&caller.tenant).detached;
        let content = DetachedContent { bytes: size.as_u64(), blobs: plan.blobs.len() };
        let seat = self.runs.active().take_seat(&caller.tenant, most, content)?;
        let memory = caller.memory.in_background(seat.memory());
        let held = size.as_u64().saturating_mul(COPIES).saturating_add(WAITING);
        memory.reserve(ByteCount::bytes(held))?;
        let caller_of_run = Caller { memory, ..caller.clone() };
        plan.detach = Some(DetachOrder { key, is_awaited });
        plan.listener = None;
        let entered = self.enter(caller, &plan, true);
        let run = entered.active.shared();
        let task = self.spawn_detached(caller_of_run, plan, entered, seat)?;
        Ok((run, task))
    }

    /// Performs a run in a separate task.
    fn spawn_detached(
        &self,
        caller: Caller,
        plan: RunPlan,
        entered: EnteredRun,
        seat: DetachedSeat,
    ) -> Result<RunTask, ServiceError> {
        let service = self.itself.upgrade().ok_or(ServiceError::Stopping)?;
        let work = async move {
            let run = entered.active.shared();
            let purpose = RunPurpose::Call;
            let performed = service.perform_as(&caller, plan, Bytecode::Compiled, purpose, entered);
            let performed = performed.await;
            if let Err(fault) = &performed
                && run.was_admitted()
                && fault.kind() == ErrorKind::Internal
            {
                // Nobody else reports it: the call was answered before.
                let (id, causes) = (&run.id, CauseChain(fault));
                error!(run.id = %id, "run `{id}` in the background failed: {causes}");
            }
            drop(seat);
            performed
        };
        Ok(tokio::spawn(work.in_current_span()))
    }

    /// The run that a key names, once it was admitted. There is none if it was refused.
    ///
    /// # Errors
    ///
    /// The key names the run of another call.
    async fn run_of_key(
        &self,
        caller: &Caller,
        table: &RecordTable,
        key: &RequestKey,
    ) -> Result<Option<DetachedRun>, ServiceError> {
        while let Some(known) = table.find_key(&caller.tenant, key).await? {
            let KnownKey::Run(run_id) = known else {
                return Err(ServiceError::KeyOfOtherCall);
            };
            if let Some(run) = self.runs.active().find(&caller.tenant, None, &run_id) {
                if let Some(status) = run.admission().await {
                    return Ok(Some(DetachedRun { status, run_id }));
                }
                // Its key is forgotten, or its record written, in a moment.
                sleep(FORGOTTEN_SOON).await;
            } else if table.find_key(&caller.tenant, key).await?.is_some() {
                // A run that is refused is forgotten before it leaves the runs that are found.
                return Ok(Some(DetachedRun { status: RunProgress::Ended, run_id }));
            }
        }
        Ok(None)
    }

    /// Notes a run in the background, right before it is admitted.
    pub(crate) async fn note_detached(
        &self,
        order: &DetachOrder,
        record: &RunRecord,
    ) -> Result<(), ServiceError> {
        let _turn = self.runs.turn_to_note().await;
        // Without this, runs whose records are lost would never count against the tenant's limits.
        let table = self.runs.table()?;
        let in_progress = self.runs.active().detached_of(&record.tenant);
        if table.count_noted(&record.tenant).await? >= in_progress {
            let goes_on =
                |run: &RunId| self.runs.active().find(&record.tenant, None, run).is_some();
            match table.end_lost(&record.tenant, goes_on).await {
                Ok(0) => {}
                Ok(lost) => {
                    let tenant = &record.tenant;
                    warn!(tenant.id = %tenant, "background runs whose outcomes were lost: {lost}");
                }
                Err(fault) => {
                    warn!("the outcomes of lost runs cannot be written: {}", CauseChain(&fault));
                }
            }
        }
        let known = self.runs.table()?.note_detached(record, order.key.as_ref()).await?;
        known.map_or(Ok(()), |_run| Err(ServiceError::KnownRun))
    }

    /// Forgets the key of a run that was admitted and never had a worker.
    pub(crate) async fn forget_key(&self, caller: &Caller, run: &RunId) {
        let Ok(table) = self.runs.table() else { return };
        let _turn = self.runs.turn_to_note().await;
        if let Err(fault) = table.forget_key(&caller.tenant, run).await {
            let causes = CauseChain(&fault);
            error!(run.id = %run, "run `{run}`, which was refused, keeps its key: {causes}");
        }
    }

    /// Forgets a run that was noted and not admitted.
    pub(crate) async fn forget_detached(&self, caller: &Caller, run: &RunId) {
        let Ok(table) = self.runs.table() else { return };
        let _turn = self.runs.turn_to_note().await;
        if let Err(fault) = table.forget_detached(&caller.tenant, run).await {
            let causes = CauseChain(&fault);
            error!(run.id = %run, "run `{run}`, which was refused, cannot be removed from the \
                list: {causes}");
        }
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
            Err(error) if !run.was_admitted() => Err(error),
            Ok(_) | Err(_) => Ok(DetachedRun { status: RunProgress::Ended, run_id }),
        },
    }
}

/// The size of the program and its arguments.
fn size_of(plan: &RunPlan) -> ByteCount {
    let code = match &plan.program {
        Program::Code { source, .. } => source.len(),
        Program::Skill { .. } => 0,
    };
    ByteCount::from(code.saturating_add(plan.args.get().len()))
}
