//! Gathers the record of one run while the run is in progress, and hands it over at its end.
//!
//! INVARIANT(one-record-per-run): every run of a call that has begun to be prepared leaves exactly
//! one record, whatever its end, like its line in the log. A run that the server refuses because it
//! or the tenant is busy leaves none: it cost nothing, and under overload there are thousands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::placed_run::PlacedRun;
use crate::run::access::network::GuestNetwork;
use crate::run::prepare::mounted_skill::MountedSkill;
use crate::run::prepare::plan::Planned;
use crate::run::record::kept_content::{DraftContent, covered, title_of_program};
use crate::run::result::output::head;
use crate::runs::active::ActivePlace;
use crate::sessions::asking::open_run::OpenRun;
use wardian_dispatch::{FinishedRun, Job};
use wardian_formats::job::Program;
use wardian_formats::job::host::RequestKind;
use wardian_formats::job::outcome::{LogChunk, Logs, Stream};
use wardian_formats::protocol::error_codes::WireError;
use wardian_formats::protocol::methods::execution::{RunError, RunResult};
use wardian_stores::records::{
    INTERRUPTED, INTERRUPTION, MAX_DOCUMENT_KEPT, MAX_LISTED, MAX_RESULT, RecordTail,
    RecordedArguments, RecordedContent, RecordedError, RecordedImage, RecordedLog, RecordedPhases,
    RecordedSkill, Recorder, RoomForLog, RunHolder, RunKind, RunOutcomeKind, RunRecord,
};
use wardian_stores::secrets::mask::Masks;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobId, Digest, RunId};
use wardian_vocabulary::units::ByteCount;

/// Texts up to this size, in bytes, are hashed on the event loop: it takes less time than a switch
/// of threads.
const SMALL_TEXT: usize = 64 << 10;

/// Longest arguments whose value a record holds, in bytes.
const MAX_VALUE: usize = 64 << 10;

/// Longest message and longest traceback of a record, in bytes.
const MAX_MESSAGE: usize = 4 << 10;
const MAX_TRACEBACK: usize = 16 << 10;

/// Longest name of a function of a record, in bytes.
const MAX_ENTRYPOINT: usize = 200;

/// The record of a run in progress.
#[derive(Debug)]
pub(crate) struct DraftRecord {
    recorder: Recorder,
    record: Box<RunRecord>,
    log: Option<(Vec<LogChunk>, RoomForLog)>,
    opened: Instant,
    /// When everything was looked up.
    prepared: Option<Instant>,
    /// When the worker had answered.
    answered: Option<Instant>,
    keeping: Keeping,
    /// The result of a run in the background, and what is dropped once the record is written.
    tail: RecordTail,
    /// What the run was given and what it left, if that is kept.
    content: Option<DraftContent>,
    /// Knows the calls of tools that end while the run goes on.
    open: Option<Arc<OpenRun>>,
    placed: Option<Arc<PlacedRun>>,
}

/// Whether a run is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// It is, unless it is refused because the server or its tenant is busy.
    Usual,
    /// It is in any case: its caller was told that it was admitted.
    Always,
    /// It is not.
    Never,
}

impl DraftRecord {
    /// Begins the record of a run with this plan.
    pub(crate) async fn begin(
        recorder: &Recorder,
        caller: &Caller,
        run_id: &RunId,
        engine: Digest,
        plan: &mut Planned,
    ) -> Result<Self, ServiceError> {
        let (opened, open) = (Instant::now(), plan.open.clone());
        let title = kept_title(recorder, plan);
        let shown = DraftContent::begin(recorder.config(), caller, plan);
        let (kind, code) = hashed_program(caller, &mut plan.program).await?;
        let arguments = hashed_arguments(caller, plan).await?;
        let (mounted, skill) = recorded_skills(plan);
        let record = RunRecord {
            run_id: run_id.clone(),
            tenant: caller.tenant.clone(),
            key: caller.credential.as_ref().map(|one| one.name().to_owned()),
            request_id: caller.request_id.clone(),
            trace_id: caller.trace.trace_id().map(|id| id.to_string()),
            label: plan.label.as_ref().map(|label| label.as_str().to_owned()),
            title,
            kind,
            detached: plan.detach.is_some(),
            started_ms: run_id.began_ms(),
            duration_us: 0,
            outcome: RunOutcomeKind::Cancelled,
            error: None,
            skill,
            code,
            entrypoint: plan.entrypoint.as_ref().map(|name| head(name, MAX_ENTRYPOINT).to_owned()),
            arguments,
            mounted_skills: mounted,
            layers: Vec::new(),
            input_blobs: plan.blobs.iter().take(MAX_LISTED).cloned().collect(),
            wardian: env!("CARGO_PKG_VERSION").to_owned(),
            engine,
            image: None,
            limits: (&plan.limits).into(),
            reproducible: plan.reproducible.map(Into::into),
            phases_us: RecordedPhases::default(),
            cpu_us: None,
            memory_peak_bytes: None,
            fuel: None,
            host_calls: None,
            output: None,
            output_blobs: Vec::new(),
            output_blobs_total: 0,
            log: RecordedLog::default(),
            network: None,
            tool_calls: std::mem::take(&mut plan.tool_calls),
            cached: false,
        };
        Ok(Self {
            recorder: recorder.clone(),
            record: Box::new(record),
            log: None,
            opened,
            prepared: None,
            answered: None,
            keeping: Keeping::Usual,
            tail: RecordTail::default(),
            content: shown,
            open,
            placed: None,
        })
    }

    /// Gives up the run's place among the active ones once the record is written.
    pub(crate) fn until_written(mut self, place: Option<ActivePlace>) -> Self {
        self.tail.until_written = place.map(|place| Box::new(place) as Box<_>);
        self
    }

    /// The record as it is if the server ends before the run does.
    pub(crate) fn if_interrupted(&self) -> RunRecord {
        let error = RecordedError {
            error_type: INTERRUPTED.to_owned(),
            message: INTERRUPTION.to_owned(),
            traceback: None,
        };
        let record = (*self.record).clone();
        RunRecord { outcome: RunOutcomeKind::Interrupted, error: Some(error), ..record }
    }

    /// Records the run whatever its end is.
    pub(crate) const fn acknowledge(&mut self) {
        self.keeping = Keeping::Always;
    }

    /// The run is noted in the database for this server. Its record is written if it still is at its end.
    pub(crate) fn held_by(&mut self, holder: RunHolder) {
        self.tail.holder = Some(holder);
    }

    /// Records the run whatever its end is. It is this server's in the fleet until the record is written.
    pub(crate) fn acknowledge_for(&mut self, placed: Arc<PlacedRun>) {
        self.held_by(placed.holder().clone());
        self.placed = Some(placed);
        self.acknowledge();
    }

    /// Leaves no record: the run goes on elsewhere, or is not this server's.
    pub(crate) const fn withhold(&mut self) {
        self.keeping = Keeping::Never;
    }

    /// Notes the run as it is about to wait for a worker.
    pub(crate) fn note_prepared(&mut self, job: &Job, masks: Option<&Arc<Masks>>) {
        let (guest, turn) = (&job.guest, &*job.turn);
        let now = Instant::now();
        self.prepared = Some(now);
        let record = &mut *self.record;
        record.phases_us.prepare = Some(microseconds(now.duration_since(self.opened)));
        record.layers =
            guest.setup.layers.iter().take(MAX_LISTED).map(|layer| layer.digest).collect();
        record.image = Some(RecordedImage {
            name: guest.image.name().to_owned(),
            digest: guest.image.digest(),
        });
        if let (Some(masks), Some(label)) = (masks, &mut record.label) {
            masks.cover_text(label);
        }
        if let Some(content) = &mut self.content {
            content.note_arguments(&turn.args, masks);
        }
        if self.recorder.config().keeps_arguments && turn.args.get().len() <= MAX_VALUE {
            record.arguments.value = match masks {
                None => Some(turn.args.clone()),
                Some(masks) => covered(&turn.args, masks),
            };
        }
    }

    /// Notes the worker's outcome, whose texts are already redacted.
    pub(crate) fn note_finished(&mut self, finished: &FinishedRun) {
        let now = Instant::now();
        self.answered = Some(now);
        let usage = &finished.outcome.usage;
        let ran = usage.wall_time;
        let record = &mut *self.record;
        let waited = finished.host_time.of(RequestKind::Network);
        let phases = &mut record.phases_us;
        phases.queue = Some(microseconds(finished.queued));
        phases.execute = Some(microseconds(ran));
        let since = self.prepared.map_or(Duration::ZERO, |then| now.duration_since(then));
        let set_up = since.saturating_sub(finished.queued).saturating_sub(ran);
        phases.set_up = Some(microseconds(set_up));
        let stored = finished.host_time.of(RequestKind::WriteBlob);
        phases.write_blob = Some(microseconds(stored)).filter(|time| *time > 0);
        phases.network = Some(microseconds(waited)).filter(|time| *time > 0);
        record.cpu_us = usage.cpu_time.map(microseconds);
        record.memory_peak_bytes = Some(usage.memory_peak.as_u64());
        record.fuel = usage.fuel.map(|fuel| fuel.0);
        record.host_calls = Some(usage.host_calls);
        record.outcome = match &finished.outcome.end {
            Ok(()) => RunOutcomeKind::Completed,
            Err(failure) => RunOutcomeKind::of_error_type(failure.error_type()),
        };
        self.keep_log(&finished.outcome.logs);
    }

    /// Keeps the log up to the limit of records. Of output that was beyond the limit of logs, a line says how much is
    /// lost, and the ends follow, for which room is kept.
    fn keep_log(&mut self, logs: &Logs) {
        let most = self.recorder.config().max_log.as_usize();
        let log = &mut self.record.log;
        log.dropped_bytes = logs.lost();
        let lost =
            (logs.dropped > 0).then(|| LogChunk { stream: Stream::Stderr, text: logs.lost_line() });
        let ends: Vec<&LogChunk> = lost.iter().chain(&logs.ends).collect();
        let of_ends: usize = ends.iter().map(|chunk| chunk.text.len()).sum();
        let of_chunks: usize = logs.chunks.iter().map(|chunk| chunk.text.len()).sum();
        let total = of_chunks.saturating_add(of_ends);
        if total == 0 {
            return;
        }
        log.cut_bytes = ByteCount::from(total).as_u64();
        let pieces = logs.chunks.len().saturating_add(ends.len());
        let room = self.recorder.room_for_log(total.min(most), pieces);
        let Some(room) = room else { return };
        let mut kept = Vec::new();
        let chunks: Vec<&LogChunk> = logs.chunks.iter().collect();
        let used = keep(&chunks, most.saturating_sub(of_ends), &mut kept);
        let used = used.saturating_add(keep(&ends, most.saturating_sub(used), &mut kept));
        log.bytes = ByteCount::from(used).as_u64();
        log.cut_bytes = log.cut_bytes.saturating_sub(log.bytes);
        self.log = Some((kept, room));
    }

    /// Whether the server keeps the documents of runs.
    pub(crate) fn keeps_documents(&self) -> bool {
        self.recorder.config().keeps_documents
    }

    /// Notes the document of the run, in canonical form.
    pub(crate) fn note_document(&mut self, text: String) {
        self.tail.document = Some(text).filter(|text| text.len() <= MAX_DOCUMENT_KEPT);
    }

    /// Notes what the caller of the run gets.
    pub(crate) fn note_result(&mut self, result: Result<&RunResult, &ServiceError>) {
        let now = Instant::now();
        if let Some(answered) = self.answered {
            self.record.phases_us.finish = Some(microseconds(now.duration_since(answered)));
        }
        match result {
            Ok(result) => {
                self.note_answer(result);
                if let Some(content) = &mut self.content {
                    content.note_result(result);
                }
                if self.record.detached {
                    self.tail.result = kept_result(result);
                }
            }
            Err(error) => self.note_refusal(error),
        }
    }

    fn note_answer(&mut self, result: &RunResult) {
        let record = &mut *self.record;
        let blobs = &result.output_blobs;
        record.cached = result.cached;
        record.output_blobs = blobs.iter().take(MAX_LISTED).cloned().collect::<Vec<BlobId>>();
        record.output_blobs_total = u64::try_from(blobs.len()).unwrap_or(u64::MAX);
        record.output = result.output.as_ref().map(|value| RecordedContent {
            digest: Digest::of(value.get().as_bytes()),
            size_bytes: ByteCount::from(value.get().len()).as_u64(),
        });
        match &result.error {
            None => record.outcome = RunOutcomeKind::Completed,
            Some(RunError { error_type, message, traceback }) => {
                record.outcome = RunOutcomeKind::of_error_type(error_type);
                record.error = Some(RecordedError {
                    error_type: error_type.clone(),
                    message: head(message, MAX_MESSAGE).to_owned(),
                    traceback: traceback.as_ref().map(|text| head(text, MAX_TRACEBACK).to_owned()),
                });
            }
        }
    }

    fn note_refusal(&mut self, error: &ServiceError) {
        let has_run = self.answered.is_some();
        let kind = error.kind();
        if matches!(error, ServiceError::KnownRun) {
            self.keeping = Keeping::Never;
            return;
        }
        if !has_run
            && self.keeping == Keeping::Usual
            && matches!(kind, ErrorKind::Overloaded | ErrorKind::RateLimited)
        {
            self.keeping = Keeping::Never;
            return;
        }
        if !has_run {
            self.record.outcome = RunOutcomeKind::Refused;
        }
        self.record.error = Some(RecordedError {
            error_type: WireError::of(kind).label.to_owned(),
            message: head(&error.to_string(), MAX_MESSAGE).to_owned(),
            traceback: None,
        });
    }

    /// Hands the record over, with what the run did in its network.
    pub(crate) fn end(mut self, network: Option<&Arc<GuestNetwork>>) {
        if self.keeping == Keeping::Never {
            return;
        }
        self.record.network = network.and_then(|network| network.used());
        let of_turn = self.open.as_ref().map(|open| open.ended());
        self.record.tool_calls.extend(of_turn.unwrap_or_default());
        self.record.duration_us = microseconds(self.opened.elapsed());
        self.tail.content = self.content.and_then(DraftContent::text);
        if let Some(placed) = self.placed {
            self.tail.until_written = Some(Box::new((self.tail.until_written.take(), placed)));
        }
        self.recorder.hand_over_all(self.record, self.log, self.tail);
    }
}

/// Adds the beginning of these pieces, at most `most` bytes of it. Returns how many those are.
fn keep(pieces: &[&LogChunk], most: usize, kept: &mut Vec<LogChunk>) -> usize {
    let mut left = most;
    for chunk in pieces {
        let text = head(&chunk.text, left);
        if !text.is_empty() {
            kept.push(LogChunk { stream: chunk.stream, text: text.to_owned() });
        }
        left = left.saturating_sub(text.len());
        if text.len() < chunk.text.len() {
            break;
        }
    }
    most.saturating_sub(left)
}

/// The result as it is kept: whole, or with fewer of its blobs and without its files if it is too
/// long. The record has their numbers.
fn kept_result(result: &RunResult) -> Option<String> {
    let whole = serde_json::to_string(result).ok()?;
    if whole.len() <= MAX_RESULT {
        return Some(whole);
    }
    let total = u64::try_from(result.files.len()).unwrap_or(u64::MAX);
    let cut = RunResult {
        status: result.status,
        run_id: result.run_id.clone(),
        summary: result.summary.clone(),
        output: result.output.clone(),
        output_blobs: result.output_blobs.iter().take(MAX_LISTED).cloned().collect(),
        converted: Vec::new(),
        converted_total: converted_total(result),
        files: Vec::new(),
        files_total: result.files_total.or(Some(total)).filter(|total| *total > 0),
        stdout: result.stdout.clone(),
        stderr: result.stderr.clone(),
        logs_preview: result.logs_preview.clone(),
        error: result.error.clone(),
        display: Vec::new(),
        requests: Vec::new(),
        session: result.session.clone(),
        ..*result
    };
    serde_json::to_string(&cut).ok().filter(|text| text.len() <= MAX_RESULT)
}

/// The number of converted values, if there are any.
fn converted_total(result: &RunResult) -> Option<u64> {
    let counts = result.converted.iter().map(|one| one.count.unwrap_or(1));
    let listed = counts.fold(0, u64::saturating_add);
    result.converted_total.or(Some(listed)).filter(|total| *total > 0)
}

/// The method that asked for a program, and the program's code if it came with the call.
async fn hashed_program(
    caller: &Caller,
    program: &mut Program,
) -> Result<(RunKind, Option<RecordedContent>), ServiceError> {
    let Program::Code { source, .. } = program else {
        return Ok((RunKind::ExecuteSkill, None));
    };
    let (text, content) = hashed(caller, std::mem::take(source)).await?;
    *source = text;
    Ok((RunKind::RunCode, Some(content)))
}

/// What identifies the arguments of a run.
async fn hashed_arguments(
    caller: &Caller,
    plan: &mut Planned,
) -> Result<RecordedArguments, ServiceError> {
    let (args, content) = hashed(caller, std::mem::take(&mut plan.args)).await?;
    plan.args = args;
    let RecordedContent { digest, size_bytes } = content;
    Ok(RecordedArguments { digest, size_bytes, value: None })
}

/// A text that is hashed.
trait Hashed: Send + 'static {
    fn text(&self) -> &str;
}

impl Hashed for String {
    fn text(&self) -> &str {
        self
    }
}

impl Hashed for Box<RawValue> {
    fn text(&self) -> &str {
        self.get()
    }
}

/// Hashes a text, a long one on another thread, and gives it back.
async fn hashed<T: Hashed>(caller: &Caller, text: T) -> Result<(T, RecordedContent), ServiceError> {
    let size_bytes = ByteCount::from(text.text().len()).as_u64();
    let hash = move || {
        let digest = Digest::of(text.text().as_bytes());
        (text, RecordedContent { digest, size_bytes })
    };
    match size_bytes <= ByteCount::from(SMALL_TEXT).as_u64() {
        true => Ok(hash()),
        false => caller.memory.on_thread(hash).await.map_err(ServiceError::Interrupted),
    }
}

/// The title that the program has by itself, if programs are kept.
fn kept_title(recorder: &Recorder, plan: &Planned) -> Option<String> {
    recorder.config().keeps_programs.then(|| title_of_program(&plan.program)).flatten()
}

/// The mounted skills, as far as records list them, and the one that is executed.
fn recorded_skills(plan: &Planned) -> (Vec<RecordedSkill>, Option<RecordedSkill>) {
    let mounted: Vec<_> = plan.skills.iter().take(MAX_LISTED).map(recorded).collect();
    let skill = match &plan.program {
        Program::Skill { name, .. } => mounted.iter().find(|skill| skill.name == *name).cloned(),
        Program::Code { .. } => None,
    };
    (mounted, skill)
}

fn recorded(skill: &MountedSkill) -> RecordedSkill {
    let mount = &skill.mount;
    let (name, version) = (mount.name.clone(), mount.version.clone());
    let signer = skill.signer.as_ref().map(|signer| signer.key.clone());
    RecordedSkill { name, version, digest: mount.digest, signer }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
