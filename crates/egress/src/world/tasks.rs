//! Tasks that end with the connection they work for.

use std::future::Future;
use std::sync::Arc;

use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinSet};

/// Spawns tasks that its [`TaskScope`] ends.
#[derive(Debug, Clone)]
pub(crate) struct Spawner(Arc<Mutex<JoinSet<()>>>);

/// Ends its tasks when it is dropped.
#[derive(Debug)]
pub(crate) struct TaskScope(Spawner);

impl TaskScope {
    pub(crate) fn new() -> Self {
        Self(Spawner(Arc::new(Mutex::new(JoinSet::new()))))
    }

    pub(crate) const fn spawner(&self) -> &Spawner {
        &self.0
    }
}

impl Drop for TaskScope {
    fn drop(&mut self) {
        self.0.0.lock().abort_all();
    }
}

impl<F> Executor<F> for Spawner
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            drop(future.await);
        });
    }
}

/// Ends a task when it is dropped.
#[derive(Debug)]
pub struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
