//! Answers the host calls of a run in the gateway. A guest can reach blobs of its own tenant and the
//! network that its run is granted, and nothing else.
//!
//! The gateway holds no content of a blob that a run writes: it reads the worker's memory file
//! piece by piece. The run's limits bound the memory file. [`BlobWrites`] bounds the number of
//! memory files, even if clients disconnect and their workers start other runs while a disk is
//! slow.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::error;

use crate::fleet::placed_run::PlacedRun;
use crate::run::access::network::GuestNetwork;
use crate::run::access::redaction::{MaskedListener, is_text};
use crate::run::execute::log_stream::LogListener;
use crate::runs::active::ActiveRun;
use crate::sessions::asking::open_run::OpenRun;
use wardian_dispatch::{CheckedPayload, RunHost, RunStage};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::network::{NetworkReply, NetworkRequest};
use wardian_formats::job::outcome::{LogChunk, ProgressReport, Stream};
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_stores::blobs::{BlobError, BlobPin, BlobStore};
use wardian_stores::secrets::mask::Masks;
use wardian_stores::secrets::mask::stream::MaskedContent;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Outputs up to this size, in bytes, are read on the thread of the call, because that takes less
/// time than a switch of threads. They do not wait for room in memory.
pub(crate) const SMALL_OUTPUT: usize = 64 << 10;

/// How long a run keeps a worker while the database is asked whether it may begin.
const BEGIN_PATIENCE: Duration = Duration::from_millis(500);

/// Limits the number of blobs that runs store at one time. Further runs wait.
#[derive(Debug, Clone)]
pub(crate) struct BlobWrites(Arc<Semaphore>);

impl BlobWrites {
    /// Allows at most `count` blobs at one time.
    pub(crate) fn at_most(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))))
    }
}

/// The memory for the output of one run.
#[derive(Debug)]
pub(crate) struct OutputRoom {
    memory: CallMemory,
    permit: Option<OwnedSemaphorePermit>,
}

impl OutputRoom {
    /// Memory for an output of this call, not yet reserved.
    pub(crate) const fn of_call(memory: CallMemory) -> Self {
        Self { memory, permit: None }
    }

    /// Waits until the budget has room for `output`. Small outputs do not wait.
    pub(crate) async fn make(&mut self, output: ByteCount) {
        if output.as_usize() > SMALL_OUTPUT {
            self.permit = self.memory.budget().wait_for_output(output).await;
        }
    }

    /// Returns the reservation, if there is one, to the reader of the output.
    pub(crate) fn into_permit(self) -> Option<OwnedSemaphorePermit> {
        self.permit
    }
}

/// The host of one run: it stores blobs for the run's tenant.
#[derive(Debug)]
pub(crate) struct TenantHost {
    blobs: Arc<dyn BlobStore>,
    writes: BlobWrites,
    tenant: TenantId,
    memory: CallMemory,
    written: Vec<BlobId>,
    /// Keep the written blobs until the caller knows their ids.
    pins: HashMap<BlobId, Option<BlobPin>>,
    room: OutputRoom,
    listener: Option<MaskedListener>,
    open: Option<Arc<OpenRun>>,
    /// The memory of the last answers of the caller, which are on their way to the program.
    charged: Vec<CallMemory>,
    network: Arc<GuestNetwork>,
    masks: Option<Arc<Masks>>,
    active: Option<Arc<ActiveRun>>,
    longest_wait: Option<Duration>,
    placed: Option<Arc<PlacedRun>>,
    /// True once a blob was refused for a reason of this machine.
    is_refused_here: bool,
}

/// The parts of a host that differ between runs of one tenant.
#[derive(Debug)]
pub(crate) struct HostParts {
    pub listener: Option<LogListener>,
    /// Hears what the run asks of its caller, if that answers while its call goes on.
    pub open: Option<Arc<OpenRun>>,
    pub network: Arc<GuestNetwork>,
    /// What is redacted in text that the run stores or prints.
    pub(crate) masks: Option<Arc<Masks>>,
    /// Learns how far the run is, if a caller asked for it.
    pub active: Option<Arc<ActiveRun>>,
    /// How long the run may wait for a worker, if not as long as any.
    pub longest_wait: Option<Duration>,
    /// Its place in the queue of the fleet, which decides whether it begins.
    pub(crate) placed: Option<Arc<PlacedRun>>,
}

impl TenantHost {
    pub(crate) fn new(
        blobs: Arc<dyn BlobStore>,
        writes: BlobWrites,
        tenant: TenantId,
        memory: CallMemory,
        parts: HostParts,
    ) -> Self {
        let HostParts { listener, open, network, masks, active, longest_wait, placed } = parts;
        let listener = listener.map(|listener| MaskedListener::new(listener, masks.as_ref()));
        let room = OutputRoom::of_call(memory.clone());
        let (written, pins, charged) = (Vec::new(), HashMap::new(), Vec::new());
        Self {
            blobs,
            writes,
            tenant,
            memory,
            written,
            pins,
            room,
            listener,
            open,
            charged,
            network,
            masks,
            active,
            longest_wait,
            placed,
            is_refused_here: false,
        }
    }

    /// Returns the written blobs, in order and each once, the pins that keep them, and the memory
    /// for the output.
    pub(crate) fn into_parts(self) -> (Vec<BlobId>, Vec<BlobPin>, OutputRoom) {
        (self.written, self.pins.into_values().flatten().collect(), self.room)
    }

    /// True if a blob of the run was refused for a reason of this machine, which a repetition may not
    /// have.
    pub(crate) const fn is_refused_here(&self) -> bool {
        self.is_refused_here
    }

    /// True if the run, which has given its worker back before it began, is this server's to execute by now. Waits for
    /// the answer of the database.
    pub(crate) async fn has_begun_meanwhile(&self) -> bool {
        match &self.placed {
            Some(placed) => placed.has_begun().await,
            None => false,
        }
    }

    /// What is redacted in the output.
    pub(crate) fn masks(&self) -> Option<Arc<Masks>> {
        self.masks.clone()
    }
}

impl TenantHost {
    /// Keeps the last report of the program for those who ask for the run.
    fn note_progress(&self, printed: &LogChunk) {
        let Some(active) = self.active.as_ref().filter(|_| printed.stream == Stream::Progress)
        else {
            return;
        };
        if let Some(mut report) = ProgressReport::read(&printed.text) {
            if let Some(masks) = &self.masks {
                masks.cover_text(&mut report.message);
            }
            active.note_progress(report);
        }
    }
}

impl RunHost for TenantHost {
    fn note_stage(&mut self, stage: RunStage) {
        if stage == RunStage::Running {
            self.memory.end_waiting();
        }
        if let Some(active) = &self.active {
            active.note_stage(stage);
        }
    }

    fn longest_wait(&self) -> Option<Duration> {
        self.longest_wait
    }

    async fn may_begin(&mut self) -> bool {
        let Some(placed) = &self.placed else { return true };
        // A worker does not wait for a database that does not answer: other calls do not need it.
        timeout(BEGIN_PATIENCE, placed.begin()).await.unwrap_or(false)
    }

    fn hear(&mut self, printed: LogChunk) {
        if printed.stream == Stream::Request {
            // What a run with secrets asks is covered at the end of its turn.
            if let Some(open) = self.open.as_ref().filter(|_| self.masks.is_none()) {
                open.announce(&printed.text);
            }
            return;
        }
        self.note_progress(&printed);
        if let Some(listener) = &mut self.listener {
            listener.hear(printed);
        }
    }

    async fn make_room(&mut self, output: ByteCount) {
        self.room.make(output).await;
    }

    async fn ask_network(&mut self, request: NetworkRequest<'_>) -> NetworkReply {
        self.network.answer(request).await
    }

    async fn ask_caller(&mut self, requests: CallerRequests) -> Option<JsonText> {
        // What a run with secrets asks is covered at the end of its turn.
        let open = self.open.as_ref().filter(|_| self.masks.is_none())?;
        let (answers, charged) = open.answers_soon(requests).await?;
        self.charged = charged;
        Some(answers)
    }

    async fn write_blob(&mut self, kind: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        let mut kind = kind.to_owned();
        if let Some(masks) = &self.masks {
            masks.cover_text(&mut kind);
        }
        let kind = BlobKind::parse(&kind).map_err(|error| refusal("ValueError", &error))?;
        // Until it is stored: the caller may leave meanwhile.
        let was_refused = std::mem::replace(&mut self.is_refused_here, true);
        let Ok(permit) = Arc::clone(&self.writes.0).acquire_owned().await else {
            return Err(unavailable());
        };
        let (blobs, tenant) = (Arc::clone(&self.blobs), self.tenant.clone());
        let cancel = CancelOnDrop::default();
        let size = content.size();
        let content =
            CancellableContent { content, is_cancelled: Arc::clone(&cancel.is_cancelled) };
        let masks = self.masks.clone().filter(|_| is_text(kind.as_str()));
        let content: Box<dyn Read + Send> = match masks {
            Some(masks) => Box::new(MaskedContent::new(content, masks)),
            None => Box::new(content),
        };
        let stored = self.memory.on_task(async move {
            let stored = blobs.put_held(&tenant, &kind, size, content).await;
            drop(permit);
            stored
        });
        let (blob, pin) = match stored.await {
            Ok(Ok(stored)) => stored,
            Ok(Err(error)) => {
                self.is_refused_here = was_refused || is_of_machine(&error);
                return Err(not_stored(&error));
            }
            Err(_) => return Err(unavailable()),
        };
        drop(cancel);
        self.is_refused_here = was_refused;
        if self.pins.insert(blob.id.clone(), pin).is_none() {
            self.written.push(blob.id.clone());
        }
        Ok(blob.id)
    }
}

/// Sets a flag when the run no longer waits for a blob to be stored.
#[derive(Debug, Default)]
struct CancelOnDrop {
    is_cancelled: Arc<AtomicBool>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Release);
    }
}

/// Blob content. Reading it fails once the run no longer waits for the blob.
struct CancellableContent {
    content: CheckedPayload,
    is_cancelled: Arc<AtomicBool>,
}

impl Read for CancellableContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_cancelled.load(Ordering::Acquire) {
            return Err(io::Error::other("the run was cancelled"));
        }
        self.content.read(buffer)
    }
}

/// The reason why a run's blob was not stored, as the run sees it.
pub(crate) fn not_stored(error: &BlobError) -> Refusal {
    match error.kind() {
        ErrorKind::QuotaExceeded | ErrorKind::TooLarge => refusal("QuotaExceeded", error),
        ErrorKind::InvalidParams => refusal("ValueError", error),
        _ => {
            error!("a run's blob was not stored: {}", CauseChain(error));
            unavailable()
        }
    }
}

/// True if a blob is refused for a reason of this machine: its quotas, its limits, its disk.
pub(crate) fn is_of_machine(error: &BlobError) -> bool {
    error.kind() != ErrorKind::InvalidParams
}

fn refusal(error_type: &str, error: &impl ToString) -> Refusal {
    Refusal { error_type: error_type.to_owned(), message: error.to_string() }
}

fn unavailable() -> Refusal {
    refusal("OSError", &"the blob could not be stored")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use parking_lot::Mutex;
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::run::access::network::{NetworkAccess, NetworkGrant};
    use crate::run::access::secrets::RunSecrets;
    use wardian_egress::Egress;
    use wardian_egress::config::EgressConfig;
    use wardian_egress::world::resolver::SystemResolver;
    use wardian_formats::job::message::Payload;
    use wardian_stores::blobs::{
        BlobFuture, BlobOrder, BlobPage, BlobPart, BlobPlace, BlobWindow, BlobWriter, NewBlob,
        StoredBlob, TenantUsage,
    };
    use wardian_vocabulary::ids::{BlobName, Digest};

    /// Reads a byte of each blob, waits until it may continue, and reads the rest.
    #[derive(Debug)]
    struct SlowStore(Arc<Steps>);

    #[derive(Debug)]
    struct Steps {
        began: Sender<()>,
        may_go_on: Mutex<Receiver<()>>,
        ended: Sender<Result<(), io::ErrorKind>>,
    }

    impl Steps {
        fn store(
            &self,
            kind: BlobKind,
            size: ByteCount,
            mut content: Box<dyn Read + Send>,
        ) -> Result<StoredBlob, BlobError> {
            let mut bytes = vec![0; size.as_usize()];
            let (first, rest) = bytes.split_at_mut(1);
            content.read_exact(first).unwrap();
            self.began.send(()).unwrap();
            self.may_go_on.lock().recv().unwrap();
            let read = content.read_exact(rest);
            self.ended.send(read.as_ref().map_err(io::Error::kind).copied()).unwrap();
            read.map_err(BlobError::Content)?;
            let id = BlobId::of_digest(&Digest::of(&bytes));
            let created = Duration::ZERO;
            let (name, other_names) = (None, Vec::new());
            Ok(StoredBlob { id, kind, size, created, name, other_names })
        }
    }

    fn refused<'a, T: Send + 'a>() -> BlobFuture<'a, T> {
        Box::pin(async { Err(BlobError::Sealed) })
    }

    impl BlobStore for SlowStore {
        fn put_from<'a>(
            &'a self,
            _: &'a TenantId,
            kind: &'a BlobKind,
            size: ByteCount,
            content: Box<dyn Read + Send>,
        ) -> BlobFuture<'a, StoredBlob> {
            let (steps, kind) = (Arc::clone(&self.0), kind.clone());
            Box::pin(async move {
                spawn_blocking(move || steps.store(kind, size, content)).await.unwrap()
            })
        }

        fn put<'a>(
            &'a self,
            _: &'a TenantId,
            _: &'a BlobKind,
            _: Vec<u8>,
        ) -> BlobFuture<'a, StoredBlob> {
            refused()
        }

        fn begin<'a>(&'a self, _: &'a TenantId, _: NewBlob) -> BlobFuture<'a, Box<dyn BlobWriter>> {
            refused()
        }

        fn set_names<'a>(
            &'a self,
            _: &'a TenantId,
            _: &'a [(BlobId, BlobName)],
        ) -> BlobFuture<'a, ()> {
            refused()
        }

        fn pin<'a>(&'a self, _: &'a TenantId, _: &'a BlobId) -> BlobFuture<'a, BlobPin> {
            refused()
        }

        fn remove<'a>(&'a self, _: &'a TenantId, _: &'a BlobId) -> BlobFuture<'a, ()> {
            refused()
        }

        fn list<'a>(
            &'a self,
            _: &'a TenantId,
            _: Option<&'a BlobId>,
            _: usize,
        ) -> BlobFuture<'a, BlobPage> {
            refused()
        }

        fn list_in_order<'a>(
            &'a self,
            _: &'a TenantId,
            _: BlobOrder,
            _: Option<&'a BlobPlace>,
            _: usize,
        ) -> BlobFuture<'a, Option<BlobPage>> {
            refused()
        }

        fn stat<'a>(&'a self, _: &'a TenantId, _: &'a BlobId) -> BlobFuture<'a, StoredBlob> {
            refused()
        }

        fn read<'a>(
            &'a self,
            _: &'a TenantId,
            _: &'a BlobId,
            _: BlobPart,
            _: ByteCount,
        ) -> BlobFuture<'a, BlobWindow> {
            refused()
        }

        fn usage<'a>(&'a self, _: &'a TenantId) -> BlobFuture<'a, TenantUsage> {
            refused()
        }

        fn is_read_only(&self) -> bool {
            false
        }
    }

    type Ends = Receiver<Result<(), io::ErrorKind>>;

    /// A store that is slow, and the other ends of its channels.
    fn slow_store() -> (Arc<SlowStore>, Receiver<()>, Sender<()>, Ends) {
        let (began, has_begun) = channel();
        let (go_on, may_go_on) = channel();
        let (ended, has_ended) = channel();
        let steps = Steps { began, may_go_on: Mutex::new(may_go_on), ended };
        (Arc::new(SlowStore(Arc::new(steps))), has_begun, go_on, has_ended)
    }

    fn door(store: &Arc<SlowStore>, writes: &BlobWrites) -> TenantHost {
        let (blobs, tenant) = (Arc::clone(store) as Arc<dyn BlobStore>, TenantId::local());
        let resolver = Arc::new(SystemResolver::default());
        let egress = Egress::new(EgressConfig::default(), resolver).unwrap();
        let network = NetworkAccess::new(egress, Vec::new()).open(
            &tenant,
            NetworkGrant::Operator,
            &RunSecrets::default(),
        );
        let memory = CallMemory::unlimited();
        let parts = HostParts {
            listener: None,
            open: None,
            network: Arc::new(network),
            masks: None,
            active: None,
            longest_wait: None,
            placed: None,
        };
        TenantHost::new(blobs, writes.clone(), tenant, memory, parts)
    }

    fn content() -> CheckedPayload {
        CheckedPayload::accept(Payload::Inline(b"content".to_vec())).unwrap()
    }

    #[tokio::test]
    async fn a_blob_whose_caller_has_gone_is_not_stored_to_its_end() {
        let (store, has_begun, go_on, has_ended) = slow_store();
        let mut door = door(&store, &BlobWrites::at_most(1));
        {
            let mut writing = Box::pin(door.write_blob("text/plain", content()));
            let early = timeout(Duration::from_millis(20), &mut writing).await;
            assert!(early.is_err(), "the store does not wait");
            has_begun.recv().unwrap();
        }
        go_on.send(()).unwrap();
        assert_eq!(has_ended.recv().unwrap(), Err(io::ErrorKind::Other));

        go_on.send(()).unwrap();
        door.write_blob("text/plain", content()).await.unwrap();
        assert_eq!(has_ended.recv().unwrap(), Ok(()));
        assert_eq!(door.into_parts().0.len(), 1);
    }

    #[test]
    fn only_the_kind_of_a_blob_is_refused_everywhere() {
        let (bytes, size) = (ByteCount::bytes(1), ByteCount::bytes(2));
        for error in [
            BlobError::QuotaExceeded { bytes, blobs: 1 },
            BlobError::TooLarge { size, limit: bytes },
            BlobError::DiskFull(io::Error::other("full")),
            BlobError::Sealed,
            BlobError::Content(io::Error::other("gone")),
        ] {
            assert!(is_of_machine(&error), "{error}");
        }
    }

    #[tokio::test]
    async fn a_refusal_of_the_store_is_noted_and_stays_noted() {
        let (store, _has_begun, go_on, _has_ended) = slow_store();
        let mut door = door(&store, &BlobWrites::at_most(1));
        assert_eq!(
            door.write_blob("no kind", content()).await.unwrap_err().error_type,
            "ValueError"
        );
        assert!(!door.is_refused_here(), "every store refuses it");
        go_on.send(()).unwrap();
        door.write_blob("text/plain", content()).await.unwrap();
        assert!(!door.is_refused_here());
        // The store breaks.
        drop(go_on);
        door.write_blob("text/plain", content()).await.unwrap_err();
        assert!(door.is_refused_here());
    }

    #[tokio::test]
    async fn blobs_of_callers_that_have_gone_do_not_pile_up() {
        let (store, has_begun, go_on, has_ended) = slow_store();
        let writes = BlobWrites::at_most(2);
        for _ in 0..6 {
            let mut door = door(&store, &writes);
            let writing = door.write_blob("text/plain", content());
            let early = timeout(Duration::from_millis(20), writing).await;
            assert!(early.is_err(), "the store does not wait");
        }
        assert_eq!(has_begun.try_iter().count(), 2, "the others wait for these");
        for _ in 0..2 {
            go_on.send(()).unwrap();
            has_ended.recv().unwrap().unwrap_err();
        }
        go_on.send(()).unwrap();
        door(&store, &writes).write_blob("text/plain", content()).await.unwrap();
    }

    #[tokio::test]
    async fn large_outputs_wait_for_room_and_small_ones_do_not() {
        let memory = CallMemory::unlimited();
        let all = ByteCount::mebibytes(32);
        let mut first = OutputRoom::of_call(memory.clone());
        first.make(all).await;
        let mut small = OutputRoom::of_call(memory.clone());
        small.make(SMALL_OUTPUT.into()).await;
        assert!(small.into_permit().is_none());
        let mut second = OutputRoom::of_call(memory);
        let early = timeout(Duration::from_millis(20), second.make(all)).await;
        assert!(early.is_err(), "there was room for two");
        drop(first);
        second.make(all).await;
        assert!(second.into_permit().is_some());
    }
}
