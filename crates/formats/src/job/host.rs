//! The requests of a guest that are answered outside of its worker.

use std::io::{BufRead, Read as _};
use std::time::Duration;

use crate::job::Turn;
use crate::job::message::Refusal;
use crate::job::network::{NetworkReply, NetworkRequest};
use crate::job::outcome::{LogChunk, RunOutcome};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The host of one run. The sandbox calls it; in a worker, the end of the socket to the gateway
/// implements it.
///
/// A new kind of request is a method here, a [`RequestKind`], a function of the guest, and a
/// handler in the gateway.
pub trait Host {
    /// Stores a blob.
    ///
    /// # Errors
    ///
    /// A refusal, which the guest sees as an exception.
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal>;

    /// Stores a blob of `size` bytes that are read from `content`. The default reads the content
    /// into memory; a host that can avoid this copy overrides it.
    ///
    /// # Errors
    ///
    /// As [`Host::write_blob`], and if the content ends too early.
    fn write_blob_from(
        &mut self,
        kind: &str,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<BlobId, Refusal> {
        let mut bytes = Vec::new();
        match content.take(size).read_to_end(&mut bytes) {
            Ok(read) if ByteCount::from(read).as_u64() == size => self.write_blob(kind, &bytes),
            Ok(_) | Err(_) => Err(unreadable()),
        }
    }

    /// Asks the network. The request is shortened to what one message moves, and to the time that
    /// the run has left. The answer is that of [`NetworkReply::encode`].
    ///
    /// A host without one answers so; the guest says what to do about it.
    ///
    /// # Errors
    ///
    /// The run is cancelled.
    fn ask_network(&mut self, _request: &NetworkRequest<'_>) -> Result<Vec<u8>, Refusal> {
        Ok(NetworkReply::no_network().encode())
    }

    /// Asks the caller, which hears along, for answers without which the program cannot go on: JSON text of
    /// [`CallerRequests`]. The answers are those of [`CellOrder::answers`]. There are none if none came within
    /// moments: the turn ends with the requests then.
    ///
    /// A host without a caller that hears has none at once.
    ///
    /// # Errors
    ///
    /// The run is cancelled.
    ///
    /// [`CallerRequests`]: crate::job::session::asking::CallerRequests
    /// [`CellOrder::answers`]: crate::job::session::cell::CellOrder::answers
    fn ask_caller(&mut self, _requests: &[u8]) -> Result<Vec<u8>, Refusal> {
        Ok(NO_ANSWERS.to_vec())
    }

    /// True if [`Self::hold`] can be called.
    fn can_hold(&self) -> bool {
        false
    }

    /// Ends the turn of a cell in the middle of a host call: reports `outcome`, with what the cell asks of
    /// its caller. Waits for the next turn of the guest, which has the answers, and returns it. `None` if the
    /// guest is closed instead.
    ///
    /// The next turn begins anew with all that [`Turn`] limits. Nobody asks the checks of this host meanwhile.
    fn hold(&mut self, outcome: RunOutcome) -> Option<Box<Turn>> {
        drop(outcome);
        None
    }

    /// Returns a check that is true once no caller waits for the run. Another thread calls it
    /// while the guest runs.
    fn is_cancelled(&self) -> IsCancelled;

    /// Returns a check that is true once the caller has interrupted the turn. It stays true until the
    /// turn ends. Another thread calls it while the guest runs.
    ///
    /// By default nobody interrupts.
    fn is_interrupted(&self) -> IsInterrupted {
        Box::new(|| false)
    }

    /// Returns the receiver of the guest's output while it is printed, if the run is streamed.
    fn listener(&self) -> Option<OutputListener> {
        None
    }
}

/// The answers of [`Host::ask_caller`] if none came.
pub const NO_ANSWERS: &[u8] = b"[]";

/// The kinds of requests that the gateway answers for a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Store a blob.
    WriteBlob,
    /// Ask the network.
    Network,
    /// Ask the caller.
    Caller,
}

impl RequestKind {
    /// Returns the account that the time of the answer is charged to.
    #[must_use]
    pub const fn time_of_answer(self) -> TimeOfAnswer {
        match self {
            Self::WriteBlob => TimeOfAnswer::ExtendsRun,
            Self::Network => TimeOfAnswer::CountsAgainstRun,
            Self::Caller => TimeOfAnswer::Stands,
        }
    }
}

/// The account that the time of an answer is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeOfAnswer {
    /// The gateway does the work itself, such as storing a blob. The deadline of the run moves by
    /// the same time, within a bound for the whole run.
    ExtendsRun,
    /// The caller works itself. No time of the run passes, and with an answer it has its whole time again. The
    /// caller's patience is the bound: it has only moments.
    Stands,
    /// The gateway waits for another machine. The wait counts as time of the run, so that no remote
    /// server can make a run longer.
    CountsAgainstRun,
}

/// The time that the gateway has taken for the answers of one run, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostTime {
    write_blob: Duration,
    network: Duration,
    caller: Duration,
}

impl HostTime {
    /// Adds the time of one answer.
    pub const fn add(&mut self, kind: RequestKind, time: Duration) {
        let total = match kind {
            RequestKind::WriteBlob => &mut self.write_blob,
            RequestKind::Network => &mut self.network,
            RequestKind::Caller => &mut self.caller,
        };
        *total = total.saturating_add(time);
    }

    /// The time of all answers of this kind.
    #[must_use]
    pub const fn of(self, kind: RequestKind) -> Duration {
        match kind {
            RequestKind::WriteBlob => self.write_blob,
            RequestKind::Network => self.network,
            RequestKind::Caller => self.caller,
        }
    }
}

/// True once no caller waits for the run.
pub type IsCancelled = Box<dyn Fn() -> bool + Send>;

/// True once the caller has interrupted the turn.
pub type IsInterrupted = Box<dyn Fn() -> bool + Send>;

/// Receives the output of a guest while it is printed.
pub type OutputListener = Box<dyn FnMut(LogChunk)>;

fn unreadable() -> Refusal {
    let message = "the file cannot be read".to_owned();
    Refusal { error_type: "OSError".to_owned(), message }
}
