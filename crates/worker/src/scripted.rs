//! A sandbox for tests that obeys a script instead of running Python.
//!
//! Each line of a program's source is one step:
//!
//! ```text
//! blob KIND TEXT        stores a blob; a refusal ends the run as an exception
//! blob-of KIND COUNT    stores a blob of COUNT bytes
//! log TEXT              writes a log line
//! log-of COUNT          writes a log line of COUNT bytes
//! secret NAME           logs the value of an environment variable
//! attached              logs what is attached
//! read PATH             logs a file of an attached skill, or a blob
//! wait                  waits until it is cancelled
//! interruptible         waits until it is interrupted, and ends with a `KeyboardInterrupt`
//! receive               asks a connection for bytes, without an end, and logs the reply
//! hang                  waits for ever
//! compute               computes until it is cancelled
//! panic, abort, break   ends the worker in one of three ways
//! keep TEXT             notes a text in the guest
//! kept                  logs what was noted in the guest, in this turn or before
//! unparkable            makes checkpoints of the guest fail from now on
//! spoil MILLISECONDS    makes cleaning up take this long and fail
//! complain COUNT        writes COUNT lines to standard error
//! ask                   ends the turn of a cell, and logs the answers that its next one brings
//! return TEXT           ends the run with this output
//! return-of COUNT       ends the run with an output of COUNT bytes
//! ```
//!
//! A checkpoint of a guest is what was noted since the one before. Its files are those of the texts
//! `PATH=CONTENT` that were noted.

#![expect(clippy::unwrap_used, clippy::panic, reason = "only tests are here; they fail by panics")]

use std::collections::BTreeMap;
use std::env;
use std::io::{Read as _, Write as _};
use std::os::fd::RawFd;
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::host::ChannelHost;
use crate::runner::{Abilities, Runner, RunnerError};
use crate::template::HARNESS_THREADS;
use crate::{LockdownPlan, serve, serve_forks, socket_from_standard_input};
use wardian_formats::job::attachment::{
    AttachedContent, AttachedName, Attachment, AttachmentKey, PackedFile,
};
use wardian_formats::job::host::Host as _;
use wardian_formats::job::message::Payload;
use wardian_formats::job::network::NetworkRequest;
use wardian_formats::job::outcome::{
    Conversions, LeftFiles, LogChunk, Logs, RunFailure, RunOutcome, RunUsage, Stream,
};
use wardian_formats::job::session::asking::CallerRequests;
use wardian_formats::job::session::cell::CellOutcome;
use wardian_formats::job::session::checkpoint::{MOST_IN_CHAIN, PACK_FORMAT, PackFacts};
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, FilesRefusal, ListedFiles};
use wardian_formats::job::{Program, Setup, Turn};
use wardian_sandbox::{Pack, PackError, Stopwatch, TurnEnd};
use wardian_vocabulary::ids::{BlobId, Digest};
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// How long a step of waiting takes.
const PAUSE: Duration = Duration::from_millis(2);

/// A [`Runner`] of scripts.
#[derive(Debug, Default)]
pub(crate) struct ScriptedRunner {
    skills: BTreeMap<Digest, BTreeMap<String, Vec<u8>>>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    images: BTreeMap<Digest, Vec<u8>>,
    spoils: Option<Duration>,
}

/// A guest of scripts.
#[derive(Debug)]
pub(crate) struct ScriptedGuest {
    setup: Arc<Setup>,
    kept: Vec<String>,
    can_go_on: bool,
    is_unparkable: bool,
    /// What it says of its memory.
    memory: ByteCount,
    /// The facts about the packs that the next one continues, and what is in none of them begins here.
    chain: (Vec<PackFacts>, usize),
}

/// What stands in a pack, after the digest of its text.
#[derive(Serialize, Deserialize)]
struct ScriptedPack {
    image: Digest,
    sequence: u32,
    base: Option<Digest>,
    kept: Vec<String>,
}

impl ScriptedPack {
    /// Bytes of the digest before the text.
    const DIGEST: usize = 64;

    fn write(&self) -> Pack {
        let text = serde_json::to_vec(self).unwrap();
        let bytes = [Digest::of(&text).to_string().into_bytes(), text].concat();
        Pack { facts: self.facts(&bytes), bytes }
    }

    fn read(bytes: &[u8]) -> Result<(PackFacts, Self), PackError> {
        let whole = bytes.split_at_checked(Self::DIGEST);
        let whole = whole.filter(|(sum, text)| Digest::of(text).to_string().as_bytes() == *sum);
        let (_, text) = whole.ok_or(PackError::Damaged { what: "its digest is another one" })?;
        let pack: Self = serde_json::from_slice(text).unwrap();
        Ok((pack.facts(bytes), pack))
    }

    fn facts(&self, bytes: &[u8]) -> PackFacts {
        PackFacts {
            format: PACK_FORMAT,
            image: self.image,
            sequence: self.sequence,
            base: self.base,
            digest: Digest::of(bytes),
            root: Digest::of(self.kept.join(" ").as_bytes()),
            pages: self.kept.len().try_into().unwrap(),
            size: bytes.len().into(),
        }
    }
}

impl ScriptedGuest {
    fn new(setup: Arc<Setup>) -> Self {
        let (kept, chain) = (Vec::new(), (Vec::new(), 0));
        let memory = ByteCount::default();
        Self { setup, kept, can_go_on: true, is_unparkable: false, memory, chain }
    }

    fn of_packs(setup: Arc<Setup>, packs: &[Vec<u8>]) -> Result<Self, PackError> {
        let mut guest = Self::new(setup);
        for bytes in packs {
            let (facts, pack) = ScriptedPack::read(bytes)?;
            guest.chain.0.push(facts);
            guest.kept.extend(pack.kept);
        }
        PackFacts::check_chain(guest.setup.image, &guest.chain.0)?;
        guest.chain.1 = guest.kept.len();
        Ok(guest)
    }

    /// The content of a file.
    fn content_of(&self, path: &str) -> Option<&str> {
        let noted = self.kept.iter().rev().filter_map(|text| text.split_once('='));
        noted.filter(|(name, _)| *name == path).map(|(_, content)| content).next()
    }

    fn checkpoint(&mut self) -> Result<Pack, PackError> {
        if self.is_unparkable {
            return Err(PackError::Unparkable { what: "a thing that was asked for" });
        }
        let (mut chain, mut from) = std::mem::take(&mut self.chain);
        let last = chain.last().copied();
        if chain.len() == MOST_IN_CHAIN {
            (chain, from) = (Vec::new(), 0);
        }
        let pack = ScriptedPack {
            image: self.setup.image,
            sequence: last.map_or(0, |last| last.sequence) + 1,
            base: chain.last().map(|last| last.digest),
            kept: self.kept.get(from..).unwrap_or_default().to_vec(),
        };
        let pack = pack.write();
        chain.push(pack.facts);
        self.chain = (chain, self.kept.len());
        Ok(pack)
    }
}

enum Step {
    Next,
    Return(Vec<u8>),
    Fail(RunFailure),
}

/// Passes time until the run is to end.
fn until(is_over: &dyn Fn() -> bool, pass: impl Fn()) -> Step {
    while !is_over() {
        pass();
    }
    Step::Fail(RunFailure::Cancelled)
}

/// The failure of a program that lets itself be interrupted.
fn interrupted() -> RunFailure {
    let class = "KeyboardInterrupt".to_owned();
    RunFailure::Exception { class, message: String::new(), traceback: None }
}

impl ScriptedRunner {
    fn step(
        &mut self,
        line: &str,
        (guest, turn): (&mut ScriptedGuest, &Turn),
        host: &mut ChannelHost,
        logs: &mut Logs,
    ) -> Result<Step, RunnerError> {
        let mut log = |text: String| {
            logs.chunks.push(LogChunk { stream: Stream::Log, text });
            Ok(Step::Next)
        };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "blob" | "blob-of" => Ok(store_blob(word, rest, host)),
            "log" => log(rest.to_owned()),
            "log-of" => log("l".repeat(rest.parse().unwrap())),
            "secret" => {
                log(guest.setup.environment.get(rest).map_or("", SecretText::expose).to_owned())
            }
            "keep" => {
                guest.kept.push(rest.to_owned());
                Ok(Step::Next)
            }
            "kept" => log(guest.kept.join(" ")),
            "unparkable" => {
                guest.is_unparkable = true;
                Ok(Step::Next)
            }
            "grow" => {
                guest.memory = ByteCount::mebibytes(rest.parse().unwrap());
                Ok(Step::Next)
            }
            "attached" => log(format!("{} skills, {} blobs", self.skills.len(), self.blobs.len())),
            "read" => log(String::from_utf8(self.find(rest).unwrap().clone()).unwrap()),
            "receive" => log(received(host)),
            "soon" => log(soon(host, rest)),
            "wait" => Ok(until(&host.is_cancelled(), || thread::park_timeout(PAUSE))),
            "compute" => Ok(until(&host.is_cancelled(), std::hint::spin_loop)),
            "interruptible" => {
                let cancelled = until(&host.is_interrupted(), || thread::park_timeout(PAUSE));
                Ok(if host.is_cancelled()() { cancelled } else { Step::Fail(interrupted()) })
            }
            "hang" => loop {
                thread::park_timeout(PAUSE);
            },
            "panic" => panic_any(format!("a panic that was asked for: {}", turn.args)),
            "abort" => std::process::abort(),
            "break" => Err("a broken sandbox that was asked for".into()),
            "trap" => Ok(Step::Fail(RunFailure::SandboxCrash { reason: "a trap".to_owned() })),
            "spoil" => {
                self.spoils = Some(Duration::from_millis(rest.parse().unwrap()));
                Ok(Step::Next)
            }
            "complain" => {
                for number in 0..rest.parse().unwrap() {
                    writeln!(io::stderr(), "complaint {number}")?;
                }
                Ok(Step::Next)
            }
            "ask" => Ok(ask(host, logs)),
            "return" => Ok(Step::Return(rest.into())),
            "return-of" => Ok(Step::Return(vec![b'7'; rest.parse().unwrap()])),
            _ => Err(format!("no such step: {line}").into()),
        }
    }

    fn find(&self, path: &str) -> Option<&Vec<u8>> {
        let blob = BlobId::parse(path).ok().and_then(|id| self.blobs.get(&id));
        blob.or_else(|| self.skills.values().find_map(|files| files.get(path)))
    }
}

/// Reads from a connection without end.
fn received(host: &mut ChannelHost) -> String {
    let request = NetworkRequest::Read { handle: 1, max: 1, timeout: None };
    format!("{:?}", host.ask_network(&request).unwrap())
}

/// Asks a caller that hears along for a line of text.
fn soon(host: &mut ChannelHost, prompt: &str) -> String {
    let asked = format!(r#"[{{"number":1,"input":{{"prompt":"{prompt}","hidden":false}}}}]"#);
    String::from_utf8(host.ask_caller(asked.as_bytes()).unwrap()).unwrap()
}

impl Runner for ScriptedRunner {
    type Guest = ScriptedGuest;

    fn abilities(&self) -> Abilities {
        Abilities { code: vec!["scripted".into()], reset: "none".into() }
    }

    fn kept_descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    fn enter_process(&mut self) {}

    fn start(&mut self) -> Result<(), RunnerError> {
        Ok(())
    }

    fn attach(&mut self, attachment: Attachment, content: Payload) -> Result<(), RunnerError> {
        let content = read(content)?;
        match attachment.content {
            AttachedContent::Skill { digest, files } => {
                let mut unpacked = BTreeMap::new();
                for PackedFile { path, offset, size } in files {
                    let start = usize::try_from(offset)?;
                    let bytes = content.get(start..);
                    let bytes = bytes.and_then(|rest| rest.get(..usize::try_from(size).ok()?));
                    unpacked.insert(path, bytes.ok_or("a file beyond the pack")?.to_vec());
                }
                self.skills.insert(digest, unpacked);
            }
            // Scripts import nothing.
            AttachedContent::Layer { .. } => {}
            AttachedContent::Blob { id } => drop(self.blobs.insert(id, content)),
            AttachedContent::Image { digest, .. } => drop(self.images.insert(digest, content)),
        }
        Ok(())
    }

    fn detach(&mut self, key: &AttachmentKey) {
        match &key.name {
            AttachedName::Skill(digest) => drop(self.skills.remove(digest)),
            AttachedName::Layer(_) => {}
            AttachedName::Blob(id) => drop(self.blobs.remove(id)),
            AttachedName::Image(digest) => drop(self.images.remove(digest)),
        }
    }

    fn open(&mut self, setup: Arc<Setup>) -> Result<ScriptedGuest, RunnerError> {
        Ok(ScriptedGuest::new(setup))
    }

    fn resume(
        &mut self,
        setup: Arc<Setup>,
        packs: Vec<Payload>,
    ) -> Result<Result<ScriptedGuest, PackError>, RunnerError> {
        let packs: io::Result<Vec<_>> = packs.into_iter().map(read).collect();
        Ok(ScriptedGuest::of_packs(setup, &packs?))
    }

    fn checkpoint(
        &mut self,
        guest: &mut ScriptedGuest,
    ) -> Result<Result<Pack, PackError>, RunnerError> {
        Ok(guest.checkpoint())
    }

    fn turn(
        &mut self,
        guest: &mut ScriptedGuest,
        turn: &Turn,
        mut host: ChannelHost,
        watch: Stopwatch,
    ) -> Result<TurnEnd, RunnerError> {
        let Program::Code { source, .. } = &turn.program else {
            return Err("only scripts can be run".into());
        };
        if !guest.can_go_on {
            return Err("the guest cannot have another turn".into());
        }
        let (mut logs, mut output, mut end) = (Logs::default(), Vec::new(), Ok(()));
        for line in source.lines() {
            match self.step(line, (guest, turn), &mut host, &mut logs)? {
                Step::Next => continue,
                Step::Return(bytes) => output = bytes,
                Step::Fail(failure) => end = Err(failure),
            }
            break;
        }
        guest.can_go_on = matches!(end, Ok(()) | Err(RunFailure::Exception { .. }));
        let (wall_time, memory_peak) = (watch.wall_time(), guest.memory);
        let usage = RunUsage { wall_time, memory_peak, ..RunUsage::default() };
        let outcome = RunOutcome {
            end,
            logs,
            files: LeftFiles::default(),
            blob_names: Vec::new(),
            conversions: Conversions::default(),
            usage,
            profile: None,
            cell: turn.cell.as_ref().map(|order| {
                Box::new(CellOutcome { reseeded: order.reseed, ..CellOutcome::default() })
            }),
        };
        Ok(TurnEnd { outcome, output, can_go_on: guest.can_go_on })
    }

    fn files(
        &mut self,
        guest: &mut ScriptedGuest,
        (order, content): (&FilesOrder, Payload),
        mut host: ChannelHost,
        watch: Stopwatch,
    ) -> Result<TurnEnd, RunnerError> {
        let answer = match order {
            FilesOrder::Write { path } if path.as_str() == "full" => {
                guest.can_go_on = false;
                FilesAnswer::Refused(FilesRefusal::NoSpace)
            }
            FilesOrder::Write { path } => {
                let content = String::from_utf8(read(content)?)?;
                guest.kept.push(format!("{path}={content}"));
                FilesAnswer::Written { replaced: false }
            }
            FilesOrder::Read { path } => match guest.content_of(path) {
                Some(content) if host.write_blob("text/plain", content.as_bytes()).is_ok() => {
                    FilesAnswer::Read { modified_ms: 7 }
                }
                Some(_) => FilesAnswer::Refused(FilesRefusal::NotTaken),
                None => FilesAnswer::Refused(FilesRefusal::NotFound),
            },
            FilesOrder::List(_) => FilesAnswer::Listed(ListedFiles::default()),
            FilesOrder::Remove { .. } => FilesAnswer::Refused(FilesRefusal::NotFound),
        };
        let outcome =
            RunOutcome::of_files(RunUsage { wall_time: watch.wall_time(), ..RunUsage::default() });
        Ok(TurnEnd { outcome, output: serde_json::to_vec(&answer)?, can_go_on: guest.can_go_on })
    }

    fn close(&mut self, guest: ScriptedGuest) -> Result<(), RunnerError> {
        drop(guest);
        let Some(time) = self.spoils else { return Ok(()) };
        let until = Instant::now() + time;
        while let Some(rest) = until.checked_duration_since(Instant::now()) {
            thread::park_timeout(rest);
        }
        Err("a reset that failed as was asked for".into())
    }
}

/// Ends the turn in the middle of a call, and logs the answers that the next one brings.
fn ask(host: &mut ChannelHost, logs: &mut Logs) -> Step {
    let requests = br#"[{"number":1,"input":{"prompt":"","hidden":false}}]"#;
    let requests = CallerRequests::read(requests).unwrap();
    let cell = CellOutcome { requests, is_held: true, ..CellOutcome::default() };
    let outcome = RunOutcome {
        end: Ok(()),
        logs: std::mem::take(logs),
        files: LeftFiles::default(),
        blob_names: Vec::new(),
        conversions: Conversions::default(),
        usage: RunUsage::default(),
        profile: None,
        cell: Some(Box::new(cell)),
    };
    let Some(turn) = host.hold(outcome) else { return Step::Fail(RunFailure::Cancelled) };
    let answers = turn.cell.as_ref().and_then(|cell| cell.answers.as_ref());
    let text = answers.map_or("", |answers| answers.as_str()).to_owned();
    logs.chunks.push(LogChunk { stream: Stream::Log, text });
    Step::Next
}

/// Stores a blob; a refusal ends the run.
fn store_blob(word: &str, rest: &str, host: &mut ChannelHost) -> Step {
    let (kind, rest) = rest.split_once(' ').unwrap();
    let content = if word == "blob" { rest.into() } else { vec![b'x'; rest.parse().unwrap()] };
    match host.write_blob(kind, &content) {
        Ok(_) => Step::Next,
        Err(refusal) => Step::Fail(RunFailure::Exception {
            class: refusal.error_type,
            message: refusal.message,
            traceback: None,
        }),
    }
}

fn read(content: Payload) -> io::Result<Vec<u8>> {
    match content {
        Payload::None => Ok(Vec::new()),
        Payload::Inline(bytes) => Ok(bytes),
        Payload::Shared(file, size) => {
            let mut bytes = vec![0; size.as_usize()];
            let mut filled = 0;
            while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                let offset = u64::try_from(filled).unwrap();
                match rustix::io::pread(&file, rest, offset)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => filled = filled.saturating_add(count),
                }
            }
            Ok(bytes)
        }
    }
}

/// An order to run `source`.
#[cfg(test)]
pub(crate) fn script(source: &str) -> (Box<Setup>, Box<Turn>) {
    let (setup_limits, turn_limits) = wardian_formats::job::limits::RunLimits::DEFAULT.split();
    let setup = Setup {
        tenant: wardian_vocabulary::ids::TenantId::local(),
        image: Digest::of(b"image"),
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        hides_modules: false,
        environment: BTreeMap::new(),
        reproducible: None,
        counts_fuel: false,
        limits: setup_limits,
    };
    let turn = Turn {
        id: wardian_vocabulary::ids::RunId::generate(),
        program: Program::Code { source: source.to_owned(), file_name: "script".to_owned() },
        entrypoint: None,
        args: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap(),
        keep_files: wardian_formats::job::KeepFiles::Nothing,
        strict_output: false,
        stream_logs: false,
        profile: None,
        cell: None,
        files: None,
        limits: turn_limits,
    };
    (Box::new(setup), Box::new(turn))
}

/// Plays the part that the arguments of this process name: a worker, a template, or one of both that
/// fails. A test that calls it is started again as a worker by others, which look at its end.
///
/// # Panics
///
/// The part cannot be played.
pub fn play() {
    let plan = LockdownPlan::default();
    let part = env::args().find(|argument| argument.starts_with("role-"));
    match part.as_deref() {
        Some("role-worker") => {
            let socket = socket_from_standard_input().unwrap();
            serve(socket, &plan, || Ok(ScriptedRunner::default())).ok();
        }
        Some("role-template") => {
            // The test runs in a thread of its harness.
            HARNESS_THREADS.store(1, Ordering::Relaxed);
            let socket = socket_from_standard_input().unwrap();
            serve_forks(socket, &plan, || Ok(ScriptedRunner::default())).ok();
        }
        Some("role-template-with-threads") => {
            HARNESS_THREADS.store(1, Ordering::Relaxed);
            thread::spawn(|| thread::park_timeout(Duration::from_secs(60)));
            let socket = socket_from_standard_input().unwrap();
            serve_forks(socket, &plan, || Ok(ScriptedRunner::default())).unwrap_err();
        }
        Some("role-unable") => {
            let cannot = || Err::<ScriptedRunner, _>("the engine is missing".into());
            serve(socket_from_standard_input().unwrap(), &plan, cannot).unwrap_err();
        }
        Some("role-short") => {
            let short = || Err::<ScriptedRunner, _>(io::Error::from(Errno::NOMEM).into());
            serve(socket_from_standard_input().unwrap(), &plan, short).unwrap_err();
        }
        Some("role-mute") => drop(io::stdin().read_to_end(&mut Vec::new())),
        _ => {}
    }
}
