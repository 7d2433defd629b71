//! The host of a running guest: the worker's end of the socket to the gateway.

use std::cell::RefCell;
use std::fmt;
use std::io::BufRead;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::link::channel::{Channel, SocketPeek, Unasked};
use crate::link::error::ChannelError;
use wardian_formats::job::Turn;
use wardian_formats::job::host::{Host, IsCancelled, IsInterrupted, OutputListener};
use wardian_formats::job::message::{
    FromWorker, GuestNumber, PAYLOAD_MAX, Payload, Refusal, ToWorker,
};
use wardian_formats::job::network::NetworkRequest;
use wardian_formats::job::outcome::RunOutcome;
use wardian_sandbox::memory::PayloadBytes;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// A [`Host`] that sends requests to the gateway.
///
/// The guest's thread itself sends a request and waits for the answer: a second thread that reads
/// the socket would cost every message two context switches.
///
/// A clone belongs to the same run: the sandbox owns one for the lifetime of the guest, the main
/// loop keeps another.
#[derive(Debug, Clone)]
pub struct ChannelHost {
    channel: Rc<RefCell<Channel>>,
    /// The guest, if the turn is one of a guest that stays open, and a cell.
    cell: Option<OpenCell>,
    state: Rc<RefCell<HostState>>,
    conversation: Arc<Conversation>,
}

/// A cell that may be held.
#[derive(Debug, Clone)]
struct OpenCell {
    guest: GuestNumber,
    /// The other guests of the worker.
    others: Rc<dyn CloseGuests>,
}

/// Guests that can be closed while the worker holds a cell of another one.
pub(crate) trait CloseGuests: fmt::Debug {
    /// Closes a guest. Returns false if it is not open.
    fn close(&self, number: GuestNumber) -> bool;
}

/// State by which another thread distinguishes an answer from an unrequested message. The only
/// unrequested messages during a run are an interruption and a cancellation.
#[derive(Debug, Default)]
struct Conversation {
    /// Odd while the guest waits for an answer.
    turns: AtomicU32,
    /// True if a cancellation, or a part of one, was received: instead of an answer, together with
    /// one, or before the guest began.
    was_cancelled: AtomicBool,
    /// As that, for an interruption.
    was_interrupted: AtomicBool,
}

impl Conversation {
    /// What the gateway has sent without being asked.
    fn unasked(&self, peek: &SocketPeek) -> Unasked {
        if self.was_cancelled.load(Ordering::SeqCst) {
            return Unasked::Cancellation;
        }
        let turn = self.turns.load(Ordering::SeqCst);
        if turn.is_multiple_of(2) {
            let seen = peek.look();
            // Bytes may be the answer if they are seen during a turn, or if a turn began meanwhile.
            if seen != Unasked::Nothing && self.turns.load(Ordering::SeqCst) == turn {
                return seen;
            }
        }
        if self.was_interrupted.load(Ordering::SeqCst) {
            Unasked::Interruption
        } else {
            Unasked::Nothing
        }
    }

    /// Notes what was received together with the last message.
    fn note(&self, channel: &Channel) {
        match channel.holds() {
            Unasked::Nothing => {}
            Unasked::Interruption => self.interrupt(),
            Unasked::Cancellation => self.cancel(),
        }
    }

    /// Notes a cancellation that was received and can no longer be seen on the socket.
    fn cancel(&self) {
        self.was_cancelled.store(true, Ordering::SeqCst);
    }

    /// As [`Self::cancel`], for an interruption.
    fn interrupt(&self) {
        self.was_interrupted.store(true, Ordering::SeqCst);
    }
}

#[derive(Debug)]
enum HostState {
    Open,
    Cancelled,
    /// The gateway has closed the guest while it was held.
    Closed,
    Broken(ChannelError),
}

/// How a run leaves the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftChannel {
    /// The gateway waits for the outcome.
    Waiting,
    /// It has closed the guest and waits for nothing.
    Closed,
}

impl ChannelHost {
    /// The host of the next run.
    #[must_use]
    pub fn new(channel: &Rc<RefCell<Channel>>) -> Self {
        let conversation = Arc::<Conversation>::default();
        conversation.note(&channel.borrow());
        let (channel, state) = (Rc::clone(channel), Rc::new(RefCell::new(HostState::Open)));
        Self { channel, cell: None, state, conversation }
    }

    /// The same host for a cell of a guest that stays open, which may be held. The `others` that are
    /// open can be closed meanwhile.
    pub(crate) fn of_cell(self, guest: GuestNumber, others: Rc<dyn CloseGuests>) -> Self {
        Self { cell: Some(OpenCell { guest, others }), ..self }
    }

    /// Ends the run's use of the channel.
    ///
    /// # Errors
    ///
    /// The reason why the channel can no longer be used, if there is one.
    pub(crate) fn close(self) -> Result<LeftChannel, ChannelError> {
        match self.state.replace(HostState::Cancelled) {
            HostState::Open | HostState::Cancelled => Ok(LeftChannel::Waiting),
            HostState::Closed => Ok(LeftChannel::Closed),
            HostState::Broken(error) => Err(error),
        }
    }

    fn is_open(&self) -> bool {
        matches!(*self.state.borrow(), HostState::Open)
    }

    fn ask(
        &self,
        message: &FromWorker,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<Answer, ChannelError> {
        let mut channel = self.channel.borrow_mut();
        self.conversation.turns.fetch_add(1, Ordering::SeqCst);
        let sent = channel.send_from(message, size, content);
        let answer = sent.and_then(|()| self.receive_answer(&mut channel));
        self.conversation.turns.fetch_add(1, Ordering::SeqCst);
        self.conversation.note(&channel);
        match answer? {
            Some((ToWorker::BlobStored { id }, _)) => Ok(Answer::Stored(id)),
            Some((ToWorker::NetworkAnswered, Payload::Inline(reply))) => Ok(Answer::Network(reply)),
            Some((ToWorker::CallerAnswered, reply)) => {
                let reply = PayloadBytes::open(reply).map_err(|_cause| ChannelError::Gone)?;
                Ok(Answer::Caller(reply.as_ref().to_vec()))
            }
            Some((ToWorker::Refused(refusal), _)) => Ok(Answer::Refused(refusal)),
            // The gateway ignores requests after its `Cancel`, so no other answer follows.
            Some((ToWorker::Cancel, _)) => Ok(Answer::Cancelled),
            Some(_) | None => Err(ChannelError::Gone),
        }
    }

    /// Waits for the answer, and notes an interruption that comes before it. The gateway then ends the
    /// wait for which it was asked, so the answer follows soon.
    fn receive_answer(
        &self,
        channel: &mut Channel,
    ) -> Result<Option<(ToWorker, Payload)>, ChannelError> {
        loop {
            match channel.receive()? {
                Some((ToWorker::Interrupt, _)) => self.conversation.interrupt(),
                answer => return Ok(answer),
            }
        }
    }

    /// Asks, and keeps in mind if this was the last time.
    fn granted(
        &self,
        message: &FromWorker,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<Answer, Refusal> {
        match self.ask(message, size, content) {
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Ok(Answer::Cancelled) => {
                self.state.replace(HostState::Cancelled);
                self.conversation.cancel();
                Err(cancelled())
            }
            Ok(answer) => Ok(answer),
            // Nothing was sent to the gateway.
            Err(ChannelError::Content(_)) => {
                let message = "the content cannot be sent to the host".to_owned();
                Err(Refusal { error_type: "OSError".into(), message })
            }
            Err(error) => Err(self.broken(error)),
        }
    }

    fn broken(&self, error: ChannelError) -> Refusal {
        self.state.replace(HostState::Broken(error));
        self.conversation.cancel();
        cancelled()
    }
}

impl Host for ChannelHost {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        let size = ByteCount::from(content.len()).as_u64();
        self.write_blob_from(kind, size, &mut &*content)
    }

    fn write_blob_from(
        &mut self,
        kind: &str,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<BlobId, Refusal> {
        if !self.is_open() {
            return Err(cancelled());
        }
        if ByteCount::bytes(size) > PAYLOAD_MAX {
            let message = format!("a blob may have at most {PAYLOAD_MAX}");
            return Err(Refusal { error_type: "HostCallLimit".into(), message });
        }
        match self.granted(&FromWorker::WriteBlob { kind: kind.to_owned() }, size, content)? {
            Answer::Stored(id) => Ok(id),
            _ => Err(self.broken(ChannelError::Gone)),
        }
    }

    fn ask_network(&mut self, request: &NetworkRequest<'_>) -> Result<Vec<u8>, Refusal> {
        if !self.is_open() {
            return Err(cancelled());
        }
        let request = request.encode();
        let size = ByteCount::from(request.len()).as_u64();
        match self.granted(&FromWorker::AskNetwork, size, &mut request.as_slice())? {
            Answer::Network(reply) => Ok(reply),
            _ => Err(self.broken(ChannelError::Gone)),
        }
    }

    fn ask_caller(&mut self, requests: &[u8]) -> Result<Vec<u8>, Refusal> {
        if !self.is_open() {
            return Err(cancelled());
        }
        let size = ByteCount::from(requests.len()).as_u64();
        match self.granted(&FromWorker::AskCaller, size, &mut &*requests)? {
            Answer::Caller(reply) => Ok(reply),
            _ => Err(self.broken(ChannelError::Gone)),
        }
    }

    fn can_hold(&self) -> bool {
        self.cell.is_some() && self.is_open()
    }

    /// Sends the outcome as that of a turn, and receives the next one. What is there in between belongs to
    /// nobody, so that no other thread looks at the socket.
    fn hold(&mut self, outcome: RunOutcome) -> Option<Box<Turn>> {
        let cell = self.cell.as_ref().filter(|_| self.is_open())?;
        let mut channel = self.channel.borrow_mut();
        self.conversation.turns.fetch_add(1, Ordering::SeqCst);
        let done = FromWorker::Done { outcome: Box::new(outcome), can_go_on: true };
        let next = channel.send(&done, b"null").and_then(|()| next_turn(&mut channel, cell));
        self.conversation.was_interrupted.store(false, Ordering::SeqCst);
        self.conversation.turns.fetch_add(1, Ordering::SeqCst);
        self.conversation.note(&channel);
        drop(channel);
        match next {
            Ok(Some(turn)) => return Some(turn),
            Ok(None) => drop(self.state.replace(HostState::Closed)),
            Err(error) => drop(self.broken(error)),
        }
        self.conversation.cancel();
        None
    }

    fn is_cancelled(&self) -> IsCancelled {
        let peek = self.channel.borrow().peek();
        let conversation = Arc::clone(&self.conversation);
        Box::new(move || conversation.unasked(&peek) == Unasked::Cancellation)
    }

    fn is_interrupted(&self) -> IsInterrupted {
        let peek = self.channel.borrow().peek();
        let conversation = Arc::clone(&self.conversation);
        Box::new(move || conversation.unasked(&peek) != Unasked::Nothing)
    }

    /// Sends the guest's output to the gateway, as long as the channel can be used.
    fn listener(&self) -> Option<OutputListener> {
        let (channel, state) = (Rc::clone(&self.channel), Rc::clone(&self.state));
        let conversation = Arc::clone(&self.conversation);
        Some(Box::new(move |chunk| {
            if !matches!(*state.borrow(), HostState::Open) {
                return;
            }
            if let Err(error) = channel.borrow_mut().send(&FromWorker::Printed(chunk), &[]) {
                state.replace(HostState::Broken(error));
                conversation.cancel();
            }
        }))
    }
}

/// The next turn of a guest whose cell is held; `None` if it is closed.
fn next_turn(channel: &mut Channel, cell: &OpenCell) -> Result<Option<Box<Turn>>, ChannelError> {
    loop {
        match channel.receive()? {
            Some((ToWorker::Turn(guest, turn), _)) if guest == cell.guest => return Ok(Some(turn)),
            Some((ToWorker::Close(guest), _)) if guest == cell.guest => return Ok(None),
            Some((ToWorker::Close(guest), _)) if cell.others.close(guest) => {}
            // The turn ended while the message was on its way.
            Some((ToWorker::Cancel | ToWorker::Interrupt, _)) => {}
            Some(_) | None => return Err(ChannelError::Gone),
        }
    }
}

enum Answer {
    Stored(BlobId),
    Network(Vec<u8>),
    Caller(Vec<u8>),
    Refused(Refusal),
    Cancelled,
}

fn cancelled() -> Refusal {
    Refusal { error_type: "Cancelled".into(), message: "the run was cancelled".into() }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;
    use wardian_formats::job::frame;
    use wardian_vocabulary::ids::Digest;

    /// A worker's end, and the gateway's.
    fn connected() -> (Rc<RefCell<Channel>>, UnixStream) {
        let (worker, gateway) = UnixStream::pair().unwrap();
        (Rc::new(RefCell::new(Channel::new(worker.into()))), gateway)
    }

    fn bytes(message: &ToWorker) -> Vec<u8> {
        frame::encode(message, &[], false).unwrap()
    }

    fn stored() -> ToWorker {
        ToWorker::BlobStored { id: BlobId::of_digest(&Digest::of(b"x")) }
    }

    #[test]
    fn an_interruption_is_no_cancellation_and_may_become_one() {
        let (channel, mut gateway) = connected();
        let host = ChannelHost::new(&channel);
        let (is_cancelled, is_interrupted) = (host.is_cancelled(), host.is_interrupted());
        assert!(!is_interrupted());
        gateway.write_all(&bytes(&ToWorker::Interrupt)).unwrap();
        for _ in 0..2 {
            assert!(is_interrupted() && !is_cancelled());
        }
        gateway.write_all(&bytes(&ToWorker::Cancel)).unwrap();
        assert!(is_interrupted() && is_cancelled());
    }

    #[test]
    fn an_interruption_comes_before_an_answer_or_with_it() {
        for after in [false, true] {
            let (channel, mut gateway) = connected();
            let mut host = ChannelHost::new(&channel);
            let (is_cancelled, is_interrupted) = (host.is_cancelled(), host.is_interrupted());
            let mut messages = [bytes(&ToWorker::Interrupt), bytes(&stored())];
            if after {
                messages.reverse();
            }
            gateway.write_all(&messages.concat()).unwrap();
            host.write_blob("text/plain", b"x").unwrap();
            assert!(is_interrupted() && !is_cancelled(), "{after}");
            gateway.write_all(&bytes(&stored())).unwrap();
            host.write_blob("text/plain", b"x").unwrap();
            assert!(is_interrupted() && !is_cancelled(), "{after}: it lasts for the turn");
            if !after {
                let next = ChannelHost::new(&channel);
                assert!(!next.is_interrupted()(), "the next turn was interrupted too");
            }
        }
    }

    #[test]
    fn every_other_unrequested_message_is_a_cancellation() {
        for unasked in [bytes(&ToWorker::Cancel), bytes(&ToWorker::Cancel)[..3].to_vec()] {
            let (channel, mut gateway) = connected();
            let is_cancelled = ChannelHost::new(&channel).is_cancelled();
            assert!(!is_cancelled());
            gateway.write_all(&unasked).unwrap();
            assert!(is_cancelled());
        }
        let (channel, gateway) = connected();
        let is_cancelled = ChannelHost::new(&channel).is_cancelled();
        drop(gateway);
        assert!(is_cancelled(), "the gateway is gone");
    }

    #[test]
    fn the_caller_is_asked_through_the_gateway() {
        let (channel, mut gateway) = connected();
        let mut host = ChannelHost::new(&channel);
        let reply = frame::encode(&ToWorker::CallerAnswered, b"[7]", false).unwrap();
        gateway
            .write_all(&[bytes(&ToWorker::Interrupt), reply, bytes(&stored())].concat())
            .unwrap();
        assert_eq!(host.ask_caller(b"[1]").unwrap(), b"[7]");
        assert!(host.is_interrupted()(), "an interruption does not answer it");
        let mut asked = [0; 1024];
        let length = gateway.read(&mut asked).unwrap();
        assert!(asked[..length].ends_with(b"[1]"));
        let refused = host.ask_caller(b"[1]").unwrap_err();
        assert_eq!(refused.error_type, "Cancelled", "an answer to something else breaks the rules");
    }

    #[test]
    fn the_network_is_the_gateway_s() {
        let (channel, mut gateway) = connected();
        let mut host = ChannelHost::new(&channel);
        let request = NetworkRequest::Start { port: 443, name: "a.test" };
        let reply = frame::encode(&ToWorker::NetworkAnswered, b"\0\x01\0\0\0", false).unwrap();
        gateway.write_all(&[reply, bytes(&stored())].concat()).unwrap();
        assert_eq!(host.ask_network(&request).unwrap(), b"\0\x01\0\0\0");
        let mut asked = [0; 1024];
        let length = gateway.read(&mut asked).unwrap();
        assert!(asked[..length].ends_with(b"\x02\xbb\x01a.test"));
        let refused = host.ask_network(&request).unwrap_err();
        assert_eq!(refused.error_type, "Cancelled", "an answer to something else breaks the rules");
        assert!(host.close().is_err());
    }

    #[test]
    fn an_answer_is_never_taken_for_a_cancellation_by_the_other_thread() {
        let (channel, mut gateway) = connected();
        let mut host = ChannelHost::new(&channel);
        let is_cancelled = host.is_cancelled();
        let answering = thread::spawn(move || {
            for _ in 0..2_000 {
                let question = gateway.read(&mut [0; 1024]).unwrap();
                assert!(question > 0);
                gateway.write_all(&bytes(&stored())).unwrap();
            }
            gateway
        });
        let looking = thread::spawn(move || (0..200_000).filter(|_| is_cancelled()).count());
        for _ in 0..2_000 {
            host.write_blob("text/plain", b"x").unwrap();
        }
        let gateway = answering.join().unwrap();
        assert_eq!(looking.join().unwrap(), 0);
        drop(gateway);
    }

    #[test]
    fn a_cancellation_that_comes_instead_of_an_answer_stops_a_guest_that_goes_on() {
        let (channel, mut gateway) = connected();
        let mut host = ChannelHost::new(&channel);
        let is_cancelled = host.is_cancelled();
        gateway.write_all(&bytes(&ToWorker::Cancel)).unwrap();
        let refused = host.write_blob("text/plain", b"x").unwrap_err();
        assert_eq!(refused.error_type, "Cancelled");
        assert!(is_cancelled(), "the cancellation was taken from the socket");
        assert!(!ChannelHost::new(&channel).is_cancelled()(), "the next run was cancelled too");
    }

    #[test]
    fn a_cancellation_that_comes_with_something_else_is_noticed() {
        let (channel, mut gateway) = connected();
        let mut host = ChannelHost::new(&channel);
        let is_cancelled = host.is_cancelled();
        gateway.write_all(&[bytes(&stored()), bytes(&ToWorker::Cancel)].concat()).unwrap();
        host.write_blob("text/plain", b"x").unwrap();
        assert!(is_cancelled(), "it came with an answer");
        assert!(ChannelHost::new(&channel).is_cancelled()(), "it came before the run");
        let (next, _) = channel.borrow_mut().receive().unwrap().unwrap();
        assert!(matches!(next, ToWorker::Cancel), "it is still there for the main loop");
        assert!(!ChannelHost::new(&channel).is_cancelled()());
    }
}
