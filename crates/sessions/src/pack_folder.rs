//! Packs as files: a draft, a rename, and a sync of each and of the folder, before the answer or after it.
//! Its operations block.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracing::{error, warn};

use crate::error::SessionsError;
use crate::keys::{PackKey, random, unusable};
use crate::seal::{FRAME, HEAD, MAGIC, PackSealer, SALT, TAG, sealed_size};
use wardian_stores::blobs::local::disk::{Disk, ensure_private_folder};
use wardian_stores::sessions::{PackDescription, PackId, SessionSync, StoredPack};
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Prefix of the names of drafts.
const DRAFT: &str = "draft-";

/// A file that is given up when the disk is full, so that sessions can be closed then.
const RESERVE: &str = "reserve";

/// The folder of the images that sessions began as, which others keep.
pub(crate) const IMAGES: &str = "images";

/// The folder of packs that the database did not know, which nobody reads.
pub(crate) const ORPHANS: &str = "orphans";

/// Bytes of that file: enough for the changes of a database that remove sessions.
const RESERVED: usize = 1 << 20;

/// The folder of packs.
#[derive(Debug)]
pub(crate) struct PackFolder<D: Disk> {
    disk: D,
    root: PathBuf,
    next_draft: AtomicU64,
    sync: SessionSync,
    /// True once something could not be synced: the kernel may have dropped a change and the failure, so
    /// nothing can be promised until the next start.
    is_sealed: AtomicBool,
    /// The folder is locked as long as this file is open.
    _lock: D::File,
}

/// The reason why a pack was not read.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// It is not as it was stored, or is gone.
    Damaged,
    /// The disk failed.
    Failed(io::Error),
}

impl<D: Disk> PackFolder<D> {
    /// Opens the folder, which is made if it does not exist, and removes drafts.
    pub(crate) fn open(disk: D, root: PathBuf, sync: SessionSync) -> Result<Self, SessionsError> {
        let failed = || SessionsError::from_disk("open");
        ensure_private_folder(&disk, &root).map_err(failed())?;
        let lock = disk.lock(&root.join("lock")).map_err(failed())?;
        let lock = lock.ok_or_else(|| SessionsError::Store {
            what: "open",
            cause: "it is in use by another server".into(),
        })?;
        let folder = Self {
            disk,
            root,
            next_draft: AtomicU64::new(0),
            sync,
            is_sealed: AtomicBool::new(false),
            _lock: lock,
        };
        for entry in folder.disk.list(&folder.root).map_err(failed())? {
            if entry.is_file && entry.name.starts_with(DRAFT) {
                folder.disk.remove(&folder.root.join(&entry.name)).map_err(failed())?;
            }
        }
        Ok(folder)
    }

    /// The packs that have a file.
    pub(crate) fn list(&self) -> Result<Vec<PackId>, SessionsError> {
        let mut packs = Vec::new();
        let mut each = |name: &str| match parse_name(name) {
            Some(pack) => packs.push(pack),
            None if ["lock", RESERVE, IMAGES, ORPHANS].contains(&name) => {}
            None => warn!(file.name = name, "left alone: not a pack of a session"),
        };
        self.disk.for_each_name(&self.root, &mut each).map_err(SessionsError::from_disk("open"))?;
        Ok(packs)
    }

    /// Sets room on the disk aside. Without room there is nothing to set aside.
    pub(crate) fn reserve(&self) {
        let path = self.root.join(RESERVE);
        let there = self.disk.open(&path).and_then(|file| self.disk.stamp(&file));
        // After a loss of power the file may be empty.
        if there.is_ok_and(|stamp| stamp.size >= ByteCount::from(RESERVED).as_u64()) {
            return;
        }
        let draft = self.root.join(format!("{DRAFT}{RESERVE}"));
        let made = self.disk.create(&draft).and_then(|mut file| {
            // A file with holes would take no room.
            self.write_all(&mut file, &vec![1; RESERVED])?;
            self.disk.rename(&draft, &path)
        });
        if made.is_err() {
            self.discard(&draft);
        }
    }

    /// Gives the room back that was set aside. True if there was any.
    pub(crate) fn give_up_reserve(&self) -> bool {
        self.disk.remove(&self.root.join(RESERVE)).is_ok()
    }

    /// Seals a pack and writes it. When this returns, it survives the end of the server; it survives a loss
    /// of power if that is waited for. After an error there is no file.
    pub(crate) fn write(
        &self,
        pack: &PackId,
        description: &PackDescription,
        key: &PackKey,
        bytes: &[u8],
    ) -> Result<(), SessionsError> {
        self.ensure_open()?;
        let salt = random::<SALT>()?;
        let sealer =
            PackSealer::new(key.as_bytes(), &salt, pack, description).ok_or_else(unusable)?;
        let number = self.next_draft.fetch_add(1, Ordering::Relaxed);
        let (draft, path) = (self.root.join(format!("{DRAFT}{number}")), self.path(pack));
        let written = self.write_draft(&draft, &sealer, &salt, bytes);
        let written = written.and_then(|()| self.disk.rename(&draft, &path));
        if let Err(cause) = written {
            self.discard(&draft);
            // The rename may have had its effect.
            self.discard(&path);
            return Err(SessionsError::from_disk("write to")(cause));
        }
        if self.sync == SessionSync::Second {
            return Ok(());
        }
        if let Err(cause) = self.disk.sync_folder(&self.root) {
            self.discard(&path);
            return Err(self.seal_up(cause));
        }
        Ok(())
    }

    /// Makes packs survive a loss of power. Those that are gone need not.
    pub(crate) fn sync(&self, packs: &[PackId]) -> Result<(), SessionsError> {
        self.ensure_open()?;
        for pack in packs {
            let synced = match self.disk.open(&self.path(pack)) {
                Ok(file) => self.disk.sync_file(&file),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(cause) => Err(cause),
            };
            synced.map_err(|cause| self.seal_up(cause))?;
        }
        self.disk.sync_folder(&self.root).map_err(|cause| self.seal_up(cause))
    }

    /// True once no more packs are accepted.
    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed.load(Ordering::Acquire)
    }

    fn ensure_open(&self) -> Result<(), SessionsError> {
        if !self.is_sealed() {
            return Ok(());
        }
        let cause = "an earlier change may be lost; restart the server".into();
        Err(SessionsError::Store { what: "write to", cause })
    }

    fn seal_up(&self, cause: io::Error) -> SessionsError {
        self.is_sealed.store(true, Ordering::Release);
        error!(
            error = %cause,
            "the store of sessions accepts no more packs: its files could not be synced"
        );
        SessionsError::from_disk("write to")(cause)
    }

    fn write_draft(
        &self,
        draft: &Path,
        sealer: &PackSealer,
        salt: &[u8; SALT],
        bytes: &[u8],
    ) -> io::Result<()> {
        let mut file = self.disk.create(draft)?;
        self.write_all(&mut file, &[MAGIC.as_slice(), salt].concat())?;
        let mut frame = Vec::with_capacity(FRAME.saturating_add(TAG));
        let mut rest = bytes;
        for number in 0..sealer.frames() {
            let (part, behind) = rest.split_at_checked(FRAME).unwrap_or((rest, &[]));
            rest = behind;
            frame.clear();
            frame.extend_from_slice(part);
            sealer.seal(number, &mut frame).ok_or(io::ErrorKind::InvalidInput)?;
            self.write_all(&mut file, &frame)?;
        }
        match self.sync {
            SessionSync::Second => Ok(()),
            SessionSync::Always => self.disk.sync_file(&file),
        }
    }

    fn write_all(&self, file: &mut D::File, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.disk.write(file, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a pack and opens its seal: all of it, as it was stored, or nothing.
    pub(crate) fn read(&self, pack: &StoredPack, key: &PackKey) -> Result<Vec<u8>, ReadFault> {
        let mut bytes = Vec::new();
        let size = pack.description.size.as_usize();
        self.for_each_frame(pack, key, &mut |frame| {
            if bytes.is_empty() {
                bytes.reserve_exact(size);
            }
            bytes.extend_from_slice(frame);
        })?;
        Ok(bytes)
    }

    /// Reads a pack to see that it is as it was stored.
    pub(crate) fn check(&self, pack: &StoredPack, key: &PackKey) -> Result<(), ReadFault> {
        self.for_each_frame(pack, key, &mut |_frame| {})
    }

    /// Calls `each` with every frame of a pack. No memory is taken for what a changed row says.
    fn for_each_frame(
        &self,
        pack: &StoredPack,
        key: &PackKey,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ReadFault> {
        let file = match self.disk.open(&self.path(&pack.id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReadFault::Damaged);
            }
            // Something else has its name.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(ReadFault::Damaged);
            }
            Err(error) => return Err(ReadFault::Failed(error)),
        };
        let size = pack.description.size;
        let found = self.disk.stamp(&file).map_err(ReadFault::Failed)?.size;
        if found != sealed_size(size) || found != pack.stored_bytes {
            return Err(ReadFault::Damaged);
        }
        let mut head = [0; HEAD];
        self.read_exactly(&file, &mut head, 0)?;
        let (magic, salt) = head.split_at_checked(MAGIC.len()).ok_or(ReadFault::Damaged)?;
        let salt: &[u8; SALT] = salt.try_into().map_err(|_length| ReadFault::Damaged)?;
        if magic != MAGIC {
            return Err(ReadFault::Damaged);
        }
        let sealer = PackSealer::new(key.as_bytes(), salt, &pack.id, &pack.description)
            .ok_or(ReadFault::Damaged)?;
        let (mut rest, mut offset) = (size.as_usize(), HEAD);
        let mut frame = Vec::new();
        for number in 0..sealer.frames() {
            let length = rest.min(FRAME);
            frame.resize(length.saturating_add(TAG), 0);
            self.read_exactly(&file, &mut frame, ByteCount::from(offset).as_u64())?;
            if !sealer.open(number, &mut frame) {
                return Err(ReadFault::Damaged);
            }
            each(frame.get(..length).unwrap_or_default());
            (rest, offset) = (rest.saturating_sub(length), offset.saturating_add(frame.len()));
        }
        Ok(())
    }

    fn read_exactly(
        &self,
        file: &D::File,
        mut buffer: &mut [u8],
        mut offset: u64,
    ) -> Result<(), ReadFault> {
        while !buffer.is_empty() {
            match self.disk.read_at(file, buffer, offset) {
                Ok(0) => return Err(ReadFault::Damaged),
                Ok(count) => {
                    buffer = buffer.get_mut(count..).unwrap_or_default();
                    offset = offset.saturating_add(ByteCount::from(count).as_u64());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadFault::Failed(error)),
            }
        }
        Ok(())
    }

    /// Removes packs that have no rows. What stays is removed at the next start.
    pub(crate) fn remove(&self, packs: &[PackId]) {
        packs.iter().for_each(|pack| self.discard(&self.path(pack)));
    }

    /// Bytes of the files of packs. Those that cannot be read have none.
    pub(crate) fn bytes_of(&self, packs: &[PackId]) -> ByteCount {
        let size = |pack: &PackId| {
            let file = self.disk.open(&self.path(pack))?;
            self.disk.stamp(&file).map(|stamp| stamp.size)
        };
        let sizes = packs.iter().map(|pack| size(pack).unwrap_or_default());
        ByteCount::bytes(sizes.fold(0, u64::saturating_add))
    }

    /// Moves packs to a folder of their own, where nothing reads or removes them.
    pub(crate) fn set_aside(&self, packs: &[PackId]) -> Result<(), SessionsError> {
        let failed = || SessionsError::from_disk("write to");
        let aside = self.root.join(ORPHANS);
        ensure_private_folder(&self.disk, &aside).map_err(failed())?;
        for pack in packs {
            let path = self.path(pack);
            let name = path.file_name().unwrap_or_default();
            self.disk.rename(&path, &aside.join(name)).map_err(failed())?;
        }
        Ok(())
    }

    fn discard(&self, path: &Path) {
        match self.disk.remove(path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                warn!(error = %cause, "a pack of a session could not be removed");
            }
            _ => {}
        }
    }

    /// The file of a pack.
    pub(crate) fn path(&self, pack: &PackId) -> PathBuf {
        self.root.join(format!("{}.{}", pack.origin, pack.checkpoint))
    }
}

/// The pack whose file has this name.
fn parse_name(name: &str) -> Option<PackId> {
    let (origin, checkpoint) = name.split_once('.')?;
    Some(PackId {
        origin: SessionId::parse(origin).ok()?,
        checkpoint: CheckpointId::parse(checkpoint).ok()?,
    })
}
