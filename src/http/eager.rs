//! Goes on at once with a connection that has woken itself.
//!
//! # Why
//!
//! Whoever reads a request's body wakes the task that waits for it, and that is the same task.
//! The scheduler takes it for work that another thread could do: it puts the task at the end of
//! its queue and wakes a thread that sleeps. That is one more change of threads for each request,
//! on processors that guests want.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

/// Polls in a row before others get their turn: a request needs two or three.
const PATIENCE: usize = 8;

/// Nobody polls: a call for the task has to reach the scheduler.
const IDLE: u8 = 0;
/// The task is being polled.
const POLLING: u8 = 1;
/// The task is being polled, and was called for meanwhile.
const CALLED: u8 = 2;

/// A future that is polled again, a few times at most, if it was woken while it was polled.
pub(crate) struct Eager<F> {
    task: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
}

impl<F: Future> Eager<F> {
    pub(crate) fn new(task: F) -> Self {
        let bell = Arc::new(Bell { state: AtomicU8::new(IDLE), scheduler: Mutex::default() });
        let waker = Waker::from(Arc::clone(&bell));
        Self { task: Box::pin(task), bell, waker }
    }
}

impl<F: Future> Future for Eager<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { task, bell, waker } = &mut *self;
        bell.leads_to(context.waker());
        for _ in 0..PATIENCE {
            bell.state.store(POLLING, Ordering::SeqCst);
            let polled = task.as_mut().poll(&mut Context::from_waker(waker));
            if polled.is_ready() || bell.falls_silent() {
                return polled;
            }
        }
        bell.state.store(IDLE, Ordering::SeqCst);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// What the inner future is woken by.
struct Bell {
    state: AtomicU8,
    scheduler: Mutex<Option<Waker>>,
}

impl Bell {
    fn leads_to(&self, scheduler: &Waker) {
        let mut known = self.scheduler.lock();
        if !known.as_ref().is_some_and(|known| known.will_wake(scheduler)) {
            *known = Some(scheduler.clone());
        }
    }

    /// Ends a poll; false if the task was called for meanwhile.
    fn falls_silent(&self) -> bool {
        let ended = self.state.compare_exchange(POLLING, IDLE, Ordering::SeqCst, Ordering::SeqCst);
        ended.is_ok()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted =
            self.state.compare_exchange(POLLING, CALLED, Ordering::SeqCst, Ordering::SeqCst);
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
        let mut eager = Box::pin(Eager::new(task));
        assert!(eager.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!((seen.lock().1, scheduler.0.load(Ordering::SeqCst)), (4, 0));

        // From now on it waits for others.
        let (inner, _) = seen.lock().clone();
        inner.unwrap().wake();
        assert_eq!(scheduler.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_task_that_never_rests_lets_others_have_their_turn() {
        let scheduler = Arc::new(Scheduler::default());
        let waker = Waker::from(Arc::clone(&scheduler));
        let (task, seen) = restless(usize::MAX);
        let mut eager = Box::pin(Eager::new(task));
        for turn in 1..4 {
            assert!(eager.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(seen.lock().1, turn * PATIENCE);
            assert_eq!(scheduler.0.load(Ordering::SeqCst), turn, "it is called again");
        }
    }

    #[test]
    fn a_call_goes_to_the_scheduler_that_polled_last() {
        let schedulers = [Arc::new(Scheduler::default()), Arc::new(Scheduler::default())];
        let (task, seen) = restless(0);
        let mut eager = Box::pin(Eager::new(task));
        for scheduler in &schedulers {
            let waker = Waker::from(Arc::clone(scheduler));
            assert!(eager.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let (inner, _) = seen.lock().clone();
        inner.unwrap().wake();
        let calls = schedulers.map(|scheduler| scheduler.0.load(Ordering::SeqCst));
        assert_eq!(calls, [0, 1]);
    }

    #[tokio::test]
    async fn a_call_from_another_thread_is_never_lost() {
        for _ in 0..500 {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let thread = std::thread::spawn(move || sender.send(7));
            assert_eq!(Eager::new(receiver).await, Ok(7));
            thread.join().unwrap().unwrap();
        }
    }
}
