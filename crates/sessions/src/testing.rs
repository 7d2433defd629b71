//! Support for the tests of this crate.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::{
    CellEnd, PackDescription, SessionOrder, SessionSync, SessionTurn, Sessions, SessionsConfig,
    SessionsError, StoredCheckpoint, TurnRequest, UnsealedPack,
};
use wardian_stores::blobs::local::disk::{Disk, LocalDisk};
use wardian_stores::database::{open_key_database, open_sessions};
use wardian_stores::sessions::SessionStore;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The time at which tests begin, in milliseconds since the Unix epoch.
pub(crate) const START: u64 = 1_790_000_000_000;

/// The folders of a server, which can be started several times.
pub(crate) struct Place<D: Disk = LocalDisk> {
    pub(crate) folder: TempDir,
    pub(crate) disk: D,
    pub(crate) config: SessionsConfig,
    pub(crate) time: &'static AtomicU64,
    pub(crate) keys: &'static str,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sessions");
        Self::on(LocalDisk, folder, root)
    }

    /// Names of the packs' files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.config.root).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter(|name| !["lock", "reserve"].contains(&name.as_str())).collect();
        names.sort();
        names
    }
}

impl<D: Disk> Place<D> {
    pub(crate) fn on(disk: D, folder: TempDir, root: PathBuf) -> Self {
        let time = Box::leak(Box::new(AtomicU64::new(START)));
        let (sync, boot) = (SessionSync::Always, Some("one".to_owned()));
        let config = SessionsConfig { sync, boot, ..SessionsConfig::at(root) };
        Self { folder, disk, config, time, keys: "wardian.db" }
    }

    pub(crate) async fn store(&self) -> Arc<dyn SessionStore> {
        open_sessions(&self.folder.path().join("sessions.db"), self.config.sync).await.unwrap()
    }

    /// Starts a server.
    pub(crate) async fn open(&self) -> Sessions<D> {
        let keys = open_key_database(&self.folder.path().join(self.keys)).await.unwrap().sessions;
        loop {
            let (disk, config) = (self.disk.clone(), self.config.clone());
            let (store, keys) = (self.store().await, keys.clone());
            match Sessions::open_on(disk, config, store, keys, Clock::Set(self.time)).await {
                Ok(sessions) => return sessions,
                // The task of the one before may be at its last sync.
                Err(SessionsError::Store { cause, .. }) if cause.to_string().contains("in use") => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(cause) => panic!("{cause}"),
            }
        }
    }

    /// Starts a server that syncs nothing by itself.
    pub(crate) async fn open_still(&self) -> Sessions<D> {
        let sessions = self.open().await;
        if let Some(task) = sessions.0.unsynced.task.lock().take() {
            task.abort();
        }
        sessions
    }

    /// The folders after a loss of power in which the database has lost nothing.
    pub(crate) fn lose_power(&mut self, disk: D) {
        self.disk = disk;
        self.config.boot = Some("another".to_owned());
    }

    pub(crate) fn pass(&self, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap();
        self.time.fetch_add(milliseconds, Ordering::AcqRel);
    }
}

pub(crate) fn acme() -> TenantId {
    TenantId::parse("acme").unwrap()
}

pub(crate) fn order() -> SessionOrder {
    SessionOrder {
        label: None,
        image: Digest::of(b"image"),
        setup: "{}".to_owned(),
        idle: None,
        max_age: None,
    }
}

/// Facts of a pack that continues the one of `head`, or of a whole one.
pub(crate) fn facts(head: Option<&StoredCheckpoint>, bytes: &[u8]) -> PackDescription {
    let base = head.map(|head| &head.pack.description);
    PackDescription {
        sequence: base.map_or(0, |base| base.sequence + 1),
        base: base.map(|base| base.digest),
        digest: Digest::of(bytes),
        size: ByteCount::from(bytes.len()),
    }
}

pub(crate) fn end() -> CellEnd {
    CellEnd { result: Some("done".to_owned()), fuel: None }
}

impl<D: Disk> Sessions<D> {
    /// A new session of `acme`.
    pub(crate) async fn new_session(&self) -> SessionId {
        self.create(&acme(), order()).await.unwrap().id
    }

    pub(crate) async fn turn(&self, session: &SessionId) -> Result<SessionTurn<D>, SessionsError> {
        let order = TurnRequest { source: "x = 1".to_owned(), ..TurnRequest::default() };
        self.take_turn(&acme(), session, order).await
    }

    /// A cell whose state is a delta, or whole if it is the first one.
    pub(crate) async fn run(&self, session: &SessionId, bytes: &[u8]) -> CheckpointId {
        let turn = self.turn(session).await.unwrap();
        let description = facts(turn.head(), bytes);
        turn.commit(description, bytes.to_vec(), end()).await.unwrap()
    }

    /// The packs at which a session is.
    pub(crate) async fn state(&self, session: &SessionId) -> Result<Vec<Vec<u8>>, SessionsError> {
        let turn = self.turn(session).await?;
        let packs = turn.packs(&CallMemory::unlimited()).await;
        turn.roll_back(CellEnd::default()).await?;
        Ok(packs?.into_iter().map(|UnsealedPack { bytes, .. }| bytes).collect())
    }

    pub(crate) async fn head(&self, session: &SessionId) -> Option<CheckpointId> {
        self.find(&acme(), session).await.unwrap().head
    }
}
