//! Answers the host calls of one run.
//!
//! Knows nothing of wasm: it gets bytes and the parts of a run that a host call can use, and
//! returns bytes.

use std::fmt;
use std::sync::Arc;

use crate::attached::contents::blob_path;
use crate::clock_and_random::ClockAndRandom;
use crate::codecs::{self, Allowance, CodecError};
use crate::host_call::account::HostCallAccount;
use crate::host_call::cell::CellRequest;
use crate::host_call::replies;
use crate::host_call::request::{Request, TimerRequest};
use crate::run::capture::Capture;
use crate::run::deadline::{Deadline, Stopped};
use crate::run::timer::run_timer::RunTimer;
use crate::vfs::tree::content::SharedBytes;
use crate::vfs::{Errno, FileSystem, Mount};
use wardian_formats::job::host::NO_ANSWERS;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::network::{NetworkReply, NetworkRequest, NetworkWait};
use wardian_formats::job::outcome::{Conversions, ProgressReport};
use wardian_formats::job::session::asking::{CallerRequests, MAX_TOLD_REQUEST};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The parts of a run that a host call can use.
pub struct HostCalls<'run> {
    /// The host, with the account of the run's calls.
    pub account: &'run mut HostCallAccount,
    /// The guest's files.
    pub files: &'run mut FileSystem,
    /// The output of log lines.
    pub(crate) capture: &'run mut Capture,
    /// The end of the run's time.
    pub deadline: &'run Deadline,
    /// The guest's clocks.
    pub clocks: &'run mut ClockAndRandom,
    /// The guest's timer.
    pub(crate) timer: Option<&'run mut RunTimer>,
    /// Bytes that the guest's memory may still grow by, and that a codec may take meanwhile.
    pub room: usize,
    /// Fuel that the run has left, if it is metered. Codecs use it up.
    pub fuel: Option<u64>,
}

/// The answer to the guest.
#[derive(Debug)]
pub enum HostAnswer {
    /// A status byte and a body.
    Bytes(Vec<u8>),
    /// The same, shared because it is the same for the whole run.
    Shared(Arc<[u8]>),
    /// The frame is malformed.
    Fault,
    /// The answer is that of the caller, if it comes soon: the guest asks this, which is JSON text.
    Asked(Vec<u8>),
    /// The answer comes with the next turn, for which the guest is held: it asks this of its caller.
    Held(CallerRequests),
    /// The run must stop, so there is no answer.
    Stopped(Stopped),
    /// The run's fuel does not suffice for the answer.
    OutOfFuel,
}

/// Bytes that are copied at once, 4 MiB: some milliseconds.
const PIECE: usize = 4 << 20;

/// Bytes of a log message that are decoded: the largest log that an operator can allow.
const MAX_LOG_MESSAGE: usize = 16 << 20;

impl<'run> HostCalls<'run> {
    /// The parts of a run whose code is not metered, that has no timer, and whose memory is full.
    #[must_use]
    pub const fn of(
        account: &'run mut HostCallAccount,
        files: &'run mut FileSystem,
        capture: &'run mut Capture,
        deadline: &'run Deadline,
        clocks: &'run mut ClockAndRandom,
    ) -> Self {
        let (timer, room, fuel) = (None, 0, None);
        Self { account, files, capture, deadline, clocks, timer, room, fuel }
    }
}

impl HostCalls<'_> {
    /// Answers a frame of a possibly hostile guest.
    #[must_use]
    pub fn answer(&mut self, frame: &[u8]) -> HostAnswer {
        let Some(request) = Request::parse(frame) else {
            return HostAnswer::Fault;
        };
        let charged = match request {
            Request::Job => return HostAnswer::Shared(self.account.job()),
            Request::Returned(_) | Request::Converted { .. } | Request::Raised(_) => {
                return HostAnswer::Bytes(self.report(&request));
            }
            Request::Files(request) => return HostAnswer::Bytes(request.answer(self.files)),
            Request::Codec(request) => return self.codec(request),
            Request::Network(request) => return self.network(request),
            Request::Timer(request) => return HostAnswer::Bytes(self.timer(request)),
            Request::NameBlob { id, name } => {
                return HostAnswer::Bytes(match self.account.name_blob(id, name) {
                    Ok(()) => replies::done(&[]),
                    Err(refusal) => replies::refused(&refusal),
                });
            }
            Request::Progress { done, total, message } => {
                let message = message.get(..ProgressReport::MAX_MESSAGE).unwrap_or(message);
                let message = String::from_utf8_lossy(message);
                if let Some(report) = ProgressReport::checked(done, total, &message) {
                    self.capture.progress(&report);
                }
                return HostAnswer::Bytes(replies::done(&[]));
            }
            Request::Cell(request) => return self.cell(&request, frame.len()),
            Request::Log { .. } | Request::WriteBlob { .. } | Request::WriteBlobFile { .. } => {
                self.account.charge(frame.len())
            }
        };
        if let Err(refusal) = charged {
            return HostAnswer::Bytes(replies::refused(&refusal));
        }
        HostAnswer::Bytes(match request {
            Request::Log { level, message } => {
                // No log keeps more, so decoding the rest would waste memory and time.
                let kept = message.get(..MAX_LOG_MESSAGE).unwrap_or(message);
                self.capture.log(level, &String::from_utf8_lossy(kept));
                replies::done(&[])
            }
            Request::WriteBlob { kind, content } => match self.store_bytes(kind, content) {
                Ok(answer) => answer,
                Err(stopped) => return HostAnswer::Stopped(stopped),
            },
            Request::WriteBlobFile { kind, path } => self.store_file(kind, path),
            Request::Job
            | Request::Returned(_)
            | Request::Converted { .. }
            | Request::Raised(_)
            | Request::Files(_)
            | Request::Codec(_)
            | Request::Network(_)
            | Request::NameBlob { .. }
            | Request::Timer(_)
            | Request::Cell(_)
            | Request::Progress { .. } => replies::done(&[]),
        })
    }

    /// Takes the report of the program's end.
    fn report(&mut self, request: &Request<'_>) -> Vec<u8> {
        let answer = match request {
            Request::Returned(value) => self.account.returned(value, Conversions::default()),
            Request::Converted { conversions, value } => match Conversions::read(conversions) {
                Some(conversions) => self.account.returned(value, conversions),
                None => self.account.unreadable(),
            },
            Request::Raised(report) => self.account.raised(report),
            _ => self.account.unreadable(),
        };
        self.told_of_open_files(answer)
    }

    /// Adds a body to the answer to a report if files are open for writing. The runner then flushes
    /// them, as the end of a process does, before the host reads the files.
    fn told_of_open_files(&self, mut answer: Vec<u8>) -> Vec<u8> {
        if answer == [0] && self.files.has_open_writers() {
            answer.push(1);
        }
        answer
    }

    /// Runs a codec. Nothing leaves this process, so the request does not count against the limits
    /// on host calls and their bytes. The codec's memory counts against the run's memory, its work
    /// against the run's time and fuel.
    fn codec(&mut self, request: &[u8]) -> HostAnswer {
        let before = self.fuel;
        let allowance = Allowance::new(self.room).until(self.deadline).fuelled(before);
        let answer = codecs::answer(request, &allowance);
        self.fuel = allowance.fuel_left();
        self.account.saw(answer.as_ref().map_or(0, Vec::len).max(request.len()));
        match answer {
            Ok(answer) => HostAnswer::Bytes(answer),
            Err(CodecError::Stopped(stopped)) => HostAnswer::Stopped(stopped),
            Err(CodecError::Fuel) => HostAnswer::OutOfFuel,
            Err(error) => HostAnswer::Bytes(replies::refused(&error.refusal())),
        }
    }

    /// Looks at the guest's timer, or sets it.
    fn timer(&mut self, request: TimerRequest) -> Vec<u8> {
        if let Some(left) = self.fuel {
            self.clocks.note_fuel(left);
        }
        let now = self.clocks.monotonic();
        let timer = self.timer.as_mut();
        match timer.and_then(|timer| timer.answer(request, now)) {
            Some(answer) => replies::done(&answer),
            None => replies::refused(&Refusal {
                error_type: "OSError".to_owned(),
                message: "this interpreter has no timer".to_owned(),
            }),
        }
    }

    /// Asks the network. A wait ends with the run's time: the host answers by then. It also ends when the
    /// guest is interrupted, which has to know of that before it goes on.
    fn network(&mut self, request: NetworkRequest<'_>) -> HostAnswer {
        if let Err(stopped) = self.deadline.check() {
            return HostAnswer::Stopped(stopped);
        }
        let wait = request.wait();
        let answer = self.account.ask_network(&request.within(self.deadline.longest_wait()));
        let answer = answer.map(|reply| self.after_wait(wait, reply));
        if wait != NetworkWait::None
            && let Some(timer) = &self.timer
        {
            timer.note_wait();
        }
        if let Err(stopped) = self.deadline.check() {
            return HostAnswer::Stopped(stopped);
        }
        HostAnswer::Bytes(match answer {
            Ok(reply) => {
                self.account.saw(reply.len());
                replies::done(&reply)
            }
            Err(refusal) => replies::refused(&refusal),
        })
    }

    /// Copies bytes of the guest piece by piece and checks the deadline between pieces: touching
    /// new memory takes time, and a host call cannot be interrupted otherwise.
    fn copied(&self, bytes: &[u8]) -> Result<Vec<u8>, Stopped> {
        let mut copy = Vec::with_capacity(bytes.len());
        for piece in bytes.chunks(PIECE) {
            self.deadline.check()?;
            copy.extend_from_slice(piece);
        }
        Ok(copy)
    }

    /// Stores bytes of the guest's memory. Copies them only if the workspace has room for the copy.
    fn store_bytes(&mut self, kind: &str, content: &[u8]) -> Result<Vec<u8>, Stopped> {
        if !content.is_empty() {
            self.deadline.check()?;
        }
        let room = self.room_for_copies();
        let id = match self.account.write_blob(kind, content, room) {
            Ok(id) => id,
            Err(refusal) => return Ok(replies::refused(&refusal)),
        };
        if self.files.has_room_for(size_of(content)) {
            let copy = SharedBytes::new(self.copied(content)?);
            self.show(&id, &copy);
        }
        Ok(replies::stored(&id, size_of(content)))
    }

    /// Answers a request of a cell, whose frame has so many bytes. Blobs of what it displays are not
    /// mounted: the program has them.
    fn cell(&mut self, request: &CellRequest<'_>, length: usize) -> HostAnswer {
        let shown = match request {
            CellRequest::Clear => {
                self.account.clear_display();
                return HostAnswer::Bytes(replies::done(&[]));
            }
            CellRequest::Rests => {
                self.timer.iter().for_each(|timer| timer.note_rest());
                return HostAnswer::Bytes(replies::done(&[]));
            }
            CellRequest::Reseeded => {
                self.account.note_reseeded();
                return HostAnswer::Bytes(replies::done(&[]));
            }
            CellRequest::Asks(requests) => {
                if let Err(stopped) = self.deadline.check() {
                    return HostAnswer::Stopped(stopped);
                }
                return match self.account.asked(requests) {
                    Ok(requests) => HostAnswer::Held(requests),
                    Err(refusal) => HostAnswer::Bytes(replies::refused(&refusal)),
                };
            }
            CellRequest::AsksSoon(requests) => {
                return match self.account.asked_soon(requests) {
                    Ok(Some(requests)) => HostAnswer::Asked(requests),
                    Ok(None) => HostAnswer::Bytes(replies::done(NO_ANSWERS)),
                    Err(refusal) => HostAnswer::Bytes(replies::refused(&refusal)),
                };
            }
            CellRequest::Tells(request) => {
                return HostAnswer::Bytes(match self.tell(request, length) {
                    Ok(()) => replies::done(&[]),
                    Err(refusal) => replies::refused(&refusal),
                });
            }
            CellRequest::Waits(requests) => {
                let answer = self.account.waits(requests);
                return HostAnswer::Bytes(self.told_of_open_files(answer));
            }
            CellRequest::Show { at, parts } => {
                if let Err(stopped) = self.deadline.check() {
                    return HostAnswer::Stopped(stopped);
                }
                let room = self.room_for_copies();
                let charged = self.account.charge(length);
                charged.and_then(|()| self.account.show(*at, parts, room))
            }
        };
        let number = shown.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        HostAnswer::Bytes(match number {
            Ok(number) => replies::done(&number.to_le_bytes()),
            Err(refusal) => replies::refused(&refusal),
        })
    }

    /// Tells what the program asks of its caller, if somebody hears it. It comes with the end of the turn,
    /// too.
    fn tell(&mut self, request: &str, length: usize) -> Result<(), Refusal> {
        let is_heard = self.capture.is_heard() && request.len() <= MAX_TOLD_REQUEST;
        // What a reproducible guest may call does not depend on who hears it.
        if is_heard || self.clocks.counts_fuel() {
            self.account.charge(length)?;
        }
        if is_heard {
            self.capture.request(request);
        }
        Ok(())
    }

    /// Mounts a blob that the run has stored, if its workspace has room for the copy. Without this
    /// limit, blobs would take memory of the worker beyond the limits of the run.
    fn show(&mut self, id: &BlobId, content: &SharedBytes) {
        let mount = Mount::file(blob_path(id), Arc::new(content.clone()));
        // The same content may be mounted already: an input, or a blob written before.
        self.files.mount_charged(&mount, size_of(content.as_slice())).ok();
    }

    /// Stores a file piece by piece. Copies it only if the workspace has room for the copy.
    fn store_file(&mut self, kind: &str, path: &str) -> Vec<u8> {
        let room = self.room_for_copies();
        let mut file = match self.files.open_file(path, self.account.bytes_left()) {
            Ok(file) => file,
            Err(errno) => return replies::refused(&unreadable(errno)),
        };
        let size = file.size;
        let stored = self
            .account
            .charge_bytes(ByteCount::bytes(size).as_usize())
            .and_then(|()| self.account.write_blob_from(kind, &mut file, room));
        drop(file);
        let id = match stored {
            Ok(id) => id,
            Err(refusal) => return replies::refused(&refusal),
        };
        if self.files.has_room_for(size)
            && let Ok(content) = self.files.read_file(path, size)
        {
            self.show(&id, &content);
        }
        replies::stored(&id, size)
    }

    /// The reply to a request that could wait for so long. The network of a reproducible run takes no
    /// time: a wait that brought nothing advances the clocks, as sleeping does.
    fn after_wait(&mut self, wait: NetworkWait, reply: Vec<u8>) -> Vec<u8> {
        if wait == NetworkWait::None || !self.clocks.counts_fuel() || !wait.was_in_vain(&reply) {
            return reply;
        }
        match wait.time() {
            Some(time) => {
                self.clocks.skip(time);
                reply
            }
            None => NetworkReply::never().encode(),
        }
    }

    /// Bytes of memory that the run may still take, in its own memory and its workspace together.
    fn room_for_copies(&self) -> u64 {
        self.files.free_bytes().saturating_add(ByteCount::from(self.room).as_u64())
    }
}

fn size_of(content: &[u8]) -> u64 {
    u64::try_from(content.len()).unwrap_or(u64::MAX)
}

impl fmt::Debug for HostCalls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCalls").field("account", &self.account).finish_non_exhaustive()
    }
}

/// The refusal for a file that cannot be stored as a blob.
fn unreadable(errno: Errno) -> Refusal {
    let (error_type, message) = match errno {
        Errno::NotFound => ("FileNotFoundError", "the file does not exist"),
        Errno::IsFolder => ("IsADirectoryError", "a folder cannot become a blob"),
        Errno::FileTooBig => ("HostCallLimit", "the file is larger than the run may send"),
        _ => ("OSError", "the file cannot be read"),
    };
    Refusal { error_type: error_type.to_owned(), message: message.to_owned() }
}
