//! The keys of the provider in memory, and the thread that reads them again.
//!
//! A lookup takes a lock for an instant. Keys are read again at an interval, and soon after a token
//! has named a key that does not exist. A token cannot make the server ask more often than every
//! [`PAUSE`], however many tokens there are.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use tracing::{info, warn};

use crate::tenants::caller::UnknownCaller;
use crate::tenants::jwt::config::JwtConfig;
use crate::tenants::jwt::key_set::{KeySet, KeySetFault};
use crate::tenants::jwt::source::{KeySource, KeySourceError};
use wardian_vocabulary::clock::backoff::Backoff;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::Digest;

/// The least time between two requests for the keys.
pub const PAUSE: Duration = Duration::from_secs(5);

/// The interval of looking at a file.
const LOOK: Duration = Duration::from_secs(1);

/// The keys of a provider.
#[derive(Debug)]
pub struct ProviderKeys {
    source: KeySource,
    refresh: Duration,
    max_stale: Duration,
    current: RwLock<Current>,
    wanted: Mutex<Wanted>,
    wake: Condvar,
    counts: Counts,
}

/// The keys as they were last read.
#[derive(Debug, Default)]
struct Current {
    set: Arc<KeySet>,
    content: Option<Digest>,
    read: Option<Instant>,
}

/// What the thread is asked for.
#[derive(Debug, Default)]
struct Wanted {
    refresh: bool,
    stop: bool,
}

#[derive(Debug, Default)]
struct Counts {
    unchanged: AtomicU64,
    changed: AtomicU64,
    failed: AtomicU64,
}

/// The keys of a provider in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeysReport {
    /// The keys that can be used.
    pub keys: usize,
    /// How often they were read and had not changed.
    pub unchanged: u64,
    /// How often they were read and had changed.
    pub changed: u64,
    /// How often they could not be read.
    pub failed: u64,
    /// The time since they were last read, if they ever were.
    pub age: Option<Duration>,
}

impl ProviderKeys {
    /// Prepares to read the keys. A file is read now. An address is asked by the thread, so a server
    /// starts while its provider does not answer.
    ///
    /// # Errors
    ///
    /// The file does not exist or has no key that can be used.
    pub fn open(config: &JwtConfig) -> Result<Self, KeySourceError> {
        let keys = Self {
            source: KeySource::open(&config.keys)?,
            refresh: config.refresh,
            max_stale: config.max_stale,
            current: RwLock::default(),
            wanted: Mutex::default(),
            wake: Condvar::new(),
            counts: Counts::default(),
        };
        if keys.source.is_near() {
            keys.read()?;
        }
        Ok(keys)
    }

    /// The keys as they are now.
    ///
    /// # Errors
    ///
    /// They were never read, or not for so long that a key may have been withdrawn.
    pub fn current(&self) -> Result<Arc<KeySet>, UnknownCaller> {
        let current = self.current.read();
        match current.read {
            Some(read) if read.elapsed() < self.max_stale => Ok(Arc::clone(&current.set)),
            _ => Err(UnknownCaller::Unavailable),
        }
    }

    /// Has the keys read again soon.
    pub fn ask(&self) {
        let mut wanted = self.wanted.lock();
        if !std::mem::replace(&mut wanted.refresh, true) {
            self.wake.notify_one();
        }
    }

    /// The keys in numbers.
    #[must_use]
    pub fn report(&self) -> KeysReport {
        let current = self.current.read();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        KeysReport {
            keys: current.set.len(),
            unchanged: count(&self.counts.unchanged),
            changed: count(&self.counts.changed),
            failed: count(&self.counts.failed),
            age: current.read.map(|read| read.elapsed()),
        }
    }

    /// Starts the thread that reads the keys again, until [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn follow(self: &Arc<Self>) -> io::Result<()> {
        self.announce();
        let keys = Arc::clone(self);
        thread::Builder::new().name("jwks".to_owned()).spawn(move || keys.keep_reading())?;
        Ok(())
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.wanted.lock().stop = true;
        self.wake.notify_all();
    }

    fn keep_reading(&self) {
        let (mut is_failing, mut had_none) = (false, false);
        // Failures in a row are further and further apart.
        let mut backoff = Backoff::doubling(PAUSE, self.refresh);
        let mut pause = Duration::ZERO;
        if self.current.read().read.is_some() {
            pause = self.interval();
        }
        while self.wait(pause) {
            let read = self.read();
            let has_changed = matches!(read, Ok(true));
            let was_failing = std::mem::replace(&mut is_failing, read.is_err());
            pause = match read {
                Ok(_) => {
                    backoff.reset();
                    self.interval()
                }
                Err(_) if self.source.is_near() => LOOK,
                Err(_) => backoff.pause(),
            };
            match read {
                Err(error) if !was_failing || (self.has_none() && !had_none) => warn!(
                    "the keys for tokens cannot be read{}: {}",
                    if self.has_none() {
                        ", so tokens are refused"
                    } else {
                        "; the previous ones stay valid"
                    },
                    CauseChain(&error)
                ),
                Ok(_) if was_failing => info!("the keys for tokens can be read again"),
                Ok(_) | Err(_) => {}
            }
            had_none = self.has_none();
            if has_changed {
                self.announce();
            }
        }
    }

    /// True if no token can be verified.
    fn has_none(&self) -> bool {
        self.current.read().set.len() == 0
    }

    fn interval(&self) -> Duration {
        if self.source.is_near() { LOOK } else { self.refresh }
    }

    /// Waits for `pause`, or a shorter time if a refresh is asked for. Returns false at the end.
    fn wait(&self, pause: Duration) -> bool {
        let began = Instant::now();
        let mut wanted = self.wanted.lock();
        loop {
            if wanted.stop {
                return false;
            }
            let pause = if wanted.refresh { pause.min(PAUSE) } else { pause };
            let left = pause.saturating_sub(began.elapsed());
            if left.is_zero() {
                wanted.refresh = false;
                return true;
            }
            self.wake.wait_for(&mut wanted, left);
        }
    }

    /// Reads the keys. If that fails, those of before stay; but if the provider names keys of which
    /// none can be used, it has withdrawn those of before. Returns true if they have changed.
    fn read(&self) -> Result<bool, KeySourceError> {
        let began = Instant::now();
        let read = self.source.read().and_then(|bytes| self.take(&bytes, began));
        let count = match read {
            Ok(true) => &self.counts.changed,
            Ok(false) => &self.counts.unchanged,
            Err(_) => &self.counts.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        read
    }

    /// Logs which keys exist.
    fn announce(&self) {
        let (set, place) = (Arc::clone(&self.current.read().set), self.source.place());
        if set.len() > 0 {
            info!("tokens are verified with {} keys of `{place}`", set.len());
        }
        for reason in set.unused.iter().take(10) {
            warn!("a key of `{place}` is not used: {reason}");
        }
    }

    /// Takes a set over. Returns true if it is another one.
    fn take(&self, bytes: &[u8], began: Instant) -> Result<bool, KeySourceError> {
        let content = Digest::of(bytes);
        if self.current.read().content == Some(content) {
            self.current.write().read = Some(began);
            return Ok(false);
        }
        let set = KeySet::parse(bytes).map_err(|fault| {
            if matches!(fault, KeySetFault::Unusable(_)) {
                // Without its digest the content is read, and reported, each time.
                let (set, content) = (Arc::default(), None);
                *self.current.write() = Current { set, content, read: Some(began) };
            }
            KeySourceError::Content { place: self.source.place(), fault }
        })?;
        let current = Current { set: Arc::new(set), content: Some(content), read: Some(began) };
        *self.current.write() = current;
        Ok(true)
    }
}
