//! The idle workers of a pool, in the order of their last use.
//!
//! INVARIANT(one-owner): a worker is handed out for its owner, or for anybody if it has none yet,
//! and never for another.

use crate::isolation::WorkerOwner;
use crate::worker::id::WorkerId;

/// Idle workers. The most recently used one is the last; its memory is still in the caches.
#[derive(Debug)]
pub(crate) struct IdleWorkers<W>(Vec<IdleWorker<W>>);

#[derive(Debug)]
struct IdleWorker<W> {
    id: WorkerId,
    /// The owner; `None` before the first run.
    owner: Option<WorkerOwner>,
    worker: W,
}

impl<W> IdleWorkers<W> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, id: WorkerId) -> bool {
        self.0.iter().any(|idle| idle.id == id)
    }

    /// True if a worker of `owner` is idle.
    pub(crate) fn has_of(&self, owner: &WorkerOwner) -> bool {
        self.0.iter().any(|idle| idle.owner.as_ref() == Some(owner))
    }

    /// True if a worker of anybody is idle.
    pub(crate) fn has_owned(&self) -> bool {
        self.0.iter().any(|idle| idle.owner.is_some())
    }

    /// The number of workers without an owner.
    pub(super) fn fresh(&self) -> usize {
        self.0.iter().filter(|idle| idle.owner.is_none()).count()
    }

    pub(super) fn push(&mut self, id: WorkerId, owner: Option<WorkerOwner>, worker: W) {
        self.0.push(IdleWorker { id, owner, worker });
    }

    pub(super) fn remove(&mut self, id: WorkerId) -> Option<W> {
        self.take_first(|idle| idle.id == id).map(|(_, worker)| worker)
    }

    /// Takes out the least recently used worker for which `is_wanted` holds.
    pub(crate) fn take_if(
        &mut self,
        is_wanted: impl Fn(WorkerId) -> bool,
    ) -> Option<(WorkerId, W)> {
        self.take_first(|idle| is_wanted(idle.id))
    }

    /// Takes out a worker of `owner`: one for which `fits` holds if there is one, and otherwise the
    /// one that was used last.
    pub(crate) fn take_of(
        &mut self,
        owner: &WorkerOwner,
        fits: impl Fn(&W) -> bool,
    ) -> Option<(WorkerId, W)> {
        let is_own = |idle: &IdleWorker<W>| idle.owner.as_ref() == Some(owner);
        let best = self.0.iter().rposition(|idle| is_own(idle) && fits(&idle.worker));
        let at = best.or_else(|| self.0.iter().rposition(is_own))?;
        let IdleWorker { id, worker, .. } = self.0.remove(at);
        Some((id, worker))
    }

    /// Takes out a worker without an owner: one for which `fits` holds if there is one, and
    /// otherwise the one that became ready last.
    pub(crate) fn take_fresh(&mut self, fits: impl Fn(&W) -> bool) -> Option<(WorkerId, W)> {
        let is_fresh = |idle: &IdleWorker<W>| idle.owner.is_none();
        let best = self.0.iter().rposition(|idle| is_fresh(idle) && fits(&idle.worker));
        let at = best.or_else(|| self.0.iter().rposition(is_fresh))?;
        let IdleWorker { id, worker, .. } = self.0.remove(at);
        Some((id, worker))
    }

    /// Takes out the least recently used worker that has an owner.
    pub(crate) fn take_stalest(&mut self) -> Option<(WorkerId, W)> {
        self.take_first(|idle| idle.owner.is_some())
    }

    /// Takes out all workers.
    pub(crate) fn take_all(&mut self) -> Vec<W> {
        std::mem::take(&mut self.0).into_iter().map(|idle| idle.worker).collect()
    }

    fn take_first(&mut self, is_it: impl Fn(&IdleWorker<W>) -> bool) -> Option<(WorkerId, W)> {
        let at = self.0.iter().position(is_it)?;
        let IdleWorker { id, worker, .. } = self.0.remove(at);
        Some((id, worker))
    }
}
