//! A call becomes an order, which waits in the database for any server with room.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::error::FleetError;
use crate::fleet::member::Fleet;
use crate::fleet::order::{OrderedCall, OrderedCaller, OrderedSkill, RunOrder};
use crate::run::background::detach::{ensure_background, needs_records};
use crate::run::background::detach_policy::{Awaits, DetachOrder};
use crate::run::prepare::call_form::CallForm;
use crate::run::prepare::plan::Planned;
use crate::run::record::run_record::DraftRecord;
use crate::service::Service;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::{DetachedRun, RunProgress};
use wardian_stores::records::{ClaimedRun, KnownKey, QueuedOrder, RequestKey, Submitted};
use wardian_vocabulary::ids::RunId;
use wardian_vocabulary::units::ByteCount;

/// Copies of a call while it is submitted: as text, sealed, and in letters.
const COPIES: usize = 4;

impl Service {
    /// Submits a call in the background. It is executed by any server of the fleet.
    ///
    /// Cancellation: the call may be submitted.
    ///
    /// # Errors
    ///
    /// The call is wrong, its tenant has as many runs as it may have, or the database failed.
    pub(crate) async fn submit_call(
        &self,
        caller: &Caller,
        call: OrderedCall,
        form: CallForm,
    ) -> Result<MethodResult, ServiceError> {
        let fleet = self.fleet().ok_or(ServiceError::Stopping)?;
        let text = call.text()?;
        let size = ByteCount::from(text.get().len().saturating_mul(COPIES));
        caller.memory.reserve(size)?;
        let plan = Box::pin(self.plan_ordered(caller, call)).await?;
        let known = form.key.clone();
        let (tenant, run) = (caller.tenant.clone(), RunId::generate());
        let order = self.order_of(caller, &run, (text, plan), form.key).await?;
        let most = usize::try_from(order.most).unwrap_or(usize::MAX);
        let (sealed, record) = (order.sealed.clone(), order.claims.then(|| order.record.clone()));
        match (fleet.submit(order).await?, known) {
            (Submitted::Waiting, _) => fleet.wake(),
            (Submitted::Claimed { epoch }, _) => {
                let record =
                    serde_json::to_string(&record).map_err(ServiceError::Unserialisable)?;
                let claimed = ClaimedRun { tenant, run: run.clone(), sealed, record };
                self.take_submitted(fleet, claimed, epoch);
            }
            (Submitted::TooMany, _) => return Err(ServiceError::TooManyDetached { most }),
            (Submitted::Known(KnownKey::Run(_)), Some(key)) => {
                let begun = self.run_before(caller, &key).await?;
                return Ok(MethodResult::Detached(begun));
            }
            (Submitted::Known(_), _) => return Err(ServiceError::KeyOfOtherCall),
        }
        let begun = DetachedRun { status: RunProgress::Queued, run_id: run };
        Ok(MethodResult::Detached(begun))
    }

    /// The order of a call with this plan.
    async fn order_of(
        &self,
        caller: &Caller,
        run: &RunId,
        (call, mut plan): (Box<RawValue>, Planned),
        key: Option<RequestKey>,
    ) -> Result<QueuedOrder, ServiceError> {
        ensure_background(caller, &plan)?;
        let fleet = self.fleet().ok_or(ServiceError::Stopping)?;
        let recorder = self.runs.recorder().ok_or_else(|| needs_records("detach"))?;
        plan.detach = Some(DetachOrder { key: None, awaits: Awaits::Admission, placed: None });
        let engine = self.supplies.packages.engine;
        let draft = DraftRecord::begin(recorder, caller, run, engine, &mut plan).await?;
        let order = RunOrder {
            call,
            caller: OrderedCaller::of(caller),
            skills: OrderedSkill::all_of(&plan),
            engine: plan.reproducible.map(|_| engine),
        };
        let order = serde_json::to_vec(&order).map_err(ServiceError::Unserialisable)?;
        let sealed = fleet.key.seal(&caller.tenant, run, order);
        let most = self.policy.detach.tenants.of(&caller.tenant).detached;
        Ok(QueuedOrder {
            record: draft.if_interrupted(),
            key,
            sealed: sealed.ok_or(FleetError::Unreadable)?,
            most: u64::try_from(most).unwrap_or(u64::MAX),
            longest_wait: self.policy.detach.longest_wait,
            claims: self.has_room_for_claims(fleet),
        })
    }

    /// Executes a run that was claimed as it was submitted.
    fn take_submitted(&self, fleet: &Arc<Fleet>, claimed: ClaimedRun, epoch: u64) {
        let name = (claimed.tenant.clone(), claimed.run.clone());
        let is_held = fleet.decide(|node| node.submitted_claimed(epoch, name));
        if let (true, Some(service)) = (is_held, self.itself.upgrade()) {
            tokio::spawn(service.execute_claimed(Arc::clone(fleet), claimed, epoch));
        }
    }
}
