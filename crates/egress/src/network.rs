//! The network of one run: the operations that its guest has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::error::{NetworkError, errno};
use crate::guest::activity::TaskActivity;
use crate::guest::pipe::{Pipe, StreamRead};
use crate::guest::session::{Session, World};
use crate::meter::{Meter, NetworkSummary};
use crate::names::KnownNames;
use crate::policy::rules::NetworkRules;
use crate::policy::target::{Destination, HostName};
use crate::scripted::{Conversation, NetworkScript};
use crate::world::metered::{Counting, FirstFailure};
use crate::world::tasks::AbortOnDrop;

/// Connections that a run may have open.
pub(crate) const MAX_HANDLES: usize = 64;

/// Maximum number of bytes of one read.
pub(crate) const MAX_READ: usize = 1 << 20;

/// Number of a connection within its run. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionHandle(pub u32);

/// What a connection is waited for, or ready for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamReadiness {
    /// A read gives bytes, the end or an error.
    pub is_readable: bool,
    /// A write takes bytes or gives an error; connecting is over.
    pub is_writable: bool,
    /// The connection failed. Output only: reported whether or not it was requested.
    pub has_failed: bool,
}

impl StreamReadiness {
    /// Waits for bytes, the end or an error.
    pub const READ: Self = Self { is_readable: true, is_writable: false, has_failed: false };
    /// Waits for room, or until connecting is over.
    pub const WRITE: Self = Self { is_readable: false, is_writable: true, has_failed: false };
    /// Waits for either.
    pub const BOTH: Self = Self { is_readable: true, is_writable: true, has_failed: false };

    const fn is_any(self) -> bool {
        self.is_readable || self.is_writable || self.has_failed
    }
}

/// How much of a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedPart {
    /// The guest writes no more and still reads.
    Writing,
    /// All of it. The handle is gone.
    Everything,
}

#[derive(Debug)]
struct OpenConnection {
    pipe: Arc<Pipe>,
    /// Present in recorded and replayed runs.
    activity: Option<Arc<TaskActivity>>,
    _task: AbortOnDrop,
}

#[derive(Debug, Default)]
struct Connections {
    last: u32,
    open: BTreeMap<ConnectionHandle, OpenConnection>,
}

/// The network of a run. Dropping it ends every connection at once.
#[derive(Debug)]
pub struct RunNetwork {
    world: Arc<World>,
    rules: Arc<NetworkRules>,
    names: Arc<KnownNames>,
    meter: Arc<Meter>,
    changed: Arc<Notify>,
    connections: Mutex<Connections>,
    script: Option<Arc<NetworkScript>>,
}

impl RunNetwork {
    pub(crate) fn new(world: Arc<World>, rules: NetworkRules, meter: Meter) -> Self {
        Self {
            world,
            rules: Arc::new(rules),
            names: Arc::default(),
            meter: Arc::new(meter),
            changed: Arc::new(Notify::new()),
            connections: Mutex::default(),
            script: None,
        }
    }

    /// The same network, recorded or replayed.
    pub fn scripted(self, script: Arc<NetworkScript>) -> Self {
        Self { script: Some(script), ..self }
    }

    /// Finds out whether there is such a name. Names that no rule grants are not looked up.
    ///
    /// # Errors
    ///
    /// `EACCES` if the rules do not grant the name or it has an address that is not public,
    /// `ETIMEDOUT`, `EDQUOT` after too many look-ups.
    pub async fn resolve(&self, name: &str) -> Result<bool, NetworkError> {
        match self.script.as_deref() {
            None => self.looked_up(name).await,
            Some(NetworkScript::Replays(player)) => player.look_up(name),
            Some(NetworkScript::Records(recorder)) => {
                recorder.look_up(name, self.looked_up(name).await)
            }
        }
    }

    async fn looked_up(&self, name: &str) -> Result<bool, NetworkError> {
        let refused = |error: &NetworkError| self.note_refusal(error, name);
        let host = self.rules.check_name(name).inspect_err(refused)?;
        if let Some(recording) = &self.world.recording {
            return Ok(recording.has_host(&host));
        }
        match self.names.resolve(&self.world.dialer, &self.meter, &host).await {
            Ok(_) => Ok(true),
            Err(error) if error.errno() == errno::EHOSTUNREACH => Ok(false),
            Err(error) => {
                refused(&error);
                Err(error)
            }
        }
    }

    /// Begins to connect, and returns at once. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// `EACCES` with the line that the manifest would need, `EMFILE`, `EDQUOT`.
    pub fn start(&self, host: &str, port: u16) -> Result<ConnectionHandle, NetworkError> {
        match self.script.as_deref() {
            None => self.connect(self.granted(host, port)?, None),
            Some(NetworkScript::Records(recorder)) => {
                let granted = self.granted(host, port);
                let granted = granted.inspect_err(|error| recorder.refuse(host, port, error));
                self.connect(granted?, None)
            }
            Some(NetworkScript::Replays(player)) => {
                let connected = player.connect(host, port)?;
                let name = HostName::parse(host).map_err(|_wrong| unknown_handle())?;
                self.connect(Destination { host: name, port }, connected.err())
            }
        }
    }

    /// Checks a connection against the rules and the limits of the run, and counts it.
    fn granted(&self, host: &str, port: u16) -> Result<Destination, NetworkError> {
        let refused = |error: &NetworkError| self.note_refusal(error, host);
        let destination = self.rules.check_destination(host, port).inspect_err(refused)?;
        if self.connections.lock().open.len() >= MAX_HANDLES {
            let text = format!("the run has reached its limit of {MAX_HANDLES} open connections");
            return Err(NetworkError::new(errno::EMFILE, text));
        }
        self.meter.add_connection()?;
        Ok(destination)
    }

    /// Begins a connection. In a repetition, `refused` says why the recorded one was not made.
    fn connect(
        &self,
        destination: Destination,
        refused: Option<NetworkError>,
    ) -> Result<ConnectionHandle, NetworkError> {
        let mut connections = self.connections.lock();
        if connections.open.len() >= MAX_HANDLES {
            return Err(unknown_handle());
        }
        let pipe = Pipe::new(Arc::clone(&self.changed));
        let session = Session {
            world: Arc::clone(&self.world),
            rules: Arc::clone(&self.rules),
            names: Arc::clone(&self.names),
            counting: Counting {
                meter: Arc::clone(&self.meter),
                host: self.meter.host(Some(&destination.host)),
                failure: FirstFailure::default(),
            },
            destination,
            pipe: Arc::clone(&pipe),
        };
        connections.last = connections.last.saturating_add(1);
        let handle = ConnectionHandle(connections.last);
        let (task, activity) = match &self.script {
            None => (tokio::spawn(session.run()), None),
            Some(script) => {
                let activity = TaskActivity::new(Arc::clone(&self.changed));
                let (script, noted) = (Arc::clone(script), Arc::clone(&activity));
                let number = handle.0;
                let task = Conversation { session, script, activity: noted, number, refused };
                (tokio::spawn(activity.observe(task.run())), Some(activity))
            }
        };
        let task = AbortOnDrop(task.abort_handle());
        connections.open.insert(handle, OpenConnection { pipe, activity, _task: task });
        Ok(handle)
    }

    /// In a recorded or replayed run, waits until nothing is under way any more: then only the
    /// guest can change what it sees.
    ///
    /// Cancellation: a wait ends at once.
    pub async fn settle(&self) {
        while self.script.is_some() {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let is_settled = {
                let connections = self.connections.lock();
                let mut activities =
                    connections.open.values().filter_map(|one| one.activity.as_ref());
                activities.all(|activity| activity.is_settled())
            };
            if is_settled {
                return;
            }
            changed.await;
        }
    }

    /// Waits until a connection is ready for what is asked, or until `timeout` is over; without
    /// one, as long as it takes. Gives those that are ready, in the order of `wishes`.
    ///
    /// # Errors
    ///
    /// `EBADF` for an unknown handle, `EINVAL` for a wait that nothing can end.
    pub async fn poll(
        &self,
        wishes: &[(ConnectionHandle, StreamReadiness)],
        timeout: Option<Duration>,
    ) -> Result<Vec<(ConnectionHandle, StreamReadiness)>, NetworkError> {
        if wishes.len() > MAX_HANDLES {
            return Err(NetworkError::new(errno::EINVAL, "too many connections to wait for"));
        }
        let wishes = wishes.iter().map(|(handle, wish)| Ok((*handle, self.pipe(*handle)?, *wish)));
        let wishes = wishes.collect::<Result<Vec<_>, NetworkError>>()?;
        if wishes.is_empty() && timeout.is_none() {
            return Err(NetworkError::new(errno::EINVAL, "nothing to wait for"));
        }
        let ready = || {
            let states = wishes.iter().map(|(handle, pipe, wish)| (*handle, state_of(pipe, *wish)));
            let ready: Vec<_> = states.filter(|(_, state)| state.is_any()).collect();
            (!ready.is_empty()).then_some(ready)
        };
        Ok(self.wait(timeout, ready).await.unwrap_or_default())
    }

    /// Takes up to `max` bytes, at most [`MAX_READ`], waiting for them up to `timeout`; without
    /// one, as long as it takes.
    ///
    /// # Errors
    ///
    /// The failure of the connection, after the bytes that came before it. `EBADF`.
    pub async fn read(
        &self,
        handle: ConnectionHandle,
        max: usize,
        timeout: Option<Duration>,
    ) -> Result<StreamRead, NetworkError> {
        let pipe = self.pipe(handle)?;
        let max = max.clamp(1, MAX_READ);
        let arrived = || match pipe.take(max) {
            Ok(StreamRead::Nothing) => None,
            result => Some(result),
        };
        self.wait(timeout, arrived).await.unwrap_or(Ok(StreamRead::Nothing))
    }

    /// Gives bytes to a connection and returns how many it takes; fewer, or none, if its buffer is
    /// full. Of nothing, tells how connecting went.
    ///
    /// # Errors
    ///
    /// The failure of the connection; `ENOTCONN` before it stands, `EPIPE` after its end, `EBADF`.
    pub fn write(&self, handle: ConnectionHandle, bytes: &[u8]) -> Result<usize, NetworkError> {
        self.pipe(handle)?.put(bytes)
    }

    /// Closes a connection, or its writing half.
    ///
    /// # Errors
    ///
    /// `EBADF` for an unknown handle.
    pub fn close(&self, handle: ConnectionHandle, closing: ClosedPart) -> Result<(), NetworkError> {
        match closing {
            ClosedPart::Writing => self.pipe(handle)?.shut(),
            ClosedPart::Everything => {
                let closed = self.connections.lock().open.remove(&handle);
                drop(closed.ok_or_else(unknown_handle)?);
                self.changed.notify_waiters();
            }
        }
        Ok(())
    }

    /// What the run did so far: hosts and numbers, for the log and the record of the run.
    #[must_use]
    pub fn summary(&self) -> NetworkSummary {
        self.meter.summary()
    }

    /// The rules of the run, for code that has URLs rather than streams.
    #[must_use]
    pub fn rules(&self) -> &NetworkRules {
        &self.rules
    }

    fn pipe(&self, handle: ConnectionHandle) -> Result<Arc<Pipe>, NetworkError> {
        let connections = self.connections.lock();
        let connection = connections.open.get(&handle).ok_or_else(unknown_handle)?;
        Ok(Arc::clone(&connection.pipe))
    }

    fn note_refusal(&self, error: &NetworkError, host: &str) {
        if error.errno() == errno::EACCES {
            self.meter.add_refusal(HostName::parse(host).ok().as_ref());
        }
    }

    /// Waits until `ask` gives something.
    async fn wait<T>(
        &self,
        timeout: Option<Duration>,
        mut ask: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        // What is not there is not under way either.
        let timeout = if self.script.is_some() { Some(Duration::ZERO) } else { timeout };
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(answer) = ask() {
                return Some(answer);
            }
            match deadline {
                None => changed.await,
                Some(deadline) if deadline <= Instant::now() => return None,
                Some(deadline) => {
                    tokio::select! {
                        () = changed => {}
                        () = sleep_until(deadline) => {}
                    }
                }
            }
        }
    }
}

fn state_of(pipe: &Pipe, wish: StreamReadiness) -> StreamReadiness {
    StreamReadiness {
        is_readable: wish.is_readable && pipe.is_readable(),
        is_writable: wish.is_writable && pipe.is_writable(),
        has_failed: pipe.has_failed(),
    }
}

fn unknown_handle() -> NetworkError {
    NetworkError::new(errno::EBADF, "Bad file descriptor")
}
