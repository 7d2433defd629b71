//! The place in use: the server in `gateway`, and cgroups for the processes that it starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tracing::warn;

use crate::cgroup::place::{
    BACKGROUND, CgroupPlace, CgroupUnavailable, Controller, GATEWAY, KINDS, is_of_a_process,
    members, others_in,
};
use crate::cgroup::process::{CgroupLimits, ProcessCgroup, remove, write};

/// The share of the server in the processors: that of ten workers. It needs little, and at once.
const GATEWAY_WEIGHT: u32 = 1_000;

/// The share of all work with low priority: a tenth of that of one worker.
const BACKGROUND_WEIGHT: u32 = 10;

/// How often the removal of a cgroup is tried, and the pause between two attempts. A killed process
/// needs a moment to end.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Numbers that are tried for a new cgroup.
const NAMES: u32 = 1_000;

/// The cgroups of this server.
#[derive(Debug)]
pub struct CgroupTree {
    folder: PathBuf,
    controllers: Vec<Controller>,
    /// Those that were off before.
    turned_on: Vec<Controller>,
    /// True if the server has moved itself to `gateway`.
    has_moved: bool,
    process: u32,
    next: AtomicU64,
}

impl CgroupTree {
    /// Takes a place: moves this process to `gateway`, turns the controllers on, and removes what a
    /// killed server has left. Workers must not have been started yet.
    ///
    /// # Errors
    ///
    /// The system refuses it, or others came meanwhile. Then the place is as before.
    pub fn take(place: CgroupPlace) -> Result<Self, CgroupUnavailable> {
        let CgroupPlace { folder, has_gateway, controllers, process } = place;
        let has_moved = !has_gateway;
        let (turned_on, next) = (Vec::new(), AtomicU64::new(1));
        let mut tree = Self { folder, controllers, turned_on, has_moved, process, next };
        match tree.set_up() {
            Ok(()) => Ok(tree),
            Err(error) => {
                tree.leave();
                Err(error)
            }
        }
    }

    fn set_up(&mut self) -> Result<(), CgroupUnavailable> {
        let gateway = self.folder.join(GATEWAY);
        if self.has_moved {
            create(&gateway)?;
            let moved = write(&gateway.join("cgroup.procs"), &self.process.to_string());
            moved.map_err(refused("move this process to its own cgroup"))?;
            let others = others_in(&self.folder, self.process)?;
            if others > 0 {
                let folder = self.folder.clone();
                return Err(CgroupUnavailable::Shared { folder, others });
            }
        }
        self.turn_on()?;
        self.remove_old()?;
        let background = self.folder.join(BACKGROUND);
        create(&background)?;
        if self.controllers.contains(&Controller::Cpu) {
            for (folder, weight) in [(gateway, GATEWAY_WEIGHT), (background, BACKGROUND_WEIGHT)] {
                let set = write(&folder.join("cpu.weight"), &weight.to_string());
                set.map_err(refused("set the share of a cgroup"))?;
            }
        }
        Ok(())
    }

    /// Keeps those controllers that can be turned on. One that the place does not have is one less;
    /// another one is still of use.
    fn turn_on(&mut self) -> Result<(), CgroupUnavailable> {
        let file = self.folder.join("cgroup.subtree_control");
        let before = fs::read_to_string(&file).map_err(refused("read the controllers"))?;
        let mut last = None;
        self.controllers.retain(|one| match write(&file, &format!("+{}", one.name())) {
            Ok(()) => true,
            Err(error) => {
                last = Some(error);
                false
            }
        });
        match last.filter(|_| self.controllers.is_empty()) {
            Some(cause) => Err(refused("turn the controllers of a cgroup on")(cause)),
            None => Ok(()),
        }?;
        let was_off = |one: &Controller| before.split_whitespace().all(|name| name != one.name());
        self.turned_on = self.controllers.iter().copied().filter(was_off).collect();
        Ok(())
    }

    /// Removes the cgroups of processes of an earlier server.
    fn remove_old(&self) -> Result<(), CgroupUnavailable> {
        let listing = refused("list cgroups");
        for entry in fs::read_dir(&self.folder).map_err(&listing)? {
            let entry = entry.map_err(&listing)?;
            if is_of_a_process(&entry.file_name().to_string_lossy()) {
                remove_soon(&entry.path())
                    .map_err(refused("remove a cgroup of an earlier server"))?;
            }
        }
        Ok(())
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The controllers that limit each process.
    #[must_use]
    pub fn controllers(&self) -> &[Controller] {
        &self.controllers
    }

    /// The missing controllers.
    #[must_use]
    pub fn missing(&self) -> Vec<Controller> {
        Controller::ALL.into_iter().filter(|one| !self.controllers.contains(one)).collect()
    }

    /// Makes the cgroup of a worker.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn make_worker(&self, limits: &CgroupLimits) -> io::Result<ProcessCgroup> {
        let [worker, _] = KINDS;
        self.make(worker, limits)
    }

    /// Makes the cgroup of a template of workers.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn make_template(&self, limits: &CgroupLimits) -> io::Result<ProcessCgroup> {
        let [_, template] = KINDS;
        self.make(template, limits)
    }

    fn make(&self, kind: &str, limits: &CgroupLimits) -> io::Result<ProcessCgroup> {
        for _ in 0..NAMES {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let folder = self.folder.join(format!("{kind}-{number}"));
            match ProcessCgroup::make(folder, limits, &self.controllers) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Moves a process to those with low priority.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn move_to_background(&self, process: u32) -> io::Result<()> {
        write(&self.folder.join(BACKGROUND).join("cgroup.procs"), &process.to_string())
    }

    /// Makes the place as it was before, if that can be: whoever started the server can start another
    /// one there. The processes of the server must have ended.
    pub fn leave(&self) {
        if let Err(error) = self.restore() {
            warn!("the cgroup `{}` could not be restored: {error}", self.folder.display());
        }
    }

    fn restore(&self) -> io::Result<()> {
        remove_soon(&self.folder.join(BACKGROUND))?;
        if !self.has_moved {
            return Ok(());
        }
        let file = self.folder.join("cgroup.subtree_control");
        for one in &self.turned_on {
            write(&file, &format!("-{}", one.name()))?;
        }
        let gateway = self.folder.join(GATEWAY);
        if members(&gateway).is_ok_and(|all| all.contains(&self.process)) {
            write(&self.folder.join("cgroup.procs"), &self.process.to_string())?;
        }
        fs::remove_dir(gateway)
    }
}

/// Removes a cgroup, and waits a bounded time for the end of its processes.
fn remove_soon(folder: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        if remove(folder).is_ok() {
            return Ok(());
        }
        thread::park_timeout(PAUSE);
    }
    remove(folder)
}

fn create(folder: &Path) -> Result<(), CgroupUnavailable> {
    match fs::create_dir(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
            Err(refused("create a cgroup")(cause))
        }
        _ => Ok(()),
    }
}

fn refused(what: &'static str) -> impl Fn(io::Error) -> CgroupUnavailable {
    move |cause| CgroupUnavailable::System { what, cause }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
