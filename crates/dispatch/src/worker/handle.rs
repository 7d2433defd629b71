//! One worker from the gateway's side: a process at the other end of a socket.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::content::{BlobSource, SkillContent};
use crate::packs::{PackBytes, PackContent};
use crate::scheduler::held::KeepsGuests;
use crate::worker::attachments::{AttachmentLimits, SentAttachments};
use crate::worker::channel::{Frames, WorkerChannel, WorkerChannelError};
use crate::worker::id::WorkerId;
use crate::worker::process::Process;
use crate::{GuestSpec, SealedContent};
use wardian_formats::job::attachment::{AttachedContent, Attachment, AttachmentKey};
use wardian_formats::job::frame::{self, FrameError};
use wardian_formats::job::image::ImageContent;
use wardian_formats::job::layer::LayerContent;
use wardian_formats::job::message::{FromWorker, GuestNumber, Payload, ToWorker, WorkerReport};
use wardian_vocabulary::units::ByteCount;

/// A worker that is ready. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Worker {
    pub id: WorkerId,
    pub channel: WorkerChannel,
    pub process: Arc<Process>,
    pub report: Arc<WorkerReport>,
    attachments: SentAttachments,
    /// What the worker has still to send for its last order.
    awaits: Awaits,
    /// The guests that are open, from the queueing of the order that opens one until that of its end.
    guests: BTreeMap<GuestNumber, OpenGuest>,
    /// The guest of the order that is carried out.
    in_turn: Option<GuestNumber>,
    /// The guest whose cell the last turn has left in the middle of a call.
    holds: Option<GuestNumber>,
    /// When the last order was sent, and the one before.
    ordered: [Option<Instant>; 2],
}

/// A guest that is open in a worker.
#[derive(Debug)]
struct OpenGuest {
    /// The attachments that it uses.
    attachments: Vec<AttachmentKey>,
    /// Its linear memory at the end of its last turn, as the worker says. One that was taken over may say
    /// less, and then hits the limits of its process.
    memory: u64,
}

/// What the last order of a worker has still to be answered with. It counts from the queueing of the
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Nothing,
    /// The end of a run or turn. After one that `parks`, a guest that can go on is followed by its pack.
    End {
        parks: bool,
    },
    /// The pack, or that there is none.
    Pack,
}

impl Awaits {
    /// What is left after this message. A guest that is held has no pack.
    fn after(self, message: &FromWorker) -> Self {
        match (self, message) {
            (Self::End { parks: true }, FromWorker::Done { can_go_on: true, outcome })
                if !outcome.cell.as_ref().is_some_and(|cell| cell.is_held) =>
            {
                Self::Pack
            }
            (Self::End { .. }, FromWorker::Done { .. } | FromWorker::NotResumed { .. })
            | (
                Self::Pack,
                FromWorker::Parked(_) | FromWorker::NotParked { .. } | FromWorker::Unchanged,
            ) => Self::Nothing,
            (before, _) => before,
        }
    }
}

/// What becomes of a guest after the turn that is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It is closed.
    Closed,
    /// It stays open under this number.
    Open(GuestNumber),
    /// It stays open under this number, and the worker sends its state if it can go on.
    Parked(GuestNumber),
}

impl Afterwards {
    const fn guest(self) -> Option<GuestNumber> {
        match self {
            Self::Closed => None,
            Self::Open(guest) | Self::Parked(guest) => Some(guest),
        }
    }
}

/// The reason why content could not be attached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachError {
    /// An error of the gateway. The worker is not affected.
    #[error("cannot create a memory file for a skill's files")]
    Share(#[source] std::io::Error),
    /// An error of the gateway. The worker is not affected.
    #[error("cannot describe the content")]
    Describe(#[from] FrameError),
    /// The worker cannot be reached.
    #[error("cannot notify the worker")]
    Channel(#[from] WorkerChannelError),
}

/// An attachment that a run needs.
#[derive(Clone, Copy)]
enum Piece<'run> {
    Image(&'run Arc<ImageContent>),
    Skill(&'run SkillContent),
    Layer(&'run LayerContent),
    Blob(&'run BlobSource),
}

impl Piece<'_> {
    fn key(&self) -> AttachmentKey {
        match self {
            Self::Image(image) => image.key(),
            Self::Skill(skill) => skill.key(),
            Self::Layer(layer) => layer.key(),
            Self::Blob(blob) => blob.key(),
        }
    }

    fn size(&self) -> ByteCount {
        match self {
            Self::Image(image) => image.length(),
            Self::Skill(skill) => skill.pack().len().into(),
            Self::Layer(layer) => layer.length,
            Self::Blob(blob) => blob.size,
        }
    }

    /// The size that counts against the limit on what a worker keeps. A layer is a file whose pages
    /// the system can drop at any time.
    fn kept(&self) -> ByteCount {
        match self {
            Self::Layer(_) => ByteCount::default(),
            Self::Image(_) | Self::Skill(_) | Self::Blob(_) => self.size(),
        }
    }

    /// The image, for the piece of this kind. Once it is dropped, no run needs it again.
    fn image(&self) -> Option<Weak<ImageContent>> {
        match self {
            Self::Image(image) => Some(Arc::downgrade(image)),
            Self::Skill(_) | Self::Layer(_) | Self::Blob(_) => None,
        }
    }

    /// The frame that sends the piece.
    fn frame(&self) -> Result<Frames, AttachError> {
        let (content, file) = match self {
            Self::Image(image) => {
                let (digest, open_files) = (image.digest(), image.open_files().to_owned());
                (AttachedContent::Image { digest, open_files }, image.memory())
            }
            Self::Skill(skill) => {
                let (digest, files) = (skill.digest(), skill.files().to_vec());
                let file = skill.shared().map_err(AttachError::Share)?;
                (AttachedContent::Skill { digest, files }, file)
            }
            Self::Layer(layer) => (AttachedContent::Layer { digest: layer.digest }, layer.as_fd()),
            Self::Blob(blob) => (AttachedContent::Blob { id: blob.id.clone() }, blob.file.as_fd()),
        };
        let message = ToWorker::Attach(Attachment { owner: self.key().owner, content });
        let bytes = frame::encode_shared(&message, self.size())?;
        // The frame has its own descriptor, because it may be sent after the run was dropped.
        let file = file.try_clone_to_owned().map_err(AttachError::Share)?;
        Ok(Frames::with_descriptor(bytes, file))
    }
}

/// The frame that hands over a pack.
fn frame_of_pack(pack: &PackContent) -> Result<Frames, AttachError> {
    match &pack.bytes {
        PackBytes::Inline(bytes) => Ok(frame::encode(&ToWorker::Pack, bytes, false)?.into()),
        PackBytes::Shared(file, size) => {
            let bytes = frame::encode_shared(&ToWorker::Pack, *size)?;
            let file = file.try_clone().map_err(AttachError::Share)?;
            Ok(Frames::with_descriptor(bytes, file))
        }
    }
}

/// The frame that hands over the content of a file.
fn frame_of_content(SealedContent(file, size): &SealedContent) -> Result<Frames, AttachError> {
    if size.as_u64() == 0 {
        return Ok(frame::encode(&ToWorker::Content, &[], false)?.into());
    }
    let bytes = frame::encode_shared(&ToWorker::Content, *size)?;
    Ok(Frames::with_descriptor(bytes, file.try_clone().map_err(AttachError::Share)?))
}

impl Worker {
    pub(crate) fn new(
        id: WorkerId,
        channel: WorkerChannel,
        process: Arc<Process>,
        report: WorkerReport,
        limits: AttachmentLimits,
    ) -> Self {
        let attachments = SentAttachments::new(limits);
        let (report, ordered) = (Arc::new(report), [None; 2]);
        Self {
            id,
            channel,
            process,
            report,
            attachments,
            awaits: Awaits::Nothing,
            guests: BTreeMap::new(),
            in_turn: None,
            holds: None,
            ordered,
        }
    }

    /// True if all `keys` are attached.
    pub(crate) fn has_all(&self, keys: &[AttachmentKey]) -> bool {
        keys.iter().all(|key| self.attachments.has(key))
    }

    /// Sends the attachments that the next run needs, and detaches others to stay within the
    /// limits.
    ///
    /// Cancellation: an attachment that is noted as attached reaches the worker before any later
    /// frame.
    pub(crate) async fn attach(&mut self, guest: &GuestSpec) -> Result<(), AttachError> {
        let skills = guest.skills.iter().map(|skill| Piece::Skill(skill));
        let pieces = [Piece::Image(&guest.image)].into_iter().chain(skills);
        let pieces = pieces.chain(guest.layers.iter().map(Piece::Layer));
        self.attachments.open_run();
        let mut missing = Vec::new();
        for piece in pieces.chain(guest.blobs.iter().map(Piece::Blob)) {
            let key = piece.key();
            if !self.attachments.note_use(&key) {
                missing.push((key, piece));
            }
        }
        let incoming = missing.iter().map(|(key, piece)| (key.clone(), piece.kept()));
        let mut detaches = Vec::new();
        for key in self.attachments.make_room(incoming) {
            frame::encode_into(&mut detaches, &ToWorker::Detach(key), &[], false)?;
        }
        if !detaches.is_empty() {
            self.channel.send(detaches.into()).await?;
        }
        for (key, piece) in missing {
            // A guest may name the same thing twice.
            if !self.attachments.has(&key) {
                self.channel.queue(piece.frame()?);
                self.attachments.add(key, piece.kept(), piece.image());
                self.channel.flush().await?;
            }
        }
        Ok(())
    }

    /// Sends `order`, the whole frames of a run or a turn, and before it the content of the file that the
    /// turn writes, and the packs that its guest is resumed from. A guest that stays open uses `attachments`,
    /// unless it is open already.
    ///
    /// Cancellation: the whole order reaches the worker before any later frame.
    pub(crate) async fn order(
        &mut self,
        order: Arc<Vec<u8>>,
        (packs, content): (&[PackContent], Option<&SealedContent>),
        attachments: Vec<AttachmentKey>,
        afterwards: Afterwards,
    ) -> Result<(), AttachError> {
        let content = content.map(frame_of_content);
        let before: Vec<Frames> =
            content.into_iter().chain(packs.iter().map(frame_of_pack)).collect::<Result<_, _>>()?;
        before.into_iter().for_each(|frames| self.channel.queue(frames));
        self.channel.queue(Frames::new(order));
        self.awaits = Awaits::End { parks: matches!(afterwards, Afterwards::Parked(_)) };
        (self.in_turn, self.holds) = (afterwards.guest(), None);
        if let Some(guest) = self.in_turn.filter(|guest| !self.guests.contains_key(guest)) {
            self.attachments.pin(&attachments);
            self.guests.insert(guest, OpenGuest { attachments, memory: 0 });
        }
        let [last, _] = self.ordered;
        self.ordered = [Some(Instant::now()), last];
        Ok(self.channel.flush().await?)
    }

    /// The linear memories of its guests together, and the largest one.
    fn guest_memory(&self) -> (u64, u64) {
        let memories = self.guests.values().map(|guest| guest.memory);
        memories.fold((0, 0), |(sum, largest): (u64, u64), one| {
            (sum.saturating_add(one), largest.max(one))
        })
    }

    /// True if the last turn is over and the state of its guest is on its way.
    pub(crate) const fn owes_pack(&self) -> bool {
        matches!(self.awaits, Awaits::Pack)
    }

    /// Ends an order: has the worker drop the guest of a turn.
    pub(crate) fn end_order(&mut self) -> Result<(), WorkerChannelError> {
        self.in_turn.take().map_or(Ok(()), |guest| self.drop_guest(guest))
    }

    /// Ends the order of a turn whose guest the worker keeps.
    pub(crate) const fn keep_guest(&mut self) {
        self.in_turn = None;
    }

    /// Has the worker drop a guest, if it is open. It must not be in a turn. This waits for nothing: a
    /// worker between two turns has read what it was sent, so one without room for a few bytes in its
    /// socket is broken.
    fn drop_guest(&mut self, guest: GuestNumber) -> Result<(), WorkerChannelError> {
        let Some(OpenGuest { attachments, .. }) = self.guests.remove(&guest) else { return Ok(()) };
        self.attachments.unpin(&attachments);
        self.holds = self.holds.filter(|holds| *holds != guest);
        let close = frame::encode(&ToWorker::Close(guest), &[], false)?;
        self.channel.send_at_once(close.into())
    }

    /// The time since the order before the last one; none if there was none.
    pub(crate) fn since_last_order(&self) -> Option<Duration> {
        let [_, before] = self.ordered;
        before.map(|then| then.elapsed())
    }

    /// Waits for the next message.
    pub(crate) async fn hear(&mut self) -> Result<(FromWorker, Payload), WorkerChannelError> {
        let heard = self.channel.receive().await?;
        self.awaits = self.awaits.after(&heard.0);
        if let FromWorker::Done { outcome, .. } = &heard.0 {
            let is_held = outcome.cell.as_ref().is_some_and(|cell| cell.is_held);
            self.holds = self.in_turn.filter(|_| is_held);
            if let Some(guest) = self.in_turn.and_then(|guest| self.guests.get_mut(&guest)) {
                guest.memory = outcome.usage.memory_peak.as_u64();
            }
        }
        Ok(heard)
    }

    /// Makes a worker idle after its run was abandoned at any stage. Sends all queued frames. If a
    /// run was ordered, cancels it and waits for its end, and for the state of its guest, which is closed
    /// then if it is open. Requests of the guest are not answered meanwhile: the worker takes the
    /// cancellation as the answer.
    pub(crate) async fn settle(&mut self) -> Result<(), WorkerChannelError> {
        self.channel.flush().await?;
        if matches!(self.awaits, Awaits::End { .. }) {
            let cancel = frame::encode(&ToWorker::Cancel, &[], false)?;
            self.channel.send(cancel.into()).await?;
        }
        while self.awaits != Awaits::Nothing {
            self.hear().await?;
        }
        self.end_order()
    }
}

impl KeepsGuests for Worker {
    fn close_guest(&mut self, guest: GuestNumber) {
        if self.drop_guest(guest).is_err() {
            self.process.kill();
        }
    }

    fn keeps(&self, guest: GuestNumber) -> bool {
        self.guests.contains_key(&guest)
    }

    fn is_crowded(&self) -> bool {
        let (memory, _) = self.guest_memory();
        let is_within = self.attachments.have_room_for(memory);
        !self.guests.is_empty() && (self.attachments.has_many_pinned() || !is_within)
    }

    fn is_full(&self) -> bool {
        let (memory, largest) = self.guest_memory();
        !self.guests.is_empty() && !self.attachments.have_room_for(memory.saturating_add(largest))
    }

    fn holds_cell(&self) -> bool {
        self.holds.is_some()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.process.kill();
    }
}
