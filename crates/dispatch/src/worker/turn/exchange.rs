//! One run or turn on one worker, from the first attachment to the outcome.
//!
//! INVARIANT(worker-not-believed): whatever a worker sends, the run ends in time, with an outcome
//! within the run's limits. A worker that breaks a rule is dropped.
//!
//! A cell ends with its outcome as well, and so does a change of files. What its worker does wrong
//! afterwards, while it saves the state of the guest, costs the state and the guest, and not the outcome.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::interrupter::TurnInterruption;
use crate::packs::{CheckedPack, ForgedPack, NotParked, UnreadPacks};
use crate::worker::channel::{Frames, WorkerChannelError};
use crate::worker::handle::{Afterwards, AttachError, Worker};
use crate::worker::payload::{CheckedPayload, PayloadError};
use crate::worker::turn::outcome_check::{
    ImplausibleOutcome, check_cell, check_outcome, check_profile,
};
use crate::worker::turn::run_clock::{Patience, RunClock, later};
use crate::{FinishedRun, GuestSpec, RunHost, SealedContent};
use wardian_formats::job::frame;
use wardian_formats::job::message::{FromWorker, GuestNumber, OUTPUT_MAX, Payload, ToWorker};
use wardian_formats::job::outcome::{
    LogChunk, Logs, MAX_MESSAGE, ProgressReport, RunOutcome, Stream,
};
use wardian_formats::job::session::asking::MAX_TOLD_REQUEST;
use wardian_formats::job::session::checkpoint::PackFacts;
use wardian_formats::job::{SetupLimits, Turn, TurnLimits};
use wardian_vocabulary::units::ByteCount;

/// The reason why the worker gave no outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The worker never got the whole order, so another worker can have the run.
    #[error("the run could not be sent to the worker")]
    NotStarted(#[source] AttachError),
    /// The worker got the order and reported that it does not begin the run.
    #[error("the worker could not run another guest")]
    Declined,
    /// The worker of a guest that is kept had ended before it had said anything of this turn.
    #[error("the worker had ended before the turn")]
    GoneBefore,
    /// The worker got the order and refused to resume the guest. It is sound, and its guest is to be
    /// closed.
    #[error("the guest cannot be resumed: {reason}")]
    NotResumed {
        /// What it says is wrong with the packs.
        reason: String,
    },
    /// The worker has not answered in time.
    #[error("the worker did not answer in time")]
    Late,
    /// The worker ended, or its messages cannot be read.
    #[error("the worker was lost")]
    Lost(#[from] WorkerChannelError),
    /// The worker broke a rule.
    #[error("the worker violated the protocol")]
    Hostile(#[from] Violation),
}

/// A rule that a worker broke.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Violation {
    #[error("it sent an unexpected message")]
    OutOfPlace,
    #[error("its guest made more host calls than its limit allows")]
    Calls,
    #[error("it sent more log output than the run may write")]
    Printed,
    #[error("it sent a network request that no sandbox allows")]
    Network,
    #[error("it asked its caller for what no sandbox does")]
    Requests,
    #[error("its guest moved more bytes than its limit allows")]
    Bytes,
    #[error("it sent an impossible outcome")]
    Outcome(#[from] ImplausibleOutcome),
    #[error("it sent an output for a run that failed")]
    Output,
    #[error("it sent an invalid payload")]
    Payload(#[from] PayloadError),
    #[error("it sent a wrong pack")]
    Pack(#[from] ForgedPack),
    #[error("it sent a longer text than any sandbox does")]
    Reason,
}

/// The message to the worker, and the limits that its answer is checked against: of a run, or of a turn
/// of a guest that is open already.
#[derive(Debug, Clone)]
pub(crate) struct TurnOrder<'run> {
    /// The guest to open, whose attachments the worker needs first. None for a turn of an open one.
    pub guest: Option<&'run GuestSpec>,
    /// The packs that this guest is resumed from. None for a guest that begins as its image.
    pub(crate) packs: Option<&'run UnreadPacks>,
    pub turn: &'run Turn,
    /// The content of the file that the turn writes.
    pub(crate) content: Option<&'run SealedContent>,
    /// The limits of the guest.
    pub(crate) limits: SetupLimits,
    /// The number under which the guest stays open after the turn. None if it is closed.
    pub(crate) kept_as: Option<GuestNumber>,
    /// Its interruption by its caller.
    pub(crate) interruption: TurnInterruption,
    /// Whether other runs wait for a worker.
    pub(crate) crowded: watch::Receiver<bool>,
    /// The frames of the order, without the packs.
    pub(crate) frames: Arc<Vec<u8>>,
}

impl TurnOrder<'_> {
    fn afterwards(&self) -> Afterwards {
        match (self.kept_as, self.turn.saves_state()) {
            (None, _) => Afterwards::Closed,
            (Some(guest), false) => Afterwards::Open(guest),
            (Some(guest), true) => Afterwards::Parked(guest),
        }
    }
}

/// The time in which it is noticed that a worker has ended before a turn. One that ends later has most likely
/// ended because of it.
const NOTICED: Duration = Duration::from_secs(1);

/// A run or turn that has its outcome, and what the worker did wrong after it.
pub(crate) type Performed = (FinishedRun, Option<Broken>);

/// Runs `order` on `worker`. It was `queued` for that time. The guest is said to be kept if it stays
/// open and can have another turn; after a cell only if there is its pack.
///
/// Cancellation: the worker is left in the middle of the run; [`Worker::settle`] makes it idle.
pub(crate) async fn perform(
    worker: &mut Worker,
    order: &TurnOrder<'_>,
    queued: Duration,
    host: &mut impl RunHost,
    patience: Patience,
) -> Result<Performed, Broken> {
    let limits = &allowed(order.turn);
    let (held, patience) = (order.limits.held(), patience.for_turn(order.turn));
    let for_run = if order.packs.is_some() { patience.with_state(held) } else { patience };
    let mut exchange = TurnExchange {
        worker,
        limits,
        clock: RunClock::start(limits.wall_time, for_run),
        interruption: order.interruption.clone(),
        crowded: order.crowded.clone(),
        calls: 0,
        has_asked: false,
        is_resumed: false,
        bytes: ByteCount::default(),
        printed: 0,
        reports: 0,
    };
    exchange.start(order).await?;
    let told = Instant::now();
    let finished = match exchange.run_to_end(order, queued, host).await {
        // All that a guest does elsewhere, it does through the gateway. So nothing has been done, and the turn
        // can be run once more in a guest like this one.
        Err(Broken::Lost(WorkerChannelError::Gone))
            if order.guest.is_none() && !exchange.has_begun() && told.elapsed() < NOTICED =>
        {
            return Err(Broken::GoneBefore);
        }
        ended => ended?,
    };
    // The run is over, so a caller that leaves from now on does not cost the worker.
    if exchange.worker.owes_pack() {
        let time = patience.time_for_pack(held);
        let may_refuse = order.turn.files.is_some();
        return Ok(exchange.end_cell(finished, (time, may_refuse), host).await);
    }
    if let Some(output) = &finished.output {
        host.make_room(output.size()).await;
    }
    Ok((finished, None))
}

/// True if the caller of a turn hears what its program asks, and may answer before it ends.
fn is_heard(turn: &Turn) -> bool {
    turn.cell.as_ref().is_some_and(|cell| cell.is_heard)
}

/// The limits of a turn with what its host may store for it beyond them.
fn allowed(turn: &Turn) -> TurnLimits {
    let more = turn.keep_files.allowance();
    let bytes = turn.limits.host_bytes.as_u64().saturating_add(more.total_size.as_u64());
    TurnLimits {
        host_calls: turn.limits.host_calls.saturating_add(more.count),
        host_bytes: ByteCount::bytes(bytes),
        ..turn.limits
    }
}

pub(super) struct TurnExchange<'run> {
    worker: &'run mut Worker,
    pub(super) limits: &'run TurnLimits,
    pub(super) clock: RunClock,
    pub(super) interruption: TurnInterruption,
    pub(super) crowded: watch::Receiver<bool>,
    pub(super) calls: u32,
    /// True once the guest has asked for something.
    pub(super) has_asked: bool,
    /// True once the worker has made the guest of its packs.
    is_resumed: bool,
    pub(super) bytes: ByteCount,
    /// Bytes of the log that were sent before the end.
    printed: u64,
    /// Reports of progress.
    reports: u32,
}

impl TurnExchange<'_> {
    async fn start(&mut self, order: &TurnOrder<'_>) -> Result<(), Broken> {
        let tell = async {
            if let Some(guest) = order.guest {
                self.worker.attach(guest).await?;
            }
            let frames = Arc::clone(&order.frames);
            let packs = order.packs.and_then(UnreadPacks::all).unwrap_or_default();
            let before = (packs.as_slice(), order.content);
            let attachments = order.guest.map(GuestSpec::attachments).unwrap_or_default();
            self.worker.order(frames, before, attachments, order.afterwards()).await
        };
        let told = timeout_at(self.clock.deadline(), tell).await;
        told.map_err(|_elapsed| Broken::Late)?.map_err(Broken::NotStarted)
    }

    /// Answers the requests of the guest until the worker sends the outcome.
    async fn run_to_end(
        &mut self,
        order: &TurnOrder<'_>,
        queued: Duration,
        host: &mut impl RunHost,
    ) -> Result<FinishedRun, Broken> {
        loop {
            match self.next().await? {
                (FromWorker::WriteBlob { kind }, content) => {
                    self.write_blob(&kind, content, host).await?;
                }
                (FromWorker::AskNetwork, Payload::Inline(request)) => {
                    self.ask_network(&request, host).await?;
                }
                (FromWorker::AskCaller, Payload::Inline(requests)) if is_heard(order.turn) => {
                    self.ask_caller(&requests, host).await?;
                }
                (FromWorker::Printed(chunk), Payload::None) if order.turn.stream_logs => {
                    self.count_printed(&chunk)?;
                    host.hear(chunk);
                }
                (FromWorker::Done { outcome, can_go_on }, output) => {
                    let is_held = outcome.cell.as_ref().is_some_and(|cell| cell.is_held);
                    if is_held && !(order.kept_as.is_some() && can_go_on) {
                        return Err(Violation::Outcome(ImplausibleOutcome::Cell).into());
                    }
                    let finished = self.finish(order, queued, *outcome, output)?;
                    let is_guest_kept = order.kept_as.is_some() && can_go_on;
                    return Ok(FinishedRun { is_guest_kept, ..finished });
                }
                (FromWorker::Failed { .. }, Payload::None) if !self.has_begun() => {
                    return Err(Broken::Declined);
                }
                (FromWorker::Resumed, Payload::None) if !self.has_begun() => {
                    let packs = order.packs.ok_or(Violation::OutOfPlace)?;
                    self.is_resumed = true;
                    packs.release();
                }
                (FromWorker::NotResumed { reason }, Payload::None)
                    if order.packs.is_some() && !self.has_begun() =>
                {
                    return Err(Broken::NotResumed { reason: bounded(reason)? });
                }
                (
                    FromWorker::Ready(_)
                    | FromWorker::Failed { .. }
                    | FromWorker::CannotStart { .. }
                    | FromWorker::Resumed
                    | FromWorker::NotResumed { .. }
                    | FromWorker::Parked(_)
                    | FromWorker::NotParked { .. }
                    | FromWorker::Unchanged
                    | FromWorker::Printed(_)
                    | FromWorker::AskNetwork
                    | FromWorker::AskCaller,
                    _,
                ) => {
                    return Err(Violation::OutOfPlace.into());
                }
            }
        }
    }

    /// True once the guest has made a request or printed, or was made of its packs. A run that has begun is
    /// not repeated.
    const fn has_begun(&self) -> bool {
        self.has_asked || self.printed > 0 || self.is_resumed
    }

    /// Ends a cell that left its guest whole, with the guest's state if the worker sends it in time.
    async fn end_cell(
        &mut self,
        finished: FinishedRun,
        (limit, may_refuse): (Duration, bool),
        host: &mut impl RunHost,
    ) -> Performed {
        let received = self.receive_pack(later(Instant::now(), limit), may_refuse).await;
        let output = finished.output.as_ref().map_or(0, |output| output.size().as_u64());
        let pack = match &received {
            Ok(Ok((_, content))) => content.size().as_u64(),
            _ => 0,
        };
        host.make_room(ByteCount::bytes(output.saturating_add(pack))).await;
        let (pack, broken) = match received {
            Ok(Ok((facts, content))) => match CheckedPack::check(facts, content).await {
                Ok(pack) => (pack.map_err(NotParked::Unread), None),
                Err(forged) => (Err(NotParked::WorkerLost), Some(Violation::from(forged).into())),
            },
            Ok(Err(refused)) => (Err(refused), None),
            Err(Broken::Late) => (Err(NotParked::Late { limit }), Some(Broken::Late)),
            Err(broken) => (Err(NotParked::WorkerLost), Some(broken)),
        };
        let is_guest_kept = matches!(pack, Ok(_) | Err(NotParked::Unchanged));
        (FinishedRun { is_guest_kept, pack: Some(pack), ..finished }, broken)
    }

    /// Receives what follows the outcome of a cell that left its guest whole.
    async fn receive_pack(
        &mut self,
        deadline: Instant,
        may_refuse: bool,
    ) -> Result<Result<(PackFacts, CheckedPayload), NotParked>, Broken> {
        let received = timeout_at(deadline, self.worker.hear()).await;
        match received.map_err(|_elapsed| Broken::Late)?? {
            (FromWorker::Parked(facts), payload) => {
                let content = CheckedPayload::accept(payload).map_err(Violation::from)?;
                Ok(Ok((facts, content)))
            }
            (FromWorker::NotParked { reason }, Payload::None) => {
                Ok(Err(NotParked::Unparkable { reason: bounded(reason)? }))
            }
            (FromWorker::Unchanged, Payload::None) if may_refuse => Ok(Err(NotParked::Unchanged)),
            _ => Err(Violation::OutOfPlace.into()),
        }
    }

    /// Waits for the next message of the worker, and tells it of an interruption meanwhile.
    async fn next(&mut self) -> Result<(FromWorker, Payload), Broken> {
        loop {
            let received = select! {
                biased;
                () = self.interruption.happens() => None,
                received = timeout_at(self.clock.deadline(), self.worker.hear()) => Some(received),
            };
            match received {
                Some(received) => return Ok(received.map_err(|_elapsed| Broken::Late)??),
                None => self.interrupt().await?,
            }
        }
    }

    pub(super) async fn interrupt(&mut self) -> Result<(), Broken> {
        self.answer(&ToWorker::Interrupt, &[]).await
    }

    pub(super) fn count_call(&mut self) -> Result<(), Violation> {
        self.calls = self.calls.saturating_add(1);
        if self.calls > self.limits.host_calls { Err(Violation::Calls) } else { Ok(()) }
    }

    pub(super) async fn answer(
        &mut self,
        message: &ToWorker,
        content: &[u8],
    ) -> Result<(), Broken> {
        let answer = frame::encode(message, content, false).map_err(WorkerChannelError::from)?;
        self.send(answer.into()).await
    }

    /// Sends an answer to the worker.
    pub(super) async fn send(&mut self, answer: Frames) -> Result<(), Broken> {
        let sent = timeout_at(self.clock.deadline(), self.worker.channel.send(answer)).await;
        Ok(sent.map_err(|_elapsed| Broken::Late)??)
    }

    /// Counts printed bytes. The limit of what is kept is threefold, because an invalid byte becomes three.
    fn count_printed(&mut self, chunk: &LogChunk) -> Result<(), Violation> {
        let size = chunk.text.len();
        self.has_asked |= chunk.stream == Stream::Request;
        let is_fine = match chunk.stream {
            Stream::Progress => {
                self.reports = self.reports.saturating_add(1);
                size <= ProgressReport::MAX_JSON && self.reports <= ProgressReport::MOST
            }
            Stream::Request => size <= MAX_TOLD_REQUEST && self.count_call().is_ok(),
            Stream::Stdout | Stream::Stderr | Stream::Log => {
                self.printed = self.printed.saturating_add(ByteCount::from(size).as_u64().max(1));
                let end = ByteCount::from(Logs::MAX_TOLD_END).as_u64();
                self.printed <= self.limits.logs.as_u64().saturating_mul(3).saturating_add(end)
            }
        };
        if is_fine { Ok(()) } else { Err(Violation::Printed) }
    }

    /// The end of the run, after all checks.
    fn finish(
        &mut self,
        order: &TurnOrder<'_>,
        queued: Duration,
        outcome: RunOutcome,
        output: Payload,
    ) -> Result<FinishedRun, Violation> {
        let times = (self.clock.elapsed(), self.worker.since_last_order());
        let outcome = check_outcome(outcome, order.limits.memory, self.limits, times)?;
        check_profile(outcome.profile.as_ref(), order.turn.profile)?;
        check_cell(outcome.cell.as_deref(), order.turn.cell.as_ref())?;
        let output = self.output(&outcome, output)?;
        Ok(FinishedRun {
            outcome,
            output,
            worker: self.worker.id,
            queued,
            host_time: self.clock.host_time(),
            is_worker_lost: false,
            is_guest_kept: false,
            is_interrupt_left: false,
            pack: None,
        })
    }

    fn output(
        &mut self,
        outcome: &RunOutcome,
        payload: Payload,
    ) -> Result<Option<CheckedPayload>, Violation> {
        if matches!(payload, Payload::None) {
            return Ok(None);
        }
        if outcome.end.is_err() {
            return Err(Violation::Output);
        }
        let output = CheckedPayload::accept(payload)?;
        if output.size() > OUTPUT_MAX {
            return Err(Violation::Bytes);
        }
        self.count_bytes(output.size())?;
        Ok(Some(output))
    }

    /// Counts bytes of host calls. The sandbox counts them first and raises an exception in the
    /// guest; this count is for a compromised sandbox.
    pub(super) fn count_bytes(&mut self, more: ByteCount) -> Result<(), Violation> {
        self.bytes = ByteCount::bytes(self.bytes.as_u64().saturating_add(more.as_u64()));
        if self.bytes > self.limits.host_bytes { Err(Violation::Bytes) } else { Ok(()) }
    }
}

/// A text of a worker, unless it is longer than any.
fn bounded(text: String) -> Result<String, Violation> {
    if text.len() > MAX_MESSAGE { Err(Violation::Reason) } else { Ok(text) }
}
