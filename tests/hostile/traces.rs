//! The traces that a run may leave: memory, handles, threads, processes, files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::TestServer;

/// How long what a run has used may take to be given back: the server keeps idle threads for ten
/// seconds, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory by which a process may have grown for good. The free heap that a worker keeps between
/// runs levels off below this; what is leaked at each run of the corpus adds up to more.
const MAX_GROWTH: u64 = 64 << 20;

/// Growth of deleted files that are still open. What a server holds are the images and what is
/// mounted, which do not change.
const MAX_DELETED: u64 = 1 << 20;

/// Threads by which a server may have grown: those that wait for disks stay for a while after
/// their work, in case there is more.
const MAX_WAITING: usize = 4;

/// The state of a server and of its workers between two runs.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// Bytes of memory that belong to each process alone. Pages of files count for nothing: native
    /// code and images come in as they are touched, and go when the machine wants them back.
    memory: BTreeMap<u32, u64>,
    threads: usize,
    handles: usize,
    /// Bytes of files that are deleted and still open.
    deleted: u64,
}

impl Traces {
    /// Measures a server from outside.
    pub(crate) fn of(server: &TestServer) -> Self {
        let mut traces = Self::default();
        let workers = server.workers();
        for id in workers.iter().map(|worker| worker.id).chain([server.process().id]) {
            traces.memory.insert(id, status(id, "RssAnon:") << 10);
            traces.threads += usize::try_from(status(id, "Threads:")).unwrap();
            traces.count_handles(id);
        }
        traces
    }

    fn count_handles(&mut self, id: u32) {
        // A worker's are visible to those alone who may look into any process.
        for entry in fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten() {
            self.handles += 1;
            let path = entry.path();
            let target = fs::read_link(&path).unwrap_or_default();
            if target.to_string_lossy().ends_with("(deleted)") {
                self.deleted += fs::metadata(&path).map_or(0, |file| file.len());
            }
        }
    }

    /// True if more files are open than before.
    pub(crate) const fn holds_more_than(&self, before: &Self) -> bool {
        self.deleted > before.deleted + MAX_DELETED
    }

    /// Describes what has grown beyond its tolerance.
    fn beyond(&self, before: &Self) -> Option<String> {
        let is_larger = |(id, memory): (&u32, &u64)| {
            before.memory.get(id).is_none_or(|before| *memory > before + MAX_GROWTH)
        };
        let grown = self.memory.iter().any(is_larger)
            || self.threads > before.threads + MAX_WAITING
            || self.handles > before.handles
            || self.deleted > before.deleted + MAX_DELETED
            || self.memory.len() != before.memory.len();
        grown.then(|| format!("there is more than before: {self:?}, not {before:?}"))
    }

    /// Waits until a server is as it was `before`. The error describes the remaining traces.
    pub(crate) fn vanish(server: &TestServer, before: &Self) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let Some(excess) = Self::of(server).beyond(before) else { return Ok(()) };
            if start.elapsed() > PATIENCE {
                return Err(excess);
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// The number of processes that have ended.
    pub(crate) fn lost(&self, server: &TestServer) -> usize {
        let now = Self::of(server);
        self.memory.keys().filter(|id| !now.memory.contains_key(id)).count()
    }
}

/// A number in `/proc/<id>/status`.
fn status(id: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// All files and folders below a folder, with the content of files that are small.
pub(crate) fn contents(folder: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let mut found = BTreeSet::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path.clone());
            }
            let is_small =
                fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() < 1 << 20);
            let content = if is_small { fs::read(&path).unwrap() } else { Vec::new() };
            found.insert((path, content));
        }
    }
    found
}
