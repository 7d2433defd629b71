//! Runs in the background: the call returns once the run was admitted, and the run goes on.
//!
//! The run is noted in the database of records before it is admitted. So whatever happens to the
//! server, a run whose id a client got has a record in the end. A client that lost the answer repeats
//! its call with the same `run_key` and gets the same run.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tracing::error;

use crate::error::{CauseChain, ErrorKind};
use crate::ids::{Digest, RunId};
use crate::job::Program;
use crate::protocol::MethodResult;
use crate::protocol::methods::execution::{DetachedRun, RequestedLimits, RunProgress};
use crate::protocol::params_error::ParamsError;
use crate::records::{KnownKey, RecordTable, RequestKey, RunRecord};
use crate::service::authorisation::ensure_has;
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;
use crate::service::run::detach_policy::{CallForm, DetachOrder};
use crate::service::run::execute::{Bytecode, EnteredRun};
use crate::service::run::log_line::RunPurpose;
use crate::service::run::plan::RunPlan;
use crate::service::run::result::Performed;
use crate::service::runs::active::{ActiveRun, DetachedContent, DetachedSeat};
use crate::tenants::Right;
use crate::units::ByteCount;

/// The largest program with its arguments. Larger content belongs in blobs, which take no memory
/// while the run waits.
const LARGEST: ByteCount = ByteCount::mebibytes(1);

/// Copies of a program and its arguments while its run waits: as they are, and as an order.
const COPIES: u64 = 3;

/// Memory of a run that waits, beside its program.
const WAITING: u64 = 64 << 10;

/// Texts up to this size, in bytes, are hashed on the event loop.
const SMALL_TEXT: usize = 64 << 10;

/// A run in the background that a call has begun, or that another one has begun before.
enum Begun {
    New { run: Arc<ActiveRun>, task: JoinHandle<Result<Performed, ServiceError>> },
    Known(DetachedRun),
}

impl Service {
    /// Performs a run of a call: in the background if the call says so or has a key.
    pub(crate) async fn perform_call(
        &self,
        caller: &Caller,
        plan: RunPlan,
        form: CallForm,
    ) -> Result<MethodResult, ServiceError> {
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
    /// Cancellation: the run goes on.
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
        let key = self.key_of(caller, &plan, &form).await?;
        match self.begin(caller, plan, key.clone(), false).await? {
            Begun::Known(run) => Ok(run),
            Begun::New { run, task } => match (admitted(&run, task).await, key) {
                (Err(ServiceError::KnownRun), Some(key)) => self.run_before(caller, &key).await,
                (begun, _) => begun,
            },
        }
    }

    /// Performs a run of a call with a key, once and only once: a call that is repeated has the first
    /// answer, and waits for it if the run goes on.
    ///
    /// Cancellation: the run goes on, so that the client can ask for its result again.
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
        let key = self.key_of(caller, &plan, &form).await?;
        let before = match self.begin(caller, plan, key.clone(), true).await? {
            Begun::Known(run) => run,
            Begun::New { task, .. } => {
                match (task.await.map_err(ServiceError::Interrupted)?, key) {
                    (Err(ServiceError::KnownRun), Some(key)) => {
                        self.run_before(caller, &key).await?
                    }
                    (performed, _) => return Ok(MethodResult::Run(performed?.result)),
                }
            }
        };
        let run_id = before.run_id;
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

    /// The key of a call, with a digest of the call.
    async fn key_of(
        &self,
        caller: &Caller,
        plan: &RunPlan,
        form: &CallForm,
    ) -> Result<Option<RequestKey>, ServiceError> {
        let Some(name) = form.key.clone() else { return Ok(None) };
        Ok(Some(RequestKey { name, call: digest_of(caller, plan, form.limits).await? }))
    }

    /// Begins a run that goes on without its call, unless the same call has begun one before.
    async fn begin(
        &self,
        caller: &Caller,
        mut plan: RunPlan,
        key: Option<RequestKey>,
        is_awaited: bool,
    ) -> Result<Begun, ServiceError> {
        if !plan.blobs.is_empty() {
            ensure_has(caller, Right::Blobs)?;
        }
        let parameter = if is_awaited { "idempotency_key" } else { "detach" };
        let table = self.runs.table().map_err(|_none| needs_records(parameter))?;
        let size = size_of(&plan);
        if size > LARGEST {
            return Err(ServiceError::DetachedTooLarge { largest: LARGEST });
        }
        if let Some(key) = &key
            && let Some(run) = self.run_of_key(caller, table, key).await?
        {
            return Ok(Begun::Known(run));
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
        Ok(Begun::New { run, task })
    }

    /// Performs a run in a task of its own.
    fn spawn_detached(
        &self,
        caller: Caller,
        plan: RunPlan,
        entered: EnteredRun,
        seat: DetachedSeat,
    ) -> Result<JoinHandle<Result<Performed, ServiceError>>, ServiceError> {
        let service = self.itself.upgrade().ok_or(ServiceError::Stopping)?;
        Ok(tokio::spawn(async move {
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
        }))
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
            error!(run.id = %run, "run `{run}`, which was refused, stays noted: {causes}");
        }
    }
}

/// The refusal of a parameter for which there must be records.
pub(crate) fn needs_records(parameter: &'static str) -> ParamsError {
    ParamsError::wrong(parameter, "left out: this server keeps no records of runs", "a value")
}

/// Waits until a run was admitted, or refused.
async fn admitted(
    run: &Arc<ActiveRun>,
    mut task: JoinHandle<Result<Performed, ServiceError>>,
) -> Result<DetachedRun, ServiceError> {
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

/// A digest of all that a call says of what is computed. What the server adds is left out: versions
/// of skills and the operator's limits may change between a call and its repetition.
async fn digest_of(
    caller: &Caller,
    plan: &RunPlan,
    limits: RequestedLimits,
) -> Result<Digest, ServiceError> {
    let mut text = match &plan.program {
        Program::Code { source, .. } => format!("code {} {source}", source.len()),
        Program::Skill { name } => format!("skill {name}"),
    };
    let mut add = |part: &str| {
        text.push_str(&format!("\n{} {part}", part.len()));
    };
    add(plan.entrypoint.as_deref().unwrap_or_default());
    add(plan.args.get());
    plan.skills.iter().for_each(|skill| add(skill.mount.name.as_str()));
    plan.blobs.iter().for_each(|blob| add(blob.as_str()));
    add(&format!("{limits:?} {:?} {:?}", plan.keep_files, plan.reproducible));
    if text.len() <= SMALL_TEXT {
        return Ok(Digest::of(text.as_bytes()));
    }
    let hashed = caller.memory.on_thread(move || Digest::of(text.as_bytes()));
    hashed.await.map_err(ServiceError::Interrupted)
}
