//! Waiting for clocks and files. Files are always ready.

use std::time::Duration;

use crate::preview1::WasiCall;
use crate::preview1::layout::{
    self, Awaited, EVENT_SIZE, SUBSCRIPTION_SIZE, Subscription, clockid,
};
use crate::run::deadline::{Slept, Stopped};
use crate::vfs::Errno;

/// Most subscriptions of one call: beyond it `EINVAL`. More than there can be open files.
const MAX_SUBSCRIPTIONS: u32 = 4096;

/// The reason why a wait gave no events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoEvents {
    /// The arguments are invalid.
    Failed(Errno),
    /// The run is over.
    Stopped(Stopped),
}

impl From<Errno> for NoEvents {
    fn from(errno: Errno) -> Self {
        Self::Failed(errno)
    }
}

/// The time until an awaited condition holds.
enum Wait {
    /// The condition holds, or can never hold because of an error.
    None(Option<Errno>),
    For(Duration),
}

/// The time that was waited.
#[derive(Debug, Clone, Copy)]
enum Waited {
    For(Duration),
    /// A signal has ended the wait: all clocks count as run out.
    ToSignal,
}

impl WasiCall<'_> {
    /// Waits until the first of the awaited conditions holds and reports all that hold. Reads the
    /// subscriptions twice instead of storing them, so that a hot loop around `poll` allocates
    /// nothing.
    pub(crate) fn poll_oneoff(
        &mut self,
        subscriptions: u32,
        events: u32,
        count: u32,
        out: u32,
    ) -> Result<(), NoEvents> {
        if count == 0 || count > MAX_SUBSCRIPTIONS {
            return Err(Errno::Invalid.into());
        }
        self.memory.ensure(subscriptions, count.saturating_mul(SUBSCRIPTION_SIZE))?;
        self.memory.ensure(events, count.saturating_mul(EVENT_SIZE))?;
        self.memory.ensure(out, 4)?;
        loop {
            let waited = self.wait_for_first(subscriptions, count)?;
            let reported = self.report(subscriptions, events, count, waited)?;
            // The time of day may have been set back meanwhile; then the wait continues.
            if reported > 0 {
                return Ok(self.memory.put_u32(out, reported)?);
            }
        }
    }

    /// Waits for the first condition. Returns the time that was waited.
    fn wait_for_first(&mut self, subscriptions: u32, count: u32) -> Result<Waited, NoEvents> {
        let mut shortest = Duration::MAX;
        for index in 0..count {
            let subscription = self.subscription(subscriptions, index)?;
            shortest = shortest.min(match self.wait_of(&subscription.awaited) {
                Wait::None(_) => Duration::ZERO,
                Wait::For(time) => time,
            });
        }
        if !shortest.is_zero() && !self.process.clock_and_random.skip(shortest) {
            let slept = self.turn.deadline.sleep(shortest).map_err(NoEvents::Stopped)?;
            if slept == Slept::ToSignal {
                return Ok(Waited::ToSignal);
            }
        }
        Ok(Waited::For(shortest))
    }

    /// Writes an event for every condition that holds after `waited`. Returns their number.
    fn report(
        &mut self,
        subscriptions: u32,
        events: u32,
        count: u32,
        waited: Waited,
    ) -> Result<u32, Errno> {
        let mut reported = 0_u32;
        for index in 0..count {
            let subscription = self.subscription(subscriptions, index)?;
            let error = match self.wait_of(&subscription.awaited) {
                Wait::None(error) => error,
                Wait::For(time) => match waited {
                    Waited::ToSignal => None,
                    Waited::For(waited) if is_relative(&subscription.awaited) && time <= waited => {
                        None
                    }
                    Waited::For(_) => continue,
                },
            };
            let readable = match subscription.awaited {
                Awaited::Readable(fd) => self.process.files.readable_bytes(fd).unwrap_or(0),
                Awaited::Clock { .. } | Awaited::Writable(_) => 0,
            };
            let at = events.saturating_add(reported.saturating_mul(EVENT_SIZE));
            self.memory.put(at, layout::event(&subscription, error, readable))?;
            reported = reported.saturating_add(1);
        }
        Ok(reported)
    }

    fn subscription(&self, start: u32, index: u32) -> Result<Subscription, Errno> {
        let offset = index.checked_mul(SUBSCRIPTION_SIZE).ok_or(Errno::Fault)?;
        let at = start.checked_add(offset).ok_or(Errno::Fault)?;
        Subscription::parse(&self.memory.array(at)?)
    }

    fn wait_of(&self, awaited: &Awaited) -> Wait {
        let time = match *awaited {
            Awaited::Clock {
                id: clockid::REALTIME | clockid::MONOTONIC,
                timeout,
                absolute: false,
            } => Duration::from_nanos(timeout),
            Awaited::Clock { id: clockid::REALTIME, timeout, .. } => {
                self.process.clock_and_random.until_realtime(Duration::from_nanos(timeout))
            }
            Awaited::Clock { id: clockid::MONOTONIC, timeout, .. } => {
                self.process.clock_and_random.until_monotonic(Duration::from_nanos(timeout))
            }
            Awaited::Clock { .. } => return Wait::None(Some(Errno::Invalid)),
            Awaited::Readable(fd) | Awaited::Writable(fd) => {
                return Wait::None(self.process.files.descriptor_stat(fd).err());
            }
        };
        if time.is_zero() { Wait::None(None) } else { Wait::For(time) }
    }
}

const fn is_relative(awaited: &Awaited) -> bool {
    matches!(awaited, Awaited::Clock { absolute: false, .. })
}
