//! The messages between gateway and worker.

use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

use crate::job::attachment::{Attachment, AttachmentKey};
use crate::job::outcome::{LogChunk, RunOutcome};
use crate::job::session::checkpoint::PackFacts;
use crate::job::{Setup, Turn};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// Names a guest between its opening and its closing. No other guest of the same worker has it
/// meanwhile.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct GuestNumber(pub u64);

/// A message of the gateway to a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// Keep this attachment until it is detached. Its content follows as a payload.
    Attach(Attachment),
    /// Drop this attachment.
    Detach(AttachmentKey),
    /// Make a guest and keep it until it is closed. A worker keeps any number of guests. Nothing answers
    /// it: a guest that cannot be made is the end of its first turn.
    Open(GuestNumber, Box<Setup>),
    /// Keep this pack until [`Self::Resume`]. It follows as a payload. The packs of a chain come one
    /// after another, the oldest first, at most
    /// [`MOST_IN_CHAIN`](crate::job::session::checkpoint::MOST_IN_CHAIN). Nothing but `Resume` follows
    /// them.
    Pack,
    /// As [`Self::Open`], but the guest is made in the state that the packs before this message end
    /// with. A guest that cannot be resumed is the end of its first turn, which is answered with
    /// [`FromWorker::NotResumed`].
    Resume(GuestNumber, Box<Setup>),
    /// Keep this content of a file for the next turn, which
    /// [writes](crate::job::session::files::FilesOrder::Write) it. It follows as a payload. The packs and the
    /// opening of that turn's guest, if it is not open, and the turn follow, and nothing else.
    Content,
    /// Run this program in an open guest. The worker may send requests and reports meanwhile, and
    /// ends with [`FromWorker::Done`]. The turn after one whose cell is
    /// [held](crate::job::session::cell::CellOutcome::is_held) goes on with that cell: it is one of the
    /// same guest. Until then, nothing but [`Self::Close`] is sent.
    Turn(GuestNumber, Box<Turn>),
    /// Drop an open guest, and give its memory back to its image. Nothing answers it. It is never sent
    /// during a turn.
    Close(GuestNumber),
    /// Open a guest, give it this turn, and close it: a whole run in one message. The worker answers
    /// as to [`Self::Turn`], and closes the guest after its answer.
    Run(Box<Setup>, Box<Turn>),
    /// Answers [`FromWorker::WriteBlob`].
    BlobStored {
        /// Names the stored blob.
        id: BlobId,
    },
    /// Answers [`FromWorker::AskNetwork`]; the reply follows as a payload within the frame.
    NetworkAnswered,
    /// Answers [`FromWorker::AskCaller`]; the answers follow as a payload, as those of
    /// [`CellOrder::answers`](crate::job::session::cell::CellOrder::answers). There are none if none came soon.
    CallerAnswered,
    /// Answers a request that was not granted; the guest sees an exception.
    Refused(Refusal),
    /// Stop the run in progress, if there is one.
    Cancel,
    /// Interrupt the turn in progress, if there is one. A cell sees a `KeyboardInterrupt`, and is stopped
    /// if it has not ended after [`INTERRUPT_GRACE`](crate::job::session::cell::INTERRUPT_GRACE). Any
    /// other turn is stopped at once. Nothing answers it but the end of the turn.
    Interrupt,
}

/// Messages of [`ToWorker`] whose parts the gateway continues to use.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order<'job> {
    /// As [`ToWorker::Open`].
    Open(GuestNumber, &'job Setup),
    /// As [`ToWorker::Resume`].
    Resume(GuestNumber, &'job Setup),
    /// As [`ToWorker::Turn`].
    Turn(GuestNumber, &'job Turn),
    /// As [`ToWorker::Run`].
    Run(&'job Setup, &'job Turn),
}

/// A message of a worker to the gateway. A compromised worker may lie in every field.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// The engine is loaded and warm, the process locked down.
    Ready(WorkerReport),
    /// The guest wants this payload stored; answered by [`ToWorker::BlobStored`] or a refusal.
    WriteBlob {
        /// MIME type.
        kind: String,
    },
    /// The guest asks the network: a [`crate::job::network::NetworkRequest`] follows as a payload
    /// within the frame; answered by [`ToWorker::NetworkAnswered`].
    AskNetwork,
    /// The guest can go on only with answers of its caller, which
    /// [hears](crate::job::session::cell::CellOrder::is_heard) it: its
    /// [requests](crate::job::session::asking::CallerRequests) follow as a payload within the frame; answered by
    /// [`ToWorker::CallerAnswered`] or a refusal.
    AskCaller,
    /// Output of the program; sent only if [`Turn::stream_logs`] is set.
    Printed(LogChunk),
    /// The turn is over; its output follows as a payload if it completed.
    Done {
        /// Its outcome.
        outcome: Box<RunOutcome>,
        /// True if the guest can have another turn. It is of no use after a trap or a stop.
        can_go_on: bool,
    },
    /// Follows the [`Self::Done`] of a [`ToWorker::Turn`] that [saves the state](Turn::saves_state) of its
    /// guest and whose guest can go on, unless it was a cell that is
    /// [held](crate::job::session::cell::CellOutcome::is_held): the guest's state. The pack follows as a
    /// payload.
    Parked(PackFacts),
    /// Instead of [`Self::Parked`]: the guest's state cannot be saved.
    NotParked {
        /// What prevents it, at most
        /// [`MAX_MESSAGE`](crate::job::outcome::MAX_MESSAGE) bytes.
        reason: String,
    },
    /// Instead of [`Self::Parked`], for a change of files that was
    /// [refused](crate::job::session::files::FilesAnswer::Refused): the guest's state is as before.
    Unchanged,
    /// The guest of the first turn after [`ToWorker::Resume`] is made, and the turn begins: the worker has
    /// read the packs, and the gateway need not keep them.
    Resumed,
    /// Instead of [`Self::Done`], for the first turn after [`ToWorker::Resume`]: the guest cannot be
    /// resumed, and nothing ran. The worker is sound, and waits for [`ToWorker::Close`].
    NotResumed {
        /// What is wrong with the packs, at most
        /// [`MAX_MESSAGE`](crate::job::outcome::MAX_MESSAGE) bytes.
        reason: String,
    },
    /// The worker cannot start, or cannot run another guest, and exits. A run for which this is the
    /// only answer was not begun.
    Failed {
        /// The reason, for the log.
        reason: String,
    },
    /// The worker cannot start and exits, and so would any other one, as long as nothing else on this
    /// machine changes.
    CannotStart {
        /// The reason, for the log.
        reason: String,
    },
}

/// The reason why the gateway did not grant a guest's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Name of the exception that the guest sees, such as `QuotaExceeded`.
    pub error_type: String,
    /// For the guest; no host path, no secret.
    pub message: String,
}

/// The report of a worker that is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Variants of the engine's code that it has, such as `timed`.
    pub code: Vec<String>,
    /// The way in which dirty pages are found, such as `pagemap-scan`.
    pub reset: String,
    /// Walls that stand, such as `seccomp`.
    pub lockdown: Vec<String>,
    /// Walls that this kernel does not offer, each with the reason.
    pub missing: Vec<String>,
    /// Walls that stand and have a gap, each with what it is.
    pub partial: Vec<String>,
    /// The state of huge pages for guests' memory: `off`, or `not controlled`.
    pub huge_pages: String,
}

/// Bulk bytes that travel next to a message.
#[derive(Debug)]
pub enum Payload {
    /// Nothing; also what an empty payload becomes on its way.
    None,
    /// Bytes within the frame: up to [`INLINE_MAX`].
    Inline(Vec<u8>),
    /// A file descriptor to read them from, and how many there are: up to [`PAYLOAD_MAX`].
    Shared(OwnedFd, ByteCount),
}

impl Payload {
    /// Length in bytes, as the sender states it. A compromised sender may lie.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        match self {
            Self::None => ByteCount::bytes(0),
            Self::Inline(bytes) => ByteCount::from(bytes.len()),
            Self::Shared(_, size) => *size,
        }
    }
}

/// Largest payload that is sent within a frame; larger ones travel as a file descriptor. Copying
/// 64 KiB through a socket costs less than making, sending and mapping a memory file.
pub const INLINE_MAX: usize = 64 << 10;

/// Largest payload of any kind: a skill's files, a blob, an output. No sensible limit of a run
/// allows more, so a peer that announces more is broken.
pub const PAYLOAD_MAX: ByteCount = ByteCount::mebibytes(1024);

/// Largest value that a program can return, as JSON text. The gateway holds it several times while
/// it checks and answers. Larger values belong in a blob, which is never in memory as a whole.
pub const OUTPUT_MAX: ByteCount = ByteCount::mebibytes(32);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use serde_json::value::RawValue;

    use crate::job::Program;
    use crate::job::limits::RunLimits;
    use crate::job::session::cell::CellOrder;
    use wardian_vocabulary::ids::{Digest, TenantId};

    #[test]
    fn payloads_know_their_size() {
        let file = tempfile::tempfile().unwrap().into();
        let cases = [
            (Payload::None, 0),
            (Payload::Inline(vec![0; 7]), 7),
            (Payload::Shared(file, ByteCount::mebibytes(3)), 3 << 20),
        ];
        for (payload, size) in cases {
            assert_eq!(payload.size(), ByteCount::bytes(size));
        }
    }

    #[test]
    fn an_order_is_read_as_a_run() {
        let (limits, turn_limits) = RunLimits::DEFAULT.split();
        let setup = Setup {
            tenant: TenantId::local(),
            image: Digest::of(b"image"),
            skills: vec![],
            layers: vec![],
            blobs: vec![],
            hides_modules: false,
            environment: BTreeMap::from([("TOKEN".into(), "hunter2".to_owned().into())]),
            reproducible: None,
            counts_fuel: false,
            limits,
        };
        let program = Program::Code { source: "1 + 1".into(), file_name: "main.py".into() };
        let args = RawValue::from_string(r#"{"deep": [1, {"x": null}]}"#.into()).unwrap();
        let turn = Turn::new(program, args, turn_limits);
        let text = serde_json::to_string(&Order::Run(&setup, &turn)).unwrap();
        let ToWorker::Run(read_setup, read_turn) = serde_json::from_str(&text).unwrap() else {
            panic!("read as something else: {text}");
        };
        assert_eq!(read_turn.id, turn.id);
        assert_eq!(read_turn.args.get(), turn.args.get());
        assert_eq!(read_setup.environment, setup.environment);
        assert_eq!((read_setup.limits, read_turn.limits), (setup.limits, turn.limits));
        assert!(!text.contains("cell") && !text.contains(r#""files":"#), "{text}");
        let orders = [
            (Order::Open(GuestNumber(7), &setup), "open"),
            (Order::Resume(GuestNumber(7), &setup), "resume"),
            (Order::Turn(GuestNumber(7), &turn), "turn"),
        ];
        for (order, kind) in orders {
            let text = serde_json::to_string(&order).unwrap();
            let read = serde_json::from_str::<ToWorker>(&text).unwrap();
            let is_it = match (&read, kind) {
                (ToWorker::Open(GuestNumber(7), read), "open")
                | (ToWorker::Resume(GuestNumber(7), read), "resume") => read.limits == setup.limits,
                (ToWorker::Turn(GuestNumber(7), read), "turn") => read.id == turn.id,
                _ => false,
            };
            assert!(is_it, "read as something else: {text}");
        }
        let order = Some(CellOrder::new(3, true));
        let turn = Turn { cell: order.clone(), ..turn };
        let text = serde_json::to_string(&Order::Turn(GuestNumber(0), &turn)).unwrap();
        let ToWorker::Turn(_, turn) = serde_json::from_str(&text).unwrap() else {
            panic!("read as something else: {text}");
        };
        assert_eq!(turn.cell, order);
        let printed = format!("{:?}", Order::Run(&setup, &turn));
        assert!(!printed.contains("hunter2"), "a secret was printed");
    }

    /// The fuzzers begin with these messages. One that is not understood teaches them nothing.
    #[test]
    fn seeds_of_the_fuzzers_are_messages() {
        assert_eq!(understood_seeds::<ToWorker>("gateway_frames"), 17);
        assert_eq!(understood_seeds::<FromWorker>("worker_frames"), 18);
    }

    /// Reads each seed that is a single message, and returns how many there are.
    fn understood_seeds<M: serde::de::DeserializeOwned>(target: &str) -> usize {
        let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds");
        let mut understood = 0;
        for seed in std::fs::read_dir(format!("{repository}/{target}")).unwrap() {
            let seed = seed.unwrap();
            let bytes = std::fs::read(seed.path()).unwrap();
            // `m` begins a message with an optional payload, `r` a raw stream.
            let Some((b'm', bytes)) = bytes.split_first() else { continue };
            let message = bytes.split(|byte| *byte == 0).next().unwrap();
            if let Err(error) = serde_json::from_slice::<M>(message) {
                panic!("{:?}: {error}", seed.path());
            }
            understood += 1;
        }
        understood
    }
}
