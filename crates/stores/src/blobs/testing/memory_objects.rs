//! An object store in memory.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::task::yield_now;

use crate::blobs::remote::objects::{
    BlobObjects, ObjectContent, ObjectPage, ObjectReader, Overwrite, WrittenObject,
};
use wardian_vocabulary::units::ByteCount;

/// Bytes of a piece that is read.
const PIECE: usize = 64 << 10;

/// Objects of a list at one time.
const LISTED: usize = 2;

/// Objects in memory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryObjects {
    objects: Arc<Mutex<BTreeMap<String, MemoryObject>>>,
    /// Counts operations, so that each is suspended another number of times, and versions.
    operations: Arc<AtomicU64>,
    /// The operation that fails.
    fault: Arc<Mutex<Option<ObjectFault>>>,
}

/// A failure of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectFault {
    /// How many operations succeed before it.
    pub after: u64,
    /// Whether the operation has its effect all the same.
    pub has_effect: bool,
    /// Whether all later ones fail too.
    pub lasts: bool,
}

#[derive(Debug, Clone)]
struct MemoryObject {
    content: Arc<Vec<u8>>,
    version: String,
    kind: String,
}

impl MemoryObjects {
    /// Changes a byte of an object, or cuts one that has none.
    pub fn damage(&self, key: &str) {
        let version = self.next_version();
        if let Some(object) = self.objects.lock().get_mut(key) {
            let mut content = object.content.to_vec();
            match content.first_mut() {
                Some(byte) => *byte ^= 1,
                None => content.push(0),
            }
            (object.content, object.version) = (Arc::new(content), version);
        }
    }

    /// Puts an object there, as somebody by hand.
    pub fn put(&self, key: &str, content: &[u8]) {
        let (content, version) = (Arc::new(content.to_vec()), self.next_version());
        let object = MemoryObject { content, version, kind: "text/plain".to_owned() };
        self.objects.lock().insert(key.to_owned(), object);
    }

    /// Removes an object, as somebody by hand.
    pub fn delete(&self, key: &str) {
        self.objects.lock().remove(key);
    }

    /// Lets an operation fail from now on; none if there is no fault.
    pub fn fail(&self, fault: Option<ObjectFault>) {
        *self.fault.lock() = fault;
    }

    /// Does the work of an operation that may fail.
    fn operate<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let due = {
            let mut fault = self.fault.lock();
            match fault.as_mut() {
                None => None,
                Some(later) if later.after > 0 => {
                    later.after = later.after.saturating_sub(1);
                    None
                }
                Some(due) => {
                    let due = *due;
                    fault.take_if(|fault| !fault.lasts);
                    Some(due)
                }
            }
        };
        match due {
            None => work(),
            Some(fault) => {
                if fault.has_effect {
                    work()?;
                }
                Err(io::Error::new(io::ErrorKind::TimedOut, "the store does not answer"))
            }
        }
    }

    /// The keys that begin with this text.
    #[must_use]
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let objects = self.objects.lock();
        objects.keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }

    fn next_version(&self) -> String {
        format!("v{}", self.operations.fetch_add(1, Ordering::Relaxed))
    }

    /// Lets other tasks run, as an operation over a network does.
    async fn suspend(&self) {
        let times = self.operations.fetch_add(1, Ordering::Relaxed) % 3;
        for _ in 0..=times {
            yield_now().await;
        }
    }

    fn find(&self, key: &str) -> Option<MemoryObject> {
        self.objects.lock().get(key).cloned()
    }
}

#[async_trait]
impl BlobObjects for MemoryObjects {
    async fn write(
        &self,
        key: &str,
        content: ObjectContent,
        overwrite: Overwrite,
    ) -> io::Result<WrittenObject> {
        let mut bytes = vec![0; content.size.as_usize()];
        content.file.read_exact_at(&mut bytes, 0)?;
        self.suspend().await;
        let version = self.next_version();
        self.operate(|| {
            let mut objects = self.objects.lock();
            if let (Overwrite::Never, Some(found)) = (overwrite, objects.get(key)) {
                return Ok(WrittenObject { version: found.version.clone(), is_new: false });
            }
            let (bytes, kind) = (Arc::new(bytes), content.kind);
            let object = MemoryObject { content: bytes, version: version.clone(), kind };
            objects.insert(key.to_owned(), object);
            Ok(WrittenObject { version, is_new: true })
        })
    }

    async fn version(&self, key: &str) -> io::Result<Option<String>> {
        self.suspend().await;
        self.operate(|| Ok(self.find(key).map(|object| object.version)))
    }

    async fn read(&self, key: &str) -> io::Result<Option<Box<dyn ObjectReader>>> {
        self.suspend().await;
        let found = self.operate(|| Ok(self.find(key)))?;
        Ok(found.map(|object| -> Box<dyn ObjectReader> {
            Box::new(MemoryReader { content: object.content, kind: object.kind, at: 0 })
        }))
    }

    async fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        self.suspend().await;
        let version = self.next_version();
        self.operate(|| {
            let found = self.find(from).ok_or(io::ErrorKind::NotFound)?;
            self.objects.lock().insert(to.to_owned(), MemoryObject { version, ..found });
            Ok(())
        })
    }

    async fn remove(&self, key: &str) -> io::Result<()> {
        self.suspend().await;
        self.operate(|| {
            self.objects.lock().remove(key);
            Ok(())
        })
    }

    async fn list(&self, prefix: &str, token: Option<String>) -> io::Result<ObjectPage> {
        self.suspend().await;
        self.operate(|| {
            let objects = self.objects.lock();
            let after = token.unwrap_or_default();
            let behind = objects.iter().filter(|(key, _)| key.starts_with(prefix) && **key > after);
            let mut page = ObjectPage::default();
            for (key, object) in behind {
                if page.objects.len() == LISTED {
                    page.next = page.objects.last().map(|(last, _)| last.clone());
                    break;
                }
                page.objects.push((key.clone(), ByteCount::from(object.content.len())));
            }
            Ok(page)
        })
    }
}

#[derive(Debug)]
struct MemoryReader {
    content: Arc<Vec<u8>>,
    kind: String,
    at: usize,
}

#[async_trait]
impl ObjectReader for MemoryReader {
    fn kind(&self) -> Option<&str> {
        Some(&self.kind)
    }

    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        yield_now().await;
        let end = self.content.len().min(self.at.saturating_add(PIECE));
        let piece = self.content.get(self.at..end).unwrap_or_default().to_vec();
        self.at = end;
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}
