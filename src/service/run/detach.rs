//! Runs in the background: the call returns once the run was admitted, and the run goes on.
//!
//! The run is noted in the database of records before it is admitted. So whatever happens to the
//! server, a run whose id a client got has a record in the end. A client that lost the answer repeats
//! its call with the same `run_key` and gets the same run.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tracing::{Instrument as _, error, warn};

use crate::error::{CauseChain, ErrorKind};
use crate::ids::{Digest, RunId};
use crate::job::Program;
use crate::protocol::MethodResult;
use crate::protocol::methods::execution::{DetachedRun, RunProgress};
use crate::protocol::params_error::ParamsError;
use crate::records::{KnownKey, RunKey, RunRecord};
use crate::service::authorisation::ensure_has;
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;
use crate::service::run::detach_policy::DetachOrder;
use crate::service::run::execute::{Bytecode, EnteredRun};
use crate::service::run::log_line::RunPurpose;
use crate::service::run::plan::RunPlan;
use crate::service::run::result::Performed;
use crate::service::runs::active::{ActiveRun, DetachedSeat, RunStep};
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

impl Service {
    /// Performs a run of a call, in the background if the call says so.
    pub(crate) async fn perform_call(
        &self,
        caller: &Caller,
        plan: RunPlan,
        detach: bool,
        run_key: Option<String>,
    ) -> Result<MethodResult, ServiceError> {
        if detach {
            let begun = Box::pin(self.begin_detached(caller, plan, run_key));
            return begun.await.map(MethodResult::Detached);
        }
        let performed = self.perform(caller, plan, Bytecode::Compiled, RunPurpose::Call).await?;
        Ok(MethodResult::Run(performed.result))
    }

    /// Begins a run in the background, named `run_key` if it has a name.
    ///
    /// Cancellation: the run goes on.
    ///
    /// # Errors
    ///
    /// The run was not admitted.
    pub(crate) async fn begin_detached(
        &self,
        caller: &Caller,
        mut plan: RunPlan,
        run_key: Option<String>,
    ) -> Result<DetachedRun, ServiceError> {
        if !plan.blobs.is_empty() {
            ensure_has(caller, Right::Blobs)?;
        }
        let table = self.runs.table().map_err(|_none| {
            let expected = "left out: this server keeps no records of runs";
            ParamsError::wrong("detach", expected, "true")
        })?;
        let size = size_of(&plan);
        if size > LARGEST {
            return Err(ServiceError::DetachedTooLarge { largest: LARGEST });
        }
        let key = match run_key {
            None => None,
            Some(name) => Some(RunKey { name, call: digest_of(caller, &plan).await? }),
        };
        if let Some(key) = &key
            && let Some(known) = table.find_key(&caller.tenant, key).await?
        {
            return self.known_run(caller, known);
        }
        let most = self.detach.tenants.of(&caller.tenant).detached;
        let seat = self.runs.active().take_seat(&caller.tenant, most, size)?;
        let memory = caller.memory.separate();
        let held = size.as_u64().saturating_mul(COPIES).saturating_add(WAITING);
        memory.reserve(ByteCount::bytes(held))?;
        let caller_of_run = Caller { memory, ..caller.clone() };
        plan.detach = Some(DetachOrder { key });
        plan.listener = None;
        let entered = self.enter(caller, &plan, true);
        let run = entered.active.shared();
        let task = self.spawn_detached(caller_of_run, plan, entered, seat)?;
        let begun = admitted(&run, task).await;
        match begun {
            Err(ServiceError::KnownRun { known }) => self.known_run(caller, known),
            begun => begun,
        }
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

    /// The answer to a call whose run has begun before.
    fn known_run(&self, caller: &Caller, known: KnownKey) -> Result<DetachedRun, ServiceError> {
        let KnownKey::Run(run_id) = known else {
            return Err(ServiceError::KeyOfOtherCall);
        };
        let active = self.runs.active().find(&caller.tenant, None, &run_id);
        let status = match active {
            Some(run) if *run.steps().borrow() != RunStep::Ended => run.view().status,
            _ => RunProgress::Ended,
        };
        Ok(DetachedRun { status, run_id })
    }

    /// Notes a run in the background, right before it is admitted.
    pub(crate) async fn note_detached(
        &self,
        order: &DetachOrder,
        record: &RunRecord,
    ) -> Result<(), ServiceError> {
        let _turn = self.runs.turn_to_note().await;
        // Without this, runs whose records are lost would never count against the tenant's limits.
        let goes_on = |run: &RunId| self.runs.active().find(&record.tenant, None, run).is_some();
        let lost = self.runs.table()?.end_lost(&record.tenant, goes_on).await?;
        if lost > 0 {
            warn!(tenant.id = %record.tenant, "runs in the background whose ends were lost: {lost}");
        }
        let known = self.runs.table()?.note_detached(record, order.key.as_ref()).await?;
        known.map_or(Ok(()), |known| Err(ServiceError::KnownRun { known }))
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

/// Waits until a run was admitted, or refused.
async fn admitted(
    run: &Arc<ActiveRun>,
    mut task: JoinHandle<Result<Performed, ServiceError>>,
) -> Result<DetachedRun, ServiceError> {
    let mut steps = run.steps();
    let run_id = run.id.clone();
    let is_admitted = |step: &RunStep| matches!(step, RunStep::Queued | RunStep::Running);
    tokio::select! {
        biased;
        step = steps.wait_for(is_admitted) => {
            let is_running = step.is_ok_and(|step| *step == RunStep::Running);
            let status = if is_running { RunProgress::Running } else { RunProgress::Queued };
            Ok(DetachedRun { status, run_id })
        }
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

/// A digest of all that decides what a run computes, but for the versions of skills: they may change
/// between a call and its repetition.
async fn digest_of(caller: &Caller, plan: &RunPlan) -> Result<Digest, ServiceError> {
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
    add(&format!("{:?} {:?} {:?}", plan.limits, plan.keep_files, plan.reproducible));
    if text.len() <= SMALL_TEXT {
        return Ok(Digest::of(text.as_bytes()));
    }
    let hashed = caller.memory.on_thread(move || Digest::of(text.as_bytes()));
    hashed.await.map_err(ServiceError::Interrupted)
}
