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

    /// True if a worker of anybody is idle for which `is_wanted` holds.
    pub(crate) fn has_owned(&self, is_wanted: impl Fn(WorkerId) -> bool) -> bool {
        self.0.iter().any(|idle| idle.owner.is_some() && is_wanted(idle.id))
    }

    /// A worker that stays idle.
    pub(super) fn get_mut(&mut self, id: WorkerId) -> Option<&mut W> {
        self.0.iter_mut().find(|idle| idle.id == id).map(|idle| &mut idle.worker)
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

    /// Takes out the worker of `owner` that has the highest rank, and of those the one that was used last.
    /// A worker without a rank is left.
    pub(crate) fn take_of<R: Ord>(
        &mut self,
        owner: &WorkerOwner,
        rank: impl Fn(WorkerId, &W) -> Option<R>,
    ) -> Option<(WorkerId, W)> {
        let own = self.0.iter().enumerate().filter(|(_, idle)| idle.owner.as_ref() == Some(owner));
        let ranked = own.filter_map(|(at, idle)| Some((rank(idle.id, &idle.worker)?, at)));
        let (_, at) = ranked.max()?;
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

    /// Takes out the least recently used worker that has an owner and for which `is_wanted` holds.
    pub(crate) fn take_stalest(
        &mut self,
        is_wanted: impl Fn(WorkerId) -> bool,
    ) -> Option<(WorkerId, W)> {
        self.take_first(|idle| idle.owner.is_some() && is_wanted(idle.id))
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
