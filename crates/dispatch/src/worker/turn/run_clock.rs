//! The time of one run in the gateway, and the time of its host calls by kind.
//!
//! INVARIANT(bounded-host-time): all answers of the host together extend a run by at most
//! [`PoolConfig::host_time`]. An answer of a kind that counts against the run extends it by
//! nothing. What the caller answers itself is not among them: no time of the run passes meanwhile.
//!
//! [`PoolConfig::host_time`]: crate::PoolConfig::host_time

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use wardian_formats::job::Turn;
use wardian_formats::job::host::{HostTime, RequestKind, TimeOfAnswer};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::network::NetworkReply;
use wardian_formats::job::session::cell::INTERRUPT_GRACE;
use wardian_vocabulary::units::ByteCount;

/// The limit of a run whose own limit cannot be added to the present time.
const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How long a worker may take to save or to resume each MiB that a guest may hold: several times what it
/// takes on a busy machine if all of it has changed.
const FOR_EACH_MEBIBYTE: Duration = Duration::from_millis(20);

/// The times that the gateway grants to a run beyond its own limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// The time that a worker has to end a run after its limit is reached.
    pub(crate) grace: Duration,
    /// The time by which all answers of the host together may extend a run.
    pub host_time: Duration,
}

impl Patience {
    /// The patience with a worker that has to save or to resume a guest as well, which may hold this
    /// much.
    pub(crate) fn with_state(self, held: ByteCount) -> Self {
        let mebibytes = u32::try_from(held.as_u64() >> 20).unwrap_or(u32::MAX);
        let more = FOR_EACH_MEBIBYTE.saturating_mul(mebibytes);
        Self { grace: self.grace.saturating_add(more), ..self }
    }

    /// How long a worker may take to save the state of a guest. Later it is given up. The time of the turn
    /// does not include this.
    pub(crate) fn time_for_pack(self, held: ByteCount) -> Duration {
        self.with_state(held).grace
    }

    /// The same for one turn. A cell that is interrupted at its limit has a time to end by itself.
    pub(crate) const fn for_turn(self, turn: &Turn) -> Self {
        match &turn.cell {
            None => self,
            Some(_) => Self { grace: self.grace.saturating_add(INTERRUPT_GRACE), ..self },
        }
    }
}

/// The host did not answer within the time that the run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unanswered;

/// The clock of one run.
#[derive(Debug)]
pub(crate) struct RunClock {
    started: Instant,
    /// The end of the run's own time, with the extensions so far.
    end: Instant,
    grace: Duration,
    extension_left: Duration,
    host_time: HostTime,
}

impl RunClock {
    /// Starts the clock of a run that may take `wall_time`.
    pub(crate) fn start(wall_time: Duration, patience: Patience) -> Self {
        let started = Instant::now();
        Self {
            started,
            end: later(started, wall_time),
            grace: patience.grace,
            extension_left: patience.host_time,
            host_time: HostTime::default(),
        }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The instant at which the worker is given up.
    pub(crate) fn deadline(&self) -> Instant {
        later(self.end, self.grace)
    }

    /// The time that the host has taken for its answers.
    pub(crate) const fn host_time(&self) -> HostTime {
        self.host_time
    }

    /// Waits for the host's answer to a request of this kind, and accounts the time.
    pub(crate) async fn wait_for<T>(
        &mut self,
        kind: RequestKind,
        answer: impl Future<Output = T>,
    ) -> Result<T, Unanswered> {
        self.wait_until(self.answer_by(kind.time_of_answer()), kind, answer).await
    }

    /// As [`Self::wait_for`], but only until the end of the run's own time. The worker can still be
    /// answered then.
    pub(crate) async fn wait_within_run<T>(
        &mut self,
        kind: RequestKind,
        answer: impl Future<Output = T>,
    ) -> Result<T, Unanswered> {
        self.wait_until(self.end, kind, answer).await
    }

    /// Waits for answers of the caller. No time of the run passes meanwhile.
    pub(crate) async fn wait_for_caller<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let asked = Instant::now();
        let answer = answer.await;
        let took = asked.elapsed();
        self.host_time.add(RequestKind::Caller, took);
        self.end = later(self.end, took);
        answer
    }

    /// Gives the run this time from now on: it goes on with answers of its caller.
    pub(crate) fn begin_anew(&mut self, wall_time: Duration) {
        self.end = later(Instant::now(), wall_time);
    }

    async fn wait_until<T>(
        &mut self,
        latest: Instant,
        kind: RequestKind,
        answer: impl Future<Output = T>,
    ) -> Result<T, Unanswered> {
        let asked = Instant::now();
        let answered = timeout_at(latest, answer).await;
        let took = asked.elapsed();
        self.host_time.add(kind, took);
        self.extend(kind.time_of_answer(), took);
        answered.map_err(|_elapsed| Unanswered)
    }

    /// The instant at which an answer comes too late. A worker shortens waits for the world to the
    /// end of its own clock, which starts a little later than this one.
    fn answer_by(&self, time: TimeOfAnswer) -> Instant {
        match time {
            TimeOfAnswer::ExtendsRun => later(self.end, self.extension_left),
            TimeOfAnswer::CountsAgainstRun | TimeOfAnswer::Stands => self.deadline(),
        }
    }

    /// Extends the run by the time that an answer took, up to the bound.
    fn extend(&mut self, time: TimeOfAnswer, took: Duration) {
        let extension = took.min(self.extension_for(time));
        self.end = later(self.end, extension);
        self.extension_left = self.extension_left.saturating_sub(extension);
    }

    const fn extension_for(&self, time: TimeOfAnswer) -> Duration {
        match time {
            TimeOfAnswer::ExtendsRun => self.extension_left,
            TimeOfAnswer::CountsAgainstRun | TimeOfAnswer::Stands => Duration::ZERO,
        }
    }
}

pub(crate) fn later(instant: Instant, time: Duration) -> Instant {
    instant.checked_add(time).or_else(|| instant.checked_add(FAR)).unwrap_or(instant)
}

/// The answer to a request that the host has not answered within the run's time. Usually the run
/// ends as `Timeout`; a guest that is still running sees this.
pub(crate) fn unanswered() -> Refusal {
    let message = "the host did not answer before the run's deadline".to_owned();
    Refusal { error_type: "TimeoutError".to_owned(), message }
}

/// The answer to a look-up that takes longer than the run may. The guest reads it as a temporary
/// failure of name resolution.
pub(crate) fn late_look_up() -> NetworkReply {
    const EAGAIN: u16 = 11;
    let text = "the name could not be looked up before the run's deadline".to_owned();
    NetworkReply::Failed { errno: EAGAIN, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Duration = Duration::from_secs(10);
    const GRACE: Duration = Duration::from_secs(1);
    const HOST_TIME: Duration = Duration::from_secs(4);
    const THREE: Duration = Duration::from_secs(3);

    fn clock() -> RunClock {
        RunClock::start(RUN, Patience { grace: GRACE, host_time: HOST_TIME })
    }

    #[test]
    fn bounded_host_time_extends_a_run_by_the_work_of_the_host() {
        let (mut clock, extends) = (clock(), TimeOfAnswer::ExtendsRun);
        let first = clock.deadline();
        assert_eq!(first, clock.started + RUN + GRACE);
        assert_eq!(clock.answer_by(extends), clock.started + RUN + HOST_TIME);
        for (took, extension) in [(THREE, THREE), (THREE, HOST_TIME), (THREE, HOST_TIME)] {
            clock.extend(extends, took);
            assert_eq!(clock.deadline(), first + extension);
            let latest = clock.started + RUN + HOST_TIME;
            assert_eq!(clock.answer_by(extends), latest, "a run is extended without end");
        }
    }

    #[test]
    fn waiting_for_another_machine_extends_no_run() {
        let (mut clock, counts) = (clock(), TimeOfAnswer::CountsAgainstRun);
        let first = clock.deadline();
        for _ in 0..3 {
            assert_eq!(clock.answer_by(counts), clock.started + RUN + GRACE);
            clock.extend(counts, THREE);
            assert_eq!((clock.deadline(), clock.extension_left), (first, HOST_TIME));
        }
    }

    #[tokio::test]
    async fn an_answer_that_never_comes_leaves_the_worker_its_grace() {
        let short = Duration::from_millis(10);
        let mut clock = RunClock::start(short, Patience { grace: GRACE, host_time: short });
        let started = clock.started;
        for _ in 0..2 {
            let never = std::future::pending::<()>();
            assert_eq!(clock.wait_for(RequestKind::WriteBlob, never).await, Err(Unanswered));
            assert_eq!(clock.deadline(), started + 2 * short + GRACE);
        }
        assert!(clock.host_time().of(RequestKind::WriteBlob) >= 2 * short);
    }

    #[test]
    fn the_patience_for_a_state_grows_with_what_a_guest_may_hold_and_ends() {
        let patience = Patience { grace: GRACE, host_time: HOST_TIME };
        for (held, grace) in
            [(0, GRACE), (50, 2 * GRACE), (512, GRACE + Duration::from_millis(10_240))]
        {
            let with_state = patience.with_state(ByteCount::mebibytes(held));
            assert_eq!((with_state.grace, with_state.host_time), (grace, HOST_TIME), "{held}");
        }
        let endless = Patience { grace: Duration::MAX, ..patience };
        let time = endless.time_for_pack(ByteCount::bytes(u64::MAX));
        assert!(later(Instant::now(), time) > Instant::now() + FAR / 2);
    }

    #[tokio::test]
    async fn limits_beyond_the_clock_mean_a_distant_end() {
        let patience = Patience { grace: Duration::MAX, host_time: Duration::MAX };
        let mut clock = RunClock::start(Duration::MAX, patience);
        assert!(clock.deadline() > Instant::now() + FAR / 2);
        assert_eq!(clock.wait_for(RequestKind::WriteBlob, async { 7 }).await, Ok(7));
    }
}
