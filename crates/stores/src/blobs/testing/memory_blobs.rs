//! The store in memory.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::task::yield_now;

use crate::blobs::config::BlobStoreConfig;
use crate::blobs::content::blob_id::{BlobIdKey, IdScheme, id_of};
use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::files::Blobs;
use crate::blobs::id_keys::BlobIdKeys;
use crate::blobs::listing::{BlobOrder, BlobPage, BlobPlace, ListedBlob, MAX_ORDERED};
use crate::blobs::pin::{BlobPin, PinnedBlobs};
use crate::blobs::store::{
    BlobFuture, BlobPart, BlobStore, BlobWindow, BlobWriter, NewBlob, TenantUsage, WrittenBlob,
};
use crate::blobs::testing::memory_files::MemoryFiles;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, BlobName, MAX_NAMES_OF_BLOB, TenantId};
use wardian_vocabulary::units::ByteCount;

/// A store in memory. Clones share the blobs.
#[derive(Debug, Clone)]
pub struct MemoryBlobs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: BlobStoreConfig,
    clock: Clock,
    id_keys: Arc<dyn BlobIdKeys>,
    tenants: Mutex<HashMap<TenantId, TenantObjects>>,
    pins: Arc<PinnedBlobs>,
    is_read_only: AtomicBool,
    /// Counts operations, so that each is suspended another number of times.
    operations: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct TenantObjects {
    objects: BTreeMap<BlobId, StoredObject>,
    /// Room of content that is being written.
    reserved: TenantUsage,
    set_aside: usize,
}

/// A blob in memory.
#[derive(Debug, Clone)]
pub(super) struct StoredObject {
    pub(super) blob: StoredBlob,
    names: Vec<BlobName>,
    pub(super) content: Arc<Vec<u8>>,
    used: Duration,
}

impl StoredObject {
    fn described(&self) -> StoredBlob {
        let mut names = self.names.iter().cloned();
        let name = names.next();
        StoredBlob { name, other_names: names.collect(), ..self.blob.clone() }
    }

    fn listed(&self) -> ListedBlob {
        let described = StoredBlob { other_names: Vec::new(), ..self.described() };
        let (id, size) = (self.blob.id.clone(), ByteCount::from(self.content.len()));
        ListedBlob { id, size, used: self.used, described: Some(described) }
    }

    /// True if the content belongs to the id.
    pub(super) fn is_intact(&self, scheme: &IdScheme) -> bool {
        id_of(scheme, &self.blob.kind, &self.content) == self.blob.id
    }
}

impl MemoryBlobs {
    /// An empty store with the limits of `config`, whose folder is not used.
    #[must_use]
    pub fn new(config: BlobStoreConfig, clock: Clock, id_keys: Arc<dyn BlobIdKeys>) -> Self {
        Self(Arc::new(Shared {
            config,
            clock,
            id_keys,
            tenants: Mutex::default(),
            pins: Arc::default(),
            is_read_only: AtomicBool::new(false),
            operations: AtomicU64::new(0),
        }))
    }

    /// The store as another server finds it after this one was killed: with what was acknowledged.
    #[must_use]
    pub fn restarted(&self, clock: Clock) -> Self {
        let Shared { config, id_keys, tenants, .. } = &*self.0;
        let other = Self::new(config.clone(), clock, Arc::clone(id_keys));
        let mut found = tenants.lock().clone();
        found.values_mut().for_each(|tenant| tenant.reserved = TenantUsage::default());
        *other.0.tenants.lock() = found;
        other
    }

    /// Removes blobs that were not used for the time to live before `now`, and returns their number.
    pub fn sweep(&self, now: Duration) -> usize {
        let Some(ttl) = self.0.config.ttl else { return 0 };
        let mut removed = 0_usize;
        for (tenant, of_tenant) in &mut *self.0.tenants.lock() {
            of_tenant.objects.retain(|id, object| {
                if self.0.pins.holds(tenant, id) {
                    object.used = self.0.clock.now();
                    return true;
                }
                let has_expired = object.used.saturating_add(ttl) <= now;
                removed = removed.saturating_add(usize::from(has_expired));
                !has_expired
            });
        }
        removed
    }

    /// Changes a byte of the stored content.
    pub fn damage(&self, tenant: &TenantId, id: &BlobId) {
        let mut tenants = self.0.tenants.lock();
        let objects = tenants.get_mut(tenant).map(|tenant| &mut tenant.objects);
        if let Some(object) = objects.and_then(|objects| objects.get_mut(id)) {
            let mut content = object.content.to_vec();
            match content.first_mut() {
                Some(byte) => *byte ^= 1,
                None => content.push(0),
            }
            object.content = Arc::new(content);
        }
    }

    /// Refuses writes from now on.
    pub fn seal(&self) {
        self.0.is_read_only.store(true, Ordering::Release);
    }

    /// Damaged blobs that were set aside.
    #[must_use]
    pub fn set_aside(&self) -> usize {
        self.0.tenants.lock().values().map(|tenant| tenant.set_aside).sum()
    }

    /// Lets other tasks run, as an operation over a network does.
    pub(super) async fn suspend(&self) {
        let times = self.0.operations.fetch_add(1, Ordering::Relaxed) % 3;
        for _ in 0..=times {
            yield_now().await;
        }
    }

    fn ensure_writable(&self) -> Result<(), BlobError> {
        match self.is_read_only() {
            true => Err(BlobError::Sealed),
            false => Ok(()),
        }
    }

    /// Finds a blob, notes its use and holds it.
    pub(super) fn find_used(
        &self,
        tenant: &TenantId,
        id: &BlobId,
    ) -> Result<(StoredObject, BlobPin), BlobError> {
        let mut tenants = self.0.tenants.lock();
        let objects = tenants.get_mut(tenant).map(|tenant| &mut tenant.objects);
        let Some(object) = objects.and_then(|objects| objects.get_mut(id)) else {
            return Err(BlobError::NotFound { id: id.clone() });
        };
        object.used = self.0.clock.now();
        let found = StoredObject { blob: object.described(), ..object.clone() };
        Ok((found, self.0.pins.pin(tenant, id)))
    }

    /// Finds a blob without noting a use.
    pub(super) fn find(&self, tenant: &TenantId, id: &BlobId) -> Result<StoredObject, BlobError> {
        let tenants = self.0.tenants.lock();
        let found = tenants.get(tenant).and_then(|tenant| tenant.objects.get(id));
        found.cloned().ok_or_else(|| BlobError::NotFound { id: id.clone() })
    }

    /// Removes damaged content, unless other content has replaced it.
    pub(super) fn remove_damaged(&self, tenant: &TenantId, damaged: &StoredObject, aside: bool) {
        let mut tenants = self.0.tenants.lock();
        let Some(tenant) = tenants.get_mut(tenant) else { return };
        let found = tenant.objects.get(&damaged.blob.id);
        if found.is_some_and(|found| Arc::ptr_eq(&found.content, &damaged.content)) {
            tenant.objects.remove(&damaged.blob.id);
            tenant.set_aside = tenant.set_aside.saturating_add(usize::from(aside));
        }
    }

    /// The scheme of a tenant that has blobs, or is about to get one.
    pub(super) async fn id_scheme(&self, tenant: &TenantId) -> Result<IdScheme, BlobError> {
        if *tenant == TenantId::local() {
            return Ok(IdScheme::Content);
        }
        if let Some(key) = self.0.id_keys.find(tenant).await? {
            return Ok(IdScheme::Keyed(key));
        }
        let has_blobs =
            self.0.tenants.lock().get(tenant).is_some_and(|tenant| !tenant.objects.is_empty());
        if has_blobs {
            let cause = io::Error::new(io::ErrorKind::NotFound, "the key is missing");
            return Err(BlobError::Storage { what: "read", cause });
        }
        let key = BlobIdKey::generate().map_err(BlobError::from_disk("write to"))?;
        Ok(IdScheme::Keyed(self.0.id_keys.keep(tenant, key).await?))
    }

    fn reserve(&self, tenant: &TenantId, size: ByteCount) -> Result<MemoryRoom, BlobError> {
        let config = &self.0.config;
        if size > config.blob_max {
            return Err(BlobError::TooLarge { size, limit: config.blob_max });
        }
        let mut room = MemoryRoom {
            blobs: self.clone(),
            tenant: tenant.clone(),
            held: TenantUsage::default(),
        };
        room.grow(TenantUsage::of_blob(size))?;
        Ok(room)
    }

    /// Makes content a blob, unless the tenant has it already.
    fn commit(
        &self,
        room: MemoryRoom,
        scheme: &IdScheme,
        kind: BlobKind,
        content: Vec<u8>,
    ) -> WrittenBlob {
        let id = id_of(scheme, &kind, &content);
        let (now, size) = (self.0.clock.now(), ByteCount::from(content.len()));
        let tenant = room.tenant.clone();
        drop(room);
        let mut tenants = self.0.tenants.lock();
        let tenant = tenants.entry(tenant).or_default();
        if let Some(known) = tenant.objects.get_mut(&id) {
            known.used = now;
            if known.is_intact(scheme) {
                return WrittenBlob { blob: known.described(), is_new: false };
            }
            tenant.set_aside = tenant.set_aside.saturating_add(1);
        }
        let (name, other_names) = (None, Vec::new());
        let blob = StoredBlob { id: id.clone(), kind, size, created: now, name, other_names };
        let names = Vec::new();
        let object =
            StoredObject { blob: blob.clone(), names, content: Arc::new(content), used: now };
        tenant.objects.insert(id, object);
        WrittenBlob { blob, is_new: true }
    }

    fn page(&self, tenant: &TenantId) -> Vec<ListedBlob> {
        let tenants = self.0.tenants.lock();
        let objects = tenants.get(tenant).into_iter().flat_map(|tenant| tenant.objects.values());
        objects.map(StoredObject::listed).collect()
    }
}

impl From<MemoryBlobs> for Blobs {
    fn from(memory: MemoryBlobs) -> Self {
        Self { store: Arc::new(memory.clone()), files: Arc::new(MemoryFiles::of(memory)) }
    }
}

/// The first `most` of these blobs.
fn first(mut blobs: Vec<ListedBlob>, most: usize) -> BlobPage {
    let has_more = blobs.len() > most;
    blobs.truncate(most);
    BlobPage { blobs, has_more }
}

impl BlobStore for MemoryBlobs {
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        new: NewBlob,
    ) -> BlobFuture<'a, Box<dyn BlobWriter>> {
        Box::pin(async move {
            self.suspend().await;
            self.ensure_writable()?;
            let mut room = self.reserve(tenant, new.announced.unwrap_or_default())?;
            // Room is taken as content arrives.
            room.shrink();
            let scheme = self.id_scheme(tenant).await?;
            let writer: Box<dyn BlobWriter> = Box::new(MemoryWriter {
                draft: Some(MemoryDraft { room, scheme, content: Vec::new() }),
                new,
            });
            Ok(writer)
        })
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        content: Vec<u8>,
    ) -> BlobFuture<'a, StoredBlob> {
        Box::pin(async move {
            self.suspend().await;
            self.ensure_writable()?;
            let (size, limit) = (ByteCount::from(content.len()), self.0.config.blob_max);
            if size > limit {
                return Err(BlobError::TooLarge { size, limit });
            }
            let scheme = self.id_scheme(tenant).await?;
            let id = id_of(&scheme, kind, &content);
            if let Ok((known, _pin)) = self.find_used(tenant, &id) {
                if known.is_intact(&scheme) {
                    return Ok(known.blob);
                }
                self.remove_damaged(tenant, &known, true);
            }
            let room = self.reserve(tenant, size)?;
            self.suspend().await;
            Ok(self.commit(room, &scheme, kind.clone(), content).blob)
        })
    }

    fn set_names<'a>(
        &'a self,
        tenant: &'a TenantId,
        names: &'a [(BlobId, BlobName)],
    ) -> BlobFuture<'a, ()> {
        Box::pin(async move {
            self.suspend().await;
            self.ensure_writable()?;
            let mut tenants = self.0.tenants.lock();
            let Some(tenant) = tenants.get_mut(tenant) else { return Ok(()) };
            for (id, name) in names {
                let Some(object) = tenant.objects.get_mut(id) else { continue };
                object.names.retain(|other| other != name);
                object.names.insert(0, name.clone());
                object.names.truncate(MAX_NAMES_OF_BLOB);
            }
            Ok(())
        })
    }

    fn pin<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, BlobPin> {
        Box::pin(async move {
            self.suspend().await;
            self.find_used(tenant, id).map(|(_, pin)| pin)
        })
    }

    fn remove<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, ()> {
        Box::pin(async move {
            self.suspend().await;
            self.ensure_writable()?;
            let mut tenants = self.0.tenants.lock();
            let removed = tenants.get_mut(tenant).and_then(|tenant| tenant.objects.remove(id));
            removed.map(drop).ok_or_else(|| BlobError::NotFound { id: id.clone() })
        })
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<&'a BlobId>,
        most: usize,
    ) -> BlobFuture<'a, BlobPage> {
        Box::pin(async move {
            self.suspend().await;
            let mut blobs = self.page(tenant);
            blobs.retain(|blob| after.is_none_or(|after| blob.id > *after));
            Ok(first(blobs, most))
        })
    }

    fn list_in_order<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: BlobOrder,
        after: Option<&'a BlobPlace>,
        most: usize,
    ) -> BlobFuture<'a, Option<BlobPage>> {
        Box::pin(async move {
            self.suspend().await;
            let mut blobs = self.page(tenant);
            if blobs.len() > MAX_ORDERED {
                return Ok(None);
            }
            blobs.retain(|blob| after.is_none_or(|after| blob.place(order) > *after));
            blobs.sort_by_cached_key(|blob| blob.place(order));
            Ok(Some(first(blobs, most)))
        })
    }

    fn stat<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, StoredBlob> {
        Box::pin(async move {
            self.suspend().await;
            self.find_used(tenant, id).map(|(found, _pin)| found.blob)
        })
    }

    fn read<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        part: BlobPart,
        limit: ByteCount,
    ) -> BlobFuture<'a, BlobWindow> {
        Box::pin(async move {
            self.suspend().await;
            let (found, _pin) = self.find_used(tenant, id)?;
            if !found.is_intact(&self.id_scheme(tenant).await?) {
                self.remove_damaged(tenant, &found, true);
                return Err(BlobError::Damaged { id: id.clone() });
            }
            let length = found.content.len();
            let offset = match part {
                BlobPart::Head => 0,
                BlobPart::Tail => length.saturating_sub(limit.as_usize()),
                BlobPart::From(offset) => ByteCount::bytes(offset).as_usize().min(length),
            };
            let end = offset.saturating_add(limit.as_usize()).min(length);
            let bytes = found.content.get(offset..end).unwrap_or_default().to_vec();
            Ok(BlobWindow { blob: found.blob, offset: ByteCount::from(offset).as_u64(), bytes })
        })
    }

    fn usage<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, TenantUsage> {
        Box::pin(async move {
            self.suspend().await;
            Ok(self.0.tenants.lock().get(tenant).map(TenantObjects::stored).unwrap_or_default())
        })
    }

    fn is_read_only(&self) -> bool {
        self.0.is_read_only.load(Ordering::Acquire)
    }
}

impl TenantObjects {
    fn stored(&self) -> TenantUsage {
        let sizes = self.objects.values().map(|object| object.content.len());
        let each = sizes.map(|size| TenantUsage::of_blob(ByteCount::from(size)));
        each.fold(TenantUsage::default(), TenantUsage::plus)
    }
}

/// Room in the quota for content that is being written, given back when dropped.
#[derive(Debug)]
struct MemoryRoom {
    blobs: MemoryBlobs,
    tenant: TenantId,
    held: TenantUsage,
}

impl MemoryRoom {
    fn grow(&mut self, more: TenantUsage) -> Result<(), BlobError> {
        let shared = &*self.blobs.0;
        let mut tenants = shared.tenants.lock();
        let tenant = tenants.entry(self.tenant.clone()).or_default();
        let total = tenant.stored().plus(tenant.reserved).plus(more);
        let (bytes, blobs) = (shared.config.tenant_bytes, shared.config.tenant_blobs);
        if total.bytes > bytes.as_u64() || total.blobs > blobs {
            return Err(BlobError::QuotaExceeded { bytes, blobs });
        }
        tenant.reserved = tenant.reserved.plus(more);
        self.held = self.held.plus(more);
        Ok(())
    }

    /// Gives the bytes back, and not the blob.
    fn shrink(&mut self) {
        let bytes = TenantUsage { blobs: 0, bytes: self.held.bytes };
        self.give_back(bytes);
        self.held = self.held.minus(bytes);
    }

    fn give_back(&self, room: TenantUsage) {
        if let Some(tenant) = self.blobs.0.tenants.lock().get_mut(&self.tenant) {
            tenant.reserved = tenant.reserved.minus(room);
        }
    }
}

impl Drop for MemoryRoom {
    fn drop(&mut self) {
        self.give_back(self.held);
    }
}

#[derive(Debug)]
struct MemoryDraft {
    room: MemoryRoom,
    scheme: IdScheme,
    content: Vec<u8>,
}

/// `None` after an error, and after a future that was dropped.
#[derive(Debug)]
struct MemoryWriter {
    draft: Option<MemoryDraft>,
    new: NewBlob,
}

impl BlobWriter for MemoryWriter {
    fn append(&mut self, piece: Vec<u8>) -> BlobFuture<'_, Vec<u8>> {
        Box::pin(async move {
            let mut draft = self.draft.take().ok_or_else(given_up)?;
            draft.room.blobs.suspend().await;
            let limit = draft.room.blobs.0.config.blob_max;
            let size = ByteCount::from(draft.content.len().saturating_add(piece.len()));
            if size > limit {
                return Err(BlobError::TooLarge { size, limit });
            }
            let bytes = ByteCount::from(piece.len()).as_u64();
            draft.room.grow(TenantUsage { blobs: 0, bytes })?;
            draft.content.extend_from_slice(&piece);
            self.draft = Some(draft);
            Ok(piece)
        })
    }

    fn finish(self: Box<Self>) -> BlobFuture<'static, WrittenBlob> {
        Box::pin(async move {
            let Self { draft, new } = *self;
            let MemoryDraft { room, scheme, content } = draft.ok_or_else(given_up)?;
            let blobs = room.blobs.clone();
            blobs.suspend().await;
            blobs.ensure_writable()?;
            if new.digest.is_some_and(|digest| Sha256::digest(&content)[..] != digest) {
                return Err(BlobError::WrongDigest);
            }
            Ok(blobs.commit(room, &scheme, new.kind, content))
        })
    }
}

fn given_up() -> BlobError {
    BlobError::Content(io::Error::other("an earlier piece was not stored"))
}
