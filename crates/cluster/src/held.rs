//! How far each run is that a server has claimed.

use std::collections::BTreeMap;

/// How far a run is that a server has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HeldStage {
    /// It is prepared, or waits for a worker.
    Claimed,
    /// It has a worker, and is to begin.
    Ready,
    /// The database is asked whether it has begun.
    Asked,
    /// It is executed.
    Begun,
    /// It is to be given back.
    Returning,
    /// The database is asked to take it back.
    Returned,
}

/// The runs that a server has claimed in its epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HeldRuns<K> {
    runs: BTreeMap<K, HeldStage>,
}

impl<K> Default for HeldRuns<K> {
    fn default() -> Self {
        Self { runs: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> HeldRuns<K> {
    /// The stage of a run, if it is held.
    pub(crate) fn stage(&self, run: &K) -> Option<HeldStage> {
        self.runs.get(run).copied()
    }

    /// Puts a run at a stage.
    pub(crate) fn put(&mut self, run: K, stage: HeldStage) {
        self.runs.insert(run, stage);
    }

    /// Puts all runs at one stage to another one, and returns them.
    pub(crate) fn advance(&mut self, from: HeldStage, to: HeldStage) -> Vec<K> {
        let mut moved = Vec::new();
        for (run, stage) in self.runs.iter_mut().filter(|(_, stage)| **stage == from) {
            *stage = to;
            moved.push(run.clone());
        }
        moved
    }

    /// Forgets a run.
    pub(crate) fn remove(&mut self, run: &K) {
        self.runs.remove(run);
    }

    /// Forgets all runs, and returns them with their stages.
    pub(crate) fn take(&mut self) -> BTreeMap<K, HeldStage> {
        std::mem::take(&mut self.runs)
    }

    /// The number of runs at stages that are meant.
    pub(crate) fn count(&self, is_meant: impl Fn(HeldStage) -> bool) -> usize {
        self.runs.values().filter(|stage| is_meant(**stage)).count()
    }
}
