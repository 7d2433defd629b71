//! Tells whether the task of a connection can continue by itself, or waits for its guest.
//!
//! In a recorded run each operation of the guest is answered once every connection waits for the
//! guest. So what the guest sees follows from its operations, and not from the time that a server,
//! a thread or a buffer took.
//!
//! INVARIANT(settled): a task counts as waiting for its guest only if it is not being polled, was
//! not woken since its last poll, and waits for nothing outside of this process.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The activity of the task of one connection.
#[derive(Debug)]
pub(crate) struct TaskActivity {
    state: Mutex<TaskState>,
    /// Told when the task may have settled. All connections of a run share it.
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct TaskState {
    is_polled: bool,
    is_woken: bool,
    is_over: bool,
    /// Waits for the world.
    outside: usize,
}

impl TaskActivity {
    /// The activity of a task that is about to start.
    pub(crate) fn new(changed: Arc<Notify>) -> Arc<Self> {
        let state = TaskState { is_polled: false, is_woken: true, is_over: false, outside: 0 };
        Arc::new(Self { state: Mutex::new(state), changed })
    }

    /// True if only the guest can make the task continue.
    pub(crate) fn is_settled(&self) -> bool {
        let TaskState { is_polled, is_woken, is_over, outside } = *self.state.lock();
        is_over || !(is_polled || is_woken || outside > 0)
    }

    /// Waits for something outside of this process, until the guard is dropped.
    pub(crate) fn outside(self: &Arc<Self>) -> OutsideGuard {
        let mut state = self.state.lock();
        state.outside = state.outside.saturating_add(1);
        drop(state);
        OutsideGuard(Arc::clone(self))
    }

    /// Runs a task and notes its activity.
    pub(crate) fn observe<F: Future>(self: &Arc<Self>, task: F) -> Observed<F> {
        Observed { task: Box::pin(task), activity: Arc::clone(self) }
    }
}

/// The task waits for the world.
#[derive(Debug)]
pub(crate) struct OutsideGuard(Arc<TaskActivity>);

impl Drop for OutsideGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.outside = state.outside.saturating_sub(1);
        drop(state);
        self.0.changed.notify_waiters();
    }
}

/// A task whose activity is noted.
#[derive(Debug)]
pub(crate) struct Observed<F> {
    task: Pin<Box<F>>,
    activity: Arc<TaskActivity>,
}

/// Notes that a task was woken before it is.
struct NotingWaker {
    activity: Arc<TaskActivity>,
    task: Waker,
}

impl Wake for NotingWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.activity.state.lock().is_woken = true;
        self.task.wake_by_ref();
    }
}

impl<F: Future> Future for Observed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let activity = Arc::clone(&self.activity);
        {
            let mut state = activity.state.lock();
            (state.is_polled, state.is_woken) = (true, false);
        }
        let waker = NotingWaker { activity: Arc::clone(&activity), task: cx.waker().clone() };
        let waker = Waker::from(Arc::new(waker));
        let result = self.task.as_mut().poll(&mut Context::from_waker(&waker));
        let mut state = activity.state.lock();
        (state.is_polled, state.is_over) = (false, result.is_ready());
        drop(state);
        activity.changed.notify_waiters();
        result
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn settled() {
        let activity = TaskActivity::new(Arc::default());
        assert!(!activity.is_settled(), "it was not polled yet");
        let (go_on, may_go_on) = oneshot::channel::<()>();
        let inner = Arc::clone(&activity);
        let mut task = Box::pin(activity.observe(async move {
            assert!(!inner.is_settled(), "it is being polled");
            may_go_on.await.unwrap();
            let _outside = inner.outside();
            std::future::pending::<()>().await;
        }));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(task.as_mut().poll(&mut cx).is_pending());
        assert!(activity.is_settled(), "it waits for a message");
        go_on.send(()).unwrap();
        assert!(!activity.is_settled(), "it was woken and not polled yet");
        assert!(task.as_mut().poll(&mut cx).is_pending());
        assert!(!activity.is_settled(), "it waits for the world");
        drop(task);
        assert!(activity.is_settled());
    }
}
