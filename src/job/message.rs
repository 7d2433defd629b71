//! The messages between gateway and worker.

use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, Digest};
use crate::job::RunSpec;
use crate::job::outcome::RunOutcome;
use crate::units::ByteCount;

/// What the gateway says to a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// Keep this skill's files, which follow as a payload, until told otherwise.
    AttachSkill {
        /// Names the snapshot.
        digest: Digest,
        /// Where each file lies in the payload.
        files: Vec<PackedFile>,
    },
    /// Keep this blob's content, which follows as a payload, until told otherwise.
    AttachBlob {
        /// Names the blob.
        id: BlobId,
    },
    /// Forget a skill.
    DetachSkill {
        /// Names the snapshot.
        digest: Digest,
    },
    /// Forget a blob.
    DetachBlob {
        /// Names the blob.
        id: BlobId,
    },
    /// Run this; answered by events and one [`FromWorker::Done`].
    Run(Box<RunSpec>),
    /// Answers [`FromWorker::WriteBlob`].
    BlobStored {
        /// Names the stored blob.
        id: BlobId,
    },
    /// Answers a request that was not granted; the guest sees an exception.
    Refused(Refusal),
    /// Stop the run in progress, if there is one.
    Cancel,
}

/// What a worker says to the gateway. Every field of it may be a lie of a compromised worker.
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
    /// The run is over; its output follows as a payload if it completed.
    Done(Box<RunOutcome>),
    /// The worker cannot start.
    Failed {
        /// Why, for the log.
        reason: String,
    },
}

/// A file's place in the payload of [`ToWorker::AttachSkill`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// Path below the skill's root, with `/`.
    pub path: String,
    /// Where it starts.
    pub offset: u64,
    /// Its length.
    pub size: u64,
}

/// Why the gateway did not grant a guest's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Name of the exception that the guest sees, such as `QuotaExceeded`.
    pub error_type: String,
    /// For the guest; no host path, no secret.
    pub message: String,
}

/// What a worker reports when it is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Names of the images it can run, the base image first.
    pub images: Vec<String>,
    /// How dirty pages are found, such as `pagemap-scan`.
    pub reset: String,
    /// Walls that stand, such as `seccomp`.
    pub lockdown: Vec<String>,
    /// Walls that this kernel does not offer, each with the reason.
    pub missing: Vec<String>,
}

/// Bulk bytes that travel beside a message.
#[derive(Debug)]
pub enum Payload {
    /// Nothing.
    None,
    /// Bytes within the frame: up to [`INLINE_MAX`].
    Inline(Vec<u8>),
    /// A file descriptor to read them from, and how many there are.
    Shared(OwnedFd, ByteCount),
}

/// Largest payload that is sent within a frame; larger ones travel as a file descriptor. Copying
/// 64 KiB through a socket costs less than making, sending and mapping a memory file.
pub const INLINE_MAX: usize = 64 << 10;
