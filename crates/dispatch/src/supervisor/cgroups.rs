//! Gives each worker and each template a cgroup. Belongs to the thread that starts them.
//!
//! A process is moved to its cgroup before anybody else knows of it, so every guest runs in one.
//! What a worker touches in its first moments may count for the cgroup that it was started in.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tracing::warn;

use wardian_vocabulary::cgroup::{CgroupLimits, CgroupTree, ProcessCgroup};

/// How often a cgroup is tried to be removed at the end, and the pause between two attempts.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// The cgroups that a pool may make.
#[derive(Debug, Clone)]
pub struct WorkerCgroups {
    /// The place for them.
    pub tree: Arc<CgroupTree>,
    /// The limits of each worker and of each template.
    pub limits: CgroupLimits,
    /// No process is started without a cgroup.
    pub is_required: bool,
}

/// What a process is, and so what its cgroup is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    Worker,
    Template,
}

/// The cgroups of the processes of one pool.
#[derive(Debug, Default)]
pub(crate) struct PoolCgroups {
    rules: Option<WorkerCgroups>,
    made: Vec<Arc<ProcessCgroup>>,
    has_warned: bool,
}

impl PoolCgroups {
    pub(crate) fn new(rules: Option<WorkerCgroups>) -> Self {
        Self { rules, made: Vec::new(), has_warned: false }
    }

    /// Moves a process to its own cgroup. Returns nothing if the pool makes none.
    ///
    /// # Errors
    ///
    /// The system refuses it, and every process must have one.
    pub(crate) fn place(
        &mut self,
        what: Placed,
        process: u32,
    ) -> io::Result<Option<Arc<ProcessCgroup>>> {
        let Some(rules) = &self.rules else { return Ok(None) };
        match place(rules, what, process) {
            Ok(cgroup) => {
                let cgroup = Arc::new(cgroup);
                self.made.push(Arc::clone(&cgroup));
                Ok(Some(cgroup))
            }
            Err(error) if rules.is_required => Err(error),
            Err(error) => {
                if !self.has_warned {
                    warn!("workers are started without separate cgroups: {error}");
                    self.has_warned = true;
                }
                Ok(None)
            }
        }
    }

    /// Removes the cgroups of processes that have ended. One that cannot be removed yet is tried
    /// again with the next call.
    pub(crate) fn remove_ended(&mut self) {
        self.made.retain(|cgroup| !cgroup.has_ended() || cgroup.remove().is_err());
    }

    /// Ends whatever is left, and removes all cgroups.
    pub(crate) fn remove_all(&mut self) {
        for attempt in 1..=ATTEMPTS {
            self.made.retain(|cgroup| match cgroup.remove() {
                Ok(()) => false,
                Err(error) => {
                    if attempt == ATTEMPTS {
                        let folder = cgroup.folder().display();
                        warn!("the cgroup `{folder}` cannot be removed: {error}");
                    }
                    true
                }
            });
            if self.made.is_empty() {
                return;
            }
            thread::park_timeout(PAUSE);
        }
    }
}

fn place(rules: &WorkerCgroups, what: Placed, process: u32) -> io::Result<ProcessCgroup> {
    let WorkerCgroups { tree, limits, .. } = rules;
    let cgroup = match what {
        Placed::Worker => tree.make_worker(limits)?,
        Placed::Template => tree.make_template(limits)?,
    };
    match cgroup.enter(process) {
        Ok(()) => Ok(cgroup),
        Err(error) => {
            cgroup.remove()?;
            Err(error)
        }
    }
}
