//! The door of a running guest, as far as it leads to the gateway.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ids::BlobId;
use crate::job::message::{FromWorker, PAYLOAD_MAX, Refusal, ToWorker};
use crate::units::ByteCount;
use crate::worker::channel::{Channel, ChannelError};

/// What a sandbox asks of the process around it while a guest runs.
pub trait GuestHost {
    /// Stores a blob.
    ///
    /// # Errors
    ///
    /// The gateway's reason for not doing so; the guest sees it as an exception.
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal>;

    /// True once nobody waits for the run any more: it was cancelled, or the gateway is gone.
    /// Costs one system call; a sandbox asks whenever it interrupts the guest anyway.
    fn is_cancelled(&mut self) -> bool;
}

/// A [`GuestHost`] that asks the gateway.
///
/// The guest's thread itself sends and waits for the answer: a second thread that reads the
/// socket would cost every message two changes of threads.
///
/// A clone speaks for the same run: the sandbox owns one as long as its guest lives, the main loop
/// keeps another.
#[derive(Debug, Clone)]
pub struct ChannelHost {
    channel: Rc<RefCell<Channel>>,
    state: Rc<RefCell<HostState>>,
}

#[derive(Debug)]
enum HostState {
    Open,
    Cancelled,
    Broken(ChannelError),
}

impl ChannelHost {
    /// The door of the next run.
    #[must_use]
    pub fn new(channel: &Rc<RefCell<Channel>>) -> Self {
        Self { channel: Rc::clone(channel), state: Rc::new(RefCell::new(HostState::Open)) }
    }

    /// Ends the run's use of the door.
    ///
    /// # Errors
    ///
    /// Why the channel cannot be used any more, if so.
    pub fn close(self) -> Result<(), ChannelError> {
        match self.state.replace(HostState::Cancelled) {
            HostState::Open | HostState::Cancelled => Ok(()),
            HostState::Broken(error) => Err(error),
        }
    }

    fn is_open(&self) -> bool {
        matches!(*self.state.borrow(), HostState::Open)
    }

    fn ask(&self, message: &FromWorker, content: &[u8]) -> Result<Answer, ChannelError> {
        let mut channel = self.channel.borrow_mut();
        channel.send(message, content)?;
        match channel.receive()? {
            Some((ToWorker::BlobStored { id }, _)) => Ok(Answer::Stored(id)),
            Some((ToWorker::Refused(refusal), _)) => Ok(Answer::Refused(refusal)),
            // The gateway takes no notice of requests after its Cancel, so this is the answer.
            Some((ToWorker::Cancel, _)) => Ok(Answer::Cancelled),
            Some(_) | None => Err(ChannelError::Gone),
        }
    }
}

impl GuestHost for ChannelHost {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        if !self.is_open() {
            return Err(cancelled());
        }
        if ByteCount::from(content.len()) > PAYLOAD_MAX {
            let message = format!("a blob can have at most {PAYLOAD_MAX}");
            return Err(Refusal { error_type: "HostCallLimit".into(), message });
        }
        match self.ask(&FromWorker::WriteBlob { kind: kind.to_owned() }, content) {
            Ok(Answer::Stored(id)) => Ok(id),
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Ok(Answer::Cancelled) => {
                self.state.replace(HostState::Cancelled);
                Err(cancelled())
            }
            Err(error) => {
                self.state.replace(HostState::Broken(error));
                Err(cancelled())
            }
        }
    }

    fn is_cancelled(&mut self) -> bool {
        if self.is_open() {
            let glanced = self.channel.borrow_mut().glance();
            let state = match glanced {
                Ok(None) => HostState::Open,
                Ok(Some((ToWorker::Cancel, _))) => HostState::Cancelled,
                // Nothing else may be said while a guest runs.
                Ok(Some(_)) => HostState::Broken(ChannelError::Gone),
                Err(error) => HostState::Broken(error),
            };
            self.state.replace(state);
        }
        !self.is_open()
    }
}

enum Answer {
    Stored(BlobId),
    Refused(Refusal),
    Cancelled,
}

fn cancelled() -> Refusal {
    Refusal { error_type: "Cancelled".into(), message: "the run was cancelled".into() }
}
