//! Follows the folders of all roots in its own thread, and publishes changes.
//!
//! The kernel sends notices of most changes. It sends none of changes on remote file systems, of a
//! root whose path leads elsewhere, of writes through a mapping or another name, and of changes in
//! folders without a watch. So folders without watches are polled at a bounded cost, the paths of
//! roots are checked every second, and all folders are walked from time to time.
//!
//! Roots have fair turns (`queue.rs`): a tenant that changes its folders all the time delays changes
//! and walks of others by no more than one check of a folder.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::{error, info, warn};

use crate::registry::changes::log_unreadable;
use crate::registry::folders::notices::{Notice, Notices, WatchId};
use crate::registry::folders::roots::RootsOnDisk;
use crate::registry::folders::scan::{
    OpenRoot, Room, SkillFolder, SkillRoot, Watcher, look_within,
};
use crate::registry::follower_link::FollowerLink;
use crate::registry::queue::{LookAllowance, Queue, QueuedLook, Reason};
use crate::registry::separation::ensure_apart;
use crate::registry::watches::WatchedPlaces;
use wardian_vocabulary::clock::backoff::Backoff;

/// The interval of checking the paths of roots, and the shortest one of polling a folder.
const SECOND: Duration = Duration::from_secs(1);

/// Polling folders takes at most one part in this many of one processor.
const POLL_SHARE: u32 = 20;

/// The shortest interval of walking all folders.
const WALK: Duration = Duration::from_secs(60);

/// Walking takes at most one part in this many of one processor.
const WALK_SHARE: u32 = 200;

/// Longest time without reading new notices.
const SLICE: Duration = Duration::from_millis(50);

/// The waits between attempts to read a folder that is not settled.
const RETRIES: Backoff = Backoff::doubling(SECOND, Duration::from_secs(64));

/// Most queued checks of one root, as a multiple of the folders that it may have. If there are more,
/// the whole root is walked instead.
const MAX_WAITING: usize = 2;

/// Most buffers of notices that are read before other work.
const MAX_BUFFERS: usize = 64;

/// Follows the roots until the registry is dropped.
pub(crate) struct Follower {
    shared: Arc<FollowerLink>,
    disk: RootsOnDisk,
    stop: Arc<OwnedFd>,
    notices: Option<Notices>,
    max_watches: usize,
    owners: WatchedPlaces,
    queue: Queue,
    allowance: LookAllowance,
    /// The time for checking all folders without watches, and their number.
    polled: (Duration, usize),
    has_told_polled: bool,
    publish_at: Instant,
    walk_at: Instant,
    check_at: Instant,
}

impl Follower {
    pub(super) fn new(shared: Arc<FollowerLink>, disk: RootsOnDisk, stop: Arc<OwnedFd>) -> Self {
        let now = Instant::now();
        let max_watches = disk.watching.max_watches;
        let mut follower = Self {
            shared,
            notices: None,
            disk,
            stop,
            max_watches,
            owners: WatchedPlaces::default(),
            queue: Queue::default(),
            allowance: LookAllowance::new(now),
            polled: (Duration::ZERO, 0),
            has_told_polled: false,
            publish_at: now,
            walk_at: now,
            check_at: now,
        };
        follower.notices = follower.disk.notices.take();
        follower.take_over(now);
        follower
    }

    /// Takes over the watches that were set while the folders were read, and queues the folders
    /// that need another check.
    fn take_over(&mut self, now: Instant) {
        for (number, root) in self.disk.roots.iter().enumerate() {
            match root.watch {
                Some(watch) => self.owners.add(watch, QueuedLook::Root(number)),
                None => self.queue.at(QueuedLook::Root(number), now),
            }
            for (name, folder) in &root.folders {
                let place = QueuedLook::Folder(number, Arc::clone(name));
                for watch in &folder.watches {
                    self.owners.add(*watch, place.clone());
                }
                if !folder.is_watched {
                    self.polled = (self.polled.0.saturating_add(folder.cost), self.polled.1 + 1);
                }
                if !folder.is_settled {
                    self.queue.at(place, now + SECOND);
                }
            }
        }
        self.walk_at = now + self.walk_pause();
        let pause = self.poll_pause(Duration::ZERO);
        for (number, root) in self.disk.roots.iter().enumerate() {
            for (name, _) in root.folders.iter().filter(|(_, folder)| !folder.is_watched) {
                self.queue.at(QueuedLook::Folder(number, Arc::clone(name)), now + pause);
            }
        }
    }

    /// Runs until `stop` is readable.
    pub(super) fn run(mut self) {
        let mounts = File::open("/proc/self/mountinfo").ok();
        loop {
            match self.wait(mounts.as_ref()) {
                Ok(Woken { is_over: true, .. }) => return,
                Ok(woken) => {
                    let is_wanted = self.shared.is_walk_wanted.swap(false, Ordering::AcqRel);
                    if woken.has_mounted || is_wanted {
                        self.walk_at = self.walk_at.min(Instant::now());
                    }
                }
                Err(cause) => {
                    error!("changes of skills are no longer noticed: {cause}");
                    return;
                }
            }
            self.replace_tenants();
            self.take_notices();
            self.check();
            self.work();
            self.publish();
        }
    }

    /// Takes other folders of tenants over, and starts again with all places.
    fn replace_tenants(&mut self) {
        let wanted = self.shared.wanted.lock().take();
        let Some(folders) = wanted else { return };
        let gone = self.disk.replace_tenants(folders, self.owners.len());
        let now = Instant::now();
        (self.owners, self.queue) = (WatchedPlaces::default(), Queue::default());
        self.polled = (Duration::ZERO, 0);
        self.take_over(now);
        // Looks that were queued are part of the walk.
        (self.walk_at, self.publish_at) = (now, now);
        let watches = gone.iter().flat_map(SkillRoot::watches);
        let ended: Vec<_> = watches.filter(|watch| self.owners.of(*watch).is_empty()).collect();
        release(self.notices.as_ref(), &ended);
        self.disk.publish(&self.shared);
    }

    fn wait(&mut self, mounts: Option<&File>) -> io::Result<Woken> {
        let now = Instant::now();
        let allowed = self.allowance.at(now);
        let later = |due: Instant, is_allowed: bool| match is_allowed {
            true => due,
            false => due.max(now + SLICE),
        };
        let changed = self.queue.next_changed().map(|due| later(due, allowed.changes));
        let routine = self.queue.next_routine().map(|due| later(due, allowed.routine));
        let publish = self.disk.has_changed().then_some(self.publish_at);
        let next =
            [changed, routine, publish].into_iter().flatten().fold(self.check_at, Instant::min);
        let timeout = next.saturating_duration_since(now);
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut events = vec![PollFd::new(&self.stop, PollFlags::IN)];
        events.extend(mounts.map(|mounts| PollFd::new(mounts, PollFlags::PRI)));
        events.extend(self.notices.iter().map(|notices| PollFd::new(notices, PollFlags::IN)));
        match poll(&mut events, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| events.get(at).is_some_and(|event| !event.revents().is_empty());
        Ok(Woken { is_over: is_ready(0), has_mounted: mounts.is_some() && is_ready(1) })
    }

    /// Queues the folders that the kernel's notices name.
    fn take_notices(&mut self) {
        let Some(notices) = self.notices.take() else { return };
        let now = Instant::now();
        for _ in 0..MAX_BUFFERS {
            let taken = notices.take(|notice| self.note(notice, now));
            match taken {
                Ok(true) => {}
                Ok(false) => break,
                Err(cause) => {
                    warn!(
                        "the kernel's change notifications cannot be read, so all folders are \
                        scanned instead: {cause}"
                    );
                    self.walk_at = now;
                    break;
                }
            }
        }
        self.notices = Some(notices);
    }

    fn note(&mut self, notice: Notice, now: Instant) {
        let (watch, name) = match notice {
            Notice::Overflow => {
                self.walk_at = now;
                return;
            }
            Notice::Ended(watch) => {
                let places = self.owners.end(watch);
                places.into_iter().for_each(|place| self.queue.at(place, now));
                return;
            }
            Notice::Changed(watch, name) => (watch, name),
        };
        for owner in self.owners.of(watch) {
            let place = match (owner, &name) {
                (QueuedLook::Root(root), Some(name)) => {
                    QueuedLook::Folder(*root, Arc::from(name.as_os_str()))
                }
                // The root's own rights or place changed. Its path is checked every second.
                (QueuedLook::Root(_), None) => continue,
                (owner, _) => owner.clone(),
            };
            let last = self.folder(&place).map(|folder| (folder.looked, folder.cost));
            let root = place.root();
            let folders = self.disk.roots.get(root).map_or(0, |root| root.bounds().folders);
            if self.queue.len_of(root) < folders.saturating_mul(MAX_WAITING) {
                self.queue.changed(place, now, last);
            } else {
                // Names that come and go: the list of the root says which of them are there.
                self.queue.at(QueuedLook::Root(root), now + SECOND);
            }
        }
    }

    fn folder(&self, place: &QueuedLook) -> Option<&SkillFolder> {
        match place {
            QueuedLook::Root(_) => None,
            QueuedLook::Folder(root, name) => self.disk.roots.get(*root)?.folders.get(name),
        }
    }

    /// Queues roots whose path leads elsewhere, and all roots if a walk is due.
    fn check(&mut self) {
        let now = Instant::now();
        if now >= self.walk_at {
            (0..self.disk.roots.len()).for_each(|root| self.queue.at(QueuedLook::Root(root), now));
            self.walk_at = now + self.walk_pause();
        }
        if now >= self.check_at {
            for (number, root) in self.disk.roots.iter().enumerate() {
                if !root.is_in_place() {
                    self.queue.at(QueuedLook::Root(number), now);
                }
            }
            self.check_at = now + SECOND;
        }
    }

    fn walk_pause(&self) -> Duration {
        let folders = self.disk.roots.iter().flat_map(|root| root.folders.values());
        let cost = folders.fold(Duration::ZERO, |sum, one| sum.saturating_add(one.cost));
        WALK.max(cost.saturating_mul(WALK_SHARE))
    }

    /// Performs due checks for at most [`SLICE`].
    fn work(&mut self) {
        let started = Instant::now();
        let mut open: HashMap<usize, Option<OpenRoot>> = HashMap::new();
        let mut now = started;
        while now < started + SLICE {
            let Some((reason, place)) = self.queue.pop(now, self.allowance.at(now)) else { break };
            let root = place.root();
            match place {
                QueuedLook::Root(number) => {
                    open.remove(&number);
                    self.list(number);
                }
                QueuedLook::Folder(number, name) => {
                    let root = open.entry(number).or_insert_with(|| self.open(number).ok());
                    match root {
                        Some(root) => self.look_at(number, &name, root),
                        None => self.queue.at(QueuedLook::Root(number), now + SECOND),
                    }
                }
            }
            let after = Instant::now();
            let cost = after.saturating_duration_since(now);
            self.allowance.spend(reason, cost);
            self.queue.spend(reason, root, cost);
            now = after;
        }
        if !self.has_told_polled
            && self.polled.1 > 0
            && self.queue.next().is_none_or(|due| due > now)
        {
            self.has_told_polled = true;
            tell_polled(self.polled.1, self.notices.is_some());
        }
    }

    /// Opens a root. One whose path leads to another folder now must still be apart from those of
    /// other owners.
    fn open(&self, number: usize) -> io::Result<OpenRoot> {
        let root = self.disk.roots.get(number).ok_or(io::ErrorKind::NotFound)?;
        let open = root.open()?;
        if root.has_moved(&open) {
            let others: Vec<_> = self.disk.roots_apart_from(number).collect();
            ensure_apart(open.handle(), &others)?;
        }
        Ok(open)
    }

    /// Lists a root, and queues all folders in it.
    fn list(&mut self, number: usize) {
        let started = Instant::now();
        let opened = self.open(number);
        let Some(root) = self.disk.roots.get_mut(number) else { return };
        let left_out = root.left_out;
        let listed = opened.and_then(|open| root.list(&open).map(|names| (open, names)));
        let unreadable = self.disk.unreadable.get_mut(number);
        let (open, names) = match listed {
            Ok(listed) => {
                unreadable.into_iter().for_each(|flag| *flag = false);
                listed
            }
            Err(cause) => {
                // Logged once, not at every attempt.
                if unreadable.is_some_and(|flag| !std::mem::replace(flag, true)) {
                    log_unreadable(self.disk.label(number), &cause);
                }
                self.queue.at(QueuedLook::Root(number), started + SECOND);
                return;
            }
        };
        let has_changed = left_out != root.left_out;
        let watch = match &self.notices {
            Some(notices) if !open.is_remote => open.watch(notices).ok(),
            _ => None,
        };
        let before = std::mem::replace(&mut root.watch, watch);
        if has_changed {
            self.disk.note_change(number);
        }
        if let Some(before) = before.filter(|_| before != watch)
            && self.owners.leave(before, &QueuedLook::Root(number))
        {
            release(self.notices.as_ref(), &[before]);
        }
        watch.into_iter().for_each(|watch| self.owners.add(watch, QueuedLook::Root(number)));
        let now = Instant::now();
        for name in names {
            self.queue.at(QueuedLook::Folder(number, name), now);
        }
        if watch.is_none() {
            self.queue.at(QueuedLook::Root(number), now + self.poll_pause(started.elapsed()));
        }
    }

    /// The interval of polling a folder.
    fn poll_pause(&self, more: Duration) -> Duration {
        SECOND.max(self.polled.0.saturating_add(more).saturating_mul(POLL_SHARE))
    }

    fn look_at(&mut self, number: usize, name: &Arc<OsStr>, open: &OpenRoot) {
        let place = QueuedLook::Folder(number, Arc::clone(name));
        let left = AtomicUsize::new(self.max_watches.saturating_sub(self.owners.len()));
        let Some(root) = self.disk.roots.get_mut(number) else { return };
        let known = root.take(name);
        let size = AtomicU64::new(root.room());
        let room = Room { left: &size, own: 0, most: root.bounds().bytes };
        if let Some(known) = known.as_ref().filter(|known| !known.is_watched) {
            self.polled =
                (self.polled.0.saturating_sub(known.cost), self.polled.1.saturating_sub(1));
        }
        let (held, was_known) =
            (known.as_ref().map(|known| known.watches.clone()), known.is_some());
        let watcher = self.notices.as_ref().map(|notices| Watcher { notices, left: &left });
        let (mut found, has_changed) = look_within(open, name, known, watcher, room);
        if found.is_some() && !was_known && !root.has_room() {
            let surplus = found.take();
            if root.left_out == 0 {
                self.disk.note_change(number);
            }
            let Some(root) = self.disk.roots.get_mut(number) else { return };
            root.left_out = root.left_out.max(1);
            let watches = surplus.map(|folder| folder.watches).unwrap_or_default();
            let watches: Vec<_> =
                watches.into_iter().filter(|watch| self.owners.of(*watch).is_empty()).collect();
            release(self.notices.as_ref(), &watches);
            return;
        }
        if found.is_none() && root.left_out > 0 && was_known {
            self.queue.at(QueuedLook::Root(number), Instant::now() + SECOND);
        }
        if has_changed {
            self.disk.note_change(number);
        }
        let watches = found.as_ref().map(|found| found.watches.as_slice()).unwrap_or_default();
        for watch in watches {
            self.owners.add(*watch, place.clone());
        }
        let gone = held.iter().flatten().filter(|watch| !watches.contains(watch));
        let gone: Vec<_> =
            gone.filter(|watch| self.owners.leave(**watch, &place)).copied().collect();
        release(self.notices.as_ref(), &gone);

        let Some(found) = found else { return };
        let now = Instant::now();
        if !found.is_settled {
            self.queue.at(place.clone(), now + RETRIES.after(found.unsettled));
        }
        if !found.is_watched {
            self.polled = (self.polled.0.saturating_add(found.cost), self.polled.1 + 1);
            self.queue.at(place, now + self.poll_pause(Duration::ZERO));
        }
        if let Some(root) = self.disk.roots.get_mut(number) {
            root.put(name, found);
        }
    }

    /// Publishes changes, at a rate that takes at most a fifth of one processor.
    fn publish(&mut self) {
        let started = Instant::now();
        self.disk.retire();
        let is_walking = self.queue.next().is_some_and(|due| due <= started);
        let is_due = self.disk.has_changed() && started >= self.publish_at;
        if !is_due || (is_walking && !self.is_late(started)) {
            return;
        }
        // The processor time of this thread: wall-clock time would count other threads on a busy
        // machine.
        let before = worked();
        self.disk.publish(&self.shared);
        let cost = worked().saturating_sub(before);
        self.allowance.spend(Reason::Change, cost);
        self.publish_at = Instant::now() + cost.saturating_mul(4);
    }

    /// True if a change has waited long enough for the check of other folders.
    fn is_late(&self, now: Instant) -> bool {
        now >= self.publish_at + SLICE
    }
}

/// The processor time of this thread.
fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanoseconds)
}

/// The reason why a wait ended.
struct Woken {
    is_over: bool,
    has_mounted: bool,
}

fn release(notices: Option<&Notices>, watches: &[WatchId]) {
    let Some(notices) = notices else { return };
    watches.iter().for_each(|watch| notices.unwatch(*watch));
}

fn tell_polled(folders: usize, has_notices: bool) {
    if has_notices {
        warn!(
            "changes in {folders} folders of skills are noticed late: they are on a remote file \
             system, have more than 64 folders inside, or fs.inotify.max_user_watches is too low"
        );
    } else {
        info!("{folders} folders of skills are polled for changes");
    }
}
