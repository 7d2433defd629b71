//! A timer with an interval, on a clock that its user chooses.
//!
//! INVARIANT(one-signal): each time that the timer runs out, either the words are set or the guest
//! takes the signal, never both.

use std::time::Duration;

use crate::host_call::request::TimerRequest;

/// A timer. All times are since the same start, which its user chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IntervalTimer {
    due: Option<Duration>,
    interval: Duration,
}

impl IntervalTimer {
    /// The time of the next signal.
    pub(crate) const fn due(&self) -> Option<Duration> {
        self.due
    }

    /// True if a signal is due at `now`. The next one is an interval later; those that nobody has
    /// noticed are lost, as they are natively.
    pub(crate) fn take(&mut self, now: Duration) -> bool {
        let Some(due) = self.due.filter(|due| *due <= now) else { return false };
        self.due = None;
        let late = now.saturating_sub(due).as_nanos();
        if let Some(missed) = late.checked_div(self.interval.as_nanos()) {
            let count = u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1);
            self.due = due.checked_add(self.interval.saturating_mul(count));
        }
        true
    }

    /// Answers the guest: the rest and the interval as nanoseconds, or whether it takes a signal.
    pub(crate) fn answer(&mut self, request: TimerRequest, now: Duration) -> Vec<u8> {
        // A signal that nobody has noticed yet is about to come: its timer still runs.
        let rest = self.due.map(|due| due.saturating_sub(now).max(Duration::from_nanos(1)));
        let state = [rest.unwrap_or_default(), rest.map_or(Duration::ZERO, |_| self.interval)];
        match request {
            TimerRequest::Get => {}
            TimerRequest::Set { first, interval } => {
                self.due =
                    Some(first).filter(|first| !first.is_zero()).map(|f| now.saturating_add(f));
                self.interval = interval;
            }
            TimerRequest::Take => return vec![u8::from(self.take(now))],
        }
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        state.into_iter().flat_map(|time| nanoseconds(time).to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn set(first: u32, interval: u32) -> TimerRequest {
        TimerRequest::Set { first: MILLI * first, interval: MILLI * interval }
    }

    fn rest(answer: &[u8]) -> [u64; 2] {
        let (numbers, _) = answer.as_chunks::<8>();
        [0, 1].map(|at| u64::from_le_bytes(numbers[at]) / 1_000_000)
    }

    #[test]
    fn one_signal_ends_a_timer_without_an_interval() {
        let mut timer = IntervalTimer::default();
        assert_eq!(rest(&timer.answer(set(20, 0), MILLI * 100)), [0, 0]);
        assert_eq!(rest(&timer.answer(TimerRequest::Get, MILLI * 105)), [15, 0]);
        assert_eq!(timer.answer(TimerRequest::Take, MILLI * 119), [0]);
        assert_eq!(timer.answer(TimerRequest::Take, MILLI * 120), [1]);
        assert_eq!(timer.answer(TimerRequest::Take, MILLI * 120), [0], "INVARIANT(one-signal)");
        assert_eq!(rest(&timer.answer(TimerRequest::Get, MILLI * 121)), [0, 0]);
    }

    #[test]
    fn intervals_keep_their_grid_and_missed_ones_are_lost() {
        let mut timer = IntervalTimer::default();
        timer.answer(set(10, 10), Duration::ZERO);
        assert!(timer.take(MILLI * 10) && !timer.take(MILLI * 19));
        assert!(timer.take(MILLI * 57) && !timer.take(MILLI * 59) && timer.take(MILLI * 60));
        assert_eq!(rest(&timer.answer(set(0, 0), MILLI * 63)), [7, 10], "cancelled");
        assert!(!timer.take(Duration::MAX));
    }

    #[test]
    fn no_times_overflow() {
        let mut timer = IntervalTimer::default();
        let (first, interval) = (Duration::from_nanos(u64::MAX), Duration::from_nanos(1));
        timer.answer(TimerRequest::Set { first, interval }, Duration::MAX);
        assert!(timer.take(Duration::MAX));
        timer.answer(TimerRequest::Set { first: interval, interval }, Duration::ZERO);
        assert!(timer.take(Duration::MAX));
        timer.answer(TimerRequest::Set { first: interval, interval: first }, Duration::ZERO);
        assert!(timer.take(Duration::from_secs(1)) && timer.due().is_some());
        assert!(timer.take(Duration::MAX) && timer.due().is_none(), "after the end of time");
    }
}
