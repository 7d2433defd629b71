//! The guest of a session for a turn without a program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::packages::locked::UsedLayer;
use crate::run::prepare::input_blobs::{HeldBlobs, InputBlobs, open_inputs};
use crate::run::prepare::mounted_skill::mounts_and_contents;
use crate::service::Service;
use crate::sessions::files::error::FilesError;
use crate::sessions::files::host::FilesHost;
use crate::sessions::setup::{contents_of, unusable};
use wardian_dispatch::{DispatchError, FinishedRun, GuestSpec, HeldGuest, SealedContent};
use wardian_formats::job::limits::TurnLimits;
use wardian_formats::job::message::PAYLOAD_MAX;
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, MAX_ANSWER};
use wardian_formats::job::{Setup, Turn};
use wardian_sessions::{SessionLook, StoredSession};
use wardian_vocabulary::units::ByteCount;

/// The time that a worker has for an order, once it has the guest.
const TIME: Duration = Duration::from_secs(60);

/// Times that an answer is in memory: as text, as values, and in the answer of the call.
const COPIES: u64 = 4;

/// An order that a worker has carried out or refused.
#[derive(Debug)]
pub(crate) struct CarriedOut {
    pub(crate) answer: FilesAnswer,
    pub(crate) finished: FinishedRun,
    /// The guest, if it is kept.
    pub(crate) guest: Option<HeldGuest>,
    /// Has the content, and the room of what the worker has sent.
    pub(crate) host: FilesHost,
}

/// What stays open as long as a worker may be given the guest.
type Held = (HeldBlobs, Vec<Arc<UsedLayer>>);

impl Service {
    /// Gives an order to a worker that keeps the guest of the session, or to one that makes it.
    pub(crate) async fn order_files(
        &self,
        caller: &Caller,
        session: &StoredSession,
        place: &SessionLook,
        (order, content): (FilesOrder, Option<&SealedContent>),
    ) -> Result<CarriedOut, ServiceError> {
        let mut host = FilesHost::of(&caller.memory);
        let turn = Turn::of_files(order, limits());
        let kept = place.head().and_then(|head| self.sessions().guests().take(&session.id, head));
        if let Some(mut guest) = kept {
            match guest.turn_with(&turn, content, &mut host).await {
                // What its worker has sent is no answer.
                Err(DispatchError::GuestLost) => host = FilesHost::of(&caller.memory),
                begun => return finished(caller, &turn, begun?, guest, host).await,
            }
        }
        let begun = Instant::now();
        let (mut guest, _held) = self.guest_of(caller, session, place).await?;
        let read = begun.elapsed();
        let begun = guest.turn_with(&turn, content, &mut host).await;
        let begun = begun.map_err(|error| match (error, place.head()) {
            (DispatchError::NotResumed { reason }, Some(head)) => {
                ServiceError::StateUnusable { checkpoint: head.clone(), reason }
            }
            (error, _) => error.into(),
        });
        let begun = begun?;
        if let Some(resumed) = begun.outcome.usage.resumed {
            self.sessions().observer().count_resume(read.saturating_add(resumed));
        }
        finished(caller, &turn, begun, guest, host).await
    }

    /// A guest in the state that the session is at.
    async fn guest_of(
        &self,
        caller: &Caller,
        session: &StoredSession,
        place: &SessionLook,
    ) -> Result<(HeldGuest, Held), ServiceError> {
        let (spec, held) = self.spec_of(caller, session).await?;
        let memory = caller.memory.for_states_of(&caller.tenant);
        let packs = place.packs(&memory).await?;
        let pool = &self.execution.pool;
        if packs.is_empty() {
            return Ok((pool.open(spec), held));
        }
        Ok((pool.resume(spec, contents_of(packs, &memory).await?), held))
    }

    /// The order for the guest of a session.
    async fn spec_of(
        &self,
        caller: &Caller,
        session: &StoredSession,
    ) -> Result<(GuestSpec, Held), ServiceError> {
        let (planned, begun_with) = self.plan_between(caller, session).await?;
        let mut planned = self.supplies.with_code(caller, planned).await?;
        let layers = self.supplies.layers_of_session(caller, &planned, &begun_with).await?;
        let unusable = |reason: &str| unusable(session, reason);
        let image = self.supplies.image_of_session(caller, &planned, (session.image, unusable));
        let image = image.await?;
        let blobs = (std::mem::take(&mut planned.blobs), std::mem::take(&mut planned.placed));
        let (limits, _) = planned.limits.split();
        let inputs = open_inputs(&self.blobs.files, caller, blobs, &limits, None).await?;
        let InputBlobs { mounts, sources, held, .. } = inputs;
        let (mounted, skills) = mounts_and_contents(planned.skills);
        let setup = Box::new(Setup {
            tenant: caller.tenant.clone(),
            image: image.digest(),
            skills: mounted,
            layers: layers.mounts,
            blobs: mounts,
            hides_modules: false,
            environment: <_>::default(),
            reproducible: planned.reproducible,
            counts_fuel: planned.limits.fuel.is_some(),
            limits,
        });
        let spec = GuestSpec { setup, image, skills, layers: layers.contents, blobs: sources };
        Ok((spec, (held, layers.used)))
    }
}

/// The limits of a turn without a program. The content that it sends is bounded by the workspace.
fn limits() -> TurnLimits {
    let most = PAYLOAD_MAX.as_u64().saturating_add(ByteCount::from(MAX_ANSWER).as_u64());
    TurnLimits {
        wall_time: TIME,
        fuel: None,
        logs: ByteCount::default(),
        host_calls: 1,
        host_bytes: ByteCount::bytes(most),
    }
}

/// What has become of an order.
async fn finished(
    caller: &Caller,
    turn: &Turn,
    mut finished: FinishedRun,
    guest: HeldGuest,
    host: FilesHost,
) -> Result<CarriedOut, ServiceError> {
    let failed = |reason: String| FilesError::Failed { reason };
    if let Err(failure) = &finished.outcome.end {
        return Err(failed(failure.to_string()).into());
    }
    let output = finished.output.take();
    let output = output.filter(|output| output.size().as_usize() <= MAX_ANSWER);
    let output = output.ok_or_else(|| failed("it gave no answer".to_owned()))?;
    let copies = output.size().as_u64().saturating_mul(COPIES);
    caller.memory.reserve(ByteCount::bytes(copies))?;
    let text = caller.memory.on_thread(move || output.into_bytes()).await;
    let text = text.map_err(ServiceError::Interrupted)?.map_err(ServiceError::Unreadable)?;
    let order = turn.files.as_deref();
    let answer = order.and_then(|order| FilesAnswer::read(&text, order));
    let answer = answer.ok_or_else(|| failed("its answer is one to something else".to_owned()))?;
    let guest = finished.is_guest_kept.then_some(guest);
    Ok(CarriedOut { answer, finished, guest, host })
}
