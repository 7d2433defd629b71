//! An order becomes a run of this server: its caller is confirmed again, everything is looked up again, and what
//! was found must be what the server has found that took the call.

use std::sync::Arc;

use tracing::{Instrument as _, Span, error, warn};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::error::FleetError;
use crate::fleet::member::{Fleet, RunName};
use crate::fleet::order::{OrderedCall, OrderedRun, OrderedSkill, RunOrder};
use crate::fleet::placed_run::PlacedRun;
use crate::run::background::detach_policy::{Awaits, DetachOrder};
use crate::run::background::placed_end::PlacedEnd;
use crate::run::prepare::plan::Planned;
use crate::runs::active::{DetachedContent, DetachedSeat};
use crate::service::Service;
use wardian_formats::protocol::error_codes::WireError;
use wardian_stores::records::{ClaimedRun, RecordedError, RunOutcomeKind, RunRecord};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::units::ByteCount;

/// Copies of an order while it is executed: as text, parsed, and as the order of a worker.
const COPIES: usize = 3;

/// Memory of a run, besides its order.
const RUN: ByteCount = ByteCount::kibibytes(64);

/// A run of this server that is about to be carried out.
struct Prepared {
    caller: Caller,
    plan: Planned,
    seat: DetachedSeat,
}

impl Service {
    /// Executes a run that this server has claimed in this epoch, or gives it back.
    pub(super) async fn execute_claimed(
        self: Arc<Self>,
        fleet: Arc<Fleet>,
        claimed: ClaimedRun,
        epoch: u64,
    ) {
        let name: RunName = (claimed.tenant.clone(), claimed.run.clone());
        let placed = Arc::new(PlacedRun::new(Arc::clone(&fleet), name, epoch));
        let prepared = match Box::pin(self.prepare_claimed(&fleet, &claimed, &placed)).await {
            Ok(prepared) => prepared,
            Err(error) => {
                match PlacedEnd::of_error(false, &error) {
                    PlacedEnd::Record => end_unexecuted(&fleet, &placed, &claimed, &error).await,
                    PlacedEnd::GiveBack { is_impossible_here } => {
                        placed.give_back(is_impossible_here);
                    }
                    PlacedEnd::Forget => {}
                }
                return;
            }
        };
        let Prepared { caller, plan, seat } = prepared;
        drop(claimed);
        let entered = self.enter(&caller, &plan);
        let run = entered.run.shared();
        let carried = self.carry_out(&caller, plan, entered).instrument(Span::none());
        if let Err(fault) = Box::pin(carried).await
            && fault.kind() == ErrorKind::Internal
            && placed.has_begun().await
        {
            let (id, causes) = (&run.id, CauseChain(&fault));
            error!(run.id = %id, "run `{id}` in the background failed: {causes}");
        }
        drop(seat);
    }

    async fn prepare_claimed(
        &self,
        fleet: &Fleet,
        claimed: &ClaimedRun,
        placed: &Arc<PlacedRun>,
    ) -> Result<Prepared, ServiceError> {
        let content = DetachedContent::default();
        let seat = self.runs.active().take_seat(&claimed.tenant, usize::MAX, content)?;
        let memory = CallMemory::new(&fleet.budget).in_background(seat.memory());
        let size = ByteCount::from(claimed.sealed.len().saturating_mul(COPIES));
        memory.reserve(ByteCount::bytes(size.as_u64().saturating_add(RUN.as_u64())))?;
        let (order, caller) = opened(fleet, claimed, memory).ok_or(FleetError::Unreadable)?;
        let OrderedRun { call, skills, engine } = order;
        fleet.authentication.confirm(caller.credential.as_ref())?;
        if engine.is_some_and(|engine| engine != self.supplies.packages.engine) {
            return Err(FleetError::OtherHere { what: "engine" }.into());
        }
        let plan = Box::pin(self.plan_ordered(&caller, call.pinned_to(&skills))).await?;
        if OrderedSkill::all_of(&plan) != skills {
            return Err(FleetError::OtherHere { what: "skills" }.into());
        }
        plan.ensure_allowed(&caller)?;
        let placed = Some(Arc::clone(placed));
        let detach = DetachOrder { key: None, awaits: Awaits::Admission, placed };
        let plan = Planned { id: Some(claimed.run.clone()), detach: Some(detach), ..plan };
        Ok(Prepared { caller, plan, seat })
    }

    /// The plan of an ordered call.
    pub(super) async fn plan_ordered(
        &self,
        caller: &Caller,
        call: OrderedCall,
    ) -> Result<Planned, ServiceError> {
        match call {
            OrderedCall::ExecuteSkill(params, script) => {
                let call = (*params, script.map(|script| *script));
                self.plan_skill_call(caller, call, None).await
            }
            OrderedCall::RunCode(params) => self.plan_code_call(caller, *params, None).await,
        }
    }
}

/// The order of a run, and its caller.
fn opened(fleet: &Fleet, claimed: &ClaimedRun, memory: CallMemory) -> Option<(OrderedRun, Caller)> {
    let ClaimedRun { tenant, run, sealed, .. } = claimed;
    let opened = fleet.key.open(tenant, run, sealed);
    let order = opened.and_then(|text| serde_json::from_slice::<RunOrder>(&text).ok());
    let order = order.and_then(|order| {
        let (caller, order) = order.split();
        Some((order, caller.into_caller(tenant.clone(), memory)?))
    });
    if order.is_none() {
        warn!(
            run.id = %run,
            "run `{run}` cannot be executed here: its order was sealed with another key, or by another version"
        );
    }
    order
}

/// The record of a run whose longest wait is over.
pub(super) fn refused_by_all(record: RunRecord) -> RunRecord {
    let error = RecordedError {
        error_type: WireError::of(ErrorKind::Overloaded).label.to_owned(),
        message: "no server of the fleet could execute the run in its longest wait".to_owned(),
        traceback: None,
    };
    RunRecord { outcome: RunOutcomeKind::Refused, error: Some(error), ..record }
}

/// Writes the record of a run that no server can execute.
async fn end_unexecuted(
    fleet: &Fleet,
    placed: &PlacedRun,
    claimed: &ClaimedRun,
    error: &ServiceError,
) {
    let Ok(record) = serde_json::from_str::<RunRecord>(&claimed.record) else { return };
    let error = RecordedError {
        error_type: WireError::of(error.kind()).label.to_owned(),
        message: error.to_string(),
        traceback: None,
    };
    let record = RunRecord { outcome: RunOutcomeKind::Refused, error: Some(error), ..record };
    if let Err(fault) = fleet.table.end_queued(&record, Some(placed.holder())).await {
        let (id, causes) = (&claimed.run, CauseChain(&fault));
        warn!(run.id = %id, "the end of run `{id}` cannot be written, which is tried again: {causes}");
        placed.give_back(true);
    }
}
