//! A deadline that a stream checks whenever it is polled.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A deadline that is cheap to move. The timer is reset only when it fires or must fire earlier.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    pub(super) fn set(&mut self, after: Duration) {
        self.deadline = Instant::now().checked_add(after);
    }

    pub(super) fn clear(&mut self) {
        self.deadline = None;
    }

    pub(super) fn is_set(&self) -> bool {
        self.deadline.is_some()
    }

    /// Ready when the deadline plus `extra` has passed.
    pub(crate) fn poll_rung(&mut self, cx: &mut Context<'_>, extra: Duration) -> Poll<()> {
        let Some(deadline) = self.deadline.and_then(|deadline| deadline.checked_add(extra)) else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}
