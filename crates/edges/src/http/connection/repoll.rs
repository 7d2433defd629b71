//! Polls a connection's task again immediately if the task woke itself while it was polled.
//!
//! # Why
//!
//! One task both reads a request's body and waits for it, so reading wakes the task itself. The
//! scheduler then puts the task at the end of its queue and wakes a sleeping thread. That costs
//! each request one more switch of threads, on processors that guests need.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

/// Most polls in a row before other tasks run. A request needs two or three.
const MAX_POLLS: usize = 8;

/// The task is not being polled: a wake-up has to reach the scheduler.
const IDLE: u8 = 0;
/// The task is being polled.
const POLLING: u8 = 1;
/// The task is being polled, and was woken meanwhile.
const WOKEN: u8 = 2;

/// A future that is polled again, at most [`MAX_POLLS`] times, if it was woken while it was polled.
pub(crate) struct Repoll<F> {
    task: Pin<Box<F>>,
    own: Arc<SelfWaker>,
    waker: Waker,
}

impl<F: Future> Repoll<F> {
    pub(crate) fn new(task: F) -> Self {
        let own = Arc::new(SelfWaker { state: AtomicU8::new(IDLE), scheduler: Mutex::default() });
        let waker = Waker::from(Arc::clone(&own));
        Self { task: Box::pin(task), own, waker }
    }
}

impl<F: Future> Future for Repoll<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { task, own, waker } = &mut *self;
        own.set_scheduler(context.waker());
        for _ in 0..MAX_POLLS {
            own.state.store(POLLING, Ordering::SeqCst);
            let polled = task.as_mut().poll(&mut Context::from_waker(waker));
            if polled.is_ready() || own.end_poll() {
                return polled;
            }
        }
        own.state.store(IDLE, Ordering::SeqCst);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The waker of the inner future.
struct SelfWaker {
    state: AtomicU8,
    scheduler: Mutex<Option<Waker>>,
}

impl SelfWaker {
    fn set_scheduler(&self, scheduler: &Waker) {
        let mut known = self.scheduler.lock();
        if !known.as_ref().is_some_and(|known| known.will_wake(scheduler)) {
            *known = Some(scheduler.clone());
        }
    }

    /// Ends a poll; false if the task was woken meanwhile.
    fn end_poll(&self) -> bool {
        let ended = self.state.compare_exchange(POLLING, IDLE, Ordering::SeqCst, Ordering::SeqCst);
        ended.is_ok()
    }
}

impl Wake for SelfWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = self.state.compare_exchange(POLLING, WOKEN, Ordering::SeqCst, Ordering::SeqCst);
        if noted == Err(IDLE)
            && let Some(scheduler) = &*self.scheduler.lock()
        {
            scheduler.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Scheduler(AtomicUsize);

    impl Wake for Scheduler {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The waker that a task was polled with last, and how often it was polled.
    type Seen = Arc<Mutex<(Option<Waker>, usize)>>;

    /// A task that wakes itself in its first polls.
    fn restless(wakes: usize) -> (impl Future<Output = ()>, Seen) {
        let seen = Seen::default();
        let shared = Arc::clone(&seen);
        let task = poll_fn(move |context| {
            let mut seen = shared.lock();
            *seen = (Some(context.waker().clone()), seen.1 + 1);
            if seen.1 <= wakes {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        });
        (task, seen)
    }

    #[test]
    fn a_task_that_wakes_itself_goes_on_without_the_scheduler() {
        let scheduler = Arc::new(Scheduler::default());
        let waker = Waker::from(Arc::clone(&scheduler));
        let (task, seen) = restless(3);
        let mut repoll = Box::pin(Repoll::new(task));
        assert!(repoll.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!((seen.lock().1, scheduler.0.load(Ordering::SeqCst)), (4, 0));

        // From now on only others wake it.
        let (inner, _) = seen.lock().clone();
        inner.unwrap().wake();
        assert_eq!(scheduler.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_task_that_always_wakes_itself_goes_back_to_the_scheduler() {
        let scheduler = Arc::new(Scheduler::default());
        let waker = Waker::from(Arc::clone(&scheduler));
        let (task, seen) = restless(usize::MAX);
        let mut repoll = Box::pin(Repoll::new(task));
        for turn in 1..4 {
            assert!(repoll.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(seen.lock().1, turn * MAX_POLLS);
            assert_eq!(scheduler.0.load(Ordering::SeqCst), turn, "it is called again");
        }
    }

    #[test]
    fn a_wake_up_goes_to_the_scheduler_that_polled_last() {
        let schedulers = [Arc::new(Scheduler::default()), Arc::new(Scheduler::default())];
        let (task, seen) = restless(0);
        let mut repoll = Box::pin(Repoll::new(task));
        for scheduler in &schedulers {
            let waker = Waker::from(Arc::clone(scheduler));
            assert!(repoll.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let (inner, _) = seen.lock().clone();
        inner.unwrap().wake();
        let calls = schedulers.map(|scheduler| scheduler.0.load(Ordering::SeqCst));
        assert_eq!(calls, [0, 1]);
    }

    #[tokio::test]
    async fn a_wake_up_from_another_thread_is_never_lost() {
        for _ in 0..500 {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let thread = std::thread::spawn(move || sender.send(7));
            assert_eq!(Repoll::new(receiver).await, Ok(7));
            thread.join().unwrap().unwrap();
        }
    }
}
