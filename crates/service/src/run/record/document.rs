//! Makes the document of a reproducible run, and compares the inputs of a repetition with those of
//! the record before it begins.
//!
//! INVARIANT(same-inputs-or-nothing): a repetition begins only if everything that decides it is what
//! the record names.

use serde::{Deserialize, Serialize};

use crate::error::ServiceError;
use crate::run::result::answered::REPEATED;
use wardian_dispatch::Job;
use wardian_formats::job::outcome::{LogChunk, Logs};
use wardian_formats::job::{BlobMount, LayerMount, Program, SkillMount};
use wardian_formats::protocol::methods::execution::{FileResult, RunError, RunResult, RunStatus};
use wardian_formats::provenance::canonical::MAX_INTEGER;
use wardian_formats::provenance::{
    Difference, DocumentBlob, DocumentError, DocumentFile, DocumentLayer, DocumentLimits,
    DocumentLog, DocumentProgram, DocumentSkill, DocumentStatus, DocumentText, OtherInputs,
    PartEnding, RunDocument, RunEnding, RunInputs, Toolchain,
};
use wardian_vocabulary::ids::BlobId;

/// The order for the document of a run.
#[derive(Debug, Default)]
pub(crate) struct DocumentOrder {
    /// The inputs that the run must have.
    pub expected: Option<Box<RunInputs>>,
    /// The network record that answers the run.
    pub network: Option<DocumentBlob>,
}

/// A run whose document is to be made: what decided it, and what its parts so far have left, if it has waited for
/// answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DocumentedRun {
    pub(crate) inputs: RunInputs,
    pub(crate) parts: Vec<PartEnding>,
    log: DocumentLog,
    output_blobs: Vec<BlobId>,
    fuel: u64,
    memory_bytes: u64,
}

impl DocumentedRun {
    /// A run that begins with these inputs.
    pub(crate) fn of(inputs: RunInputs) -> Self {
        let (parts, log, output_blobs) = (Vec::new(), DocumentLog::default(), Vec::new());
        Self { inputs, parts, log, output_blobs, fuel: 0, memory_bytes: 0 }
    }

    /// Adds what a part has left. Its files are among those of the last part.
    pub(crate) fn note_part(&mut self, result: &RunResult, logs: &Logs) {
        self.log = self.with_log(logs);
        self.output_blobs.extend_from_slice(&result.output_blobs);
        self.fuel = self.fuel.saturating_add(result.fuel.unwrap_or_default());
        self.memory_bytes = self.memory_bytes.max(result.memory_peak_bytes);
    }

    /// Bytes of its texts, but for those of its tools.
    pub(crate) fn bytes(&self) -> usize {
        let RunInputs { program, arguments, .. } = &self.inputs;
        let source = match program {
            DocumentProgram::Code { source, .. } => source.text.as_ref(),
            DocumentProgram::Skill { .. } => None,
        };
        let texts = [source, arguments.text.as_ref()].into_iter().flatten().map(String::len);
        texts.fold(size_of::<Self>(), usize::saturating_add)
    }

    /// Bytes of what it was told of its tools and was answered, and of the log of its parts so far.
    pub(crate) fn texts(&self) -> usize {
        let tools = self.inputs.tools.as_ref();
        let rounds = || tools.into_iter().flat_map(|tools| &tools.rounds);
        let declared = tools.and_then(|tools| tools.declared.as_ref()).into_iter();
        let declared = declared.chain(rounds().filter_map(|round| round.declared.as_ref()));
        let answers = rounds().flat_map(|round| &round.answers);
        let answers = answers.flat_map(|answer| [&answer.output, &answer.error]).flatten();
        let texts = declared.chain(answers).filter_map(|text| text.text.as_ref());
        let answers = texts.map(String::len);
        let logged = self.log.pieces.iter().map(|piece| piece.text.len());
        answers.chain(logged).fold(0, usize::saturating_add)
    }

    /// Pieces of the log, and blobs, of the parts so far.
    pub(crate) fn items(&self) -> [usize; 2] {
        [self.log.pieces.len(), self.output_blobs.len()]
    }

    /// The log of all parts, if this is that of the next one.
    fn with_log(&self, logs: &Logs) -> DocumentLog {
        let dropped = self.log.dropped_bytes.saturating_add(logs.dropped);
        if self.log.pieces.is_empty() {
            return DocumentLog::of(&logs.chunks, dropped);
        }
        let all: Vec<LogChunk> = self.log.pieces.iter().chain(&logs.chunks).cloned().collect();
        DocumentLog::of(&all, dropped)
    }
}

/// The inputs of a run that is about to begin; none if no document is wanted.
pub(crate) fn inputs_of(
    order: Option<&DocumentOrder>,
    job: &Job,
    toolchain: &Toolchain,
) -> Result<Option<Box<RunInputs>>, ServiceError> {
    let (setup, turn) = (&*job.guest.setup, &*job.turn);
    let (Some(order), Some(reproducible)) = (order, setup.reproducible) else { return Ok(None) };
    let program = match &turn.program {
        Program::Code { source, file_name } => {
            DocumentProgram::Code { file_name: file_name.clone(), source: DocumentText::of(source) }
        }
        Program::Skill { name, script } => {
            DocumentProgram::Skill { name: name.clone(), script: script.clone() }
        }
    };
    let skills = setup.skills.iter().map(skill_of);
    let layers = setup.layers.iter().map(layer_of);
    let blobs = setup.blobs.iter().map(blob_of);
    let (lasting, limits) = (&setup.limits, &turn.limits);
    let inputs = RunInputs {
        engine: toolchain.engine,
        image: setup.image,
        program,
        entrypoint: turn.entrypoint.clone(),
        arguments: DocumentText::of(turn.args.get()),
        skills: skills.collect(),
        layers: layers.collect(),
        blobs: blobs.collect(),
        keep_files: turn.keep_files.clone(),
        strict_output: turn.strict_output,
        limits: DocumentLimits {
            // More than that nobody can use up.
            fuel: limits.fuel.map(|fuel| fuel.0).filter(|fuel| *fuel <= MAX_INTEGER),
            memory_bytes: lasting.memory.as_u64().min(MAX_INTEGER),
            workspace_bytes: lasting.workspace.as_u64().min(MAX_INTEGER),
            workspace_entries: lasting.workspace_entries,
            open_files: lasting.open_files,
            logs_bytes: limits.logs.as_u64().min(MAX_INTEGER),
            host_calls: limits.host_calls,
            host_bytes: limits.host_bytes.as_u64().min(MAX_INTEGER),
        },
        seed: reproducible.seed,
        epoch: reproducible.epoch.as_secs(),
        fuel_rules: reproducible.fuel_rules,
        network: order.network.clone(),
        // Those of a repetition are known at its end.
        tools: order.expected.as_ref().and_then(|expected| expected.tools.clone()),
    };
    if let Some(expected) = &order.expected {
        let mut differences = expected.differences(&inputs)?;
        let is_of_machine = expected.is_for_other_machine(&inputs);
        // A difference of the machine comes first: nothing else can be helped then.
        let of_machine = |one: &Difference| {
            ["engine", "image", "layers"].iter().any(|part| one.what.starts_with(part))
        };
        let first = differences.iter().position(|one| is_of_machine && of_machine(one));
        if !differences.is_empty() {
            let difference = differences.swap_remove(first.unwrap_or(0));
            return Err(ServiceError::OtherInputs(OtherInputs { difference, is_of_machine }));
        }
    }
    Ok(Some(Box::new(inputs)))
}

/// The document of a run that is over.
pub(crate) fn document_of(
    toolchain: &Toolchain,
    run: DocumentedRun,
    result: &RunResult,
    logs: &Logs,
) -> RunDocument {
    let log = run.with_log(logs);
    let DocumentedRun { inputs, parts, mut output_blobs, fuel, memory_bytes, .. } = run;
    output_blobs.extend_from_slice(&result.output_blobs);
    let ending = RunEnding {
        status: status_of(result.status),
        summary: result.summary.strip_suffix(REPEATED).unwrap_or(&result.summary).to_owned(),
        output: result.output.as_ref().map(|output| output.get().to_owned()),
        output_truncated: result.output_truncated,
        error: result.error.as_ref().map(error_of),
        log,
        output_blobs,
        files: result.files.iter().map(file_of).collect(),
        files_total: result.files_total,
        fuel: result.fuel.map(|last| last.saturating_add(fuel).min(MAX_INTEGER)),
        memory_peak_bytes: result.memory_peak_bytes.max(memory_bytes),
        parts,
    };
    RunDocument::new(toolchain.made_by.clone(), inputs, ending)
}

pub(crate) const fn status_of(status: RunStatus) -> DocumentStatus {
    match status {
        RunStatus::Completed => DocumentStatus::Completed,
        // Programs that wait leave no documents.
        RunStatus::Failed | RunStatus::Waiting => DocumentStatus::Failed,
    }
}

pub(crate) fn error_of(error: &RunError) -> DocumentError {
    let RunError { error_type, message, traceback } = error.clone();
    DocumentError { error_type, message, traceback }
}

pub(crate) fn skill_of(mount: &SkillMount) -> DocumentSkill {
    let (name, version) = (mount.name.clone(), mount.version.clone());
    DocumentSkill { name, version, digest: mount.digest }
}

pub(crate) const fn layer_of(mount: &LayerMount) -> DocumentLayer {
    DocumentLayer { digest: mount.digest, place: mount.place }
}

pub(crate) fn blob_of(mount: &BlobMount) -> DocumentBlob {
    DocumentBlob {
        id: mount.id.clone(),
        kind: mount.kind.clone(),
        size_bytes: mount.size.as_u64(),
        name: mount.name.clone(),
        other_names: mount.other_names.clone(),
        paths: mount.paths.clone(),
    }
}

pub(crate) fn file_of(file: &FileResult) -> DocumentFile {
    DocumentFile {
        path: file.path.clone(),
        size_bytes: file.size_bytes,
        blob_id: file.blob_id.clone(),
        kind: file.kind.clone(),
        not_kept: file.not_kept.clone(),
    }
}
