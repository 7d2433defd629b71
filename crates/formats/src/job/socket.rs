//! Frames on a Unix socket: one step of sending, one step of receiving, and memory files for
//! payloads that are too large to be copied through it.
//!
//! Neither step loops or waits by itself, so that a blocking worker and an asynchronous gateway
//! share this code.
//!
//! INVARIANT(grows-as-it-arrives): the buffer of [`Incoming`] is never more than twice as large
//! as what has arrived, plus a constant: a header that announces much costs nothing.
//! INVARIANT(one-descriptor): at most one received descriptor waits for its frame; any other is
//! closed at once and reported as a violation. While one waits, nothing is received beyond the end
//! of its frame, so that a peer may send the next descriptor without waiting.
//!
//! # Short reads
//!
//! On a Unix stream socket, `recvmsg` ends at the kernel's buffer to which a descriptor is
//! attached, although more may have arrived (unix(7): ancillary data is a barrier). So a read that
//! fills less than the offered space shows that the socket was empty only if nothing came with it
//! but bytes; otherwise only `EAGAIN` shows it.

use std::io::{IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::{fs, io};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;

use crate::job::frame::{self, FrameError, HEADER, Header, MESSAGE_MAX};
use crate::job::message::Payload;

/// First size of the buffer for received bytes: most messages fit.
const ROOM: usize = 16 << 10;

/// Largest buffer that is kept for the next message.
const ROOM_KEPT: usize = 256 << 10;

/// Seals that make a memory file immutable for all processes, its maker included.
pub const IMMUTABLE: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// Sends as many of `bytes` as the socket takes, and `descriptor` with the first of them. Returns
/// the number of sent bytes. The caller sends the rest without the descriptor.
///
/// # Errors
///
/// As `sendmsg`; `WouldBlock` on a non-blocking socket, `BrokenPipe` if the peer is gone.
pub fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let descriptors: Vec<_> = descriptor.into_iter().collect();
    let slices = [IoSlice::new(bytes)];
    let sent = retry_on_intr(|| {
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            // One descriptor always fits the space for one.
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        sendmsg(socket, &slices, &mut control, SendFlags::NOSIGNAL)
    })?;
    Ok(sent)
}

/// Looks at bytes that have arrived and leaves them on the socket. Returns how many of them there are in
/// `bytes`; 0 if the peer has closed its end.
///
/// # Errors
///
/// As `recvmsg`; `WouldBlock` if nothing has arrived.
pub fn peek(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
    let mut slices = [IoSliceMut::new(bytes)];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    // Descriptors stay with their bytes, so there is no room for any.
    let received =
        retry_on_intr(|| recvmsg(socket, &mut slices, &mut RecvAncillaryBuffer::default(), flags))?;
    Ok(received.bytes)
}

/// Copies `bytes` to a new, sealed memory file.
///
/// # Errors
///
/// The operating system refuses the file or its memory.
pub fn share(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = memory_file()?;
    file.write_all(bytes)?;
    seal(file)
}

/// An empty memory file, to be written and [sealed](seal).
///
/// # Errors
///
/// The operating system refuses it.
pub fn memory_file() -> io::Result<fs::File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match memfd_create(c"payload", flags | MemfdFlags::NOEXEC_SEAL) {
        // Kernels before 6.3 do not know the flag.
        Err(Errno::INVAL) => memfd_create(c"payload", flags)?,
        other => other?,
    };
    Ok(file.into())
}

/// Makes a memory file immutable, so that it can be sent.
///
/// # Errors
///
/// The operating system refuses it.
pub fn seal(file: fs::File) -> io::Result<OwnedFd> {
    fcntl_add_seals(&file, IMMUTABLE)?;
    Ok(file.into())
}

/// The bytes that have arrived on a socket and are not taken yet.
#[derive(Debug)]
pub struct Incoming {
    buffer: Vec<u8>,
    filled: usize,
    descriptor: Option<OwnedFd>,
    violation: Option<FrameError>,
    max_message: usize,
}

impl Default for Incoming {
    fn default() -> Self {
        Self::with_limit(MESSAGE_MAX)
    }
}

impl Incoming {
    /// An empty buffer that refuses messages longer than `max_message`.
    #[must_use]
    pub fn with_limit(max_message: usize) -> Self {
        let buffer = vec![0; ROOM];
        Self { buffer, filled: 0, descriptor: None, violation: None, max_message }
    }

    /// Receives once, as much as there is room for. Call it only after every whole frame was
    /// [taken](Self::take).
    ///
    /// # Errors
    ///
    /// As `recvmsg`; `WouldBlock` on a non-blocking socket or with [`RecvFlags::DONTWAIT`].
    pub fn receive(&mut self, socket: BorrowedFd<'_>, flags: RecvFlags) -> io::Result<Arrival> {
        self.make_room();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let end = self.wanted_end().min(self.buffer.len());
        let room = self.buffer.get_mut(self.filled..end).unwrap_or_default();
        let offered = room.len();
        let mut slices = [IoSliceMut::new(room)];
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let received = retry_on_intr(|| recvmsg(socket, &mut slices, &mut control, flags))?;

        let mut only_bytes = true;
        if received.flags.contains(ReturnFlags::CTRUNC) {
            only_bytes = false;
            self.violation = Some(FrameError::TooManyDescriptors);
        }
        for message in control.drain() {
            only_bytes = false;
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                descriptors.for_each(|descriptor| self.keep(descriptor));
            }
        }
        self.filled = self.filled.saturating_add(received.bytes).min(self.buffer.len());
        let drained = only_bytes && received.bytes < offered;
        Ok(Arrival { bytes: received.bytes, drained })
    }

    /// The position at which receiving stops. A waiting descriptor belongs to the first frame,
    /// because whole frames are taken before more is received. Bytes behind that frame could bring
    /// a second descriptor.
    fn wanted_end(&self) -> usize {
        if self.descriptor.is_none() {
            return usize::MAX;
        }
        let end = match self.announced() {
            Ok(Some((_, length))) => length,
            Ok(None) => HEADER,
            Err(_) => usize::MAX,
        };
        // Receiving nothing would look like the end of the stream.
        end.max(self.filled.saturating_add(1))
    }

    fn keep(&mut self, descriptor: OwnedFd) {
        if self.descriptor.is_some() {
            self.violation = Some(FrameError::TooManyDescriptors);
        } else {
            self.descriptor = Some(descriptor);
        }
    }

    /// Takes the next whole frame, if it has arrived.
    ///
    /// # Errors
    ///
    /// The peer breaks the rules. The stream cannot be read any further.
    pub fn take<M: DeserializeOwned>(&mut self) -> Result<Option<(M, Payload)>, FrameError> {
        if let Some(violation) = self.violation.take() {
            return Err(violation);
        }
        let Some((header, length)) = self.announced()? else {
            return Ok(None);
        };
        let arrived = self.buffer.get(..self.filled).unwrap_or_default();
        let Some(body) = arrived.get(HEADER..length) else {
            return Ok(None);
        };
        let descriptor = if header.has_descriptor {
            Some(self.descriptor.take().ok_or(FrameError::MissingDescriptor)?)
        } else {
            None
        };
        let (message, inline) = body.split_at(header.message.min(body.len()));
        let message = frame::decode(message)?;
        let payload = frame::decode_payload(inline, descriptor)?;
        self.forget(length);
        if self.filled == 0 && self.descriptor.is_some() {
            return Err(FrameError::UnexpectedDescriptor);
        }
        Ok(Some((message, payload)))
    }

    /// The bytes that have arrived and are not taken yet.
    #[must_use]
    pub fn untaken(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// True if nothing is buffered: the peer is between two frames.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.filled == 0 && self.descriptor.is_none() && self.violation.is_none()
    }

    /// The header of the first frame and the length of that frame, if the header has arrived.
    fn announced(&self) -> Result<Option<(Header, usize)>, FrameError> {
        let arrived = self.buffer.get(..self.filled).unwrap_or_default();
        let Some(header) = arrived.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let header = Header::parse(*header)?;
        header.ensure_message(self.max_message)?;
        Ok(Some((header, HEADER.saturating_add(header.body()))))
    }

    /// Makes room for at least one byte, if need be by doubling.
    fn make_room(&mut self) {
        if self.filled < self.buffer.len() {
            return;
        }
        let doubled = self.buffer.len().saturating_mul(2).max(ROOM);
        let needed = match self.announced() {
            Ok(Some((_, length))) => length.max(self.filled.saturating_add(ROOM)),
            Ok(None) | Err(_) => doubled,
        };
        self.buffer.resize(doubled.min(needed), 0);
    }

    /// Removes the first `length` bytes, and overwrites them: they may have held a secret.
    fn forget(&mut self, length: usize) {
        self.buffer.copy_within(length.min(self.filled)..self.filled, 0);
        let rest = self.filled.saturating_sub(length);
        if let Some(old) = self.buffer.get_mut(rest..self.filled) {
            old.fill(0);
        }
        self.filled = rest;
        if self.buffer.len() > ROOM_KEPT && rest < ROOM {
            self.buffer.truncate(ROOM);
            self.buffer.shrink_to_fit();
        }
    }
}

/// The result of one call of [`Incoming::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The number of bytes; 0 if the peer has closed its end.
    pub bytes: usize,
    /// True if the socket was empty after these bytes, so that another call would block. False if
    /// that is unknown.
    pub drained: bool,
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::thread;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::job::message::{FromWorker, ToWorker};
    use wardian_vocabulary::units::ByteCount;

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC;
        socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
    }

    fn next<M: DeserializeOwned>(
        incoming: &mut Incoming,
        socket: &OwnedFd,
    ) -> Result<Option<(M, Payload)>, FrameError> {
        loop {
            if let Some(found) = incoming.take()? {
                return Ok(Some(found));
            }
            if incoming.receive(socket.as_fd(), RecvFlags::empty()).unwrap().bytes == 0 {
                return Ok(None);
            }
        }
    }

    fn send_all(socket: &OwnedFd, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let sent = send(socket.as_fd(), bytes, None).unwrap();
            bytes = &bytes[sent..];
        }
    }

    #[test]
    fn what_was_looked_at_is_received_all_the_same() {
        let (near, far) = pair();
        let mut seen = [0; 3];
        let empty = peek(far.as_fd(), &mut seen).unwrap_err();
        assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        let frame = frame::encode(&ToWorker::Interrupt, &[], false).unwrap();
        send_all(&near, &frame);
        for _ in 0..2 {
            assert_eq!(peek(far.as_fd(), &mut seen).unwrap(), 3);
            assert_eq!(seen, frame[..3]);
        }
        let (message, _) = next::<ToWorker>(&mut Incoming::default(), &far).unwrap().unwrap();
        assert!(matches!(message, ToWorker::Interrupt));
        drop(near);
        assert_eq!(peek(far.as_fd(), &mut seen).unwrap(), 0, "the peer is gone");
    }

    fn send_with(socket: &OwnedFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
        let slices = [IoSlice::new(bytes)];
        assert_eq!(sendmsg(socket, &slices, &mut control, SendFlags::NOSIGNAL), Ok(bytes.len()));
    }

    fn open_descriptors() -> usize {
        fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn frames_that_arrive_together_are_told_apart() {
        let (near, far) = pair();
        let mut bytes = frame::encode(&ToWorker::Cancel, b"one", false).unwrap();
        frame::encode_into(&mut bytes, &ToWorker::Cancel, b"", false).unwrap();
        frame::encode_into(&mut bytes, &ToWorker::Cancel, b"three", false).unwrap();
        send_all(&near, &bytes);
        drop(near);

        let mut incoming = Incoming::default();
        for expected in [b"one".as_slice(), b"", b"three"] {
            let (_, payload) = next::<ToWorker>(&mut incoming, &far).unwrap().unwrap();
            assert_eq!(payload.size(), ByteCount::from(expected.len()));
        }
        assert!(next::<ToWorker>(&mut incoming, &far).unwrap().is_none());
        assert!(incoming.is_empty());
    }

    #[test]
    fn a_frame_that_arrives_in_pieces_is_put_together() {
        let (near, far) = pair();
        let message = FromWorker::Failed { reason: "x".repeat(3_000_000) };
        let bytes = frame::encode(&message, b"tail", false).unwrap();
        let sender = thread::spawn(move || bytes.chunks(70_001).for_each(|c| send_all(&near, c)));

        let mut incoming = Incoming::default();
        let (message, payload) = next::<FromWorker>(&mut incoming, &far).unwrap().unwrap();

        sender.join().unwrap();
        assert!(matches!(message, FromWorker::Failed { reason } if reason.len() == 3_000_000));
        assert!(matches!(payload, Payload::Inline(bytes) if bytes == b"tail"));
        assert!(incoming.buffer.capacity() <= ROOM_KEPT, "a large buffer was kept");
    }

    #[test]
    fn the_buffer_grows_as_it_arrives() {
        let (near, far) = pair();
        let header = [(48_u32 << 20).to_le_bytes(), [0; 4], [0; 4]].concat();
        send_all(&near, &header);
        let mut incoming = Incoming::default();
        let mut arrived = header.len();
        incoming.receive(far.as_fd(), RecvFlags::empty()).unwrap();
        for _ in 0..40 {
            send_all(&near, &[b' '; 10_000]);
            arrived += incoming.receive(far.as_fd(), RecvFlags::empty()).unwrap().bytes;
            assert!(incoming.take::<FromWorker>().unwrap().is_none());
            assert!(incoming.buffer.len() <= 2 * arrived + ROOM, "{arrived} arrived");
        }
    }

    #[test]
    fn a_message_beyond_the_receivers_own_limit_is_refused_by_its_header() {
        let header = [1_001_u32.to_le_bytes(), [0; 4], [0; 4]].concat();
        for (limit, is_refused) in [(1_000, true), (1_001, false)] {
            let (near, far) = pair();
            send_all(&near, &header);
            let mut incoming = Incoming::with_limit(limit);
            incoming.receive(far.as_fd(), RecvFlags::empty()).unwrap();
            assert_eq!(incoming.take::<FromWorker>().is_err(), is_refused, "{limit}");
        }
    }

    #[test]
    fn a_shared_payload_arrives_with_its_frame_and_cannot_be_changed() {
        let (near, far) = pair();
        let file = share(b"shared bytes").unwrap();
        let size = ByteCount::bytes(12);
        let bytes = frame::encode_shared(&ToWorker::Cancel, size).unwrap();
        send(near.as_fd(), &bytes, Some(file.as_fd())).unwrap();
        send_all(&near, &frame::encode(&ToWorker::Cancel, b"", false).unwrap());

        let mut incoming = Incoming::default();
        let (_, payload) = next::<ToWorker>(&mut incoming, &far).unwrap().unwrap();
        let Payload::Shared(received, received_size) = payload else { panic!("{payload:?}") };
        assert_eq!(received_size, size);
        let mut content = [0; 12];
        rustix::io::pread(&received, &mut content, 0).unwrap();
        assert_eq!(&content, b"shared bytes");
        assert_eq!(rustix::io::pwrite(&received, b"X", 0), Err(Errno::PERM));
        assert_eq!(rustix::fs::ftruncate(&received, 0), Err(Errno::PERM));
        let (_, payload) = next::<ToWorker>(&mut incoming, &far).unwrap().unwrap();
        assert!(matches!(payload, Payload::None));
    }

    #[test]
    fn one_descriptor_at_a_time_and_the_others_are_closed() {
        let file = share(b"x").unwrap();
        let announced = frame::encode_shared(&ToWorker::Cancel, ByteCount::bytes(1)).unwrap();
        let silent = frame::encode(&ToWorker::Cancel, b"", false).unwrap();
        let half = &announced[..announced.len() / 2];
        let cases: [(&str, &[u8], usize); 5] = [
            ("two with one frame", &announced, 2),
            ("three with one frame", &announced, 3),
            ("a hundred with one frame", &announced, 100),
            ("one that no frame announces", &silent, 1),
            ("two with a frame that never ends", half, 2),
        ];
        for (what, bytes, count) in cases {
            let (near, far) = pair();
            let before = open_descriptors();
            send_with(&near, bytes, &vec![file.as_fd(); count]);
            drop(near);
            let mut incoming = Incoming::default();
            let end = next::<ToWorker>(&mut incoming, &far);
            assert!(end.is_err(), "accepted {what}");
            drop((incoming, end));
            // Other tests of this process open descriptors meanwhile, but not a hundred.
            assert!(open_descriptors() < before + 90, "{what} left descriptors open");
        }
    }

    #[test]
    fn one_descriptor_at_a_time_however_many_frames_have_arrived() {
        for length in [10, 5_000, ROOM - HEADER, ROOM, 20_000, 50_000] {
            let (near, far) = pair();
            let file = share(b"x").unwrap();
            let reason = "r".repeat(length);
            let message = FromWorker::Failed { reason: reason.clone() };
            let bytes = frame::encode_shared(&message, ByteCount::bytes(1)).unwrap();
            for _ in 0..3 {
                send(near.as_fd(), &bytes, Some(file.as_fd())).unwrap();
            }
            let mut incoming = Incoming::default();
            for _ in 0..3 {
                let next = next::<FromWorker>(&mut incoming, &far).unwrap();
                let (FromWorker::Failed { reason: received }, payload) = next.unwrap() else {
                    panic!("another message");
                };
                assert!(received == reason && matches!(payload, Payload::Shared(..)), "{length}");
            }
            assert!(incoming.is_empty());
        }
    }

    #[test]
    fn a_socket_is_not_drained_while_bytes_are_in_it() {
        let (near, far) = pair();
        let file = share(b"x").unwrap();
        let mut incoming = Incoming::default();
        for with_descriptor in [false, true] {
            let descriptor = with_descriptor.then(|| file.as_fd());
            // The kernel keeps these as two buffers; only the first has the descriptor.
            assert_eq!(send(near.as_fd(), b"1", descriptor).unwrap(), 1);
            assert_eq!(send(near.as_fd(), b"2", None).unwrap(), 1);
            let mut arrived = 0;
            while arrived < 2 {
                let arrival = incoming.receive(far.as_fd(), RecvFlags::DONTWAIT).unwrap();
                arrived += arrival.bytes;
                assert!(!arrival.drained || arrived == 2, "{arrival:?} with {arrived} arrived");
            }
            let empty = incoming.receive(far.as_fd(), RecvFlags::DONTWAIT).unwrap_err();
            assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn a_descriptor_that_was_announced_must_arrive() {
        let (near, far) = pair();
        let bytes = frame::encode_shared(&ToWorker::Cancel, ByteCount::bytes(1)).unwrap();
        send_all(&near, &bytes);
        let end = next::<ToWorker>(&mut Incoming::default(), &far);
        assert!(matches!(end, Err(FrameError::MissingDescriptor)));
    }

    #[test]
    fn taken_bytes_are_overwritten() {
        let (near, far) = pair();
        let bytes = frame::encode(&FromWorker::Failed { reason: "hunter2".into() }, b"", false);
        send_all(&near, &bytes.unwrap());
        let mut incoming = Incoming::default();
        assert!(next::<FromWorker>(&mut incoming, &far).unwrap().is_some());
        assert!(incoming.buffer.iter().all(|byte| *byte == 0));
    }
}
